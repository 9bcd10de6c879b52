// The entry: loads the user and the words, and shows the page.
import { Suggestions, Turn, useUndrawn } from "./answer.js";
import { pause } from "./api.js";
import { jumpToEnd, loadEarlier, startChat, stop } from "./chat.js";
import { Composer } from "./composer.js";
import { attach, coming, hasUsableFiles, listOpen, staying } from "./files.js";
import { speak, t } from "./i18n.js";
import { listenIfSeen } from "./listen.js";
import { Icon, IconButton, Lazy, Notices, Peek, peeked } from "./parts.js";
import { answering, closeSources, conversationId, earlierBefore, later, loading, newest, shownTitle, shownTurn, turns } from "./session.js";
import { finishDeletions, loadSessions, menus, renaming, Sessions } from "./sessions.js";
import {
  alarm,
  authMode,
  checkVersion,
  dialog,
  dropTarget,
  finished,
  focusOn,
  go,
  isNarrow,
  leaveToSignIn,
  loadMe,
  loadPreferences,
  me,
  notify,
  online,
  openSessions,
  outdated,
  place,
  preferences,
  readAddress,
  report,
  said,
  sessionsOpen,
  signedOut,
  signInAddress,
  takeBack,
} from "./store.js";
import { effect, Fragment, h, render, signal, useEffect, useLayoutEffect, useRef, useState } from "./vendor/ui.js";

/** @import { Ref, TurnView } from "./types/page.js" */

const NEAR_TOP = 1500;
/** A scroll so long after a wheel, a key or a finger is theirs. */
const BY_HAND_MS = 400;
const NEAR_END = 8;
const dragging = signal(false);

/** Without an address, a proxy may ask at the next load. @param {{words: string, class?: string}} properties */
function SignIn({ words, class: extra = "" }) {
  place.value;
  const address = signInAddress();
  return address
    ? h("a", { href: address, class: extra, onClick: leaveToSignIn }, words)
    : h("button", { type: "button", onClick: () => location.reload() }, t("reload"));
}

function Welcome() {
  const why = signInAddress()
    ? t("welcome.hint")
    : authMode === "jwt"
      ? t("welcome.jwt")
      : t(authMode === "local" ? "welcome.local" : "welcome.proxy");
  return h(
    "main",
    { class: "welcome" },
    h("img", { src: `${document.documentElement.dataset.base}logo.svg`, alt: "", width: 56, height: 56 }),
    h("h1", null, t("empty")),
    location.search === "?sign-in=failed" && h("p", { role: "alert" }, t("welcome.failed")),
    signedOut.value && [h("p", { class: "soft" }, why), h(SignIn, { words: t("welcome.sign_in"), class: "button" })],
    !signedOut.value &&
      (online.value
        ? h(
            "button",
            {
              type: "button",
              onClick: () => {
                loadMe();
              },
            },
            t("try_again"),
          )
        : h("p", { class: "soft", role: "status" }, t("welcome.offline"))),
  );
}

function Banner() {
  if (signedOut.value) return h("div", { class: "banner is-bad", role: "alert" }, t("signed_out"), h(SignIn, { words: t("sign_in") }));
  if (!online.value) return h("div", { class: "banner", role: "status" }, t("offline"));
  if (outdated.value) {
    return h(
      "div",
      { class: "banner", role: "status" },
      t("outdated"),
      h("button", { type: "button", onClick: () => location.reload() }, t("reload")),
    );
  }
  return null;
}

/** The sample document, which the server has with the page. */
const EXAMPLE = "harbour-handbook.pdf";

function attachExample() {
  fetch(`${document.documentElement.dataset.base}${EXAMPLE}`)
    .then(async (found) => {
      if (found.ok) attach([new File([await found.blob()], EXAMPLE, { type: "application/pdf" })]);
      else await checkVersion();
    })
    .catch(report);
  focusOn("#question");
}

