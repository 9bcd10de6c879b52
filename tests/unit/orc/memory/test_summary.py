"""What a point of the rolling summary says of a turn, and how old points become fewer."""

from itertools import pairwise

import pytest

from core.grounding.claims import NOT_FOUND_ANSWER
from core.llm.messages import OFFLINE_INTRODUCTION
from devkit.fakes import WordCounter
from devkit.remembered_turns import answered
from orc.memory.models import SummaryPoint
from orc.memory.summary import MAX_POINTS, NEVER_MERGED, POINT_TOKENS, bounded, point_of

COUNTER = WordCounter()
PLACE = '[Page 5 of Document "handbook.pdf"]'


def text_of(question: str, answer: str) -> str | None:
    point = point_of(answered(3, question, answer), COUNTER)
    return None if point is None else point.text


def test_a_point_is_the_question_and_the_best_sentence_with_its_citation() -> None:
    answer = (
        f"Some notes first. Rent is due monthly. {PLACE} The notice period is three months {PLACE}. "
        f'Dogs are welcome. [Page 6 of Document "handbook.pdf"]'
    )
    said = text_of("How long is the notice period?", answer)
    assert said == f"“How long is the notice period?” The notice period is three months {PLACE}"


def test_a_verified_sentence_goes_before_one_that_is_not() -> None:
    answer = (
        f'The notice period is long. [Page 5 of Document "a.pdf", not verified] It is three months. {PLACE}'
    )
    assert text_of("The notice period?", answer) == f"“The notice period?” It is three months. {PLACE}"


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("Is it long?", "Yes, it is rather long. And dull.", "“Is it long?” Yes, it is rather long."),
        (
            "Is it long?",
            f'It is. [Web page "A b", x.org] {PLACE}',
            '“Is it long?” It is. [Web page "A b", x.org]',
        ),
        ("The weather is 'bad', I”d say.", "Noted.", "“The weather is 'bad', I\"d say.”"),
        ("The weather is bad.", OFFLINE_INTRODUCTION, "“The weather is bad.”"),
        ("We moved to Leeds.", OFFLINE_INTRODUCTION, None),
        ("Who signs?", NOT_FOUND_ANSWER, None),
        ("Thank you!", "You are welcome to ask more.", None),
    ],
)
def test_other_answers_say_what_they_can(question: str, answer: str, said: str | None) -> None:
    assert text_of(question, answer) == said


@pytest.mark.parametrize(
    ("action", "answer", "is_kept"),
    [
        ("label_unverified", "The fee is 99 euros, as everybody knows.", False),
        ("label_unverified", 'The fee is 99 euros. [Page 5 of Document "a.pdf", not verified]', False),
        ("label_unverified", f"The fee is 99 euros, they say. It is due monthly. {PLACE}", True),
        ("accept", f"It is due monthly. {PLACE}", True),
    ],
)
def test_what_nothing_bears_out_is_not_known_afterwards(action: str, answer: str, is_kept: bool) -> None:
    turn = answered(3, "What is the fee?", answer)
    judged = turn.model_copy(update={"result": {"metadata": {"critic_summary": {"action": action}}}})
    point = point_of(judged, COUNTER)
    assert (point is not None) is is_kept
    assert point is None or "99" not in point.text


def test_a_point_is_bounded_and_its_citation_stays_whole() -> None:
    point = point_of(answered(1, "word " * 500, f"{'long ' * 500}end. {PLACE}"), COUNTER)
    assert point is not None
    assert COUNTER.count(point.text) <= POINT_TOKENS + 4
    assert point.text.endswith(PLACE)
    assert point.tokens == 500 + 501 + 5


def points(number: int) -> list[SummaryPoint]:
    turns = (
        answered(seq, f"What is item {seq}?", f"Item {seq} is {seq} kg. {PLACE}") for seq in range(1, number)
    )
    return [point for turn in turns if (point := point_of(turn, COUNTER))]


def test_old_points_become_fewer_and_every_turn_stays_in_one() -> None:
    kept = bounded(points(500), 499, COUNTER)
    assert len(kept) == MAX_POINTS
    assert kept[-NEVER_MERGED:] == points(500)[-NEVER_MERGED:]
    assert kept[0].first_seq == 1
    assert all(one.last_seq + 1 == other.first_seq for one, other in pairwise(kept))
    assert max(point.last_seq - point.first_seq for point in kept) < 20
    assert all(COUNTER.count(point.text) <= POINT_TOKENS for point in kept)
    assert "kg. [Page 5" in kept[0].text


def test_merging_is_the_same_whether_at_once_or_turn_by_turn() -> None:
    kept: list[SummaryPoint] = []
    for point in points(300):
        kept = bounded([*kept, point], point.last_seq, COUNTER)
    assert len(kept) == MAX_POINTS
    assert sum(point.tokens for point in kept) == sum(point.tokens for point in points(300))


def test_points_of_turns_that_may_be_made_anew_are_not_merged() -> None:
    assert bounded(points(100), 0, COUNTER) == points(100)


def test_what_tells_least_is_left_out_of_a_merged_point() -> None:
    told = [f"“q?” It was said that something is somehow like that {n}." for n in range(3)]
    cited = f"“q?” The Fee of Acme is 10 EUR. {PLACE}"
    made = [
        SummaryPoint(text=f"{text} {'so ' * 25}", first_seq=seq, last_seq=seq)
        for seq, text in enumerate(told, 1)
    ]
    made.append(SummaryPoint(text=cited, first_seq=4, last_seq=4))
    many = [
        *made,
        *(
            p.model_copy(update={"first_seq": p.first_seq + 4, "last_seq": p.last_seq + 4})
            for p in points(90)
        ),
    ]
    first = bounded(many, 99, COUNTER)[0]
    assert first.first_seq == 1
    assert "so so" in first.text
    assert COUNTER.count(first.text) <= POINT_TOKENS
