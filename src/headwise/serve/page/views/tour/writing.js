// Stations of writing: masked attention, encoder-decoder attention, linear, softmax, the whole model, teacher forcing.

import { el } from "../../core/dom.js";
import { weightTable } from "./attending.js";
import { following, tellingRow } from "./choices.js";
import { factor, line, words } from "./formula.js";
import { grid } from "./grid.js";
import { bar, bars, box, candidates, note, numbered, percent, piece, plain, pointed, shown, title } from "./parts.js";

/** The causal mask and the weights under it; with the mask off, the cells that leak are marked. */
export function maskedAttention(tour) {
  const { say, trace, usual } = tour;
  const off = trace.changed_by.mask === false;
  const made = weightTable(tour, "decoder", (row, column) => off || column <= row, (row, column) => off && column > row);
  if (!off) return made;
  const both = [usual, trace].map((each) => each.log_probability.map(Math.exp));
  made.append(title(say("masked.leakage")), note(say("masked.explained")), grid({ rows: [plain(say("breaking.before")), plain(say("breaking.after"))],
    columns: trace.target_tokens, signed: false, limit: 1, digits: 3, quiet: true, values: both, caption: say("masked.leakage"),
    point: (row, column) => tour.show(trace.target_tokens[column].piece, [line`P=${both[row][column]}`]) }));
  return made;
}

/** Cross-attention of the chosen head, and the words that belong together. */
export function crossAttention(tour) {
  const { say, trace } = tour;
  const made = weightTable(tour, "cross");
  made.append(title(say("cross.alignment")), el("ul", { class: "tour-links" }, trace.alignment.map(([from, to]) => el("li", {},
    el("bdi", {}, trace.target_words[to]), el("span", { role: "img", "aria-label": say("cross.from") }, " ← "), el("bdi", {}, trace.source_words[from])))));
  return made;
}

/** The largest logits of a position. */
export function linear(tour) {
  const { say, trace, steps } = tour;
  const { width, tied, vocabulary } = trace.model;
  const [row, tokens] = following(tour, "writes", trace.target_tokens);
  const [best, mean, deviation, final] = [steps.logits.top[row], steps.logits.mean[row], steps.logits.deviation[row], steps.final[row]];
  const after = trace.shown_tokens[row].piece;
  const point = (place) => {
    const { piece: name, logit } = best[place];
    const entry = `${tied ? "E" : "W"}_{${words(name)}`;
    tour.show(say("linear.cell", name, after), [line`z_{${words(name)}}=h\\cdot ${entry}}=\\sum_{i=1}^{${width}}h_{i}${entry},i}=${logit}`,
      say("linear.above", shown((logit - mean) / deviation, 1)), line`\\frac{${logit}-${factor(mean)}}{${deviation}}=${(logit - mean) / deviation}`]);
  };
  const rows = best.map((each) => ({ ...each, value: each.logit, share: (each.logit - mean) / (best[0].logit - mean), text: shown(each.logit),
    taken: each.piece === trace.target_tokens[row].piece }));
  point(0);
  return box("stack", tokens, title(say("linear.hidden", width)), grid({ rows: [plain("h")], columns: numbered(final.length), values: [final], caption: say("linear.hidden", width), quiet: true,
    point: (_, column) => tour.show(say("cell", after, column), [line`h_{${column}}=${final[column]}`]) }),
  el("div", {}, title(say("linear.caption")), bars(say("linear.caption"), rows, point)), note(say("linear.rest", tour.count(vocabulary), shown(mean), shown(deviation))));
}

/** The likeliest next tokens of a position: e to the power of the logit, over the sum of all. */
export function softmax(tour) {
  const { say, trace, steps } = tour;
  const [row, tokens] = following(tour, "writes", trace.target_tokens);
  const best = trace.candidates[row];
  const total = steps.logits.log_sum_exp[row];
  const point = (place) => {
    const { piece: name, probability } = best[place];
    const { logit } = steps.logits.top[row][place];
    tour.show(say("softmax.cell", name, trace.shown_tokens[row].piece), [
      line`P=\\frac{e^{z}}{\\sum_{w}e^{z_w}}=\\frac{e^{${logit}}}{e^{${total}}}=e^{${logit - total}}=${probability}`, line`\\mathrm{log}P=${Math.log(probability)}`]);
  };
  point(0);
  return box("stack", tokens, el("div", {}, title(say("softmax.caption")), candidates(say("softmax.caption"), best, trace.target_tokens[row].piece, point)),
    note(say("softmax.together", best.length, percent(best.reduce((sum, each) => sum + each.probability, 0)))));
}

