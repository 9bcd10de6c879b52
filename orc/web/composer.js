// Where a question is written: the text box and the "+" menu.
import { get } from "./api.js";
import { ask, stop } from "./chat.js";
import { attach, attachText, Files, hasUsableFiles } from "./files.js";
import { clock, named, number, t } from "./i18n.js";
import { Countdown, Icon, IconButton } from "./parts.js";
import {
  answering,
  asked,
  contexts,
  conversationId,
  draft,
  edit,
  endEdit,
  isOn,
  keepChoices,
  model,
  pictures,
  refused,
  replacing,
  seesPictures,
  setDraft,
  toggleTools,
  toolsFlipped,
  turns,
} from "./session.js";
import { copy, me, moreOf, online, preferences, report, said, wordsOf, wordsOfCode } from "./store.js";
import { computed, Fragment, h, signal, useEffect, useLayoutEffect, useRef } from "./vendor/ui.js";

/** @import { Child, Context, ContextsPage, Ref, Signal, ToggleProperties, ToolInfo } from "./types/page.js" */

const USUAL_LIMIT = 10_000;
const MOST_CONTEXTS = 20;
/** The tool that everybody looks for. */
const WEB = "web_search";
/** The tool that reads the files that a question names, and the code of a refusal without it. */
const [CHAT, CHAT_OFF] = ["document_chat", "document_chat_off"];

/** @type {Signal<Context[]>} */
const offered = signal([]);
/** Those below others, by the id of the one above: what has been opened in the menu. @type {Signal<Record<string, Context[]>>} */
const below = signal({});
/** @type {Signal<string | null>} */
const offeredAfter = signal(null);
const menuOpen = signal(false);

/** The chosen contexts as they are now. @type {Signal<Context[]>} */
const chosen = signal([]);
/** Whether a chosen context is read only: tools that change something are locked then. */
const readsOnly = computed(() => chosen.value.some(({ role }) => role === "viewer"));

/** The chosen context that switches a tool off; what one of them allows is allowed. @param {string} name */
function offBy(name) {
  const by = chosen.value.map((each) => each.switched_off.find(({ tool }) => tool === name));
  return by.every(Boolean) ? by[0] : undefined;
}

async function readChosen(read = contexts.value) {
  const found = await Promise.all(read.map(({ id }) => get(`/contexts/${id}`).catch(() => [])));
  if (read === contexts.value) chosen.value = /** @type {Context[]} */ (found.flat());
}

/** @param {string | null} [cursor] of those after what is shown */
async function offerContexts(cursor = null) {
  try {
    const page = /** @type {ContextsPage} */ (await get(`/contexts?limit=50${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`));
    offered.value = cursor ? [...offered.value, ...page.contexts] : page.contexts;
    offeredAfter.value = page.next_cursor;
  } catch (error) {
    report(error);
  }
}

/** Show or hide what is below a context. @param {Context} context */
async function openContext({ context_id: id }) {
  const { [id]: shown, ...others } = below.value;
  if (shown) {
    below.value = others;
    return;
  }
  try {
    const page = /** @type {ContextsPage} */ (await get(`/contexts?parent_id=${id}&limit=200`));
    below.value = { ...below.value, [id]: page.contexts };
  } catch (error) {
    report(error);
  }
}

/** A context, and what is below it if that is open. @param {Context} context @param {number} depth @returns {Child} */
function contextRow(context, depth) {
  const { context_id: id, name, type } = context;
  const children = below.value[id];
  const hasBelow = type === "organization" || type === "folder";
  return h(
    Fragment,
    { key: id },
    h(
      "div",
      { class: `menu-row depth-${depth}` },
      h(Toggle, {
        icon: "folder",
        label: name,
        detail: t(`context.${type}`),
        pressed: contexts.value.some((chosen) => chosen.id === id),
        onClick: () => choose(() => toggleContext(context)),
      }),
      hasBelow &&
        h(
          "button",
          {
            type: "button",
            class: "quiet icon",
            "aria-expanded": children ? "true" : "false",
            "aria-label": t("contexts.below", { name }),
            title: t("contexts.below", { name }),
            onClick: () => {
              openContext(context);
            },
          },
          h(Icon, { name: "right" }),
        ),
    ),
    children?.map((each) => contextRow(each, depth + 1)),
    children?.length === 0 && h("p", { class: `soft menu-row depth-${depth + 1}` }, t("contexts.none")),
  );
}

/** @param {Context} context */
function toggleContext({ type, context_id: id, name }) {
  const on = contexts.value.some((each) => each.id === id);
  contexts.value = on ? contexts.value.filter((each) => each.id !== id) : [...contexts.value, { type, id, name }].slice(-MOST_CONTEXTS);
  keepChoices();
  readChosen();
}

