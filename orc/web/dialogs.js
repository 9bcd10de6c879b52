// Dialogs: preferences, and the list of keys.
import { has, LANGUAGES, t } from "./i18n.js";
import { IconButton } from "./parts.js";
import { dialog, prefer, preferences } from "./store.js";
import { h, useEffect, useRef } from "./vendor/ui.js";

/** @import { ChoiceProperties, DialogProperties, Ref } from "./types/page.js" */

/** @param {DialogProperties} properties */
function Dialog({ label, onClose, class: extra = "", children }) {
  const place = /** @type {Ref<HTMLDialogElement>} */ (useRef(null));
  useEffect(() => {
    const from = /** @type {HTMLElement | null} */ (document.activeElement);
    place.current?.showModal();
    return () => from?.isConnected && from.focus();
  }, []);
  return h("dialog", {
    ref: place, class: extra, "aria-label": label,
    onClose, onClick: (event) => { if (event.target === place.current) place.current?.close(); },
  }, h("div", { class: "dialog-head" }, h("h2", null, label),
    h(IconButton, { name: "close", label: t("close"), onClick: () => place.current?.close() })),
  h("div", { class: "dialog-body" }, children));
}

/** @param {ChoiceProperties} properties */
function Choice({ label, value, options, onChange }) {
  return h("label", { class: "field" }, label,
    h("select", { value, onChange: (event) => onChange(event.currentTarget.value) },
      options.map(([each, text]) => h("option", { value: each, key: each }, text))));
}

function Preferences() {
  const chosen = preferences.value;
  return h(Dialog, { label: t("preferences"), onClose: () => { dialog.value = ""; } },
    h(Choice, {
      label: t("preferences.theme"), value: chosen.theme,
      options: [["", t("preferences.system")], ["light", t("preferences.light")], ["dark", t("preferences.dark")]],
      onChange: (theme) => prefer({ theme: /** @type {"" | "light" | "dark"} */ (theme) }),
    }),
    h(Choice, {
      label: t("preferences.language"), value: chosen.language,
      options: [["", t("preferences.browser")], ...LANGUAGES.map((each) =>
        // Each in itself: who reads it has to find it.
        /** @type {[string, string]} */ ([each, new Intl.DisplayNames([each], { type: "language" }).of(each) ?? each]))],
      onChange: (language) => prefer({ language }),
    }),
    h(Choice, {
      label: t("preferences.send"), value: chosen.sendKey,
      options: [["enter", t("preferences.enter")], ["ctrl", t("preferences.ctrl")]],
      onChange: (key) => prefer({ sendKey: key === "ctrl" ? "ctrl" : "enter" }),
    }));
}

const KEYS = ["send", "break", "escape", "search", "new", "attach", "region", "edit", "turns", "markers", "citations",
  "pages", "zoom", "undo", "keys"];

/** @param {string} entry */
function keysOf(entry) {
  const other = `keys.${entry}.keys.ctrl`;
  const keys = t(preferences.value.sendKey === "ctrl" && has(other) ? other : `keys.${entry}.keys`);
  return /Mac|iPhone|iPad/.test(navigator.platform) ? keys.replace(/Ctrl|Strg/, "⌘") : keys;
}

function Keys() {
  return h(Dialog, { label: t("keys"), onClose: () => { dialog.value = ""; } },
    h("dl", { class: "keys" }, KEYS.map((each) => [
      h("dt", null, keysOf(each).split(" ").map((key) => h("kbd", null, key))),
      h("dd", null, t(`keys.${each}`)),
    ])));
}

export function Dialogs() {
  if (dialog.value === "preferences") return h(Preferences, null);
  return dialog.value === "keys" ? h(Keys, null) : null;
}
