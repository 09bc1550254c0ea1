// A text model: its heads, and what it predicts, token after token (GPT, Llama) or in the blanks (BERT).

import { el, replace } from "../../core/dom.js";
import { bars } from "../../draw/bars.js";
import { pieceText, shown } from "../../draw/numbers.js";
import { searchTree } from "../../draw/search-tree.js";
import { card, quiet, saveButtons } from "../common/controls.js";
import { makeChoice } from "../heads/choice.js";
import { showGrid } from "../heads/grid.js";
import { showPicture } from "../heads/picture.js";
import { rewriting, withWords } from "./pieces.js";
import { positionalRoles } from "./roles.js";

/** Fill the place with an answer about a text. */
export function showText(place, context, answer) {
  const rewrite = rewriting(answer.tokens);
  const parts =
    answer.kind === "causal_lm"
      ? [
          el(
            "div",
            { class: "family-two" },
            predictions(context, answer, rewrite),
            tree(context, answer, rewrite, place),
          ),
        ]
      : blanks(context, answer, rewrite);
  const grid = el("section", { class: "card panel" });
  const enlarged = el("section", { class: "card panel enlarged" });
  replace(place, parts, el("div", { class: "heads-at-work" }, grid, enlarged));
  showHeads(grid, enlarged, context, asTrace(answer, rewrite));
}

/** The answer as the view of heads reads traces. */
function asTrace(answer, rewrite) {
  const kind = answer.kind === "causal_lm" ? "decoder" : "encoder";
  const { tokens, words } = withWords(answer.tokens.map(rewrite));
  const sides =
    kind === "encoder"
      ? { source_tokens: tokens, source_words: words, target_tokens: [], target_words: [], shown_tokens: [{}] }
      : {
          source_tokens: [],
          source_words: [],
          target_tokens: [...tokens.slice(1), tokens[0]],
          target_words: words,
          shown_tokens: tokens.slice(0, 1),
        };
  const attention = { [kind]: answer.attention };
  return { text: answer.text, attention, ...sides, ...positionalRoles(answer.attention, kind) };
}

function showHeads(panel, enlarged, context, trace) {
  const choice = makeChoice(context, trace, "families");
  const body = el("div", { class: "stack" });
  replace(panel, el("h2", {}, context.t("families.heads")), body);
  let grid = null;
  const onHeads = () => {
    grid.refresh();
    showPicture(enlarged, context, trace, choice, onHeads);
  };
  const onLayer = () => {
    grid = showGrid(body, context, trace, choice, { onHeads, onLayer });
    showPicture(enlarged, context, trace, choice, onHeads);
  };
  onLayer();
}

/** Every token with its probability; a click shows what else was likely there. */
function predictions(context, answer, rewrite) {
  const { t } = context;
  const details = el("div", { class: "stack family-details", "aria-live": "polite" });
  const last = answer.tokens.length - 1;
  const open = (index) => {
    tokens.forEach((token, at) => token.firstChild.setAttribute("aria-pressed", String(at === index)));
    const following = answer.tokens[index + 1];
    const rows = answer.candidates[index].map(({ piece, probability }) => ({
      name: pieceText(rewrite(piece)),
      value: probability,
      chosen: piece === following,
    }));
    const label = t("families.after", pieceText(rewrite(answer.tokens[index])));
    replace(details, el("h3", {}, label), bars({ rows, label, most: 1 }));
  };
  const tokens = answer.tokens.map((piece, index) => {
    const probability = index ? shown(Math.exp(answer.log_probability[index - 1])) : "–";
    const button = el(
      "button",
      { type: "button", class: "family-token", "aria-pressed": "false" },
      el("span", {}, pieceText(rewrite(piece))),
      el("small", {}, probability),
    );
    button.addEventListener("click", () => open(index));
    return el("li", {}, button);
  });
  const list = el("ol", { class: "family-tokens" }, tokens);
  open(last);
  return card(
    t("families.tokens"),
    quiet(t("families.tokens_about")),
    list,
    details,
    saveButtons(context, "next-tokens", { json: () => answer }),
  );
}

/** The tree of the likeliest continuations. */
function tree(context, answer, rewrite, place) {
  const { t } = context;
  const nodes = answer.tree.map((node) => ({
    ...node,
    piece: rewrite(node.piece),
    score: node.total,
    kept: true,
    finished: false,
  }));
  const last = Math.max(...nodes.map(({ step }) => step));
  const winner = nodes
    .filter(({ step }) => step === last)
    .reduce((best, node) => (node.total > best.total ? node : best));
  const best = [];
  for (let at = winner; at; at = nodes.find(({ id }) => id === at.parent)) best.unshift(at.id);
  const readout = el("output", { class: "readout" }, "\u00a0");
  const describe = (node) => t("families.node", shown(Math.exp(node.log_probability)));
  const drawn = searchTree({
    nodes,
    best,
    grouped: true,
    label: t("families.tree"),
    width: Math.min(600, place.clientWidth - 56),
    describe,
    onNode: (node, by, said) => (readout.textContent = said),
  });
  return card(
    t("families.tree"),
    quiet(t("families.tree_about")),
    drawn,
    readout,
    saveButtons(context, "next-token-tree", { picture: () => drawn.drawing, json: () => answer.tree }),
  );
}

/** What the model would write into each blank. */
function blanks(context, answer, rewrite) {
  const { t } = context;
  if (!answer.blanks?.length) return [el("p", { class: "note" }, t("families.no_blanks"))];
  const lists = answer.blanks.map((found, index) => {
    const label = t("families.blank", index + 1);
    const rows = found.map(({ piece, probability }) => ({
      name: pieceText(rewrite(piece)).replace(/^·/, ""),
      value: probability,
    }));
    return el("div", { class: "stack family-details" }, el("h3", {}, label), bars({ rows, label, most: 1 }));
  });
  return [
    card(t("families.blanks"), quiet(answer.text), lists, saveButtons(context, "blanks", { json: () => answer })),
  ];
}
