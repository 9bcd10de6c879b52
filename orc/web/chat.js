// The open session: its turns, and how a question is asked.
import { ApiError, get, send } from "./api.js";
import { documents, forgetFiles } from "./files.js";
import { t } from "./i18n.js";
import { go, keep, kept, leaving, loadSessions, me, notify, outdated, place, report, said, sessions } from "./store.js";
import { follow, listen, stopListening } from "./stream.js";
import { batch, computed, signal } from "./vendor/ui.js";

/** @import { Choices, Conversation, Feedback, Metadata, Objection, Problem, Question, Rating, Refusal, Signal, StoredTurn, TurnState, TurnView } from "./types/page.js" */

const WINDOW = 50;
const MOST_TURNS = 100;

/** @type {Signal<string | null>} */
export const conversationId = signal(null);
/** The title as events say it. */
export const title = signal("");
export const shownTitle = computed(() => title.value
  || sessions.value.find((each) => each.conversation_id === conversationId.value)?.title || "");
/** @type {Signal<Signal<TurnView>[]>} */
export const turns = signal([]);
/** @type {Signal<number | null>} */
export const earlierBefore = signal(null);
/** Whether later turns were dropped. */
export const later = signal(false);
export const loading = signal(false);
export const known = signal(false);
/** @type {Signal<Choices["contexts"]>} */
export const contexts = signal([]);
/** @type {Signal<string[]>} */
export const toolsOff = signal([]);
/** Whether the model is sent pictures of pages; null: as the server does. */
export const pictures = signal(/** @type {boolean | null} */ (null));
export const model = signal("");
const chosenModel = computed(() => (me.value?.models ?? []).find((each) => model.value ? each.id === model.value : each.default));
/** Whether the model that answers can see pictures, and whether it is sent those of pages. */
export const seesPictures = computed(() => chosenModel.value?.images ?? false);
export const sendsPictures = computed(() => seesPictures.value && (pictures.value ?? me.value?.page_images ?? false));
/** The documents to ask about; none: all. @type {Signal<string[]>} */
export const asked = signal([]);
export const draft = signal("");
/** The turn that the next question takes the place of. @type {Signal<string | null>} */
export const replacing = signal(null);
/** What stood in the text box before an edit. */
let beforeEdit = "";
/** @type {Signal<Refusal | null>} */
export const refused = signal(null);
/** Turns by the key of the one that takes their place. @type {Map<string, Signal<TurnView>>} */
const replaced = new Map();

export const answering = computed(() => turns.value.find((each) => isRunning(each.value.state)) ?? null);
/** The turn asked last from here: it gets the height of the window. */
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
export const change = (turn, changed) => { turn.value = { ...turn.value, ...changed }; };

/** @param {string} id */
export const path = (id) => `/conversations/${id}`;

// --- Opening

/** Show the session of the address, or a new one. @param {string | null} id */
export async function open(id) {
  if (conversationId.value && (id === null ? !known.value : id === conversationId.value)) return;
  stopListening();
  forgetFiles();
  batch(() => {
    conversationId.value = id ?? idOfNew();
    known.value = id !== null;
    title.value = "";
    turns.value = [];
    earlierBefore.value = null;
    later.value = false;
    replacing.value = null;
    newest.value = "";
    asked.value = [];
    if (!refused.value?.until) refused.value = null;
    loadChoices();
  });
  if (id !== null) {
    await loadTurns(id);
    if (conversationId.value === id && known.value) listen(id);
  }
}

/** A new session has one id in this window, so that a reload finds the draft and the choices. */
function idOfNew() {
  const found = kept("sessionStorage", "new");
  const id = typeof found === "string" ? found : crypto.randomUUID();
  keep("sessionStorage", "new", id);
  return id;
}

