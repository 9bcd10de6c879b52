"""The ids of contexts say where a context is, and nothing else can be taken for one."""

import pytest

from orc.contexts.ids import derived_id, is_at_or_below, is_context_id, lineage, new_id, parent_of

ROOT = new_id()
FOLDER = new_id(ROOT)
USECASE = new_id(FOLDER)


def test_the_ancestors_follow_from_the_id() -> None:
    assert lineage(USECASE) == [ROOT, FOLDER, USECASE]
    assert [parent_of(each) for each in lineage(USECASE)] == [None, ROOT, FOLDER]


def test_an_id_that_only_begins_alike_is_no_descendant() -> None:
    assert is_at_or_below(USECASE, ROOT)
    assert is_at_or_below(ROOT, ROOT)
    assert not is_at_or_below(ROOT, FOLDER)
    assert not is_at_or_below(f"{ROOT}0", ROOT)
    assert not is_at_or_below(FOLDER + "0", FOLDER)


def test_the_same_request_gives_the_same_id_and_others_another() -> None:
    assert derived_id(ROOT, "ada", "key") == derived_id(ROOT, "ada", "key")
    assert is_context_id(derived_id(ROOT, "ada", "key"))
    others = {derived_id(None, "ada", "key"), derived_id(ROOT, "bob", "key"), derived_id(ROOT, "adak", "ey")}
    assert len(others | {derived_id(ROOT, "ada", "key")}) == 4
    assert len({new_id() for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        ROOT[:-1],
        ROOT + "0",
        ROOT.upper() + "A",
        f"{ROOT}-",
        f"{USECASE}-{ROOT}",
        f"{ROOT}.{ROOT}",
        f"{ROOT}\n",
        ROOT[:-1] + "u",
        "../" + ROOT[3:],
    ],
    # Named here: each process makes other ids, and processes of one run must collect the same tests.
    ids=[
        "nothing",
        "a separator",
        "one character less",
        "one character more",
        "capitals",
        "a separator at the end",
        "four levels",
        "another separator",
        "a line break",
        "a letter that no id has",
        "a path",
    ],
)
def test_other_texts_are_no_ids(text: str) -> None:
    assert not is_context_id(text)
    assert all(map(is_context_id, (ROOT, FOLDER, USECASE)))
