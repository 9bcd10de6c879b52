// One turn: the question, the answer with its markers, and what was checked.
import { ask, rate, retry } from "./chat.js";
import { refusedBefore, unsettled } from "./files.js";
import { language, listed, named, t } from "./i18n.js";
import { blocks, placesIn, withPlaces } from "./markdown.js";
import {
  accountOf,
  Choice,
  Countdown,
  hidePeek,
  homeOf,
  Icon,
  IconButton,
  Lazy,
  lookOf,
  MarkerIcon,
  NOTES,
  numbersOf,
  pageOf,
  pagesOf,
  peek,
  summaryOf,
  unpeek,
  verdictOf,
  withNotes,
  WITHOUT_SOURCE,
  wordOf,
} from "./parts.js";
import {
  answering,
  earlierVersions,
  edit,
  isRunning,
  isShared,
  newest,
  openSource,
  proposes,
  shownTurn,
  toggleTools,
  toolsFlipped,
} from "./session.js";
import { checkVersion, copy, me, moreOf, online, place, wordsOf, wordsOfCode } from "./store.js";
import { h, useEffect, useLayoutEffect, useRef, useState } from "./vendor/ui.js";

/** @import { Child, Citation, Lookup, Objection, Place, Signal, ToolOff, TurnView } from "./types/page.js" */

/** The markers in the text of an answer, in order. @param {TurnView} turn @returns {Place[]} */
function placesOf({ text, marks, citations, state }) {
  if (isRunning(state) && marks.length) return marks.filter((each) => each.end <= text.length);
  return placesIn(text, citations);
}

/** Fetch the page of a citation, and what shows it, before it is opened. @param {TurnView} turn @param {number} index */
const prefetch = (turn, index) => {
  import("./sources.js").then(
    (sources) => sources.prefetchSource(turn, index),
    () => {},
  );
};

/** @param {{turn: TurnView, citation: Citation, index: number, number: number, provisional: boolean}} properties */
function Marker({ turn, citation, index, number: n, provisional }) {
  const look = provisional ? "is-open" : lookOf(citation);
  const word = provisional ? "" : wordOf(citation);
  const shown = word ? `${n}: ${word}` : String(n);
  const account = provisional ? `${pageOf(citation)}, ${t("verdict.open")}` : citation.closest ? verdictOf(citation) : accountOf(citation);
  return h(
    "button",
    {
      type: "button",
      class: `marker ${look}`,
      "aria-label": t("marker", { shown, account }),
      onClick: () => {
        hidePeek();
        openSource(turn, index);
      },
      onMouseEnter: (event) => {
        peek(citation, event.currentTarget);
        prefetch(turn, index);
      },
      onMouseLeave: unpeek,
      onBlur: hidePeek,
      onFocus: (event) => {
        if (event.currentTarget.matches(":focus-visible")) peek(citation, event.currentTarget);
      },
    },
    word ? `${n}:` : String(n),
    h(MarkerIcon, { look }),
    word ? h("span", { class: "word" }, ` ${word}`) : null,
  );
}

const ONE_SENTENCE = /^[^.!?\n]+[^\p{L}\p{N}]*$/u;

/** The text without what a note says above it. @param {TurnView} turn @returns {{text: string, places: Place[]}} */
function bodyOf(turn) {
  const [{ text, kind, state }, places] = [turn, placesOf(turn)];
  if (state !== "answered" && kind !== "closest_passages") return { text, places };
  const [first = "", ...others] = text.split("\n\n");
  const isSaidAbove = saysNotFound(turn) || (isOff(turn) && isOfWords(turn));
  if (isSaidAbove && ONE_SENTENCE.test(first)) return { text: others.join("\n\n"), places };
  const from = kind === "closest_passages" ? text.indexOf("\n\n") + 1 : 0;
  if (from && places.every(({ start }) => start > from)) {
    return { text: text.slice(from), places: places.map((each) => ({ ...each, start: each.start - from, end: each.end - from })) };
  }
  const end = places.length ? -1 : text.lastIndexOf(WITHOUT_SOURCE);
  return { text: end >= 0 && isTalk(turn) ? text.slice(0, end).trimEnd() + text.slice(end + WITHOUT_SOURCE.length) : text, places };
}

