"""The base of all sections of the settings, and how lists are read."""

from pydantic import AliasChoices, AliasGenerator, BaseModel, ConfigDict

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
