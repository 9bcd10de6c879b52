// Markdown as elements: tokens of a closed list become nodes, everything else stays text.
import { t } from "./i18n.js";
import { IconButton, Lazy } from "./parts.js";
import { checkVersion, copy } from "./store.js";
import { Component, h, Lexer, useEffect, useRef } from "./vendor/ui.js";

/** @import { Child, MarkedOptions, Token, Tokens } from "./vendor/ui.js" */
/** @import { ChildAt, Citation, Place, Ref } from "./types/page.js" */

/** Punctuation stands around the place of a mark, so that emphasis ends before it and begins behind it. */
const OPEN = "\u2E28\uE000";
const CLOSE = "\uE001\u2E29";
const PLACE = /\u2E28\uE000(\d+)\uE001\u2E29/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const ITEM = /^ {0,3}(?:[-*+]|\d{1,9}[.)])\s/;
/** A line that is nested deeper than anybody reads; the lexer and the tree recurse with the depth. */
const DEEP = /^[ \t]*(?:(?:>|[-*+]|\d{1,9}[.)])[ \t]*){30}/m;
const EMPHASIS = /[*_~]/;
/** Characters of a cell that takes two lines of a narrow column. */
const LONG_CELL = 16;
/** The lexer takes quadratic time for them. */
const MOST_EMPHASIS = 2000;
/** A link that the server took the effect of. */
const BROKEN_LINK = /(?:! )?\[([^\][\n]{1,400})\] \(`((?:https?|mailto):[^`\n]{1,2000})`\)/g;
const SCHEMES = new Set(["http:", "https:", "mailto:"]);
/** They change the direction of text, or cannot be seen. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it looks for
const HIDDEN = /[\u0000-\u0008\u000B-\u001F\u007F\u200B\u200E\u200F\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/;

/** What stands between the signs is a formula only if TeX is in it: two amounts, or what stands in brackets, have none. */
const FORMULA_FORMS = [
  { is: /^\\\(([\s\S]{1,2000}?)\\\)/, wide: false },
  { is: /^\\\[([\s\S]{1,2000}?)\\\]/, wide: true },
  { is: /^\$\$([^$]{1,2000})\$\$/, wide: true },
  { is: /^\$(?=\S)([^$\n]{1,400})(?<=\S)\$(?![\p{L}\p{N}_])/u, wide: false },
];
/** A command, `^`, `{`, or `_` and `=` at numbers and single letters. Names of fields have `_` and `=`, too. */
const TEX = /\\[\p{L}\\]|[\^{]|\p{N}\s*[_=]|[_=]\s*\p{N}|(?<!\p{L})\p{L}(?:_\p{L}(?!\p{L})|\)?\s*=)|=\s*\p{L}(?!\p{L})/u;
const FORMULA_START = /\\[([]|\$/;

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

/** The text with a number in brackets for each marker. @param {string} text @param {Place[]} places in UTF-16 units, in order @param {number[]} numbers of citations */
export function numbered(text, places, numbers) {
  let shown = "";
  let from = 0;
  for (const { start, end, index } of places) {
    shown += `${text.slice(from, start)}[${numbers[index] ?? index + 1}]`;
    from = end;
  }
  return shown + text.slice(from);
}

/** An answer as it is read out: without markers and the signs of Markdown. @param {string} text @param {Place[]} places */
export function spoken(text, places) {
  const source = withPlaces(text, places).replace(new RegExp(PLACE, "g"), "");
  return lex(source).map(wordsIn).filter(Boolean).join("\n").replace(/ +$/gm, "");
}

/** @param {Token} token @returns {string} */
function wordsIn(token) {
  const { tokens, items, header, rows, text: words, type } = /** @type {Tokens.Generic} */ (token);
  if (type === "table") return [header, ...rows].map((row) => row.map(wordsIn).join(", ")).join("\n");
  if (items) return items.map(wordsIn).join("\n");
  return tokens?.length ? tokens.map(wordsIn).join("") : type === "br" ? "\n" : (words ?? "");
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
  const all = citations
    .flatMap((citation, index) => (citation?.marks ?? []).map(({ start, end }) => ({ start, end, index })))
    .sort((a, b) => a.start - b.start);
  const units = toUnits(
    text,
    all.flatMap(({ start, end }) => [start, end]),
  );
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
    const shown = FENCE.test(source) ? source : source.replace(BROKEN_LINK, (whole, text, href) => named(text, href) ?? whole);
    return h("div", { class: "block" }, this.state.failed ? plain(source, place) : formatted(shown, place));
  }
}

/** @param {string} source @returns {Token | undefined} */
function formulaOf(source) {
  for (const { is, wide } of FORMULA_FORMS) {
    const found = is.exec(source);
    // Marks of citations and of code are no TeX: the rest of code that a formula cuts would pair with other marks.
    if (!found?.[1]?.trim() || found[0].includes(OPEN) || found[0].includes("`")) continue;
    // Markdown writes brackets so, too.
    if (source.startsWith("$$") || TEX.test(found[1])) return { type: "formula", raw: found[0], text: found[1], wide };
  }
}

