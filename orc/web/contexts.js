// Contexts: places for shared documents. The API decides who may do what.
import { ApiError, get, request, send } from "./api.js";
import { comingRow, contentOf, stateOf, statusOf } from "./files.js";
import { dateOf, named, t } from "./i18n.js";
import { Icon, IconButton } from "./parts.js";
import { beginAbout } from "./session.js";
import { Shelf } from "./shelf.js";
import { doLater, dropTarget, me, notify, report, wordsOf } from "./store.js";
import { begin, recallRefused, upload, uploads } from "./uploads.js";
import { h, signal, useEffect, useLayoutEffect, useRef, useState } from "./vendor/ui.js";

/** @import { Context, ConversationHead, Document, FileWidget, Member, People, Person, Role, Signal, Target } from "./types/page.js" */

const PAGE_SIZE = 50;
const AGAIN_MS = 2000;
const SEARCH_MS = 200;
const ROLES = /** @type {Role[]} */ (["viewer", "editor", "admin"]);
/** @type {Partial<Record<Context["type"], Context["type"]>>} */
const BELOW = { organization: "folder", folder: "usecase" };

/** @param {Promise<unknown>} work @param {() => void} again @param {string} [words] @param {() => void} [failed] so that it is shown as it still is */
function then(work, again, words = "", failed = () => {}) {
  work.then(() => { if (words) notify({ text: words, kind: "info" }, 4); again(); }, (error) => { report(error); failed(); });
}

/**
 * A list in pages. @template T
 * @param {string} address @param {string} name of the list in the response
 * @returns {{items: T[], isKnown: boolean, again: () => Promise<void>, more: (() => void) | null}} `again` loads as many as are shown
 */
function usePages(address, name) {
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
      if (isPassing) setTimeout(() => { if (current.current === address) load(before, from, wanted); }, AGAIN_MS);
    }
  };
  const again = () => load([], null, items.length);
  useEffect(() => { setList(unknown()); load([], null, 1); }, [address]);
  useEffect(() => () => { current.current = ""; }, []);
  return { items, isKnown, again, more: cursor ? () => { load(items, cursor, items.length + 1); } : null };
}

/** @param {{more: (() => void) | null}} properties */
const More = ({ more }) => more && h("p", null, h("button", { type: "button", class: "quiet", onClick: more }, t("sessions.more")));

/** @param {Context} context */
const may = ({ role }) => ({
  edit: role === "editor" || role === "admin",
  manage: role === "admin" || Boolean(me.value?.can.administer),
});

/** What is about to be removed, by its address: it is not listed meanwhile. @type {Signal<Set<string>>} */
const leaving = signal(new Set());

/** Remove something, unless the user takes that back. @param {string} address @param {string} text @param {() => Promise<void>} again @param {string} focus */
function removeLater(address, text, again, focus) {
  leaving.value = new Set([...leaving.value, address]);
  const stay = () => { leaving.value = new Set([...leaving.value].filter((each) => each !== address)); };
  doLater(text, {
    key: address, focus, undo: stay,
    act: (keepalive) => request("DELETE", address, { keepalive }).catch(report).then(again).finally(() => { stay(); begin(); }),
  });
}

/** The name is all that is needed. @param {{types: Context["type"][], parent?: string}} properties */
function NewContext({ types, parent }) {
  const [name, setName] = useState("");
  const [hasFolders, setHasFolders] = useState(false);
  if (!types.length) return null;
  const type = types.find((each) => (each === "organization") === hasFolders) ?? types[0];
  return h("form", {
    class: "stack", onSubmit: (event) => {
      event.preventDefault();
      if (!name.trim()) return;
      send("POST", "/contexts", { type, name: name.trim(), ...(parent ? { parent_id: parent } : {}) }).then((made) => {
        location.hash = `#/contexts/${/** @type {Context} */ (made).context_id}`;
      }, report);
    },
  },
  h("p", { class: "row" },
    h("input", { class: "grow", "aria-label": t("contexts.name"), placeholder: t(parent ? `contexts.new.${type}` : "contexts.new"), maxLength: 120, value: name, onInput: (event) => setName(event.currentTarget.value) }),
    h("button", { type: "submit", disabled: !name.trim() }, t("contexts.create"))),
  types.length > 1 && h("details", null, h("summary", null, t("contexts.options")),
    h("label", null, h("input", { type: "checkbox", checked: hasFolders, onChange: (event) => setHasFolders(event.currentTarget.checked) }), " ", t("contexts.has_folders"))));
}

