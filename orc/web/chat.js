// The open session: its turns, how a question is asked and its answer followed, and what happens elsewhere.
import { ApiError, eventsOf, get, pause, request, send } from "./api.js";
import { forgetFiles, onDocumentEvent, refreshDocuments } from "./files.js";
import { t } from "./i18n.js";
import { toUnits } from "./markdown.js";
import { busy, go, keep, kept, loadSessions, notify, online, outdated, place, report, retitled, said, sessions,
  signedOut } from "./store.js";
import { batch, computed, signal } from "./vendor/ui.js";

/** @import { Signal } from "./vendor/ui.js" */
/** @import { Citation, Conversation, Mark, Problem, StoredTurn, TurnResult, TurnState, TurnView } from "./types/page.js" */

const WINDOW = 50;
const MOST_TURNS = 150;
const LONGEST_WAIT = 4000;
const ELSEWHERE_WAIT = 2000;
/** Events from this number on are of a stored answer: what was streamed before is only shown again. */
const STORED_AFTER = 1_000_000;
const UNFINISHED_MARKER = /\[Page [^\]\n]{0,300}$/;

/** @type {Signal<string | null>} */
export const conversationId = signal(null);
/** The title as events say it; the list of sessions knows it too. */
export const title = signal("");
export const shownTitle = computed(() => title.value
  || sessions.value.find((each) => each.conversation_id === conversationId.value)?.title || "");
/** @type {Signal<Signal<TurnView>[]>} */
export const turns = signal([]);
/** @type {Signal<number | null>} */
export const earlierBefore = signal(null);
/** Whether turns after those that are shown were dropped. */
export const later = signal(false);
export const loading = signal(false);
export const known = signal(false);
/** @type {Signal<{type: string, id: string, name: string}[]>} */
export const contexts = signal([]);
/** Tools that are switched off. @type {Signal<string[]>} */
export const toolsOff = signal([]);
export const model = signal("");
/** Names of the documents to ask about; none: all are searched. @type {Signal<string[]>} */
export const asked = signal([]);
export const draft = signal("");
/** The turn that the next question takes the place of. @type {Signal<string | null>} */
export const replacing = signal(null);

export const answering = computed(() => turns.value.find((each) => isRunning(each.value.state)) ?? null);
/** The turn whose question was sent last from here: it gets the height of the window. @type {Signal<string>} */
export const newest = signal("");

/** @param {TurnState} state */
export const isRunning = (state) => ["waiting", "streaming", "elsewhere", "stopping"].includes(state);

/** @param {Partial<TurnView>} fields @returns {TurnView} */
const view = (fields) => ({
  key: crypto.randomUUID(), turnId: null, seq: 0, state: "waiting", question: "", files: [], contexts: [], tools: {},
  model: null, text: "", kind: "answer", citations: [], marks: [], withdrawn: null, status: null, metadata: null,
  problem: null, replaces: null, feedback: null, suggestions: [], retryAt: null,
  createdAt: new Date().toISOString(), ...fields,
});

/** @param {Signal<TurnView>} turn @param {Partial<TurnView>} changed */
const change = (turn, changed) => { turn.value = { ...turn.value, ...changed }; };

/** @param {string} id */
const path = (id) => `/conversations/${id}`;

// --- Opening

/** @type {AbortController | null} */
let listening = null;

/** Show the session of the address, or a new one. @param {string | null} id */
export async function open(id) {
  if (id !== null && id === conversationId.value) return;
  listening?.abort();
  listening = null;
  forgetFiles();
  batch(() => {
    conversationId.value = id ?? crypto.randomUUID();
    known.value = id !== null;
    title.value = "";
    turns.value = [];
    earlierBefore.value = null;
    later.value = false;
    replacing.value = null;
    asked.value = [];
    loadChoices();
  });
  if (id !== null) {
    await loadTurns(id);
    if (conversationId.value === id && known.value) listen(id);
  }
}

function loadChoices() {
  const name = `choices.${conversationId.value}`;
  const found = /** @type {{contexts?: any[], toolsOff?: string[], model?: string} | null} */ (kept(localStorage, name));
  contexts.value = found?.contexts ?? [];
  toolsOff.value = found?.toolsOff ?? [];
  model.value = found?.model ?? "";
  draft.value = /** @type {string | null} */ (kept(sessionStorage, `draft.${conversationId.value}`)) ?? "";
}

