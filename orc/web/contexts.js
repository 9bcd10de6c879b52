// Contexts: places for shared documents. The API decides who may do what.
import { ApiError, get, request, send } from "./api.js";
import { comingRow, contentOf, storedRow } from "./files.js";
import { dateOf, t } from "./i18n.js";
import { Members } from "./members.js";
import { leaving, may, More, removeLater, then, usePages } from "./paging.js";
import { Icon } from "./parts.js";
import { beginAbout } from "./session.js";
import { Shelf } from "./shelf.js";
import { dropTarget, focusOn, me, report } from "./store.js";
import { recallRefused, upload, uploads } from "./uploads.js";
import { h, useEffect, useLayoutEffect, useRef, useState } from "./vendor/ui.js";

/** @import { Context, ConversationHead, Document, Target } from "./types/page.js" */

/** @type {Partial<Record<Context["type"], Context["type"]>>} */
const BELOW = { organization: "folder", folder: "usecase" };

/** The name is all that is needed. @param {{types: Context["type"][], parent?: string}} properties */
function NewContext({ types, parent }) {
  const [name, setName] = useState("");
  const [hasFolders, setHasFolders] = useState(false);
  if (!types.length) return null;
  const type = types.find((each) => (each === "organization") === hasFolders) ?? types[0];
  return h(
    "form",
    {
      class: "stack",
      onSubmit: (event) => {
        event.preventDefault();
        if (!name.trim()) return;
        send("POST", "/contexts", { type, name: name.trim(), ...(parent ? { parent_id: parent } : {}) }).then((made) => {
          // The form goes, and the focus would go with it.
          focusOn("#conversation");
          location.hash = `#/contexts/${/** @type {Context} */ (made).context_id}`;
        }, report);
      },
    },
    h(
      "p",
      { class: "row" },
      h("input", {
        class: "grow",
        "aria-label": t("contexts.name"),
        placeholder: t(parent ? `contexts.new.${type}` : "contexts.new"),
        maxLength: 120,
        value: name,
        onInput: (event) => setName(event.currentTarget.value),
      }),
      h("button", { type: "submit", disabled: !name.trim() }, t("contexts.create")),
    ),
    types.length > 1 &&
      h(
        "details",
        null,
        h("summary", null, t("contexts.options")),
        h(
          "label",
          null,
          h("input", { type: "checkbox", checked: hasFolders, onChange: (event) => setHasFolders(event.currentTarget.checked) }),
          " ",
          t("contexts.has_folders"),
        ),
      ),
  );
}

/** @param {{items: Context[], isKnown: boolean, more: (() => void) | null}} properties */
function List({ items, isKnown, more }) {
  if (!isKnown) return h("p", { class: "loading" }, t("loading"));
  if (!items.length) return h("p", { class: "soft" }, t("contexts.none"));
  return [
    h(
      "ul",
      { class: "rows" },
      items.map((each) =>
        h(
          "li",
          { key: each.context_id },
          h("a", { href: `#/contexts/${each.context_id}` }, h(Icon, { name: "folder" }), h("bdi", null, each.name)),
          (!each.role || each.role === "viewer") && h("span", { class: "soft" }, t(each.role ? "contexts.read_only" : "role.installation")),
        ),
      ),
    ),
    h(More, { more }),
  ];
}