/** @param {{items: Context[], isKnown: boolean, more: (() => void) | null}} properties */
function List({ items, isKnown, more }) {
  if (!isKnown) return h("p", { class: "loading" }, t("loading"));
  if (!items.length) return h("p", { class: "soft" }, t("contexts.none"));
  return [h("ul", { class: "rows" }, items.map((each) => h("li", { key: each.context_id },
    h("a", { href: `#/contexts/${each.context_id}` }, h(Icon, { name: "folder" }), h("bdi", null, each.name)),
    (!each.role || each.role === "viewer") && h("span", { class: "soft" }, t(each.role ? "contexts.read_only" : "role.installation"))))),
  h(More, { more })];
}

/** @param {{id: string | null}} properties */
export function Contexts({ id }) {
  const list = id ? `/contexts?parent_id=${id}` : me.value?.can.administer ? "/admin/contexts" : "/contexts";
  const { again: listAgain, ...listed } = /** @type {ReturnType<typeof usePages<Context>>} */ (usePages(list, "contexts"));
  const [context, setContext] = useState(/** @type {Context | null} */ (null));
  const [isGone, setGone] = useState(false);
  const load = () => {
    if (!id) return;
    get(`/contexts/${id}`).then((found) => setContext(/** @type {Context} */ (found)), (error) => {
      if (error instanceof ApiError && [403, 404, 422].includes(error.problem.status)) setGone(true);
      else report(error);
    });
  };
  useEffect(load, [id]);
  const again = () => { listAgain(); load(); };
  if (!id) {
    return h("div", { class: "admin" }, h("p", { class: "soft" }, t("contexts.hint")),
      h(NewContext, { types: me.value?.may_create ?? [] }), h(List, listed));
  }
  if (isGone) return h("div", { class: "admin" }, h("p", null, t("contexts.gone")), h("p", null, h("a", { href: "#/contexts" }, t("contexts.all"))));
  if (!context) return h("p", { class: "loading" }, t("loading"));
  const below = BELOW[context.type];
  const { edit, manage } = may(context);
  return h("div", { class: "admin" },
    h("p", { class: "row crumbs" }, h("a", { href: "#/contexts" }, t("contexts")),
      context.path.map((each) => h("a", { href: `#/contexts/${each.context_id}`, key: each.context_id }, each.name)), h("strong", null, context.name)),
    context.description && h("p", null, h("bdi", null, context.description)),
    context.role ? [h("p", null, h("button", { type: "button", class: "ask-about", onClick: () => beginAbout({ type: context.type, id: context.context_id, name: context.name }) },
      h(Icon, { name: "search" }), t("contexts.ask", { name: context.name }))),
    h(Documents, { context }), h(Chats, { id: context.context_id, key: context.context_id })] : h("p", null, t("contexts.no_role")),
    below && (edit || listed.items.length > 0) && [h("h2", null, t(`context.${below}.all`)), edit && h(NewContext, { types: [below], parent: context.context_id, key: context.context_id }), h(List, listed)],
    h(Members, { context, changed: again, key: context.context_id }), (edit || manage) && h(Head, { context, again, key: context.version }));
}

