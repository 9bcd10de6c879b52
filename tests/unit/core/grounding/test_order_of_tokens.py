"""The order of names and numbers: as a plain comparison of all tokens gives it, in a few looks at each."""

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, SupportsIndex, overload

import pytest

from core.grounding.order_of_tokens import is_turned, replaces_word, same_order
from core.grounding.tokens import Token, matches, tokenize

UNITS: Sequence[tuple[str, ...]] = ((), ("eur",), ("usd", "million"), ("%",), ("million",))


class CountedPage(list[Token]):
    """Counts how many tokens were looked at."""

    looks = 0

    @overload
    def __getitem__(self, place: SupportsIndex) -> Token: ...
    @overload
    def __getitem__(self, place: slice) -> list[Token]: ...
    def __getitem__(self, place: Any) -> Any:
        found = super().__getitem__(place)
        self.looks += len(found) if isinstance(found, list) else 1
        return found


def first_place(token: Token, page: Sequence[Token]) -> int:
    return next(at for at, each in enumerate(page) if matches(token, each))


def is_in_between(one: Token, other: Token, page: Sequence[Token]) -> bool:
    """Whether another number, with the unit of one of these, is between their first places."""
    start, end = (first_place(token, page) for token in (one, other))
    return any(
        each.stem != token.stem and each.near[:1] == token.near[:1]
        for each in page[start + 1 : end]
        for token in (one, other)
    )


def test_numbers_in_between_are_found_as_by_reading_all_of_them() -> None:
    chance = random.Random(13)
    verdicts = set()
    for _ in range(1500):
        page = [
            Token(stem=chance.choice("1234"), kind="number", near=chance.choice(UNITS))
            for _ in range(chance.randint(2, 9))
        ]
        # In the order of the page, only what is between them can contradict.
        places = sorted(chance.sample(range(len(page)), 2))
        claim = [page[place] for place in places]
        firsts = [first_place(token, page) for token in claim]
        if firsts != sorted(firsts) or claim[0].stem == claim[1].stem:
            continue
        expected = not any(is_in_between(one, other, page) for one, other in pairwise(claim))
        assert same_order(claim, page) is expected
        verdicts.add(expected)
    assert verdicts == {True, False}


def test_a_long_page_is_not_read_again_for_each_number_of_a_claim() -> None:
    count = 400
    # A preposition that both have lets their order change.
    ends = [Token(stem="first", kind="name", after="in"), Token(stem="7", kind="number", near=("eur",))]
    page = CountedPage([ends[0], *(Token(stem="9", kind="number") for _ in range(count)), ends[1]])
    assert same_order(ends * (count // 2), page)
    assert page.looks < 10 * count


def test_a_repeated_number_without_a_match_is_looked_up_once() -> None:
    count = 400
    page = CountedPage([Token(stem="7", kind="number", near=("eur",))] * count)
    claim = [Token(stem="7", kind="number", near=("usd",))] * count
    assert same_order(claim, page)
    assert page.looks < 10 * count


@pytest.mark.parametrize(
    ("claim", "page", "expected"),
    [
        ("The guest calls the cook at night", "The cook calls the guest at night", True),
        ("The guest was called by the cook", "The cook was called by the guest", True),
        ("La voisine appelle le cuisinier", "Le cuisinier appelle la voisine", True),
        ("The guest is called by the cook", "The cook calls the guest", False),
        ("At night the cook calls the guest", "The cook calls the guest at night", False),
        ("The cook answers when the guest calls", "When the guest calls, the cook answers", False),
        ("The guest calls the guest and the cook", "The cook and the guest: the guest calls", False),
    ],
)
def test_subject_and_object_are_not_exchanged_in_one_voice(claim: str, page: str, expected: bool) -> None:
    language = "fr" if "cuisinier" in page else "en"
    assert is_turned(tokenize(claim, language), tokenize(page, language)) is expected


@pytest.mark.parametrize(
    ("claim", "page"),
    [
        ("Im Treppenhaus müssen Hunde an der Leine sein.", "Hunde müssen im Treppenhaus an der Leine sein."),
        ("Nach dem dritten Jahr darf Ann an die Leine.", "Ann darf nach dem dritten Jahr an die Leine."),
        ("Auf dem Balkon ist Grillen verboten.", "Das Grillen ist auf dem Balkon verboten."),
        ("At the Harbour dogs need a leash of Ann.", "Dogs need a leash of Ann at the Harbour."),
    ],
)
def test_names_that_keep_their_prepositions_can_change_places(claim: str, page: str) -> None:
    language = "de" if claim[:2] in ("Im", "Au", "Na") else "en"
    said, found = ([t for t in tokenize(text, language) if not t.breaks] for text in (claim, page))
    assert same_order([token for token in said if token.is_name], found)


def test_a_modal_verb_may_stand_between_other_words() -> None:
    claim, page = (
        tokenize(text, "de")
        for text in ("Am Kai müssen Hunde an die Leine.", "Hunde müssen am Kai an die Leine.")
    )
    assert not is_turned(claim, page)
    turned = tokenize("Die Leine beißt den Hund.", "de"), tokenize("Der Hund beißt die Leine.", "de")
    assert is_turned(*turned)


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("In Hall B, the committee meets on the first Tuesday of each month.", False),
        ("In Hall B, the board meets on the first Tuesday of each month.", True),
        ("On the first Tuesday, the committee meets in Hall B.", False),
    ],
)
def test_another_word_is_seen_wherever_it_has_moved(claim: str, expected: bool) -> None:
    page = "The committee meets on the first Tuesday of each month in Hall B."
    assert replaces_word(tokenize(claim, "en"), tokenize(page, "en")) is expected


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("In closed tins, old paint is brought to the yard.", False),
        ("In closed tins, old paint is brought to the school.", True),
        ("In tins, paint is brought to the recycling yard.", False),
    ],
)
def test_another_word_is_seen_behind_the_same_word_and_preposition(claim: str, expected: bool) -> None:
    page = "Old paint is brought to the recycling yard in closed tins."
    assert replaces_word(tokenize(claim, "en"), tokenize(page, "en")) is expected


@pytest.mark.parametrize(
    ("claim", "page", "expected"),
    [
        (
            "The bank is informed by the customer of a change.",
            "The bank informs the customer of a change.",
            True,
        ),
        (
            "The customer is informed by the bank of a change.",
            "The bank informs the customer of a change.",
            False,
        ),
        ("The bank informs the customer.", "The bank is informed by the customer.", True),
        ("Minutes are sent by the members.", "Minutes are sent to the members.", True),
        ("Forms are returned by noon.", "Forms are returned before noon.", False),
        ("The court was dismissed by the tenant.", "The court dismissed the claim of the tenant.", True),
        ("No items were left by the client's staff.", "No items that staff of the client left.", False),
        ("The mural was painted by the town for Ann.", "Ann painted the mural for the town.", True),
        ("Minutes are sent by members to the clerk.", "The clerk sends minutes to members by mail.", True),
        ("Members are sent minutes by the clerk.", "The clerk sends minutes to members by mail.", False),
        ("A member is informed by boards.", "Boards are informed by a member.", True),
    ],
)
def test_the_agent_of_a_passive_is_the_subject_of_its_page(claim: str, page: str, expected: bool) -> None:
    assert is_turned(tokenize(claim, "en"), tokenize(page, "en")) is expected