/** @param {{id: string | null}} properties */
export function Contexts({ id }) {
  const list = id ? `/contexts?parent_id=${id}` : me.value?.can.administer ? "/admin/contexts" : "/contexts";
  const { again: listAgain, ...listed } = /** @type {ReturnType<typeof usePages<Context>>} */ (usePages(list, "contexts"));
  const [context, setContext] = useState(/** @type {Context | null} */ (null));
  const [isGone, setGone] = useState(false);
  const load = () => {
    if (!id) return;
    get(`/contexts/${id}`).then(
      (found) => setContext(/** @type {Context} */ (found)),
      (error) => {
        if (error instanceof ApiError && [403, 404, 422].includes(error.problem.status)) setGone(true);
        else report(error);
      },
    );
  };
  useEffect(load, [id]);
  const again = () => {
    listAgain();
    load();
  };
  if (!id) {
    const types = me.value?.may_create ?? [];
    return h(
      "div",
      { class: "admin" },
      h("p", { class: "soft" }, t(types.length ? "contexts.hint" : "contexts.hint.reader")),
      h(NewContext, { types }),
      h(List, listed),
    );
  }
  if (isGone)
    return h("div", { class: "admin" }, h("p", null, t("contexts.gone")), h("p", null, h("a", { href: "#/contexts" }, t("contexts.all"))));
  if (!context) return h("p", { class: "loading" }, t("loading"));
  const below = BELOW[context.type];
  const { edit, manage } = may(context);
  return h(
    "div",
    { class: "admin" },
    h(
      "p",
      { class: "row crumbs" },
      h("a", { href: "#/contexts" }, t("contexts")),
      context.path.map((each) => h("a", { href: `#/contexts/${each.context_id}`, key: each.context_id }, each.name)),
      h("strong", null, context.name),
    ),
    context.description && h("p", null, h("bdi", null, context.description)),
    context.role
      ? [
          h(
            "p",
            null,
            h(
              "button",
              {
                type: "button",
                class: "ask-about",
                onClick: () => beginAbout({ type: context.type, id: context.context_id, name: context.name }),
              },
              h(Icon, { name: "search" }),
              t("contexts.ask", { name: context.name }),
            ),
          ),
          h(Documents, { context }),
          h(Chats, { id: context.context_id, key: context.context_id }),
        ]
      : h("p", null, t("contexts.no_role")),
    below &&
      (edit || listed.items.length > 0) && [
        h("h2", null, t(`context.${below}.all`)),
        edit && h(NewContext, { types: [below], parent: context.context_id, key: context.context_id }),
        h(List, listed),
      ],
    h(Members, { context, changed: again, key: context.context_id }),
    (edit || manage) && h(Head, { context, again, key: context.version }),
  );
}

/** What is rarely changed. @param {{context: Context, again: () => void}} properties */
function Head({ context, again }) {
  const { edit, manage } = may(context);
  const [name, setName] = useState(context.name);
  const [description, setDescription] = useState(context.description);
  const [sure, setSure] = useState(false);
  const address = `/contexts/${context.context_id}`;
  const changed = name.trim() !== context.name || description !== context.description;
  const save = () =>
    request("PATCH", address, { json: { name: name.trim(), description }, headers: { "if-match": `"${context.version}"` } });
  return h(
    "details",
    null,
    h("summary", null, t("contexts.settings")),
    h(
      "form",
      {
        class: "stack",
        onSubmit: (event) => {
          event.preventDefault();
          then(save(), again, t("saved"));
        },
      },
      edit && [
        h(
          "label",
          { class: "field" },
          t("contexts.name"),
          h("input", { value: name, maxLength: 120, required: true, onInput: (event) => setName(event.currentTarget.value) }),
        ),
        h(
          "label",
          { class: "field" },
          t("contexts.description"),
          h("textarea", { value: description, maxLength: 2000, rows: 2, onInput: (event) => setDescription(event.currentTarget.value) }),
        ),
      ],
      h(
        "p",
        { class: "row" },
        edit && h("button", { type: "submit", disabled: !changed || !name.trim() }, t("save")),
        manage &&
          (sure
            ? [
                h("span", null, t("contexts.sure")),
                h(
                  "button",
                  {
                    type: "button",
                    class: "is-bad",
                    onClick: () =>
                      then(
                        send("DELETE", address),
                        () => {
                          focusOn("#conversation");
                          location.hash = "#/contexts";
                        },
                        t("contexts.deleted"),
                      ),
                  },
                  t("contexts.delete.sure"),
                ),
                h("button", { type: "button", onClick: () => setSure(false) }, t("cancel")),
              ]
            : h("button", { type: "button", class: "quiet is-bad", onClick: () => setSure(true) }, t("contexts.delete"))),
      ),
    ),
  );
}

