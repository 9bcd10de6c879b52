"""The search double refuses what the service refuses, and searches what it is asked."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from devkit.doubles.search_double import ADMIN_KEY, API_VERSION, Failure, SearchDouble, serving
from devkit.doubles.search_ranking import Postings
from devkit.doubles.search_syntax import Field, Malformed, Node, parse_filter, parse_full, parse_simple

Json = dict[str, Any]
HEADERS = {"api-key": ADMIN_KEY}
VERSION = {"api-version": API_VERSION}
DEFINITION: Json = {
    "name": "things",
    "fields": [
        {"name": "key", "type": "Edm.String", "key": True},
        {"name": "kind", "type": "Edm.String", "searchable": False},
        {"name": "size", "type": "Edm.Int32", "sortable": True},
        {"name": "secret", "type": "Edm.String", "retrievable": False, "filterable": False},
        {"name": "text", "type": "Edm.String", "searchable": True, "analyzer": "standard.lucene"},
        {
            "name": "vector",
            "type": "Collection(Edm.Single)",
            "searchable": True,
            "dimensions": 2,
            "vectorSearchProfile": "exact",
        },
    ],
    "vectorSearch": {
        "profiles": [{"name": "exact", "algorithm": "all"}],
        "algorithms": [{"name": "all", "kind": "exhaustiveKnn"}],
    },
    "semantic": {
        "configurations": [
            {"name": "best", "prioritizedFields": {"prioritizedContentFields": [{"fieldName": "text"}]}}
        ]
    },
}
ITEMS: list[Json] = [
    {"key": "1", "kind": "a", "size": 3, "text": "A red apple falls.", "vector": [1, 0]},
    {"key": "2", "kind": "b", "size": 1, "text": "Red, red wine.", "vector": [0, 1]},
    {"key": "3", "kind": "a", "size": 2, "text": "The sea is green.", "vector": [1, 1]},
    {"key": "4", "kind": None, "size": None, "text": None, "vector": None},
]


@pytest.fixture
def double() -> SearchDouble:
    return SearchDouble()


@pytest.fixture
def client(double: SearchDouble) -> Iterator[httpx.Client]:
    with (
        serving(double) as target,
        httpx.Client(base_url=target.url, headers=HEADERS, params=VERSION, trust_env=False) as client,
    ):
        assert client.put("/indexes('things')", json=DEFINITION).status_code == 201
        assert index(client, *({"@search.action": "upload", **item} for item in ITEMS)).status_code == 200
        yield client


def index(client: httpx.Client, *actions: Json) -> httpx.Response:
    return client.post("/indexes('things')/docs/search.index", json={"value": actions})


def search(client: httpx.Client, **body: Any) -> httpx.Response:
    return client.post("/indexes('things')/docs/search.post.search", json=body)


def keys(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [row["key"] for row in response.json()["value"]]


def test_requests_need_a_version_and_an_identity(client: httpx.Client) -> None:
    path = "/indexes('things')/docs/$count"
    cases: list[tuple[dict[str, str], dict[str, str], int]] = [
        (VERSION, HEADERS, 200),
        (VERSION, {"authorization": "Bearer token"}, 200),
        (VERSION, {}, 401),
        (VERSION, {"api-key": "wrong"}, 403),
        ({}, HEADERS, 400),
        ({"api-version": "2019-05-06"}, HEADERS, 400),
    ]
    for params, headers, status in cases:
        response = httpx.get(str(client.base_url.join(path)), params=params, headers=headers, trust_env=False)
        assert response.status_code == status, (params, headers)
        if status != 200:
            assert {"code", "message"} == set(response.json()["error"])


@pytest.mark.parametrize(
    "body",
    [
        {"Search": "red"},
        {"search": 7},
        {"search": "red", "queryType": "fancy"},
        {"top": 1001},
        {"top": -1},
        {"skip": 100_001},
        {"filter": "kind eq a"},
        {"filter": "kind = 'a'"},
        {"filter": "kind eq 'a' or"},
        {"filter": "(kind eq 'a'"},
        {"filter": "kind eq 'it's'"},
        {"filter": "colour eq 'a'"},
        {"filter": "secret eq 'a'"},
        {"filter": "size eq 'a'"},
        {"filter": "search.in(kind)"},
        {"filter": "search.in(size, '1,2')"},
        {"select": "colour"},
        {"select": "secret"},
        {"searchFields": "kind"},
        {"orderby": "text sideways"},
        {"search": "colour:red", "queryType": "full"},
        {"search": '"red', "queryType": "full"},
        {"search": "red)", "queryType": "full"},
        {"search": "*", "queryType": "full", "vectorFilterMode": "postFilter"},
        {"vectorQueries": [{"kind": "vector", "fields": "vector", "vector": [1, 0, 0]}]},
        {"vectorQueries": [{"kind": "vector", "fields": "text", "vector": [1, 0]}]},
        {"vectorQueries": [{"kind": "text", "fields": "vector", "text": "red"}]},
        {"vectorQueries": [{"kind": "vector", "fields": "vector", "vector": [1, 0], "k": 0}]},
        {"vectorQueries": [{"kind": "vector", "fields": "vector", "vector": [0, 0]}]},
        {"search": "red", "queryType": "semantic", "semanticConfiguration": "worst"},
        {"queryType": "semantic", "semanticConfiguration": "best"},
        {"search": "red", "semanticConfiguration": "best"},
        {"search": "red", "queryType": "semantic", "semanticConfiguration": "best", "orderby": "size"},
        {
            "search": "red",
            "queryType": "semantic",
            "semanticConfiguration": "best",
            "semanticMaxWaitInMilliseconds": 10,
        },
    ],
)
def test_a_search_of_another_shape_is_refused(client: httpx.Client, body: Json) -> None:
    response = search(client, **body)
    assert response.status_code == 400, response.text
    assert response.json()["error"]["message"]


@pytest.mark.parametrize(
    "action",
    [
        {"key": "5"},
        {"@search.action": "replace", "key": "5"},
        {"@search.action": "upload"},
        {"@search.action": "upload", "key": "a/b"},
        {"@search.action": "upload", "key": "_a"},
        {"@search.action": "upload", "key": 5},
        {"@search.action": "upload", "key": "5", "colour": "red"},
        {"@search.action": "upload", "key": "5", "size": "3"},
        {"@search.action": "upload", "key": "5", "vector": [1]},
        {"@search.action": "upload", "key": "5", "vector": [1, "0"]},
        {"@search.action": "upload", "key": "5", "text": "x" * 40_000},
    ],
)
def test_a_write_of_another_shape_is_refused_with_its_batch(client: httpx.Client, action: Json) -> None:
    assert index(client, {"@search.action": "delete", "key": "1"}, action).status_code == 400
    assert keys(search(client, filter="key eq '1'")) == ["1"]


def test_batches_are_limited(client: httpx.Client) -> None:
    assert index(client).status_code == 400
    actions = [{"@search.action": "delete", "key": str(number)} for number in range(1001)]
    assert index(client, *actions).status_code == 400
    assert index(client, *actions[:1000]).status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        {"fields": []},
        {"colour": "red"},
        {"fields": [*DEFINITION["fields"], {"name": "x", "type": "Edm.Colour"}]},
        {"fields": [*DEFINITION["fields"], {"name": "x", "type": "Edm.String", "colour": "red"}]},
        {"fields": [*DEFINITION["fields"], {"name": "x", "type": "Edm.String", "key": True}]},
        {"fields": [*DEFINITION["fields"], {"name": "x", "type": "Edm.Int32", "searchable": True}]},
        {"fields": DEFINITION["fields"][:-1]},
        {"vectorSearch": {}},
        {
            "semantic": {
                "configurations": [{"name": "b", "prioritizedFields": {"titleField": {"fieldName": "kind"}}}]
            }
        },
        {"name": "another"},
    ],
)
def test_a_definition_that_is_wrong_or_takes_something_away_is_refused(
    client: httpx.Client, change: Json
) -> None:
    assert client.put("/indexes('things')", json={**DEFINITION, **change}).status_code == 400
    assert client.get("/indexes('things')").json() == DEFINITION


def test_what_is_not_there_is_not_found(client: httpx.Client) -> None:
    assert client.get("/indexes('nothing')").status_code == 404
    assert client.get("/indexes('nothing')/docs/$count").status_code == 404
    assert client.get("/indexes('things')/docs('9')").status_code == 404
    assert client.get("/indexes('things')/docs('1')").json()["size"] == 3
    assert client.delete("/indexes('things')").status_code == 204
    assert search(client, search="red").status_code == 404


def test_each_write_is_reported_separately(client: httpx.Client, double: SearchDouble) -> None:
    response = index(
        client,
        {"@search.action": "merge", "key": "1", "size": 9},
        {"@search.action": "merge", "key": "9", "size": 9},
        {"@search.action": "mergeOrUpload", "key": "5", "size": 5},
        {"@search.action": "delete", "key": "2"},
        {"@search.action": "upload", "key": "3", "size": 7},
    )
    assert response.status_code == 207
    assert [result["statusCode"] for result in response.json()["value"]] == [200, 404, 201, 200, 200]
    found = {row["key"]: row for row in search(client, search="*").json()["value"]}
    assert set(found) == {"1", "3", "4", "5"}
    assert (found["1"]["size"], found["1"]["kind"]) == (9, "a")
    assert (found["3"]["size"], found["3"]["kind"]) == (7, None)
    double.items_to_fail = 1
    response = index(client, {"@search.action": "delete", "key": "1"})
    assert (response.status_code, response.json()["value"][0]["statusCode"]) == (207, 503)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind eq 'a'", "13"),
        ("kind ne 'a'", "24"),
        ("kind ne null", "123"),
        ("kind eq null", "4"),
        ("size ge 2", "13"),
        ("size lt 3 and size gt 0", "23"),
        ("search.in(kind, 'a,b', ',')", "123"),
        ("search.in(kind, 'a b')", "123"),
        ("search.in(kind, 'a b', ',')", ""),
        ("kind eq 'b' or kind eq 'a' and size eq 2", "23"),
        ("(kind eq 'b' or kind eq 'a') and size eq 2", "3"),
        ("not (kind eq 'a')", "24"),
        ("kind eq 'it''s'", ""),
    ],
)
def test_filters_mean_what_they_say(client: httpx.Client, text: str, expected: str) -> None:
    assert "".join(sorted(keys(search(client, filter=text)))) == expected


@pytest.mark.parametrize(
    ("text", "full", "simple"),
    [
        ("red", "12", "12"),
        ("red -wine", "1234", "1234"),
        ("-red", "34", "34"),
        ("red AND apple", "1", "12"),
        ("red +apple", "1", "1"),
        ("gree*", "3", "3"),
        ("gren~1", "3", ""),
        ('"red apple"', "1", "1"),
        ('"apple red"', "", ""),
        ("text:(sea wine)", "23", "23"),
        ("+(sea wine) red^3", "23", None),
        ("re\\*", "", ""),
        ('"red', None, "12"),
        ("red)", None, "12"),
        ("kind:a", None, "1"),
    ],
)
def test_both_query_languages_are_read(
    client: httpx.Client, text: str, full: str | None, simple: str | None
) -> None:
    for language, expected in (("full", full), ("simple", simple)):
        response = search(client, search=text, queryType=language)
        if expected is not None:
            assert "".join(sorted(keys(response))) == expected, language
        else:
            assert response.status_code == 400 or language == "simple"


def test_rows_are_counted_sorted_cut_and_reduced(client: httpx.Client) -> None:
    body = search(
        client, filter="size ne null", orderby="size desc", top=1, skip=1, select="key", count=True
    ).json()
    assert body["@odata.count"] == 3
    assert body["value"] == [{"@search.score": 1.0, "key": "3"}]


def test_words_rank_by_bm25_vectors_by_cosine_and_both_by_their_ranks(client: httpx.Client) -> None:
    assert keys(search(client, search="red")) == ["2", "1"]
    vector = [{"kind": "vector", "fields": "vector", "vector": [1, 0], "k": 2}]
    near = search(client, vectorQueries=vector).json()["value"]
    assert [(row["key"], round(row["@search.score"], 4)) for row in near] == [("1", 1.0), ("3", 0.7735)]
    both = search(client, search="red", vectorQueries=vector).json()["value"]
    assert both[0]["key"] == "1"
    assert both[0]["@search.score"] == pytest.approx(1 / 60 + 1 / 61)
    assert keys(search(client, vectorQueries=vector, filter="kind eq 'b'")) == ["2"]


def test_the_reranker_reads_its_own_question_and_may_be_tired_or_absent(
    client: httpx.Client, double: SearchDouble
) -> None:
    asked = {"search": "red", "queryType": "semantic", "semanticConfiguration": "best"}
    rows = search(client, **asked, semanticQuery="apple falls").json()["value"]
    assert [(row["key"], row["@search.rerankerScore"]) for row in rows] == [("1", 4.0), ("2", 0.0)]
    double.reranker = "tired"
    partial = search(client, **asked, semanticErrorHandling="partial")
    assert partial.status_code == 206
    assert partial.json()["@search.semanticPartialResponseReason"] == "capacityOverloaded"
    assert "@search.rerankerScore" not in partial.json()["value"][0]
    assert search(client, **asked).status_code == 503
    double.reranker = "absent"
    assert search(client, **asked).json()["error"]["code"] == "FeatureNotSupportedInService"


def test_failures_come_as_they_were_ordered(client: httpx.Client, double: SearchDouble) -> None:
    double.failures.append(Failure("search", 429, times=1, after=1, headers={"Retry-After": "3"}))
    statuses = [search(client, search="red") for _ in range(3)]
    assert [response.status_code for response in statuses] == [200, 429, 200]
    assert statuses[1].headers["Retry-After"] == "3"


FIELDS = {"text": Field("Edm.String", False, True), "kind": Field("Edm.String", True, False)}


@pytest.mark.parametrize("text", ["text eq 'a'", "kind", "kind eq", "eq 'a'", "'a' eq kind", "", "kind eq 1"])
def test_half_a_filter_is_malformed(text: str) -> None:
    with pytest.raises(Malformed):
        parse_filter(text, FIELDS)


def found(node: Node, *texts: str) -> set[str]:
    postings = Postings({"text": "whitespace"})
    for number, text in enumerate(texts):
        postings.put(str(number), {"text": text})
    return set(postings.search(node, ["text"], map(str, range(len(texts)))))


def test_every_word_is_wanted_where_all_are_asked() -> None:
    assert found(parse_full("a b", FIELDS, "all"), "a", "a b", "b") == {"1"}
    assert found(parse_simple("a b", "all"), "a", "a b", "b") == {"1"}
    assert found(parse_simple("a -b", "all"), "a", "a b", "b") == {"0"}


def test_parentheses_of_the_simple_syntax_come_first() -> None:
    texts = ("a", "m", "m b", "m c d", "b c d")
    assert found(parse_simple('a (m + (b | "c d"))', "any"), *texts) == {"0", "2", "3"}
    assert found(parse_simple("a m + b", "any"), *texts) == {"2"}


def test_a_phrase_counts_the_more_the_more_often_it_occurs() -> None:
    postings = Postings({"text": "whitespace"})
    for key, text in (("once", "a b x y"), ("twice", "a b a b"), ("apart", "a x b y")):
        postings.put(key, {"text": text})
    scores = postings.search(parse_full('"a b"', FIELDS, "any"), ["text"], ["once", "twice", "apart"])
    assert scores["twice"] > scores["once"] > 0
    assert "apart" not in scores
