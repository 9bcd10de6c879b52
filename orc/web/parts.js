// Small parts: icons, buttons, dialogs, notices, and the card with a quote.
import { has, LANGUAGES, listed, t } from "./i18n.js";
import { dismiss, notices, prefer, preferences, dialog } from "./store.js";
import { h, signal, useEffect, useLayoutEffect, useRef, useState } from "./vendor/ui.js";

/** @import { ButtonProperties, ChoiceProperties, Citation, DialogProperties, Peeked, Ref, Signal } from "./types/page.js" */

const SPRITE = `${document.documentElement.dataset.base ?? "/"}icons.svg`;

/** @param {{name: string}} properties */
export const Icon = ({ name }) =>
  h("svg", { class: "icon", "aria-hidden": "true", viewBox: "0 0 24 24" }, h("use", { href: `${SPRITE}#${name}` }));

/** A button with an icon; its label is read out and a tooltip. @param {ButtonProperties} properties */
export const IconButton = ({ name, label, onClick, pressed, disabled, id, class: extra = "" }) =>
  h("button", {
    type: "button", class: `quiet icon ${extra}`, "aria-label": label, title: label, onClick, disabled, id,
    "aria-pressed": pressed === undefined ? undefined : pressed ? "true" : "false",
  }, h(Icon, { name }));

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

/** What happened; some of it can be taken back. */
export function Notices() {
  return h("div", { class: "notices", role: "region", "aria-label": t("notices") }, notices.value.map((each) =>
    h("div", { class: `notice is-${each.kind}`, key: each.key }, h("span", null, each.text),
      each.action && h("button", { type: "button", onClick: () => { each.action?.run(); dismiss(each.key); } },
        each.action.label),
      h(IconButton, { name: "close", label: t("close"), onClick: () => dismiss(each.key) }))));
}

const ruler = document.createElement("canvas").getContext("2d");

/** The text, or what fits with an ellipsis before its tail. @param {HTMLElement} box @param {string} text @param {number} tail */
function fitting(box, text, tail) {
  if (!ruler || !box.clientWidth) return text;
  ruler.font = getComputedStyle(box).font;
  const room = box.clientWidth - 1;
  if (ruler.measureText(text).width <= room) return text;
  const all = [...text];
  const end = all.slice(-tail).join("");
  let shown = Math.max(0, all.length - tail);
  const cut = () => `${all.slice(0, shown).join("").trimEnd()}…${end}`;
  while (shown > 0 && ruler.measureText(cut()).width > room) shown -= 1;
  return cut();
}

/** A text in one line, if need be without its middle. @param {{text: string, tail: number}} properties */
export function Middle({ text, tail }) {
  const place = /** @type {Ref<HTMLElement>} */ (useRef(null));
  const [shown, setShown] = useState(text);
  useLayoutEffect(() => {
    const box = place.current;
    if (!box) return;
    const fit = () => setShown(fitting(box, text, tail));
    const resized = new ResizeObserver(fit);
    resized.observe(box);
    fit();
    return () => resized.disconnect();
  }, [text, tail]);
  const whole = shown === text;
  return h("bdi", { class: "middle", title: text, ref: place, ...(whole ? {} : { "data-shown": shown }) },
    h("span", { class: whole ? "" : "hidden" }, text));
}

/** How much of the end of a file's name to show. @param {string} name */
export const tailOf = (name) => Math.min(14, (/\.[^.\s]{1,9}$/.exec(name)?.[0].length ?? 0) + 5);

// --- The quote of a marker

/** @type {Signal<Peeked | null>} */
export const peeked = signal(null);
let leaving = 0;

/** @param {Citation} citation @param {number} number @param {HTMLElement} element */
export function peek(citation, number, element) {
  clearTimeout(leaving);
  peeked.value = { citation, number, at: element.getBoundingClientRect() };
}

/** Hide the quote after the pointer has had time to move onto it. */
export function unpeek() {
  clearTimeout(leaving);
  leaving = window.setTimeout(hidePeek, 150);
}

/** Hide the quote at once: it may cover what has the focus next. */
export function hidePeek() {
  clearTimeout(leaving);
  peeked.value = null;
}

/** The page of a citation in words. @param {Citation} citation */
export function pageOf({ blob_name: name, page, page_label: label, url }) {
  if (url) return name || url;
  return label ? t("page.label", { name, label }) : t("page.number", { name, page: String(page) });
}

/** The same within a sentence: "Page 5 of handbook.pdf". @param {Citation} citation */
function placeOf(citation) {
  const { blob_name: name, page, page_label: label, url } = citation;
  return label || url ? pageOf(citation) : t("page.of_file", { name, page: String(page) });
}

/**
 * The look of a citation. A passage that is only close to the question answers nothing.
 * @param {Citation} citation @returns {"is-close" | `is-${Citation["check"]}`}
 */
export const lookOf = (citation) => (citation.closest ? "is-close" : `is-${citation.check}`);

/** Looks that markers show an icon of, in the order of the words of a summary. @type {Record<string, string>} */
const MARKER_ICONS = { "is-quoted": "check", "is-supported": "checks", "is-reworded": "like" };
/** @type {Record<string, string>} */
const VERDICT_ICONS = { ...MARKER_ICONS, "is-close": "near", "is-differs": "alert", "is-unsupported": "alert", "is-picture": "clock" };
const CHECKS = /** @type {const} */ (["quoted", "supported", "reworded", "differs", "unsupported", "picture"]);
const MOST_MISSING = 3;

