// Stations of writing: masked attention, encoder-decoder attention, linear, softmax, the whole model, teacher forcing.

import { el } from "../../core/dom.js";
import { bar, grid, piece, shown } from "./grid.js";
import { factor, inTex, tex, words } from "./formula.js";
import { headChoosers, tellingRow, tokenRow } from "./choices.js";
import { plain, weightTable } from "./attending.js";
import { tops } from "./layers.js";

/** The causal mask and the weights under it; with the mask off, the cells that leak are marked. */
export function maskedAttention(tour) {
  const off = tour.trace.changed_by?.mask === false;
  const past = (row, column) => off || column <= row;
  const made = weightTable(tour, "decoder", past, (row, column) => off && column > row);
  if (off) made.append(leakage(tour));
  return made;
}

/** What the leak does to the probability of each token of the same translation. */
function leakage(tour) {
  const { t, trace, usual } = tour;
  return el("div", {}, el("h4", {}, t("tour.masked.leakage")), el("p", { class: "tour-note" }, t("tour.masked.explained")),
    grid({ rows: [t("tour.breaking.before"), t("tour.breaking.after")].map((name) => el("span", {}, name)), columns: trace.target_tokens, signed: false, limit: 1,
      digits: 3, values: [usual.log_probability.map(Math.exp), trace.log_probability.map(Math.exp)], caption: t("tour.masked.leakage"), quiet: true,
      point: (row, column) => tour.show(trace.target_tokens[column].piece, [
        tex`P=e^{${inTex((row ? trace : usual).log_probability[column])}}=${inTex(Math.exp((row ? trace : usual).log_probability[column]))}`]) }));
}

/** Cross-attention of the chosen head, and the words that belong together. */
export function crossAttention(tour) {
  const { t, trace } = tour;
  const made = weightTable(tour, "cross", () => true);
  const links = trace.alignment ?? [];
  if (links.length) {
    made.append(el("h4", {}, t("tour.cross.alignment")), el("ul", { class: "tour-links" }, links.map(([from, to]) => el("li", {},
      el("bdi", {}, trace.target_words[to]), el("span", { "aria-label": t("tour.cross.from") }, " ← "), el("bdi", {}, trace.source_words[from])))));
  }
  return made;
}

/** The position that is written: a token of the target, chosen by a row of buttons. */
function writes(tour) {
  const { t, trace } = tour;
  const row = tour.row(trace.target_tokens);
  return { row, made: tokenRow(t("tour.writes"), trace.target_tokens, { chosen: row, choose: (index) => tour.choose({ row: index }) }) };
}

/** The largest logits of a position. */
export function linear(tour) {
  const { t, trace, steps } = tour;
  const { row, made } = writes(tour);
  const best = steps.logits.top[row];
  const final = steps.final[row];
  const [low, high] = [Math.min(...best.map((each) => each.logit), steps.logits.mean[row]), best[0].logit];
  const point = (place) => {
    const { piece: name, logit } = best[place];
    tour.show(t("tour.linear.cell", name, trace.shown_tokens[row].piece), [
      tex`z_{${words(name)}}=h\\cdot ${trace.model.tied === false ? "W" : "E"}_{${words(name)}}=\\sum_{i=1}^{${trace.model.width}}h_{i}${trace.model.tied === false ? "W" : "E"}_{${words(name)},i}=${inTex(logit)}`,
      t("tour.linear.above", shown((logit - steps.logits.mean[row]) / steps.logits.deviation[row], 1)),
      tex`\\frac{${inTex(logit)}-${factor(steps.logits.mean[row])}}{${inTex(steps.logits.deviation[row])}}=${inTex((logit - steps.logits.mean[row]) / steps.logits.deviation[row])}`,
    ]);
  };
  const list = el("ol", { class: "tour-bars", "aria-label": t("tour.linear.caption") }, best.map((each, place) =>
    el("li", { tabindex: 0, "data-value": each.logit, class: each.piece === trace.target_tokens[row].piece ? "tour-taken" : "", on: { mouseenter: () => point(place), focus: () => point(place) } },
      el("span", { class: "tour-bars-name" }, piece(each.piece)), bar((each.logit - low) / (high - low || 1), shown(each.logit)))));
  const hidden = grid({ rows: [el("span", {}, "h")], columns: final.map((_, index) => String(index)), values: [final], caption: t("tour.linear.hidden", trace.model.width), quiet: true,
    point: (_, column) => tour.show(t("tour.cell", trace.shown_tokens[row].piece, column), [tex`h_{${column}}=${inTex(final[column])}`]) });
  point(0);
  return el("div", {}, made, el("h4", {}, t("tour.linear.hidden", trace.model.width)), hidden, el("h4", {}, t("tour.linear.caption")), list,
    el("p", { class: "tour-note" }, t("tour.linear.rest", trace.model.vocabulary?.toLocaleString(tour.language) ?? "V", shown(steps.logits.mean[row]), shown(steps.logits.deviation[row]))));
}

