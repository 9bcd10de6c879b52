// `make vendor`: bundles the libraries of the web page from node_modules into the folder that is named.
// The versions are those of package-lock.json; the same versions give the same bytes.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const target = process.argv[2];
const bundles = {
  "ui.js": `
    export { Component, h, render, Fragment, createRef } from "preact";
    export { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
    export { batch, computed, effect, signal, untracked, useComputed, useSignal, useSignalEffect }
      from "@preact/signals";
    export { Lexer } from "marked";
  `,
  // Loaded once an answer has a formula.
  "math.js": `
    import temml from "temml";
    export const render = temml.render;
  `,
};

for (const [name, contents] of Object.entries(bundles)) {
  await build({
    stdin: { contents, resolveDir: process.cwd() },
    outfile: join(target, name),
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
  });
}

const packages = ["preact", "@preact/signals", "@preact/signals-core", "marked", "temml"];
const licences = packages.map((name) => {
  const folder = join("node_modules", name);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = ["LICENSE", "LICENSE.md"].map((each) => join(folder, each)).find((each) => {
    try { return readFileSync(each); } catch { return false; }
  });
  const text = file ? readFileSync(file, "utf8") : "MIT License\n";
  return `${name} ${version}\n\n${text.trim()}\n`;
});
writeFileSync(join(target, "LICENSES.txt"), licences.join(`\n${"-".repeat(78)}\n\n`));
