// What all parts share: the user, preferences, notices, sessions, and where the page is.
import { ApiError, get, request, send } from "./api.js";
import { has, language, t } from "./i18n.js";
import { batch, computed, effect, signal } from "./vendor/ui.js";

/** @import { Address, ConversationHead, Heads, Kept, Me, Notice, Preferences, Problem, Signal } from "./types/page.js" */

/** @type {Signal<Me | null>} */
export const me = signal(null);
export const online = signal(navigator.onLine);
export const signedOut = signal(false);
export const outdated = signal(false);
/** Announced to screen readers: `said` at the next pause, `alarm` at once. */
export const said = signal("");
export const alarm = signal("");
/** The latest answer, read out once. */
export const finished = signal("");

/** @type {Signal<Address>} */
export const place = signal({ view: "session", id: null });
/** Whether a narrow window shows the sessions over the page. */
export const sessionsOpen = signal(false);
export const dialog = signal("");

const SESSION = /^#\/c\/([0-9a-f-]{36})$/;
const ELSEWHERE = /^#\/(contexts|telemetry)(?:\/([\w-]{1,64}))?$/;

export function readAddress() {
  const [, view, id] = ELSEWHERE.exec(location.hash) ?? [];
  const session = SESSION.exec(location.hash)?.[1] ?? null;
  if (!view && !session && !["", "#", "#/"].includes(location.hash)) {
    notify({ text: t("sessions.gone"), kind: "info" });
    history.replaceState(null, "", "#/");
  }
  place.value = view ? { view: view === "contexts" ? view : "telemetry", id: id ?? null } : { view: "session", id: session };
}

/** @param {string | null} id @param {{replace?: boolean}} [how] */
export function go(id, { replace = false } = {}) {
  const address = id === null ? "#/" : `#/c/${id}`;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  readAddress();
  sessionsOpen.value = false;
}

// --- Preferences, and choices of a session: in this browser, for this user only

const mine = () => `orc.${me.value?.organization_id ?? ""}.${me.value?.user_id ?? ""}.`;

/** A browser may refuse to keep anything. @template T @param {() => T} act */
function permitted(act) {
  try {
    return act();
  } catch {
    return null;
  }
}

/** @param {Kept} storage @param {string} name @returns {unknown} */
export const kept = (storage, name) => permitted(() => JSON.parse(window[storage].getItem(mine() + name) ?? "null"));

/** @param {Kept} storage @param {string} name @param {unknown} value */
export function keep(storage, name, value) {
  permitted(() => {
    if (value === null) window[storage].removeItem(mine() + name);
    else window[storage].setItem(mine() + name, JSON.stringify(value));
  });
}

/** @param {Kept} storage @param {string} prefix */
function forgetAll(storage, prefix) {
  permitted(() => {
    for (const name of Object.keys(window[storage])) if (name.startsWith(prefix)) window[storage].removeItem(name);
  });
}

/** @type {Preferences} */
const DEFAULTS = { theme: "", language: "", sendKey: "enter", folded: false, panelWidth: 0 };
/** @type {Signal<Preferences>} */
export const preferences = signal(DEFAULTS);

export function loadPreferences() {
  const found = /** @type {Partial<Preferences> | null} */ (kept("localStorage", "preferences"));
  preferences.value = { ...DEFAULTS, ...found };
}

/** @param {Partial<Preferences>} changed */
export function prefer(changed) {
  preferences.value = { ...preferences.value, ...changed };
  keep("localStorage", "preferences", preferences.value);
}

/** Whether the list of sessions lies over the page. */
export const isNarrow = () => matchMedia("(max-width: 1099px)").matches;

export function openSessions() {
  if (isNarrow()) sessionsOpen.value = true;
  else prefer({ folded: false });
}

effect(() => {
  const { panelWidth } = preferences.value;
  if (panelWidth) document.documentElement.style.setProperty("--panel", `${panelWidth}px`);
  else document.documentElement.style.removeProperty("--panel");
});

effect(() => {
  const { theme } = preferences.value;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
});

// --- Notices

/** @type {Signal<Notice[]>} */
export const notices = signal([]);

