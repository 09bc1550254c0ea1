// Decoding: the beam search as a growing tree, step by step, next to greedy search.

import { el, replace } from "../../core/dom.js";
import { searchTree } from "../../draw/search-tree.js";
import { pieceText, shown } from "../../draw/numbers.js";
import { card, quiet, saveButtons, slider } from "../common/controls.js";
import { follow } from "../common/follow.js";
import { showNode, showStep } from "./step.js";
import { showGreedy } from "./greedy.js";

// Milliseconds between steps while playing.
const PAUSE = 800;
const WIDEST = 8;
const USUAL = 4;

let stop = null;
let timer = 0;

export const view = {
  id: "decoding",
  title: (t) => t("nav.decoding"),
  async mount(root, context) {
    await context.load("inside");
    const { state, t } = context;
    const content = el("div", { class: "stack" });
    const beam = () => state.get("decoding.beam") ?? USUAL;
    const width = slider(t("decoding.beam"), { least: 1, most: WIDEST, value: beam() }, (value) => {
      state.set({ "decoding.beam": value });
      stop.again();
    });
    root.append(
      el("h1", {}, t("nav.decoding")),
      el("p", { class: "view-intro" }, t("decoding.intro")),
      context.sentenceBar(),
      el("div", { class: "row" }, context.source.live ? width : null),
      content,
    );
    const ask = (signal) => context.source.decode({ ...context.sentence(), beam: beam() }, { signal });
    stop = follow(context, content, ask, (answer) => show(content, context, answer));
  },
  unmount() {
    clearInterval(timer);
    stop?.();
    stop = null;
  },
};

const kindOf = (node, answer) => (answer.best.includes(node.id) ? "best" : node.kept ? "kept" : "dropped");

/** The tree with its controls, what happened at a step, and greedy search. */
function show(content, context, answer) {
  const { state, t } = context;
  clearInterval(timer);
  const byId = new Map(answer.nodes.map((node) => [node.id, node]));
  const last = answer.steps.length - 1;
  const describe = (node) => t("decoding.node", t(`decoding.${kindOf(node, answer)}`), node.step + 1);
  const stepCard = el("section", { class: "card panel" });
  const nodeCard = el("section", { class: "card panel", "aria-live": "polite" });
  const onNode = (node) => showNode(nodeCard, context, answer, byId, node);
  const tree = searchTree({
    nodes: answer.nodes,
    best: answer.best,
    label: t("decoding.tree_label"),
    width: content.clientWidth - 56,
    describe,
    onNode,
  });

  const go = (step) => {
    state.set({ "decoding.step": step === last ? null : step });
    tree.grow(step);
    showStep(stepCard, context, answer, byId, step);
    const winner = byId.get(answer.best[Math.min(step, answer.best.length - 1)]);
    if (winner) {
      tree.choose(winner.id);
      onNode(winner);
    }
  };
  const steps = { least: 1, most: last + 1, value: Math.min(state.get("decoding.step") ?? last, last) + 1 };
  const position = slider(t("decoding.step"), { ...steps, show: (value) => `${value} / ${last + 1}` }, (value) => {
    pause();
    go(value - 1);
  });
  const play = el("button", { type: "button", class: "button primary" }, t("decoding.play"));
  const pause = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = t("decoding.play");
  };
  play.addEventListener("click", () => {
    if (timer) return pause();
    play.textContent = t("decoding.pause");
    let step = Number(position.input.value) - 1;
    if (step === last) step = -1;
    const advance = () => {
      step += 1;
      position.set(step + 1);
      go(step);
      if (step === last) pause();
    };
    timer = setInterval(advance, PAUSE);
    advance();
    return undefined;
  });
  const save = saveButtons(context, "beam-search", { picture: () => tree.drawing, json: () => answer });
  const controls = el("div", { class: "row" }, play, position);
  const about = quiet(t("decoding.tree_about", answer.beam, 2 * answer.beam));
  replace(
    content,
    card(t("decoding.tree"), about, controls, key(context), tree, save),
    el("div", { class: "two" }, stepCard, nodeCard),
    showGreedy(context, answer),
  );
  go(steps.value - 1);
}

/** What the looks of the nodes mean. */
function key({ t }) {
  const entry = (kind) =>
    el("li", {}, el("span", { class: `tree-key ${kind}`, "aria-hidden": "true" }), t(`decoding.${kind}`));
  return el("ul", { class: "legend" }, entry("best"), entry("kept"), entry("dropped"), entry("finished"));
}