/** Whether it is a greeting or thanks: they need no source. @param {TurnView} turn */
const isTalk = ({ metadata, files }) =>
  !files.length && metadata?.route?.intent === "conversational" && (metadata.retrieval_mode ?? "none") === "none";

/** @param {{turn: TurnView}} properties */
function Text({ turn }) {
  const { text, places } = withNotes(bodyOf(turn));
  const provisional = isRunning(turn.state) && !turn.judged;
  const numbers = numbersOf(turn.citations);
  const isCited = turn.citations.length > 0;
  // What shows a source, or copies, is there before it is wanted, also if the connection is lost meanwhile.
  useEffect(() => {
    Promise.all([import("./copies.js"), isCited && import("./sources.js")]).catch(() => {});
  }, [isCited]);
  const version = `${language.value}${provisional}${turn.citations.map((each) => each && lookOf(each) + verdictOf(each) + homeOf(each)).join("")}`;
  const marker = (/** @type {number} */ place) => {
    const index = places[place]?.index ?? 0;
    if (index < 0) return h("span", { class: "marker is-missing" }, t(NOTES[-1 - index]?.[1] ?? ""));
    const citation = turn.citations[index];
    return citation ? h(Marker, { turn, citation, index, number: numbers[index] ?? 0, provisional }) : null;
  };
  return text && h("div", { class: "text" }, blocks(withPlaces(text, places), marker, version + places.map((each) => each.index).join()));
}

/** @param {{turn: TurnView}} properties */
function SourcesLine({ turn }) {
  const summary = summaryOf(turn.citations);
  if (!summary) return null;
  return h("button", { type: "button", class: "sources-line", onClick: () => openSource(turn, null) }, h(Icon, { name: "page" }), summary);
}

/** The kinds and words of notes. @param {TurnView} turn @returns {[string, Child][]} */
function cautions(turn) {
  const left = leftOut(turn);
  return left ? [...doubts(turn, true), ["left", left]] : doubts(turn, false);
}

/** The files that were left out, in one sentence, or "". @param {TurnView} turn */
function leftOut(turn) {
  const { files = [], not_searched: { documents, total } = { documents: [], total: 0 } } = turn.metadata ?? {};
  const named = [
    ...files.filter((each) => each.status === "failed").map((each) => t("left.failed", { name: each.blob_name })),
    ...documents.map(({ blob_name: name, status, reason_code: code }) =>
      t(status !== "failed" ? "left.coming" : code === "no_text" ? "left.no_text" : "left.failed", { name }),
    ),
    ...refusedBefore(turn, lookedUp(turn)).map(({ name }) => t("left.refused", { name })),
  ];
  const shown = named.slice(0, MOST_LEFT_OUT);
  const more = total - documents.length + named.length - shown.length;
  if (more > 0) shown.push(t(shown.length ? "left.more" : "left.documents", { n: more }));
  return shown.length ? t("left", { names: shown.join(", ") }) : "";
}
const MOST_LEFT_OUT = 5;

/** @param {TurnView} turn @returns {Record<string, any>} */
const checksOf = (turn) => turn.metadata?.critic_summary ?? {};

/** @param {TurnView} turn */
const lookedUp = ({ files, metadata }) =>
  files.length > 0 ||
  (metadata?.retrieval_mode ?? "none") !== "none" ||
  (metadata?.lookups ?? []).some((each) => each.tool && each.status === "ok");

/** Whether it only lists documents: the server neither checks that nor expects sources. @param {TurnView} turn */
const onlyLists = ({ files, metadata }) =>
  !files.length &&
  (metadata?.retrieval_mode ?? "none") === "none" &&
  !("coverage" in (metadata?.critic_summary ?? {})) &&
  (metadata?.lookups ?? []).every((each) => !each.tool || each.tool === "documents_list");

/** Whether it says that nothing was found: nothing in it needs a source. @param {TurnView} turn */
function saysNotFound(turn) {
  if (turn.kind === "not_found") return true;
  return !turn.citations.length && checksOf(turn).uncited === 0 && lookedUp(turn) && leftOut(turn) !== "";
}

/** Whether nothing was looked up, as what would do that is switched off. @param {TurnView} turn */
const isOff = ({ citations, metadata }, lookups = metadata?.lookups ?? []) =>
  !citations.length &&
  lookups.some((each) => each.reason_code === "switched_off") &&
  lookups.every((each) => !each.tool || each.status !== "ok");