/** @param {Omit<Notice, "key"> & {key?: string}} notice @param {number} [seconds] */
export function notify(notice, seconds = 8) {
  const key = notice.key ?? crypto.randomUUID();
  dismiss(key);
  notices.value = [...notices.value, { ...notice, key }];
  if (notice.kind === "error") alarm.value = notice.text;
  else said.value = notice.text;
  if (seconds) dismissals.set(key, window.setTimeout(() => dismiss(key), seconds * 1000));
}

/** @type {Map<string, number>} */
const dismissals = new Map();

/** @param {string} key */
export function dismiss(key) {
  clearTimeout(dismissals.get(key));
  dismissals.delete(key);
  notices.value = notices.value.filter((each) => each.key !== key);
}

/** Say why something did not work. @param {unknown} error */
export function report(error) {
  if (error instanceof ApiError) {
    if (error.problem.status === 401) signedOut.value = true;
    else {
      const text = wordsOf(error.problem);
      notify({ key: text, text, kind: "error" });
    }
  } else if (error instanceof TypeError) awaitServer();
  else throw error;
}

function awaitServer() {
  if (!online.value) return;
  online.value = false;
  const looking = setInterval(() => get("/health").then(() => { online.value = true; }, () => {}), 2000);
  const ended = online.subscribe((is) => { if (is) { clearInterval(looking); queueMicrotask(() => ended()); } });
}

/** What went wrong, in the user's language if the code is known. @param {Problem} problem */
export const wordsOf = ({ code, detail, status }) => wordsOfCode(code, detail) || t(has(`problem.${status}`) ? `problem.${status}` : "problem.unknown");

/** Reasons that say more than the problem itself. @param {Problem} problem */
export const moreOf = ({ detail, errors }) => (errors ?? []).filter(({ reason }) => !detail.includes(reason));

/** The reason for a code. The sentence of the API says most, but is English. @param {string | null} [code] @param {string | null} [sentence] */
export function wordsOfCode(code, sentence) {
  if (language.value === "en" && sentence) return sentence;
  return has(`problem.${code}`) ? t(`problem.${code}`) : sentence ?? "";
}

// --- Sessions

/** @type {Signal<ConversationHead[]>} */
export const sessions = signal([]);
export const sessionsQuery = signal("");
/** @type {Signal<string | null>} */
export const sessionsCursor = signal(null);
export const sessionsLoaded = signal(false);
/** Sessions in which an answer is being made here. @type {Signal<Set<string>>} */
export const busy = signal(new Set());
/** Sessions that are deleted, here or elsewhere, or about to be. @type {Signal<Set<string>>} */
export const leaving = signal(new Set());
export const shownSessions = computed(() => sessions.value.filter((each) => !leaving.value.has(each.conversation_id)));

let searched = "";

/** The sessions listed after the first page, unless others may be between. @param {ConversationHead[]} page */
function sessionsAfter(page) {
  const now = new Map(page.map((each) => [each.conversation_id, each.updated_at]));
  const last = page.at(-1)?.updated_at ?? "";
  const goesOn = sessions.value.some((each) => now.get(each.conversation_id) === each.updated_at);
  return goesOn ? sessions.value.filter((each) => !now.has(each.conversation_id) && each.updated_at <= last) : [];
}

/** Load the sessions after a cursor, or the first page. @param {string | null} [cursor] */
export async function loadSessions(cursor = null) {
  const query = sessionsQuery.value.trim();
  const asked = new URLSearchParams({ limit: "50" });
  if (query) asked.set("q", query);
  if (cursor) asked.set("cursor", cursor);
  try {
    const page = /** @type {Heads} */ (
      await get(`/conversations?${asked}`));
    if (query !== sessionsQuery.value.trim()) return;
    batch(() => {
      const known = new Set(cursor ? sessions.value.map((each) => each.conversation_id) : []);
      const fresh = page.conversations.filter((each) => !known.has(each.conversation_id));
      const after = !cursor && page.next_cursor && query === searched ? sessionsAfter(fresh) : [];
      sessions.value = [...(cursor ? sessions.value : []), ...fresh, ...after];
      searched = query;
      if (!after.length) sessionsCursor.value = page.next_cursor;
      sessionsLoaded.value = true;
    });
  } catch (error) {
    report(error);
  }
}

/** @param {string} id @param {string} title @param {string} [by] */
export function retitled(id, title, by) {
  const titleBy = /** @type {ConversationHead["title_by"]} */ (by ?? null);
  sessions.value = sessions.value.map((each) =>
    (each.conversation_id === id ? { ...each, title, title_by: titleBy ?? each.title_by } : each));
}

