// The sessions of the user, and their list.
import { ApiError, get, request } from "./api.js";
import { day, t } from "./i18n.js";
import { Divider, Icon, IconButton, Lazy } from "./parts.js";
import { dialog, doLater, forgetUser, go, keep, kept, me, place, prefer, preferences, report, sessionsOpen } from "./store.js";
import { batch, computed, h, signal } from "./vendor/ui.js";

/** @import { ConversationHead, Heads, Signal } from "./types/page.js" */

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
    const page = /** @type {Heads} */ (await get(`/conversations?${asked}`));
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
    each.conversation_id === id ? { ...each, title, title_by: titleBy ?? each.title_by } : each,
  );
}

/** Delete sessions, unless the user takes that back. @param {string[]} ids @param {string} text */
export function remove(ids, text) {
  const open = ids.find((id) => id === place.value.id);
  leaving.value = new Set([...leaving.value, ...ids]);
  doLater(text, {
    key: `deleted.${ids.join()}`,
    focus: `#session-${ids[0]} a`,
    act: async (keepalive) => {
      await Promise.all(ids.map((id) => removeNow(id, keepalive)));
    },
    undo: () => {
      for (const id of ids) stay(id);
      if (open && place.value.view === "session" && !place.value.id) go(open);
    },
  });
  if (open) go(null);
}

/** @param {string} id */
const stay = (id) => {
  leaving.value = new Set([...leaving.value].filter((each) => each !== id));
};

const leftOver = () => /** @type {string[] | null} */ (kept("sessionStorage", "deleted")) ?? [];

/** @param {string} id @param {boolean} [keepalive] the page is being left */
async function removeNow(id, keepalive = false) {
  if (keepalive) keep("sessionStorage", "deleted", [...leftOver(), id]);
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
  for (const name of ["choices", "refused"]) keep("localStorage", `${name}.${id}`, null);
  for (const name of ["draft", "edit", "asking", "waits"]) keep("sessionStorage", `${name}.${id}`, null);
}

/** What was deleted as the page was left may still be listed. */
export function finishDeletions() {
  const ids = leftOver();
  keep("sessionStorage", "deleted", null);
  leaving.value = new Set([...leaving.value, ...ids]);
  for (const id of ids) removeNow(id);
}

// --- The list as it is shown

/** The session whose title is being changed in the list, or "head": the one that is open, above its answers. */
export const renaming = signal("");
export const menuOf = signal("");
/** The sessions that are chosen, to be deleted together; null: none is to be. @type {Signal<Set<string> | null>} */
export const chosen = signal(null);

/** @param {string} id */
export function choose(id) {
  const now = new Set(chosen.value);
  if (!now.delete(id)) now.add(id);
  chosen.value = now;
}

export const menus = () => import("./session_menu.js");

/** @param {Pick<ConversationHead, "title">} session */
export const titleOf = (session) => session.title || t("sessions.untitled");

/** @param {ConversationHead[]} all */
function byDay(all) {
  /** @type {[string, ConversationHead[]][]} */
  const days = [];
  for (const session of all) {
    const name = session.is_pinned ? t("sessions.pinned") : day(new Date(session.updated_at));
    const last = days.at(-1);
    if (last?.[0] === name) last[1].push(session);
    else days.push([name, [session]]);
  }
  return days;
}

/** @param {{session: ConversationHead}} properties */
function Row({ session }) {
  const id = session.conversation_id;
  const current = place.value.view === "session" && place.value.id === id;
  return h(
    "li",
    { class: `session${current ? " is-current" : ""}`, id: `session-${id}` },
    chosen.value &&
      h("input", {
        type: "checkbox",
        "aria-label": t("sessions.choose.one", { title: titleOf(session) }),
        checked: chosen.value.has(id),
        onChange: () => choose(id),
      }),
    renaming.value === id
      ? h(Lazy, { from: menus, name: "TitleField", properties: { session, at: id } })
      : h(
          "a",
          {
            href: `#/c/${id}${session.turn_id ? `/t/${session.turn_id}` : ""}`,
            "aria-current": current ? "page" : undefined,
            title: titleOf(session),
            onClick: () => {
              sessionsOpen.value = false;
            },
          },
          h("bdi", null, titleOf(session)),
          session.passage && !titleOf(session).includes(session.passage) && h("small", null, session.passage),
          busy.value.has(id) && h("span", { class: "busy", role: "img", "aria-label": t("sessions.busy") }),
        ),
    h(IconButton, {
      name: "more",
      label: t("sessions.menu", { title: titleOf(session) }),
      onClick: () => {
        menuOf.value = id;
      },
    }),
    menuOf.value === id && h(Lazy, { from: menus, name: "Menu", properties: { session } }),
  );
}