/** @param {ToggleProperties} properties */
const Toggle = ({ icon, label, detail, pressed, disabled, onClick }) =>
  h(
    "button",
    { type: "button", class: "toggle", "aria-pressed": pressed ? "true" : "false", disabled, onClick },
    h(Icon, { name: icon }),
    h("span", null, h("bdi", null, label), detail && h("small", null, detail)),
    h("span", { class: "state" }, h(Icon, { name: pressed ? "check" : disabled ? "off" : "box" })),
  );

/** @param {Pick<ToolInfo, "name" | "title">} tool */
const titleOf = ({ name, title }) => named(`tools.title.${name}`, title);

/** @param {ToolInfo} tool */
function toolRow(tool) {
  const locked = tool.kind === "update" && readsOnly.value;
  const off = offBy(tool.name);
  const detail = locked
    ? t("tools.locked")
    : off
      ? t("tools.off_by", { name: off.context_name })
      : tool.available
        ? ""
        : t("tools.unavailable");
  return h(Toggle, {
    key: tool.name,
    icon: tool.kind === "update" ? "edit" : "tool",
    label: titleOf(tool),
    detail,
    pressed: tool.available && !locked && !off && isOn(tool),
    disabled: locked || Boolean(off) || !tool.available,
    onClick: () => choose(() => toggleTools([tool.name])),
  });
}

/** @type {Ref<HTMLDivElement>} */
const menu = { current: null };

/** @param {() => void} act */
function choose(act) {
  act();
  menu.current?.hidePopover();
  document.getElementById("plus")?.focus();
}

function PicturesRow() {
  const on = pictures.value ?? me.value?.page_images ?? false;
  const sees = seesPictures.value;
  return h(Toggle, {
    icon: "page",
    label: t("pictures"),
    detail: t(sees ? "pictures.detail" : "pictures.blind"),
    pressed: on && sees,
    disabled: !sees,
    onClick: () =>
      choose(() => {
        pictures.value = !on;
        keepChoices();
      }),
  });
}

function Menu() {
  const picker = /** @type {Ref<HTMLInputElement>} */ (useRef(null));
  const tools = me.value?.tools ?? [];
  const place = () => {
    const box = document.getElementById("plus")?.getBoundingClientRect();
    if (!box || !menu.current) return;
    menu.current.style.left = `${box.left}px`;
    menu.current.style.bottom = `${innerHeight - box.top + 8}px`;
    menu.current.style.maxHeight = `${box.top - 24}px`;
  };
  useEffect(() => {
    addEventListener("resize", place);
    return () => removeEventListener("resize", place);
  }, []);
  return h(
    "div",
    { class: "plus-place" },
    h(
      "button",
      {
        type: "button",
        class: "quiet icon",
        id: "plus",
        "aria-label": t("composer.plus"),
        title: t("composer.plus"),
        popovertarget: "plus-menu",
        "aria-haspopup": "true",
        "aria-expanded": menuOpen.value ? "true" : "false",
      },
      h(Icon, { name: "plus" }),
    ),
    h(
      "div",
      {
        id: "plus-menu",
        class: "menu",
        popover: "auto",
        ref: menu,
        role: "group",
        "aria-label": t("composer.plus"),
        // The event after it comes a frame later: the menu would jump.
        onBeforeToggle: (event) => {
          if (event.newState === "open") place();
        },
        onToggle: (event) => {
          menuOpen.value = event.newState === "open";
          if (menuOpen.value) {
            offerContexts();
            readChosen();
          }
        },
      },
      h(
        "button",
        { type: "button", class: "toggle", id: "attach", onClick: () => choose(() => picker.current?.click()) },
        h(Icon, { name: "clip" }),
        h("span", null, t("composer.attach")),
      ),
      offered.value.length > 0 && h("p", { class: "menu-title" }, t("contexts")),
      offered.value.map((each) => contextRow(each, 0)),
      offeredAfter.value &&
        h(
          "button",
          {
            type: "button",
            class: "toggle",
            onClick: () => {
              offerContexts(offeredAfter.value);
            },
          },
          h(Icon, { name: "down_page" }),
          h("span", null, t("sessions.more")),
        ),
      tools.filter(({ name }) => name === WEB).map(toolRow),
      me.value?.page_images_allowed && h(PicturesRow, null),
      tools.length > 0 &&
        h(
          "details",
          { class: "menu-more" },
          h("summary", null, t("tools.more")),
          h("p", { class: "menu-title" }, t("tools")),
          tools.filter(({ name }) => name !== WEB).map(toolRow),
        ),
    ),
    h("input", {
      type: "file",
      multiple: true,
      hidden: true,
      ref: picker,
      id: "picker",
      tabIndex: -1,
      "aria-label": t("composer.attach"),
      onChange: (event) => {
        attach(event.currentTarget.files ?? []);
        event.currentTarget.value = "";
      },
    }),
  );
}

