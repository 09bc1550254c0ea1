// Two translations of one sentence: token by token, where they part, and why.

import { el, replace } from "../../core/dom.js";
import { heatMap } from "../../draw/heat-map.js";
import { pieceText, shown } from "../../draw/numbers.js";
import { card, namedTable, outcomeBox, quiet, saveButtons } from "../common/controls.js";
import { settingsText } from "./settings.js";

/** Fill the place with a comparison. */
export function showOutcome(place, context, answer, settings) {
  const { t } = context;
  const { diverges } = answer;
  const position = diverges?.position ?? -1;
  const line = (side) => {
    const trace = answer[side];
    const kind = (index) => (index === position ? "parts" : position >= 0 && index > position ? "after" : null);
    const tokens = trace.target_tokens.map(({ piece }, index) => [
      pieceText(piece),
      shown(Math.exp(trace.log_probability[index])),
      kind(index),
    ]);
    const aside = `${settingsText(context, settings[side], trace)} · ${t("compare.score", shown(trace.score))}`;
    return outcomeBox(t(`compare.${side}`), aside, trace.target, trace.translation, tokens);
  };
  const sides = el("div", { class: "compare-sides" }, line("left"), line("right"));
  const save = saveButtons(context, "comparison", { json: () => answer });
  replace(place, card(t("compare.outcome"), sides, verdict(context, answer), save));
  if (diverges) place.append(...reasons(context, answer, place.clientWidth));
}

function verdict({ t }, { diverges, left, right }) {
  if (!diverges) {
    const drop = right.score - left.score;
    return el("p", { class: "note" }, t("compare.same", shown(drop)));
  }
  const text = t("compare.differ", diverges.position + 1, pieceText(diverges.left), pieceText(diverges.right));
  return el("p", { class: "note warn", role: "status" }, text);
}

/** Why: what each side held likely there, and where it looked. */
function reasons(context, { diverges, left, right }, width) {
  const { t } = context;
  const rows = diverges.reason.map(({ piece, left: one, right: other }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, pieceText(piece)),
      bar(one, "left", piece === diverges.left),
      bar(other, "right", piece === diverges.right),
    ),
  );
  const title = t("compare.why", diverges.position + 1);
  const table = namedTable(title, [t("compare.token"), t("compare.left"), t("compare.right")], rows, "reasons");
  const parts = [card(title, quiet(explanation(context, diverges)), table)];
  const looks = whereLooked(context, diverges, left, right, width);
  if (looks) parts.push(looks);
  return parts;
}

/** The reason in words: both may agree on the likeliest token, and the search differ. */
function explanation({ t }, { reason, left, right }) {
  const best = (side) => reason.reduce((top, each) => ((each[side] ?? -1) > (top[side] ?? -1) ? each : top)).piece;
  if (best("left") === left && best("right") === right) return t("compare.why_model");
  const [side, other] = best("left") === left ? ["right", "left"] : ["left", "right"];
  return t("compare.why_search", t(`compare.${side}`), t(`compare.${other}`));
}

function bar(value, side, chosen) {
  const fill = el("span", { class: `reason-fill ${side}` });
  fill.style.width = `${100 * (value ?? 0)}%`;
  return el(
    "td",
    { class: chosen ? "chosen" : null },
    el("span", { class: "reason-track", "aria-hidden": "true" }, fill),
    el("span", { class: "number" }, shown(value)),
  );
}

/** The cross-attention of both at the token where they part, if they read the same tokens. */
function whereLooked(context, { position }, left, right, width) {
  const { t } = context;
  const columns = left.source_tokens.map(({ piece }) => pieceText(piece));
  const same = columns.join(" ") === right.source_tokens.map(({ piece }) => pieceText(piece)).join(" ");
  const looks = (trace) => {
    const { layer, head } =
      trace.opening.kind === "cross" ? trace.opening : { layer: trace.attention.cross.length - 1, head: 0 };
    return trace.attention.cross[layer]?.[head]?.[position];
  };
  const values = [looks(left), looks(right)];
  if (!same || values.includes(undefined)) return null;
  const rows = [left, right].map((trace) => pieceText(trace.target_tokens[position].piece));
  const label = t("compare.looks");
  const describe = (row, column, value) => t("compare.cell", rows[row], columns[column], shown(value));
  const map = heatMap({ rows, columns, values, range: [0, 1], label, describe, width: width - 56 });
  const save = saveButtons(context, "comparison-attention", { picture: () => map.drawing });
  return card(label, quiet(t("compare.looks_about")), map, save);
}
