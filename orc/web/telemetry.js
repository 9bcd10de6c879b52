// Telemetry for administrators: days, turns, and one turn as a timeline.
import { get } from "./api.js";
import { duration, named, number, t, when } from "./i18n.js";
import { report, wordsOfCode } from "./store.js";
import { h, useEffect, useState } from "./vendor/ui.js";

/** @import { Child, Day, Filters, PlotProperties, Series, TelemetryPage, Trace, TraceSummary, TurnsProperties } from "./types/page.js" */

const DAY_MS = 86_400_000;
const PAGE_SIZE = 20;
const RANGES = [7, 30, 90];
const NOTHING = { turns: 0, failed: 0, input_tokens: 0, output_tokens: 0, cost_usd: 0, unpriced: 0, p50_ms: 0, p95_ms: 0 };
/** @type {Record<string, number>} */
const COLOURS = { plan: 3, tool: 1, model: 0, answer: 2, critique: 3, reset: 4, revised: 4, store: 1 };

const NUMBERS = new Set(["took", "tokens", "cost"]);

/** @param {number} value */
export const dollars = (value) =>
  number(
    value,
    value > 0 && value < 0.01
      ? { style: "currency", currency: "USD", maximumSignificantDigits: 2 }
      : { style: "currency", currency: "USD" },
  );
const compact = (/** @type {number} */ value) => number(value, { notation: "compact", maximumSignificantDigits: 3 });
/** @param {Date} date */
const nameOf = (date) => date.toISOString().slice(0, 10);

const LETTER_WIDTH = 6.6;

