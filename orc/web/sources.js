// The panel of sources: cards of cited pages, and one page with the quote marked.
import { ApiError, download, get } from "./api.js";
import { fateOf } from "./files.js";
import { t } from "./i18n.js";
import { toUnits } from "./markdown.js";
import {
  accountOf,
  Divider,
  Home,
  Icon,
  IconButton,
  isPaged,
  lookOf,
  mayHavePicture,
  Middle,
  pageOf,
  pagesOf,
  QuoteText,
  tailOf,
  Verdict,
} from "./parts.js";
import { Picture, preparePicture, SHEET, ZOOMS } from "./picture.js";
import { closeSources, conversationId, isShared, openSource, shownTurn } from "./session.js";
import { focusOn, place, prefer, preferences, report } from "./store.js";
import { Fragment, h, useEffect, useLayoutEffect, useRef, useState } from "./vendor/ui.js";

/** @import { Citation, PageCard, PageCards, PageProperties, PageText, PictureProperties, Ref, Source, ToolbarProperties, TurnView } from "./types/page.js" */

/** @param {TurnView} turn @param {number} index */
export function prefetchSource(turn, index) {
  const citation = turn.citations[index];
  const path = citation && documentPath(citation);
  if (path && citation.rectangles.length) preparePicture(path, citation);
}

/** Where the document is in the API; "" for one of a conversation that is read by a link. @param {Citation} citation */
function documentPath({ document_id: id, context_type: type, context_id: context }) {
  if (isShared.value && !context) return "";
  const owner = type && type !== "session" ? `/contexts/${context}` : `/conversations/${conversationId.value}`;
  return `${owner}/documents/${id}`;
}

/** @param {{turn: TurnView, source: Source}} properties */
function Card({ turn, source: { citation, indexes, number } }) {
  const [card, setCard] = useState(/** @type {PageCard | null} */ (null));
  const [picture, setPicture] = useState("");
  useEffect(() => {
    const path = documentPath(citation);
    if (citation.url || !path) return;
    get(`${path}/pages?numbers=${citation.page}`).then(
      (found) => {
        const [first] = /** @type {any} */ (found).pages ?? found;
        setCard(first ?? null);
        if (first?.has_image) preparePicture(path, citation, 160).then(setPicture, () => {});
      },
      () => {},
    );
  }, [citation.document_id, citation.page]);
  return h(
    "li",
    { class: "card" },
    h(
      "button",
      { type: "button", class: "card-head", onClick: () => openSource(turn, indexes[0] ?? 0) },
      picture
        ? h("img", { src: picture, alt: "", class: "thumbnail" })
        : h("span", { class: "thumbnail", "aria-hidden": "true" }, h(Icon, { name: citation.url ? "web" : "page" })),
      h(
        "span",
        { class: "card-text" },
        h("strong", null, `${number} `, h("bdi", null, pageOf(citation))),
        h(Home, { citation }),
        card?.summary && h("span", { class: "summary" }, card.summary),
      ),
    ),
    h(
      "ul",
      { class: "quotes" },
      indexes.map((index) => h(Quote, { turn, index, key: index })),
    ),
  );
}

/** @param {{turn: TurnView, index: number, current?: boolean}} properties */
function Quote({ turn, index, current }) {
  const citation = turn.citations[index];
  const row = /** @type {Ref<HTMLButtonElement>} */ (useRef(null));
  useEffect(() => {
    if (current) row.current?.scrollIntoView({ block: "nearest" });
  }, [current]);
  if (!citation) return null;
  return h(
    "li",
    null,
    h(
      "button",
      {
        type: "button",
        class: `quote-row${current ? " is-current" : ""}`,
        ref: row,
        "aria-current": current ? "true" : undefined,
        onClick: () => openSource(turn, index),
      },
      h("span", { class: "hidden" }, accountOf(citation)),
      h("span", null, h(QuoteText, { citation }), h("span", { "aria-hidden": "true" }, h(Verdict, { citation }))),
    ),
  );
}

export function Sources() {
  const turn = shownTurn.value;
  return turn && h(Panel, { turn, index: (place.value.source ?? 0) - 1 });
}

