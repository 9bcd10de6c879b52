// Words, numbers, sizes and times in the user's language.
import { signal } from "./vendor/ui.js";

/** @import { Words } from "./types/page.js" */

const BASE = document.documentElement.dataset.base ?? "/";
/** Those that have a file of words. */
export const LANGUAGES = (document.documentElement.dataset.languages ?? "en").split(" ");

/** @type {Words} */
let words = {};
let plural = new Intl.PluralRules("en");
export const language = signal("en");

/** Load the words of a language. @param {string} wanted "" for that of the browser @returns {Promise<boolean>} false: the words are those of before */
export async function speak(wanted) {
  const served = document.documentElement.lang;
  const chosen = LANGUAGES.find((each) => each === wanted) ?? LANGUAGES.find((each) => each === served) ?? "en";
  const response = await fetch(`${BASE}words/${chosen}.json`).catch(() => null);
  if (!response?.ok) return false;
  words = await response.json();
  plural = new Intl.PluralRules(chosen);
  document.documentElement.lang = chosen;
  language.value = chosen;
  return true;
}

/**
 * The text for a key. `{name}` is replaced by that value; `n` chooses the plural.
 * @param {string} key @param {Record<string, string | number | null>} [values]
 */
export function t(key, values = {}) {
  language.value;
  const found = words[key];
  if (found === undefined) return key;
  const text = typeof found === "string" ? found : (found[plural.select(Number(values.n))] ?? found.other ?? key);
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    if (value === undefined || value === null) return whole;
    return typeof value === "number" ? number(value) : value;
  });
}

/** Whether there is a text for this key. @param {string} key */
export const has = (key) => words[key] !== undefined;

/** The text for a key, or else what the API calls it. @param {string} key @param {string} otherwise @param {Record<string, string | number | null>} [values] */
export const named = (key, otherwise, values) => (has(key) ? t(key, values) : otherwise);

/** By language and options: to make a format takes longer than to use it. @type {Map<string, Intl.NumberFormat>} */
const formats = new Map();

/** @param {number} value @param {Intl.NumberFormatOptions} [options] */
export function number(value, options) {
  const key = JSON.stringify([language.value, options]);
  const format = formats.get(key) ?? new Intl.NumberFormat(language.value, options);
  formats.set(key, format);
  return format.format(value);
}

/** Texts in one sentence: "7, 8 and 9". @param {string[]} texts */
export const listed = (texts) => new Intl.ListFormat(language.value, { type: "conjunction" }).format(texts);

/** @param {number} bytes */
export function size(bytes) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"];
  const power = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), units.length - 1);
  const value = bytes / 1000 ** power;
  const digits = value < 10 && power > 0 ? 1 : 0;
  return number(value, {
    style: "unit",
    unit: units[power],
    unitDisplay: power ? "short" : "long",
    maximumFractionDigits: digits,
  });
}

/** @param {number} ms */
export function duration(ms) {
  if (ms < 1000) return number(Math.round(ms), { style: "unit", unit: "millisecond" });
  return number(ms / 1000, { style: "unit", unit: "second", maximumFractionDigits: ms < 10_000 ? 1 : 0 });
}

/** Today, yesterday, or the date. @param {Date} moment */
export function day(moment) {
  const midnight = new Date();
  midnight.setHours(0, 0, 0, 0);
  const days = Math.floor((moment.getTime() - midnight.getTime()) / 86_400_000);
  if (days >= -1) {
    const text = new Intl.RelativeTimeFormat(language.value, { numeric: "auto" }).format(Math.min(days, 0), "day");
    return text.charAt(0).toLocaleUpperCase(language.value) + text.slice(1);
  }
  const year = moment.getFullYear() === midnight.getFullYear() ? undefined : "numeric";
  return new Intl.DateTimeFormat(language.value, { day: "numeric", month: "long", year }).format(moment);
}

/** The time of day, and the day if it is another one. @param {number} moment in ms */
export function clock(moment) {
  const isToday = new Date(moment).toDateString() === new Date().toDateString();
  return new Intl.DateTimeFormat(language.value, { timeStyle: "short", ...(isToday ? {} : { dateStyle: "medium" }) }).format(moment);
}

/** @param {string} moment in ISO form */
export function when(moment) {
  return new Intl.DateTimeFormat(language.value, { dateStyle: "medium", timeStyle: "short" }).format(new Date(moment));
}

/** @param {string} moment in ISO form */
export function dateOf(moment) {
  return new Intl.DateTimeFormat(language.value, { dateStyle: "medium" }).format(new Date(moment));
}
