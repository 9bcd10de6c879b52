// The documents of the open session and their uploads.
import { ApiError, get, readProblem, request as ask } from "./api.js";
import { change, conversationId, sendsPictures, settle, turns } from "./chat.js";
import { has, size, t } from "./i18n.js";
import { dismiss, leaving as leavingSessions, loadSessions, me, notify, report, signedOut, UNDO_SECONDS, wordsOf, wordsOfCode } from "./store.js";
import { Icon, Middle, tailOf } from "./parts.js";
import { listen } from "./stream.js";
import { computed, effect, h, signal, useLayoutEffect, useRef } from "./vendor/ui.js";

/** @import { Citation, Document, FileWidget, FilesProperties, Named, Progress, Ref, Removal, Sending, Signal, Upload } from "./types/page.js" */

const AT_ONCE = 3;

/** @type {Signal<Document[]>} */
export const documents = signal([]);
/** Uploads of all sessions: they go on while another one is open. @type {Signal<Upload[]>} */
const allUploads = signal([]);
const uploads = computed(() => allUploads.value.filter((each) => each.session === conversationId.value));
/** By the key of the upload, which may be cancelled by now. @type {Map<string, Sending>} */
const sending = new Map();
/** @type {Map<string, File>} */
const waiting = new Map();

/** The session whose documents are listed. */
const listed = signal("");
/** Documents that are hidden until their removal is certain. @type {Signal<Set<string>>} */
const leaving = signal(new Set());
/** By document id. @type {Signal<Record<string, Progress>>} */
const work = signal({});
/** The documents that are not being removed. */
export const staying = computed(() => documents.value.filter((each) => !leaving.value.has(each.document_id)));
/** Whether not all files failed. */
export const hasUsableFiles = computed(() => [...staying.value.map((each) => each.status), ...uploads.value.map((each) => each.state)]
  .some((state) => state !== "failed"));

export function forgetFiles() {
  settleRemovals();
  documents.value = [];
  listed.value = "";
}

/** @param {string} id */
export async function refreshDocuments(id) {
  const before = new Set(documents.value);
  const found = /** @type {{documents: Document[]}} */ (await get(`/conversations/${id}/documents`));
  if (conversationId.value !== id) return;
  // What came since may be later than the list.
  const since = documents.value.filter((each) => !before.has(each));
  documents.value = found.documents.filter((each) => !isGone(each));
  since.forEach(put);
  listed.value = id;
}

/** What became of the cited file, if it is of this session. @param {Citation} citation @returns {"" | "removed" | "replaced"} */
export function fateOf({ document_id: id, document_version: version, context_type: type, url }) {
  if (url || (type && type !== "session") || listed.value !== conversationId.value) return "";
  const now = staying.value.find((each) => each.document_id === id);
  if (!now) return "removed";
  return version && now.version && now.version !== version ? "replaced" : "";
}

/** @param {string} kind @param {any} data */
export function onDocumentEvent(kind, data) {
  if (kind === "document_removed") {
    const id = data.document_id;
    drop(id, heard.get(id) ?? "");
    dropSuggestions();
    if (conversationId.value && documents.value.some((each) => each.document_id === id)) refreshDocuments(conversationId.value).catch(report);
  } else if (kind === "document_progress") work.value = { ...work.value, [data.document_id]: data };
  else {
    heard.set(data.document_id, data.created_at);
    put(data);
  }
}

/** Suggestions may be about a file that is gone. */
function dropSuggestions() {
  for (const turn of turns.value) if (turn.value.suggestions.length) change(turn, { suggestions: [] });
}

/** When each document was made; a later one of the same name has the same id. @type {Map<string, string>} */
const heard = new Map();
/** When removed documents were made: a late event may name them. @type {Map<string, string>} */
const gone = new Map();
/** @param {Document} document */
const isGone = ({ document_id: id, created_at: made }) => made <= (gone.get(id) ?? "");

/** Drop a document, but not a later one of the same name. @param {string} id @param {string} made its `created_at` */
function drop(id, made) {
  if (made > (gone.get(id) ?? "")) gone.set(id, made);
  documents.value = documents.value.filter((each) => each.document_id !== id || !isGone(each));
}

