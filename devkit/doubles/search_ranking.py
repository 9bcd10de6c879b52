"""How the search double ranks: BM25 over the whole index, cosines, reciprocal ranks, a stand-in reranker."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from typing import Any

from devkit.doubles.search_syntax import Clauses, Item, Node, Phrase, Term

K1, B = 1.2, 0.75
RRF_K = 60
TEXT_RECALL = 1000
BEST_RERANKED = 4.0
ANALYZERS = {
    "whitespace": str.split,
    # Han and Hiragana one by one, as Unicode's rules for the ends of words have it.
    "standard.lucene": lambda text: re.findall(
        r"[\u3040-\u309f\u3400-\u9fff]|[^\W\u3040-\u309f\u3400-\u9fff]+", text.lower()
    ),
}
Scores = dict[str, float]


class Postings:
    """The words of every searchable field of every item, by key."""

    def __init__(self, analyzers: Mapping[str, str]) -> None:
        self.analyzers = dict(analyzers)
        self.words: dict[str, dict[str, list[str]]] = {field: {} for field in analyzers}
        self._counts: dict[str, dict[str, Counter[str]]] = {
            field: defaultdict(Counter) for field in analyzers
        }

    def put(self, key: str, item: Item | None) -> None:
        for field, analyzer in self.analyzers.items():
            for word in self.words[field].pop(key, ()):
                self._counts[field][word].pop(key, None)
            if item is not None and (text := item.get(field)):
                spelled = ANALYZERS[analyzer](text)
                self.words[field][key] = spelled
                for word, count in Counter(spelled).items():
                    self._counts[field][word][key] = count

    def search(self, node: Node, fields: Sequence[str], within: Iterable[str]) -> Scores:
        """The items among `within` that match, with their scores."""
        candidates = set(within)
        return {
            key: score for key, score in self._scores(node, fields, candidates).items() if key in candidates
        }

    def _scores(self, node: Node, fields: Sequence[str], within: set[str]) -> Scores:
        if isinstance(node, Clauses):
            return self._combined(node, fields, within)
        scores: Scores = defaultdict(float)
        for field in [node.field] if node.field else fields:
            found = self._term(node, field) if isinstance(node, Term) else self._phrase(node, field)
            for key, score in found.items():
                scores[key] += score * node.boost
        return scores

    def _combined(self, node: Clauses, fields: Sequence[str], within: set[str]) -> Scores:
        must = [self._scores(each, fields, within) for each in node.must]
        should = [self._scores(each, fields, within) for each in node.should]
        if must:
            matching = set.intersection(*(set(scores) for scores in must))
        else:
            matching = {key for scores in should for key in scores}
        return {
            key: node.boost * sum(scores.get(key, 0.0) for scores in (*must, *should)) for key in matching
        }

    def _term(self, term: Term, field: str) -> Scores:
        if not (term.starts or term.edits):
            (spelled, *more) = ANALYZERS[self.analyzers[field]](term.text) or [""]
            scores = Counter(self._bm25(field, spelled))
            for word in more:
                scores.update(self._bm25(field, word))
            return dict(scores)
        words = self._counts[field]
        if term.starts:
            alike = [word for word in words if word.startswith(term.text)]
            return {key: 1.0 for word in alike for key in words[word]}
        scores = Counter[str]()
        for word in [word for word in words if _within(term.text, word, term.edits)][:50]:
            scores.update({key: score / 2 for key, score in self._bm25(field, word).items()})
        return dict(scores)

    def _phrase(self, phrase: Phrase, field: str) -> Scores:
        """BM25 of how often the words stand together; as rare as all of them added up."""
        wanted = ANALYZERS[self.analyzers[field]](phrase.text)
        having = [self._counts[field].get(word, Counter[str]()) for word in wanted]
        if not having or not all(having):
            return {}
        among = set[str].intersection(*map(set, having))
        counts = {key: _occurrences(wanted, self.words[field][key]) for key in among}
        return self._weigh(field, counts, sum(map(self._rarity(field), having)))

    def _bm25(self, field: str, word: str) -> Scores:
        having = self._counts[field].get(word, Counter[str]())
        return self._weigh(field, having, self._rarity(field)(having)) if having else {}

    def _rarity(self, field: str) -> Callable[[Sized], float]:
        total = len(self.words[field])
        return lambda having: math.log(1 + (total - len(having) + 0.5) / (len(having) + 0.5))

    def _weigh(self, field: str, counts: Mapping[str, int], rarity: float) -> Scores:
        lengths = self.words[field]
        average = sum(map(len, lengths.values())) / len(lengths)
        return {
            key: rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * len(lengths[key]) / average))
            for key, count in counts.items()
            if count
        }


def _occurrences(wanted: Sequence[str], words: Sequence[str]) -> int:
    size = len(wanted)
    return sum(list(words[i : i + size]) == list(wanted) for i in range(len(words) - size + 1))


def nearest(items: Mapping[str, Item], field: str, vector: Sequence[float], count: int) -> Scores:
    """The items with the closest vectors; the score is 1 / (1 + distance), the distance 1 - cosine."""
    scores = {key: 1 / (2 - _cosine(vector, item[field])) for key, item in items.items() if item.get(field)}
    return dict(best_first(scores)[:count])


def fused(rankings: Sequence[Scores]) -> Scores:
    """Reciprocal rank fusion, with ranks from 0."""
    scores: Scores = defaultdict(float)
    for ranking in rankings:
        for rank, (key, _) in enumerate(best_first(ranking)[:TEXT_RECALL]):
            scores[key] += 1 / (RRF_K + rank)
    return scores


def best_first(scores: Scores) -> list[tuple[str, float]]:
    """Equal scores come in no order that a client could rely on."""
    return sorted(scores.items(), key=lambda found: (-found[1], found[0][::-1]))


def reranked(question: str, texts: Sequence[Any]) -> float:
    """From 0 to 4: which share of the question's longer words an item has. Only a stand-in."""
    asked = {word for word in re.findall(r"\w+", question.lower()) if len(word) > 3}
    said = set(re.findall(r"\w+", " ".join(filter(None, texts)).lower()))
    return BEST_RERANKED * len(asked & said) / max(1, len(asked))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths


def _within(one: str, other: str, edits: int) -> bool:
    if abs(len(one) - len(other)) > edits:
        return False
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, again in enumerate(other, 1):
            cost = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != again))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == again:
                cost = min(cost, rows[-2][j - 2] + 1)
            row.append(cost)
        rows.append(row)
    return rows[-1][-1] <= edits