export function keepChoices() {
  const chosen = { contexts: contexts.value, toolsOff: toolsOff.value, model: model.value };
  keep(localStorage, `choices.${conversationId.value}`, chosen);
}

/** @param {string} text */
export function setDraft(text) {
  draft.value = text;
  keep(sessionStorage, `draft.${conversationId.value}`, text || null);
}

/** @param {string} id */
async function loadTurns(id) {
  loading.value = true;
  try {
    const found = /** @type {Conversation} */ (await get(`${path(id)}?limit=${WINDOW}`));
    if (conversationId.value !== id) return;
    batch(() => {
      title.value = found.title ?? "";
      turns.value = found.turns.filter((each) => !each.replaced_by).map((each) => signal(stored(each)));
      earlierBefore.value = found.earlier_before_seq ?? null;
      later.value = false;
    });
    for (const turn of turns.value) if (turn.value.state === "elsewhere") follow(turn);
    sendAgain(id);
  } catch (error) {
    if (error instanceof ApiError && error.problem.status === 404) {
      known.value = false;
      notify({ text: t("sessions.gone"), kind: "info" });
      go(null, { replace: true });
    } else report(error);
  } finally {
    loading.value = false;
  }
}

/** Fetch the turns before those that are shown. */
export async function loadEarlier() {
  const [id, before] = [conversationId.value, earlierBefore.value];
  if (!id || before === null || loading.value) return;
  loading.value = true;
  try {
    const found = /** @type {Conversation} */ (await get(`${path(id)}?limit=${WINDOW}&before_seq=${before}`));
    if (conversationId.value !== id) return;
    batch(() => {
      const fresh = found.turns.filter((each) => !each.replaced_by).map((each) => signal(stored(each)));
      const all = [...fresh, ...turns.value];
      later.value = later.value || all.length > MOST_TURNS;
      turns.value = all.slice(0, MOST_TURNS);
      earlierBefore.value = found.earlier_before_seq ?? null;
    });
  } catch (error) {
    report(error);
  } finally {
    loading.value = false;
  }
}

export async function jumpToEnd() {
  if (later.value && conversationId.value) await loadTurns(conversationId.value);
}

/** A stored turn as it is shown. @param {StoredTurn} turn */
function stored(turn) {
  /** @type {Record<StoredTurn["status"], TurnState>} */
  const states = { pending: "elsewhere", committed: "answered", failed: "failed", stopped: "stopped" };
  const interrupted = turn.failure?.code === "interrupted";
  const result = /** @type {any} */ (turn).result ?? {};
  return view({
    turnId: turn.turn_id, seq: turn.seq, state: interrupted ? "interrupted" : states[turn.status],
    question: turn.question, files: turn.blob_names ?? [], contexts: turn.contexts ?? [],
    tools: turn.choices?.tools ?? {}, model: turn.choices?.model ?? null, text: turn.answer ?? "",
    kind: turn.answer_kind ?? result.answer_kind ?? "answer", citations: turn.citations ?? result.citations ?? [],
    metadata: turn.metadata ?? result.metadata ?? null, replaces: turn.replaces ?? null,
    feedback: turn.feedback ?? null, createdAt: turn.created_at,
    problem: turn.failure && problemOf(turn.failure.code, turn.failure.message),
  });
}

/** @param {string} code @param {string} detail @returns {Problem} */
const problemOf = (code, detail) => ({
  type: "", title: "", status: 0, detail, trace_id: "", code, retryable: true, retry_after: null, dependency: null,
  conversation_id: null, turn_id: null, errors: [],
});

// --- Asking

/** @typedef {{key: string, body: Record<string, unknown>}} Question */

/** Ask what is in the text. @param {string} question @param {{replaces?: TurnView | null}} [how] */
export function ask(question, { replaces = null } = {}) {
  const id = conversationId.value;
  if (!id || !question.trim() || answering.value) return;
  const names = replaces ? replaces.files : asked.value;
  const chosen = replaces ? replaces.contexts : contexts.value;
  const tools = replaces ? replaces.tools : Object.fromEntries(toolsOff.value.map((name) => [name, false]));
  const body = {
    conversation_id: id, question: question.trim(), blob_names: names,
    contexts: chosen.map(({ type, id: context }) => ({ type, id: context })), tools,
    ...(model.value ? { model: model.value } : {}),
    ...(replaces?.turnId ? { replaces: replaces.turnId } : {}),
  };
  const turn = signal(view({
    question: question.trim(), files: names, contexts: chosen, tools, replaces: replaces?.turnId ?? null,
    model: model.value || null,
  }));
  batch(() => {
    turns.value = [...turns.value.filter((each) => !replaces || each.value.turnId !== replaces.turnId), turn];
    newest.value = turn.value.key;
    replacing.value = null;
    setDraft("");
  });
  if (!known.value) {
    known.value = true;
    go(id, { replace: true });
  }
  said.value = t("turn.answering");
  const asking = { key: turn.value.key, body };
  keep(sessionStorage, `asking.${id}`, asking);
  follow(turn, asking);
}

