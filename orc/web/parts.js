// Small parts: icons, buttons, notices, and the card with a quote.
import { listed, t } from "./i18n.js";
import { checkVersion, dismiss, focusOn, goOn, hold, notices } from "./store.js";
import { h, signal, useEffect, useId, useLayoutEffect, useRef, useState } from "./vendor/ui.js";

/** @import { ButtonProperties, Citation, Peeked, Place, Ref, Signal, Source } from "./types/page.js" */

const SPRITE = `${document.documentElement.dataset.base ?? "/"}icons.svg`;

/** @param {{name: string}} properties */
export const Icon = ({ name }) =>
  h("svg", { class: "icon", "aria-hidden": "true", viewBox: "0 0 24 24" }, h("use", { href: `${SPRITE}#${name}` }));

/** A button with an icon; its label is read out and a tooltip. @param {ButtonProperties} properties */
export const IconButton = ({ name, label, onClick, pressed, disabled, id, class: extra = "" }) =>
  h(
    "button",
    {
      type: "button",
      class: `quiet icon ${extra}`,
      "aria-label": label,
      title: label,
      onClick,
      disabled,
      id,
      "aria-pressed": pressed === undefined ? undefined : pressed ? "true" : "false",
    },
    h(Icon, { name }),
  );

/** A small menu of things that one is chosen of. @param {{label: string, choices: {id: string, title: string}[], current?: string, onChoose: (id: string) => void}} properties */
export function Choice({ label, choices, current, onChoose }) {
  const list = /** @type {Ref<HTMLDivElement>} */ (useRef(null));
  const id = useId();
  const place = () => {
    const [box, from] = [list.current, list.current?.previousElementSibling?.getBoundingClientRect()];
    if (!box || !from) return;
    box.style.left = `${Math.min(from.left, innerWidth - box.offsetWidth - 8)}px`;
    box.style.top = `${Math.min(from.bottom + 4, innerHeight - box.offsetHeight - 8)}px`;
    box.querySelector("button")?.focus();
  };
  return [
    h(
      "button",
      { type: "button", class: "quiet icon", "aria-label": label, title: label, popovertarget: id, "aria-haspopup": "true" },
      h(Icon, { name: "down_page" }),
    ),
    h(
      "div",
      {
        id,
        class: "menu is-small",
        popover: "auto",
        ref: list,
        role: "group",
        "aria-label": label,
        onToggle: (event) => {
          if (event.newState === "open") place();
        },
      },
      choices.map((each) =>
        h(
          "button",
          {
            type: "button",
            class: "toggle",
            key: each.id,
            "aria-current": each.id === current ? "true" : undefined,
            onClick: () => {
              list.current?.hidePopover();
              onChoose(each.id);
            },
          },
          each.title,
        ),
      ),
    ),
  ];
}

const STEP = 40;

/** The edge of a panel: drag it, press it, or move it with arrow keys. @param {{label: string, width: number, least: number, most: number, wide: number, isAtEnd: boolean, onWidth: (width: number) => void}} properties */
export function Divider({ label, width, least, most, wide, isAtEnd, onWidth }) {
  const moved = /** @type {{current: boolean}} */ (useRef(false));
  const resize = (/** @type {number} */ wanted) => onWidth(Math.round(Math.max(least, Math.min(wanted, most))));
  return h("div", {
    class: `divider${isAtEnd ? " is-at-end" : ""}`,
    role: "separator",
    tabIndex: 0,
    "aria-orientation": "vertical",
    "aria-label": label,
    title: label,
    "aria-valuenow": width,
    "aria-valuemin": least,
    "aria-valuemax": most,
    onClick: () => {
      if (!moved.current) resize(width < wide ? wide : least);
    },
    onPointerDown: (event) => {
      moved.current = false;
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event) => {
      if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
      moved.current = true;
      resize(isAtEnd ? event.clientX : innerWidth - event.clientX);
    },
    onKeyDown: (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      event.preventDefault();
      resize(width + ((event.key === "ArrowRight") === isAtEnd ? STEP : -STEP));
    },
  });
}

/** @type {Map<string, any>} */
const loaded = new Map();

/** A component of a module that is loaded once it is first shown. @param {{from: () => Promise<any>, name: string, properties?: object, meanwhile?: string}} properties */
export function Lazy({ from, name, properties = {}, meanwhile }) {
  const [, setLoaded] = useState("");
  const found = loaded.get(name);
  useEffect(() => {
    // Its file is gone if the server has another version by now.
    if (!found)
      from().then((module) => {
        loaded.set(name, module[name]);
        setLoaded(name);
      }, checkVersion);
  }, [name]);
  return found ? h(found, properties) : (meanwhile ?? h("p", { class: "loading" }, t("loading")));
}

