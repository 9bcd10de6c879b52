"""Sections of settings, names of variables that are no longer settings, and the limits inside ORC_ADVANCED.

Old names are accepted for one release, with a warning that says what to use instead.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import AliasChoices, AliasGenerator, BaseModel, ConfigDict

from orc_core.errors import InvalidInput

PREFIX = "ORC_"
ADVANCED_VARIABLE = "ORC_ADVANCED"

RENAMED = {
    "ORC_INLINE_TOKEN_BUDGET": "ORC_FULL_TEXT_TOKENS",
    "ORC_INGESTION_AT_ONCE": "ORC_WORKER_CONCURRENCY",
    "ORC_INGESTION_WORKERS": "ORC_WORKERS",
    "ORC_MODEL_FACTS": "ORC_MODEL_CATALOG",
    "ORC_SCOPE_KEY": "ORC_SCOPE_SIGNING_KEY",
    "ORC_TRACES": "ORC_STORE_TURN_TRACES",
    "ORC_MCP_SERVER_URL": "MCP_SERVER_URL",
    "ORC_MAX_DOCUMENTS_PER_REQUEST": "MAX_DOCUMENTS_PER_REQUEST",
    "ORC_CRITIC_MAX_RETRIES": "CRITIC_MAX_RETRIES",
}
"""Old variable, and the one that replaces it."""

_ADVANCED = """
    admin_role analysis_model analysis_tokens_per_day bytes_per_organization context_window
    context_creators directory_tenant
    critic_model critic_seconds fonts_folder history_tokens
    history_turns ingestion_lease_seconds key_days lazy_retrieval max_model_calls mcp_audience mcp_scope
    memory_tokens model_retries
    model_timeout_seconds most_page_images oidc_scope page_image_tokens page_images
    planner_model planner_seconds planner_tokens retrieval_tokens revoked_answers
    session_hours share_days streams_per_user summary_model summary_threshold_tokens title_model
    tool_timeout_seconds
    trust_principal_header turn_deadline_seconds turn_lease_seconds turns_per_user upload_bytes_per_day
    uploads_per_user worker_concurrency
"""
ADVANCED = {key: PREFIX + key.upper() for key in _ADVANCED.split()} | {
    "azure_search_semantic": "AZURE_SEARCH_SEMANTIC",
    "max_tool_rounds": "ORC_TOOL_ROUNDS",
    "unindexed_text_tokens": "ORC_INLINE_LIMIT_TOKENS",
}
"""Key of the JSON object in ORC_ADVANCED, and the variable that it used to have."""

INTERNAL = frozenset(
    {
        "azure_auth_enabled",
        "azure_instance_id",
        "brave_search_url",
        "google_search_url",
        "mcp_until_stdin_ends",
    }
)
"""Fields that Azure, `orc serve` or a test sets, and no operator."""

WITHOUT_EFFECT = frozenset(
    {
        "ORC_ANALYZE_LARGEST_PART_TOKENS", "ORC_ANALYZE_MODEL_CALLS", "ORC_ANALYZE_PART_TOKENS",
        "ORC_CONTENT_CHARACTERS", "ORC_EXTRACTION_MEMORY_BYTES", "ORC_EXTRACTION_PROCESSES",
        "ORC_EXTRACTION_SECONDS", "ORC_FILE_ID_TTL_SECONDS", "ORC_LOCAL_ORGANIZATION", "ORC_LOCAL_USER",
        "ORC_MAX_FILES_PER_UPLOAD", "ORC_OCR_SECONDS", "ORC_PAGE_CHARACTERS", "ORC_PING_SECONDS",
        "ORC_PLANNER_CONFIDENCE", "ORC_PROCESSES", "ORC_RETRIEVAL_PASSAGES", "ORC_TOKEN_CACHE",
        "ORC_WEB_SEARCH_SECONDS",
    }
)  # fmt: skip
"""Settings that became constants, whose file is part of the package, or of what there is only one."""

_OLD = frozenset({*RENAMED, *ADVANCED.values(), *WITHOUT_EFFECT})
ALMOST_THE_SAME = 0.9
"""The share of their letters that a misspelt name and the right one have in common, in the same order."""


def deprecation_warnings(environment: Mapping[str, str]) -> list[str]:
    """One sentence for each old name that is set."""
    in_advanced = {old: key for key, old in ADVANCED.items()}
    warnings = []
    for name in sorted({key.upper() for key in environment}):
        if name in RENAMED:
            warnings.append(f"{name} is deprecated: set {RENAMED[name]} instead.")
        elif key := in_advanced.get(name):
            warnings.append(f'{name} is deprecated: set "{key}" in {ADVANCED_VARIABLE} instead.')
        elif name in WITHOUT_EFFECT:
            warnings.append(f"{name} no longer has an effect: remove it.")
    return warnings


def misspelt_names(environment: Mapping[str, str], known: Collection[str]) -> list[str]:
    """One sentence for each variable that is not among the known ones and has almost the name of one.

    Another program of Orc may have settings that this one does not know.
    """
    names = {key.upper() for key in environment}
    unknown = {name for name in names.difference(known, _OLD) if name.startswith(PREFIX)}
    if not unknown:
        return []
    # Not at the top: few environments need it.
    from difflib import get_close_matches

    meant = {name: get_close_matches(name, known, n=1, cutoff=ALMOST_THE_SAME) for name in sorted(unknown)}
    return [f"{name} is not a setting. Did you mean {found[0]}?" for name, found in meant.items() if found]


def advanced_values(text: str) -> dict[str, str]:
    """The entries of ORC_ADVANCED as texts, like values of variables. InvalidInput for an unknown key."""
    subject = f"Settings that cannot be used: {ADVANCED_VARIABLE}"
    try:
        values: Any = json.loads(text or "{}")
    except ValueError as exc:
        raise InvalidInput(f"{subject} is not JSON.") from exc
    if not isinstance(values, dict):
        raise InvalidInput(f"{subject} is not a JSON object.")
    if unknown := sorted(set(values) - set(ADVANCED)):
        raise InvalidInput(f"{subject} does not know {', '.join(unknown)}.")
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}


VENDORS = ("applicationinsights_", "azure_", "openai_", "upstash_")


def _vendor_name(field: str) -> AliasChoices | None:
    return AliasChoices(field.upper()) if field.startswith(VENDORS) else None


class Section(BaseModel):
    """Base of the sections. Variables of vendors have their usual names, without our prefix."""

    model_config = ConfigDict(
        frozen=True,
        populate_by_name=True,
        # The generator may return None, although its annotation does not say so.
        alias_generator=AliasGenerator(validation_alias=_vendor_name),  # type: ignore[arg-type]
    )


def split_commas(value: object) -> object:
    """The parts of a text with commas; another value as it is."""
    if not isinstance(value, str):
        return value
    return [part.strip() for part in value.split(",") if part.strip()]