/** Send what a reload interrupted before the API had confirmed it: the same key never asks twice. @param {string} id */
function sendAgain(id) {
  const asking = /** @type {Question | null} */ (kept(sessionStorage, `asking.${id}`));
  if (!asking || answering.value) return;
  const { question, blob_names: files } = /** @type {{question: string, blob_names: string[]}} */ (asking.body);
  const turn = signal(view({ key: asking.key, question, files }));
  turns.value = [...turns.value, turn];
  follow(turn, asking);
}

/** Ask the question of a failed, interrupted or stopped turn again. @param {Signal<TurnView>} turn */
export function retry(turn) {
  const { turnId } = turn.value;
  if (!turnId || answering.value) return;
  change(turn, { state: "waiting", text: "", citations: [], marks: [], problem: null, status: null, withdrawn: null });
  follow(turn, null, `${path(conversationId.value ?? "")}/turns/${turnId}/retry`);
}

/** @param {Signal<TurnView>} turn */
export async function stop(turn) {
  const { turnId } = turn.value;
  if (!turnId) return;
  change(turn, { state: "stopping" });
  try {
    await send("POST", `${path(conversationId.value ?? "")}/turns/${turnId}/stop`);
  } catch (error) {
    report(error);
  }
}

// --- Following an answer

/**
 * Follow a turn to its end, over lost connections and restarts.
 * @param {Signal<TurnView>} turn @param {Question | null} [asking] @param {string} [retryPath]
 */
async function follow(turn, asking = null, retryPath = "") {
  const id = conversationId.value ?? "";
  const writer = new Writer(turn);
  let wait = 500;
  busy.value = new Set([...busy.value, id]);
  try {
    while (isRunning(turn.value.state)) {
      try {
        const response = await connect(turn, writer.last, asking, retryPath);
        retryPath = "";
        if (response.status === 204) {
          await refresh(turn);
          continue;
        }
        for await (const event of eventsOf(response)) {
          online.value = true;
          wait = 500;
          writer.take(Number(event.id), event.event, JSON.parse(event.data));
        }
      } catch (error) {
        wait = await recover(turn, error, asking, wait);
      }
      if (isRunning(turn.value.state)) await pause(wait);
      wait = Math.min(wait * 2, LONGEST_WAIT);
    }
  } finally {
    writer.flush();
    busy.value = new Set([...busy.value].filter((each) => each !== id));
    if (asking) keep(sessionStorage, `asking.${id}`, null);
    announce(turn.value);
    loadSessions();
  }
}

/** @param {Signal<TurnView>} turn @param {number} last @param {Question | null} asking @param {string} retryPath */
function connect(turn, last, asking, retryPath) {
  const headers = { accept: "text/event-stream" };
  if (retryPath) return request("POST", retryPath, { headers });
  const { turnId } = turn.value;
  if (turnId) {
    const address = `${path(conversationId.value ?? "")}/turns/${turnId}/events`;
    return request("GET", address, { headers: { ...headers, "last-event-id": String(last) } });
  }
  return request("POST", "/orc/stream", {
    json: asking?.body, headers: { ...headers, "idempotency-key": asking?.key ?? "" },
  });
}

/**
 * What to do about a failed request; returns how long to wait before the next.
 * @param {Signal<TurnView>} turn @param {unknown} error @param {Question | null} asking @param {number} wait
 */