function Chips() {
  const flipped = (me.value?.tools ?? []).filter((each) => toolsFlipped.value.includes(each.name));
  const only = asked.value;
  if (!contexts.value.length && !flipped.length && !only.length) return null;
  return h(
    "ul",
    { class: "chips", "aria-label": t("composer.chosen") },
    contexts.value.map((each, index) =>
      h(
        "li",
        { key: each.id, class: index ? "" : "is-focus" },
        h(Icon, { name: "folder" }),
        h("bdi", null, each.name),
        h(IconButton, {
          name: "close",
          label: t("contexts.leave", { name: each.name }),
          onClick: () => {
            contexts.value = contexts.value.filter((chosen) => chosen.id !== each.id);
            keepChoices();
          },
        }),
      ),
    ),
    only.length > 0 &&
      h(
        "li",
        { key: "only", class: "is-only" },
        h(Icon, { name: "clip" }),
        h("bdi", null, t("files.only", { n: only.length, name: only[0] ?? "" })),
        h(IconButton, {
          name: "close",
          label: t("files.ask.all"),
          onClick: () => {
            asked.value = [];
          },
        }),
      ),
    flipped.map((each) =>
      h(
        "li",
        { key: each.name, class: isOn(each) ? "" : "is-off" },
        h(Icon, { name: isOn(each) ? "edit" : "off" }),
        t(isOn(each) ? "tools.is_on" : "tools.off", { name: titleOf(each) }),
        h(IconButton, {
          name: "close",
          label: t(isOn(each) ? "tools.switch_off" : "tools.on", { name: titleOf(each) }),
          onClick: () => toggleTools([each.name]),
        }),
      ),
    ),
  );
}

function Models() {
  const models = me.value?.models ?? [];
  if (models.length < 2) return null;
  return h(
    "select",
    {
      class: "quiet",
      "aria-label": t("composer.model"),
      value: model.value,
      onChange: (event) => {
        model.value = event.currentTarget.value;
        keepChoices();
      },
    },
    h("option", { value: "" }, [t("composer.model.usual"), models.find((each) => each.default)?.title].filter(Boolean).join(": ")),
    models.map((each) => h("option", { key: each.id, value: each.id }, each.title)),
  );
}

function submit() {
  const waiting = answering.value;
  if (waiting?.value.waits) return stop(waiting);
  const question = draft.value.trim();
  if (!question || answering.value || [...question].length > limit() || mustWait()) return;
  const replaced = turns.value.find((each) => each.value.key === replacing.value)?.value ?? null;
  ask(question, { replaces: replaced?.turnId ? replaced : null });
}

const limit = () => me.value?.limits?.question_characters ?? USUAL_LIMIT;

const mustWait = () => (refused.value?.until ?? 0) > Date.now();

function Refused() {
  const now = refused.value;
  const until = now?.until ?? 0;
  useEffect(() => {
    if (!until) return;
    const timer = setTimeout(
      () => {
        refused.value = null;
        said.value = t("limit.over");
      },
      Math.min(until - Date.now(), 2 ** 31 - 1),
    );
    return () => clearTimeout(timer);
  }, [until]);
  if (!now) return null;
  const { problem } = now;
  const trace = problem.trace_id;
  return h(
    "div",
    { class: `note ${until ? "is-warn" : "is-bad"}`, role: "alert" },
    h(Icon, { name: until ? "clock" : "alert" }),
    h(
      "div",
      null,
      until ? h(Countdown, { until, words: (seconds) => waitWords(seconds, until) }) : h("p", null, wordsOf(problem)),
      !until && moreOf(problem).map((each) => h("p", { key: each.field }, `${each.field}: ${wordsOfCode(each.code, each.reason)}`)),
      problem.code === CHAT_OFF &&
        toolsFlipped.value.includes(CHAT) &&
        h(
          "button",
          {
            type: "button",
            onClick: () => {
              toggleTools([CHAT]);
              refused.value = null;
            },
          },
          t("tools.on", { name: titleOf({ name: CHAT, title: CHAT }) }),
        ),
      !until &&
        trace &&
        h("button", { type: "button", class: "quiet", onClick: () => copy(trace, t("turn.trace.copied")) }, t("turn.trace")),
    ),
    !until &&
      h(IconButton, {
        name: "close",
        label: t("close"),
        onClick: () => {
          refused.value = null;
        },
      }),
  );
}