/** An event may overtake the answer to an upload: the later record counts. @param {Document} document */
function put(document) {
  if (isGone(document)) return;
  const place = documents.value.findIndex((each) => each.document_id === document.document_id);
  const next = [...documents.value];
  if ((next[place]?.updated_at ?? "") > document.updated_at) return;
  if (place < 0) next.push(document);
  else next[place] = document;
  documents.value = next;
}

/** @param {Upload} upload @param {Partial<Upload>} changed */
function update(upload, changed) {
  allUploads.value = allUploads.value.map((each) => (each.key === upload.key ? { ...each, ...changed } : each));
}

/** Upload files, a few at a time. @param {Iterable<File>} files */
export function attach(files) {
  const limits = me.value?.limits;
  const chosen = [...files];
  for (const file of chosen) {
    const key = crypto.randomUUID();
    const tooLarge = limits !== undefined && file.size > limits.upload_bytes;
    const reason = () => (tooLarge ? t("files.too_large", { limit: size(limits.upload_bytes) }) : "");
    const state = tooLarge ? "failed" : "waiting";
    const session = conversationId.value ?? "";
    allUploads.value = [...allUploads.value, { key, session, name: file.name, size: file.size, state, sent: 0, reason }];
    if (tooLarge) continue;
    waiting.set(key, file);
    for (const [id, { name }] of removals) if (name === file.name) removeNow(id);
  }
  begin();
}

function begin() {
  for (const upload of allUploads.value) {
    const file = waiting.get(upload.key);
    if (!file || sending.size >= AT_ONCE || isBeingRemoved(upload) || isBeingSent(upload)) continue;
    waiting.delete(upload.key);
    transfer(upload, file);
  }
}

/** @param {Upload} upload @param {File} file */
function transfer(upload, file) {
  const request = new XMLHttpRequest();
  sending.set(upload.key, { request, upload });
  update(upload, { state: "sending", replaces: documents.value.find((each) => each.blob_name === upload.name)?.version });
  request.upload.onprogress = ({ loaded, total }) => update(upload, { sent: total ? loaded / total : 0 });
  request.onloadend = () => {
    sending.delete(upload.key);
    arrive(upload, request);
    begin();
  };
  const form = new FormData();
  form.append("file", file, file.name);
  request.open("POST", `/api/conversations/${upload.session}/documents`);
  request.send(form);
}

/** @param {Upload} upload @param {XMLHttpRequest} request */
function arrive(upload, request) {
  if (request.status === 201) {
    const stored = /** @type {{documents: Document[]}} */ (JSON.parse(request.responseText));
    const wanted = allUploads.value.find((each) => each.key === upload.key);
    withdraw(upload);
    // The next file of its name takes the place of one that was cancelled.
    const isReplaced = allUploads.value.some((each) => waiting.has(each.key) && isSame(each, upload));
    for (const document of stored.documents) {
      if (wanted) keepUploaded(document, wanted);
      else if (!isReplaced) removeDocument(document, upload.session);
    }
    settle(upload.session);
    if (conversationId.value === upload.session) {
      stored.documents.forEach(put);
      listen(upload.session);
    } else loadSessions();
    return;
  }
  const problem = readProblem(request.status, request.responseText, request.getResponseHeader("x-trace-id") ?? "");
  if (problem.status === 401) signedOut.value = true;
  const [error] = problem.errors ?? [];
  const reason = () => (error ? wordsOfCode(error.code, error.reason) : request.status ? wordsOf(problem) : t("files.lost"));
  update(upload, { state: "failed", reason });
}

/** What the API has as a whole is removed as soon as it is stored. @param {Upload} upload */
function cancel(upload) {
  waiting.delete(upload.key);
  if (upload.sent < 1) sending.get(upload.key)?.request.abort();
  withdraw(upload);
}

/** @param {Upload} upload */
function withdraw({ key }) {
  allUploads.value = allUploads.value.filter((each) => each.key !== key);
}

// A session that is deleted would come back with its next file.
effect(() => {
  const deleted = leavingSessions.value;
  for (const each of allUploads.peek()) if (deleted.has(each.session)) cancel(each);
});

