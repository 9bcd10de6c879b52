// The documents of the open session, and their widgets in front of the text box.
import { ApiError, get, request } from "./api.js";
import { has, number, size, t } from "./i18n.js";
import { Icon, Lazy, Middle, tailOf } from "./parts.js";
import { asked, change, contexts, conversationId, documents, heard, sendsPictures, settle, turns } from "./session.js";
import { leaving as leavingSessions, loadSessions } from "./sessions.js";
import { carryOut, doLater, notify, report, takeBack, wordsOfCode } from "./store.js";
import { begin, cancel, freeName, isFollowed, refused, sent, upload, uploads, whyRefused } from "./uploads.js";
import { computed, effect, h, signal, useLayoutEffect, useRef } from "./vendor/ui.js";

/** @import { Citation, Document, FileWidget, Progress, ReadonlySignal, Ref, Removal, Signal, Target, TurnView, Upload } from "./types/page.js" */

/** The session whose documents are listed. */
const listed = signal("");
/** Documents that are hidden until their removal is certain. @type {Signal<Set<string>>} */
const leaving = signal(new Set());
/** By document id; not copied, as a thousand files are worked on at once. @type {Map<string, Progress>} */
const work = new Map();
/** How often `work` was changed. */
const worked = signal(0);
/** The documents that are not being removed. */
export const staying = computed(() => documents.value.filter((each) => !leaving.value.has(each.document_id)));
/** Uploads to the open session. */
export const coming = computed(() => uploads.value.filter((each) => each.place === conversationId.value));
/** How many of these are not stored or refused yet. */
export const unsettled = computed(() => coming.value.filter((each) => each.state !== "failed").length);
/** Whether not all files failed, or a context is asked about. */
export const hasUsableFiles = computed(
  () =>
    contexts.value.length > 0 ||
    [...staying.value.map((each) => each.status), ...coming.value.map((each) => each.state)].some((state) => state !== "failed"),
);

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
    drop(id, made.get(id) ?? "");
    dropSuggestions();
    if (conversationId.value && documents.value.some((each) => each.document_id === id))
      refreshDocuments(conversationId.value).catch(report);
  } else if (kind === "document_progress") {
    work.set(data.document_id, data);
    worked.value += 1;
  } else {
    made.set(data.document_id, data.created_at);
    put(data);
  }
}

/** Suggestions may be about a file that is gone. */
function dropSuggestions() {
  for (const turn of turns.value) if (turn.value.suggestions.length) change(turn, { suggestions: [] });
}

/** When each document was made; a later one of the same name has the same id. @type {Map<string, string>} */
const made = new Map();
/** When removed documents were made: a late event may name them. @type {Map<string, string>} */
const gone = new Map();
/** @param {Document} document */
const isGone = ({ document_id: id, created_at: at }) => at <= (gone.get(id) ?? "");

