// Dialogs: preferences with keys for programs, links to a session, and the list of keys.
import { get, send } from "./api.js";
import { dateOf, has, LANGUAGES, t, when } from "./i18n.js";
import { IconButton } from "./parts.js";
import { authMode, copy, dialog, me, prefer, preferences, report, said } from "./store.js";
import { h, useEffect, useRef, useState } from "./vendor/ui.js";

/** @import { ApiKey, ChoiceProperties, DialogProperties, Ref, ShareLink } from "./types/page.js" */

/** @param {DialogProperties} properties */
function Dialog({ label, onClose, class: extra = "", children }) {
  const place = /** @type {Ref<HTMLDialogElement>} */ (useRef(null));
  useEffect(() => {
    const from = /** @type {HTMLElement | null} */ (document.activeElement);
    place.current?.showModal();
    return () => from?.isConnected && from.focus();
  }, []);
  return h(
    "dialog",
    {
      ref: place,
      class: extra,
      "aria-label": label,
      onClose,
      onClick: (event) => {
        if (event.target === place.current) place.current?.close();
      },
    },
    h(
      "div",
      { class: "dialog-head" },
      h("h2", null, label),
      h(IconButton, { name: "close", label: t("close"), onClick: () => place.current?.close() }),
    ),
    h("div", { class: "dialog-body" }, children),
  );
}

/** @param {ChoiceProperties} properties */
function Choice({ label, value, options, onChange }) {
  return h(
    "label",
    { class: "field" },
    label,
    h(
      "select",
      { value, onChange: (event) => onChange(event.currentTarget.value) },
      options.map(([each, text]) => h("option", { value: each, key: each }, text)),
    ),
  );
}

/** What is shown once. @param {{label: string, secret: string, words: string, copied: string}} properties */
function Once({ label, secret, words, copied }) {
  const [done, setDone] = useState("");
  const button = /** @type {Ref<HTMLButtonElement>} */ (useRef(null));
  useEffect(() => {
    button.current?.focus();
  }, [secret]);
  return h(
    "div",
    { class: "once" },
    h(
      "label",
      { class: "field" },
      label,
      h("input", { class: "api-key", readOnly: true, value: secret, onFocus: (event) => event.currentTarget.select() }),
    ),
    // The notice is behind the dialog.
    h(
      "button",
      {
        type: "button",
        ref: button,
        onClick: () => {
          copy(secret, copied);
          setDone(secret);
        },
      },
      h("span", { role: "status" }, done === secret ? copied : words),
    ),
  );
}

/** Something that was given, and the button that ends it. @param {{name: string, facts: string, words: string, label: string, end: () => void}} properties */
const Given = ({ name, facts, words, label, end }) =>
  h(
    "li",
    null,
    h("div", null, h("bdi", null, name), h("small", { class: "soft" }, facts)),
    h("button", { type: "button", class: "quiet", "aria-label": label, onClick: end }, words),
  );

/** Keys of the user for programs; the secret of a new one is shown once. */
function ApiKeys() {
  const [keys, setKeys] = useState(/** @type {ApiKey[]} */ ([]));
  const [made, setMade] = useState("");
  const [name, setName] = useState("");
  const [only, setOnly] = useState("");
  const load = () => get("/keys").then((found) => setKeys(/** @type {any} */ (found).keys), report);
  useEffect(() => {
    load();
  }, []);
  /** @param {SubmitEvent} event */
  const make = (event) => {
    event.preventDefault();
    send("POST", "/keys", { name, only: only || null }).then((key) => {
      setMade(/** @type {any} */ (key).key);
      setName("");
      load();
    }, report);
  };
  return h(
    "section",
    { class: "api-keys" },
    h("h3", null, t("api_keys")),
    h("p", { class: "soft" }, t("api_keys.hint")),
    h(
      "ul",
      null,
      keys.map((key) =>
        h(Given, {
          key: key.key_id,
          name: key.name,
          words: t("api_keys.revoke"),
          label: t("api_keys.revoke.name", { name: key.name }),
          facts:
            (key.only ? `/${key.only}, ` : "") +
            t("api_keys.facts", { until: dateOf(key.ends_at), used: key.last_used ? dateOf(key.last_used) : t("api_keys.never") }),
          end: () => {
            send("DELETE", `/keys/${key.key_id}`).then(load, report);
          },
        }),
      ),
    ),
    made && h(Once, { label: t("api_keys.made"), secret: made, words: t("api_keys.copy"), copied: t("api_keys.copied") }),
    h(
      "form",
      { onSubmit: make },
      h(
        "label",
        { class: "field" },
        t("api_keys.name"),
        h("input", { value: name, required: true, maxLength: 100, onInput: (event) => setName(event.currentTarget.value) }),
      ),
      h(Choice, {
        label: t("api_keys.only"),
        value: only,
        options: ["", "v1", "mcp"].map((each) => /** @type {[string, string]} */ ([each, t(`api_keys.only.${each || "all"}`)])),
        onChange: setOnly,
      }),
      h("button", { type: "submit" }, t("api_keys.make")),
    ),
  );
}

const DAYS = [7, 30, 90, 365];
const USUAL_DAYS = 30;