/** Links to what has switched tools off, where they can be switched on. @param {TurnView} turn */
function offBy({ metadata }) {
  const { tools_off: off = [] } = /** @type {{tools_off?: ToolOff[]}} */ (metadata?.plan ?? {});
  return [...new Map(off.map((each) => [each.context_id, each.context_name]))].map(([id, name]) => [
    " ",
    h("a", { href: `#/contexts/${id}`, key: id }, t("tools.off_by", { name })),
  ]);
}

/** What is switched off, by whom, and how it is switched on. @param {{turn: TurnView}} properties */
function SwitchedOff({ turn }) {
  const skipped = (turn.metadata?.lookups ?? []).filter((each) => each.reason_code === "switched_off");
  const names = skipped.filter(({ detail }) => detail === "you").map(({ tool }) => tool);
  const askAgain = () => {
    toggleTools(toolsFlipped.value.filter((each) => names.includes(each)));
    ask(turn.question, { replaces: turn });
  };
  return [
    h("p", null, [t("kind.off"), ...new Set(skipped.map((each) => lookupWords(each, "")))].join(" ")),
    names.length > 0 &&
      !isShared.value &&
      !answering.value &&
      h("p", { class: "row" }, h("button", { type: "button", onClick: askAgain }, t("kind.off.on"))),
  ];
}

/** Whether the model that stands in if none is set up has answered: it compares words, and knows no answers. @param {TurnView} turn */
export const isOfWords = ({ metadata }) => metadata?.route?.model === "extractive";

/** @param {TurnView} turn @param {boolean} isPartial some files were not searched @returns {[string, Child][]} */
function doubts(turn, isPartial) {
  if (isOff(turn)) return [["warn", h(SwitchedOff, { turn })]];
  const nothing = isOfWords(turn) ? "kind.no_words" : "kind.not_found";
  const none = turn.kind === "closest_passages" ? "kind.closest" : !saysNotFound(turn) ? "" : isPartial ? `${nothing}.partial` : nothing;
  if (none) return [["none", turn.files.length ? `${t(none)} ${t("kind.only", { names: listed(turn.files) })}` : t(none)]];
  const cites = turn.citations.filter((each) => each && !each.closest);
  const found = KINDS.map(({ words, checks }) => ({ words, n: cites.filter((each) => checks.includes(each.check)).length }));
  const said = found.filter(({ n }) => n).map(({ words, n }) => t(words, { n }));
  if (said.length) return [["warn", said.join(" ")]];
  return !turn.citations.length && lookedUp(turn) && !onlyLists(turn) ? [["warn", t("kind.no_sources")]] : [];
}
/** What a note above the answer says of citations with these checks. @type {{words: string, checks: string[]}[]} */
const KINDS = [
  { words: "kind.doubted", checks: ["differs", "unsupported"] },
  { words: "kind.pictured", checks: ["picture"] },
];

/** @param {{kind: string, children?: Child}} properties */
const Note = ({ kind, children }) =>
  h("div", { class: `note is-${kind}` }, h(Icon, { name: NOTE_ICONS[kind] ?? "info" }), h("div", null, children));
/** @type {Record<string, string>} */
const NOTE_ICONS = { none: "search", bad: "alert", warn: "alert", stopped: "stop", info: "info", left: "info" };

export const MOST_OBJECTIONS = 8;

/** @param {{turn: TurnView}} properties */
function Withdrawn({ turn }) {
  if (!turn.withdrawn) return null;
  const { objections, text } = turn.withdrawn;
  return h(
    "details",
    { class: "withdrawn" },
    h("summary", null, t("turn.withdrawn")),
    objections.length > 0 &&
      h(
        "ul",
        null,
        objections.slice(0, MOST_OBJECTIONS).map((each) => h("li", null, objectionWords(each))),
      ),
    text && h("del", null, text),
  );
}

