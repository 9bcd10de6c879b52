// What all parts share: the user, preferences, notices, what can be taken back, and where the page is.
import { ApiError, get } from "./api.js";
import { has, t } from "./i18n.js";
import { effect, signal } from "./vendor/ui.js";

/** @import { Address, Deed, Kept, Me, Notice, Preferences, Problem, Signal } from "./types/page.js" */

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
/** What takes files that are dropped on the window. @type {Signal<((files: File[]) => void) | null>} */
export const dropTarget = signal(null);

const SESSION = /^#\/c\/([0-9a-f-]{36})(?:\/t\/([0-9a-f-]{36})(\/s(?:\/(\d{1,4}))?)?)?$/;
const ELSEWHERE = /^#\/(contexts|telemetry)(?:\/([\w-]{1,64}))?$/;
const SHARED = /^#\/s\/([\w-]{43})(?:\/t\/(\d{1,9})(\/s(?:\/(\d{1,4}))?))?$/;

export function readAddress() {
  const [, view, id] = ELSEWHERE.exec(location.hash) ?? [];
  const [, shared] = SHARED.exec(location.hash) ?? [];
  const [, session, turn, sources, source] = (shared ? SHARED : SESSION).exec(location.hash) ?? [];
  if (!view && !session && !["", "#", "#/"].includes(location.hash)) {
    notify({ text: t("address.gone"), kind: "info" });
    history.replaceState(null, "", "#/");
  }
  sessionsOpen.value = false;
  place.value = view
    ? { view: view === "contexts" ? view : "telemetry", id: id ?? null }
    : { view: shared ? "shared" : "session", id: session ?? null, turn, source: sources ? Number(source ?? 0) : undefined };
}

/** @param {string} address @param {{replace?: boolean}} [how] */
export function goTo(address, { replace = false } = {}) {
  if (replace) history.replaceState(history.state, "", address);
  else history.pushState({ from: location.hash }, "", address);
  readAddress();
}

/** Go to a session, or to a new one. @param {string | null} id @param {{replace?: boolean}} [how] */
export const go = (id, how) => goTo(id === null ? "#/" : `#/c/${id}`, how);

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
const DEFAULTS = { theme: "", language: "", sendKey: "enter", folded: false, panelWidth: 0, listWidth: 0 };
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
  const { panelWidth, listWidth } = preferences.value;
  for (const [name, width] of /** @type {const} */ ([
    ["--panel", panelWidth],
    ["--wide-list", listWidth],
  ])) {
    if (width) document.documentElement.style.setProperty(name, `${width}px`);
    else document.documentElement.style.removeProperty(name);
  }
});

effect(() => {
  const { theme } = preferences.value;
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
});

// --- Notices, and what can be taken back

/** @type {Signal<Notice[]>} */
export const notices = signal([]);
/** @type {Map<string, number>} */
const dismissals = new Map();
/** What is done once its notice is gone, unless it is taken back before. @type {Map<string, Deed>} */
const deeds = new Map();
export const NOTICE_SECONDS = 8;

/** @param {Omit<Notice, "key"> & {key?: string}} notice @param {number} [seconds] 0: until it is closed */
export function notify(notice, seconds = NOTICE_SECONDS) {
  const key = notice.key ?? crypto.randomUUID();
  drop(key);
  notices.value = [...notices.value, { ...notice, key, seconds }];
  if (notice.kind === "error") alarm.value = notice.text;
  else said.value = notice.text;
  goOn(key);
}

/** @param {string} key */
function drop(key) {
  hold(key);
  notices.value = notices.value.filter((each) => each.key !== key);
}

/** A notice stays while somebody points at it or has the focus in it. @param {string} key */
export function hold(key) {
  clearTimeout(dismissals.get(key));
  dismissals.delete(key);
}

/** @param {string} key */
export function goOn(key) {
  hold(key);
  const seconds = notices.value.find((each) => each.key === key)?.seconds;
  if (seconds)
    dismissals.set(
      key,
      window.setTimeout(() => dismiss(key), seconds * 1000),
    );
}

/** @param {string} key */
export function dismiss(key) {
  drop(key);
  carryOut(key).catch(report);
}