/** The check in words. @param {Citation} citation */
export function verdictOf({ closest, check, missing, reason, page, page_label: label, url }) {
  if (closest) return t("verdict.close");
  if (check === "unsupported" && reason) return t("verdict.unsupported.why", { reason });
  if (check !== "differs") return t(`verdict.${check}`);
  const named = missing.slice(0, MOST_MISSING);
  if (missing.length > named.length) named.push(t("left.more", { n: missing.length - named.length }));
  const what = named.length ? listed(named) : t("verdict.number");
  return t(label || url ? "verdict.differs.here" : "verdict.differs", { what, page: String(page), n: missing.length || 1 });
}

/** What stands in the marker itself. A passage that stands alone says where it is from. @param {Citation} citation */
export function wordOf(citation) {
  if (citation.closest) return pageOf(citation);
  if (citation.check === "differs") return verdictOf(citation);
  return { unsupported: t("verdict.unsupported"), picture: t("verdict.picture.short") }[/** @type {string} */ (citation.check)] ?? "";
}

/** The place and the check in words: "Page 5 of handbook.pdf, in other words". @param {Citation} citation */
export const accountOf = (citation) => `${placeOf(citation)}, ${verdictOf(citation)}`;

/** How many sources there are, and of which check: "3 sources: 2 in the same words, 1 in other words". @param {Citation[]} citations */
export function summaryOf(citations) {
  const cites = citations.filter((each) => each && !each.closest);
  const close = citations.filter((each) => each?.closest).length;
  const counts = CHECKS.map((check) => ({ check, n: cites.filter((each) => each.check === check).length }));
  const parts = counts.filter(({ n }) => n).map(({ check, n }) => t(`sources.${check}`, { n }));
  return [
    cites.length ? t("sources.count", { n: cites.length, parts: parts.join(", ") }) : "",
    close ? t("sources.closest", { n: close }) : "",
  ].filter(Boolean).join(" · ");
}

/** Whether the quote is of the page: in answers of earlier versions it may be a claim of the answer. @param {Citation} citation */
const isPlace = ({ start, end }) => end > start;

/** @param {{citation: Citation}} properties */
export const QuoteText = ({ citation }) => (citation.quote ? h("span", { class: isPlace(citation) ? "quote" : "claim" }, citation.quote) : null);

/** @param {{citation: Citation}} properties */
export const Verdict = ({ citation }) => h("span", { class: `verdict ${lookOf(citation)}` }, h(Icon, { name: VERDICT_ICONS[lookOf(citation)] ?? "info" }), h("span", null, verdictOf(citation)));

/** The icon of a marker with this look. @param {{look: string}} properties */
export const MarkerIcon = ({ look }) => (MARKER_ICONS[look] ? h(Icon, { name: MARKER_ICONS[look] ?? "" }) : null);

export function Peek() {
  const place = /** @type {Ref<HTMLDivElement>} */ (useRef(null));
  const shown = peeked.value;
  useEffect(() => {
    const card = place.current;
    if (!card || !shown) return;
    const { offsetWidth: width, offsetHeight: height } = card;
    const above = shown.at.top - height - 8;
    card.style.left = `${Math.max(8, Math.min(shown.at.left, innerWidth - width - 8))}px`;
    card.style.top = `${above > 8 ? above : shown.at.bottom + 8}px`;
  }, [shown]);
  if (!shown) return null;
  const { citation } = shown;
  return h("div", {
    class: "peek", ref: place, "aria-hidden": "true", onMouseEnter: () => clearTimeout(leaving), onMouseLeave: unpeek,
  }, h("p", { class: "peek-place" }, h("bdi", null, pageOf(citation))),
  h(QuoteText, { citation }), h(Verdict, { citation }));
}

// --- Preferences and the list of keys

/** @param {ChoiceProperties} properties */
function Choice({ label, value, options, onChange }) {
  return h("label", { class: "field" }, label,
    h("select", { value, onChange: (event) => onChange(event.currentTarget.value) },
      options.map(([each, text]) => h("option", { value: each, key: each }, text))));
}

function Preferences() {
  const chosen = preferences.value;
  const own = new Intl.DisplayNames([document.documentElement.lang], { type: "language" });
  return h(Dialog, { label: t("preferences"), onClose: () => { dialog.value = ""; } },
    h(Choice, {
      label: t("preferences.theme"), value: chosen.theme,
      options: [["", t("preferences.system")], ["light", t("preferences.light")], ["dark", t("preferences.dark")]],
      onChange: (theme) => prefer({ theme: /** @type {"" | "light" | "dark"} */ (theme) }),
    }),
    h(Choice, {
      label: t("preferences.language"), value: chosen.language,
      options: [["", t("preferences.browser")], ...LANGUAGES.map((each) =>
        /** @type {[string, string]} */ ([each, own.of(each) ?? each]))],
      onChange: (language) => prefer({ language }),
    }),
    h(Choice, {
      label: t("preferences.send"), value: chosen.sendKey,
      options: [["enter", t("preferences.enter")], ["ctrl", t("preferences.ctrl")]],
      onChange: (key) => prefer({ sendKey: key === "ctrl" ? "ctrl" : "enter" }),
    }));
}

const KEYS = ["send", "break", "escape", "search", "new", "attach", "region", "edit", "turns", "markers", "citations",
  "pages", "zoom", "keys"];

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

/** The seconds until a moment. @param {{until: number, words: (seconds: number) => string}} properties */
export function Countdown({ until, words }) {
  const left = () => Math.max(0, Math.ceil((until - Date.now()) / 1000));
  const [seconds, setSeconds] = useState(left());
  useEffect(() => {
    const timer = setInterval(() => setSeconds(left()), 500);
    return () => clearInterval(timer);
  }, [until]);
  return h("span", null, words(seconds));
}