/** What was wrong in sentences that were corrected, and what stands there now. @param {{turn: TurnView}} properties */
function Corrected({ turn }) {
  const corrections = turn.metadata?.corrections ?? [];
  if (!corrections.length) return null;
  return h(
    "details",
    { class: "withdrawn corrected" },
    h("summary", null, t("turn.corrected", { n: corrections.length })),
    h(
      "ul",
      null,
      corrections.map(({ before, after }) => h("li", null, h("del", null, before), h("ins", null, after || t("turn.corrected.out")))),
    ),
  );
}

/** @param {{turn: Signal<TurnView>}} properties */
function Trouble({ turn }) {
  const { state, problem, turnId } = turn.value;
  if (state === "stopped") {
    const isPartly = turn.value.citations.some((each) => each && each.check !== "picture");
    return h(Note, { kind: "stopped" }, isShared.value ? t("turn.stopped") : t(isPartly ? "turn.stopped.partly" : "turn.stopped.note"));
  }
  if (!["failed", "interrupted"].includes(state)) return null;
  const text = state === "interrupted" ? t("turn.interrupted") : problem ? wordsOf(problem) : t("problem.unknown");
  const trace = problem?.trace_id;
  return h(
    "div",
    { class: "note is-bad", role: "alert" },
    h(Icon, { name: "alert" }),
    h(
      "div",
      null,
      h("p", null, text),
      problem?.retry_after ? h("p", null, t("turn.wait", { n: problem.retry_after })) : null,
      me.value?.can.administer &&
        problem?.detail &&
        problem.detail !== text &&
        h("details", null, h("summary", null, t("details")), h("p", null, problem.detail)),
      problem && moreOf(problem).map((each) => h("p", { class: "soft" }, `${each.field}: ${wordsOfCode(each.code, each.reason)}`)),
      h(
        "p",
        { class: "row" },
        turnId && h("button", { type: "button", onClick: () => retry(turn) }, t("turn.retry")),
        trace && h("button", { type: "button", class: "quiet", onClick: () => copy(trace, t("turn.trace.copied")) }, t("turn.trace")),
      ),
    ),
  );
}

/** @param {{turn: Signal<TurnView>}} properties */
function Actions({ turn }) {
  const now = turn.value;
  const idle = !answering.value && !isShared.value;
  const again = (/** @type {string} */ model = "") => ask(now.question, { replaces: now, model });
  const change = () => {
    edit(now);
    document.getElementById("question")?.focus();
  };
  const rated = now.feedback?.rating;
  const models = me.value?.models ?? [];
  const used = now.model ?? models.find((each) => each.default)?.id;
  return h(
    "div",
    { class: "actions", role: "group", "aria-label": t("turn.actions") },
    now.text &&
      h(IconButton, {
        name: "copy",
        label: t("turn.copy"),
        onClick: ({ currentTarget }) => {
          import("./copies.js").then((copies) => copies.copyAnswer(now, placesOf(now), currentTarget), checkVersion);
        },
      }),
    // What failed has a button of its own to try again.
    now.turnId &&
      idle &&
      (now.state === "answered" || now.state === "stopped") &&
      h(IconButton, { name: "again", label: t("turn.again"), onClick: () => again() }),
    now.turnId &&
      idle &&
      now.state === "answered" &&
      models.length > 1 &&
      h(Choice, { label: t("turn.again.with"), choices: models, current: used, onChoose: again }),
    idle && h(IconButton, { name: "edit", label: t("turn.edit"), onClick: change }),
    now.state === "answered" &&
      !isShared.value &&
      RATINGS.map(({ rating, name, words }) =>
        h(IconButton, {
          name,
          key: rating,
          label: t(words),
          pressed: rated === rating,
          onClick: () => rate(turn, rated === rating ? null : { rating, reason: null, comment: null }),
        }),
      ),
  );
}
const RATINGS = /** @type {const} */ ([
  { rating: "up", name: "up", words: "turn.good" },
  { rating: "down", name: "down", words: "turn.bad" },
]);

/** @param {Lookup} lookup @param {string} mode */
export function lookupWords({ reason_code: code, tool, hits, detail }, mode) {
  const title = named(`tools.title.${tool}`, tool.replaceAll("_", " "));
  if (code === "switched_off") return switchedOff(t("lookup.tool", { title }), detail);
  const words = code === "document_chat" ? t(`why.mode.${mode}`) : t(`lookup.${code}`, { tool: t("lookup.tool", { title }), n: hits });
  return detail && language.value === "en" ? `${words} ${detail}` : words;
}