function Empty() {
  const isReady = hasUsableFiles.value;
  const isExample = [...staying.value.map((each) => each.blob_name), ...coming.value.map((each) => each.name)].includes(EXAMPLE);
  // A finger drags no files.
  const isTouched = matchMedia("(pointer: coarse)").matches;
  return h(
    "div",
    { class: "empty" },
    h("h2", null, t(isReady ? "empty.files" : "empty")),
    h("p", { class: "soft" }, t(isReady ? "empty.files.hint" : "empty.hint")),
    me.value?.offline_model && h("p", { class: "soft" }, t("offline_model.why")),
    !isReady && [
      h(
        "button",
        { type: "button", class: "drop", onClick: () => document.getElementById("picker")?.click() },
        h(Icon, { name: "clip" }),
        h("span", null, t(isTouched ? "empty.choose" : "empty.drop"), h("small", null, t("empty.kinds"))),
      ),
      h("button", { type: "button", class: "icon-text", id: "example", onClick: attachExample }, h(Icon, { name: "page" }), t("example")),
    ],
    isExample && h(Suggestions, { texts: ["leave", "order", "cranes"].map((each) => t(`example.${each}`)) }),
  );
}

/** Up and down between turns, left and right between markers. @param {KeyboardEvent} event */
function moveInTurns(event) {
  const at = /** @type {HTMLElement} */ (event.target);
  const name = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 }[event.key];
  if (name === undefined || event.ctrlKey || event.metaKey || event.altKey || at.closest("input, textarea, select, pre, .wide, summary"))
    return;
  const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
  if (vertical && at.closest("button.marker") === null && !at.classList.contains("turns")) return;
  const all = [.../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll("button.marker")];
  const here = all.indexOf(at);
  if (here < 0) return;
  const turn = at.closest("article");
  const next = vertical
    ? all.filter((each, place) => each.closest("article") !== turn && Math.sign(place - here) === name).at(name > 0 ? 0 : -1)
    : all[here + name];
  if (!(next instanceof HTMLElement)) return;
  event.preventDefault();
  next.focus();
}

/** How much of it is below what is in view. @param {HTMLElement} box */
const belowOf = (box) => box.scrollHeight - box.scrollTop - box.clientHeight;

