// How a session is opened, and how a question is asked, stopped and rated.
import { ApiError, get, send } from "./api.js";
import { forgetFiles, unsettled, uploaded } from "./files.js";
import { t } from "./i18n.js";
import {
  answering,
  asked,
  change,
  contexts,
  conversationId,
  draft,
  earlierBefore,
  editAgain,
  endEdit,
  giveBack,
  heard,
  holding,
  known,
  later,
  leaveGone,
  inOrder,
  latest,
  loadChoices,
  loading,
  model,
  newest,
  path,
  pictures,
  placeOf,
  refused,
  replacing,
  setDraft,
  settle,
  show,
  title,
  toolsChosen,
  turns,
  versions,
  view,
} from "./session.js";
import { keep, kept, place, report, said } from "./store.js";
import { follow } from "./stream.js";
import { recallRefused } from "./uploads.js";
import { batch, signal } from "./vendor/ui.js";

/** @import { Conversation, Feedback, Question, Rating, Signal, TurnView } from "./types/page.js" */

const WINDOW = 50;
const MOST_TURNS = 100;

// --- Opening

/** Show the session of the address, or a new one. @param {string | null} id */
export async function open(id) {
  if (conversationId.value && (id === null ? !known.value : id === conversationId.value)) return;
  forgetFiles();
  batch(() => {
    heard.value = "";
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
    recallRefused(id ?? idOfNew());
  });
  if (id !== null) {
    await loadTurns(id);
    if (conversationId.value === id && known.value) heard.value = id;
  }
}

/** A new session has one id in this window, so that a reload finds the draft and the choices. */
function idOfNew() {
  const found = kept("sessionStorage", "new");
  const id = typeof found === "string" ? found : crypto.randomUUID();
  keep("sessionStorage", "new", id);
  return id;
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
      versions.clear();
      turns.value = [...inOrder(latest(found.turns)), ...fresh];
      earlierBefore.value = found.earlier_before_seq ?? null;
      later.value = false;
      const { type = "", context_id: home = "", name = "" } = found.home ?? {};
      // A chat of a workspace is about it; without a name it cannot be read any more.
      if (home && name && !contexts.value.length) contexts.value = [{ type, id: home, name }];
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

/** Load the turns before those that are shown. @returns whether it did */
export async function loadEarlier() {
  const [id, before] = [conversationId.value, earlierBefore.value];
  if (!id || before === null || loading.value) return;
  loading.value = true;
  try {
    const found = /** @type {Conversation} */ (await get(`${path(id)}?limit=${WINDOW}&before_seq=${before}`));
    if (conversationId.value !== id) return;
    batch(() => {
      const all = inOrder([...latest(found.turns), ...turns.value]);
      later.value = later.value || all.length > MOST_TURNS;
      turns.value = all.slice(0, MOST_TURNS);
      earlierBefore.value = found.earlier_before_seq ?? null;
    });
    return true;
  } catch (error) {
    report(error);
  } finally {
    loading.value = false;
  }
}

export async function jumpToEnd() {
  if (later.value && conversationId.value) await loadTurns(conversationId.value);
}

// --- Asking

/** Ask a question. @param {string} question @param {{replaces?: TurnView | null, model?: string}} [how] `model`: another one than is chosen */
export function ask(question, { replaces = null, model: other = "" } = {}) {
  const [id, tools] = [conversationId.value, toolsChosen()];
  if (!id || !question.trim() || answering.value) return;
  const names = replaces ? replaces.files : asked.value;
  const chosen = replaces ? replaces.contexts : contexts.value;
  const body = {
    conversation_id: id,
    question: question.trim(),
    blob_names: names,
    contexts: chosen.map(({ type, id: context }) => ({ type, id: context })),
    tools,
    closest_passages: true,
    ...(other || model.value ? { model: other || model.value } : {}),
    ...(pictures.value === null ? {} : { feature_flags: { images: pictures.value } }),
    ...(replaces?.turnId ? { replaces: replaces.turnId } : {}),
  };
  const shown = {
    question: question.trim(),
    files: names,
    contexts: chosen,
    tools,
    replaces: replaces?.turnId ?? null,
    place: replaces ? placeOf(replaces) : 0,
    model: other || model.value || null,
  };
  const waits = unsettled.value > 0;
  const turn = signal(view({ ...shown, waits }));
  batch(() => {
    show(turn);
    newest.value = turn.value.key;
    refused.value = null;
    // What else is written stays there.
    if (draft.value.trim() !== question.trim()) return;
    if (replacing.value) endEdit();
    else setDraft("");
  });
  const asking = { key: turn.value.key, body, shown };
  if (waits) askAfterUploads(id, turn, asking);
  else begin(id, turn, asking);
}

/** Send a question that is shown. @param {string} id @param {Signal<TurnView>} turn @param {Question} asking */
function begin(id, turn, asking) {
  settle(id);
  said.value = t("turn.answering");
  keep("sessionStorage", `asking.${id}`, asking);
  follow(turn, asking);
}

/** A reload loses the uploads: it puts the question back into the text box. @param {string} id @param {Signal<TurnView>} turn @param {Question} asking */
async function askAfterUploads(id, turn, asking) {
  said.value = t("turn.files", { n: unsettled.value });
  keep("sessionStorage", `waits.${id}`, turn.value.question);
  const isLeft = () => !turns.value.includes(turn);
  await uploaded(id, isLeft);
  if (isLeft()) return;
  keep("sessionStorage", `waits.${id}`, null);
  change(turn, { waits: false });
  begin(id, turn, asking);
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

/** Ask the question of a turn again. @param {Signal<TurnView>} turn */
export function retry(turn) {
  const { turnId } = turn.value;
  if (!turnId || answering.value) return;
  const before = turn.value;
  // What it was about is gone, which the turn says: the next try is without it.
  if (before.problem?.code === "no_such_context")
    return ask(before.question, { replaces: { ...before, contexts: before.contexts.slice(1) } });
  change(turn, { state: "waiting", text: "", kind: "answer", citations: [], marks: [], problem: null, status: null, withdrawn: null });
  follow(turn, null, { path: `${path(conversationId.value ?? "")}/turns/${turnId}/retry`, key: crypto.randomUUID(), before });
}

/** @param {Signal<TurnView>} turn */
export async function stop(turn) {
  const { turnId, retryAt, waits, state } = turn.value;
  if (!turnId && (retryAt || waits)) giveBack(turn, null);
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

/** Show what the address names, now and later. */
export function startChat() {
  place.subscribe(({ view: shown, id, turn, source }) => {
    if (shown !== "session") return;
    const isHere = source !== undefined && holding(turn);
    open(id).then(() => {
      if (id && turn && !isHere) import("./named.js").then(({ showNamed }) => showNamed(id, turn), report);
    });
  });
}
