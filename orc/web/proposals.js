// What tools have proposed in the session. Only the user's own click carries it out.
import { get, send } from "./api.js";
import { t } from "./i18n.js";
import { Icon } from "./parts.js";
import { conversationId, path, proposes, turns } from "./session.js";
import { report, said } from "./store.js";
import { h, useEffect, useState } from "./vendor/ui.js";

/** @import { Proposal, TurnView } from "./types/page.js" */

/** What may be decided in each state, the likely decision first. @type {Record<string, string[]>} */
const DECISIONS = { open: ["confirm", "decline"], done: ["undo"] };

/** The proposals of the session, below the last answer that made some. @param {{turn: TurnView}} properties */
export function Proposals({ turn }) {
  const id = conversationId.value ?? "";
  const isLast = proposes(turn) && !turns.value.some(({ value }) => value.seq > turn.seq && proposes(value));
  const [all, setAll] = useState(/** @type {Proposal[]} */ ([]));
  const load = () => get(`${path(id)}/proposals`).then((found) => setAll(/** @type {{proposals: Proposal[]}} */ (found).proposals), report);
  useEffect(() => {
    if (isLast) load();
  }, [id, isLast]);
  if (!isLast || !all.length) return null;
  return h(
    "section",
    { class: "proposals", "aria-label": t("proposals") },
    all.map((each) => h(Card, { key: each.proposal_id, proposal: each, onDecided: load })),
  );
}

/** @param {{proposal: Proposal, onDecided: () => void}} properties */
function Card({ proposal, onDecided }) {
  const { state, blob_name: name, context_name: context } = proposal;
  const [busy, setBusy] = useState(false);
  const decide = async (/** @type {string} */ decision) => {
    setBusy(true);
    try {
      const decided = /** @type {Proposal} */ (
        await send("POST", `${path(conversationId.value ?? "")}/proposals/${proposal.proposal_id}/${decision}`)
      );
      said.value = t(`proposal.${decided.state}`, { name, context });
    } catch (error) {
      report(error);
    }
    setBusy(false);
    onDecided();
  };
  return h(
    "div",
    { class: "note" },
    h(Icon, { name: state === "done" ? "check" : "edit" }),
    h(
      "div",
      null,
      h("p", null, t(`proposal.${state}`, { name, context })),
      state === "open" && h("p", { class: "soft" }, t("proposal.note", { context })),
      h(
        "p",
        { class: "row" },
        (DECISIONS[state] ?? []).map((each, place) =>
          h(
            "button",
            {
              type: "button",
              key: each,
              class: place || state === "done" ? "quiet" : "",
              disabled: busy,
              onClick: () => {
                decide(each);
              },
            },
            t(`proposal.${each}`),
          ),
        ),
      ),
    ),
  );
}
