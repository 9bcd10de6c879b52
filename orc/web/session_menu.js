// What can be done with sessions of the list: their menu, a new title, and what is done with several.
import { download, send } from "./api.js";
import { language, t } from "./i18n.js";
import { Icon } from "./parts.js";
import { choose, chosen, loadSessions, menuOf, remove, renaming, retitled, sessions, titleOf } from "./sessions.js";
import { dialog, focusOn, me, report } from "./store.js";
import { h, useEffect, useRef } from "./vendor/ui.js";

/** @import { ConversationHead, Ref } from "./types/page.js" */

/** @param {string} id @param {string} title */
async function rename(id, title) {
  const before = sessions.value.find((each) => each.conversation_id === id)?.title ?? "";
  retitled(id, title);
  try {
    await send("PATCH", `/conversations/${id}`, { title });
  } catch (error) {
    retitled(id, before);
    report(error);
  }
}

/** @param {ConversationHead} session */
async function pin({ conversation_id: id, is_pinned: is }) {
  try {
    await send("PATCH", `/conversations/${id}`, { is_pinned: !is });
    await loadSessions();
    requestAnimationFrame(() => focusOn(`#session-${id} a`));
  } catch (error) {
    report(error);
  }
}

/** What can be done with the chosen sessions. @param {{ids: Set<string>}} properties */
export function Chosen({ ids }) {
  const end = () => {
    chosen.value = null;
    requestAnimationFrame(() => focusOn("#search"));
  };
  return h(
    "div",
    { class: "row chosen", role: "group", "aria-label": t("sessions.choose") },
    h("span", { role: "status" }, t("sessions.chosen", { n: ids.size })),
    h(
      "button",
      {
        type: "button",
        class: "is-bad",
        disabled: !ids.size,
        onClick: () => {
          end();
          remove([...ids], t("sessions.deleted.several", { n: ids.size }));
        },
      },
      t("sessions.delete"),
    ),
    h("button", { type: "button", class: "quiet", onClick: end }, t("cancel")),
  );
}

/** @param {{session: Pick<ConversationHead, "conversation_id" | "title">, at: string}} properties `at` is where it is changed: as `renaming` says it */
export function TitleField({ session, at }) {
  const field = /** @type {Ref<HTMLInputElement>} */ (useRef(null));
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const end = (/** @type {boolean} */ save) => {
    if (renaming.value !== at) return;
    const title = field.current?.value.trim() ?? "";
    renaming.value = "";
    if (save && title && title !== session.title) rename(session.conversation_id, title);
  };
  return h("input", {
    ref: field,
    class: "rename",
    maxLength: 120,
    defaultValue: titleOf(session),
    "aria-label": t("sessions.title"),
    onBlur: () => end(true),
    onKeyDown: (event) => {
      if (event.key !== "Enter" && event.key !== "Escape") return;
      event.stopPropagation();
      end(event.key === "Enter");
      requestAnimationFrame(() => focusOn(at === "head" ? ".title" : `#session-${session.conversation_id} a`));
    },
  });
}

/** @param {{session: ConversationHead}} properties */
export function Menu({ session }) {
  const id = session.conversation_id;
  const list = /** @type {Ref<HTMLDivElement>} */ (useRef(null));
  useEffect(() => {
    const from = document.getElementById(`session-${id}`)?.getBoundingClientRect();
    if (!list.current || !from) return;
    list.current.showPopover();
    list.current.style.left = `${Math.min(from.right - 36, innerWidth - list.current.offsetWidth - 8)}px`;
    list.current.style.top = `${Math.min(from.bottom, innerHeight - list.current.offsetHeight - 8)}px`;
    list.current.querySelector("button")?.focus();
  }, []);
  /** @param {() => void} act */
  const after = (act) => () => {
    // This gives the focus back, which would be lost with the menu.
    list.current?.hidePopover();
    menuOf.value = "";
    act();
  };
  const save = (/** @type {string} */ format) =>
    after(() => {
      const reader = new URLSearchParams({ format, language: language.value, zone: new Intl.DateTimeFormat().resolvedOptions().timeZone });
      download(`/conversations/${id}/export?${reader}`, `${titleOf(session)}.${format === "markdown" ? "md" : format}`).catch(report);
    });
  return h(
    "div",
    {
      class: "menu is-small",
      popover: "auto",
      ref: list,
      role: "group",
      "aria-label": t("sessions.menu", { title: titleOf(session) }),
      onToggle: (event) => {
        if (event.newState === "closed") menuOf.value = "";
      },
    },
    h(
      "button",
      {
        type: "button",
        class: "toggle",
        onClick: after(() => {
          renaming.value = id;
        }),
      },
      h(Icon, { name: "edit" }),
      t("sessions.rename"),
    ),
    h(
      "button",
      {
        type: "button",
        class: "toggle",
        onClick: after(() => {
          pin(session);
        }),
      },
      h(Icon, { name: "up_page" }),
      t(session.is_pinned ? "sessions.unpin" : "sessions.pin"),
    ),
    me.value?.share_days
      ? h(
          "button",
          {
            type: "button",
            class: "toggle",
            onClick: after(() => {
              dialog.value = `share/${id}`;
            }),
          },
          h(Icon, { name: "share" }),
          t("share"),
        )
      : null,
    h(
      "button",
      { type: "button", class: "toggle", onClick: save("markdown") },
      h(Icon, { name: "download" }),
      t("sessions.export.markdown"),
    ),
    h("button", { type: "button", class: "toggle", onClick: save("pdf") }, h(Icon, { name: "download" }), t("sessions.export.pdf")),
    h("button", { type: "button", class: "toggle", onClick: save("docx") }, h(Icon, { name: "download" }), t("sessions.export.docx")),
    h(
      "button",
      {
        type: "button",
        class: "toggle",
        onClick: after(() => {
          choose(id);
          requestAnimationFrame(() => focusOn(`#session-${id} input`));
        }),
      },
      h(Icon, { name: "check" }),
      t("sessions.choose"),
    ),
    h(
      "button",
      {
        type: "button",
        class: "toggle is-bad",
        onClick: after(() => {
          remove([id], t("sessions.deleted", { title: titleOf(session) }));
        }),
      },
      h(Icon, { name: "bin" }),
      t("sessions.delete"),
    ),
  );
}
