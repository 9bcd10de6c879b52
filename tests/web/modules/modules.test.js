// Modules of the page by themselves, without a browser and a server: `node --test tests/web/modules/modules.test.js`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./page.js";

const { eventsOf, readProblem } = await load("api");
const { number, speak, t } = await load("i18n");
const { numbered, placesIn, safeAddress } = await load("markdown");
const { numbersOf, pagesOf } = await load("parts");
const { partsOf } = await load("colours");
const { cellOf } = await load("copies");
const { carryOut, dismiss, doLater, notices, takeBack } = await load("store");
const { freeName, uploads } = await load("uploads");

test("events are read whole, however their bytes are cut", async () => {
  const text =
    'id: 1\nevent: token\ndata: {"text":"Grüße"}\n\n: still there\nid: 2\r\nevent: done\r\ndata: a\r\ndata: b\r\n\r\ndata: not complete';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 3, 1000]) {
    const cut = new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
        controller.close();
      },
    });
    const found = [];
    for await (const each of eventsOf(new Response(cut))) found.push(each);
    assert.deepEqual(found, [
      { id: "1", event: "token", data: '{"text":"Grüße"}' },
      { id: "2", event: "done", data: "a\nb" },
    ]);
  }
});

test("what is no problem document becomes one", () => {
  assert.equal(readProblem(409, '{"status":409,"detail":"No.","code":"taken"}', "").code, "taken");
  assert.deepEqual(readProblem(502, "<html>", "t"), { status: 502, detail: "", trace_id: "t", code: "http_502", retryable: true });
});

test("words and numbers are those of the language", async () => {
  const said = {};
  for (const language of ["en", "de", "fr"]) {
    assert.equal(await speak(language), true);
    said[language] = [t("files.count", { n: 1 }), t("files.count", { n: 1200 }), number(0.5)];
  }
  assert.deepEqual(said.en, ["1 file", "1,200 files", "0.5"]);
  assert.deepEqual(said.de, ["1 Datei", "1.200 Dateien", "0,5"]);
  assert.deepEqual(
    said.fr.map((each) => each.replace(/\s/g, " ")),
    ["1 fichier", "1 200 fichiers", "0,5"],
  );
  await speak("en");
});

test("a cell of a saved table is no formula of a spreadsheet", () => {
  const formulas = ['=HYPERLINK("http://a.example")', "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+WEBSERVICE(A1)"];
  for (const text of formulas) assert.equal(cellOf(text), `"'${text.replaceAll('"', '""')}"`);
  for (const text of ["-5", "+3.5 %", "-1,084.00 €", "a = b", "Fee (2023)"]) assert.equal(cellOf(text), `"${text}"`);
});

test("places are counted in characters, not in parts of an emoji", () => {
  const marks = [{ start: 2, end: 5 }];
  const places = placesIn("🦀 [1] end", [{ marks }]);
  assert.deepEqual(places, [{ index: 0, start: 3, end: 6 }]);
  assert.equal(numbered("🦀 [x] end", places, [7]), "🦀 [7] end");
});

test("comments, texts, numbers and calls of code differ, and nothing is lost", () => {
  const codes = {
    sql: "select count(*) -- of 'all'\nfrom t where a = 'it' /* 7 */",
    js: "const a = f(`x 1`); // 2",
    html: "<!-- a --><b c='d'>",
    none: "# a",
  };
  const kinds = {};
  for (const [language, code] of Object.entries(codes)) {
    const parts = partsOf(code, language);
    assert.equal(parts.map(([, text]) => text).join(""), code);
    kinds[language] = parts.filter(([kind]) => kind).map((each) => each.join(" "));
  }
  assert.deepEqual(kinds.sql, ["call count", "comment -- of 'all'", "text 'it'", "comment /* 7 */"]);
  assert.deepEqual(kinds.js, ["call f", "text `x 1`", "comment // 2"]);
  assert.deepEqual(kinds.html, ["comment <!-- a -->", "text 'd'"]);
  assert.deepEqual(kinds.none, []);
});

test("only plain addresses can be followed", () => {
  assert.equal(safeAddress("https://example.org/a")?.host, "example.org");
  for (const each of [
    "javascript:alert(1)",
    "data:text/html,x",
    "https://user:secret@example.org",
    "https://a.org/\u202Egpj",
    "no address",
  ])
    assert.equal(safeAddress(each), null);
});

test("a page has one number, and its quotes belong to it", () => {
  const citations = [
    ["a", 5],
    ["a", 7],
    ["a", 5],
    ["b", 5],
  ].map(([document_id, page]) => ({ document_id, page }));
  assert.deepEqual(numbersOf(citations), [1, 2, 1, 3]);
  assert.deepEqual(
    pagesOf(citations).map(({ indexes }) => indexes),
    [[0, 2], [1], [3]],
  );
});

test("what is removed is done once its notice is gone, and not if it is taken back", async () => {
  const done = [];
  const deed = (key) => ({
    key,
    focus: "",
    act: async (leaving) => {
      done.push([key, leaving]);
    },
    undo: () => done.push([key, "undone"]),
  });
  for (const key of ["one", "two", "three"]) doLater(`${key} was removed.`, deed(key));
  assert.deepEqual(done, []);
  assert.equal(takeBack(), true);
  dismiss("one");
  await carryOut("two", true);
  assert.deepEqual(done, [
    ["three", "undone"],
    ["one", false],
    ["two", true],
  ]);
  assert.equal(takeBack("one"), false);
  assert.deepEqual(notices.value, []);
});

test("a second file of a name gets the first number that is free", () => {
  const target = { id: "here", known: (name) => (name === "report (2).txt" ? {} : undefined) };
  uploads.value = [
    { key: "k", place: "here", name: "report (3).txt", state: "waiting" },
    { key: "l", place: "there", name: "report (4).txt", state: "waiting" },
  ];
  assert.equal(freeName("report.txt", target), "report (4).txt");
  assert.equal(freeName("README", target), "README (2)");
  uploads.value = [];
});
