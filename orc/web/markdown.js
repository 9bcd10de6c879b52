// Markdown as elements: tokens of a closed list become nodes, everything else stays text.
import { Component, h, Lexer } from "./vendor/ui.js";

/** @import { Child, Token, Tokens } from "./vendor/ui.js" */
/** @import { ChildAt, Citation, Place } from "./types/page.js" */

const OPEN = "\uE000";
const CLOSE = "\uE001";
const PLACE = /\uE000(\d+)\uE001/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])\s/;
/** A line that is nested deeper than anybody reads; the lexer and the tree recurse with the depth. */
const DEEP = /^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*){30}/m;
const EMPHASIS = /[*_~]/;
/** The lexer takes quadratic time for them. */
const MOST_EMPHASIS = 2000;
const SCHEMES = new Set(["http:", "https:", "mailto:"]);
/** They change the direction of text, or cannot be seen. */
const HIDDEN = /[\u0000-\u0008\u000B-\u001F\u007F\u200B\u200E\u200F\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/;

/** The source with a placeholder for each mark, which `blocks` fills. @param {string} text @param {Place[]} marks in UTF-16 units, in order */
export function withPlaces(text, marks) {
  let source = "";
  let from = 0;
  marks.forEach((mark, number) => {
    source += clean(text.slice(from, mark.start)) + OPEN + number + CLOSE;
    from = mark.end;
  });
  return source + clean(text.slice(from));
}

/** The text with a number in brackets for each marker. @param {string} text @param {Place[]} places in UTF-16 units, in order */
export function numbered(text, places) {
  let shown = "";
  let from = 0;
  for (const { start, end, index } of places) {
    shown += `${text.slice(from, start)}[${index + 1}]`;
    from = end;
  }
  return shown + text.slice(from);
}

/** @param {string} text */
const clean = (text) => text.replace(/[\uE000\uE001]/g, "");

/** Offsets in code points, as the API counts, in UTF-16 units. @param {string} text @param {number[]} offsets ascending */
export function toUnits(text, offsets) {
  const units = [];
  let points = 0;
  let unit = 0;
  for (const offset of offsets) {
    while (points < offset && unit < text.length) {
      unit += (text.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
      points += 1;
    }
    units.push(unit);
  }
  return units;
}

/** The markers of a whole text by its citations, in order. @param {string} text @param {Citation[]} citations @returns {Place[]} */
export function placesIn(text, citations) {
  const all = citations.flatMap((citation, index) =>
    (citation?.marks ?? []).map(({ start, end }) => ({ start, end, index }))).sort((a, b) => a.start - b.start);
  const units = toUnits(text, all.flatMap(({ start, end }) => [start, end]));
  return all.map(({ index }, place) => ({ index, start: units[2 * place] ?? 0, end: units[2 * place + 1] ?? 0 }));
}

/** Blocks that can be parsed on their own. @param {string} source */
function blocksOf(source) {
  const blocks = [];
  let block = "";
  let fence = "";
  let blank = false;
  for (const line of source.split("\n")) {
    const mark = FENCE.exec(line)?.[1] ?? "";
    const inList = ITEM.test(block) && (ITEM.test(line) || /^\s/.test(line));
    if (blank && !fence && line.trim() && !inList) {
      blocks.push(block);
      block = "";
    }
    blank = !line.trim();
    if (fence) {
      if (mark.startsWith(fence) && !line.trim().slice(mark.length)) fence = "";
    } else fence = mark;
    block += `${line}\n`;
  }
  if (block.trim()) blocks.push(block);
  return blocks;
}

/** The blocks of a text that grows. @param {string} source @param {ChildAt} place @param {string} version of what `place` shows */
export const blocks = (source, place, version = "") =>
  blocksOf(source).map((block, index) => h(Block, { source: block, place, version, key: index }));

/**
 * One block, parsed again only if it has changed. (Nodes that are kept would keep all that was removed since.)
 * @extends {Component<{source: string, place: ChildAt, version: string}, {failed?: boolean}>}
 */
class Block extends Component {
  /** @param {{source: string, version: string}} next @param {{failed?: boolean}} state */
  shouldComponentUpdate({ source, version }, { failed }) {
    return failed !== this.state.failed || source !== this.props.source || (version !== this.props.version && source.includes(OPEN));
  }

  /** What cannot be shown as Markdown is shown as it is: one bad block takes no other with it. */
  componentDidCatch() {
    this.setState({ failed: true });
  }

  render() {
    const { source, place } = this.props;
    return h("div", { class: "block" }, this.state.failed ? plain(source, place) : formatted(source, place));
  }
}

/** @param {string} source @param {ChildAt} place @returns {Child[]} */
function formatted(source, place) {
  if (DEEP.test(source) || source.split(EMPHASIS, MOST_EMPHASIS + 1).length > MOST_EMPHASIS) return plain(source, place);
  try {
    return all(new Lexer({ gfm: true }).lex(source), place);
  } catch {
    return plain(source, place);
  }
}

/** @param {string} source @param {ChildAt} place */
const plain = (source, place) => [h("pre", { tabIndex: 0 }, text(source, place))];

/** @param {Token[] | undefined} tokens @param {ChildAt} place @returns {Child[]} */
const all = (tokens, place) => (tokens ?? []).map((token) => node(token, place));

/** @param {string} text @param {ChildAt} place @returns {Child} */
function text(text, place) {
  if (!text.includes(OPEN)) return text;
  return text.split(PLACE).map((part, index) => (index % 2 ? place(Number(part)) : part));
}

/** @param {Token} token @param {ChildAt} place @returns {Child} */
function node(token, place) {
  const known = /** @type {Tokens.Generic} */ (token);
  switch (token.type) {
    case "space": case "def": return null;
    case "paragraph": return h("p", null, all(token.tokens, place));
    // Below the heading of the turn: no level is left out.
    case "heading": return h("h3", { class: known.depth > 2 ? "is-small" : undefined }, all(token.tokens, place));
    case "list": return list(/** @type {Tokens.List} */ (token), place);
    case "blockquote": return h("blockquote", null, all(token.tokens, place));
    case "code": return h("pre", { tabIndex: 0 }, h("code", null, text(known.text, place)));
    case "table": return table(/** @type {Tokens.Table} */ (token), place);
    case "hr": return h("hr", null);
    case "br": return h("br", null);
    case "strong": return h("strong", null, all(token.tokens, place));
    case "em": return h("em", null, all(token.tokens, place));
    case "del": return h("del", null, all(token.tokens, place));
    case "codespan": return h("code", null, text(known.text, place));
    case "link": return link(/** @type {Tokens.Link} */ (token), place);
    case "image": return text(known.text || known.raw, place);
    case "text": return token.tokens ? all(token.tokens, place) : text(known.text, place);
    case "escape": return text(known.text, place);
    case "checkbox": return known.checked ? "☑ " : "☐ ";
    default: return text(token.raw, place);
  }
}

/** @param {Tokens.List} token @param {ChildAt} place */
function list(token, place) {
  const items = token.items.map((item) => h("li", null, all(item.tokens, place)));
  return token.ordered ? h("ol", { start: Number(token.start) || 1 }, items) : h("ul", null, items);
}

/** @param {Tokens.Table} token @param {ChildAt} place */
function table(token, place) {
  /** @param {Tokens.TableCell} cell */
  const alignment = (cell) => (cell.align ? `to-${cell.align}` : undefined);
  const head = token.header.map((cell) => h("th", { class: alignment(cell), scope: "col" }, all(cell.tokens, place)));
  const rows = token.rows.map((row) =>
    h("tr", null, row.map((cell) => h("td", { class: alignment(cell) }, all(cell.tokens, place)))));
  return h("div", { class: "wide", tabIndex: 0 },
    h("table", null, h("thead", null, h("tr", null, head)), h("tbody", null, rows)));
}

/** @param {Tokens.Link} token @param {ChildAt} place */
function link(token, place) {
  const address = safeAddress(token.href);
  const inner = all(token.tokens, place);
  if (!address) return h("span", null, inner, ` (${clean(token.href)})`);
  const shown = address.protocol === "mailto:" ? address.pathname : address.host;
  const names = token.text.includes(shown) ? null : h("small", { class: "host" }, ` (${shown})`);
  return h("a", { href: address.href, target: "_blank", rel: "noopener noreferrer nofollow" }, inner, names);
}

/** The address of a link; null for scripts, data, credentials and hidden characters. @param {string} href */
export function safeAddress(href) {
  if (HIDDEN.test(href)) return null;
  try {
    const address = new URL(href);
    const isPlain = !address.username && !address.password;
    return SCHEMES.has(address.protocol) && isPlain ? address : null;
  } catch {
    return null;
  }
}
