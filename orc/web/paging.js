// Lists in pages, and what is removed from them later.
import { ApiError, get, request } from "./api.js";
import { t } from "./i18n.js";
import { doLater, me, notify, report } from "./store.js";
import { begin } from "./uploads.js";
import { h, signal, useEffect, useRef, useState } from "./vendor/ui.js";

/** @import { Context, Signal } from "./types/page.js" */

const PAGE_SIZE = 50;
const AGAIN_MS = 2000;

/** @param {Promise<unknown>} work @param {() => void} again @param {string} [words] @param {() => void} [failed] so that it is shown as it still is */
export function then(work, again, words = "", failed = () => {}) {
  work.then(
    () => {
      if (words) notify({ text: words, kind: "info" }, 4);
      again();
    },
    (error) => {
      report(error);
      failed();
    },
  );
}

/**
 * A list in pages. @template T
 * @param {string} address @param {string} name of the list in the response
 * @returns {{items: T[], isKnown: boolean, again: () => Promise<void>, more: (() => void) | null}} `again` loads as many as are shown
 */
export function usePages(address, name) {
  const unknown = () => ({ items: /** @type {T[]} */ ([]), cursor: /** @type {string | null} */ (null), isKnown: false });
  const [{ items, cursor, isKnown }, setList] = useState(unknown);
  const current = /** @type {{current: string}} */ (useRef(address));
  current.current = address;
  const load = async (/** @type {T[]} */ before, /** @type {string | null} */ from, /** @type {number} */ wanted) => {
    let [all, after] = [before, from];
    try {
      do {
        const query = `limit=${PAGE_SIZE}${after ? `&cursor=${encodeURIComponent(after)}` : ""}`;
        const found = /** @type {any} */ (await get(`${address}${address.includes("?") ? "&" : "?"}${query}`));
        all = [...all, ...found[name]];
        after = found.next_cursor ?? null;
      } while (after && all.length < wanted);
      if (current.current === address) setList({ items: all, cursor: after, isKnown: true });
    } catch (error) {
      report(error);
      // What could not be read now is read soon, as long as it is shown.
      const isPassing = error instanceof ApiError && error.problem.retryable;
      if (isPassing)
        setTimeout(() => {
          if (current.current === address) load(before, from, wanted);
        }, AGAIN_MS);
    }
  };
  const again = () => load([], null, items.length);
  useEffect(() => {
    setList(unknown());
    load([], null, 1);
  }, [address]);
  useEffect(
    () => () => {
      current.current = "";
    },
    [],
  );
  return {
    items,
    isKnown,
    again,
    more: cursor
      ? () => {
          load(items, cursor, items.length + 1);
        }
      : null,
  };
}

/** @param {{more: (() => void) | null}} properties */
export const More = ({ more }) => more && h("p", null, h("button", { type: "button", class: "quiet", onClick: more }, t("sessions.more")));

/** @param {Context} context */
export const may = ({ role }) => ({
  edit: role === "editor" || role === "admin",
  manage: role === "admin" || Boolean(me.value?.can.administer),
});

/** What is about to be removed, by its address: it is not listed meanwhile. @type {Signal<Set<string>>} */
export const leaving = signal(new Set());

/** Remove something, unless the user takes that back. @param {string} address @param {string} text @param {() => Promise<void>} again @param {string} focus */
export function removeLater(address, text, again, focus) {
  leaving.value = new Set([...leaving.value, address]);
  const stay = () => {
    leaving.value = new Set([...leaving.value].filter((each) => each !== address));
  };
  doLater(text, {
    key: address,
    focus,
    undo: stay,
    act: (keepalive) =>
      request("DELETE", address, { keepalive })
        .catch(report)
        .then(again)
        .finally(() => {
          stay();
          begin();
        }),
  });
}
