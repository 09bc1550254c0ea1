// One step of the search: all continuations that it considered, and one of them with what the model looked at.

import { el, replace } from "../../core/dom.js";
import { bars } from "../../draw/bars.js";
import { heatMap } from "../../draw/heat-map.js";
import { pieceText, shown } from "../../draw/numbers.js";
import { namedTable, quiet, saveButtons, scrolling } from "../common/controls.js";

/** The nodes from the root to a node. */
function pathTo(node, byId) {
  const path = [];
  for (let at = node; at; at = byId.get(at.parent)) path.unshift(at);
  return path;
}

/** Pieces as running text. */
const running = (nodes) =>
  nodes
    .map(({ piece }) => piece.replaceAll("▁", " "))
    .join("")
    .trim();

/** A table of the continuations that a step considered, best first. */
export function showStep(section, { t }, answer, byId, step) {
  const nodes = answer.steps[step].candidates.map((id) => byId.get(id));
  const rows = nodes.map((node) => {
    const before = running(pathTo(node, byId).slice(0, -1));
    const winner = answer.best.includes(node.id);
    return el(
      "tr",
      { class: node.kept ? (winner ? "best" : "kept") : "dropped" },
      el(
        "th",
        { scope: "row" },
        el("span", { class: "before" }, before, before ? " " : ""),
        el("strong", {}, pieceText(node.piece)),
      ),
      el("td", {}, shown(Math.exp(node.log_probability))),
      el("td", {}, shown(node.score)),
      el("td", {}, t(node.finished ? "decoding.finished" : node.kept ? "decoding.stays" : "decoding.dropped")),
    );
  });
  const names = ["decoding.hypothesis", "decoding.probability", "decoding.score", "decoding.fate"];
  const title = t("decoding.step_title", step + 1);
  const table = scrolling(
    title,
    namedTable(
      title,
      names.map((name) => t(name)),
      rows,
      "candidates",
    ),
  );
  replace(section, el("h2", {}, title), quiet(t("decoding.step_about", answer.beam)), table);
}

/** One node: the likeliest tokens after the same words, and the attention while it was written. */
export function showNode(section, context, answer, byId, node) {
  const { t } = context;
  const piece = pieceText(node.piece);
  const before = running(pathTo(node, byId).slice(0, -1));
  const siblings = answer.steps[node.step].candidates
    .map((id) => byId.get(id))
    .filter((each) => each.parent === node.parent);
  const rows = siblings
    .sort((a, b) => b.log_probability - a.log_probability)
    .map((each) => ({
      name: pieceText(each.piece),
      value: Math.exp(each.log_probability),
      chosen: each.id === node.id,
    }));
  const label = before ? t("decoding.next_after", before) : t("decoding.next_first");
  replace(section, el("h2", {}, t("decoding.node_title", piece)), el("h3", {}, label), bars({ rows, label, most: 1 }));
  const weights = answer.attention?.[node.id];
  if (!weights) {
    section.append(quiet(t("decoding.no_attention")));
    return;
  }
  const map = heatMap({
    rows: [piece],
    columns: answer.source_tokens.map((token) => pieceText(token.piece)),
    values: [weights],
    range: [0, Math.max(0.35, ...weights)],
    numbers: weights.length <= 10,
    width: Math.max(280, section.clientWidth - 48),
    label: t("decoding.attention", piece),
    describe: (_, column, value) =>
      t("decoding.looks", piece, pieceText(answer.source_tokens[column].piece), shown(value)),
  });
  const save = saveButtons(context, `attention-step-${node.step + 1}`, { picture: () => map.drawing });
  section.append(el("h3", {}, t("decoding.attention", piece)), map, save);
}