/** What is rarely changed. @param {{context: Context, again: () => void}} properties */
function Head({ context, again }) {
  const { edit, manage } = may(context);
  const [name, setName] = useState(context.name);
  const [description, setDescription] = useState(context.description);
  const [sure, setSure] = useState(false);
  const address = `/contexts/${context.context_id}`;
  const changed = name.trim() !== context.name || description !== context.description;
  const save = () => request("PATCH", address, { json: { name: name.trim(), description }, headers: { "if-match": `"${context.version}"` } });
  return h("details", null, h("summary", null, t("contexts.settings")), h("form", { class: "stack", onSubmit: (event) => { event.preventDefault(); then(save(), again, t("saved")); } },
    edit && [h("label", { class: "field" }, t("contexts.name"), h("input", { value: name, maxLength: 120, required: true, onInput: (event) => setName(event.currentTarget.value) })),
      h("label", { class: "field" }, t("contexts.description"), h("textarea", { value: description, maxLength: 2000, rows: 2, onInput: (event) => setDescription(event.currentTarget.value) }))],
    h("p", { class: "row" }, edit && h("button", { type: "submit", disabled: !changed || !name.trim() }, t("save")),
      manage && (sure
        ? [h("span", null, t("contexts.sure")),
          h("button", { type: "button", class: "is-bad", onClick: () => then(send("DELETE", address), () => { location.hash = "#/contexts"; }, t("contexts.deleted")) }, t("contexts.delete.sure")),
          h("button", { type: "button", onClick: () => setSure(false) }, t("cancel"))]
        : h("button", { type: "button", class: "quiet is-bad", onClick: () => setSure(true) }, t("contexts.delete"))))));
}

/** @param {{context: Context}} properties */
function Documents({ context }) {
  const id = context.context_id;
  const address = `/contexts/${id}/documents`;
  const [query, setQuery] = useState("");
  const { items, isKnown, again, more } = /** @type {ReturnType<typeof usePages<Document>>} */ (usePages(`${address}${query ? `?name=${encodeURIComponent(query)}` : ""}`, "documents"));
  const { edit } = may(context);
  const isLeaving = (/** @type {Document} */ each) => leaving.value.has(`${address}/${each.document_id}`);
  /** @type {Target} */
  const target = {
    id, address,
    // An upload that overtakes the removal of a file of its name would be refused.
    holds: (name) => items.some((each) => each.blob_name === name && isLeaving(each)),
    known: (name) => items.find((each) => each.blob_name === name && !isLeaving(each)),
    content: (earlier) => contentOf(address, earlier),
    arrived: () => { again(); },
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
    const add = (/** @type {File[]} */ files) => upload(files, { ...target, holds: (name) => current.current.holds?.(name) ?? false, known: (name) => current.current.known(name), arrived: (...stored) => current.current.arrived(...stored) });
    dropTarget.value = add;
    return () => { if (dropTarget.value === add) dropTarget.value = null; };
  }, [id, edit]);
  const rows = [...uploads.value.filter((each) => each.place === id).map(comingRow),
    ...items.filter((each) => !isLeaving(each)).map((each) => /** @type {FileWidget} */ ({
      id: each.document_id, name: each.blob_name, bytes: each.size, pages: each.pages, added: each.created_at, state: stateOf(each), status: statusOf(each),
      onRemove: edit ? () => removeLater(`${address}/${each.document_id}`, t("files.removed", { name: each.blob_name }), again, `[data-file="${each.document_id}"] button:last-child`) : undefined,
    }))];
  return [h("h2", null, t("files")),
    h(Shelf, { rows, isKnown, target, mayChange: edit, onAdd: (files) => dropTarget.value?.(files), onQuery: setQuery }), h(More, { more })];
}

/** @param {Member} member */
const principalPath = ({ principal }) => {
  const [kind = "", ...rest] = principal.split(":");
  return `${kind}/${encodeURIComponent(rest.join(":") || "-")}`;
};

/** The user's own chats about a context. @param {{id: string}} properties */
function Chats({ id }) {
  const { items, more } = /** @type {ReturnType<typeof usePages<ConversationHead>>} */ (usePages(`/conversations?about=${id}`, "conversations"));
  return items.length > 0 && [h("h2", null, t("contexts.chats")), h("ul", { class: "rows chats" }, items.map((each) => h("li", { key: each.conversation_id },
    h("a", { href: `#/c/${each.conversation_id}` }, h("bdi", null, each.title || t("sessions.untitled"))), h("span", { class: "soft" }, dateOf(each.updated_at))))), h(More, { more })];
}

