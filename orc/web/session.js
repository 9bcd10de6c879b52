// The state of the open session, and what changes it. Everything that knows the session imports it from here.
import { t } from "./i18n.js";
import { leaving, loadSessions, sessions } from "./sessions.js";
import { go, goTo, keep, kept, me, notify, place } from "./store.js";
import { batch, computed, signal } from "./vendor/ui.js";

/** @import { Choices, Document, Metadata, Objection, Problem, Refusal, Signal, StoredTurn, TurnState, TurnView } from "./types/page.js" */

/** @type {Signal<string | null>} */
export const conversationId = signal(null);
/** The title as events say it. */
export const title = signal("");
export const shownTitle = computed(
  () => title.value || sessions.value.find((each) => each.conversation_id === conversationId.value)?.title || "",
);
/** @type {Signal<Signal<TurnView>[]>} */
export const turns = signal([]);
/** @type {Signal<number | null>} */
export const earlierBefore = signal(null);
/** Whether later turns were dropped. */
export const later = signal(false);
export const loading = signal(false);
export const known = signal(false);
/** The session that the API has for certain: its events are followed. */
export const heard = signal("");
/** @type {Signal<Document[]>} */
export const documents = signal([]);
/** @type {Signal<Choices["contexts"]>} */
export const contexts = signal([]);
/** The tools that are not as they usually are: what reads is on, what changes something is off. @type {Signal<string[]>} */
export const toolsFlipped = signal([]);
/** @param {{name: string, kind: string}} tool */
export const isOn = ({ name, kind }) => toolsFlipped.value.includes(name) === (kind === "update");
/** The tools that a question switches on or off. */
export const toolsChosen = () =>
  Object.fromEntries(
    (me.value?.tools ?? []).filter(({ name }) => toolsFlipped.value.includes(name)).map((each) => [each.name, isOn(each)]),
  );

/** Switch tools on or off: each is then the other way. @param {string[]} names */
export function toggleTools(names) {
  const flipped = new Set(toolsFlipped.value);
  for (const each of names) if (!flipped.delete(each)) flipped.add(each);
  toolsFlipped.value = [...flipped];
  keepChoices();
}

/** Whether the model is sent pictures of pages; null: as the server does. */
export const pictures = signal(/** @type {boolean | null} */ (null));
export const model = signal("");
const chosenModel = computed(() => (me.value?.models ?? []).find((each) => (model.value ? each.id === model.value : each.default)));
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
/** Earlier versions of turns, by their ids. @type {Map<string, TurnView>} */
export const versions = new Map();

/** The versions before this one, from the first one on. @param {TurnView} turn */
export function earlierVersions(turn) {
  turns.value; // Versions come with turns that are loaded or shown.
  const found = [];
  for (let at = versions.get(turn.replaces ?? ""); at; at = versions.get(at.replaces ?? "")) found.unshift(at);
  return found;
}

/** The shown turn of which this is a version. @param {string | null} [id] */
export const holding = (id) => turns.value.find(({ value }) => [value, ...earlierVersions(value)].some((each) => each.turnId === id));

/** Turns in order: a version is in the place of the first one. @param {Signal<TurnView>[]} all */
export const inOrder = (all) => all.sort((one, other) => placeOf(one.value) - placeOf(other.value));

/** A turn that the API has not taken yet is the last one. @param {TurnView} turn */
export const placeOf = (turn) => turn.place || turn.seq || Infinity;

/** Stored turns as they are shown; versions that others replaced are kept for them. @param {StoredTurn[]} found */
export function latest(found) {
  for (const each of found) if (each.replaced_by) versions.set(each.turn_id, stored(each));
  return found.filter((each) => !each.replaced_by).map((each) => signal(stored(each)));
}

/** The turn asked last from here: it gets the height of the window. */
export const newest = signal("");

/** @param {TurnState} state */
export const isRunning = (state) => ["waiting", "streaming", "elsewhere", "stopping"].includes(state);

/** @param {Partial<TurnView>} fields @returns {TurnView} */
export const view = (fields) => ({
  key: crypto.randomUUID(),
  turnId: null,
  seq: 0,
  state: "waiting",
  question: "",
  files: [],
  contexts: [],
  tools: {},
  model: null,
  text: "",
  kind: "answer",
  citations: [],
  marks: [],
  withdrawn: null,
  status: null,
  metadata: null,
  problem: null,
  replaces: null,
  place: 0,
  feedback: null,
  suggestions: [],
  retryAt: null,
  waits: false,
  createdAt: new Date().toISOString(),
  ...fields,
});

/** @param {Signal<TurnView>} turn @param {Partial<TurnView>} changed */
export const change = (turn, changed) => {
  turn.value = { ...turn.value, ...changed };
};

/** @param {string} id */
export const path = (id) => `/conversations/${id}`;

// --- Choices and drafts

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

export function loadChoices() {
  const name = `choices.${conversationId.value}`;
  const found = /** @type {Partial<Choices> | null} */ (kept(choicesAre(), name));
  contexts.value = found?.contexts ?? [];
  toolsFlipped.value = found?.toolsOff ?? [];
  pictures.value = found?.pictures ?? null;
  model.value = found?.model ?? "";
  const texts = ["waits", "draft"].map((each) => /** @type {string | null} */ (kept("sessionStorage", `${each}.${conversationId.value}`)));
  draft.value = texts.filter(Boolean).join("\n\n");
  keep("sessionStorage", `draft.${conversationId.value}`, draft.value || null);
  keep("sessionStorage", `waits.${conversationId.value}`, null);
}

