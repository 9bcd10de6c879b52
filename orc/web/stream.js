// An answer as it arrives.
import { ApiError, eventsOf, get, pause, request } from "./api.js";
import { settleRemovals } from "./files.js";
import { language, named, t } from "./i18n.js";
import { numbered, placesIn, spoken, toUnits } from "./markdown.js";
import { numbersOf, summaryOf } from "./parts.js";
import {
  answering,
  change,
  conversationId,
  giveBack,
  heard,
  isRestored,
  isRunning,
  objectionsOf,
  path,
  stored,
  title,
  turns,
} from "./session.js";
import { busy, loadSessions, retitled, sessions } from "./sessions.js";
import { finished, keep, online, report, said, signedOut, wordsOfCode } from "./store.js";

/** @import { Citation, Conversation, Mark, Objection, Problem, Question, Retry, Signal, Step, TurnResult, TurnState, TurnView } from "./types/page.js" */

export const LONGEST_WAIT = 4000;
const ELSEWHERE_WAIT = 2000;
/** Seconds of a rate limit that a question waits for before it is given back. */
const LONGEST_LIMIT = 30;
const STILL_MS = 10_000;
/** Later numbers are of a stored answer: what was streamed before is only shown again. */
const STORED_AFTER = 1_000_000;
/** Numbers of each attempt; a reader of an earlier one gets the lowest first. */
const ATTEMPT_NUMBERS = 2 * STORED_AFTER;
/** How a marker begins; at the end of the text, also a part of that. */
const MARKER = /\[(?:(?:Web p|P)age |(?:P(?:a(?:ge?)?)?|W(?:e(?:b(?: (?:p(?:a(?:ge?)?)?)?)?)?)?)?$)/;

/**
 * Follow a turn to its end, over lost connections and restarts.
 * @param {Signal<TurnView>} turn @param {Question | null} [asking] @param {Retry | null} [retrying]
 */
export async function follow(turn, asking = null, retrying = null) {
  const id = conversationId.value ?? "";
  // Not if another session is open, nor if the turn was loaded again.
  const isShown = () => turns.value.includes(turn);
  const writer = new Writer(turn, id);
  const began = Date.now();
  const still = setInterval(() => {
    said.value = t("turn.answering.still", { n: Math.round((Date.now() - began) / 1000) });
  }, STILL_MS);
  let wait = 500;
  busy.value = new Set([...busy.value, id]);
  try {
    while (isRunning(turn.value.state) && isShown()) {
      try {
        const response = await connect(turn, writer.last, asking, retrying);
        retrying = null;
        if (response.status === 204) {
          await refresh(turn);
          continue;
        }
        for await (const event of eventsOf(response)) {
          online.value = navigator.onLine;
          wait = 500;
          writer.take(Number(event.id), event.event, JSON.parse(event.data));
          if (!isShown()) break;
        }
      } catch (error) {
        if (!isShown()) break;
        wait = await recover(turn, error, { asking, retrying }, wait);
      }
      if (isRunning(turn.value.state)) await pause(wait);
      wait = Math.min(wait * 2, LONGEST_WAIT);
    }
  } finally {
    clearInterval(still);
    writer.flush();
    if (conversationId.value !== id || !answering.value) busy.value = new Set([...busy.value].filter((each) => each !== id));
    if (asking && !isRunning(turn.value.state)) keep("sessionStorage", `asking.${id}`, null);
    announce(turn.value);
    loadSessions();
    // What may be asked next, for who still reads the answer; without a reply nothing is suggested.
    if (turn.value.state === "answered" && isShown())
      get(`${path(id)}/turns/${turn.value.turnId}/suggestions`).then(
        (found) => {
          const { suggestions } = /** @type {{suggestions: string[]}} */ (found);
          if (suggestions.length) change(turn, { suggestions });
        },
        () => {},
      );
  }
}

/** @param {Signal<TurnView>} turn @param {number} last @param {Question | null} asking @param {Retry | null} retrying */
async function connect(turn, last, asking, retrying) {
  await settleRemovals();
  const headers = { accept: "text/event-stream" };
  if (retrying) return request("POST", retrying.path, { headers: { ...headers, "idempotency-key": retrying.key } });
  const { turnId } = turn.value;
  if (turnId) {
    const address = `${path(conversationId.value ?? "")}/turns/${turnId}/events`;
    return request("GET", address, { headers: { ...headers, "last-event-id": String(last) } });
  }
  return request("POST", "/orc/stream", {
    json: asking?.body,
    headers: { ...headers, "idempotency-key": asking?.key ?? "" },
  });
}

/**
 * Returns how long to wait after a failed request.
 * @param {Signal<TurnView>} turn @param {unknown} error
 * @param {{asking: Question | null, retrying: Retry | null}} how @param {number} wait
 */
async function recover(turn, error, { asking, retrying }, wait) {
  if (!(error instanceof ApiError)) {
    if (!(error instanceof TypeError)) console.warn("stream", error instanceof Error ? error.name : "");
    online.value = navigator.onLine && wait < 2000;
    return wait;
  }
  const { problem } = error;
  if (problem.code === "turn_in_flight") {
    change(turn, { state: "elsewhere", turnId: problem.turn_id ?? turn.value.turnId });
    // What fails now is asked for again.
    if (turn.value.turnId) await refresh(turn).catch(() => {});
    return ELSEWHERE_WAIT;
  }
  const limited = problem.status === 429 ? error.retryAfter || problem.retry_after || 2 : 0;
  if (limited && limited <= LONGEST_LIMIT && asking) {
    change(turn, { retryAt: Date.now() + limited * 1000 });
    await pause(limited * 1000);
    if (turn.value.retryAt) change(turn, { retryAt: null });
    return 0;
  }
  if (problem.status === 401) signedOut.value = true;
  if (asking && !turn.value.turnId) {
    // Nothing was stored. A signed-out user reads that elsewhere on the page.
    giveBack(turn, problem.status === 401 ? null : problem, limited && Date.now() + limited * 1000);
    return 0;
  }
  if (retrying) {
    turn.value = problem.code === "no_such_context" ? { ...retrying.before, problem } : retrying.before;
    report(error);
    return 0;
  }
  change(turn, { state: "failed", problem });
  return 0;
}

/** @param {Signal<TurnView>} turn */
async function refresh(turn) {
  const { seq, turnId, key } = turn.value;
  const id = conversationId.value ?? "";
  const found = /** @type {Conversation} */ (await get(`${path(id)}?limit=1${seq ? `&before_seq=${seq + 1}` : ""}`));
  const now = found.turns.find((each) => each.turn_id === turnId);
  if (now && now.status !== "pending") turn.value = { ...stored(now), key };
}

/** The text up to the first marker, or part of one. @param {string} text */
export function untilMarker(text) {
  const marker = text.search(MARKER);
  return marker < 0 ? text : text.slice(0, marker);
}

/** A hidden window has no frames, also one that is hidden before its next. @param {() => void} act */
export function atNextFrame(act) {
  let waits = true;
  const once = () => {
    if (!waits) return;
    waits = false;
    act();
  };
  requestAnimationFrame(once);
  setTimeout(once, 250);
}

/** Shows the events of a turn, at most once a frame. */
class Writer {
  last = 0;
  #text = "";
  /** What was wrong with the answer that is corrected or withdrawn. @type {Objection[] | null} */
  #objections = null;
  #scheduled = false;

  /** @param {Signal<TurnView>} turn @param {string} id of the session */
  constructor(turn, id) {
    this.turn = turn;
    this.id = id;
  }

  /** @param {number} number @param {string} kind @param {any} data */
  take(number, kind, data) {
    this.last = number;
    const turn = this.turn;
    switch (kind) {
      case "turn":
        this.#begin(data);
        break;
      case "route":
      case "plan":
      case "tool":
      case "context":
        change(turn, { status: statusOf(kind, data) ?? turn.value.status });
        break;
      case "token":
        this.#append(data.text);
        break;
      case "citation":
        this.#cite(data);
        break;
      case "reset":
        this.#withdraw(number);
        break;
      case "closest_passages":
        change(turn, { kind: "closest_passages" });
        this.#revise(data);
        break;
      case "revised":
        this.#revise(data);
        break;
      case "citations":
        this.flush();
        change(turn, { citations: data.citations });
        break;
      case "critique":
        this.#objections = ["revise", "retrieve"].includes(data.action) ? objectionsOf(data) : null;
        if (data.citations) change(turn, { citations: data.citations, judged: !this.#objections });
        break;
      case "chat_session_title_updated":
        renamed(data);
        break;
      case "done":
        this.#end(data, "answered");
        break;
      case "stopped":
        this.#end(data, "stopped");
        break;
      case "error":
        this.flush();
        change(turn, failure(data));
        break;
      default:
    }
  }

  /** @param {{turn_id: string, seq: number}} data */
  #begin({ turn_id: turnId, seq }) {
    // The API has the question: after a reload it is not sent again.
    keep("sessionStorage", `asking.${this.id}`, null);
    if (!turns.value.includes(this.turn)) return;
    // After a reload the same turn may be shown already.
    turns.value = turns.value.filter((each) => each === this.turn || each.value.turnId !== turnId);
    change(this.turn, { turnId, seq });
    heard.value = this.id;
  }

  /** @param {string} text */
  #append(text) {
    this.#text += text;
    if (this.#scheduled) return;
    this.#scheduled = true;
    atNextFrame(() => {
      if (this.#scheduled) this.flush();
    });
  }

  flush() {
    this.#scheduled = false;
    const turn = this.turn;
    if (!isRunning(turn.value.state) || (!this.#text && !turn.value.text)) return;
    const state = turn.value.state === "stopping" ? "stopping" : "streaming";
    change(turn, { text: this.#shown(), state });
  }

  #shown() {
    const from = this.turn.value.marks.at(-1)?.end ?? 0;
    return this.#text.slice(0, from) + untilMarker(this.#text.slice(from));
  }

  /** @param {{index: number, citation: Citation, mark: Mark}} data */
  #cite({ index, citation, mark }) {
    const citations = [...this.turn.value.citations];
    citations[index] = citation;
    const [start = 0, end = 0] = toUnits(this.#text, [mark.start, mark.end]);
    change(this.turn, { citations, marks: [...this.turn.value.marks, { start, end, index }] });
    this.flush();
  }

  /** @param {number} number */
  #withdraw(number) {
    const before = this.#text;
    const isRevised = number % ATTEMPT_NUMBERS < STORED_AFTER && number % ATTEMPT_NUMBERS > 1;
    const objections = isRevised && before ? this.#objections : null;
    this.#objections = null;
    this.#text = "";
    const withdrawn = objections
      ? { text: numbered(before, this.turn.value.marks, numbersOf(this.turn.value.citations)), objections }
      : this.turn.value.withdrawn;
    change(this.turn, { text: "", marks: [], citations: [], judged: false, withdrawn });
  }

  /** @param {{answer: string, citations: Citation[]}} data */
  #revise({ answer, citations }) {
    this.#text = answer;
    change(this.turn, { citations, marks: placesIn(answer, citations) });
    this.flush();
  }

  /** @param {TurnResult} result @param {TurnState} state */
  #end(result, state) {
    this.#scheduled = false;
    const citations = result.citations ?? [];
    change(this.turn, {
      state,
      text: result.answer,
      kind: result.answer_kind,
      citations,
      marks: [],
      metadata: result.metadata,
      turnId: result.turn_id,
      status: null,
      withdrawn: isRestored(result.metadata) ? null : this.turn.value.withdrawn,
    });
  }
}

/** @param {Problem} problem @returns {Partial<TurnView>} */
const failure = (problem) => ({
  state: problem.code === "interrupted" ? "interrupted" : problem.code === "turn_in_flight" ? "elsewhere" : "failed",
  problem: problem.code === "turn_in_flight" ? null : problem,
});

/** @param {string} kind @param {any} data @returns {Step | null} */
function statusOf(kind, data) {
  if (kind === "tool") {
    const failed = data.status === "failed";
    const how = { tool: toolTitle(data.name), n: data.progress ?? 0, of: data.total ?? 0 };
    const usual = t(failed ? "step.tool.failed" : data.total ? "step.tool.part" : "step.tool", how);
    return {
      kind,
      text: failed ? wordsOfCode(data.code, data.message) || usual : (language.value === "en" && data.message) || usual,
      failed,
    };
  }
  if (kind === "plan" && data.steps?.some((/** @type {string} */ step) => step !== "answer")) {
    return { kind, text: t("step.plan", { query: data.rewritten_query }) };
  }
  return kind === "route" || kind === "context" ? { kind, text: t(`step.${kind}`) } : null;
}

/** The name of a tool for people. @param {string} name */
export const toolTitle = (name) => named(`tool.${name}`, name.replaceAll("_", " "));

/** @param {TurnView} turn */
export function announce(turn) {
  if (turn.state === "answered") {
    finished.value = spoken(turn.text, placesIn(turn.text, turn.citations));
    const sources = summaryOf(turn.citations);
    const corrected = turn.metadata?.corrections?.length;
    const ready = sources ? t("turn.ready.sources", { sources }) : t("turn.ready");
    said.value = corrected ? `${ready} ${t("turn.corrected", { n: corrected })}.` : ready;
  } else if (turn.state === "stopped") said.value = t("turn.stopped");
}

/** @param {{conversation_id: string, title: string, by: string}} data */
export function renamed({ conversation_id: id, title: fresh, by }) {
  if (id === conversationId.value) title.value = fresh;
  if (sessions.value.some((each) => each.conversation_id === id)) retitled(id, fresh, by);
  else loadSessions();
}
