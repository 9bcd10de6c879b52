// Dialogs: preferences with keys for programs, and the list of keys.
import { get, send } from "./api.js";
import { dateOf, has, LANGUAGES, t } from "./i18n.js";
import { IconButton } from "./parts.js";
import { authMode, copy, dialog, prefer, preferences, report } from "./store.js";
import { h, useEffect, useRef, useState } from "./vendor/ui.js";

/** @import { ApiKey, ChoiceProperties, DialogProperties, Ref } from "./types/page.js" */

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

/** Keys of the user for programs; the secret of a new one is shown once. */
function ApiKeys() {
  const [keys, setKeys] = useState(/** @type {ApiKey[]} */ ([]));
  const [made, setMade] = useState("");
  const [name, setName] = useState("");
  const load = () => get("/keys").then((found) => setKeys(/** @type {any} */ (found).keys), report);
  useEffect(() => { load(); }, []);
  /** @param {SubmitEvent} event */
  const make = (event) => {
    event.preventDefault();
    send("POST", "/keys", { name }).then((key) => { setMade(/** @type {any} */ (key).key); setName(""); load(); }, report);
  };
  return h("section", { class: "api-keys" },
    h("h3", null, t("api_keys")), h("p", { class: "soft" }, t("api_keys.hint")),
    h("ul", null, keys.map((key) => h("li", { key: key.key_id },
      h("div", null, h("bdi", null, key.name), h("small", { class: "soft" }, t("api_keys.facts", {
        until: dateOf(key.ends_at), used: key.last_used ? dateOf(key.last_used) : t("api_keys.never"),
      }))),
      h("button", {
        type: "button", class: "quiet", "aria-label": t("api_keys.revoke.name", { name: key.name }),
        onClick: () => { send("DELETE", `/keys/${key.key_id}`).then(load, report); },
      }, t("api_keys.revoke"))))),
    made && [h("label", { class: "field" }, t("api_keys.made"),
      h("input", { class: "api-key", readOnly: true, value: made, onFocus: (event) => event.currentTarget.select() })),
    h("button", { type: "button", onClick: () => copy(made, t("api_keys.copied")) }, t("api_keys.copy"))],
    h("form", { onSubmit: make },
      h("label", { class: "field" }, t("api_keys.name"),
        h("input", { value: name, required: true, maxLength: 100, onInput: (event) => setName(event.currentTarget.value) })),
      h("button", { type: "submit" }, t("api_keys.make"))));
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
    }),
    authMode === "oidc" && h(ApiKeys, null));
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
