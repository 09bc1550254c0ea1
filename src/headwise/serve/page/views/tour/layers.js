// Stations of a layer: feed-forward, add & norm, the encoder as a stack, the decoder as a stack.

import { el, svg } from "../../core/dom.js";
import { bar, chooser, grid, piece, shown } from "./grid.js";
import { factor, inTex, tex } from "./formula.js";
import { counted, tellingRow, tokenRow } from "./choices.js";
import { miniature } from "./attending.js";

const STACKS = ["encoder", "decoder"];

/** Choosers of the stack and the layer; the layer of a stack is that of its self-attention. */
function layerChoosers(tour, stacks = STACKS) {
  const { t, trace } = tour;
  const stack = stacks.includes(tour.pick.kind) ? tour.pick.kind : stacks[0];
  const { layers } = counted(trace, stack);
  const [layer, head] = tour.head(stack);
  const names = Array.from({ length: layers }, (_, index) => String(index + 1));
  const made = el("div", { class: "tour-choosers" },
    stacks.length > 1 && chooser("tour-stack", t("tour.stack"), stacks.map((each) => t(`tour.machine.${each}`)), stacks.indexOf(stack),
      (index) => tour.choose({ kind: stacks[index] })),
    layers > 1 && chooser("tour-layer", t("tour.layer"), names, layer, (index) => tour.chooseHead(stack, index, head)));
  return { made, stack, layer };
}

function tokensOf(trace, stack) {
  return stack === "encoder" ? trace.source_tokens : trace.shown_tokens;
}

/** How many hidden units each token wakes, and which are the strongest. */
export function feedForward(tour) {
  const { t, trace, steps } = tour;
  const { made, stack, layer } = layerChoosers(tour);
  const tokens = tokensOf(trace, stack);
  const { active, strongest } = steps.feed_forward[stack][layer];
  const hidden = trace.model.hidden;
  const gated = trace.model.feed_forward === "gated";
  const share = (row) => tour.show(tokens[row].piece, [
    t("tour.feed.active", Math.round(active[row] * hidden), hidden, shown(100 * active[row], 1)), t(gated ? "tour.feed.gatedUnits" : "tour.feed.units"),
  ]);
  const unit = (row, place) => {
    const { unit: number, value } = strongest[row][place];
    tour.show(t("tour.feed.unit", tokens[row].piece, number), [
      gated ? tex`h_{${number}}=\\mathrm{${trace.model.activation ?? "act"}}(x\\cdot w^{(1)}_{${number}})\\times (x\\cdot w^{(3)}_{${number}})=${inTex(value)}`
        : tex`h_{${number}}=\\mathrm{${trace.model.activation ?? "act"}}(x\\cdot w_{${number}}+b_{${number}})=${inTex(value)}`,
      t("tour.feed.place", place + 1, hidden),
    ]);
  };
  const bars = el("ul", { class: "tour-bars", "aria-label": t("tour.feed.caption") }, tokens.map((token, row) =>
    el("li", { tabindex: 0, "data-value": active[row], on: { mouseenter: () => share(row), focus: () => share(row) } },
      el("span", { class: "tour-bars-name" }, piece(token)), bar(active[row], `${shown(100 * active[row], 1)} %`))));
  const units = grid({ rows: tokens, columns: strongest[0].map((_, place) => `${place + 1}.`), digits: 2,
    values: strongest.map((row) => row.map((each) => each.value)), point: unit, first: [tellingRow(tokens), 0], caption: t("tour.feed.strongest") });
  units.querySelectorAll("td[role=gridcell]").forEach((cell) => {
    const [row, place] = cell.place;
    cell.append(el("small", {}, `#${strongest[row][place].unit}`));
  });
  return el("div", {}, made, el("div", { class: "tour-pair" }, el("div", {}, el("h4", {}, t("tour.feed.caption")), bars),
    el("div", {}, el("h4", {}, t("tour.feed.strongest")), units)));
}

/** The states between the sublayers of a layer, in order, with the names of the sublayers that lead to the next. */
function states(part) {
  const order = [["in", null], ["after_self", "self"], ["after_cross", "cross"], ["after_feed_forward", "feed_forward"]];
  return order.filter(([name]) => part[name]).map(([name, sublayer]) => ({ name, sublayer, values: part[name], rms: part.rms?.[name] }));
}

