"""Values of spreadsheet cells as a person sees them, alike for every format."""

from datetime import datetime, time


def show_number(value: float, *, is_share: bool = False) -> str:
    """The number without its rounding errors; a share as a percentage."""
    return f"{value * 100:.10g}%" if is_share else f"{value:.15g}"


def show_moment(value: datetime) -> str:
    """In ISO form, a day without an empty time."""
    return value.date().isoformat() if value.time() == time.min else value.isoformat(" ")