/** @param {{turn: TurnView, index: number}} properties `index` is -1 for all sources */
function Panel({ turn, index }) {
  const panel = /** @type {Ref<HTMLElement>} */ (useRef(null));
  const citation = turn.citations[index];
  useEffect(() => {
    const from = /** @type {HTMLElement | null} */ (document.activeElement);
    // A sheet covers the rest, which then cannot be reached.
    const sheet = matchMedia(SHEET);
    const cover = (/** @type {boolean} */ isCovered) => {
      for (const each of ["sessions", "conversation"]) document.getElementById(each)?.toggleAttribute("inert", isCovered);
    };
    const look = () => cover(sheet.matches);
    look();
    sheet.addEventListener("change", look);
    panel.current?.focus();
    // Next to the panel the text takes more lines, and what was chosen is further down.
    requestAnimationFrame(() => from?.closest(".turn") && from.scrollIntoView({ block: "nearest" }));
    return () => {
      sheet.removeEventListener("change", look);
      cover(false);
      // Who writes next to the panel keeps the focus.
      if (document.activeElement !== document.body && !panel.current?.contains(document.activeElement)) return;
      if (from?.isConnected && from !== document.body) from.focus();
      else focusOn("#question");
    };
  }, []);
  // Rows and buttons of what was shown before are gone then.
  useEffect(() => {
    if (!panel.current?.contains(document.activeElement)) panel.current?.focus();
  }, [index < 0]);
  const all = pagesOf(turn.citations);
  return h(
    "aside",
    { class: "sources", "aria-label": t("sources"), id: "sources", tabIndex: -1, ref: panel },
    h(Divider, {
      label: t("sources.width"),
      width: preferences.value.panelWidth || Math.round(innerWidth * 0.36),
      least: NARROWEST,
      most: innerWidth - NARROWEST,
      wide: WIDER,
      isAtEnd: false,
      onWidth: (panelWidth) => prefer({ panelWidth }),
    }),
    h(
      "header",
      { class: "panel-head" },
      citation && h(IconButton, { name: "back", label: t("sources.all"), onClick: () => openSource(turn, null) }),
      h(
        "h2",
        null,
        citation
          ? h(Middle, {
              text: pageOf(citation),
              tail: citation.url ? 8 : pageOf(citation).length - citation.blob_name.length + tailOf(citation.blob_name),
            })
          : t("sources"),
      ),
      h(IconButton, { name: "close", label: t("sources.close"), onClick: closeSources }),
    ),
    citation
      ? h(PageView, { key: turn.key, turn, index, path: documentPath(citation), panel })
      : h(
          "ul",
          { class: "cards" },
          all.map((each) => h(Card, { key: each.key, turn, source: each })),
        ),
  );
}

const [NARROWEST, WIDER] = [340, 720];

// --- One page of a document

/** Pages without a picture. @type {Set<string>} */
const unpictured = new Set();
/** The number of pages, by document and version. @type {Map<string, Promise<number>>} */
const totals = new Map();

/** @param {string} path of the document @param {Citation} citation @returns {Promise<number>} */
function totalOf(path, { page, document_version: version }) {
  const key = `${path}/${version}`;
  const total = totals.get(key) ?? get(`${path}/pages?numbers=${page}`).then((found) => /** @type {PageCards} */ (found).total);
  totals.set(key, total);
  total.catch(() => totals.delete(key));
  return total;
}