/** The API knows a session that was new: it has a question or a file. @param {string} id */
export function settle(id) {
  const isOpen = conversationId.value === id;
  if (isOpen ? known.value : kept("sessionStorage", "new") !== id) return;
  keep("sessionStorage", "new", null);
  const choices = `choices.${id}`;
  keep("localStorage", choices, kept("sessionStorage", choices));
  keep("sessionStorage", choices, null);
  if (!isOpen) return;
  known.value = true;
  go(id, { replace: true });
}

/** Make the session a new one again: the API did not take its first question. */
function unsettle() {
  known.value = false;
  keep("sessionStorage", "new", conversationId.value);
  keep("localStorage", `choices.${conversationId.value}`, null);
  keepChoices();
  go(null, { replace: true });
}

const choicesAre = () => (known.value ? "localStorage" : "sessionStorage");

function loadChoices() {
  const name = `choices.${conversationId.value}`;
  const found = /** @type {Partial<Choices> | null} */ (kept(choicesAre(), name));
  contexts.value = found?.contexts ?? [];
  toolsOff.value = found?.toolsOff ?? [];
  pictures.value = found?.pictures ?? null;
  model.value = found?.model ?? "";
  draft.value = /** @type {string | null} */ (kept("sessionStorage", `draft.${conversationId.value}`)) ?? "";
}

export function keepChoices() {
  const chosen = { contexts: contexts.value, toolsOff: toolsOff.value, pictures: pictures.value, model: model.value };
  keep(choicesAre(), `choices.${conversationId.value}`, chosen);
}

/** @param {string} text */
export function setDraft(text) {
  draft.value = text;
  const edited = turns.value.find((each) => each.value.key === replacing.value)?.value.turnId;
  keep("sessionStorage", `edit.${conversationId.value}`, edited ? { turnId: edited, text } : null);
  if (!replacing.value) keep("sessionStorage", `draft.${conversationId.value}`, text || null);
}

/** Put the question of a turn into the text box. @param {TurnView} turn */
export function edit(turn) {
  if (!replacing.value) beforeEdit = draft.value;
  replacing.value = turn.key;
  setDraft(turn.question);
}

/** Restore what stood in the text box before. */
export function endEdit() {
  replacing.value = null;
  setDraft(beforeEdit);
}

/** Go on with an edit after a reload. @param {string} id */
function editAgain(id) {
  const found = /** @type {{turnId: string, text: string} | null} */ (kept("sessionStorage", `edit.${id}`));
  const turn = found && turns.value.find((each) => each.value.turnId === found.turnId)?.value;
  if (!found || !turn) return;
  edit(turn);
  setDraft(found.text);
}

/** @param {string} id */
export async function loadTurns(id) {
  loading.value = true;
  try {
    const found = /** @type {Conversation} */ (await get(`${path(id)}?limit=${WINDOW}`));
    if (conversationId.value !== id) return;
    const last = found.turns.at(-1)?.seq ?? 0;
    const fresh = turns.value.filter(({ value }) => !value.turnId || value.seq > last);
    batch(() => {
      title.value = found.title ?? "";
      turns.value = [...found.turns.filter((each) => !each.replaced_by).map((each) => signal(stored(each))), ...fresh];
      earlierBefore.value = found.earlier_before_seq ?? null;
      later.value = false;
    });
    for (const turn of turns.value) if (turn.value.state === "elsewhere") follow(turn);
    sendAgain(id);
    editAgain(id);
  } catch (error) {
    const isGone = error instanceof ApiError && error.problem.code === "not_found";
    // The window was closed before the API had the first question.
    if (isGone && conversationId.value === id && sendAgain(id)) return;
    if (isGone) leaveGone(id);
    else report(error);
  } finally {
    loading.value = false;
  }
}

/** Leave a session that is gone; what was typed goes along. @param {string} id */
export function leaveGone(id) {
  if (conversationId.value !== id) return;
  const question = turns.value.find((each) => each.value.key === replacing.value)?.value.question;
  const typed = replacing.value ? [beforeEdit, draft.value === question ? "" : draft.value] : [draft.value];
  notify({ text: t("sessions.gone"), kind: "info" });
  leaving.value = new Set([...leaving.value, id]);
  go(null, { replace: true });
  setDraft([draft.value, ...typed].filter(Boolean).join("\n\n"));
  loadSessions();
}