async function recover(turn, error, asking, wait) {
  if (!(error instanceof ApiError)) {
    if (!(error instanceof TypeError)) console.warn("stream", error instanceof Error ? error.name : "");
    online.value = navigator.onLine && wait < 2000;
    return wait;
  }
  const { problem } = error;
  if (problem.code === "turn_in_flight") {
    change(turn, { state: "elsewhere", turnId: problem.turn_id ?? turn.value.turnId });
    if (turn.value.turnId) await refresh(turn);
    return ELSEWHERE_WAIT;
  }
  if (problem.status === 429 && asking) {
    const seconds = error.retryAfter || problem.retry_after || 2;
    change(turn, { problem, retryAt: Date.now() + seconds * 1000 });
    await pause(seconds * 1000);
    change(turn, { problem: null, retryAt: null });
    return 0;
  }
  if (problem.status === 401) signedOut.value = true;
  if (asking && !turn.value.turnId) {
    // Nothing was stored: the question goes back to where it was written.
    setDraft(turn.value.question);
    change(turn, { state: "refused", problem });
    return 0;
  }
  change(turn, { state: "failed", problem });
  return 0;
}

/** Take over what is stored of a turn. @param {Signal<TurnView>} turn */
async function refresh(turn) {
  const { seq, turnId, key } = turn.value;
  const id = conversationId.value ?? "";
  const found = /** @type {Conversation} */ (await get(`${path(id)}?limit=${seq ? 1 : WINDOW}${seq ? `&before_seq=${seq + 1}` : ""}`));
  const now = found.turns.find((each) => each.turn_id === turnId);
  if (now && now.status !== "pending") turn.value = { ...stored(now), key };
}

/** Turns events into what is shown of a turn, at most once a frame. */
class Writer {
  last = 0;
  #text = "";
  #revising = "";
  #scheduled = false;

  /** @param {Signal<TurnView>} turn */
  constructor(turn) {
    this.turn = turn;
  }

  /** @param {number} number @param {string} kind @param {any} data */
  take(number, kind, data) {
    this.last = number;
    const turn = this.turn;
    switch (kind) {
      case "turn": this.#begin(data); break;
      case "route": case "plan": case "tool": change(turn, { status: statusOf(kind, data) ?? turn.value.status }); break;
      case "token": this.#append(data.text); break;
      case "citation": this.#cite(data); break;
      case "reset": this.#withdraw(number); break;
      case "citations": this.flush(); change(turn, { citations: data.citations }); break;
      case "critique":
        this.#revising = ["revise", "retrieve"].includes(data.action) ? (data.issues ?? []).join(" ") || "-" : "";
        break;
      case "suggestions": change(turn, { suggestions: data.suggestions ?? [] }); break;
      case "chat_session_title_updated": renamed(data); break;
      case "done": this.#end(data, "answered"); break;
      case "stopped": this.#end(data, "stopped"); break;
      case "error": this.flush(); change(turn, failure(data)); break;
      default:
    }
  }