/** One sublayer of one layer: what comes in, what is added, what goes out, and how it is normed. */
export function addAndNorm(tour) {
  const { t, trace, steps } = tour;
  const { made, stack, layer } = layerChoosers(tour);
  const tokens = tokensOf(trace, stack);
  const all = states(steps.residual[stack][layer]);
  const chosen = Math.min(tour.pick.sublayer ?? 0, all.length - 2);
  const [before, after] = [all[chosen], all[chosen + 1]];
  const names = all.slice(1).map((each) => t(`tour.sublayer.${each.sublayer}`));
  const norm = steps.norm?.[stack]?.[layer]?.[after.sublayer];
  const added = steps.added?.[stack]?.[layer]?.[after.sublayer] ?? (trace.model.norm === "pre" ? minus(after.values, before.values) : null);
  const point = (row, column) => tour.show(t("tour.cell", tokens[row].piece, column),
    normLines(trace.model, { x: before.values[row][column], y: after.values[row][column], added: added?.[row][column], norm, row, column, t }));
  const columns = before.values[0].map((_, index) => String(index));
  const limit = Math.max(...before.values.flat().map(Math.abs), ...after.values.flat().map(Math.abs));
  const one = (caption, values, tint) => grid({ rows: tokens, columns, values, point, limit, caption, compact: true, tint, first: [tellingRow(tokens), 0] });
  made.append(chooser("tour-sublayer", t("tour.sublayer"), names, chosen, (index) => tour.choose({ sublayer: index })));
  return el("div", {}, made, el("div", { class: "tour-three tour-sum" },
    one(t("tour.addNorm.in"), before.values), added && one(t("tour.addNorm.added", names[chosen]), added), one(t("tour.addNorm.out"), after.values)),
  el("h4", {}, t("tour.addNorm.sizes")), sizes(tour, stack, tokens));
}

function minus(a, b) {
  return a.map((row, i) => row.map((value, j) => value - b[i][j]));
}

/** The computation of one number that a sublayer changes. */
function normLines(model, { x, y, added, norm, row, column, t }) {
  const normed = (value) => {
    const [mean, deviation] = [norm.mean?.[row] ?? 0, norm.deviation[row]];
    const [gain, bias] = [norm.gain[column], norm.bias?.[column] ?? 0];
    const result = ((value - mean) / deviation) * gain + bias;
    return `${factor(gain)}\\cdot \\frac{${inTex(value)}${mean ? `-${factor(mean)}` : ""}}{${inTex(deviation)}}${bias ? `+${factor(bias)}` : ""}=${inTex(result)}`;
  };
  const sum = (result) => tex`\\as{key}{${inTex(x)}}+\\as{value}{${factor(added)}}=${inTex(result)}`;
  if (model.norm === "pre") {
    return [norm && t("tour.addNorm.pre"), norm && tex`\\mathrm{Norm}(x)_{${column}}=${normed(x)}`, t("tour.addNorm.sum"), sum(y)].filter(Boolean);
  }
  if (added === undefined) return [t("tour.addNorm.post"), tex`x_{${column}}=\\as{key}{${inTex(x)}}\\rightarrow ${inTex(y)}`];
  return [t("tour.addNorm.sum"), sum(x + added), norm && t("tour.addNorm.post"), norm && tex`\\mathrm{Norm}(\\cdots)_{${column}}=${normed(x + added)}`].filter(Boolean);
}

/** The size (root of the mean square) of each token's vector on its way through a stack. */
function sizes(tour, stack, tokens) {
  const { t, steps } = tour;
  const levels = steps.residual[stack].flatMap((part, layer) => states(part).slice(layer ? 1 : 0).map((each) => ({ ...each, layer })));
  const known = levels.filter((each) => each.rms);
  if (!known.length) return null;
  const label = (each) => (each.sublayer ? `${each.layer + 1} ${t(`tour.sublayer.${each.sublayer}`)}` : t("tour.encoder.entrance"));
  return grid({ rows: known.map((each) => el("span", {}, label(each))), columns: tokens, values: known.map((each) => each.rms), signed: false,
    caption: t("tour.addNorm.sizes"), quiet: true, point: (row, column) => tour.show(`${tokens[column].piece} · ${label(known[row])}`, [
      tex`\\mathrm{RMS}=\\sqrt{\\frac{1}{${tour.trace.model.width}}\\sum_{i}x_i^2}=${inTex(known[row].rms[column])}`,
    ]) });
}

