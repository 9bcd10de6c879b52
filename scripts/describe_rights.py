"""`python -m scripts.describe_rights`: write the table of rights in docs/contexts.md from the code."""

from pathlib import Path

from orc.contexts.models import Role
from orc.contexts.rights import NEEDED, TENANT_ADMIN, Right, allows

TARGET = Path(__file__).resolve().parents[1] / "docs" / "contexts.md"
BEGIN, END = "<!-- rights -->\n", "<!-- end of rights -->\n"


def describe(page: str) -> str:
    """The page with the table of rights as it is now."""
    before, _, rest = page.partition(BEGIN)
    return before + BEGIN + _table() + END + rest.partition(END)[2]


def _table() -> str:
    titles = ["right", *Role, "administrator of the installation"]
    rows = [titles, ["---"] * len(titles), *map(_row, NEEDED)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(right: Right) -> list[str]:
    marks = ["yes" if allows(role, right) else "" for role in Role]
    return [right, *marks, "yes" if right in TENANT_ADMIN else ""]


if __name__ == "__main__":
    TARGET.write_text(describe(TARGET.read_text()))
