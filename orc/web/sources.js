// The panel of sources: a card for each cited page with its quotes, and the page that a marker leads to.
import { get } from "./api.js";
import { conversationId, turns } from "./chat.js";
import { t } from "./i18n.js";
import { PageView, preparePicture } from "./page.js";
import { Icon, IconButton, pageOf, verdictOf } from "./parts.js";
import { computed, h, signal, useEffect, useState } from "./vendor/ui.js";

/** @import { Citation, PageCard, TurnView } from "./types/page.js" */
/** @import { Signal } from "./vendor/ui.js" */

/** @typedef {{turnKey: string, index: number | null}} Shown */
/** What the panel shows: the sources of a turn, or the page of one of its citations. @type {Signal<Shown | null>} */
export const shown = signal(null);
/** @type {HTMLElement | null} */
let openedFrom = null;

/** @param {TurnView} turn */
export function openSources(turn) {
  remember();
  shown.value = { turnKey: turn.key, index: null };
  requestAnimationFrame(() => document.getElementById("sources")?.focus());
}

/** @param {TurnView} turn @param {number} index */
export function openSource(turn, index) {
  remember();
  shown.value = { turnKey: turn.key, index };
  requestAnimationFrame(() => document.getElementById("sources")?.focus());
}

function remember() {
  if (!shown.value) openedFrom = /** @type {HTMLElement | null} */ (document.activeElement);
}

export function closeSources() {
  shown.value = null;
  if (openedFrom?.isConnected) openedFrom.focus();
  openedFrom = null;
}

/** @param {TurnView} turn @param {number} index */
export function prefetchSource(turn, index) {
  const citation = turn.citations[index];
  if (citation?.rectangles.length) preparePicture(documentPath(citation), citation);
}

/** Where the API has the document of a citation. @param {Citation} citation */
export function documentPath({ document_id: id, context_type: type, context_id: context }) {
  const owner = type && type !== "session" ? `/contexts/${context}` : `/conversations/${conversationId.value}`;
  return `${owner}/documents/${id}`;
}

const shownTurn = computed(() => turns.value.find((each) => each.value.key === shown.value?.turnKey)?.value ?? null);

/** The citations by page, in the order of the answer. @param {Citation[]} citations */
export function byPage(citations) {
  /** @type {Map<string, {citation: Citation, indexes: number[]}>} */
  const pages = new Map();
  citations.forEach((citation, index) => {
    const key = citation.url ?? `${citation.document_id}/${citation.page}`;
    const page = pages.get(key);
    if (page) page.indexes.push(index);
    else pages.set(key, { citation, indexes: [index] });
  });
  return [...pages.values()];
}

/** @param {{turn: TurnView, citation: Citation, indexes: number[]}} properties */
function Card({ turn, citation, indexes }) {
  const [card, setCard] = useState(/** @type {PageCard | null} */ (null));
  const [picture, setPicture] = useState("");
  useEffect(() => {
    if (citation.url) return;
    const path = documentPath(citation);
    get(`${path}/pages?numbers=${citation.page}`).then((found) => {
      const [first] = /** @type {any} */ (found).pages ?? found;
      setCard(first ?? null);
      if (first?.has_image) preparePicture(path, citation, 160).then(setPicture, () => {});
    }, () => {});
  }, [citation.document_id, citation.page]);
  return h("li", { class: "card" },
    h("button", { type: "button", class: "card-head", onClick: () => openSource(turn, indexes[0] ?? 0) },
      picture ? h("img", { src: picture, alt: "", class: "thumbnail" })
        : h("span", { class: "thumbnail", "aria-hidden": "true" }, h(Icon, { name: citation.url ? "web" : "page" })),
      h("span", { class: "card-text" }, h("strong", null, h("bdi", null, pageOf(citation))),
        card?.summary && h("span", { class: "summary" }, card.summary))),
    h("ul", { class: "quotes" }, indexes.map((index) => h(Quote, { turn, index, key: index }))));
}

/** @param {{turn: TurnView, index: number}} properties */
function Quote({ turn, index }) {
  const citation = turn.citations[index];
  if (!citation) return null;
  return h("li", null, h("button", { type: "button", class: "quote-row", onClick: () => openSource(turn, index) },
    h("span", { class: `marker ${citation.verified ? "is-found" : "is-missing"}` }, String(index + 1),
      citation.verified && h(Icon, { name: "check" })),
    h("span", null, h("span", { class: citation.verified ? "quote" : "claim" }, citation.quote),
      h("span", { class: `verdict ${citation.verified ? "is-found" : "is-missing"}` },
        citation.closest ? t("verdict.close") : verdictOf(citation)))));
}

export function Sources() {
  const turn = shownTurn.value;
  if (!shown.value || !turn) return null;
  const { index } = shown.value;
  const citation = index === null ? undefined : turn.citations[index];
  return h("aside", { class: "sources", "aria-label": t("sources"), id: "sources", tabIndex: -1 },
    h("header", { class: "panel-head" },
      citation && h(IconButton, { name: "back", label: t("sources.all"), onClick: () => { shown.value = { turnKey: turn.key, index: null }; } }),
      h("h2", null, citation ? h("bdi", null, pageOf(citation)) : t("sources")),
      h(IconButton, { name: "close", label: t("sources.close"), onClick: closeSources })),
    citation && index !== null
      ? h(PageView, {
        key: `${turn.key}`, turn, index, path: documentPath(citation),
        onChoose: (next) => { shown.value = { turnKey: turn.key, index: next }; },
      })
      : h("ul", { class: "cards" }, byPage(turn.citations).map((each) =>
        h(Card, { key: each.citation.url ?? `${each.citation.document_id}/${each.citation.page}`, turn, ...each }))));
}