function Conversation() {
  const scroller = /** @type {Ref<HTMLDivElement>} */ (useRef(null));
  const [away, setAway] = useState(false);
  const list = turns.value;
  const undrawn = useUndrawn(list);
  const first = list[0]?.value.key;
  const seqOf = (/** @type {TurnView} */ turn) => turn.seq || Infinity;
  const latest = Math.max(...list.map((turn) => seqOf(turn.value)));
  const height = useRef(0);
  const atEnd = useRef(false);
  const endedAt = useRef(0);
  // Whoever goes to the end of an answer that is being written stays there.
  const following = useRef(false);
  const moved = useRef(0);
  const toEnd = () => {
    const box = scroller.current;
    if (box) {
      box.scrollTop = box.scrollHeight;
      endedAt.current = box.scrollTop;
    }
    atEnd.current = true;
  };
  const byHand = () => {
    moved.current = Date.now();
  };
  useLayoutEffect(() => {
    // At the very top the browser does not keep the reader's place itself.
    const box = scroller.current;
    if (!box) return;
    if (box.scrollTop === 0 && height.current && box.scrollHeight > height.current) box.scrollTop = box.scrollHeight - height.current;
    height.current = box.scrollHeight;
  }, [first]);
  useLayoutEffect(() => {
    // What is drawn above the end takes another height than its place did; a scroll may not be heard of yet.
    const box = scroller.current;
    if (box && atEnd.current && (box.scrollTop >= endedAt.current || belowOf(box) < NEAR_END)) toEnd();
  }, [undrawn]);
  useEffect(() => {
    if (list.length) toEnd();
  }, [conversationId.value, list.length > 0]);
  useEffect(() => {
    following.current = false;
    if (newest.value) document.getElementById(`turn-${newest.value}`)?.scrollIntoView({ block: "start", behavior: "instant" });
  }, [newest.value]);
  const look = () => {
    const box = scroller.current;
    if (!box) return;
    const below = belowOf(box);
    setAway(below > 400);
    atEnd.current = below < NEAR_END;
  };
  useEffect(() => {
    const box = scroller.current;
    // An answer grows without scrolling, and the list of files takes height: the end stays.
    const growing = new ResizeObserver((entries) => {
      if (following.current || (atEnd.current && entries.some(({ target }) => target === box))) toEnd();
      look();
    });
    if (box) growing.observe(box);
    if (box?.firstElementChild) growing.observe(box.firstElementChild);
    return () => growing.disconnect();
  }, []);
  const onScroll = () => {
    const box = scroller.current;
    if (!box) return;
    height.current = box.scrollHeight;
    look();
    if (Date.now() - moved.current < BY_HAND_MS) following.current = atEnd.current;
    if (box.scrollTop < NEAR_TOP && earlierBefore.value !== null) loadEarlier();
  };
  return h(
    "main",
    { class: "conversation", id: "conversation", tabIndex: -1 },
    h(Head, {
      text: shownTitle.value || t(list.length ? "sessions.untitled" : "sessions.new"),
      shares: list.some(({ value }) => value.state === "answered"),
    }),
    h(Banner, null),
    h(
      "div",
      {
        class: "scroller",
        ref: scroller,
        onScroll,
        onWheel: byHand,
        onTouchMove: byHand,
        onPointerDown: byHand,
        onKeyDown: byHand,
        // A turn that was found has the focus: the end of an answer does not take it away.
        onFocusCapture: byHand,
        tabIndex: list.length ? 0 : -1,
        role: "group",
        "aria-label": t("conversation"),
      },
      h(
        "div",
        { class: "turns", onKeyDown: moveInTurns },
        loading.value && h("p", { class: "soft loading" }, t("loading")),
        !list.length && !loading.value && h(Empty, null),
        list.map((turn, index) =>
          h(Turn, {
            turn,
            key: turn.value.key,
            last: index === list.length - 1,
            live: seqOf(turn.value) === latest,
            isDrawn: index >= undrawn,
          }),
        ),
      ),
    ),
    h(
      "div",
      { class: "above-composer" },
      (away || later.value) &&
        list.length > 0 &&
        h(
          "button",
          {
            type: "button",
            class: "to-end",
            onClick: async () => {
              await jumpToEnd();
              following.current = true;
              toEnd();
            },
          },
          h(Icon, { name: "end" }),
          t("to_end"),
        ),
    ),
    h(Composer, null),
  );
}

/** @param {{text: string, shares?: boolean}} properties `shares`: whether there is an answer that a link could show */
function Head({ text, shares = false }) {
  return h(
    "header",
    { class: "head" },
    h(IconButton, {
      name: "menu",
      label: t("sessions"),
      class: preferences.value.folded ? "open-sessions is-folded" : "open-sessions",
      onClick: openSessions,
    }),
    renaming.value === "head" && shares
      ? h(Lazy, {
          from: menus,
          name: "TitleField",
          properties: { session: { conversation_id: conversationId.value ?? "", title: text }, at: "head" },
        })
      : h(
          "h1",
          null,
          shares
            ? h(
                "button",
                {
                  type: "button",
                  class: "quiet title",
                  title: t("sessions.rename"),
                  onClick: () => {
                    renaming.value = "head";
                  },
                },
                h("bdi", null, text),
              )
            : h("bdi", null, text),
        ),
    shares && me.value?.share_days
      ? h(
          "button",
          {
            type: "button",
            class: "quiet share-chat",
            "aria-label": t("share"),
            title: t("share"),
            onClick: () => {
              dialog.value = `share/${conversationId.value}`;
            },
          },
          h(Icon, { name: "share" }),
          h("span", null, t("share")),
        )
      : null,
  );
}

