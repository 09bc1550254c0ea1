// Stations of a layer: feed-forward, add & norm, the encoder as a stack, the decoder as a stack.

import { el } from "../../core/dom.js";
import { attended, following, tellingRow } from "./choices.js";
import { factor, line, math } from "./formula.js";
import { grid } from "./grid.js";
import { bars, box, candidates, chooser, miniature, numbered, percent, piece, plain, title } from "./parts.js";

const STATES = ["in", "after_self", "after_cross", "after_feed_forward"];

/** The chosen stack and layer, with their choosers. */
function stacked(tour, more) {
  return attended(tour, ["encoder", "decoder"], { heads: false, label: "stack", name: (each) => tour.say(`machine.${each}`), more });
}

/** How many hidden units each token wakes, and which are the strongest. */
export function feedForward(tour) {
  const { say, trace, steps } = tour;
  const { hidden, activation, feed_forward: form } = trace.model;
  const { kind, layer, choosers, rows: tokens } = stacked(tour);
  const { active, strongest } = steps.feed_forward[kind][layer];
  const share = (row) => tour.show(tokens[row].piece, [say("feed.active", Math.round(active[row] * hidden), hidden, percent(active[row], 1)), say(`feed.${form}`)]);
  const unit = (row, place) => {
    const { unit: number, value } = strongest[row][place];
    tour.show(say("feed.unit", tokens[row].piece, number), [form === "gated"
      ? line`h_{${number}}=\\mathrm{${activation}}(x\\cdot w^{(1)}_{${number}})\\times (x\\cdot w^{(3)}_{${number}})=${value}`
      : line`h_{${number}}=\\mathrm{${activation}}(x\\cdot w_{${number}}+b_{${number}})=${value}`, say("feed.place", place + 1, hidden)]);
  };
  const units = grid({ rows: tokens, columns: strongest[0].map((_, place) => `${place + 1}.`), values: strongest.map((row) => row.map((each) => each.value)),
    point: unit, first: [tellingRow(tokens), 0], caption: say("feed.strongest"), more: (row, place) => el("small", {}, `#${strongest[row][place].unit}`) });
  return box("stack", choosers, box("pair",
    el("div", {}, title(say("feed.caption")), bars(say("feed.caption"), tokens.map((token, row) => ({ ...token, share: active[row], text: percent(active[row], 1) })), share)),
    el("div", {}, title(say("feed.strongest")), units)));
}

/** One sublayer of one layer: what comes in, what is added, what goes out, and how it is normed. */
export function addAndNorm(tour) {
  const { say, trace, steps } = tour;
  const chosen = attended(tour, ["encoder", "decoder"], { heads: false });
  const part = steps.residual[chosen.kind][chosen.layer];
  const known = STATES.filter((name) => part[name]);
  const place = Math.min(tour.get("sublayer") ?? 0, known.length - 2);
  const names = known.slice(1).map((name) => say(`sub.${name}`));
  const { kind, layer, choosers, rows: tokens } = stacked(tour, chooser("sublayer", say("sublayer"), names, place, (index) => tour.choose({ sublayer: index })));
  const sublayer = known[place + 1].replace("after_", "");
  const [before, after] = [part[known[place]], part[known[place + 1]]];
  const [added, norm] = [steps.added[kind][layer][sublayer], steps.norm[kind][layer][sublayer]];
  const point = (row, column) => tour.show(say("cell", tokens[row].piece, column),
    normLines(tour, before[row][column], added[row][column], norm, row, column));
  const limit = Math.max(...[...before, ...after].flat().map(Math.abs));
  const one = (caption, values, quiet = true) =>
    grid({ rows: tokens, columns: numbered(before[0].length), values, point, limit, caption, quiet, compact: true, first: [tellingRow(tokens), 0] });
  return box("stack", choosers, box("three", one(say("addNorm.in"), before), one(say("addNorm.added", names[place]), added), one(say("addNorm.out"), after, false)),
    title(say("addNorm.sizes")), sizes(tour, kind, tokens));
}

