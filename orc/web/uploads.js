// Uploads to sessions and contexts: one queue, which sends a few files at a time.
import { get, pause, readProblem } from "./api.js";
import { size, t } from "./i18n.js";
import { keep, kept, me, notify, signedOut, wordsOf } from "./store.js";
import { effect, signal } from "./vendor/ui.js";

/** @import { Document, Reading, Sending, Signal, Target, Upload } from "./types/page.js" */

const AT_ONCE = 3;
const READ_MS = 300;

/** Uploads to all places: they go on while another one is shown. @type {Signal<Upload[]>} */
export const uploads = signal([]);
/** By the key of the upload, which may be cancelled by now. @type {Map<string, Sending>} */
const sending = new Map();
/** @type {Map<string, {file: File, target: Target}>} */
const waiting = new Map();
/** What was refused and not dismissed. It is kept in the browser: the API stores nothing of it. @type {Signal<Upload[]>} */
export const refused = signal([]);
/** The places whose refused files of before a reload are among the uploads. @type {Set<string>} */
const recalled = new Set();

/** Show what was refused at this place before the page was loaded. @param {string} place */
export function recallRefused(place) {
  if (recalled.has(place)) return;
  recalled.add(place);
  const before = /** @type {Upload[] | null} */ (kept("localStorage", `refused.${place}`)) ?? [];
  uploads.value = [...uploads.value, ...before];
}

effect(() => {
  const [before, now] = [refused.peek(), uploads.value.filter((each) => each.state === "failed")];
  if (now.length === before.length && now.every((each, at) => each === before[at])) return;
  refused.value = now;
  for (const place of recalled) {
    // The file itself, with which it could be sent again, is gone after a reload.
    const here = now.filter((each) => each.place === place).map((each) => ({ ...each, taken: undefined }));
    keep("localStorage", `refused.${place}`, here.length ? here : null);
  }
});

const largest = () => me.value?.limits.upload_bytes ?? Infinity;

/** What is wrong with a file, and what to do. @param {Upload} upload */
export const whyRefused = ({ problem: { code, detail, status } }) =>
  status ? wordsOf({ code, detail, status, trace_id: "" }) : t(code, { limit: size(largest()) });

/** What the page itself finds wrong. @param {string} code the key of its words @returns {Upload["problem"]} */
const found = (code) => ({ code, detail: "", status: 0 });

/** Upload files to a session or a context. @param {Iterable<File>} files @param {Target} target @param {{replace?: boolean, quiet?: boolean}} [how] */
export function upload(files, target, { replace = false, quiet = false } = {}) {
  for (const file of files) {
    const key = crypto.randomUUID();
    const tooLarge = file.size > largest();
    uploads.value = [
      ...uploads.value,
      {
        key,
        place: target.id,
        name: file.name,
        size: file.size,
        state: tooLarge ? "failed" : "waiting",
        sent: 0,
        replace,
        quiet,
        problem: found("files.too_large"),
        at: new Date().toISOString(),
      },
    ];
    if (!tooLarge) waiting.set(key, { file, target });
  }
  begin();
}

/** Send what can be sent now. */
export function begin() {
  for (const each of uploads.value) {
    const next = waiting.get(each.key);
    // Of files of one name, the one chosen last has to arrive last.
    if (!next || sending.size >= AT_ONCE || next.target.holds?.(each.name) || isBeingSent(each)) continue;
    waiting.delete(each.key);
    transfer(each, next.file, next.target);
  }
}

/** @param {Upload} one @param {{name: string, place: string}} other */
const isSame = (one, other) => one.name === other.name && one.place === other.place;

/** @param {Upload} upload */
const isBeingSent = (upload) => [...sending.values()].some((each) => isSame(each.upload, upload));

/** Whether a later file of this name waits. @param {Upload} upload */
export const isFollowed = (upload) => uploads.value.some((each) => waiting.has(each.key) && isSame(each, upload));

/** Resolves once none of this name is being sent. @param {{name: string, place: string}} named @returns {Promise<void>} */
export const sent = (named) =>
  new Promise((resolve) => {
    const ended = uploads.subscribe((all) => {
      if (!all.some((each) => isSame(each, named) && each.state === "sending"))
        queueMicrotask(() => {
          ended();
          resolve();
        });
    });
  });

/** @param {Upload} upload @param {Partial<Upload>} changed */
function update(upload, changed) {
  uploads.value = uploads.value.map((each) => (each.key === upload.key ? { ...each, ...changed } : each));
}