/** @param {{context: Context}} properties */
function Documents({ context }) {
  const id = context.context_id;
  const address = `/contexts/${id}/documents`;
  const [query, setQuery] = useState("");
  const { items, isKnown, again, more } = /** @type {ReturnType<typeof usePages<Document>>} */ (
    usePages(`${address}${query ? `?name=${encodeURIComponent(query)}` : ""}`, "documents")
  );
  const { edit } = may(context);
  const isLeaving = (/** @type {Document} */ each) => leaving.value.has(`${address}/${each.document_id}`);
  /** @type {Target} */
  const target = {
    id,
    address,
    // An upload that overtakes the removal of a file of its name would be refused.
    holds: (name) => items.some((each) => each.blob_name === name && isLeaving(each)),
    known: (name) => items.find((each) => each.blob_name === name && !isLeaving(each)),
    // The list may show others, or not be loaded again yet.
    find: async (name) => {
      for (let after = ""; ; ) {
        const page = /** @type {any} */ (await get(`${address}?name=${encodeURIComponent(name)}${after}`));
        const found = page.documents.find((/** @type {Document} */ each) => each.blob_name === name);
        if (found || !page.next_cursor) return found;
        after = `&cursor=${encodeURIComponent(page.next_cursor)}`;
      }
    },
    content: (earlier) => contentOf(address, earlier),
    arrived: () => {
      again();
    },
    again,
  };
  const current = useRef(target);
  current.current = target;
  useEffect(() => recallRefused(id), [id]);
  useEffect(() => {
    if (items.every((each) => each.status === "completed" || each.status === "failed")) return;
    const timer = setInterval(again, 2000);
    return () => clearInterval(timer);
  }, [items]);
  // Before the first paint: what is dropped on a list that is seen arrives.
  useLayoutEffect(() => {
    if (!edit) return;
    const add = (/** @type {File[]} */ files) =>
      upload(files, {
        ...target,
        holds: (name) => current.current.holds?.(name) ?? false,
        known: (name) => current.current.known(name),
        arrived: (...stored) => current.current.arrived(...stored),
      });
    dropTarget.value = add;
    return () => {
      if (dropTarget.value === add) dropTarget.value = null;
    };
  }, [id, edit]);
  const rows = [
    ...uploads.value.filter((each) => each.place === id).map(comingRow),
    ...items
      .filter((each) => !isLeaving(each))
      .map((each) => ({
        ...storedRow(each),
        onRemove: edit
          ? () =>
              removeLater(
                `${address}/${each.document_id}`,
                t("files.removed", { name: each.blob_name }),
                again,
                `[data-file="${each.document_id}"] button:last-child`,
              )
          : undefined,
      })),
  ];
  return [
    h("h2", null, t("files")),
    h(Shelf, { rows, isKnown, target, mayChange: edit, onAdd: (files) => dropTarget.value?.(files), onQuery: setQuery }),
    h(More, { more }),
  ];
}

/** The user's own chats about a context. @param {{id: string}} properties */
function Chats({ id }) {
  const { items, more } = /** @type {ReturnType<typeof usePages<ConversationHead>>} */ (
    usePages(`/conversations?about=${id}`, "conversations")
  );
  return (
    items.length > 0 && [
      h("h2", null, t("contexts.chats")),
      h(
        "ul",
        { class: "rows chats" },
        items.map((each) =>
          h(
            "li",
            { key: each.conversation_id },
            h("a", { href: `#/c/${each.conversation_id}` }, h("bdi", null, each.title || t("sessions.untitled"))),
            h("span", { class: "soft" }, dateOf(each.updated_at)),
          ),
        ),
      ),
      h(More, { more }),
    ]
  );
}