// --- Removals

/** By document id, which a later file of the same name has too. @type {Map<string, Removal>} */
const removals = new Map();

/** @param {Named} one @param {Named} other */
const isSame = (one, other) => one.name === other.name && one.session === other.session;

/** Of files of one name, the one chosen last has to arrive last. @param {Named} named */
const isBeingSent = (named) => [...sending.values()].some(({ upload }) => isSame(upload, named));

/** An upload that overtakes the removal of a file of its name would be removed. @param {Named} named */
const isBeingRemoved = (named) => [...removals.values()].some((each) => isSame(each, named));

/** Remove a document, unless the user takes that back. @param {Document} document @param {string} session */
function removeDocument(document, session) {
  const { document_id: id, blob_name: name } = document;
  leaving.value = new Set([...leaving.value, id]);
  dropSuggestions();
  clearTimeout(removals.get(id)?.timer);
  removals.set(id, { timer: window.setTimeout(() => removeNow(id), UNDO_SECONDS * 1000), session, name, document });
  const undo = () => takeBack(id);
  notify({ key: `removed.${id}`, kind: "info", text: t("files.removed", { name }), action: { label: t("undo"), run: undo } }, UNDO_SECONDS);
}

/** @param {string} id */
function takeBack(id) {
  clearTimeout(removals.get(id)?.timer);
  removals.delete(id);
  dismiss(`removed.${id}`);
  stay(id);
  begin();
}

/** A removal asked for while the replacement was sent would be that of the replacement. @param {Document} stored @param {Upload} upload */
function keepUploaded({ document_id: id }, { replaces }) {
  const removal = removals.get(id);
  if (removal && removal.document.version === replaces) takeBack(id);
}

/** @param {string} id */
const stay = (id) => { leaving.value = new Set([...leaving.value].filter((each) => each !== id)); };

/** Resolves once none of this name is being sent. @param {Named} named @returns {Promise<void>} */
const sent = (named) => new Promise((resolve) => {
  const ended = allUploads.subscribe((all) => {
    if (!all.some((each) => isSame(each, named) && each.state === "sending")) queueMicrotask(() => { ended(); resolve(); });
  });
});

/** @param {string} id @param {boolean} [keepalive] the page is being left */
async function removeNow(id, keepalive = false) {
  const removal = removals.get(id);
  if (!removal) return;
  clearTimeout(removal.timer);
  dismiss(`removed.${id}`);
  if (!keepalive) await sent(removal);
  if (removals.get(id) !== removal) return;
  removal.ending ??= carryOut(id, removal, keepalive);
  await removal.ending;
}

/** @param {string} id @param {Removal} removal @param {boolean} keepalive */
async function carryOut(id, removal, keepalive) {
  try {
    await ask("DELETE", `/conversations/${removal.session}/documents/${id}`, { keepalive });
    drop(id, removal.document.created_at);
  } catch (error) {
    if (error instanceof ApiError && error.problem.status === 404) drop(id, removal.document.created_at);
    else report(error);
  }
  if (removals.get(id) !== removal) return;
  removals.delete(id);
  stay(id);
  begin();
}

/** Make removals certain: the next question must not find what is in them. */
export const settleRemovals = () => Promise.all([...removals.keys()].map((id) => removeNow(id)));

addEventListener("pagehide", () => { for (const id of removals.keys()) removeNow(id, true); });

/** @param {Document} document */
const isAskable = ({ readable, reason_code: code }) =>
  readable || (code === "no_text" && sendsPictures.value);

/** The state of a document in words. @param {Document} document */
export function statusOf(document) {
  if (document.status === "failed") return t("files.failed", { reason: wordsOfCode(document.reason_code, document.reason) });
  if (document.status === "completed") return t("files.ready", { n: document.pages });
  const key = `files.${document.status}`;
  const status = document.readable ? t("files.can_ask") : t(has(key) ? key : "files.processing");
  const { done, total } = work.value[document.document_id] ?? { done: 0, total: 0 };
  return done < total ? t("files.part", { status, n: done, of: total }) : status;
}

