// Stations of searching: greedy and beam search, token by token.

import { el } from "../../core/dom.js";
import { searchTree } from "../../draw/search-tree.js";
import { chooser, piece, shown } from "./grid.js";
import { factor, inTex, tex, words } from "./formula.js";
import { tops } from "./layers.js";

const WIDTHS = [1, 2, 4, 6];

/** A player of steps: buttons to go back and on, and to let it run. `draw(step)` fills the stage. */
function player(tour, steps, draw, begin = steps) {
  const { t } = tour;
  const stage = el("div", {});
  let at = begin;
  let timer = 0;
  const stop = () => { clearInterval(timer); timer = 0; play.textContent = t("tour.play"); };
  const go = (step) => {
    at = Math.max(1, Math.min(steps, step));
    count.textContent = t("tour.step.number", at, steps);
    slider.value = at;
    back.disabled = at === 1;
    next.disabled = at === steps;
    draw(at, stage);
  };
  const run = () => {
    if (timer) return stop();
    if (at === steps) go(1);
    play.textContent = t("tour.pause");
    timer = setInterval(() => {
      if (!stage.isConnected || at >= steps) return stop();
      return go(at + 1);
    }, 900);
    return undefined;
  };
  const press = (action) => () => { stop(); action(); };
  const back = el("button", { type: "button", on: { click: press(() => go(at - 1)) } }, t("tour.step.back"));
  const next = el("button", { type: "button", on: { click: press(() => go(at + 1)) } }, t("tour.step.next"));
  const play = el("button", { type: "button", on: { click: run } }, t("tour.play"));
  const slider = el("input", { type: "range", min: 1, max: steps, step: 1, value: at, "aria-label": t("tour.step"), on: { input: () => { stop(); go(Number(slider.value)); } } });
  const count = el("span", {});
  const made = el("div", { class: "tour-player" }, el("div", { class: "tour-stepper-bar" }, back, play, next, slider, count), stage);
  go(at);
  return made;
}

/** What the server answers, drawn when it is there. */
function searched(tour, ask, draw) {
  const made = el("div", { class: "tour-searched" }, el("p", { class: "tour-note" }, tour.t("tour.waiting")));
  ask().then((found) => made.replaceChildren(draw(found)), (error) => made.replaceChildren(tour.context.errorNote(error)));
  return made;
}

/** Greedy search: at each step the likeliest token, with those that were passed over. */
export function greedy(tour) {
  const ask = async () => {
    const found = await tour.decode();
    return [found, await tour.translated(found.greedy.translation)];
  };
  return searched(tour, ask, ([found, trace]) => {
    const { t } = tour;
    const path = found.greedy.nodes;
    const known = path.every((node, step) => trace.target_tokens[step]?.piece === node.piece);
    return el("div", {}, player(tour, path.length, (step, stage) => {
      const node = path[step - 1];
      const before = path.slice(0, step - 1);
      const sum = before.reduce((total, each) => total + each.log_probability, 0);
      const candidates = known ? trace.candidates[step - 1].slice(0, 8) : [{ piece: node.piece, probability: Math.exp(node.log_probability) }];
      stage.replaceChildren(
        el("p", { class: "tour-written" }, before.map((each) => [piece(each), " "]), el("mark", {}, piece(node))),
        tops(candidates.map((each) => ({ ...each, share: each.probability })), node.piece));
      tour.show(t("tour.greedy.cell", step, node.piece), [
        tex`P(${words(node.piece)}\\mid \\cdots)=${inTex(Math.exp(node.log_probability))},\\quad \\mathrm{log}P=${inTex(node.log_probability)}`,
        t("tour.whole.sofar"), tex`${inTex(sum)}+${factor(node.log_probability)}=${inTex(sum + node.log_probability)}`,
      ]);
    }, 1), outcome(tour, t("tour.greedy.writes"), found.greedy));
  });
}

function outcome(tour, label, { translation, score }) {
  return el("p", { class: "tour-outcome" }, el("span", {}, label), " ", el("bdi", { lang: tour.trace.target }, translation),
    " ", el("span", { class: "tour-number", "data-value": score }, tour.t("tour.perToken", shown(score, 4))));
}

/** The beam as a growing tree, next to what greedy search finds. */
export function beam(tour) {
  const { t } = tour;
  const widths = el("div", { class: "tour-choosers" }, chooser("tour-beam", t("tour.beam.width"), WIDTHS.map(String), Math.max(0, WIDTHS.indexOf(tour.pick.beam)),
    (index) => tour.choose({ beam: WIDTHS[index] })));
  return el("div", {}, widths, searched(tour, () => tour.decode(), (found) => {
    const byId = new Map(found.nodes.map((node) => [node.id, node]));
    const path = (node) => (node ? [...path(byId.get(node.parent)), node] : []);
    const point = (node) => {
      const way = path(node).filter((each) => each.step !== undefined && each.log_probability !== undefined);
      const { total, terms } = way.reduce(({ total: sum, terms: list }, each) => ({ total: sum + each.log_probability, terms: [...list, factor(each.log_probability, 4)] }), { total: 0, terms: [] });
      tour.show(t("tour.beam.cell", way.map((each) => each.piece).join(" ")), [
        t(node.finished ? "tour.beam.finished" : node.kept ? "tour.beam.kept" : "tour.beam.dropped"),
        tex`\\mathrm{log}P=${terms.join("+")}=${inTex(total)}`,
        node.finished && node.score !== undefined && t("tour.beam.score", shown(node.score, 6)),
      ].filter(Boolean));
    };
    const best = byId.get(found.best.at(-1));
    const tree = searchTree({ nodes: found.nodes, best: found.best, label: t("tour.beam.tree"), onNode: point,
      describe: (node) => `${path(node).map((each) => each.piece).join(" ")}: ${shown(node.score ?? node.log_probability, 4)}` });
    const last = Math.max(...found.nodes.map((node) => node.step));
    const first = Math.min(...found.nodes.map((node) => node.step));
    const made = player(tour, last - first + 1, (step) => tree.grow(step - 1 + first));
    made.append(tree);
    if (best) point(best);
    return el("div", {}, made, outcome(tour, t("tour.beam.writes", found.beam), found), outcome(tour, t("tour.greedy.writes"), found.greedy));
  }));
}