/** Drop a document, but not a later one of the same name. @param {string} id @param {string} at its `created_at` */
function drop(id, at) {
  if (at > (gone.get(id) ?? "")) gone.set(id, at);
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

// --- Uploads

/** @param {string} session @returns {Target} */
const targetOf = (session) => ({
  id: session,
  address: `/conversations/${session}/documents`,
  // An upload that overtakes the removal of a file of its name would be removed.
  holds: (name) => [...removals.values()].some((each) => each.name === name && each.session === session),
  known: (name) => (session === conversationId.value ? staying.value.find((each) => each.blob_name === name) : undefined),
  content: (earlier) => contentOf(`/conversations/${session}/documents`, earlier),
  arrived: (stored, one, wanted) => arrived(session, stored, one, wanted),
});

/** The bytes of a document that is about to be replaced. @param {string} address @param {Document} [earlier] @returns {Promise<File | null>} */
export async function contentOf(address, earlier) {
  if (!earlier) return null;
  const response = await request("GET", `${address}/${earlier.document_id}/content`).catch(() => null);
  return response && new File([await response.blob()], earlier.blob_name);
}

/** Attach files to the open session. @param {Iterable<File>} files */
export function attach(files) {
  const all = [...files];
  for (const { name, session, key } of removals.values()) {
    if (session === conversationId.value && all.some((file) => file.name === name)) carryOut(key);
  }
  upload(all, targetOf(conversationId.value ?? ""));
}

/** Attach a text as a file: a question has a limit. @param {string} text */
export function attachText(text) {
  const target = targetOf(conversationId.value ?? "");
  const name = `${t("files.pasted")}.txt`;
  const isTaken = target.known(name) || coming.value.some((each) => each.name === name);
  upload([new File([text], isTaken ? freeName(name, target) : name, { type: "text/plain" })], target);
  notify({ text: t("files.pasted.said"), kind: "info" });
}

/** @param {string} session @param {Document[]} stored @param {Upload} one @param {Upload | null} wanted null: it was cancelled meanwhile */
function arrived(session, stored, one, wanted) {
  for (const document of stored) {
    if (wanted) keepUploaded(document, wanted);
    // The next file of its name takes the place of one that was cancelled.
    else if (!isFollowed(one)) removeDocuments([document], session);
  }
  settle(session);
  if (conversationId.value === session) {
    stored.forEach(put);
    heard.value = session;
  } else loadSessions();
}

// A session that is deleted would come back with its next file.
effect(() => {
  const deleted = leavingSessions.value;
  for (const each of uploads.peek()) if (deleted.has(each.place)) cancel(each);
});

// --- Removals

/** By document id, which a later file of the same name has too. @type {Map<string, Removal>} */
const removals = new Map();

/** Remove documents, unless the user takes that back. @param {Document[]} gone @param {string} session */
function removeDocuments(gone, session) {
  const [first] = gone;
  if (!first) return;
  const key = `removed.${first.document_id}`;
  const some = new Map(
    gone.map((document) => [document.document_id, /** @type {Removal} */ ({ key, session, name: document.blob_name, document })]),
  );
  leaving.value = new Set([...leaving.value, ...some.keys()]);
  dropSuggestions();
  asked.value = asked.value.filter((each) => gone.every(({ blob_name: name }) => each !== name));
  for (const [id, removal] of some) removals.set(id, removal);
  const text = gone.length > 1 ? t("files.removed.many", { n: gone.length }) : t("files.removed", { name: first.blob_name });
  doLater(text, {
    key,
    focus: `[data-file="${first.document_id}"] button, #files-line`,
    act: async (keepalive) => {
      await Promise.all([...some].map(([id, removal]) => removeNow(id, removal, keepalive)));
    },
    undo: () => {
      for (const id of some.keys()) removals.delete(id);
      leaving.value = new Set([...leaving.value].filter((each) => !some.has(each)));
      begin();
    },
  });
}

/** Remove these files: stored ones with one notice. @param {FileWidget[]} some */
function removeAll(some) {
  const ids = new Set(some.map((each) => each.id));
  removeDocuments(
    staying.value.filter((each) => ids.has(each.document_id)),
    conversationId.value ?? "",
  );
  for (const each of coming.value) if (ids.has(each.key)) cancel(each);
}

/** A removal asked for while the replacement was sent would be that of the replacement. @param {Document} stored @param {Upload} upload */
function keepUploaded({ document_id: id }, { replaces }) {
  const removal = removals.get(id);
  if (removal && removal.document.version === replaces) takeBack(removal.key);
}

/** @param {string} id @param {Removal} removal @param {boolean} keepalive the page is being left */
async function removeNow(id, removal, keepalive) {
  if (!keepalive) await sent({ name: removal.name, place: removal.session });
  if (removals.get(id) !== removal) return;
  try {
    await request("DELETE", `/conversations/${removal.session}/documents/${id}`, { keepalive });
    drop(id, removal.document.created_at);
  } catch (error) {
    if (error instanceof ApiError && error.problem.status === 404) drop(id, removal.document.created_at);
    else report(error);
  }
  if (removals.get(id) !== removal) return;
  removals.delete(id);
  leaving.value = new Set([...leaving.value].filter((each) => each !== id));
  begin();
}

/** Make removals certain: the next question must not find what is in them. */
export const settleRemovals = () => Promise.all([...removals.values()].map(({ key }) => carryOut(key)));

/** Resolves once no upload to this session is left, or `isOver`. @param {string} id @param {() => boolean} isOver @returns {Promise<void>} */
export const uploaded = (id, isOver) =>
  new Promise((resolve) => {
    settleRemovals();
    const ended = effect(() => {
      if (isOver() || !uploads.value.some((each) => each.place === id && each.state !== "failed"))
        queueMicrotask(() => {
          ended();
          resolve();
        });
    });
  });

// --- The list

/** @param {Document} document */
const isAskable = ({ readable, reason_code: code }) => readable || (code === "no_text" && sendsPictures.value);

/** The state of a document in words. @param {Document} document @param {Progress} [progress] */
function statusOf(document, progress) {
  if (document.status === "failed") return t("files.failed", { reason: wordsOfCode(document.reason_code, document.reason) });
  if (document.status === "completed") return t("files.ready", { n: document.pages });
  const key = `files.${document.status}`;
  const status = document.readable ? t("files.can_ask") : t(has(key) ? key : "files.processing");
  const { done, total } = progress ?? { done: 0, total: 0 };
  return done < total
    ? t(document.readable ? "files.part" : "files.part.read", { status, percent: number(done / total, { style: "percent" }) })
    : status;
}

/** @param {string} name */
function askAbout(name) {
  asked.value = asked.value.includes(name) ? asked.value.filter((each) => each !== name) : [...asked.value, name];
}

/** A stored document as it is shown. @param {Document} document @param {Progress} [progress] @returns {FileWidget} */
export const storedRow = (document, progress) => ({
  id: document.document_id,
  name: document.blob_name,
  bytes: document.size,
  pages: document.pages,
  added: document.created_at,
  state: document.status === "failed" ? "failed" : document.status === "completed" ? "ready" : "busy",
  status: statusOf(document, progress),
});

/** An upload as it is shown. @param {Upload} each @returns {FileWidget} */
export const comingRow = (each) => ({
  id: each.key,
  name: each.name,
  bytes: each.size,
  pages: 0,
  added: "",
  taken: each.taken,
  onRemove: () => cancel(each),
  state: each.state === "failed" ? "failed" : "busy",
  status:
    each.state === "failed"
      ? t("files.refused", { reason: whyRefused(each) })
      : each.state === "waiting"
        ? t("files.waiting")
        : each.sent < 1
          ? t("files.uploading", { percent: Math.round(each.sent * 100) })
          : each.read === undefined
            ? t("files.reading")
            : t("files.part.read", { status: t("files.reading"), percent: number(each.read, { style: "percent" }) }),
  progress: each.state !== "sending" ? undefined : each.sent < 1 ? each.sent : (each.read ?? null),
});

/** The files that a question could not reach, as they had been refused: all, or those that it names. @param {TurnView} turn @param {boolean} all */
export const refusedBefore = ({ question, files, createdAt }, all) =>
  refused.value.filter(
    ({ place, name, at }) =>
      place === conversationId.value && at <= createdAt && ((all && !files.length) || question.toLowerCase().includes(name.toLowerCase())),
  );

/** All files of the open session as they are shown. @type {ReadonlySignal<FileWidget[]>} */
const rows = computed(() => {
  worked.value;
  const stored = staying.value.map((each) => {
    const progress = work.get(each.document_id);
    const row = storedRow(each, progress);
    return {
      ...row,
      asked: asked.value.includes(each.blob_name),
      progress: row.state === "busy" && progress && progress.done < progress.total ? progress.done / progress.total : undefined,
      onAsk: isAskable(each) ? () => askAbout(each.blob_name) : undefined,
      onRemove: () => removeDocuments([each], conversationId.value ?? ""),
    };
  });
  // The API may list a file before it has answered the upload.
  const isListed = (/** @type {Upload} */ { name, state, replaces }) =>
    state === "sending" && documents.value.some((each) => each.blob_name === name && each.version !== replaces);
  return [...stored, ...coming.value.filter((each) => !isListed(each)).map(comingRow)];
});

/** @param {string} name */
const ending = (name) => (/\.([a-z0-9]{1,5})$/i.exec(name)?.[1] ?? "").toUpperCase();

/** @param {FileWidget} properties */
export function Widget({ id, name, bytes, status, state, progress, asked: isAsked, onAsk, onRemove, onReplace, taken }) {
  const body = [
    h("span", { class: "file-kind", "aria-hidden": "true" }, ending(name) || "·"),
    h(
      "span",
      { class: "file-text" },
      h("span", { class: "file-name" }, h(Middle, { text: name, tail: tailOf(name) })),
      h(
        "span",
        { class: "file-status", title: state === "failed" ? status : undefined },
        status,
        bytes && state === "ready" ? ` · ${size(bytes)}` : "",
      ),
    ),
  ];
  return h(
    "li",
    { class: `file is-${state}${isAsked ? " is-asked" : ""}`, "data-file": id },
    onAsk
      ? h(
          "button",
          {
            type: "button",
            class: "file-main",
            "aria-pressed": isAsked ? "true" : "false",
            onClick: onAsk,
            title: t(isAsked ? "files.asked" : "files.ask"),
          },
          h("span", { class: "file-box", "aria-hidden": "true" }, h(Icon, { name: isAsked ? "check" : "box" })),
          body,
        )
      : h("span", { class: "file-main" }, body),
    progress === undefined ? null : h("progress", { value: progress ?? undefined, max: 1, "aria-label": t("files.progress", { name }) }),
    taken && [
      h("button", { type: "button", onClick: taken.replace }, t("files.replace")),
      h("button", { type: "button", onClick: taken.both }, t("files.both")),
    ],
    onReplace &&
      h(
        "button",
        {
          type: "button",
          class: "quiet icon",
          "aria-label": t("files.replace.name", { name }),
          title: t("files.replace.name", { name }),
          onClick: onReplace,
        },
        h(Icon, { name: "again" }),
      ),
    onRemove &&
      h(
        "button",
        {
          type: "button",
          class: "quiet icon",
          "aria-label": t("files.remove", { name }),
          title: t("files.remove", { name }),
          onClick: onRemove,
        },
        h(Icon, { name: "close" }),
      ),
  );
}

/** So many files are shown as widgets; more become one line, which opens their list. */
const FEW = 3;
/** So many that are not ready are shown nevertheless; a thousand would hold the page up. */
const MOST_BUSY = 30;
export const listOpen = signal(false);

/** All files in one line: "10 files · 387 pages · 1 cannot be used". @param {FileWidget[]} all */
export function summaryOfFiles(all) {
  const count = (/** @type {FileWidget["state"]} */ state) => all.filter((each) => each.state === state).length;
  const pages = all.reduce((sum, each) => sum + each.pages, 0);
  const [failed, busy] = [count("failed"), count("busy")];
  return [
    t("files.count", { n: all.length }),
    pages ? t("files.pages", { n: pages }) : "",
    busy ? t("files.busy", { n: busy }) : "",
    failed ? t("files.failed.count", { n: failed }) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** The files of the session: widgets while they are few or not ready, and a line that opens their list. */
export function Files() {
  const list = /** @type {Ref<HTMLUListElement>} */ (useRef(null));
  const before = useRef(0);
  const all = rows.value;
  useLayoutEffect(() => {
    // What is attached stays in view.
    if (all.length > before.current) list.current?.scrollTo(list.current.scrollWidth, list.current.scrollHeight);
    before.current = all.length;
  });
  if (!all.length) return null;
  const isMany = all.length > FEW;
  const open = listOpen.value;
  const shown = isMany ? all.filter((each) => each.state === "busy").slice(-MOST_BUSY) : all;
  return h(
    "section",
    { class: "shelf", "aria-label": t("files"), "data-askable": all.filter((each) => each.onAsk).length },
    (isMany || open) &&
      h(
        "button",
        {
          type: "button",
          class: "quiet files-line",
          id: "files-line",
          "aria-expanded": open ? "true" : "false",
          onClick: () => {
            listOpen.value = !open;
          },
        },
        h(Icon, { name: "clip" }),
        h("span", null, summaryOfFiles(all)),
        h(Icon, { name: "right" }),
      ),
    open
      ? h(Lazy, {
          from: () => import("./shelf.js"),
          name: "Shelf",
          properties: { rows: all, target: targetOf(conversationId.value ?? ""), onAdd: attach, onRemoveAll: removeAll },
        })
      : shown.length > 0 &&
          h(
            "ul",
            { class: "files", ref: list, "aria-label": t("files") },
            shown.map((each) => h(Widget, { key: each.id, ...each })),
          ),
  );
}