  /** @param {{turn_id: string, seq: number}} data */
  #begin({ turn_id: turnId, seq }) {
    // After a reload the same turn may be shown already, as it was stored.
    turns.value = turns.value.filter((each) => each === this.turn || each.value.turnId !== turnId);
    change(this.turn, { turnId, seq });
    if (conversationId.value && !listening) listen(conversationId.value);
  }

  /** @param {string} text */
  #append(text) {
    this.#text += text;
    if (this.#scheduled) return;
    this.#scheduled = true;
    const flush = () => { if (this.#scheduled) this.flush(); };
    if (document.hidden) setTimeout(flush, 250);
    else requestAnimationFrame(flush);
  }

  flush() {
    this.#scheduled = false;
    const turn = this.turn;
    if (!isRunning(turn.value.state) || (!this.#text && !turn.value.text)) return;
    const state = turn.value.state === "stopping" ? "stopping" : "streaming";
    change(turn, { text: this.#text.replace(UNFINISHED_MARKER, ""), state });
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
    const reason = number < STORED_AFTER && before ? this.#revising : "";
    this.#text = "";
    const withdrawn = reason ? { text: before, reason: reason === "-" ? "" : reason } : this.turn.value.withdrawn;
    change(this.turn, { text: "", marks: [], citations: [], withdrawn });
  }

  /** @param {TurnResult} result @param {TurnState} state */
  #end(result, state) {
    this.#scheduled = false;
    const citations = result.citations ?? [];
    change(this.turn, {
      state, text: result.answer, kind: result.answer_kind, citations, marks: [], metadata: result.metadata,
      turnId: result.turn_id, status: null,
    });
  }
}

/** @param {Problem} problem @returns {Partial<TurnView>} */
const failure = (problem) => ({
  state: problem.code === "interrupted" ? "interrupted" : problem.code === "turn_in_flight" ? "elsewhere" : "failed",
  problem: problem.code === "turn_in_flight" ? null : problem,
});

/** @param {string} kind @param {any} data @returns {import("./types/page.js").Step | null} */
function statusOf(kind, data) {
  if (kind === "tool") {
    const failed = data.status === "failed";
    return { kind, text: data.message || t(failed ? "step.tool.failed" : "step.tool", { tool: toolTitle(data.name) }), failed };
  }
  if (kind === "plan" && data.steps?.some((/** @type {string} */ step) => step !== "answer")) {
    return { kind, text: t("step.plan", { query: data.rewritten_query }) };
  }
  return kind === "route" ? { kind, text: t("step.route") } : null;
}

/** The name of a tool for people. @param {string} name */
export function toolTitle(name) {
  const known = t(`tool.${name}`);
  return known === `tool.${name}` ? name.replaceAll("_", " ") : known;
}

/** @param {TurnView} turn */
function announce(turn) {
  if (turn.state === "answered") {
    const missing = turn.citations.filter((each) => !each.verified).length;
    said.value = t("turn.ready", { n: turn.citations.length }) + (missing ? ` ${t("turn.ready.missing", { n: missing })}` : "");
  } else if (turn.state === "stopped") said.value = t("turn.stopped");
}

/** @param {{conversation_id: string, title: string, by: string}} data */
function renamed({ conversation_id: id, title: fresh, by }) {
  if (id === conversationId.value) title.value = fresh;
  if (sessions.value.some((each) => each.conversation_id === id)) retitled(id, fresh, by);
  else loadSessions();
}

// --- What happens elsewhere: documents, titles, turns of other windows

/** Follow the events of a session until another one is opened. @param {string} id */
export async function listen(id) {
  const mine = listening = new AbortController();
  let wait = 500;
  while (!mine.signal.aborted && conversationId.value === id) {
    try {
      await refreshDocuments(id);
      const headers = { accept: "text/event-stream" };
      const response = await request("GET", `${path(id)}/events`, { headers, signal: mine.signal });
      for await (const event of eventsOf(response)) {
        wait = 500;
        online.value = true;
        hear(id, event.event, JSON.parse(event.data));
      }
    } catch (error) {
      if (error instanceof ApiError && error.problem.status === 401) signedOut.value = true;
    }
    await pause(wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

/** @param {string} id @param {string} kind @param {any} data */
function hear(id, kind, data) {
  if (conversationId.value !== id) return;
  if (kind === "document" || kind === "document_removed") onDocumentEvent(kind, data);
  else if (kind === "chat_session_title_updated") renamed(data);
  else if (kind === "turn_started") appear(data.turn_id, data.seq);
}

/** A turn that another window began. @param {string} turnId @param {number} seq */
async function appear(turnId, seq) {
  // The same turn may be on its way here: its own stream names it within a moment.
  await pause(500);
  const id = conversationId.value;
  if (!id || later.value || turns.value.some((each) => each.value.turnId === turnId)) return;
  try {
    const found = /** @type {Conversation} */ (await get(`${path(id)}?limit=1&before_seq=${seq + 1}`));
    const [fresh] = found.turns;
    if (!fresh || turns.value.some((each) => each.value.turnId === turnId)) return;
    const turn = signal(stored(fresh));
    turns.value = [...turns.value.filter((each) => each.value.turnId !== fresh.replaces), turn];
    if (turn.value.state === "elsewhere") follow(turn);
  } catch (error) {
    report(error);
  }
}

/** @param {Signal<TurnView>} turn @param {"up" | "down" | null} rating @param {string} [comment] */
export async function rate(turn, rating, comment = "") {
  const before = turn.value.feedback;
  const address = `${path(conversationId.value ?? "")}/turns/${turn.value.turnId}/feedback`;
  const given = rating && { rating, ...(comment ? { comment } : {}) };
  change(turn, { feedback: given });
  try {
    if (given) await send("PUT", address, given);
    else await send("DELETE", address);
  } catch (error) {
    change(turn, { feedback: before });
    report(error);
  }
}

/** Whether the server serves another version of the page by now. */
export async function checkVersion() {
  const base = document.documentElement.dataset.base ?? "";
  const response = await fetch(`${base}icons.svg`, { method: "HEAD", cache: "no-store" }).catch(() => null);
  if (response?.status === 404) outdated.value = true;
}

/** Show what the address names, now and after each change of it. */
export function startChat() {
  place.subscribe(({ view: shown, id }) => { if (shown === "session") open(id); });
}
