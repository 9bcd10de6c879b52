// The list of files of a session or a context: searched, ordered, chosen, replaced and removed.
import { send } from "./api.js";
import { summaryOfFiles, Widget } from "./files.js";
import { filesOfFolder } from "./folders.js";
import { t } from "./i18n.js";
import { Icon } from "./parts.js";
import { report } from "./store.js";
import { renamed, upload } from "./uploads.js";
import { h, useRef, useState } from "./vendor/ui.js";

/** @import { FileWidget, Ref, ShelfProperties } from "./types/page.js" */

/** So many files are seen at a glance; more can be searched and ordered. */
const GLANCE = 8;
/** So many rows at a time: a thousand at once would hold the page up. */
const ROWS = 50;
const COLLATOR = new Intl.Collator(undefined, { numeric: true });
/** @type {Record<string, (one: FileWidget, other: FileWidget) => number>} */
const ORDERS = {
  name: (one, other) => COLLATOR.compare(one.name, other.name),
  // Uploads that are not stored yet are the newest.
  added: (one, other) => (other.added || "~").localeCompare(one.added || "~"),
  status: (one, other) => RANKS[one.state] - RANKS[other.state] || (ORDERS.name?.(one, other) ?? 0),
};
const RANKS = { failed: 0, busy: 1, ready: 2 };

/** @param {ShelfProperties} properties */
export function Shelf({ rows, isKnown = true, target, mayChange = true, onAdd, onQuery, onRemoveAll }) {
  const [query, setQuery] = useState("");
  const [order, setOrder] = useState("name");
  const [most, setMost] = useState(ROWS);
  const field = /** @type {Ref<HTMLInputElement>} */ (useRef(null));
  const folder = /** @type {Ref<HTMLInputElement>} */ (useRef(null));
  const one = /** @type {Ref<HTMLInputElement>} */ (useRef(null));
  const [replacing, setReplacing] = useState("");
  const words = query.trim().toLowerCase();
  const found = rows.filter((each) => each.name.toLowerCase().includes(words)).sort(ORDERS[order]);
  /** @param {Ref<HTMLInputElement>} picker @param {string} label @param {(files: File[]) => void} take @param {{webkitdirectory?: boolean, multiple?: boolean}} how */
  const chooser = (picker, label, take, how) =>
    h("input", {
      type: "file",
      hidden: true,
      ref: picker,
      "aria-label": label,
      ...how,
      // The same file can be chosen again.
      onChange: ({ currentTarget }) => {
        take([...(currentTarget.files ?? [])]);
        currentTarget.value = "";
      },
    });
  const failed = rows.filter((each) => each.state === "failed" && each.added);
  /** All that could not be read, at once. @param {"POST" | "DELETE"} method */
  const settle = (method) => send(method, `${target.address}/failed`).then(() => target.again?.(), report);
  return h(
    "div",
    { class: "file-list" },
    h(
      "div",
      { class: "row file-tools" },
      (rows.length > GLANCE || query) &&
        h("input", {
          type: "search",
          class: "grow",
          "aria-label": t("files.search"),
          placeholder: t("files.search"),
          value: query,
          onInput: ({ currentTarget }) => {
            setQuery(currentTarget.value);
            onQuery?.(currentTarget.value);
          },
          // The list may be part of the form of the question.
          onKeyDown: (event) => {
            if (event.key === "Enter") event.preventDefault();
          },
        }),
      rows.length > GLANCE &&
        h(
          "select",
          { "aria-label": t("files.order"), value: order, onChange: ({ currentTarget }) => setOrder(currentTarget.value) },
          Object.keys(ORDERS).map((each) => h("option", { value: each, key: each }, t(`files.order.${each}`))),
        ),
      mayChange && [
        h("button", { type: "button", onClick: () => field.current?.click() }, h(Icon, { name: "clip" }), t("composer.attach")),
        h("button", { type: "button", onClick: () => folder.current?.click() }, h(Icon, { name: "folder" }), t("files.folder")),
        chooser(field, t("composer.attach"), onAdd, { multiple: true }),
        chooser(folder, t("files.folder"), (files) => onAdd(filesOfFolder(files)), { webkitdirectory: true }),
        chooser(
          one,
          t("files.replace"),
          ([file]) => {
            if (file) upload([renamed(file, replacing)], target, { replace: true });
          },
          {},
        ),
      ],
      onRemoveAll &&
        rows.length > 1 &&
        found.length > 0 &&
        h(
          "button",
          { type: "button", class: "quiet is-bad", onClick: () => onRemoveAll(found) },
          t(words ? "files.remove.found" : "files.remove.all", { n: found.length }),
        ),
    ),
    mayChange &&
      failed.length > 1 &&
      h(
        "p",
        { class: "row" },
        h("button", { type: "button", onClick: () => settle("POST") }, t("files.failed.again", { n: failed.length })),
        h(
          "button",
          { type: "button", class: "quiet is-bad", onClick: () => settle("DELETE") },
          t("files.failed.remove", { n: failed.length }),
        ),
      ),
    !onRemoveAll && rows.length > 0 && h("p", { class: "soft" }, summaryOfFiles(rows)),
    h(
      "ul",
      { class: "files is-list", "aria-label": t("files") },
      found.slice(0, most).map((each) =>
        h(Widget, {
          ...each,
          key: each.id,
          onReplace:
            mayChange && each.pages
              ? () => {
                  setReplacing(each.name);
                  one.current?.click();
                }
              : undefined,
        }),
      ),
    ),
    found.length > most &&
      h("p", null, h("button", { type: "button", class: "quiet", onClick: () => setMost(most + ROWS) }, t("sessions.more"))),
    !found.length && h("p", { class: "soft" }, t(!isKnown ? "loading" : rows.length || query ? "files.none_found" : "contexts.no_files")),
  );
}