/** @param {number} seconds @param {number} until */
function waitWords(seconds, until) {
  const time = clock(until);
  return seconds < 60 ? t("limit.seconds", { n: seconds, time }) : t("limit.minutes", { n: Math.ceil(seconds / 60), time });
}

/** @param {KeyboardEvent} event */
function onKeyDown(event) {
  const withCtrl = event.ctrlKey || event.metaKey;
  const sends = preferences.value.sendKey === "ctrl" ? withCtrl : !event.shiftKey;
  if (event.key === "Enter" && sends && !event.isComposing) {
    event.preventDefault();
    if (!event.repeat) submit();
  } else if (event.key === "ArrowUp" && !draft.value && turns.value.length && !answering.value) {
    event.preventDefault();
    // What was asked last may be an edit further up.
    edit(turns.value.reduce((one, other) => (other.value.seq > one.value.seq ? other : one)).value);
  } else if (event.key === "Escape" && replacing.value) {
    event.stopPropagation();
    endEdit();
  }
}

export function Composer() {
  const box = /** @type {Ref<HTMLTextAreaElement>} */ (useRef(null));
  const running = answering.value;
  const left = limit() - [...draft.value].length;
  useEffect(() => {
    if (!box.current) return;
    box.current.style.height = "auto";
    box.current.style.height = `${box.current.scrollHeight}px`;
  }, [draft.value, conversationId.value]);
  const held = document.activeElement?.id === "stop";
  useLayoutEffect(() => {
    // The button that had the focus cannot be pressed any more.
    const button = /** @type {HTMLButtonElement | null} */ (document.getElementById("stop"));
    if (held && (button?.disabled ?? true)) box.current?.focus();
  }, [running?.value.state]);
  return h(
    "form",
    {
      class: "composer",
      "aria-label": t("composer"),
      onSubmit: (event) => {
        event.preventDefault();
        submit();
      },
    },
    h(Files, null),
    replacing.value &&
      h(
        "p",
        { class: "replacing" },
        h(Icon, { name: "edit" }),
        t("composer.editing"),
        h(
          "button",
          {
            type: "button",
            class: "quiet",
            onClick: () => {
              endEdit();
              box.current?.focus();
            },
          },
          t("cancel"),
        ),
      ),
    h(Chips, null),
    h(Refused, null),
    h("label", { class: "hidden", for: "question" }, t("composer.question")),
    h("textarea", {
      id: "question",
      ref: box,
      rows: 1,
      value: draft.value,
      dir: "auto",
      placeholder: asked.value.length
        ? t("composer.placeholder.only", { n: asked.value.length, name: asked.value[0] ?? "" })
        : hasUsableFiles.value
          ? t("composer.placeholder.files")
          : t("composer.placeholder"),
      "aria-describedby": left <= 1000 ? "characters" : undefined,
      onInput: (event) => setDraft(event.currentTarget.value),
      onKeyDown,
      onPaste: (event) => {
        const { files, types } = /** @type {DataTransfer} */ (event.clipboardData);
        // A spreadsheet adds a picture of its cells to their text.
        const text = event.clipboardData?.getData("text/plain") ?? "";
        const isText = !files.length || (types.includes("text/plain") && types.includes("text/html"));
        if (isText && [...text].length <= limit()) return;
        event.preventDefault();
        if (isText) attachText(text);
        else attach(files);
      },
    }),
    h(
      "div",
      { class: "composer-row" },
      h(Menu, null),
      h(Models, null),
      h(OfflineBadge, null),
      h("span", { class: "grow" }),
      left <= 1000 &&
        h(
          "span",
          { id: "characters", class: left < 0 ? "is-over" : "soft" },
          t("composer.characters", { used: number(limit() - left), most: number(limit()) }),
        ),
      running
        ? h(
            "button",
            {
              type: "button",
              class: "primary icon",
              id: "stop",
              "aria-label": t("composer.stop"),
              title: t("composer.stop"),
              disabled: (!running.value.turnId && !running.value.retryAt && !running.value.waits) || running.value.state === "stopping",
              onClick: () => {
                said.value = t("turn.stopping");
                stop(running);
              },
            },
            h(Icon, { name: "stop" }),
          )
        : h(
            "button",
            {
              type: "submit",
              class: "primary icon",
              id: "send",
              "aria-label": t("send"),
              title: t("send"),
              disabled: !draft.value.trim() || left < 0 || !online.value || mustWait(),
            },
            h(Icon, { name: "send" }),
          ),
    ),
  );
}

function OfflineBadge() {
  return me.value?.offline_model ? h("span", { class: "badge", title: t("offline_model.why") }, t("offline_model")) : null;
}