/** What happened; some of it can be taken back. */
export function Notices() {
  return h(
    "div",
    { class: "notices", id: "notices", role: "region", "aria-label": t("notices"), tabIndex: -1 },
    notices.value.map((each) => {
      const leave = (/** @type {HTMLElement} */ box) => {
        if (!box.matches(":hover, :focus-within")) goOn(each.key);
      };
      return h(
        "div",
        {
          class: `notice is-${each.kind}`,
          key: each.key,
          onMouseEnter: () => hold(each.key),
          onFocusIn: () => hold(each.key),
          onMouseLeave: ({ currentTarget }) => leave(currentTarget),
          onFocusOut: ({ currentTarget }) => setTimeout(() => leave(currentTarget)),
        },
        h("span", null, each.text),
        each.actions?.map(({ label, run }) =>
          h(
            "button",
            {
              type: "button",
              key: label,
              onClick: () => {
                run();
                dismiss(each.key);
              },
            },
            label,
          ),
        ),
        h(IconButton, {
          name: "close",
          label: t("close"),
          onClick: () => {
            dismiss(each.key);
            focusOn("#question, #conversation");
          },
        }),
      );
    }),
  );
}

const ruler = document.createElement("canvas").getContext("2d");

/** The text, or what fits with an ellipsis before its tail. @param {HTMLElement} box @param {string} text @param {number} tail */
function fitting(box, text, tail) {
  if (!ruler || !box.clientWidth) return text;
  ruler.font = getComputedStyle(box).font;
  const room = box.clientWidth - 1;
  const all = [...text];
  if (all.length <= tail || ruler.measureText(text).width <= room) return text;
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
    // It is called once before the first paint, too: to measure here would lay out the page in the task that draws a list.
    const resized = new ResizeObserver(() => setShown(fitting(box, text, tail)));
    resized.observe(box);
    return () => resized.disconnect();
  }, [text, tail]);
  const whole = shown === text;
  return h(
    "bdi",
    { class: "middle", title: text, ref: place, ...(whole ? {} : { "data-shown": shown }) },
    h("span", { class: whole ? "" : "hidden" }, text),
  );
}

/** How much of the end of a file's name to show. @param {string} name */
export const tailOf = (name) => Math.min(14, (/\.[^.\s]{1,9}$/.exec(name)?.[0].length ?? 0) + 5);

// --- The quote of a marker

/** @type {Signal<Peeked | null>} */
export const peeked = signal(null);
let leaving = 0;

