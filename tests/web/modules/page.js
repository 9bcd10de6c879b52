// What modules of the page find of a browser when they are imported, in Node: enough for those that draw nothing.
import { readFileSync } from "node:fs";

const folder = new URL("../../../orc/web/", import.meta.url);

/** What a browser keeps. */
class Kept extends Map {
  getItem = (name) => this.get(name) ?? null;
  setItem = (name, text) => this.set(name, text);
  removeItem = (name) => this.delete(name);
}

const root = { dataset: { base: "/", languages: "en de fr" }, lang: "en", style: { setProperty() {}, removeProperty() {} } };
const found = {
  documentElement: root,
  activeElement: null,
  hidden: false,
  createElement: () => ({ getContext: () => null }),
  querySelector: () => null,
};
const replaced = {
  document: found,
  location: { hash: "" },
  history: { state: null, replaceState() {}, pushState() {} },
  localStorage: new Kept(),
  sessionStorage: new Kept(),
  matchMedia: () => ({ matches: false }),
  addEventListener() {},
  requestAnimationFrame: (act) => act(),
  fetch: async (address) => new Response(readFileSync(new URL(`.${address}`, folder))),
};
for (const [name, value] of Object.entries(replaced)) Object.defineProperty(globalThis, name, { value, writable: true });
Object.defineProperty(globalThis, "window", { value: globalThis });
Object.defineProperty(globalThis, "navigator", { value: { onLine: true } });

/** A module of the page. @param {string} name */
export const load = (name) => import(new URL(`${name}.js`, folder));