/** @param {Upload} upload @param {File} file @param {Target} target */
async function transfer(upload, file, target) {
  const request = new XMLHttpRequest();
  sending.set(upload.key, { request, upload, file, target });
  const known = target.known(upload.name);
  update(upload, { state: "sending", replaces: known?.version });
  const earlier = known || !upload.replace ? known : await target.find?.(upload.name).catch(() => undefined);
  const content = await Promise.all([target.content(earlier), readable(file)]).catch(() => null);
  if (!content || !uploads.value.some((each) => each.key === upload.key)) {
    sending.delete(upload.key);
    update(upload, { state: "failed", problem: found("files.unreadable") });
    begin();
    return;
  }
  request.upload.onprogress = ({ loaded, total }) => update(upload, { sent: total ? loaded / total : 0 });
  request.upload.onload = () => {
    watch(upload, target).catch(() => {});
  };
  request.onloadend = () => {
    sending.delete(upload.key);
    arrive(upload, request, { file, target, before: content[0] });
    begin();
  };
  const form = new FormData();
  form.append("file", file, file.name);
  request.open("POST", `/api${target.address}${upload.replace ? "?replace=true" : ""}`);
  request.send(form);
}

/** Ask how much of a file the server has read, until it answers the upload. @param {Upload} upload @param {Target} target */
async function watch(upload, target) {
  for (await pause(READ_MS); sending.has(upload.key); await pause(READ_MS)) {
    const { files } = /** @type {Reading} */ (await get(`${target.address}/reading`));
    const { done = 0, total = 0 } = files[upload.name] ?? {};
    if (total) update(upload, { read: done / total });
  }
}

/** A folder, or a file that is gone by now, fails here: sending it would look like a lost connection. @param {File} file */
const readable = (file) => file.slice(0, 1).arrayBuffer();

/** @param {Upload} upload @param {XMLHttpRequest} request @param {{file: File, target: Target, before: File | null}} what */
async function arrive(upload, request, { file, target, before }) {
  if (request.status === 201) {
    const stored = /** @type {{documents: Document[]}} */ (JSON.parse(request.responseText));
    const wanted = uploads.value.find((each) => each.key === upload.key) ?? null;
    withdraw(upload);
    target.arrived(stored.documents, upload, wanted);
    if (before && wanted && !wanted.quiet && !(await areEqual(before, file))) sayReplaced(before, file, target);
    return;
  }
  const problem = readProblem(request.status, request.responseText, request.getResponseHeader("x-trace-id") ?? "");
  if (problem.status === 401) signedOut.value = true;
  const [error] = problem.errors ?? [];
  const { code, detail, status } = error
    ? { ...problem, code: error.code ?? "", detail: error.reason }
    : request.status
      ? problem
      : found("files.lost");
  const isTaken = [problem.code, error?.code].includes("name_taken");
  update(upload, {
    state: "failed",
    problem: { code, detail, status },
    taken: isTaken ? { replace: () => again(upload, file, target, true), both: () => again(upload, file, target, false) } : undefined,
  });
}

/** Send a refused file again: in the place of the other one, or by another name. @param {Upload} refused @param {File} file @param {Target} target @param {boolean} replace */
function again(refused, file, target, replace) {
  withdraw(refused);
  upload([replace ? file : renamed(file, freeName(file.name, target))], target, { replace });
}

/** @param {File} one @param {File} other */
async function areEqual(one, other) {
  if (one.size !== other.size) return false;
  const [a, b] = await Promise.all([one.arrayBuffer(), other.arrayBuffer()]);
  const [left, right] = [new Uint8Array(a), new Uint8Array(b)];
  return left.every((byte, place) => byte === right[place]);
}

/** Say that a file took the place of another one of its name, which can come back. @param {File} before @param {File} file @param {Target} target */
function sayReplaced(before, file, target) {
  const back = () => upload([before], target, { replace: true, quiet: true });
  notify(
    {
      key: `replaced.${target.id}.${file.name}`,
      kind: "info",
      text: t("files.replaced", { name: file.name }),
      actions: [
        { label: t("undo"), run: back },
        {
          label: t("files.both"),
          run: () => {
            back();
            upload([renamed(file, freeName(file.name, target))], target);
          },
        },
      ],
    },
    30,
  );
}

/** @param {File} file @param {string} name */
export const renamed = (file, name) => new File([file], name, { type: file.type });

/** "report (2).txt" @param {string} name @param {Target} target */
export function freeName(name, target) {
  const [, stem = name, ending = ""] = /^(.*?)(\.[^.]*)?$/s.exec(name) ?? [];
  for (let number = 2; ; number += 1) {
    const free = `${stem} (${number})${ending}`;
    if (!target.known(free) && !uploads.value.some((each) => isSame(each, { name: free, place: target.id }))) return free;
  }
}

/** What the API has as a whole is removed as soon as it is stored. @param {Upload} upload */
export function cancel(upload) {
  waiting.delete(upload.key);
  if (upload.sent < 1) sending.get(upload.key)?.request.abort();
  withdraw(upload);
}

/** @param {Upload} upload */
function withdraw({ key }) {
  uploads.value = uploads.value.filter((each) => each.key !== key);
}