/** @param {PageProperties} properties */
function PageView({ turn, index, path, panel }) {
  const citation = /** @type {Citation} */ (turn.citations[index]);
  const [zoom, setZoom] = useState(1);
  const [offset, setOffset] = useState(0);
  const [tab, setTab] = useState(/** @type {"picture" | "text"} */ ("picture"));
  const [refused, setState] = useState(/** @type {"" | "removed" | "replaced" | "closed"} */ (""));
  const [total, setTotal] = useState(Infinity);
  const [, setFailures] = useState(0);
  const [lost, setLost] = useState("");
  // Before the next key: it turns the pages of the new citation.
  useLayoutEffect(() => {
    setOffset(0);
    setState("");
    setTab("picture");
  }, [index, path]);
  useEffect(() => {
    let current = true;
    setTotal(Infinity);
    if (!citation.url && path)
      totalOf(path, citation).then(
        (found) => current && setTotal(found),
        () => {},
      );
    return () => {
      current = false;
    };
  }, [path, citation.document_version]);
  // A picture in memory says nothing of what became of the file since.
  const state = !path && !citation.url ? "closed" : (!isShared.value && fateOf(citation)) || refused;
  const number = citation.page + offset;
  const turnTo = (/** @type {number} */ by) =>
    setOffset(Math.min(Math.max(number + by, 1), Math.max(total, citation.page)) - citation.page);
  const pictureKey = `${path}/${citation.document_version}/${number}`;
  const hasPicture = mayHavePicture(citation) && !unpictured.has(pictureKey);
  const shownTab = hasPicture ? tab : "text";
  const view = `${path}/${number}/${index}/${shownTab}`;
  const sources = pagesOf(turn.citations);
  const source = sources.find((each) => each.indexes.includes(index));
  const order = sources.flatMap((each) => each.indexes);
  const step = (/** @type {number} */ by) => openSource(turn, order[(order.indexOf(index) + by + order.length) % order.length] ?? 0);
  const enlarge = (/** @type {number} */ by) => setZoom(ZOOMS[Math.max(0, Math.min(ZOOMS.length - 1, ZOOMS.indexOf(zoom) + by))] ?? 1);
  /** @param {unknown} error */
  const failed = (error) => {
    const code = error instanceof ApiError ? error.problem.status : 0;
    if (code === 404 && offset) setOffset(offset > 0 ? offset - 1 : offset + 1);
    else if (code === 404) setState(isShared.value ? "closed" : "removed");
    else if (code === 409) setState("replaced");
    else if (code === 415) {
      unpictured.add(pictureKey);
      setFailures((before) => before + 1);
    } else {
      setLost(view);
      report(error);
    }
  };
  // Before the next key: it is meant for what is shown by then.
  useLayoutEffect(() => {
    const box = panel.current;
    // The panel itself has the focus at first.
    box?.addEventListener("keydown", onKeyDown);
    return () => box?.removeEventListener("keydown", onKeyDown);
  });
  /** @param {KeyboardEvent} event */
  const onKeyDown = (event) => {
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => step(-1),
      ArrowRight: () => step(1),
      PageUp: () => turnTo(-1),
      PageDown: () => turnTo(1),
      "+": () => enlarge(1),
      "=": () => enlarge(1),
      "-": () => enlarge(-1),
      0: () => setZoom(1),
    };
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (act && !(event.target instanceof HTMLElement && event.target.closest("[role=tablist], .divider"))) {
      event.preventDefault();
      act();
    }
  };
  const toolbar = { source: source?.number ?? 1, sources: sources.length, quotes: order.length, onStep: step, number, total };
  const quotes = h(Quotes, { turn, index, indexes: source?.indexes ?? [index], state });
  if (citation.url)
    return h(
      "div",
      { class: "page" },
      h(Toolbar, { ...toolbar, onPage: null }),
      quotes,
      h("p", { class: "web" }, h(WebLink, { href: citation.url })),
    );
  return h(
    "div",
    { class: "page" },
    h(Home, { citation }),
    h(Toolbar, { ...toolbar, onPage: state === "" && isPaged(citation) ? turnTo : null }),
    state === "" &&
      h(
        "div",
        { class: "tabs" },
        h(
          "div",
          { class: "row", role: "tablist", "aria-label": t("page.views") },
          /** @type {const} */ (["picture", "text"]).map((each) =>
            h(
              "button",
              {
                type: "button",
                role: "tab",
                key: each,
                id: `tab-${each}`,
                "aria-selected": shownTab === each ? "true" : "false",
                tabIndex: shownTab === each ? 0 : -1,
                disabled: each === "picture" && !hasPicture,
                "aria-describedby": each === "picture" && !hasPicture ? "no-picture" : undefined,
                onClick: () => setTab(each),
                onKeyDown: (event) => {
                  if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
                  const other = each === "picture" ? "text" : "picture";
                  setTab(other);
                  document.getElementById(`tab-${other}`)?.focus();
                },
              },
              t(`page.${each}`),
            ),
          ),
        ),
        !hasPicture &&
          h("small", { class: "soft", id: "no-picture" }, t(mayHavePicture(citation) ? "page.picture.failed" : "page.picture.none")),
        h(IconButton, {
          name: "download",
          label: t("page.download"),
          onClick: () => {
            download(`${path}/content`, citation.blob_name).catch(report);
          },
        }),
      ),
    quotes,
    state !== ""
      ? null
      : lost === view
        ? h("div", { class: "loading" }, h("button", { type: "button", onClick: () => setLost("") }, t("try_again")))
        : shownTab === "picture"
          ? h(Picture, { citation, path, number, key: `${path}/${number}`, onFail: failed, index, zoom, setZoom, enlarge })
          : h(Text, { citation, path, number, key: `${path}/${number}/${index}`, onFail: failed }),
  );
}