/** Load the turns before those that are shown. */
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
export function stored(turn) {
  /** @type {Record<StoredTurn["status"], TurnState>} */
  const states = { pending: "elsewhere", committed: "answered", failed: "failed", stopped: "stopped" };
  const interrupted = turn.failure?.code === "interrupted";
  const metadata = /** @type {Partial<Metadata>} */ (turn.metadata);
  return view({
    turnId: turn.turn_id, seq: turn.seq, state: interrupted ? "interrupted" : states[turn.status],
    question: turn.question, files: turn.blob_names, text: turn.answer ?? "", kind: turn.answer_kind ?? "answer",
    contexts: turn.contexts.map(({ type = "", id = "", name }) => ({ type, id, name })),
    tools: turn.choices.tools, model: turn.choices.model, citations: turn.citations,
    metadata: metadata.trace_id ? metadata : null, replaces: turn.replaces, feedback: turn.feedback,
    withdrawn: withdrawnOf(metadata), createdAt: turn.created_at, problem: turn.failure && problemOf(turn.failure.code, turn.failure.message),
  });
}

/** The objections of a verdict; old ones have texts only. @param {{objections?: Objection[], issues?: string[]}} verdict @returns {Objection[]} */
export const objectionsOf = ({ objections, issues = [] }) => objections ?? issues.map((text) => ({ code: "other", text }));

const RESTORED = new Set(["revision_worse", "not_revised"]);
/** Whether a withdrawn answer is given after all. @param {Partial<Metadata>} metadata */
export const isRestored = ({ critiques = [] }) => objectionsOf(critiques.at(-1) ?? {}).some(({ code }) => RESTORED.has(code));

/** Why a first answer was withdrawn; its text is not stored. @param {Partial<Metadata>} metadata @returns {TurnView["withdrawn"]} */
function withdrawnOf(metadata) {
  const { withdrawn = [], critiques = [], corrections = [] } = metadata;
  const last = critiques.findLast(({ action }) => action === "retrieve" || (action === "revise" && !corrections.length));
  return withdrawn.length && last && !isRestored(metadata) ? { text: "", objections: objectionsOf(last) } : null;
}

/** @param {string} code @param {string} detail @returns {Problem} */
const problemOf = (code, detail) => ({
  status: 0, detail, trace_id: "", code, retryable: true,
});

// --- Asking

/** Ask a question. @param {string} question @param {{replaces?: TurnView | null}} [how] */
export function ask(question, { replaces = null } = {}) {
  const id = conversationId.value;
  if (!id || !question.trim() || answering.value) return;
  const names = replaces ? replaces.files : asked.value;
  const chosen = replaces ? replaces.contexts : contexts.value;
  const tools = replaces ? replaces.tools : Object.fromEntries(toolsOff.value.map((name) => [name, false]));
  const body = {
    conversation_id: id, question: question.trim(), blob_names: names,
    contexts: chosen.map(({ type, id: context }) => ({ type, id: context })), tools, suggest: true,
    ...(model.value ? { model: model.value } : {}),
    ...(pictures.value === null ? {} : { feature_flags: { images: pictures.value } }),
    ...(replaces?.turnId ? { replaces: replaces.turnId } : {}),
  };
  const shown = {
    question: question.trim(), files: names, contexts: chosen, tools, replaces: replaces?.turnId ?? null,
    model: model.value || null,
  };
  const turn = signal(view(shown));
  batch(() => {
    show(turn);
    newest.value = turn.value.key;
    refused.value = null;
    if (replacing.value) endEdit();
    else if (!replaces) setDraft("");
  });
  settle(id);
  said.value = t("turn.answering");
  const asking = { key: turn.value.key, body, shown };
  keep("sessionStorage", `asking.${id}`, asking);
  follow(turn, asking);
}