/** Arrow keys go from the search through the list. @param {KeyboardEvent} event */
function onKeyDown(event) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const stops = [.../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll("#search, .session-list li > a")];
  const now = stops.indexOf(/** @type {Element} */ (document.activeElement));
  const next = /** @type {HTMLElement | undefined} */ (now < 0 ? undefined : stops[now + (event.key === "ArrowDown" ? 1 : -1)]);
  if (!next) return;
  event.preventDefault();
  next.focus();
}

let searching = 0;
/** Widths of the list, in pixels. */
const [NARROWEST, USUAL, WIDER, WIDEST] = [220, 264, 400, 560];

export function Sessions() {
  const list = shownSessions.value;
  return h(
    "nav",
    { class: `sessions${sessionsOpen.value ? " is-open" : ""}`, id: "sessions", "aria-label": t("sessions"), tabIndex: -1, onKeyDown },
    h(
      "div",
      { class: "panel-head" },
      h(
        "span",
        { class: "brand" },
        h("img", { src: `${document.documentElement.dataset.base}logo.svg`, alt: "", width: 22, height: 22 }),
        "Orc",
      ),
      h("span", { class: "grow" }),
      h(IconButton, {
        name: "fold",
        label: t("sessions.fold"),
        onClick: () => {
          sessionsOpen.value = false;
          prefer({ folded: true });
        },
      }),
    ),
    h(
      "button",
      {
        type: "button",
        class: "new",
        id: "new",
        onClick: () => {
          go(null);
          document.getElementById("question")?.focus();
        },
      },
      h(Icon, { name: "plus" }),
      t("sessions.new"),
    ),
    h("input", {
      type: "search",
      id: "search",
      "aria-label": t("sessions.search"),
      placeholder: t("sessions.search"),
      value: sessionsQuery.value,
      onInput: (event) => {
        sessionsQuery.value = event.currentTarget.value;
        clearTimeout(searching);
        searching = window.setTimeout(() => loadSessions(), 200);
      },
    }),
    chosen.value && h(Lazy, { from: menus, name: "Chosen", properties: { ids: chosen.value } }),
    h(
      "div",
      { class: "session-list", tabIndex: -1 },
      byDay(list).map(([name, some]) => [
        h("h2", { key: name }, name),
        h(
          "ul",
          null,
          some.map((each) => h(Row, { session: each, key: each.conversation_id })),
        ),
      ]),
      sessionsLoaded.value && !list.length && h("p", { class: "soft" }, t(sessionsQuery.value ? "sessions.none_found" : "sessions.none")),
      sessionsCursor.value &&
        h("button", { type: "button", class: "quiet", onClick: () => loadSessions(sessionsCursor.value) }, t("sessions.more")),
    ),
    h(Foot, null),
    h(Divider, {
      label: t("sessions.width"),
      width: preferences.value.listWidth || USUAL,
      least: NARROWEST,
      most: WIDEST,
      wide: WIDER,
      isAtEnd: true,
      onWidth: (listWidth) => prefer({ listWidth }),
    }),
  );
}

/** @param {"contexts" | "telemetry"} view @param {string} icon */
const link = (view, icon) =>
  h(
    "a",
    {
      href: `#/${view}`,
      class: "foot-link",
      "aria-current": place.value.view === view ? "page" : undefined,
      onClick: () => {
        sessionsOpen.value = false;
      },
    },
    h(Icon, { name: icon }),
    t(view),
  );

function Foot() {
  const user = me.value;
  return h(
    "div",
    { class: "sessions-foot" },
    link("contexts", "folder"),
    user?.can.administer && link("telemetry", "chart"),
    h(
      "button",
      {
        type: "button",
        class: "foot-link",
        onClick: () => {
          dialog.value = "preferences";
        },
      },
      h(Icon, { name: "settings" }),
      t("preferences"),
    ),
    user?.sign_in?.sign_out_url &&
      h(
        "a",
        { class: "foot-link", href: `${user.sign_in.sign_out_url}?post_logout_redirect_uri=%2F`, onClick: forgetUser },
        h(Icon, { name: "leave" }),
        user.name ? t("sign_out.name", { name: user.name }) : t("sign_out"),
      ),
  );
}