/** @param {ToolbarProperties} properties */
const Toolbar = ({ source, sources, quotes, number, total, onStep, onPage }) =>
  h(
    "div",
    { class: "toolbar", role: "group", "aria-label": t("page.tools") },
    h(IconButton, { name: "left", label: t("page.citation.before"), disabled: quotes < 2, onClick: () => onStep(-1) }),
    h("span", { class: "count" }, t("page.citation", { n: source, of: sources })),
    h(IconButton, { name: "right", label: t("page.citation.after"), disabled: quotes < 2, onClick: () => onStep(1) }),
    h("span", { class: "grow" }),
    onPage &&
      h(
        "span",
        { class: "pages" },
        h(IconButton, { name: "up_page", label: t("page.before"), disabled: number < 2, onClick: () => onPage(-1) }),
        h("span", { class: "count" }, Number.isFinite(total) ? t("page.of", { n: number, total }) : t("page.one", { n: number })),
        h(IconButton, { name: "down_page", label: t("page.after"), disabled: number >= total, onClick: () => onPage(1) }),
      ),
  );

/** The quotes of the page that is shown. @param {{turn: TurnView, index: number, indexes: number[], state: "" | "removed" | "replaced" | "closed"}} properties */
function Quotes({ turn, index, indexes, state }) {
  const citation = /** @type {Citation} */ (turn.citations[index]);
  const said = state && h("p", { class: state === "closed" ? "soft" : "verdict is-missing", role: "status" }, t(`page.${state}`));
  if (indexes.length > 1)
    return h(
      "div",
      { class: "quote-box is-many" },
      h(
        "ul",
        null,
        indexes.map((each) => h(Quote, { turn, index: each, current: each === index, key: each })),
      ),
      said,
    );
  // It has the focus so that a long quote can be scrolled with the keyboard.
  return h(
    "div",
    { class: `quote-box ${lookOf(citation)}`, tabIndex: 0, role: "group", "aria-label": accountOf(citation) },
    h("div", null, h(QuoteText, { citation }), h(Verdict, { citation }), said),
  );
}

/** @param {{href: string}} properties */
function WebLink({ href }) {
  if (!/^https?:\/\//i.test(href)) return h(Fragment, null, href);
  return h("a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, href);
}

/** @param {Pick<PictureProperties, "citation" | "path" | "number" | "onFail">} properties */
function Text({ citation, path, number, onFail }) {
  const [page, setPage] = useState(/** @type {PageText | null} */ (null));
  const mark = /** @type {Ref<HTMLElement>} */ (useRef(null));
  useEffect(() => {
    let current = true;
    get(`${path}/pages/${number}`).then(
      (found) => current && setPage(/** @type {PageText} */ (found)),
      (error) => current && onFail(error),
    );
    return () => {
      current = false;
    };
  }, [path, number]);
  useLayoutEffect(() => mark.current?.scrollIntoView({ block: "center" }), [page]);
  if (!page) return h("div", { class: "loading" }, t("loading"));
  const marked = citation.end > citation.start && number === citation.page;
  const other = marked && page.version !== citation.document_version && citation.document_version;
  const [start = 0, end = 0] = marked && !other ? toUnits(page.text, [citation.start, citation.end]) : [];
  return h(
    "div",
    { class: "page-text", role: "tabpanel", "aria-labelledby": "tab-text", tabIndex: 0, dir: "auto" },
    other && h("p", { class: "verdict is-missing" }, t("page.replaced")),
    page.text.slice(0, start),
    end > start && h("mark", { ref: mark }, page.text.slice(start, end)),
    page.text.slice(end),
  );
}