function Elsewhere() {
  const { view, id } = place.value;
  return h(
    "main",
    { class: "conversation", id: "conversation", tabIndex: -1 },
    h(Head, { text: t(view) }),
    h(Banner, null),
    h(
      "div",
      { class: "scroller" },
      view === "shared"
        ? h(Lazy, { from: () => import("./shared.js"), name: "Shared", properties: { id, key: id ?? "" }, key: view })
        : view === "contexts"
          ? h(Lazy, { from: () => import("./contexts.js"), name: "Contexts", properties: { id, key: id ?? "" }, key: view })
          : me.value?.can.administer
            ? h(Lazy, { from: () => import("./telemetry.js"), name: "Telemetry", properties: { trace: id, key: id ?? "" }, key: view })
            : h("p", { class: "loading" }, t("telemetry.denied")),
    ),
  );
}

function App() {
  if (!me.value) return h(Fragment, null, h(Welcome, null), h(Notices, null));
  const main = place.value.view === "session" ? "question" : "conversation";
  return h(
    Fragment,
    null,
    h(
      "a",
      {
        class: "skip",
        href: `#${main}`,
        onClick: (event) => {
          event.preventDefault();
          document.getElementById(main)?.focus();
        },
      },
      t(main === "question" ? "skip" : "skip.content"),
    ),
    h(
      "div",
      { class: `layout${preferences.value.folded ? " is-folded" : ""}${shownTurn.value ? " has-sources" : ""}` },
      h(Sessions, null),
      sessionsOpen.value &&
        h("div", {
          class: "shade",
          onClick: () => {
            sessionsOpen.value = false;
          },
        }),
      place.value.view !== "session" ? h(Elsewhere, null) : h(Conversation, null),
      shownTurn.value && h(Lazy, { from: () => import("./sources.js"), name: "Sources" }),
    ),
    dragging.value &&
      h("div", { class: `dropping${dropTarget.value ? "" : " is-nowhere"}` }, t(dropTarget.value ? "empty.drop.here" : "drop.nowhere")),
    h(Notices, null),
    h(Peek, null),
    dialog.value && h(Lazy, { from: () => import("./dialogs.js"), name: "Dialogs" }),
    h("div", { role: "status", class: "hidden" }, said.value),
    h("div", { role: "alert", class: "hidden" }, alarm.value),
    h("div", { role: "log", class: "hidden", "aria-label": t("turn.answer") }, finished.value),
  );
}

const REGIONS = ["sessions", "conversation", "sources", "notices"];

/** @param {KeyboardEvent} event */
function onKey(event) {
  const ctrl = event.ctrlKey || event.metaKey;
  const key = event.key.toLowerCase();
  if (event.key === "Escape") {
    if (document.querySelector("dialog[open], :popover-open")) return;
    if (peeked.value) peeked.value = null;
    else if (sessionsOpen.value && isNarrow()) {
      sessionsOpen.value = false;
      /** @type {HTMLElement | null} */ (document.querySelector(".open-sessions"))?.focus();
    } else if (shownTurn.value) closeSources();
    else if (listOpen.value) {
      listOpen.value = false;
      if (document.activeElement?.id !== "question") requestAnimationFrame(() => focusOn("#files-line, #question"));
    } else if (answering.value) stop(answering.value);
    return;
  }
  if (event.key === "F6") {
    event.preventDefault();
    const there = REGIONS.map((each) => document.getElementById(each)).filter((each) => each?.hasChildNodes() && each.checkVisibility());
    const here = there.findIndex((each) => each?.contains(document.activeElement));
    there[(here + 1) % there.length]?.focus();
    return;
  }
  const focus = (/** @type {string} */ id) => document.getElementById(id)?.focus();
  /** @type {Record<string, () => void>} */
  const chords = {
    k: () => {
      openSessions();
      requestAnimationFrame(() => focus("search"));
    },
    "/": () => {
      dialog.value = "keys";
    },
  };
  // A text field has an undo of its own.
  const field = /** @type {HTMLInputElement | null} */ (/** @type {HTMLElement} */ (event.target).closest("input, textarea"));
  if (ctrl && key === "z" && !event.shiftKey && !field?.value && takeBack()) {
    event.preventDefault();
    return;
  }
  // What had the focus may be gone: who types then writes a question.
  if (!ctrl && !event.altKey && event.key.length === 1 && event.key !== " " && document.activeElement === document.body) focus("question");
  const newestMarker = () => {
    const answers = [...document.querySelectorAll(".turn")].filter((each) => each.querySelector("button.marker"));
    /** @type {HTMLElement | null | undefined} */ (answers.at(-1)?.querySelector("button.marker"))?.focus();
  };
  /** @type {Record<string, () => void>} */
  const shifted = {
    l: newestMarker,
    o: () => {
      go(null);
      focus("question");
    },
    u: () => document.getElementById("picker")?.click(),
  };
  const act = ctrl ? (event.shiftKey ? (shifted[key] ?? (key === "/" ? chords["/"] : undefined)) : chords[key]) : undefined;
  if (act) {
    event.preventDefault();
    act();
  }
}