/** The least round steps that reach `most`. @param {number} most */
export function scale(most) {
  const rough = (most || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((times) => times * power).find((size) => size >= rough) ?? rough;
  return { step, top: Math.ceil((most || 1) / step) * step };
}

/** All days, also those without turns. @param {Day[]} known @param {number} range */
function allDays(known, range) {
  const byName = new Map(known.map((each) => [each.day, each]));
  return Array.from({ length: range }, (_, index) => {
    const day = nameOf(new Date(Date.now() - (range - 1 - index) * DAY_MS));
    return byName.get(day) ?? { ...NOTHING, day };
  });
}

/** @param {PlotProperties} properties */
function Plot({ title, days, series, format, lines = false, onDay }) {
  const [width, height, top, bottom] = [340, 170, 8, 22];
  const value = (/** @type {Day} */ day, /** @type {Series} */ { name }) => Number(day[name]);
  const most = Math.max(
    ...days.map((day) =>
      lines ? Math.max(...series.map((each) => value(day, each))) : series.reduce((sum, each) => sum + value(day, each), 0),
    ),
  );
  const { step, top: highest } = scale(most);
  const y = (/** @type {number} */ amount) => top + (height - bottom - top) * (1 - amount / highest);
  const ticks = Array.from({ length: Math.round(highest / step) + 1 }, (_, index) => index * step);
  const left = Math.max(52, 10 + LETTER_WIDTH * Math.max(...ticks.map((tick) => format(tick).length)));
  const slot = (width - left - 4) / days.length;
  const every = Math.ceil(days.length / 4);
  const shortDay = (/** @type {string} */ day) =>
    new Date(day).toLocaleDateString(document.documentElement.lang, { day: "numeric", month: "short", timeZone: "UTC" });
  const drawn = lines
    ? series.map((each) => {
        const points = days.flatMap((day, index) => (day.turns ? [[left + (index + 0.5) * slot, y(value(day, each))]] : []));
        return [
          h("polyline", { class: `line part-${each.colour}`, points: points.join(" ") }),
          points.map(([x, at]) => h("circle", { class: `part-${each.colour}`, cx: x, cy: at, r: 2.5 })),
        ];
      })
    : days.map((day, index) => {
        let below = 0;
        return series.map((each) => {
          const from = y(below);
          below += value(day, each);
          return h("rect", {
            class: `bar part-${each.colour}`,
            x: left + index * slot + slot * 0.14,
            width: slot * 0.72,
            y: y(below),
            height: from - y(below),
          });
        });
      });
  return h(
    "section",
    { class: "plot" },
    h("h2", null, title),
    h(
      "p",
      { class: "legend" },
      series.map((each) => h("span", { class: `part-${each.colour}` }, t(each.words))),
    ),
    h(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": title },
      ticks.map((tick) => [
        h("line", { class: "grid", x1: left, x2: width, y1: y(tick), y2: y(tick) }),
        h("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, format(tick)),
      ]),
      days.map(
        (day, index) =>
          (days.length - 1 - index) % every === 0 &&
          h(
            "text",
            {
              x: index === days.length - 1 ? width : left + (index + 0.5) * slot,
              y: height - 6,
              "text-anchor": index === days.length - 1 ? "end" : "middle",
            },
            shortDay(day.day),
          ),
      ),
      drawn,
      days.map((day, index) =>
        h(
          "rect",
          {
            class: "day",
            x: left + index * slot,
            y: top,
            width: slot,
            height: height - bottom - top,
            onClick: () => onDay(day.day),
          },
          h(
            "title",
            null,
            [
              shortDay(day.day),
              ...series.map((each) => `${t(each.words)}: ${format(value(day, each))}`),
              t("telemetry.day", { n: day.turns, failed: day.failed }),
            ].join("\n"),
          ),
        ),
      ),
    ),
  );
}

/** @param {{days: Day[]}} properties */
function Totals({ days }) {
  const sum = (/** @type {"turns" | "failed" | "unpriced" | "input_tokens" | "output_tokens" | "cost_usd"} */ name) =>
    days.reduce((total, each) => total + each[name], 0);
  const unpriced = sum("unpriced");
  const share = number(sum("failed") / (sum("turns") || 1), { style: "percent", maximumFractionDigits: 1 });
  const tiles = [
    [t("telemetry.turns"), number(sum("turns"))],
    [t("telemetry.failed"), `${number(sum("failed"))} (${share})`],
    [t("telemetry.input"), compact(sum("input_tokens"))],
    [t("telemetry.output"), compact(sum("output_tokens"))],
    [unpriced ? t("telemetry.cost.partly", { n: unpriced }) : t("telemetry.cost"), dollars(sum("cost_usd"))],
  ];
  return h(
    "dl",
    { class: "tiles" },
    tiles.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))),
  );
}

/** @type {Filters} */
const ANY = { from: "", to: "", status: "", user_id: "", model: "", trace_id: "" };

/** @param {Filters} filters @param {string | null} cursor */
function addressOf({ from, to, ...fields }, cursor) {
  const query = new URLSearchParams({ limit: String(PAGE_SIZE) });
  for (const [name, value] of Object.entries(fields)) if (value) query.set(name, value);
  if (from) query.set("since", `${from}T00:00:00Z`);
  if (to) query.set("until", `${nameOf(new Date(Date.parse(to) + DAY_MS))}T00:00:00Z`);
  if (cursor) query.set("cursor", cursor);
  return `/admin/telemetry?${query}`;
}

/** @param {{filters: Filters, onChange: (filters: Filters) => void}} properties */
function FilterForm({ filters, onChange }) {
  /** @param {keyof Filters} name */
  const field = (name, isDate = false) => {
    const change = (/** @type {string} */ value) => onChange({ ...filters, [name]: value.trim() });
    return h(
      "label",
      { class: "field" },
      t(`telemetry.filter.${name}`),
      isDate
        ? h("input", { type: "date", value: filters[name], onChange: (event) => change(event.currentTarget.value) })
        : h("input", { value: filters[name], maxLength: 256, onChange: (event) => change(event.currentTarget.value) }),
    );
  };
  return h(
    "form",
    { class: "filters", onSubmit: (event) => event.preventDefault() },
    field("from", true),
    field("to", true),
    h(
      "label",
      { class: "field" },
      t("telemetry.filter.status"),
      h(
        "select",
        { value: filters.status, onChange: (event) => onChange({ ...filters, status: event.currentTarget.value }) },
        ["", "done", "failed", "stopped"].map((each) => h("option", { value: each, key: each }, t(`telemetry.status.${each || "any"}`))),
      ),
    ),
    field("user_id"),
    field("model"),
    field("trace_id"),
    h("button", { type: "button", onClick: () => onChange(ANY) }, t("telemetry.clear")),
  );
}