/** The computation of one number that a sublayer changes. */
function normLines({ say, trace: { model } }, x, added, norm, row, column) {
  const pre = model.norm === "pre";
  const given = pre ? x : x + added;
  const mean = model.norm_kind === "rms" ? 0 : norm.mean[row];
  const size = model.norm_kind === "rms" ? norm.rms[row] : norm.deviation[row];
  const [gain, bias] = [norm.gain?.[column] ?? 1, norm.bias?.[column] ?? 0];
  const top = mean ? math`${given}-${factor(mean)}` : math`${given}`;
  const normed = line`\\mathrm{Norm}_{${column}}=${factor(gain)}\\cdot \\frac{${top}}{${size}}${bias ? `+${factor(bias)}` : ""}=${((given - mean) / size) * gain + bias}`;
  const sum = [say("addNorm.sum"), line`\\as{key}{${x}}+\\as{value}{${factor(added)}}=${x + added}`];
  return pre ? [say("addNorm.pre"), normed, ...sum] : [...sum, say("addNorm.post"), normed];
}

/** The size (root of the mean square) of each token's vector on its way through a stack. */
function sizes({ say, trace, steps, show }, stack, tokens) {
  const levels = steps.residual[stack].flatMap(({ rms }, layer) => STATES.slice(layer ? 1 : 0).filter((name) => rms[name])
    .map((name) => ({ rms: rms[name], label: name === "in" ? say("entrance") : `${layer + 1} ${say(`sub.${name}`)}` })));
  return grid({ rows: levels.map((each) => plain(each.label)), columns: tokens, values: levels.map((each) => each.rms), signed: false, quiet: true,
    caption: say("addNorm.sizes"), point: (row, column) => show(`${tokens[column].piece} · ${levels[row].label}`,
      [line`\\mathrm{RMS}=\\sqrt{\\frac{1}{${trace.model.width}}\\sum_{i=1}^{${trace.model.width}}x_i^2}=${levels[row].rms[column]}`]) });
}

/** The way of one token up through the encoder, and what each layer looks at on average. */
export function encoder(tour) {
  const { say, trace, steps } = tour;
  const [row, tokens] = following(tour, "follow", trace.source_tokens);
  const name = trace.source_tokens[row].piece;
  const levels = [{ label: say("entrance"), text: say("encoder.start"), values: steps.residual.encoder[0].in[row] },
    ...steps.residual.encoder.map((part, layer) => ({ label: `${say("layer")} ${layer + 1}`, text: say("encoder.step", layer + 1), values: part.after_feed_forward[row] })),
    { label: say("machine.memory"), text: say("encoder.memory"), values: steps.memory[row] }].reverse(); // as it is computed: from the bottom to the top
  const point = (place, column) => {
    const [level, below] = [levels[place], levels[place + 1]];
    tour.show(`${name} · ${level.label}`, [level.text,
      line`x_{${column}}${below ? math`:\\quad ${below.values[column]}\\rightarrow ` : "="}${level.values[column]}`]);
  };
  const mean = (heads) => heads[0].map((cells, i) => cells.map((_, j) => heads.reduce((sum, head) => sum + head[i][j], 0) / heads.length));
  return box("stack", tokens, box("pair",
    grid({ rows: levels.map((each) => plain(each.label)), columns: numbered(levels[0].values.length), values: levels.map((each) => each.values), point,
      caption: say("encoder.caption", name) }),
    box("smalls", trace.attention.encoder.map((heads, layer) => el("figure", {}, miniature(mean(heads)), el("figcaption", {}, `${say("layer")} ${layer + 1}`))))));
}

/** What each layer of the decoder would write, were it the last: the logit lens. */
export function decoder(tour) {
  const { say, trace } = tour;
  const levels = trace.lens.map((best, index) => ({ best, label: index ? `${say("layer")} ${index}` : say("entrance") })).reverse();
  return grid({ rows: levels.map((each) => plain(each.label)), columns: trace.shown_tokens, signed: false, limit: 1, tint: "tour-lens", corner: say("decoder.corner"),
    values: levels.map((each) => each.best.map(([first]) => first.probability)), caption: say("decoder.caption"),
    more: (place, column) => el("b", {}, piece(levels[place].best[column][0]), " "),
    point: (place, column) => tour.show(say("decoder.cell", levels[place].label, trace.shown_tokens[column].piece),
      [say("decoder.would"), candidates(say("decoder.would"), levels[place].best[column])]) });
}