/** The likeliest next tokens of a position: e to the power of the logit, over the sum of all. */
export function softmax(tour) {
  const { t, trace, steps } = tour;
  const { row, made } = writes(tour);
  const best = trace.candidates[row];
  const logits = new Map(steps.logits.top[row].map((each) => [each.piece, each.logit]));
  const total = steps.logits.log_sum_exp?.[row] ?? logits.get(best[0].piece) - Math.log(best[0].probability);
  const point = (place) => {
    const { piece: name, probability } = best[place];
    const logit = logits.get(name);
    tour.show(t("tour.softmax.cell", name, trace.shown_tokens[row].piece), [
      logit !== undefined && tex`P=\\frac{e^{z}}{\\sum_{w}e^{z_w}}=\\frac{e^{${inTex(logit, 4)}}}{e^{${inTex(total, 4)}}}=e^{${inTex(logit - total)}}=${inTex(probability)}`,
      tex`\\mathrm{log}P=${inTex(Math.log(probability))}`,
    ].filter(Boolean));
  };
  const list = el("ol", { class: "tour-bars", "aria-label": t("tour.softmax.caption") }, best.map((each, place) =>
    el("li", { tabindex: 0, "data-value": each.probability, class: each.piece === trace.target_tokens[row].piece ? "tour-taken" : "", on: { mouseenter: () => point(place), focus: () => point(place) } },
      el("span", { class: "tour-bars-name" }, piece(each.piece)), bar(each.probability, `${shown(100 * each.probability, 2)} %`))));
  const together = best.reduce((sum, each) => sum + each.probability, 0);
  point(0);
  return el("div", {}, made, el("h4", {}, t("tour.softmax.caption")), list, el("p", { class: "tour-note" }, t("tour.softmax.together", best.length, shown(100 * together, 2))));
}