/** @param {{trace: string | null}} properties */
export function Telemetry({ trace }) {
  const [range, setRange] = useState(30);
  const [days, setDays] = useState(/** @type {Day[]} */ ([]));
  const [filters, setFilters] = useState({ ...ANY, trace_id: trace ?? "" });
  const [cursors, setCursors] = useState(/** @type {(string | null)[]} */ ([null]));
  const [page, setPage] = useState(/** @type {TelemetryPage} */ ({ turns: [], next_cursor: null }));
  const [chosen, setChosen] = useState(/** @type {TraceSummary | null} */ (null));
  useEffect(() => {
    const since = nameOf(new Date(Date.now() - (range - 1) * DAY_MS));
    get(`/admin/telemetry/days?since=${since}&until=${nameOf(new Date())}`).then(
      (found) => setDays(/** @type {any} */ (found).days),
      report,
    );
  }, [range]);
  useEffect(() => {
    get(addressOf(filters, cursors.at(-1) ?? null)).then((found) => setPage(/** @type {any} */ (found)), report);
  }, [filters, cursors]);
  const filter = (/** @type {Filters} */ next) => {
    setFilters(next);
    setCursors([null]);
    setChosen(null);
  };
  const onDay = (/** @type {string} */ day) => filter({ ...filters, from: day, to: day });
  const shown = allDays(days, range);
  // The server counts days in UTC.
  const midnight = new Date(nameOf(new Date())).toLocaleTimeString(document.documentElement.lang, { timeStyle: "short" });
  return h(
    "div",
    { class: "admin" },
    h(
      "p",
      { class: "row" },
      h("span", { class: "soft grow" }, t("telemetry.hint", { time: midnight })),
      h(
        "label",
        { class: "row" },
        t("telemetry.range"),
        h(
          "select",
          { value: String(range), onChange: (event) => setRange(Number(event.currentTarget.value)) },
          RANGES.map((each) => h("option", { value: String(each), key: each }, number(each))),
        ),
      ),
    ),
    h(Totals, { days: shown }),
    h(
      "div",
      { class: "plots" },
      h(Plot, {
        title: t("telemetry.plot.tokens"),
        days: shown,
        format: compact,
        onDay,
        series: [
          { name: "input_tokens", words: "telemetry.in", colour: 0 },
          { name: "output_tokens", words: "telemetry.out", colour: 1 },
        ],
      }),
      h(Plot, {
        title: t("telemetry.plot.cost"),
        days: shown,
        format: dollars,
        onDay,
        series: [{ name: "cost_usd", words: "telemetry.dollars", colour: 0 }],
      }),
      h(Plot, {
        title: t("telemetry.plot.time"),
        days: shown,
        format: duration,
        onDay,
        lines: true,
        series: [
          { name: "p50_ms", words: "telemetry.median", colour: 0 },
          { name: "p95_ms", words: "telemetry.p95", colour: 2 },
        ],
      }),
    ),
    h(FilterForm, { filters, onChange: filter }),
    h(Turns, { turns: page.turns, chosen, onChoose: setChosen }),
    h(
      "p",
      { class: "row" },
      h("button", { type: "button", disabled: cursors.length < 2, onClick: () => setCursors(cursors.slice(0, -1)) }, t("telemetry.newer")),
      h(
        "button",
        { type: "button", disabled: !page.next_cursor, onClick: () => setCursors([...cursors, page.next_cursor]) },
        t("telemetry.older"),
      ),
      h("span", { class: "soft", role: "status" }, page.turns.length ? t("telemetry.page", { n: cursors.length }) : t("telemetry.none")),
    ),
    chosen && h(OneTurn, { summary: chosen, key: chosen.attempt }),
  );
}

