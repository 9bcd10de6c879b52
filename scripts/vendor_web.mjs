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

const packages = new Set();
for (const [name, contents] of Object.entries(bundles)) {
  const { metafile } = await build({
    stdin: { contents, resolveDir: process.cwd() },
    outfile: join(target, name),
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    metafile: true,
  });
  for (const input of Object.keys(metafile.inputs)) {
    const found = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
    if (found) packages.add(found[1]);
  }
}

// What was bundled: each needs its notice.
const licences = [...packages].sort().map((name) => {
  const folder = join("node_modules", name);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = ["LICENSE", "LICENSE.md"].map((each) => join(folder, each)).find((each) => {
    try { return readFileSync(each); } catch { return false; }
  });
  if (!file) throw new Error(`${name} has no file with its licence`);
  const text = readFileSync(file, "utf8");
  return `${name} ${version}\n\n${text.trim()}\n`;
});
writeFileSync(join(target, "LICENSES.txt"), licences.join(`\n${"-".repeat(78)}\n\n`));
