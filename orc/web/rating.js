// What was wrong with an answer: asked for once it was rated down.
import { rate } from "./chat.js";
import { t } from "./i18n.js";
import { h, useState } from "./vendor/ui.js";

/** @import { Signal, TurnView } from "./types/page.js" */

const REASONS = /** @type {const} */ (["wrong", "incomplete", "not_found", "sources", "unclear", "other"]);

/** What was wrong with an answer that was rated down. @param {{turn: Signal<TurnView>}} properties */
export function Comment({ turn }) {
  const [text, setText] = useState("");
  const { reason = null, comment = null } = turn.value.feedback ?? {};
  const choose = (/** @type {typeof REASONS[number]} */ each) =>
    rate(turn, { rating: "down", reason: reason === each ? null : each, comment });
  return h(
    "form",
    {
      class: "comment",
      onSubmit: (event) => {
        event.preventDefault();
        if (text.trim()) rate(turn, { rating: "down", reason, comment: text.trim() });
      },
    },
    h(
      "div",
      { class: "row", role: "group", "aria-label": t("turn.comment") },
      REASONS.map((each) =>
        h(
          "button",
          {
            type: "button",
            class: "reason",
            key: each,
            "aria-pressed": reason === each ? "true" : "false",
            onClick: () => choose(each),
          },
          t(`turn.reason.${each}`),
        ),
      ),
    ),
    comment
      ? h("p", { class: "soft", role: "status" }, t("turn.comment.thanks"))
      : h(
          "div",
          { class: "row" },
          h("input", {
            "aria-label": t("turn.comment"),
            placeholder: t("turn.comment"),
            maxLength: 1000,
            value: text,
            onInput: (event) => setText(event.currentTarget.value),
          }),
          h("button", { type: "submit", disabled: !text.trim() }, t("send")),
        ),
  );
}