/** Who may do what, in sentences. @param {{context: Context, changed: () => void}} properties */
function Members({ context, changed }) {
  const address = `/contexts/${context.context_id}/members`;
  const { items, isKnown, again, more } = /** @type {ReturnType<typeof usePages<Member>>} */ (usePages(address, "members"));
  const [kind, setKind] = useState(/** @type {Person["kind"]} */ ("user"));
  const [who, setWho] = useState("");
  const [found, setFound] = useState(/** @type {People | null} */ (null));
  const [refusal, setRefusal] = useState("");
  const [label, setLabel] = useState("");
  const [role, setRole] = useState(/** @type {Role} */ ("viewer"));
  const { manage } = may(context);
  const shown = items.filter((each) => !leaving.value.has(`${address}/${principalPath(each)}`));
  const roles = (/** @type {Role} */ value, /** @type {(role: Role) => void} */ onChange, /** @type {string} */ name) =>
    h("select", { "aria-label": name, value, onChange: (event) => onChange(/** @type {Role} */ (event.currentTarget.value)) },
      ROLES.map((each) => h("option", { value: each, key: each }, t(`role.${each}`))));
  const row = (/** @type {Member} */ each) => {
    const own = each.context_id === context.context_id;
    const [kind = ""] = each.principal.split(":");
    const isMe = each.principal === `user:${me.value?.user_id}`;
    const name = kind === "everyone" ? t("members.everyone") : each.label || (isMe ? me.value?.name || t("members.me") : t("members.unnamed", { who: t(`members.${kind}`), date: dateOf(each.granted_at) }));
    return h("li", { key: `${each.context_id}${each.principal}` }, h("bdi", null, name), !own && h("span", { class: "soft" }, t("members.inherited")),
      own && manage ? roles(each.role, (next) => then(send("PUT", `${address}/${principalPath(each)}`, { role: next, label: each.label }), again, "", again), t("members.role", { name })) : h("span", { class: "soft" }, t(`role.${each.role}`)),
      own && manage && h(IconButton, {
        name: "bin", label: t("members.remove", { name }),
        onClick: () => removeLater(`${address}/${principalPath(each)}`, t("members.removed", { name }), again, "#conversation"),
      }));
  };
  useEffect(() => {
    let isOld = who.trim().length < 2;
    setFound(null);
    setRefusal("");
    const search = () => isOld || get(`/contexts/${context.context_id}/people?q=${encodeURIComponent(who.trim())}`)
      .then((people) => { if (!isOld) setFound(/** @type {People} */ (people)); }, (error) => isOld || report(error));
    const timer = setTimeout(search, SEARCH_MS);
    return () => { isOld = true; clearTimeout(timer); };
  }, [who]);
  const add = (/** @type {Person} */ { kind: of, id, name, email }) => send("PUT", `${address}/${of}/${encodeURIComponent(id)}`, { role, label: name || email }).then(() => {
    notify({ text: t("members.added", { name: name || email }), kind: "info" }, 4);
    setWho(""); setLabel(""); again(); changed();
  }, (error) => {
    if (error instanceof ApiError && error.problem.code === "unknown_person") setRefusal(wordsOf(error.problem));
    else report(error);
  });
  const people = found?.people ?? [];
  const person = (/** @type {Person} */ each) => h("li", { key: each.id }, h("span", null, h("bdi", null, each.name || each.email), each.name && h("span", { class: "soft" }, " ", h("bdi", null, each.email))),
    shown.some(({ principal, context_id: id }) => principal === `${each.kind}:${each.id}` && id === context.context_id) ? h("span", { class: "soft" }, t("members.is_one"))
      : h("button", { type: "button", onClick: () => add(each) }, h("span", { "aria-hidden": "true" }, t("members.add")), h("span", { class: "hidden" }, t("members.add.name", { name: each.name || each.email }))));
  return [h("h2", null, t("members")),
    manage && isKnown && !more && !shown.some((each) => each.principal === "everyone") && h("p", null, h("button", {
      type: "button", class: "icon-text let-all", onClick: () => then(send("PUT", `${address}/everyone/-`, { role: "viewer" }), again),
    }, h(Icon, { name: "plus" }), t("members.let_everyone"))),
    h("ul", { class: "rows members" }, shown.map(row)), h(More, { more }),
    manage && h("details", { class: "add-member" }, h("summary", null, t("members.add_one")), h("form", {
      class: "stack", onSubmit: (event) => {
        event.preventDefault();
        if (found && !people.length) add({ kind, id: who.trim(), name: label.trim(), email: "" });
      },
    },
    h("div", { class: "row" }, h("label", { class: "field grow" }, t("members.search"), h("input", { type: "search", value: who, maxLength: 200, autocomplete: "off", onInput: (event) => setWho(event.currentTarget.value) })),
      roles(role, setRole, t("members.role.new"))),
    h("div", { role: "status", class: "soft" }, found && h("p", null, t(people.length ? "members.found" : "members.none", { n: people.length }), !found.is_complete && ` ${t("members.incomplete")}`)),
    people.length > 0 && h("ul", { class: "rows" }, people.map(person)),
    found && !people.length && h("div", { class: "row" },
      h("label", { class: "field grow" }, t("members.label"), h("input", { value: label, maxLength: 120, required: true, onInput: (event) => setLabel(event.currentTarget.value) })),
      h("select", { "aria-label": t("members.kind"), value: kind, onChange: (event) => setKind(/** @type {Person["kind"]} */ (event.currentTarget.value)) },
        ["user", "group"].map((each) => h("option", { value: each, key: each }, t(`members.${each}`)))),
      h("button", { type: "submit" }, t("members.add.id"))), refusal && h("p", { role: "alert", class: "note is-bad" }, refusal))), h(Tools, { context, again: changed })];
}