/** Add a turn in the place of the one that it replaces. @param {Signal<TurnView>} turn */
function show(turn) {
  const { key, replaces } = turn.value;
  const old = turns.value.find((each) => replaces && each.value.turnId === replaces);
  if (old) replaced.set(key, old);
  turns.value = [...turns.value.filter((each) => each !== old), turn];
}

/** Send what a reload interrupted: the same key never asks twice. @param {string} id @returns {boolean} whether it did */
function sendAgain(id) {
  const asking = /** @type {Question | null} */ (kept("sessionStorage", `asking.${id}`));
  if (!asking || answering.value) return false;
  const { question, blob_names: files } = /** @type {{question: string, blob_names: string[]}} */ (asking.body);
  const turn = signal(view({ question, files, ...asking.shown, key: asking.key }));
  show(turn);
  follow(turn, asking);
  return true;
}

/** Undo a question that the API did not take. @param {Signal<TurnView>} turn @param {Problem | null} problem @param {number} [until] */
export function giveBack(turn, problem, until = 0) {
  const { key, question } = turn.value;
  const old = replaced.get(key);
  replaced.delete(key);
  batch(() => {
    change(turn, { state: "refused", retryAt: null });
    const others = turns.value.filter((each) => each !== turn);
    turns.value = old ? [...others, old].sort((a, b) => a.value.seq - b.value.seq) : others;
    refused.value = problem && { problem, until };
    if (old && question !== old.value.question) edit(old.value);
    if (!old || replacing.value) setDraft(!old && draft.value ? `${question}\n\n${draft.value}` : question);
    if (!turns.value.length && !documents.value.length) unsettle();
  });
}

/** Ask the question of a turn again. @param {Signal<TurnView>} turn */
export function retry(turn) {
  const { turnId } = turn.value;
  if (!turnId || answering.value) return;
  const before = turn.value;
  change(turn, { state: "waiting", text: "", citations: [], marks: [], problem: null, status: null, withdrawn: null });
  follow(turn, null, { path: `${path(conversationId.value ?? "")}/turns/${turnId}/retry`, key: crypto.randomUUID(), before });
}

/** @param {Signal<TurnView>} turn */
export async function stop(turn) {
  const { turnId, retryAt, state } = turn.value;
  if (!turnId && retryAt) giveBack(turn, null);
  if (!turnId || state === "stopping") return;
  change(turn, { state: "stopping" });
  try {
    await send("POST", `${path(conversationId.value ?? "")}/turns/${turnId}/stop`);
  } catch (error) {
    if (turn.value.state === "stopping") change(turn, { state: turn.value.text ? "streaming" : state });
    report(error);
  }
}

/** Ratings are sent one after the other, so that the last one is kept. */
let lastRating = Promise.resolve();
/** @type {WeakMap<Signal<TurnView>, Rating>} */
const ratings = new WeakMap();

/** @param {Signal<TurnView>} turn @param {Feedback | null} given */
export function rate(turn, given) {
  const rating = ratings.get(turn) ?? { kept: turn.value.feedback, waiting: 0 };
  const address = `${path(conversationId.value ?? "")}/turns/${turn.value.turnId}/feedback`;
  ratings.set(turn, rating);
  rating.waiting += 1;
  change(turn, { feedback: given });
  lastRating = lastRating.then(async () => {
    try {
      if (given) await send("PUT", address, given);
      else await send("DELETE", address);
      rating.kept = given;
    } catch (error) {
      report(error);
    }
    rating.waiting -= 1;
    if (rating.waiting) return;
    ratings.delete(turn);
    change(turn, { feedback: rating.kept });
  });
}

/** Whether the server has another version of the page by now. */
export async function checkVersion() {
  const base = document.documentElement.dataset.base ?? "";
  const response = await fetch(`${base}icons.svg`, { method: "HEAD", cache: "no-store" }).catch(() => null);
  if (response?.status === 404) outdated.value = true;
}

/** Show what the address names, now and later. */
export function startChat() {
  place.subscribe(({ view: shown, id }) => { if (shown === "session") open(id); });
}