/** All parts with what leaves them, and the probability of the translation as a product. */
export function wholeModel(tour) {
  const { t, trace } = tour;
  const { model } = trace;
  const [source, target] = [trace.source_tokens.length, trace.target_tokens.length];
  const count = (name) => model.parameters_of?.[name]?.toLocaleString(tour.language) ?? "";
  const parts = [
    ["tokenisation", t("tour.station.tokenisation"), "", `[${source}], [${target}]`],
    ["embeddings", t("tour.station.embeddings"), count("embeddings"), `[${source}, ${model.width}], [${target}, ${model.width}]`],
    ["encoder", `${t("tour.machine.encoder")} × ${model.encoder_layers}`, count("encoder"), `[${source}, ${model.width}]`],
    ["decoder", `${t("tour.machine.decoder")} × ${model.decoder_layers}`, count("decoder"), `[${target}, ${model.width}]`],
    ["linear", t("tour.station.linear"), count("output"), `[${target}, ${model.vocabulary?.toLocaleString(tour.language)}]`],
  ];
  const known = parts.some((each) => each[2]);
  const sum = trace.log_probability.reduce((total, each) => total + each, 0);
  const point = (_, column) => {
    const value = trace.log_probability[column];
    const before = trace.log_probability.slice(0, column).reduce((total, each) => total + each, 0);
    tour.show(t("tour.whole.cell", trace.target_tokens[column].piece), [
      tex`\\mathrm{log}P(${words(trace.target_tokens[column].piece)}\\mid \\cdots)=${inTex(value)},\\quad P=${inTex(Math.exp(value))}`,
      t("tour.whole.sofar"), tex`${inTex(before)}+${factor(value)}=${inTex(before + value)}`,
    ]);
  };
  return el("div", {},
    el("div", { class: "tour-scroll" }, el("table", { class: "tour-parts" }, el("caption", { class: "unseen" }, t("tour.whole.parts")),
      el("thead", {}, el("tr", {}, [t("tour.whole.part"), known && t("tour.whole.parameters"), t("tour.whole.leaves")].filter(Boolean).map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, parts.map(([id, name, parameters, shape]) => el("tr", {},
        el("th", { scope: "row" }, el("button", { type: "button", class: "tour-link", on: { click: () => tour.open(id) } }, name)),
        known && el("td", { class: "tour-number" }, parameters), el("td", { class: "tour-number" }, shape)))))),
    el("p", { class: "tour-note" }, t("tour.whole.facts", model.parameters?.toLocaleString(tour.language) ?? "", model.heads, model.head_width, model.hidden, t(`tour.norm.${model.norm}`), model.positions, model.precision)),
    el("h4", {}, t("tour.whole.product")),
    grid({ rows: [el("span", {}, "log P")], columns: trace.target_tokens, values: [trace.log_probability], point, caption: t("tour.whole.product") }),
    el("p", { class: "tour-note", "data-value": sum }, t("tour.whole.sum", shown(sum, 4), Math.exp(sum).toPrecision(3), shown(trace.score, 4))));
}

/** Left, the whole reference at once; right, the model reads its own words. */
export function teacherForcing(tour) {
  const { t, trace } = tour;
  const input = el("input", { id: "tour-reference", type: "text", value: trace.translation, lang: trace.target, dir: "auto" });
  const forced = el("form", { class: "tour-reference", on: { submit: (event) => { event.preventDefault(); tour.choose({ reference: input.value.trim() }); } } },
    el("label", { for: "tour-reference" }, t("tour.teacher.reference")), input, el("button", { type: "submit" }, t("tour.teacher.score")));
  const losses = trace.log_probability.map((value) => -value);
  const point = (row) => tour.show(t("tour.teacher.cell", trace.target_tokens[row].piece), [
    t("tour.teacher.seen", trace.shown_tokens.slice(0, row + 1).map(plain).join(" ")),
    tex`-\\mathrm{log}P(${words(trace.target_tokens[row].piece)})=-\\mathrm{log}(${inTex(Math.exp(-losses[row]))})=${inTex(losses[row])}`,
  ]);
  const mean = losses.reduce((sum, each) => sum + each, 0) / losses.length;
  const line = (target, row) => el("tr", { tabindex: 0, on: { mouseenter: () => point(row), focus: () => point(row) } },
    el("td", {}, piece(trace.shown_tokens[row])), el("td", {}, piece(target)), el("td", {}, bar(Math.exp(-losses[row]), `${shown(100 * Math.exp(-losses[row]), 1)} %`)),
    el("td", { class: "tour-number", "data-value": losses[row] }, shown(losses[row], 3)));
  const table = el("div", { class: "tour-scroll" }, el("table", { class: "tour-meeting" }, el("caption", { class: "unseen" }, t("tour.teacher.parallel")),
    el("thead", {}, el("tr", {}, [t("tour.teacher.shown"), t("tour.teacher.wanted"), t("tour.probability"), t("tour.teacher.loss")].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, trace.target_tokens.map(line)),
    el("tfoot", {}, el("tr", {}, el("th", { scope: "row", colspan: 3 }, t("tour.teacher.mean")), el("td", { class: "tour-number", "data-value": mean }, shown(mean, 3))))));
  point(tellingRow(trace.target_tokens));
  return el("div", {}, forced, el("div", { class: "tour-pair tour-versus" },
    el("section", {}, el("h4", {}, t("tour.teacher.parallel")), table), el("section", {}, el("h4", {}, t("tour.teacher.steps")), stepByStep(tour))));
}

/** The same tokens one after the other, with the candidates of each step. */
function stepByStep(tour) {
  const { t, usual } = tour;
  const own = usual;
  let at = Math.min(1, own.target_tokens.length - 1);
  const box = el("div", { class: "tour-stepper" });
  const draw = () => {
    const before = own.shown_tokens.slice(0, at + 1);
    const done = own.target_tokens[at];
    box.replaceChildren(
      el("div", { class: "tour-stepper-bar" },
        el("button", { type: "button", disabled: at === 0, on: { click: () => { at -= 1; draw(); } } }, t("tour.step.back")),
        el("span", {}, t("tour.step.number", at + 1, own.target_tokens.length)),
        el("button", { type: "button", disabled: at === own.target_tokens.length - 1, on: { click: () => { at += 1; draw(); } } }, t("tour.step.next"))),
      el("p", { class: "tour-written" }, before.map((each) => [piece(each), " "]), el("mark", {}, piece(done))),
      tops(own.candidates[at].slice(0, 5).map((each) => ({ ...each, share: each.probability })), done.piece));
  };
  draw();
  return box;
}
