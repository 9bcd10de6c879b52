// Who may do what in a context, and which tools it allows.
import { ApiError, get, request, send } from "./api.js";
import { dateOf, named, t } from "./i18n.js";
import { Icon, IconButton } from "./parts.js";
import { leaving, may, More, removeLater, then, usePages } from "./paging.js";
import { me, notify, report, wordsOf } from "./store.js";
import { h, useEffect, useState } from "./vendor/ui.js";

/** @import { Context, Member, People, Person, Role } from "./types/page.js" */

const SEARCH_MS = 200;
const ROLES = /** @type {Role[]} */ (["viewer", "editor", "admin"]);

/** @param {Member} member */
const principalPath = ({ principal }) => {
  const [kind = "", ...rest] = principal.split(":");
  return `${kind}/${encodeURIComponent(rest.join(":") || "-")}`;
};

/** Who may do what, in sentences. @param {{context: Context, changed: () => void}} properties */
export function Members({ context, changed }) {
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
    h(
      "select",
      { "aria-label": name, value, onChange: (event) => onChange(/** @type {Role} */ (event.currentTarget.value)) },
      ROLES.map((each) => h("option", { value: each, key: each }, t(`role.${each}`))),
    );
  const row = (/** @type {Member} */ each) => {
    const own = each.context_id === context.context_id;
    const [kind = ""] = each.principal.split(":");
    const isMe = each.principal === `user:${me.value?.user_id}`;
    const name =
      kind === "everyone"
        ? t("members.everyone")
        : each.label ||
          (isMe ? me.value?.name || t("members.me") : t("members.unnamed", { who: t(`members.${kind}`), date: dateOf(each.granted_at) }));
    return h(
      "li",
      { key: `${each.context_id}${each.principal}` },
      h("bdi", null, name),
      !own && h("span", { class: "soft" }, t("members.inherited")),
      own && manage
        ? roles(
            each.role,
            (next) => then(send("PUT", `${address}/${principalPath(each)}`, { role: next, label: each.label }), again, "", again),
            t("members.role", { name }),
          )
        : h("span", { class: "soft" }, t(`role.${each.role}`)),
      own &&
        manage &&
        h(IconButton, {
          name: "bin",
          label: t("members.remove", { name }),
          onClick: () => removeLater(`${address}/${principalPath(each)}`, t("members.removed", { name }), again, "#conversation"),
        }),
    );
  };
  useEffect(() => {
    let isOld = who.trim().length < 2;
    setFound(null);
    setRefusal("");
    const search = () =>
      isOld ||
      get(`/contexts/${context.context_id}/people?q=${encodeURIComponent(who.trim())}`).then(
        (people) => {
          if (!isOld) setFound(/** @type {People} */ (people));
        },
        (error) => isOld || report(error),
      );
    const timer = setTimeout(search, SEARCH_MS);
    return () => {
      isOld = true;
      clearTimeout(timer);
    };
  }, [who]);
  const add = (/** @type {Person} */ { kind: of, id, name, email }) =>
    send("PUT", `${address}/${of}/${encodeURIComponent(id)}`, { role, label: name || email }).then(
      () => {
        notify({ text: t("members.added", { name: name || email }), kind: "info" }, 4);
        setWho("");
        setLabel("");
        again();
        changed();
      },
      (error) => {
        if (error instanceof ApiError && error.problem.code === "unknown_person") setRefusal(wordsOf(error.problem));
        else report(error);
      },
    );
  const people = found?.people ?? [];
  const person = (/** @type {Person} */ each) =>
    h(
      "li",
      { key: each.id },
      h("span", null, h("bdi", null, each.name || each.email), each.name && h("span", { class: "soft" }, " ", h("bdi", null, each.email))),
      shown.some(({ principal, context_id: id }) => principal === `${each.kind}:${each.id}` && id === context.context_id)
        ? h("span", { class: "soft" }, t("members.is_one"))
        : h(
            "button",
            { type: "button", onClick: () => add(each) },
            h("span", { "aria-hidden": "true" }, t("members.add")),
            h("span", { class: "hidden" }, t("members.add.name", { name: each.name || each.email })),
          ),
    );
  return [
    h("h2", null, t("members")),
    manage &&
      isKnown &&
      !more &&
      !shown.some((each) => each.principal === "everyone") &&
      h(
        "p",
        null,
        h(
          "button",
          {
            type: "button",
            class: "icon-text let-all",
            onClick: () => then(send("PUT", `${address}/everyone/-`, { role: "viewer" }), again),
          },
          h(Icon, { name: "plus" }),
          t("members.let_everyone"),
        ),
      ),
    h("ul", { class: "rows members" }, shown.map(row)),
    h(More, { more }),
    manage &&
      h(
        "details",
        { class: "add-member" },
        h("summary", null, t("members.add_one")),
        h(
          "form",
          {
            class: "stack",
            onSubmit: (event) => {
              event.preventDefault();
              if (found && !people.length) add({ kind, id: who.trim(), name: label.trim(), email: "" });
            },
          },
          h(
            "div",
            { class: "row" },
            h(
              "label",
              { class: "field grow" },
              t("members.search"),
              h("input", {
                type: "search",
                value: who,
                maxLength: 200,
                autocomplete: "off",
                onInput: (event) => setWho(event.currentTarget.value),
              }),
            ),
            roles(role, setRole, t("members.role.new")),
          ),
          h(
            "div",
            { role: "status", class: "soft" },
            found &&
              h(
                "p",
                null,
                t(people.length ? "members.found" : "members.none", { n: people.length }),
                !found.is_complete && ` ${t("members.incomplete")}`,
              ),
          ),
          people.length > 0 && h("ul", { class: "rows" }, people.map(person)),
          found &&
            !people.length &&
            h(
              "div",
              { class: "row" },
              h(
                "label",
                { class: "field grow" },
                t("members.label"),
                h("input", { value: label, maxLength: 120, required: true, onInput: (event) => setLabel(event.currentTarget.value) }),
              ),
              h(
                "select",
                {
                  "aria-label": t("members.kind"),
                  value: kind,
                  onChange: (event) => setKind(/** @type {Person["kind"]} */ (event.currentTarget.value)),
                },
                ["user", "group"].map((each) => h("option", { value: each, key: each }, t(`members.${each}`))),
              ),
              h("button", { type: "submit" }, t("members.add.id")),
            ),
          refusal && h("p", { role: "alert", class: "note is-bad" }, refusal),
        ),
      ),
    h(Tools, { context, again: changed }),
  ];
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
    lastFlip = lastFlip.then(
      () => flip(name),
      () => flip(name),
    );
    then(lastFlip, again, t("saved"), again);
  };
  return h(
    "details",
    { class: "allowed", open: isOpen },
    h("summary", null, t("contexts.tools")),
    h(
      "ul",
      { class: "rows" },
      tools.map(({ name, title }) => {
        const from = by.find((each) => each.tool === name);
        const words = named(`tools.title.${name}`, title);
        const isOwn = !from || from.context_id === id;
        return h(
          "li",
          { key: name },
          role === "admin" && isOwn
            ? h("label", null, h("input", { type: "checkbox", checked: !from, onChange: () => flipNext(name) }), " ", words)
            : h("span", null, words),
          from &&
            (isOwn
              ? h("span", { class: "soft" }, t("tools.off_here"))
              : h("a", { href: `#/contexts/${from.context_id}` }, t("tools.off_by", { name: from.context_name }))),
        );
      }),
    ),
    role !== "admin" && h("p", { class: "soft" }, t("contexts.tools.who")),
  );
}
