// Stations of searching: greedy and beam search, token by token.

import { el } from "../../core/dom.js";
import { searchTree } from "../../draw/search-tree.js";
import { factor, line, words } from "./formula.js";
import { box, candidates, chooser, note, piece, plain, shown } from "./parts.js";

const WIDTHS = [1, 2, 4, 6];

/** A player of steps: back, play, on, and a slider. `draw(step, stage)` shows the first steps. */
function player({ say }, steps, draw, begin) {
  const stage = el("div");
  let [at, timer] = [begin, 0];
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = say("play"); };
  const go = (step) => {
    at = Math.max(1, Math.min(steps, step));
    count.textContent = say("step.number", at, steps);
    slider.value = at;
    draw(at, stage);
  };
  const run = () => {
    if (timer) return stop();
    go(at === steps ? 1 : at);
    play.textContent = say("pause");
    timer = setInterval(() => (stage.isConnected && at < steps ? go(at + 1) : stop()), 900);
    return undefined;
  };
  const button = (name, click) => el("button", { type: "button", class: "button", on: { click } }, say(name));
  const play = button("play", run);
  const slider = el("input", { type: "range", min: 1, max: steps, "aria-label": say("step"), on: { input: () => { stop(); go(Number(slider.value)); } } });
  const count = plain("");
  const made = el("div", {}, box("player", button("step.back", () => { stop(); go(at - 1); }), play, button("step.next", () => { stop(); go(at + 1); }), slider, count), stage);
  go(at);
  return made;
}

/** What the server answers, drawn when it is there. */
function answered(tour, ask, draw) {
  const made = el("div", { class: "tour-stack" }, note(tour.say("waiting")));
  ask().then((found) => made.replaceChildren(...draw(found)), (error) => made.replaceChildren(tour.context.errorNote(error)));
  return made;
}

function outcome({ say, trace }, label, { translation, score }) {
  return el("p", { class: "tour-outcome" }, plain(label), " ", el("bdi", { lang: trace.target }, translation), " ",
    el("span", { class: "tour-number", "data-value": score }, say("perToken", shown(score, 4))));
}

/** Greedy search: at each step the likeliest token, with those that were passed over. */
export function greedy(tour) {
  const { say } = tour;
  const ask = async () => {
    const found = await tour.decode();
    // A saved page may not have it.
    return [found.greedy, await tour.translated(found.greedy.translation).catch(() => null)];
  };
  return answered(tour, ask, ([found, trace]) => {
    const path = found.nodes;
    // Else its text has other pieces.
    const known = trace && path.every((node, step) => trace.target_tokens[step]?.piece === node.piece);
    const draw = (step, stage) => {
      const node = path[step - 1];
      const sum = path.slice(0, step - 1).reduce((total, each) => total + each.log_probability, 0);
      const likely = known ? trace.candidates[step - 1].slice(0, 8) : [{ piece: node.piece, probability: Math.exp(node.log_probability) }];
      stage.replaceChildren(el("p", { class: "tour-written" }, path.slice(0, step - 1).map((each) => [piece(each), " "]), el("mark", {}, piece(node))),
        candidates(say("softmax.caption"), likely, node.piece));
      tour.show(say("greedy.cell", step, node.piece), [
        line`P(${words(node.piece)}\\mid \\cdots)=${Math.exp(node.log_probability)},\\quad \\mathrm{log}P=${node.log_probability}`,
        say("whole.sofar"), line`${sum}+${factor(node.log_probability)}=${sum + node.log_probability}`]);
    };
    return [player(tour, path.length, draw, 1), outcome(tour, say("greedy.writes"), found)];
  });
}

/** The beam as a growing tree, next to what greedy search finds. */
export function beam(tour) {
  const { say } = tour;
  const chosen = chooser("beam", say("beam.width"), WIDTHS.map(String), WIDTHS.indexOf(tour.beam), (index) => tour.choose({ beam: WIDTHS[index] }));
  return box("stack", chosen, answered(tour, () => tour.decode(), (found) => {
    const byId = new Map(found.nodes.map((node) => [node.id, node]));
    const path = (node) => (node ? [...path(byId.get(node.parent)), node] : []);
    const pieces = (node) => path(node).map((each) => each.piece).join(" ");
    const point = (node) => {
      const logs = path(node).map((each) => each.log_probability);
      tour.show(pieces(node), [say(`beam.${node.finished ? "finished" : node.kept ? "kept" : "dropped"}`),
        line`\\mathrm{log}P=${logs.map((each) => factor(each, 4)).join("+")}=${logs.reduce((sum, each) => sum + each, 0)}`, say("beam.score", shown(node.score, 6))]);
    };
    const tree = searchTree({ nodes: found.nodes, best: found.best, label: say("beam.tree"), onNode: point, describe: (node) => `${pieces(node)}: ${shown(node.score, 4)}` });
    const made = player(tour, found.steps.length, (step) => {
      tree.grow(step - 1);
      const best = byId.get(found.best[Math.min(step, found.best.length) - 1]);
      tree.choose(best.id);
      point(best);
    }, found.steps.length);
    return [made, tree, outcome(tour, say("beam.writes", found.beam), found), outcome(tour, say("greedy.writes"), found.greedy)];
  }));
}