/** Who has switched a tool off: the user, or a context. @param {string} tool @param {string} by "you" or the type and name of the context */
export function switchedOff(tool, by) {
  const [, type, name = ""] = /^(\w+) "(.*)"$/s.exec(by) ?? [];
  return type ? t("lookup.switched_off.context", { tool, type: t(`context.${type}`), name }) : t("lookup.switched_off", { tool });
}

/** An objection in the user's language, or as the API words it. @param {Objection} objection */
export function objectionWords({ code, text, missing = [], claim, ...values }) {
  const isOfWeb = (code === "unsupported" || code === "differs") && !values.page;
  // Of a row of a table only its cells, and no second full stop.
  const brief = headingOf((claim ?? "").replace(/\s*\|\s*/g, " ").trim()).replace(/\.$/, "");
  return named(`issue.${code}${isOfWeb ? ".web" : ""}`, text, { ...values, claim: brief, missing: listed(missing) });
}

/** How the answer came about, which is loaded and drawn once it is opened. @param {{turn: TurnView}} properties */
function Account({ turn }) {
  const [opened, setOpened] = useState(false);
  if (!turn.metadata) return null;
  return h(
    "details",
    { class: "why", onToggle: () => setOpened(true) },
    h("summary", null, t("why")),
    opened && h(Lazy, { from: () => import("./why.js"), name: "Why", properties: { turn, metadata: turn.metadata } }),
  );
}

const HEADING = 80;
/** @param {string} question */
const headingOf = (question) => (question.length > HEADING ? `${question.slice(0, HEADING).trimEnd()}…` : question);

/** How many of these turns are not drawn yet: after the first one that is, each is drawn in a task of its own. @param {Signal<TurnView>[]} all */
export function useUndrawn(all) {
  const before = useRef(all);
  const undrawn = useRef(Infinity);
  const [, draw] = useState({});
  const earlier = all.indexOf(/** @type {Signal<TurnView>} */ (before.current[0]));
  const isOther = !all.some((each) => before.current.includes(each));
  undrawn.current = Math.max(0, Math.min(isOther ? Infinity : undrawn.current + Math.max(0, earlier), all.length - 1));
  before.current = all;
  useLayoutEffect(() => {
    if (!undrawn.current) return;
    const next = setTimeout(() => {
      undrawn.current -= 1;
      draw({});
    });
    return () => clearTimeout(next);
  });
  useEffect(() => {
    const drawAll = () => {
      undrawn.current = 0;
      draw({});
    };
    addEventListener("beforeprint", drawAll);
    return () => removeEventListener("beforeprint", drawAll);
  }, []);
  return undrawn.current;
}