/** Do something in a while, unless the user takes that back. Who used a key gets the focus on "Undo". @param {string} text @param {Deed} deed */
export function doLater(text, deed) {
  const byKey = document.activeElement?.matches("a:focus-visible, button:focus-visible");
  deeds.set(deed.key, deed);
  notify({ key: deed.key, kind: "info", text, actions: [{ label: t("undo"), run: () => takeBack(deed.key) }] });
  if (byKey) requestAnimationFrame(() => focusOn("#notices .notice:last-child button"));
}

/** Who used a key at the notice gets the focus on what comes back; who points at it may be writing. @param {string} [key] by default what was done last */
export function takeBack(key = [...deeds.values()].findLast(({ ending }) => !ending)?.key) {
  const deed = deeds.get(key ?? "");
  if (!key || !deed) return false;
  if (document.activeElement?.matches("#notices button:focus-visible")) requestAnimationFrame(() => focusOn(deed.focus));
  deeds.delete(key);
  drop(key);
  deed.undo();
  return true;
}

/** @param {string} key @param {boolean} [keepalive] the page is being left */
export async function carryOut(key, keepalive = false) {
  const deed = deeds.get(key);
  if (!deed) return;
  drop(key);
  if (keepalive) {
    deed.act(true);
    return;
  }
  deed.ending ??= deed.act(false).finally(() => {
    if (deeds.get(key) === deed) deeds.delete(key);
  });
  await deed.ending;
}

addEventListener("pagehide", () => {
  for (const key of deeds.keys()) carryOut(key, true);
});

/** @param {string} selector */
export const focusOn = (selector) => /** @type {HTMLElement | null} */ (document.querySelector(selector))?.focus();

/** @param {string} text @param {string} words */
export function copy(text, words) {
  navigator.clipboard.writeText(text).then(() => notify({ text: words, kind: "info" }, 3), report);
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
  const looking = setInterval(
    () =>
      get("/health").then(
        () => {
          online.value = true;
        },
        () => {},
      ),
    2000,
  );
  const ended = online.subscribe((is) => {
    if (is) {
      clearInterval(looking);
      queueMicrotask(() => ended());
    }
  });
}

/** What went wrong, in the user's language if the code is known. @param {Problem} problem */
export const wordsOf = ({ code, detail, status }) =>
  wordsOfCode(code, detail) || t(has(`problem.${status}`) ? `problem.${status}` : "problem.unknown");

/** Reasons that say more than the problem itself. @param {Problem} problem */
export const moreOf = ({ detail, errors }) => (errors ?? []).filter(({ reason }) => !detail.includes(reason));

/** The reason for a code, in words for people: the sentence of the API is for operators. @param {string | null} [code] @param {string | null} [sentence] */
export const wordsOfCode = (code, sentence) => (has(`problem.${code}`) ? t(`problem.${code}`) : (sentence ?? ""));

/** Whether the server has another version of the page by now. */
export async function checkVersion() {
  const base = document.documentElement.dataset.base ?? "";
  const response = await fetch(`${base}icons.svg`, { method: "HEAD", cache: "no-store" }).catch(() => null);
  if (response?.status === 404) outdated.value = true;
}

// --- The user

const { auth = "", signIn = "" } = document.documentElement.dataset;
const RETURN = "orc.return";
const LEFT = "orc.left";

/** How callers are identified here: local, easyauth, jwt or oidc. */
export const authMode = auth;
/** Where a browser signs in and comes back from; "" if unknown. The secret of a link is nothing for the log of a server. */
export const signInAddress = () =>
  signIn &&
  `${signIn}?post_login_redirect_uri=${encodeURIComponent(location.pathname + (SHARED.test(location.hash) ? "" : location.hash))}`;

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
  for (const name of ["choices", "refused"]) forgetAll("localStorage", `${mine()}${name}.`);
  permitted(() => localStorage.setItem(LEFT, String(Date.now())));
}

addEventListener("storage", ({ key }) => {
  if (key !== LEFT) return;
  forgetAll("sessionStorage", "orc.");
  signedOut.value = true;
});