/** @param {string} source */
const formulaStart = (source) => {
  const at = source.search(FORMULA_START);
  return at < 0 ? undefined : at;
};

const FOOTNOTE = /^\[\^([^\]\s]{1,40})\]/;
/** The server puts a space before the colon: so no definition of a link has an effect. */
const FOOTNOTE_TEXT = /^\[\^([^\]\s]{1,40})\] ?:[ \t]+(.+(?:\n(?!\[\^|\s*$).+)*)(?:\n|$)/;

/** @param {string} source @returns {Token | undefined} */
function footnoteOf(source) {
  const [raw, label] = FOOTNOTE.exec(source) ?? [];
  return raw === undefined ? undefined : { type: "footnote", raw, text: label };
}

/** What stands below, behind the number. @this {{lexer: Lexer}} @param {string} source @returns {Token | undefined} */
function footnoteText(source) {
  const [raw, label, text = ""] = FOOTNOTE_TEXT.exec(source) ?? [];
  return raw === undefined ? undefined : { type: "footnote_text", raw, label, tokens: this.lexer.inlineTokens(text) };
}

/** For the lexer: formulas on separate lines and within a line, and footnotes. */
const EXTENSIONS = /** @type {MarkedOptions["extensions"]} */ (
  /** @type {unknown} */ ({
    inline: [formulaOf, footnoteOf],
    startInline: [
      formulaStart,
      (/** @type {string} */ source) => {
        const at = source.indexOf("[^");
        return at < 0 ? undefined : at;
      },
    ],
    block: [(/** @type {string} */ source) => (/^(\\\[|\$\$)/.test(source) ? formulaOf(source) : undefined), footnoteText],
    startBlock: [],
    childTokens: {},
    renderers: {},
  })
);

/** @param {string} source */
const lex = (source) => new Lexer({ gfm: true, extensions: EXTENSIONS }).lex(source);

/** @param {{tex: string, wide: boolean, raw: string}} properties */
function Formula({ tex, wide, raw }) {
  const place = /** @type {Ref<HTMLSpanElement>} */ (useRef(null));
  useEffect(() => {
    import("./vendor/math.js")
      .then(({ render }) => {
        const drawn = document.createElement("span");
        render(tex, drawn, { displayMode: wide, throwOnError: true, maxSize: [20, 400] });
        for (const each of drawn.querySelectorAll("mi")) each.classList.toggle("is-letter", each.textContent?.length === 1);
        place.current?.replaceChildren(...drawn.childNodes);
      })
      .catch(() => {}); // What is no TeX stays as it was written.
  }, [tex]);
  return h("span", { ref: place, class: `formula${wide ? " is-wide" : ""}`, dir: "ltr" }, raw);
}

/** @param {string} source @param {ChildAt} place @returns {Child[]} */
function formatted(source, place) {
  if (DEEP.test(source) || source.split(EMPHASIS, MOST_EMPHASIS + 1).length > MOST_EMPHASIS) return plain(source, place);
  try {
    return all(lex(source), place);
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
    case "space":
    case "def":
      return null;
    case "paragraph":
      return h("p", { dir: "auto" }, all(token.tokens, place));
    // Below the heading of the turn: no level is left out.
    case "heading":
      return h("h3", { dir: "auto", class: known.depth > 2 ? "is-small" : undefined }, all(token.tokens, place));
    case "list":
      return list(/** @type {Tokens.List} */ (token), place);
    case "blockquote":
      return h("blockquote", { dir: "auto" }, all(token.tokens, place));
    case "code":
      return code(/** @type {Tokens.Code} */ (token), place);
    case "table":
      return table(/** @type {Tokens.Table} */ (token), place);
    case "hr":
      return h("hr", null);
    case "br":
      return h("br", null);
    case "strong":
      return h("strong", null, all(token.tokens, place));
    case "em":
      return h("em", null, all(token.tokens, place));
    case "del":
      return h("del", null, all(token.tokens, place));
    case "codespan":
      return h("code", null, text(known.text, place));
    case "link":
      return link(/** @type {Tokens.Link} */ (token), place);
    case "image":
      return text(known.text || known.raw, place);
    case "text":
      return token.tokens ? all(token.tokens, place) : text(known.text, place);
    case "escape":
      return text(known.text, place);
    case "footnote":
      return h("sup", null, known.text);
    case "footnote_text":
      return h("p", { class: "footnote", dir: "auto" }, h("sup", null, known.label), " ", all(token.tokens, place));
    case "formula":
      return h(Formula, { key: token.raw, tex: known.text, wide: known.wide, raw: token.raw });
    case "checkbox":
      return known.checked ? "☑ " : "☐ ";
    default:
      return text(token.raw, place);
  }
}

/** @param {Tokens.List} token @param {ChildAt} place */
function list(token, place) {
  const items = token.items.map((item) => h("li", { class: item.task ? "task" : undefined }, all(item.tokens, place)));
  return token.ordered ? h("ol", { dir: "auto", start: Number(token.start) || 1 }, items) : h("ul", { dir: "auto" }, items);
}

/** @param {Tokens.Table} token @param {ChildAt} place */
function table(token, place) {
  /** @param {Tokens.TableCell} cell */
  const look = (cell) => `${cell.align ? `to-${cell.align}` : ""}${cell.text.length > LONG_CELL ? " is-long" : ""}`.trim() || undefined;
  const head = token.header.map((cell) => h("th", { class: look(cell), scope: "col", dir: "auto" }, all(cell.tokens, place)));
  const rows = token.rows.map((row) =>
    h(
      "tr",
      null,
      row.map((cell) => h("td", { class: look(cell), dir: "auto" }, all(cell.tokens, place))),
    ),
  );
  return h(
    "div",
    { class: "with-tools" },
    h(
      "div",
      { class: "wide", tabIndex: 0, role: "group", "aria-label": t("table") },
      h("table", null, h("thead", null, h("tr", null, head)), h("tbody", null, rows)),
    ),
    h(
      "div",
      { class: "tools" },
      h(IconButton, {
        name: "copy",
        label: t("table.copy"),
        onClick: ({ currentTarget }) => {
          import("./copies.js").then((copies) => copies.copyTable(currentTarget), checkVersion);
        },
      }),
      h(IconButton, {
        name: "download",
        label: t("table.csv"),
        onClick: ({ currentTarget }) => {
          import("./copies.js").then((copies) => copies.saveTable(currentTarget), checkVersion);
        },
      }),
    ),
  );
}

/** @param {Tokens.Code} token @param {ChildAt} place */
function code({ text: source, lang = "" }, place) {
  const [language = ""] = lang.split(/\s/);
  const shown =
    language && !source.includes(OPEN)
      ? h(Lazy, { from: () => import("./colours.js"), name: "Coloured", properties: { source, language }, meanwhile: source })
      : text(source, place);
  return h(
    "div",
    { class: "with-tools" },
    h("pre", { tabIndex: 0 }, h("code", null, shown)),
    h(
      "div",
      { class: "tools" },
      language && h("span", { class: "soft" }, language),
      h(IconButton, {
        name: "copy",
        label: t("code.copy"),
        onClick: () => copy(source.replace(new RegExp(PLACE, "g"), ""), t("code.copied")),
      }),
    ),
  );
}

/** What a link without effect shows: "text (example.org)". @param {string} text @param {string} href */
function named(text, href) {
  const address = safeAddress(href);
  if (!address) return null;
  const shown = address.host || address.pathname;
  return text.includes(shown) ? text : `${text} (${shown})`;
}

/** @param {Tokens.Link} token @param {ChildAt} place */
function link(token, place) {
  const address = safeAddress(token.href);
  const inner = all(token.tokens, place);
  if (!address) return h("span", null, inner, ` (${clean(token.href)})`);
  const shown = address.host || address.pathname;
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
