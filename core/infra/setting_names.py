"""Names of environment variables that are no longer settings, and the limits inside ORC_ADVANCED.

Old names are accepted for one release, with a warning that says what to use instead.
"""

import json
from collections.abc import Mapping
from typing import Any

from core.errors import InvalidInput

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

ADVANCED = {
    "admin_role": "ORC_ADMIN_ROLE",
    "analysis_model": "ORC_ANALYSIS_MODEL",
    "context_window": "ORC_CONTEXT_WINDOW",
    "critic_model": "ORC_CRITIC_MODEL",
    "critic_seconds": "ORC_CRITIC_SECONDS",
    "history_tokens": "ORC_HISTORY_TOKENS",
    "history_turns": "ORC_HISTORY_TURNS",
    "ingestion_lease_seconds": "ORC_INGESTION_LEASE_SECONDS",
    "max_model_calls": "ORC_MAX_MODEL_CALLS",
    "max_tool_rounds": "ORC_TOOL_ROUNDS",
    "memory_tokens": "ORC_MEMORY_TOKENS",
    "model_retries": "ORC_MODEL_RETRIES",
    "model_timeout_seconds": "ORC_MODEL_TIMEOUT_SECONDS",
    "planner_model": "ORC_PLANNER_MODEL",
    "planner_seconds": "ORC_PLANNER_SECONDS",
    "planner_tokens": "ORC_PLANNER_TOKENS",
    "retrieval_tokens": "ORC_RETRIEVAL_TOKENS",
    "summary_model": "ORC_SUMMARY_MODEL",
    "summary_threshold_tokens": "ORC_SUMMARY_THRESHOLD_TOKENS",
    "tool_timeout_seconds": "ORC_TOOL_TIMEOUT_SECONDS",
    "turn_lease_seconds": "ORC_TURN_LEASE_SECONDS",
    "unindexed_text_tokens": "ORC_INLINE_LIMIT_TOKENS",
}
"""Key of the JSON object in ORC_ADVANCED, and the variable that it used to have."""

INTERNAL = frozenset({"azure_instance_id", "brave_search_url", "google_search_url", "mcp_until_stdin_ends"})
"""Fields that Azure, `orc serve` or a test sets, and no operator."""

WITHOUT_EFFECT = frozenset(
    {
        "ORC_ANALYZE_LARGEST_PART_TOKENS", "ORC_ANALYZE_MODEL_CALLS", "ORC_ANALYZE_PART_TOKENS",
        "ORC_CONTENT_CHARACTERS", "ORC_EXTRACTION_MEMORY_BYTES", "ORC_EXTRACTION_PROCESSES",
        "ORC_EXTRACTION_SECONDS", "ORC_FILE_ID_TTL_SECONDS", "ORC_LOCAL_ORGANIZATION", "ORC_LOCAL_USER",
        "ORC_MAX_FILES_PER_UPLOAD", "ORC_OCR_SECONDS", "ORC_PAGE_CHARACTERS", "ORC_PING_SECONDS",
        "ORC_PLANNER_CONFIDENCE", "ORC_RETRIEVAL_PASSAGES", "ORC_TOKEN_CACHE", "ORC_WEB_SEARCH_SECONDS",
    }
)  # fmt: skip
"""Settings that became constants, or whose file is part of the package."""


def deprecation_warnings(environment: Mapping[str, str]) -> list[str]:
    """One sentence for each old name that is set."""
    in_advanced = {old: key for key, old in ADVANCED.items()}
    warnings = []
    for name in sorted({key.upper() for key in environment}):
        if name in RENAMED:
            warnings.append(f"{name} is deprecated: set {RENAMED[name]} instead.")
        elif name in in_advanced:
            warnings.append(
                f'{name} is deprecated: set "{in_advanced[name]}" in {ADVANCED_VARIABLE} instead.'
            )
        elif name in WITHOUT_EFFECT:
            warnings.append(f"{name} no longer has an effect: remove it.")
    return warnings


def advanced_values(text: str) -> dict[str, str]:
    """The entries of ORC_ADVANCED as texts, like values of variables. InvalidInput for an unknown key."""
    try:
        values: Any = json.loads(text or "{}")
    except ValueError as exc:
        raise InvalidInput(f"Settings that cannot be used: {ADVANCED_VARIABLE} is not JSON.") from exc
    if not isinstance(values, dict):
        raise InvalidInput(f"Settings that cannot be used: {ADVANCED_VARIABLE} is not a JSON object.")
    if unknown := sorted(set(values) - set(ADVANCED)):
        raise InvalidInput(
            f"Settings that cannot be used: {ADVANCED_VARIABLE} does not know {', '.join(unknown)}."
        )
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