/** The way of one token up through the encoder, and what each layer looks at on average. */
export function encoder(tour) {
  const { t, trace, steps } = tour;
  const tokens = trace.source_tokens;
  const row = tour.row(tokens);
  const levels = [{ name: t("tour.encoder.entrance"), values: steps.residual.encoder[0].in[row] }];
  steps.residual.encoder.forEach((part, layer) => levels.push({ name: `${t("tour.layer")} ${layer + 1}`, values: part.after_feed_forward[row], layer }));
  levels.push({ name: t("tour.machine.memory"), values: steps.memory[row] });
  const order = levels.map((_, index) => levels.length - 1 - index); // drawn as it is computed: from the bottom to the top
  const point = (place, column) => {
    const level = order[place];
    const below = levels[level - 1];
    const line = below ? tex`x_{${column}}:\\quad ${inTex(below.values[column])}\\rightarrow ${inTex(levels[level].values[column])}` : tex`x_{${column}}=${inTex(levels[level].values[column])}`;
    const last = level === levels.length - 1;
    tour.show(`${tokens[row].piece} · ${levels[level].name}`, [
      t(last ? "tour.encoder.memory" : below ? "tour.encoder.step" : "tour.encoder.start", levels[level].name), line,
    ]);
  };
  const means = trace.attention.encoder.map((heads) => heads[0].map((line, i) => line.map((_, j) => heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length)));
  return el("div", {}, tokenRow(t("tour.follow"), tokens, { chosen: row, choose: (index) => tour.choose({ row: index }) }),
    el("div", { class: "tour-pair" },
      grid({ rows: order.map((level) => el("span", {}, levels[level].name)), columns: levels[0].values.map((_, index) => String(index)),
        values: order.map((level) => levels[level].values), point, first: [0, 0], caption: t("tour.encoder.caption", tokens[row].piece) }),
      el("div", { class: "tour-floors", "aria-hidden": "true" }, means.map((mean, layer) => el("figure", {}, miniature(mean),
        el("figcaption", {}, `${t("tour.layer")} ${layer + 1}`))).reverse())));
}

/** What each layer of the decoder would write, were it the last: the logit lens. */
export function decoder(tour) {
  const { t, trace } = tour;
  const order = trace.lens.map((_, index) => trace.lens.length - 1 - index);
  const names = trace.lens.map((_, index) => (index ? `${t("tour.layer")} ${index}` : t("tour.encoder.entrance")));
  const point = (place, column) => {
    const best = trace.lens[order[place]][column];
    tour.show(t("tour.decoder.cell", names[order[place]], trace.shown_tokens[column].piece), [
      t("tour.decoder.would"), tops(best.map((each) => ({ ...each, share: each.probability }))),
    ]);
  };
  const made = grid({ rows: order.map((level) => el("span", {}, names[level])), columns: trace.shown_tokens, signed: false, limit: 1,
    values: order.map((level) => trace.lens[level].map((best) => best[0].probability)), point, caption: t("tour.decoder.caption"), corner: t("tour.decoder.corner") });
  made.querySelectorAll("td[role=gridcell]").forEach((cell) => {
    const [place, column] = cell.place;
    cell.prepend(el("b", {}, piece(trace.lens[order[place]][column][0].piece)), " ");
  });
  made.classList.add("tour-lens");
  return made;
}

/** Candidates with their probabilities as bars; `chosen` marks the piece that was taken. */
export function tops(candidates, chosen) {
  return el("ol", { class: "tour-tops" }, candidates.map((each) => el("li", { class: each.piece === chosen ? "tour-taken" : "" },
    el("span", { class: "tour-bars-name" }, piece(each.piece)), bar(each.share, each.text ?? `${shown(100 * each.share, 2)} %`))));
}

/** A small drawing of wires: an arrow between two columns. */
export function arrow() {
  return svg("svg", { viewBox: "0 0 24 24", class: "tour-arrow-icon", "aria-hidden": "true" }, svg("path", { d: "M3 12h16m-6-6l6 6l-6 6" }));
}
