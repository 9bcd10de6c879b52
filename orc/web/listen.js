// What happens to the open session elsewhere: its documents, its title, and turns of other windows.
import { ApiError, eventsOf, get, pause, request } from "./api.js";
import { loadTurns } from "./chat.js";
import { onDocumentEvent, refreshDocuments } from "./files.js";
import { change, conversationId, heard, isRunning, later, latest, leaveGone, path, show, stored, turns, versions } from "./session.js";
import { loadMe, online, report, signedOut } from "./store.js";
import { atNextFrame, follow, LONGEST_WAIT, renamed } from "./stream.js";
import { batch } from "./vendor/ui.js";

/** @import { Citation, Conversation } from "./types/page.js" */

/** A hidden window stops listening then: a browser has six connections to a server for all windows. */
const HIDDEN_MS = 20_000;
const MOST_MISSED = 10;

/** @type {AbortController | null} */
let listening = null;

export function stopListening() {
  listening?.abort();
  listening = null;
}

heard.subscribe((id) => {
  if (id) listen(id);
  else stopListening();
});

let resting = "";

function rest() {
  if (document.hidden) pauseListening();
}

function pauseListening() {
  if (!listening) return;
  resting = conversationId.value ?? "";
  stopListening();
}

/** Stop listening while the window is hidden; afterwards, or once a user is at a quiet window, listen again. */
export function listenIfSeen() {
  if (document.hidden) setTimeout(rest, HIDDEN_MS);
  else if (!signedOut.value && resting && resting === conversationId.value) listen(resting, true);
}

signedOut.subscribe((is) => {
  if (!is) listenIfSeen();
});

/** Follow the events of a session. @param {string} id @param {boolean} [isAgain] */
export async function listen(id, isAgain = false) {
  if (listening) return;
  resting = "";
  if (document.hidden) listenIfSeen();
  const mine = new AbortController();
  listening = mine;
  let wait = 500;
  let wasThere = isAgain;
  while (!mine.signal.aborted && conversationId.value === id) {
    try {
      await refreshDocuments(id);
      // The server may have another model or other limits now.
      if (isAgain) await loadMe();
      const headers = { accept: "text/event-stream" };
      const response = await request("GET", `${path(id)}/events`, { headers, signal: mine.signal });
      wasThere = true;
      await showMissed(id).catch(report);
      for await (const event of eventsOf(response)) {
        wait = 500;
        online.value = navigator.onLine;
        hear(id, event.event, JSON.parse(event.data));
      }
    } catch (error) {
      // Deleted in another window.
      if (wasThere && error instanceof ApiError && error.problem.code === "not_found") leaveGone(id);
      if (error instanceof ApiError && error.problem.status === 401) {
        signedOut.value = true;
        return pauseListening();
      }
    }
    isAgain = true;
    await pause(wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

/** Turns that ended while nothing was heard. @param {string} id */
async function showMissed(id) {
  const found = /** @type {Conversation} */ (await get(`${path(id)}?limit=${MOST_MISSED}`));
  // They could not be loaded before.
  if (!turns.value.length && found.turns.length) await loadTurns(id);
  const last = Math.max(0, ...turns.value.map((each) => each.value.seq));
  for (const fresh of found.turns) {
    const { turn_id: turnId, seq, replaced_by: next } = fresh;
    if (next) versions.set(turnId, stored(fresh));
    else if (seq > last) await appear(id, turnId, seq);
    else if (fresh.status !== "pending") judge(turnId, stored(fresh).citations);
  }
}

/** @param {string} id @param {string} kind @param {any} data */
function hear(id, kind, data) {
  if (conversationId.value !== id) return;
  if (kind === "quiet") pauseListening();
  else if (kind.startsWith("document")) hearLater(id, kind, data);
  else if (kind === "chat_session_title_updated") renamed(data);
  else if (kind === "turn_started") appear(id, data.turn_id, data.seq);
  else if (kind === "critique") judge(data.turn_id, data.citations ?? []);
  else if (kind === "error") throw new ApiError(data);
}

/** What came of documents since the last frame: many that are read send many events, and each would be drawn. @type {(() => void)[]} */
const unheard = [];

/** @param {string} id @param {string} kind @param {any} data */
function hearLater(id, kind, data) {
  unheard.push(() => {
    if (conversationId.value === id) onDocumentEvent(kind, data);
  });
  if (unheard.length > 1) return;
  atNextFrame(() =>
    batch(() => {
      for (const act of unheard.splice(0)) act();
    }),
  );
}

/** Checks that came after the answer: its marks change where they are. @param {string} turnId @param {Citation[]} citations */
function judge(turnId, citations) {
  const turn = turns.value.find(({ value }) => value.turnId === turnId);
  if (!turn || isRunning(turn.value.state) || !citations.length) return;
  if (JSON.stringify(citations) !== JSON.stringify(turn.value.citations)) change(turn, { citations });
}

/** A turn that another window began. @param {string} id @param {string} turnId @param {number} seq */
async function appear(id, turnId, seq) {
  const find = () => turns.value.find(({ value }) => value.turnId === turnId);
  // A session that was left meanwhile, also if it is open again: it is loaded then.
  const began = listening;
  const isShown = () =>
    began !== listening ||
    conversationId.value !== id ||
    later.value ||
    turns.value.some(({ value }) => value.replaces === turnId) ||
    isRunning(find()?.value.state ?? "failed") ||
    find()?.value.state === "answered";
  // The turn may be on its way here: its own stream names it within a moment.
  await pause(500);
  if (isShown()) return;
  try {
    const found = /** @type {Conversation} */ (await get(`${path(id)}?limit=1&before_seq=${seq + 1}`));
    const [fresh] = latest(found.turns);
    if (!fresh || isShown()) return;
    const known = find();
    const turn = known ?? fresh;
    if (!known) show(turn);
    else if (fresh.value.state !== known.value.state) turn.value = { ...fresh.value, key: known.value.key };
    if (turn.value.state === "elsewhere") follow(turn);
  } catch (error) {
    report(error);
  }
}
