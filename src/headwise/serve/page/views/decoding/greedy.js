// Greedy search next to beam search: both translations, and the first token where they part.

import { el } from "../../core/dom.js";
import { pieceText, shown } from "../../draw/numbers.js";
import { card, outcomeBox, quiet } from "../common/controls.js";

/** A card with the tokens of both searches. */
export function showGreedy(context, answer) {
  const { t } = context;
  const byId = new Map(answer.nodes.map((node) => [node.id, node]));
  const beam = answer.best.map((id) => byId.get(id));
  const greedy = answer.greedy.nodes;
  const parts = beam.findIndex((node, index) => node.token !== greedy[index]?.token);
  const differ = parts >= 0 || beam.length !== greedy.length;
  const line = (name, nodes, { translation, score }) => {
    const tokens = nodes.map((node, index) => [
      pieceText(node.piece),
      shown(Math.exp(node.log_probability)),
      differ && index === parts ? "parts" : null,
    ]);
    return outcomeBox(name, t("decoding.score_is", shown(score)), context.sentence().target, translation, tokens);
  };
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
    quiet(t("decoding.greedy_about")),
    line(t("decoding.greedy"), greedy, answer.greedy),
    line(t("decoding.beam_search", answer.beam), beam, answer),
    el("p", {}, verdict),
  );
}