export function keepChoices() {
  const chosen = { contexts: contexts.value, toolsOff: toolsFlipped.value, pictures: pictures.value, model: model.value };
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
export function editAgain(id) {
  const found = /** @type {{turnId: string, text: string} | null} */ (kept("sessionStorage", `edit.${id}`));
  const turn = found && holding(found.turnId)?.value;
  if (!found || !turn) return;
  edit(turn);
  setDraft(found.text);
}

/** Begin a new session about a context. @param {Choices["contexts"][number]} context */
export function beginAbout({ type, id, name }) {
  go(null);
  contexts.value = [{ type, id, name }];
  keepChoices();
  requestAnimationFrame(() => document.getElementById("question")?.focus());
}

// --- Turns

/** A stored turn as it is shown. @param {StoredTurn} turn */
export function stored(turn) {
  /** @type {Record<StoredTurn["status"], TurnState>} */
  const states = { pending: "elsewhere", committed: "answered", failed: "failed", stopped: "stopped" };
  const interrupted = turn.failure?.code === "interrupted";
  const metadata = /** @type {Partial<Metadata>} */ (turn.metadata);
  return view({
    turnId: turn.turn_id,
    seq: turn.seq,
    state: interrupted ? "interrupted" : states[turn.status],
    question: turn.question,
    files: turn.blob_names,
    text: turn.answer ?? "",
    kind: turn.answer_kind ?? "answer",
    contexts: turn.contexts.map(({ type = "", id = "", name }) => ({ type, id, name })),
    tools: turn.choices.tools,
    model: turn.choices.model,
    citations: turn.citations,
    metadata: metadata.trace_id ? metadata : null,
    replaces: turn.replaces,
    place: turn.place,
    feedback: turn.feedback,
    withdrawn: withdrawnOf(metadata),
    createdAt: turn.created_at,
    problem: turn.failure && problemOf(turn.failure.code, turn.failure.message),
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
  status: 0,
  detail,
  trace_id: "",
  code,
  retryable: true,
});

/** Whether a tool proposed something for this answer. @param {TurnView} turn */
export const proposes = (turn) =>
  (turn.metadata?.tools ?? []).some(
    ({ name, status }) => status === "finished" && me.value?.tools.some((tool) => tool.name === name && tool.kind === "update"),
  );

/** Add a turn in the place of the version that is shown. @param {Signal<TurnView>} turn */
export function show(turn) {
  const { key, replaces } = turn.value;
  const old = turns.value.find((each) => replaces && placeOf(each.value) === placeOf(turn.value));
  if (old) {
    replaced.set(key, old);
    versions.set(old.value.turnId ?? "", old.value);
  }
  turns.value = old ? turns.value.map((each) => (each === old ? turn : each)) : inOrder([...turns.value, turn]);
  if (!old || replacing.value !== old.value.key) return;
  // The edit goes on with the newest version.
  replacing.value = key;
  setDraft(draft.value);
}

/** Undo a question that the API did not take. @param {Signal<TurnView>} turn @param {Problem | null} problem @param {number} [until] */
export function giveBack(turn, problem, until = 0) {
  const { key, question } = turn.value;
  const old = replaced.get(key);
  replaced.delete(key);
  batch(() => {
    change(turn, { state: "refused", retryAt: null, waits: false });
    keep("sessionStorage", `waits.${conversationId.value}`, null);
    if (problem?.code === "no_such_context") {
      // It is not asked about something else by itself: the user reads why, and sends it again.
      const [gone] = turn.value.contexts;
      contexts.value = contexts.value.filter(({ id }) => id !== gone?.id);
      keepChoices();
      if (old) change(old, { contexts: old.value.contexts.slice(1) });
    }
    const others = turns.value.filter((each) => each !== turn);
    turns.value = old ? inOrder([...others, old]) : others;
    refused.value = problem && { problem, until };
    if (old && question !== old.value.question) edit(old.value);
    if (!old || replacing.value) setDraft(!old && draft.value ? `${question}\n\n${draft.value}` : question);
    if (!turns.value.length && !documents.value.length) unsettle();
  });
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

// --- The sources beside the answer, which the address names

/** Whether a conversation is read by a link: nothing in it can be changed, and no document belongs to the reader. */
export const isShared = computed(() => place.value.view === "shared");
/** What such a reader is shown. @type {Signal<Signal<TurnView>[]>} */
export const sharedTurns = signal([]);

/** The turn whose sources are shown. */
export const shownTurn = computed(() => {
  const { view: shown, turn, source } = place.value;
  if (source === undefined) return null;
  if (isShared.value) return sharedTurns.value.find((each) => each.value.turnId === turn)?.value ?? null;
  return shown === "session" && turn ? (turns.value.find((each) => each.value.turnId === turn)?.value ?? versions.get(turn) ?? null) : null;
});

const here = () => (isShared.value ? `#/s/${place.value.id}` : `#/c/${conversationId.value}`);

/** Show the page of a citation, or all sources of the turn. @param {TurnView} turn @param {number | null} index */
export function openSource(turn, index) {
  if (!turn.turnId) return;
  goTo(`${here()}/t/${turn.turnId}/s${index === null ? "" : `/${index + 1}`}`, { replace: shownTurn.value !== null });
}

/** Go back, if that is where the sources were opened from. */
export function closeSources() {
  if (history.state?.from === here()) history.back();
  else goTo(here(), { replace: true });
}
