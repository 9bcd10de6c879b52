"""The table of rights in docs/contexts.md says what the code does."""

from scripts.describe_rights import TARGET, describe


def test_the_table_is_as_the_code_says() -> None:
    page = TARGET.read_text()
    assert describe(page) == page, "run: python -m scripts.describe_rights"
    assert describe(page.replace("| yes |", "|  |")) == page