/** How it ended, in words for people. @param {{status: string, error_code: string | null}} turn */
const endOf = ({ status, error_code: code }) => wordsOfCode(code, code) || t(`telemetry.status.${status}`);

/** @param {TurnsProperties} properties */
function Turns({ turns, chosen, onChoose }) {
  const columns = ["began", "user", "intent", "model", "took", "tokens", "cost", "end"];
  const row = (/** @type {TraceSummary} */ turn) =>
    h(
      "tr",
      { key: turn.attempt, class: chosen?.attempt === turn.attempt ? "is-chosen" : "" },
      h("td", null, h("button", { type: "button", class: "link", onClick: () => onChoose(turn) }, when(turn.started_at))),
      h("td", null, turn.user_id),
      h("td", null, turn.intent ? named(`why.intent.${turn.intent}`, turn.intent.replaceAll("_", " ")) : "–"),
      h("td", null, turn.model ?? "–"),
      h("td", { class: "to-right" }, duration(turn.duration_ms)),
      h("td", { class: "to-right" }, number(turn.usage.input_tokens + turn.usage.output_tokens)),
      h("td", { class: "to-right" }, turn.cost_usd === null ? "–" : dollars(turn.cost_usd)),
      h("td", { class: turn.status === "failed" ? "is-over" : "", title: turn.error_code ?? undefined }, endOf(turn)),
    );
  return h(
    "div",
    { class: "wide", tabIndex: 0, role: "group", "aria-label": t("telemetry.turns") },
    h(
      "table",
      { class: "data" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          columns.map((each) =>
            h("th", { scope: "col", key: each, class: NUMBERS.has(each) ? "to-right" : "" }, t(`telemetry.column.${each}`)),
          ),
        ),
      ),
      h("tbody", null, turns.map(row)),
    ),
  );
}

/** @param {{summary: TraceSummary}} properties */
function OneTurn({ summary }) {
  const [turn, setTurn] = useState(/** @type {Trace | null} */ (null));
  useEffect(() => {
    const address = `/admin/telemetry/${summary.trace_id}?attempt=${encodeURIComponent(summary.attempt)}`;
    get(address).then((found) => {
      setTurn(/** @type {{turns: Trace[]}} */ (found).turns[0] ?? null);
      requestAnimationFrame(() => document.getElementById("one-turn")?.scrollIntoView({ block: "nearest" }));
    }, report);
  }, []);
  if (!turn) return h("p", { class: "loading" }, t("loading"));
  return h(
    "section",
    { class: "one-turn", id: "one-turn" },
    h("h2", null, t("telemetry.turn", { user: turn.user_id, time: duration(turn.duration_ms) })),
    h(Timeline, { turn }),
    h("div", { class: "facts" }, factsOf(turn)),
  );
}

/** @param {string} name */
const toolOf = (name) => named(`tools.title.${name}`, name.replaceAll("_", " "));
/** @param {string} action of the critic */
const actionOf = (action) => named(`telemetry.action.${action}`, action.replaceAll("_", " "));

/** @param {{kind: string, name: string}} step */
function stepWords({ kind, name }) {
  const [action = "", by = ""] = name.split(", by ");
  const which =
    kind === "tool"
      ? toolOf(name)
      : kind === "critique"
        ? `${actionOf(action)} (${named(`telemetry.by.${by}`, by)})`
        : kind === "plan"
          ? named(`telemetry.by.${name}`, name)
          : kind === "model"
            ? name
            : "";
  return [t(`telemetry.step.${kind}`), which].filter(Boolean).join(" · ");
}