/** All parts with what leaves them, and the probability of the translation as a product. */
export function wholeModel(tour) {
  const { say, trace } = tour;
  const { model, log_probability: logs, target_tokens: target } = trace;
  const [S, T] = [trace.source_tokens.length, target.length];
  const count = (name) => tour.count(model.parameters_of[name]);
  const parts = [["tokenisation", "", `[${S}], [${T}]`], ["embeddings", count("embeddings"), `[${S}, ${model.width}], [${T}, ${model.width}]`],
    ["encoder", count("encoder"), `[${S}, ${model.width}]`], ["decoder", count("decoder"), `[${T}, ${model.width}]`],
    ["linear", model.tied ? say("whole.tied") : count("output"), `[${T}, ${tour.count(model.vocabulary)}]`]];
  const sum = logs.reduce((total, each) => total + each, 0);
  const point = (_, column) => {
    const before = logs.slice(0, column).reduce((total, each) => total + each, 0);
    tour.show(target[column].piece, [line`\\mathrm{log}P(${words(target[column].piece)}\\mid \\cdots)=${logs[column]},\\quad P=${Math.exp(logs[column])}`,
      say("whole.sofar"), line`${before}+${factor(logs[column])}=${before + logs[column]}`]);
  };
  const head = (names) => el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" }, name))));
  return box("stack", box("scroll", el("table", { class: "tour-table" }, el("caption", { class: "unseen" }, say("whole.parts")),
    head([say("whole.part"), say("whole.parameters"), say("whole.leaves")]), el("tbody", {}, parts.map(([id, parameters, shape]) => el("tr", {}, el("th", { scope: "row" },
      el("button", { type: "button", class: "tour-link", on: { click: () => tour.open(id) } }, say(`station.${id}`))),
    el("td", { class: "tour-number" }, parameters), el("td", { class: "tour-number" }, shape)))))),
  note(say("whole.facts", tour.count(model.parameters), model.heads, model.head_width, model.hidden, say(`norm.${model.norm}`), model.positions, model.precision)),
  title(say("whole.product")), grid({ rows: [plain("log P")], columns: target, values: [logs], point, caption: say("whole.product") }),
  note(say("whole.sum", shown(sum, 6), Math.exp(sum).toPrecision(3), shown(trace.score, 6))));
}

/** Left, the whole reference at once; right, the model reads its own words. */
export function teacherForcing(tour) {
  const { say, trace } = tour;
  const input = el("input", { id: "tour-reference", type: "text", value: trace.translation, lang: trace.target, dir: "auto" });
  const form = el("form", { class: "tour-reference", on: { submit: (event) => { event.preventDefault(); tour.choose({ reference: input.value.trim() }, "load"); } } },
    el("label", { for: "tour-reference" }, say("teacher.reference")), input, el("button", { type: "submit", class: "button" }, say("teacher.score")));
  const { target_tokens: target, shown_tokens: seen, log_probability: logs } = trace;
  const point = (row) => tour.show(say("teacher.cell", target[row].piece), [say("teacher.seen", seen.slice(0, row + 1).map((each) => each.piece).join(" ")),
    line`-\\mathrm{log}P(${words(target[row].piece)})=-\\mathrm{log}(${Math.exp(logs[row])})=${-logs[row]}`]);
  const mean = -logs.reduce((sum, each) => sum + each, 0) / logs.length;
  const loss = (value) => el("td", { class: "tour-number", "data-value": value }, shown(value, 3));
  const table = box("scroll", el("table", { class: "tour-table" }, el("caption", { class: "unseen" }, say("teacher.parallel")),
    el("thead", {}, el("tr", {}, ["shown", "wanted", "probability", "loss"].map((name) => el("th", { scope: "col" }, say(`teacher.${name}`))))),
    el("tbody", {}, target.map((each, row) => el("tr", pointed(() => point(row)), el("td", {}, piece(seen[row])), el("td", {}, piece(each)),
      el("td", {}, bar(Math.exp(logs[row]), percent(Math.exp(logs[row]), 1))), loss(-logs[row])))),
    el("tfoot", {}, el("tr", {}, el("th", { scope: "row", colspan: 3 }, say("teacher.mean")), loss(mean)))));
  point(tellingRow(target));
  return box("stack", form, box("pair", el("section", {}, title(say("teacher.parallel")), table), el("section", {}, title(say("teacher.steps")), stepByStep(tour))));
}

/** The model's own pieces one after the other, with the candidates of each step. */
function stepByStep({ say, usual: { target_tokens: target, shown_tokens: seen, candidates: found } }) {
  const made = el("div");
  const draw = (at) => made.replaceChildren(
    box("player", el("button", { type: "button", class: "button", disabled: at === 0, on: { click: () => draw(at - 1) } }, say("step.back")),
      plain(say("step.number", at + 1, target.length)),
      el("button", { type: "button", class: "button", disabled: at === target.length - 1, on: { click: () => draw(at + 1) } }, say("step.next"))),
    el("p", { class: "tour-written" }, seen.slice(0, at + 1).map((each) => [piece(each), " "]), el("mark", {}, piece(target[at]))),
    candidates(say("softmax.caption"), found[at].slice(0, 5), target[at].piece));
  draw(Math.min(1, target.length - 1));
  return made;
}
