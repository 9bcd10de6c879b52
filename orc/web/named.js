// How the turn that an address names is found and shown.
import { pause } from "./api.js";
import { jumpToEnd, loadEarlier } from "./chat.js";
import { t } from "./i18n.js";
import { conversationId, earlierBefore, holding, loading } from "./session.js";
import { go, notify, place } from "./store.js";

const DRAWN_MS = 20;

/** Bring the turn of the address into view; one that was found gets the focus. @param {string} id @param {string} turn */
export async function showNamed(id, turn) {
  const isWanted = () => conversationId.value === id && place.value.turn === turn;
  while (loading.value) await pause(DRAWN_MS);
  if (isWanted() && !holding(turn)) await jumpToEnd();
  while (isWanted() && !holding(turn) && earlierBefore.value !== null) if (!(await loadEarlier())) return;
  if (!isWanted()) return;
  const found = holding(turn);
  if (!found) {
    notify({ text: t("turn.gone"), kind: "info" });
    return go(id, { replace: true });
  }
  // A list that has just come goes to its end after its first frame, and takes another height until it is drawn.
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  while (document.querySelector(".turn:empty")) await pause(DRAWN_MS);
  if (!isWanted()) return;
  const shown = document.getElementById(`turn-${found.value.key}`);
  const isFound = place.value.source === undefined;
  shown?.scrollIntoView({ block: isFound ? "start" : "nearest" });
  if (!shown || !isFound) return;
  shown.tabIndex = -1;
  shown.focus({ preventScroll: true });
  shown.onblur = () => shown.removeAttribute("tabindex");
  // The same hit leads here again.
  go(id, { replace: true });
}
