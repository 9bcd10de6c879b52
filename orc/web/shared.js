// A conversation as those read it who have a link.
import { Turn, useUndrawn } from "./answer.js";
import { ApiError, request } from "./api.js";
import { dateOf, t, when } from "./i18n.js";
import { inOrder, sharedTurns, view } from "./session.js";
import { report } from "./store.js";
import { h, signal, useEffect, useState } from "./vendor/ui.js";

/** @import { Metadata, SharedConversation } from "./types/page.js" */

/** @param {SharedConversation["turns"][number]} turn */
function shown({ seq, place, status, question, blob_names: files, answer, answer_kind: kind, citations, metadata, created_at: createdAt }) {
  // Names of files that were not searched are not a reader's to know.
  const left = { documents: [], total: 0, .../** @type {Partial<Metadata>} */ (metadata).not_searched };
  return signal(
    view({
      turnId: String(seq),
      seq,
      place,
      state: status === "stopped" ? "stopped" : "answered",
      question,
      files,
      text: answer,
      kind: kind ?? "answer",
      citations,
      metadata: { ...metadata, not_searched: left },
      createdAt,
    }),
  );
}

/** @param {{id: string}} properties the secret of the link */
export function Shared({ id }) {
  const [about, setAbout] = useState(/** @type {SharedConversation | null} */ (null));
  const [gone, setGone] = useState(false);
  const turns = sharedTurns.value;
  const undrawn = useUndrawn(turns);
  const load = async (/** @type {number} */ after) => {
    try {
      // Not in the address, which servers keep.
      const response = await request("GET", `/shared?after_seq=${after}`, { headers: { "x-share-link": id } });
      const found = /** @type {SharedConversation} */ (await response.json());
      sharedTurns.value = inOrder([...(after ? sharedTurns.value : []), ...found.turns.map(shown)]);
      setAbout(found);
    } catch (error) {
      if (error instanceof ApiError && error.problem.status === 404) setGone(true);
      else report(error);
    }
  };
  useEffect(() => {
    load(0);
    return () => {
      sharedTurns.value = [];
    };
  }, []);
  if (gone)
    return h(
      "div",
      { class: "turns" },
      h("div", { class: "empty", role: "status" }, h("h2", null, t("shared.gone")), h("p", { class: "soft" }, t("shared.gone.why"))),
    );
  if (!about) return h("p", { class: "soft loading" }, t("loading"));
  const { title, owner_name: name, created_at: made, ends_at: until, next_seq: next } = about;
  return h(
    "div",
    { class: "turns is-shared" },
    h("h2", null, h("bdi", null, title || t("sessions.untitled"))),
    h(
      "p",
      { class: "soft" },
      name ? t("shared.by", { name, time: when(made) }) : t("shared.by.someone", { time: when(made) }),
      " ",
      t("shared.until", { until: dateOf(until) }),
    ),
    turns.map((turn, index) =>
      h(Turn, { turn, key: turn.value.turnId, last: false, live: false, isDrawn: index < turns.length - undrawn }),
    ),
    next !== null &&
      h(
        "p",
        { class: "row" },
        h(
          "button",
          {
            type: "button",
            onClick: () => {
              load(next ?? 0);
            },
          },
          t("sessions.more"),
        ),
      ),
  );
}
