// Colours of code: comments, texts, numbers and calls, which look alike in most languages.
import { h, useEffect, useState } from "./vendor/ui.js";

/** How comments are written, and in which languages. @type {[RegExp, string][]} */
const COMMENTS = [
  [/(?<!\S)#.*/, "bash sh shell zsh console python py ruby rb r perl yaml yml toml ini conf make makefile dockerfile powershell ps1"],
  [/--.*|\/\*[\s\S]*?\*\//, "sql lua haskell"],
  [
    /(?<!:)\/\/.*|\/\*[\s\S]*?\*\//,
    "js javascript jsx ts typescript tsx java c cpp c++ cs csharp go rust swift kotlin php scala dart json5",
  ],
  [/\/\*[\s\S]*?\*\//, "css scss"],
  [/<!--[\s\S]*?-->/, "html xml svg vue markdown md"],
];
const OTHERS = /(?<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|(?<number>\b\d[\w.]*)|(?<call>\b[\p{L}_]\w*(?=\())/u;
/** An answer that is being written is coloured once it rests. */
const REST_MS = 200;
const LONGEST = 20_000;

/** The parts of a code, each with its kind or "". @param {string} source @param {string} language @returns {[string, string][]} */
export function partsOf(source, language) {
  const comment = COMMENTS.find(([, languages]) => languages.split(" ").includes(language.toLowerCase()))?.[0].source ?? "(?!)";
  const parts = /** @type {[string, string][]} */ ([]);
  let end = 0;
  for (const found of source.matchAll(new RegExp(`(?<comment>${comment})|${OTHERS.source}`, "gu"))) {
    const kind = Object.entries(found.groups ?? {}).find(([, text]) => text !== undefined)?.[0] ?? "";
    if (found.index > end) parts.push(["", source.slice(end, found.index)]);
    parts.push([kind, found[0]]);
    end = found.index + found[0].length;
  }
  return [...parts, ["", source.slice(end)]];
}

/** @param {{source: string, language: string}} properties */
export function Coloured({ source, language }) {
  const [rested, setRested] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setRested(source), REST_MS);
    return () => clearTimeout(timer);
  }, [source]);
  if (rested !== source || source.length > LONGEST) return source;
  return partsOf(source, language).map(([kind, text]) => (kind ? h("span", { class: `code-${kind}` }, text) : text));
}
