// How an answer came about, in sentences: what was looked for and found, and what it took.
import { isOfWords, lookupWords, MOST_OBJECTIONS, objectionWords, switchedOff } from "./answer.js";
import { duration, language, named, number, t } from "./i18n.js";
import { Icon, summaryOf } from "./parts.js";
import { objectionsOf } from "./session.js";
import { me, wordsOfCode } from "./store.js";
import { toolTitle } from "./stream.js";
import { h } from "./vendor/ui.js";

/** @import { Metadata, TurnView } from "./types/page.js" */

/** @param {Partial<Metadata>} metadata @param {TurnView} turn @returns {string[]} */
function sentencesOf(metadata, turn) {
  const plan = /** @type {Record<string, any>} */ (metadata.plan ?? {});
  const route = /** @type {Record<string, any>} */ (metadata.route ?? {});
  const checks = /** @type {Record<string, any>} */ (metadata.critic_summary ?? {});
  const said = [];
  if (route.intent) said.push(t("why.intent", { intent: named(`why.intent.${route.intent}`, String(route.intent).replaceAll("_", " ")) }));
  if (plan.rewritten_query && plan.rewritten_query !== turn.question) said.push(t("why.understood", { query: plan.rewritten_query }));
  for (const file of metadata.files ?? []) {
    said.push(
      file.status === "failed"
        ? t("why.file.failed", { name: file.blob_name, reason: (language.value === "en" && file.reason) || t("problem.text_failed") })
        : t("why.file", { name: file.blob_name, n: file.pages }),
    );
  }
  said.push(...lookupsOf(metadata));
  if (plan.web)
    said.push(
      t(`why.web.${plan.web}`, { why: switchedOff(t("lookup.tool", { title: t("tools.title.web_search") }), byOf(plan, "web_search")) }),
    );
  const again = (checks.earlier_actions ?? []).filter((/** @type {string} */ action) => action === "retrieve").length;
  if (again) said.push(t("why.again", { n: again }));
  const corrected = metadata.corrections?.length;
  if (corrected) said.push(`${t("turn.corrected", { n: corrected })}.`);
  const summary = summaryOf(turn.citations);
  if (summary) said.push(t("why.sources", { summary }));
  const objections = objectionsOf(checks).slice(0, MOST_OBJECTIONS);
  if (objections.length) said.push(t("why.issues", { issues: objections.map(objectionWords).join(" ") }));
  return said;
}

/** What was looked up; a sentence that follows itself is said once. @param {Partial<Metadata>} metadata */
function lookupsOf({ lookups = [], retrieval_mode: mode = "none" }) {
  const said = lookups.map((each) => lookupWords(each, mode));
  return said.length ? said.filter((each, place) => each !== said[place - 1]) : [t(`why.mode.${mode}`)];
}

/** Which context has switched a tool off, or "you". @param {Record<string, any>} plan @param {string} name */
function byOf({ tools_off: off = [] }, name) {
  const { context_type: type, context_name: context } = off.find((/** @type {{tool: string}} */ { tool }) => tool === name) ?? {};
  return type ? `${type} "${context}"` : "you";
}

/** @param {{turn: TurnView, metadata: Partial<Metadata>}} properties */
export function Why({ turn, metadata }) {
  const tools = metadata.tools ?? [];
  const usage = /** @type {Record<string, any>} */ (metadata.usage ?? {});
  const isAdmin = me.value?.can.administer;
  // Without a model nothing was sent to one, and no such number means anything.
  const tokens = isOfWords(turn) ? 0 : (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);
  const total = Object.values(metadata.timings_ms ?? {}).reduce((sum, each) => Math.max(sum, each), 0);
  return [
    h(
      "ol",
      null,
      sentencesOf(metadata, turn).map((each) => h("li", null, each)),
    ),
    tools.length > 0 &&
      h(
        "ul",
        { class: "steps" },
        tools.map((each) =>
          h(
            "li",
            { class: each.status === "failed" ? "is-failed" : "" },
            h(Icon, { name: each.status === "failed" ? "alert" : "tool" }),
            (each.status === "failed" && wordsOfCode(each.code, each.message)) || toolTitle(each.name),
            typeof each.arguments?.query === "string" && h("bdi", { class: "quote" }, each.arguments.query),
            h("span", { class: "soft" }, each.duration_ms === null ? "" : duration(each.duration_ms)),
          ),
        ),
      ),
    isAdmin && tokens > 0 && h(Budget, { parts: metadata.context_budget ?? {} }),
    h(
      "p",
      { class: "soft" },
      [
        total ? t("why.time", { time: duration(total) }) : "",
        tokens && isAdmin ? t("why.tokens", { n: tokens }) : "",
        isAdmin && usage.cost_usd
          ? t("why.cost", { cost: number(usage.cost_usd, { style: "currency", currency: "USD", maximumSignificantDigits: 2 }) })
          : "",
      ]
        .filter(Boolean)
        .join(" · "),
    ),
    me.value?.can.administer && metadata.trace_id
      ? h("p", null, h("a", { href: `#/telemetry/${metadata.trace_id}` }, t("why.trace")))
      : null,
  ];
}

/** @param {{parts: Record<string, number>}} properties */
function Budget({ parts }) {
  const shown = Object.entries(parts).filter(([name, tokens]) => tokens > 0 && name !== "total");
  const total = shown.reduce((sum, [, tokens]) => sum + tokens, 0);
  if (!total) return null;
  let from = 0;
  const bars = shown.map(([name, tokens], index) => {
    const bar = h("rect", { x: from, y: 0, width: tokens, height: 10, class: `part-${index % 5}`, key: name });
    from += tokens;
    return bar;
  });
  return h(
    "figure",
    { class: "budget" },
    h("svg", { viewBox: `0 0 ${total} 10`, preserveAspectRatio: "none", "aria-hidden": "true" }, bars),
    h(
      "figcaption",
      null,
      shown.map(([name, tokens], index) =>
        h(
          "span",
          { class: `part-${index % 5}`, key: name },
          t("why.part", { part: named(`why.part.${name}`, name.replaceAll("_", " ")), n: tokens }),
        ),
      ),
    ),
  );
}
