// Greedy search next to beam search: both translations, and the first token where they part.

import { el } from "../../core/dom.js";
import { pieceText, shown } from "../../draw/numbers.js";
import { card } from "../common/controls.js";

/** A card with the tokens of both searches. */
export function showGreedy(context, answer) {
  const { t } = context;
  const byId = new Map(answer.nodes.map((node) => [node.id, node]));
  const beam = answer.best.map((id) => byId.get(id));
  const greedy = answer.greedy.nodes;
  const parts = beam.findIndex((node, index) => node.token !== greedy[index]?.token);
  const differ = parts >= 0 || beam.length !== greedy.length;
  const line = (name, nodes, { translation, score }) =>
    el(
      "div",
      { class: "search" },
      el(
        "div",
        { class: "row apart" },
        el("h3", {}, name),
        el("span", { class: "number" }, t("decoding.score_is", shown(score))),
      ),
      el("p", { lang: context.sentence().target, dir: "auto" }, translation),
      el(
        "ol",
        { class: "pieces" },
        nodes.map((node, index) => token(node, differ && index === parts)),
      ),
    );
  const token = (node, first) =>
    el(
      "li",
      { class: first ? "parts" : null },
      el("span", {}, pieceText(node.piece)),
      el("small", {}, shown(Math.exp(node.log_probability))),
    );
  const verdict = !differ
    ? t("decoding.same")
    : t(
        "decoding.differ",
        (parts < 0 ? beam.length : parts) + 1,
        pieceText(greedy[Math.max(parts, 0)]?.piece ?? ""),
        pieceText(beam[Math.max(parts, 0)].piece),
      );
  return card(
    t("decoding.greedy_title"),
    el("p", { class: "quiet-text" }, t("decoding.greedy_about")),
    line(t("decoding.greedy"), greedy, answer.greedy),
    line(t("decoding.beam_search", answer.beam), beam, answer),
    el("p", {}, verdict),
  );
}