/** @param {{turn: Trace}} properties */
function Timeline({ turn }) {
  const [width, left, line] = [1000, 230, 22];
  const height = turn.timeline.length * line + 26;
  const most = turn.duration_ms || 1;
  const { step } = scale(most);
  const x = (/** @type {number} */ ms) => left + ((width - left - 90) * Math.min(ms, most)) / most;
  const ticks = Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
  return h(
    "div",
    { class: "wide", tabIndex: 0, role: "group", "aria-label": t("telemetry.timeline") },
    h(
      "svg",
      { viewBox: `0 0 ${width} ${height}`, class: "timeline", role: "img", "aria-label": t("telemetry.timeline") },
      ticks.map((ms) => [
        h("line", { class: "grid", x1: x(ms), x2: x(ms), y1: 0, y2: height - 20 }),
        h("text", { x: x(ms), y: height - 6, "text-anchor": "middle" }, duration(ms)),
      ]),
      turn.timeline.map((each, index) => {
        const [y, start, end] = [index * line + 4, x(each.offset_ms), x(each.offset_ms + each.duration_ms)];
        return [
          h("text", { x: left - 10, y: y + 12, "text-anchor": "end", class: "name" }, stepWords(each).slice(0, 44)),
          h("rect", {
            class: `part-${each.failed ? 4 : (COLOURS[each.kind] ?? 0)}`,
            x: start,
            y,
            width: Math.max(end - start, 3),
            height: line - 8,
            rx: 2,
          }),
          h(
            "text",
            { x: Math.max(end, start + 3) + 5, y: y + 12 },
            (each.duration_ms ? duration(each.duration_ms) : "") + (each.failed ? ` ${t("telemetry.status.failed")}` : ""),
          ),
        ];
      }),
    ),
  );
}

/** @param {Trace} turn */
function factsOf(turn) {
  const list = (/** @type {string} */ title, /** @type {[string, Child][]} */ pairs) => {
    const known = pairs.filter(([, value]) => value !== null && value !== undefined);
    if (!known.length) return null;
    const facts = known.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]);
    return h("div", { key: title }, h("h3", null, t(title)), h("dl", null, facts));
  };
  const checks = turn.grounding;
  return [
    list("telemetry.facts.turn", [
      [t("telemetry.column.end"), endOf(turn)],
      [t("telemetry.first"), turn.first_token_ms === null ? null : duration(turn.first_token_ms)],
      [t("telemetry.rating"), turn.rating && t(turn.rating === "up" ? "turn.good" : "turn.bad")],
      [t("telemetry.filter.trace_id"), turn.trace_id],
    ]),
    list(
      "telemetry.facts.prompt",
      Object.entries(turn.context_budget)
        .filter(([, size]) => Number(size) > 0)
        .map(([name, size]) => [
          named(name === "total" ? "telemetry.total" : `why.part.${name}`, name.replaceAll("_", " ")),
          number(Number(size)),
        ]),
    ),
    list(
      "telemetry.facts.models",
      turn.calls.map((each) => [
        each.role,
        `${each.model}: ${number(each.input_tokens)} → ${number(each.output_tokens)}${each.cost_usd === null ? "" : `, ${dollars(each.cost_usd)}`}`,
      ]),
    ),
    list(
      "telemetry.facts.tools",
      turn.tools.map((each) => [
        toolOf(each.name),
        `${wordsOfCode(each.error_code, each.error_code) || named(`telemetry.tool.${each.status}`, each.status)}${each.duration_ms === null ? "" : `, ${duration(each.duration_ms)}`}`,
      ]),
    ),
    list("telemetry.facts.checks", [
      ...turn.verdicts.map(
        (each) =>
          /** @type {[string, Child]} */ ([
            t("telemetry.attempt", { n: each.attempt }),
            t("telemetry.coverage", { action: actionOf(each.action), share: number(each.coverage, { style: "percent" }) }),
          ]),
      ),
      [t("sources"), checks && t("telemetry.verified", { n: checks.verified, of: checks.citations })],
    ]),
  ];
}