/** The links by which others read a session. @param {{id: string}} properties */
function Share({ id }) {
  const most = me.value?.share_days ?? 0;
  const offered = [...DAYS.filter((each) => each < most), most];
  const [links, setLinks] = useState(/** @type {ShareLink[]} */ ([]));
  const [days, setDays] = useState(Math.min(USUAL_DAYS, most));
  const [made, setMade] = useState("");
  const path = `/conversations/${id}/links`;
  const load = () => get(path).then((found) => setLinks(/** @type {any} */ (found).links), report);
  useEffect(() => {
    load();
  }, []);
  /** @param {SubmitEvent} event */
  const make = (event) => {
    event.preventDefault();
    send("POST", path, { days }).then((link) => {
      setMade(`${location.origin}${location.pathname}#/s/${/** @type {any} */ (link).secret}`);
      load();
    }, report);
  };
  return h(
    Dialog,
    {
      label: t("share"),
      class: "share",
      onClose: () => {
        dialog.value = "";
      },
    },
    h("p", null, t("share.who")),
    h("p", { class: "soft" }, t("share.what")),
    h(
      "form",
      { class: "row", onSubmit: make },
      h(Choice, {
        label: t("share.days"),
        value: String(days),
        options: offered.map((n) => /** @type {[string, string]} */ ([String(n), t("share.days.n", { n })])),
        onChange: (chosen) => setDays(Number(chosen)),
      }),
      h("button", { type: "submit" }, t("share.make")),
    ),
    made && h(Once, { label: t("share.made"), secret: made, words: t("share.copy"), copied: t("share.copied") }),
    links.length > 0 &&
      h(
        "section",
        { class: "api-keys" },
        h("h3", null, t("share.links")),
        h(
          "ul",
          null,
          links.map((link) =>
            h(Given, {
              key: link.link_id,
              name: t("share.link", { until: dateOf(link.ends_at) }),
              words: t("share.withdraw"),
              label: t("share.withdraw.name", { time: when(link.created_at) }),
              facts: t("share.facts", { n: link.turn_count, time: when(link.created_at) }),
              end: () => {
                send("DELETE", `${path}/${link.link_id}`).then(() => {
                  setMade("");
                  said.value = t("share.withdrawn");
                  load();
                }, report);
              },
            }),
          ),
        ),
      ),
  );
}

function Preferences() {
  const chosen = preferences.value;
  return h(
    Dialog,
    {
      label: t("preferences"),
      onClose: () => {
        dialog.value = "";
      },
    },
    h(Choice, {
      label: t("preferences.theme"),
      value: chosen.theme,
      options: [
        ["", t("preferences.system")],
        ["light", t("preferences.light")],
        ["dark", t("preferences.dark")],
      ],
      onChange: (theme) => prefer({ theme: /** @type {"" | "light" | "dark"} */ (theme) }),
    }),
    h(Choice, {
      label: t("preferences.language"),
      value: chosen.language,
      options: [
        ["", t("preferences.browser")],
        ...LANGUAGES.map(
          (each) =>
            // Each in itself: who reads it has to find it.
            /** @type {[string, string]} */ ([each, new Intl.DisplayNames([each], { type: "language" }).of(each) ?? each]),
        ),
      ],
      onChange: (language) => prefer({ language }),
    }),
    h(Choice, {
      label: t("preferences.send"),
      value: chosen.sendKey,
      options: [
        ["enter", t("preferences.enter")],
        ["ctrl", t("preferences.ctrl")],
      ],
      onChange: (key) => prefer({ sendKey: key === "ctrl" ? "ctrl" : "enter" }),
    }),
    h(
      "p",
      null,
      h(
        "button",
        {
          type: "button",
          onClick: () => {
            dialog.value = "keys";
          },
        },
        t("keys"),
      ),
    ),
    authMode === "oidc" && h(ApiKeys, null),
  );
}

const KEYS = [
  "send",
  "break",
  "escape",
  "search",
  "new",
  "attach",
  "region",
  "edit",
  "newest",
  "turns",
  "markers",
  "citations",
  "pages",
  "zoom",
  "undo",
  "keys",
];

/** @param {string} entry */
function keysOf(entry) {
  const other = `keys.${entry}.keys.ctrl`;
  const keys = t(preferences.value.sendKey === "ctrl" && has(other) ? other : `keys.${entry}.keys`);
  return /Mac|iPhone|iPad/.test(navigator.platform) ? keys.replace(/Ctrl|Strg/, "⌘") : keys;
}

function Keys() {
  return h(
    Dialog,
    {
      label: t("keys"),
      onClose: () => {
        dialog.value = "";
      },
    },
    h(
      "dl",
      { class: "keys" },
      KEYS.map((each) => [
        h(
          "dt",
          null,
          keysOf(each)
            .split(" ")
            .map((key) => h("kbd", null, key)),
        ),
        h("dd", null, t(`keys.${each}`)),
      ]),
    ),
  );
}

export function Dialogs() {
  const [shown, id = ""] = dialog.value.split("/");
  if (shown === "share") return h(Share, { id, key: id });
  if (dialog.value === "preferences") return h(Preferences, null);
  return dialog.value === "keys" ? h(Keys, null) : null;
}