/** @param {string} id @param {string} title */
export async function rename(id, title) {
  const before = sessions.value.find((each) => each.conversation_id === id)?.title ?? "";
  retitled(id, title);
  try {
    await send("PATCH", `/conversations/${id}`, { title });
  } catch (error) {
    retitled(id, before);
    report(error);
  }
}

export const UNDO_SECONDS = 8;

/** Timers of deletions that can be taken back. @type {Map<string, number>} */
const deletions = new Map();

/** Delete a session, unless the user takes that back. @param {string} id @param {string} title */
export function remove(id, title) {
  const wasOpen = place.value.id === id;
  clearTimeout(deletions.get(id));
  deletions.set(id, window.setTimeout(() => removeNow(id), UNDO_SECONDS * 1000));
  leaving.value = new Set([...leaving.value, id]);
  if (wasOpen) go(null);
  const undo = () => {
    clearTimeout(deletions.get(id));
    deletions.delete(id);
    stay(id);
    if (wasOpen && place.value.view === "session" && !place.value.id) go(id);
  };
  notify({
    key: `deleted.${id}`, kind: "info", text: t("sessions.deleted", { title }), action: { label: t("undo"), run: undo },
  }, UNDO_SECONDS);
}

/** @param {string} id */
const stay = (id) => { leaving.value = new Set([...leaving.value].filter((each) => each !== id)); };

/** @param {string} id @param {boolean} [keepalive] the page is being left */
async function removeNow(id, keepalive = false) {
  clearTimeout(deletions.get(id));
  deletions.delete(id);
  dismiss(`deleted.${id}`);
  try {
    await request("DELETE", `/conversations/${id}`, { keepalive });
  } catch (error) {
    if (!(error instanceof ApiError && error.problem.status === 404)) {
      stay(id);
      report(error);
      return;
    }
  }
  sessions.value = sessions.value.filter((each) => each.conversation_id !== id);
  keep("localStorage", `choices.${id}`, null);
  for (const name of ["draft", "edit", "asking"]) keep("sessionStorage", `${name}.${id}`, null);
}

addEventListener("pagehide", () => {
  const ids = [...deletions.keys()];
  if (ids.length) keep("sessionStorage", "deleted", ids);
  for (const id of ids) removeNow(id, true);
});

/** What was deleted as the page was left may still be listed. */
export function finishDeletions() {
  const ids = /** @type {string[] | null} */ (kept("sessionStorage", "deleted")) ?? [];
  keep("sessionStorage", "deleted", null);
  leaving.value = new Set([...leaving.value, ...ids]);
  for (const id of ids) removeNow(id);
}

// --- The user

const { auth = "", signIn = "" } = document.documentElement.dataset;
const RETURN = "orc.return";
const LEFT = "orc.left";

/** How callers are identified here: local, easyauth or jwt. */
export const authMode = auth;
/** Where a browser signs in and comes back from; "" if unknown. */
export const signInAddress = () =>
  signIn && `${signIn}?post_login_redirect_uri=${encodeURIComponent(location.pathname + location.hash)}`;

/** Keep the part of the address that a sign-in may not give back. */
export const leaveToSignIn = () => permitted(() => sessionStorage.setItem(RETURN, location.hash));

function comeBack() {
  const address = permitted(() => sessionStorage.getItem(RETURN));
  permitted(() => sessionStorage.removeItem(RETURN));
  if (address && !location.hash) history.replaceState(null, "", address);
}

/** Load the user. Another user than before gets the page anew. */
export async function loadMe() {
  try {
    const before = me.value;
    const found = /** @type {Me} */ (await get("/me"));
    if (before && (before.user_id !== found.user_id || before.organization_id !== found.organization_id)) location.reload();
    if (!before) comeBack();
    me.value = found;
    signedOut.value = false;
    return true;
  } catch (error) {
    report(error);
    return false;
  }
}

/** Forget what the user wrote and chose, but not the preferences. */
export function forgetUser() {
  forgetAll("sessionStorage", "orc.");
  forgetAll("localStorage", `${mine()}choices.`);
  permitted(() => localStorage.setItem(LEFT, String(Date.now())));
}

addEventListener("storage", ({ key }) => {
  if (key !== LEFT) return;
  forgetAll("sessionStorage", "orc.");
  signedOut.value = true;
});