function listenToWindow() {
  addEventListener("hashchange", readAddress);
  addEventListener("popstate", readAddress);
  addEventListener("keydown", onKey);
  addEventListener("online", () => {
    online.value = true;
  });
  addEventListener("offline", () => {
    online.value = false;
  });
  addEventListener("dragover", (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    dragging.value = true;
  });
  addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) dragging.value = false;
  });
  addEventListener("drop", (event) => {
    dragging.value = false;
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    const to = dropTarget.value;
    // What was dropped can be read only at once.
    const files = [...event.dataTransfer.files];
    const entries = [...event.dataTransfer.items].map((each) => each.webkitGetAsEntry()).filter((each) => each !== null);
    if (to) import("./folders.js").then((folders) => folders.filesOf(files, entries)).then(to, checkVersion);
    else notify({ text: t("drop.nowhere"), kind: "info" });
  });
  for (const sign of ["pointermove", "pointerdown", "keydown", "focus"]) addEventListener(sign, listenIfSeen, { passive: true });
  addEventListener("focus", () => {
    if (signedOut.value) loadMe();
  });
  document.addEventListener("visibilitychange", () => {
    listenIfSeen();
    if (document.hidden) return;
    checkVersion();
    if (signedOut.value) loadMe();
    else loadSessions();
  });
}

function enter() {
  loadPreferences();
  readAddress();
  startChat();
  effect(() => {
    dropTarget.value = place.value.view === "session" ? attach : null;
  });
  listenToWindow();
  finishDeletions();
  loadSessions();
  requestAnimationFrame(() => document.getElementById("question")?.focus());
}

/** Words are gone if the server got another version since the page was loaded. */
async function firstWords() {
  while (!(await speak(""))) {
    await checkVersion();
    if (outdated.value) location.reload();
    await pause(2000);
  }
}

async function start() {
  await Promise.all([loadMe(), firstWords()]);
  if (me.value) loadPreferences();
  let spoken = "";
  const change = async () => {
    const wanted = preferences.value.language;
    if (wanted === spoken) return;
    if (await speak(wanted)) spoken = wanted;
    else checkVersion();
  };
  await change();
  effect(() => {
    change();
  });
  effect(() => {
    document.title = shownTitle.value ? `${shownTitle.value} – Orc` : "Orc";
  });
  if (me.value) enter();
  else {
    // A server that was away, or a sign-in in another window.
    const coming = effect(() => {
      if (online.value && !signedOut.value)
        queueMicrotask(() => {
          if (!me.value) loadMe();
        });
    });
    const known = me.subscribe((is) => {
      if (is) {
        queueMicrotask(() => {
          coming();
          known();
        });
        enter();
      }
    });
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && !me.value) loadMe();
    });
  }
  render(h(App, null), document.body);
}

start();
