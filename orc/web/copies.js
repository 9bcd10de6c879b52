// What leaves the page by a copy: answers and tables, with their form and as text.
import { save } from "./api.js";
import { number, t } from "./i18n.js";
import { numbered } from "./markdown.js";
import { NOTES, numbersOf, pageOf, pagesOf, verdictOf } from "./parts.js";
import { notify, report } from "./store.js";

/** @import { Citation, Place, TurnView } from "./types/page.js" */

/** @param {Element} shown @param {string} plain @param {string} words */
function copyWithForm(shown, plain, words) {
  const as = (/** @type {string} */ type, /** @type {string} */ text) => ({ [type]: new Blob([text], { type }) });
  const kinds = { ...as("text/html", new XMLSerializer().serializeToString(shown)), ...as("text/plain", plain) };
  navigator.clipboard.write([new ClipboardItem(kinds)]).then(() => notify({ text: words, kind: "info" }, 3), report);
}

/** Its sources, each page once. @param {TurnView} turn */
function sourcesOf({ citations }) {
  const quoted = (/** @type {number} */ index) => {
    const { quote, ...each } = /** @type {Citation} */ (citations[index]);
    // A quote has the line breaks of its page.
    return [quote && t("quote", { text: quote.replace(/\s+/g, " ") }), `(${verdictOf({ quote, ...each })})`].filter(Boolean).join(" ");
  };
  return pagesOf(citations).map(({ number: n, citation, indexes }) => `[${n}] ${pageOf(citation)}: ${indexes.map(quoted).join("; ")}`);
}

/** A text with its notes in words of the page. @param {string} text */
const noted = (text) => NOTES.reduce((said, [note, key]) => said.replaceAll(note, `[${t(key)}]`), text);

/** An answer as it is shown, with numbers in the places of its markers, and the list of its sources. @param {TurnView} turn @param {Place[]} places @param {EventTarget | null} button */
export function copyAnswer(turn, places, button) {
  const sources = sourcesOf(turn);
  const text = noted(numbered(turn.text, places, numbersOf(turn.citations)));
  const whole = document.createElement("div");
  const shown = /** @type {Element} */ (button)
    .closest(".answer")
    ?.querySelectorAll(":scope > .note.is-none, :scope > .note.is-warn, :scope > .text");
  for (const each of shown ?? []) whole.append(each.cloneNode(true));
  for (const each of whole.querySelectorAll(".tools, .note svg, .note button")) each.remove();
  for (const each of whole.querySelectorAll(".marker"))
    each.replaceWith(`[${each.matches(".is-missing") ? each.textContent : parseInt(each.textContent ?? "", 10)}]`);
  for (const source of sources) whole.appendChild(document.createElement("p")).append(source);
  copyWithForm(whole, sources.length ? `${text}\n\n${sources.join("\n")}` : text, t("turn.copied"));
}

/** A table without its markers. @param {EventTarget | null} button */
function tableAt(button) {
  const found = /** @type {Element} */ (button).closest(".with-tools")?.querySelector("table");
  const bare = /** @type {HTMLTableElement} */ (found?.cloneNode(true));
  for (const each of bare.querySelectorAll(".marker")) each.remove();
  return bare;
}

/** @param {HTMLTableElement} table @param {string} separator @param {(text: string) => string} [cell] */
const rowsOf = (table, separator, cell = (text) => text) =>
  [...table.rows]
    .map((row) => [...row.cells].map((each) => cell((each.textContent ?? "").replace(/\s+/g, " ").trim())).join(separator))
    .join("\n");

/** For a spreadsheet or a letter. @param {EventTarget | null} button */
export function copyTable(button) {
  const table = tableAt(button);
  copyWithForm(table, rowsOf(table, "\t"), t("table.copied"));
}

/** A cell of a file. What a document has written must not be a formula in a spreadsheet. @param {string} text */
export const cellOf = (text) => `"${text.replace(/^(?=[=@]|[+-].*[(!|])/, "'").replaceAll('"', '""')}"`;

/** A spreadsheet expects semicolons where numbers have commas. @param {EventTarget | null} button */
export function saveTable(button) {
  const rows = rowsOf(tableAt(button), number(0.5).includes(",") ? ";" : ",", cellOf);
  save(new Blob([`\uFEFF${rows}\n`], { type: "text/csv" }), `${t("table")}.csv`);
}