/** @param {Citation} citation @param {HTMLElement} element */
export function peek(citation, element) {
  clearTimeout(leaving);
  peeked.value = { citation, at: element.getBoundingClientRect() };
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

/** Whether the page can have a picture; if the API does not say, one has to ask. @param {Citation} citation */
export const mayHavePicture = ({ media_type: type }) => !type || type === "application/pdf" || type.startsWith("image/");

/** Whether the file has pages of paper or slides: those of others are sections of its text. @param {Citation} citation */
export const isPaged = (citation) => mayHavePicture(citation) || (citation.media_type ?? "").includes("presentation");

/** The page of a citation in words. @param {Citation} citation */
export function pageOf(citation) {
  const { blob_name: name, page, page_label: label, url } = citation;
  if (url) return name || url;
  return label ? t("page.label", { name, label }) : t(isPaged(citation) ? "page.number" : "page.section", { name, page: String(page) });
}

/** Which context a source is from, if that is not the one asked about first: "from organization Northwind". @param {Citation} citation */
export function homeOf({ context_name: name, context_type: type, focus }) {
  return name && !focus ? t("source.from", { type: t(`context.${type}`), name }) : "";
}

/** The cited pages in the order of the answer: each has one number, and below it its quotes. @param {Citation[]} citations @returns {Source[]} */
export function pagesOf(citations) {
  /** @type {Map<string, Source>} */
  const pages = new Map();
  citations.forEach((citation, index) => {
    const key = citation.url ?? `${citation.document_id}/${citation.page}`;
    const page = pages.get(key);
    if (page) page.indexes.push(index);
    else pages.set(key, { key, citation, number: pages.size + 1, indexes: [index] });
  });
  return [...pages.values()];
}

/** The numbers of the citations by their indexes. @param {Citation[]} citations */
export function numbersOf(citations) {
  /** @type {number[]} */
  const numbers = [];
  for (const { number, indexes } of pagesOf(citations)) for (const index of indexes) numbers[index] = number;
  return numbers;
}

/** The same within a sentence: "Page 5 of handbook.pdf". @param {Citation} citation */
function placeOf(citation) {
  const { blob_name: name, page, page_label: label, url } = citation;
  return label || url || !isPaged(citation) ? pageOf(citation) : t("page.of_file", { name, page: String(page) });
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
export function verdictOf(citation) {
  const { closest, check, missing, reason, page, page_label: label, url, by_code: byCode } = citation;
  if (closest) return t("verdict.close");
  if (byCode && (check === "quoted" || check === "reworded")) return t(`verdict.${check}.by_code`);
  if (check === "unsupported" && reason) return t("verdict.unsupported.why", { reason });
  if (check !== "differs") return t(`verdict.${check}`);
  const named = missing.slice(0, MOST_MISSING);
  if (missing.length > named.length) named.push(t("left.more", { n: missing.length - named.length }));
  const what = named.length ? listed(named) : t("verdict.number");
  return t(label || url || !isPaged(citation) ? "verdict.differs.here" : "verdict.differs", {
    what,
    page: String(page),
    n: missing.length || 1,
  });
}

/** What stands in the marker itself. A passage that stands alone says where it is from. @param {Citation} citation */
export function wordOf(citation) {
  if (citation.closest) return [pageOf(citation), homeOf(citation)].filter(Boolean).join(", ");
  if (citation.check === "differs") return verdictOf(citation);
  const { [/** @type {string} */ (citation.check)]: word = "" } = /** @type {Record<string, string>} */ ({
    unsupported: t("verdict.unsupported"),
    picture: t("verdict.picture.short"),
  });
  return [homeOf(citation), word].filter(Boolean).join(", ");
}

/** The place and the check in words: "Page 5 of handbook.pdf, in other words". @param {Citation} citation */
export const accountOf = (citation) => [placeOf(citation), homeOf(citation), verdictOf(citation)].filter(Boolean).join(", ");

/** How many pages are cited, and by which checks: "2 sources: 2 quotes in the same words, 1 in other words". @param {Citation[]} citations */
export function summaryOf(citations) {
  const cites = citations.filter((each) => each && !each.closest);
  const close = citations.filter((each) => each?.closest).length;
  const counts = CHECKS.map((check) => ({ check, n: cites.filter((each) => each.check === check).length }));
  const parts = counts.filter(({ n }) => n).map(({ check, n }) => t(`sources.${check}`, { n }));
  const sources = pagesOf(cites).length;
  return [
    cites.length > sources
      ? t("sources.count.quotes", { n: sources, quotes: t("sources.quotes", { n: cites.length }), parts: parts.join(", ") })
      : sources
        ? t("sources.count", { n: sources, parts: parts.join(", ") })
        : "",
    close ? t("sources.closest", { n: close }) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Whether the quote is of the page: in answers of earlier versions it may be a claim of the answer. @param {Citation} citation */
const isPlace = ({ start, end }) => end > start;

/** @param {{citation: Citation}} properties */
export const QuoteText = ({ citation }) =>
  citation.quote ? h("span", { class: isPlace(citation) ? "quote" : "claim" }, citation.quote) : null;

/** @param {{citation: Citation}} properties */
export const Verdict = ({ citation }) =>
  h(
    "span",
    { class: `verdict ${lookOf(citation)}` },
    h(Icon, { name: VERDICT_ICONS[lookOf(citation)] ?? "info" }),
    h("span", null, verdictOf(citation)),
  );

/** The icon of a marker with this look. @param {{look: string}} properties */
export const MarkerIcon = ({ look }) => (MARKER_ICONS[look] ? h(Icon, { name: MARKER_ICONS[look] ?? "" }) : null);

/** @param {{citation: Citation}} properties */
export const Home = ({ citation }) =>
  homeOf(citation) ? h("span", { class: "home" }, h(Icon, { name: "folder" }), homeOf(citation)) : null;

export function Peek() {
  const place = /** @type {Ref<HTMLDivElement>} */ (useRef(null));
  const shown = peeked.value;
  useEffect(() => {
    const card = place.current;
    if (!card || !shown) return;
    const { offsetWidth: width, offsetHeight: height } = card;
    // Below the marker: above it stands what the quote proves.
    const below = shown.at.bottom + 8;
    card.style.left = `${Math.max(8, Math.min(shown.at.left, innerWidth - width - 8))}px`;
    card.style.top = `${below + height < innerHeight - 8 ? below : Math.max(8, shown.at.top - height - 8)}px`;
  }, [shown]);
  if (!shown) return null;
  const { citation } = shown;
  return h(
    "div",
    {
      class: "peek",
      ref: place,
      "aria-hidden": "true",
      onMouseEnter: () => clearTimeout(leaving),
      onMouseLeave: unpeek,
    },
    h("p", { class: "peek-place" }, h("bdi", null, pageOf(citation)), h(Home, { citation })),
    h(QuoteText, { citation }),
    h(Verdict, { citation }),
  );
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

// --- What the server adds to answers

export const WITHOUT_SOURCE = "[No source, not verified]";
/** What the server adds to answers, in English, and the page's words for it. */
export const NOTES = Object.entries({
  [WITHOUT_SOURCE]: "verdict.no_source",
  "[citation withheld: no such source]": "verdict.no_such_source",
  "[The answer was cut here: it reached a length limit, or the model broke off.]": "verdict.cut",
  "[withheld: it drew on a context that is not readable any more]": "verdict.withheld",
});

/** Adds the places of the server's notes. @param {{text: string, places: Place[]}} body */
export function withNotes({ text, places }) {
  const notes = NOTES.flatMap(([note], at) =>
    [...text.matchAll(new RegExp(note.replace(/\W/g, "\\$&"), "g"))].map(({ index }) => ({
      start: index,
      end: index + note.length,
      index: -1 - at,
    })),
  );
  return { text, places: [...places, ...notes].sort((one, other) => one.start - other.start) };
}