/** @param {{turn: Signal<TurnView>, last: boolean, live: boolean, isDrawn: boolean}} properties */
export function Turn({ turn, last, live, isDrawn }) {
  const [back, setBack] = useState(0);
  const earlier = earlierVersions(turn.value);
  const wanted = place.value.turn;
  // The address names a version: the turn shows the one whose sources are open.
  useEffect(() => {
    const at = earlier.findIndex(({ turnId }) => turnId === wanted);
    if (at >= 0 || (wanted && wanted === turn.value.turnId)) setBack(at < 0 ? 0 : earlier.length - at);
  }, [wanted, earlier.length]);
  if (!isDrawn) return h("article", { class: "turn", id: `turn-${turn.value.key}`, "aria-busy": "true" });
  const now = (back && earlier.at(-back)) || turn.value;
  const onMove = (/** @type {number} */ by) => {
    const all = [...earlier, turn.value];
    setBack(back - by);
    // What is open next to it goes along.
    if (all.some(({ turnId }) => turnId && turnId === shownTurn.value?.turnId)) openSource(all[earlier.length - back + by] ?? now, null);
  };
  const running = isRunning(now.state);
  // Passages that are shown with the error of an absent model: the error comes first.
  const instead = now.state !== "answered" && now.text && now.kind === "closest_passages";
  const notices = now.state === "answered" || instead ? cautions(now) : [];
  const trouble = !back && h(Trouble, { turn });
  const covered = now.metadata?.contexts;
  const missed = covered?.left_out?.length ?? 0;
  // Headings of a conversation are a list of its questions for those who do not see it.
  const named = { question: headingOf(now.question) };
  const asked = [...now.contexts.map((each) => each.name || t(`context.${each.type}`)), ...now.files];
  return h(
    "article",
    {
      class: `turn is-${now.state}${last ? " is-last" : ""}${newest.value === now.key ? " is-newest" : ""}`,
      id: `turn-${now.key}`,
      "aria-busy": running ? "true" : undefined,
    },
    h(
      "div",
      { class: "question" },
      h("h2", { class: "hidden" }, t("turn.question", named)),
      h("p", null, now.question),
      asked.length > 0 && h("p", { class: "asked" }, h(Icon, { name: "clip" }), h("bdi", null, asked.join(", "))),
    ),
    h(
      "div",
      { class: "answer" },
      h("h2", { class: "hidden" }, t("turn.answer.named", named)),
      h(Withdrawn, { turn: now }),
      h(Corrected, { turn: now }),
      instead && trouble,
      notices.map(([kind, words]) => h(Note, { kind, key: kind }, words, kind === "warn" && isOff(now) && offBy(now))),
      missed > 0 && h(Note, { kind: "left" }, t("contexts.left_out", { n: missed })),
      running && h(Status, { turn }),
      now.text && h(Text, { turn: now, key: now.key }),
      !instead && trouble,
      !running && h(SourcesLine, { turn: now }),
      h(
        "ul",
        { class: "on-paper" },
        pagesOf(now.citations).map(({ number: n, citation }) => h("li", { key: n }, `${n}. ${pageOf(citation)}`)),
      ),
      now.state === "answered" &&
        !isShared.value && [
          proposes(now) && h(Lazy, { from: () => import("./proposals.js"), name: "Proposals", properties: { turn: now } }),
          h(Account, { turn: now }),
        ],
      earlier.length > 0 && h(Versions, { at: earlier.length - back, all: earlier.length + 1, onMove }),
      !running &&
        !back && [
          h(Actions, { turn }),
          now.feedback?.rating === "down" && h(Lazy, { from: () => import("./rating.js"), name: "Comment", properties: { turn } }),
        ],
      live && !running && h(Suggestions, { texts: now.suggestions }),
    ),
  );
}

/** @param {{at: number, all: number, onMove: (by: number) => void}} properties */
function Versions({ at, all, onMove }) {
  // Disabled, a button would lose the focus.
  const button = (/** @type {number} */ by, /** @type {boolean} */ isEnd, /** @type {string} */ label, /** @type {string} */ sign) =>
    h(
      "button",
      {
        type: "button",
        class: "quiet",
        "aria-label": label,
        "aria-disabled": isEnd ? "true" : undefined,
        onClick: () => {
          if (!isEnd) onMove(by);
        },
      },
      sign,
    );
  return h(
    "p",
    { class: "versions", role: "group", "aria-label": t("turn.versions") },
    button(-1, at === 0, t("turn.version.earlier"), "‹"),
    h("span", { role: "status" }, t("turn.version", { n: at + 1, all })),
    button(1, at === all - 1, t("turn.version.later"), "›"),
  );
}

/** @param {{turn: Signal<TurnView>}} properties */
function Status({ turn }) {
  const now = turn.value;
  if (now.state === "streaming" && online.value) return null;
  const text =
    now.state === "stopping"
      ? t("turn.stopping")
      : now.state === "elsewhere"
        ? t("turn.elsewhere")
        : now.waits
          ? t("turn.files", { n: unsettled.value })
          : !online.value
            ? t("turn.waiting.offline")
            : (now.status?.text ?? t("turn.waiting"));
  return h(
    "p",
    { class: "working" },
    h("span", { class: "dots", "aria-hidden": "true" }),
    now.retryAt ? h(Countdown, { until: now.retryAt, words: (seconds) => t("turn.limit", { n: seconds }) }) : text,
  );
}

/** Questions that may follow; a click asks one, and what is in the text box stays there. @param {{texts: string[]}} properties */
export function Suggestions({ texts }) {
  if (!texts.length) return null;
  return h(
    "ul",
    { class: "suggestions", "aria-label": t("suggestions") },
    texts.slice(0, 3).map((each) => h("li", null, h("button", { type: "button", onClick: () => ask(each) }, each))),
  );
}