/** Tools are switched one after the other, so that all of it is kept. */
let lastFlip = Promise.resolve();

/** The tools that answers from here may use, and who has switched one off. @param {{context: Context, again: () => void}} properties */
function Tools({ context, again }) {
  const { context_id: id, switched_off: by, role } = context;
  const tools = (me.value?.tools ?? []).filter(({ name }) => role === "admin" || by.some((each) => each.tool === name));
  const [isOpen] = useState(by.length > 0);
  if (!tools.length) return null;
  const flip = async (/** @type {string} */ name) => {
    const { tools_off: off, version } = /** @type {Context} */ (await get(`/contexts/${id}`));
    const json = { tools_off: off.includes(name) ? off.filter((each) => each !== name) : [...off, name] };
    await request("PATCH", `/contexts/${id}`, { json, headers: { "if-match": `"${version}"` } });
  };
  const flipNext = (/** @type {string} */ name) => {
    lastFlip = lastFlip.then(() => flip(name), () => flip(name));
    then(lastFlip, again, t("saved"), again);
  };
  return h("details", { class: "allowed", open: isOpen }, h("summary", null, t("contexts.tools")),
    h("ul", { class: "rows" }, tools.map(({ name, title }) => {
      const from = by.find((each) => each.tool === name);
      const words = named(`tools.title.${name}`, title);
      const isOwn = !from || from.context_id === id;
      return h("li", { key: name },
        role === "admin" && isOwn ? h("label", null, h("input", { type: "checkbox", checked: !from, onChange: () => flipNext(name) }), " ", words) : h("span", null, words),
        from && (isOwn ? h("span", { class: "soft" }, t("tools.off_here")) : h("a", { href: `#/contexts/${from.context_id}` }, t("tools.off_by", { name: from.context_name }))));
    })), role !== "admin" && h("p", { class: "soft" }, t("contexts.tools.who")));
}