/** @param {string} name */
const ending = (name) => (/\.([a-z0-9]{1,5})$/i.exec(name)?.[1] ?? "").toUpperCase();

/** @param {FileWidget} properties */
function Widget({ name, bytes, status, state, progress, asked, onAsk, onRemove }) {
  const body = [
    h("span", { class: "file-kind", "aria-hidden": "true" }, ending(name) || "·"),
    h("span", { class: "file-text" }, h("span", { class: "file-name" }, h(Middle, { text: name, tail: tailOf(name) })),
      h("span", { class: "file-status", title: state === "failed" ? status : undefined }, status, bytes && state === "ready" ? ` · ${size(bytes)}` : "")),
  ];
  return h("li", { class: `file is-${state}${asked ? " is-asked" : ""}` },
    onAsk
      ? h("button", { type: "button", class: "file-main", "aria-pressed": asked ? "true" : "false", onClick: onAsk,
        title: t(asked ? "files.asked" : "files.ask") }, body)
      : h("span", { class: "file-main" }, body),
    progress === undefined ? null : h("progress", { value: progress, max: 1, "aria-label": t("files.progress", { name }) }),
    h("button", { type: "button", class: "quiet icon", "aria-label": t("files.remove", { name }), onClick: onRemove },
      h(Icon, { name: "close" })));
}

/** @param {HTMLElement} row */
const isAtEnd = (row) => row.scrollLeft + row.clientWidth >= row.scrollWidth - 8 && row.scrollTop + row.clientHeight >= row.scrollHeight - 8;

/** The widgets of all files. @param {FilesProperties} properties */
export function Files({ asked, onAsk, onRemove }) {
  const list = /** @type {Ref<HTMLUListElement>} */ (useRef(null));
  const before = useRef(0);
  const atEnd = useRef(false);
  useLayoutEffect(() => {
    // What is attached stays in view: on a phone the files are one row.
    if (uploads.value.length > before.current) atEnd.current = true;
    before.current = uploads.value.length;
    if (atEnd.current) list.current?.scrollTo(list.current.scrollWidth, list.current.scrollHeight);
  });
  if (!staying.value.length && !uploads.value.length) return null;
  const stored = staying.value.map((each) => ({
    key: each.document_id, name: each.blob_name, bytes: each.size, status: statusOf(each),
    state: each.status === "failed" ? "failed" : each.status === "completed" ? "ready" : "busy",
    asked: asked.includes(each.blob_name),
    onAsk: isAskable(each) ? () => onAsk(each.blob_name) : undefined, onRemove: () => { onRemove(each.blob_name); removeDocument(each, conversationId.value ?? ""); },
  }));
  // The API may list a file before it has answered the upload.
  const isListed = (/** @type {Upload} */ { name, state, replaces }) => state === "sending"
    && documents.value.some((each) => each.blob_name === name && each.version !== replaces);
  const coming = uploads.value.filter((each) => !isListed(each)).map((each) => ({
    key: each.key, name: each.name, bytes: each.size, onRemove: () => cancel(each),
    state: each.state === "failed" ? "failed" : "busy",
    status: each.state === "failed" ? t("files.failed", { reason: each.reason() }) : each.state === "waiting"
      ? t("files.waiting") : each.sent < 1 ? t("files.uploading", { percent: Math.round(each.sent * 100) }) : t("files.reading"),
    progress: each.state === "sending" && each.sent < 1 ? each.sent : undefined,
  }));
  const all = [...stored, ...coming];
  const failed = all.filter((each) => each.state === "failed");
  const others = all.filter((each) => each.state !== "failed");
  return h("ul", { class: "files", ref: list, "aria-label": t("files"), onScroll: ({ currentTarget: row }) => { atEnd.current = isAtEnd(row); } },
    failed.length > 1 ? h(Failed, { files: failed }) : failed.map((each) => h(Widget, each)), others.map((each) => h(Widget, each)));
}

/** Failed files in one row: many would hide those that can be asked about. @param {{files: FileWidget[]}} properties */
const Failed = ({ files }) => h("li", { class: "failed-files" },
  h("details", null, h("summary", null, t("files.failed.count", { n: files.length })),
    h("ul", null, files.map((each) => h(Widget, each)))));
