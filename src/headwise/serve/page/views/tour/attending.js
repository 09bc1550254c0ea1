// Stations of attention: query/key/value, one query's attention, a head's table, several heads.

import { el } from "../../core/dom.js";
import { wordLines } from "../../draw/word-lines.js";
import { attended, following, KINDS, absent, tellingRow } from "./choices.js";
import { factor, line, number, products, words } from "./formula.js";
import { grid } from "./grid.js";
import { arrows, bar, box, largest, miniature, numbered, piece, plain, pointed, shown, strip, title } from "./parts.js";

const dot = (a, b) => a.reduce((sum, value, index) => sum + value * b[index], 0);

/** What the products are multiplied by, as it stands at a column: a root where it is the usual one. */
function scaling({ model }) {
  return Math.abs(model.score_scale - model.head_width ** -0.5) < 1e-6 ? Math.sqrt(model.head_width) : null;
}

/** `q . k` and the score that becomes of it, as lines of a computation. */
function scoreLines(tour, query, key, score) {
  const { model, changed_by: changed } = tour.trace;
  const product = dot(query, key);
  const root = scaling(tour.trace);
  const known = product * model.score_scale;
  // By relative positions.
  const shifted = Math.abs(score - known) > 1e-3 * Math.max(1, Math.abs(score));
  const scaled = shifted ? known : score;
  const made = [line`\\as{query}{q}\\cdot \\as{key}{k}=${products(query, key, "query", "key")}=${product}`];
  if (changed.scaling === false) made.push(tour.say("unscaled"));
  else if (root) made.push(line`s=\\frac{\\as{query}{q}\\cdot \\as{key}{k}}{\\sqrt{${model.head_width}}}=\\frac{${product}}{${root}}=${scaled}`);
  else made.push(line`s=${product}\\times ${model.score_scale}=${scaled}`);
  if (shifted) made.push(line`s+b=${scaled}+${factor(score - scaled)}=${score}`);
  return made;
}

/** The softmax of one row, for one of its cells: the numerator over the sum. Large scores are shifted, as in the code. */
function weightLine(scores, column, weight, open) {
  const seen = scores.filter((_, index) => open(index));
  const top = Math.max(...seen);
  const shift = top > 15 ? top : 0;
  const total = seen.reduce((sum, each) => sum + Math.exp(each - shift), 0);
  const less = shift ? `-${factor(shift, 4)}` : "";
  return line`\\as{weight}{a}=\\frac{e^{${number(scores[column], 4)}${less}}}{\\sum_{j}e^{s_j${less}}}=\\frac{${Math.exp(scores[column] - shift)}}{${total}}=${weight}`;
}

/** Queries, keys and values of one head for all tokens. */
export function queryKeyValue(tour) {
  const { say, trace } = tour;
  const { choosers, numbers, rows, columns } = attended(tour);
  if (!numbers) return absent(tour, choosers);
  const one = (name, tokens) => grid({ rows: tokens, columns: numbered(numbers[name][0].length), values: numbers[name], compact: true,
    tint: `tour-tint-${name}`, quiet: name !== "query", first: [tellingRow(tokens), 0], caption: say(name), point: (row, column) =>
      tour.show(say("qkv.cell", say(name), tokens[row].piece, column), [say(`qkv.${name}`, tokens[row].piece),
        line`\\as{${name}}{${name[0]}_{${words(tokens[row].piece)},${column}}}=\\sum_{i=1}^{${trace.model.width}}x_{i}W_{i,${column}}+b_{${column}}=${numbers[name][row][column]}`]) });
  return box("stack", choosers, box("three", one("query", rows), one("key", columns), one("value", columns)));
}

/** One query meets all keys: products, scores, weights, and the mean of the values. */
export function attention(tour) {
  const { say, trace } = tour;
  const { kind, choosers, numbers, rows, columns, ...head } = attended(tour);
  if (!numbers) return absent(tour, choosers);
  const [row, tokens] = following(tour, "asks", rows);
  const [weights, query, scores, values] = [head.weights[row], numbers.query[row], numbers.scores[row], numbers.value];
  const open = (key) => kind !== "decoder" || trace.changed_by.mask === false || key <= row;
  const output = query.map((_, index) => dot(weights, values.map((value) => value[index])));
  const [keyLimit, valueLimit] = [largest(numbers.key), largest(values)];
  const point = (key) => {
    const each = query.map((value, index) => value * numbers.key[key][index]);
    tour.show(say("meets", rows[row].piece, columns[key].piece), [...scoreLines(tour, query, numbers.key[key], scores[key]),
      box("terms", plain(say("terms")), strip(each, say("terms"), undefined, "tour-wide")), open(key) ? weightLine(scores, key, weights[key], open) : say("behind")]);
  };
  const outcome = () => tour.show(say("output", rows[row].piece), [
    line`o_{0}=\\sum_{j}a_{j}v_{j,0}=${products(weights, values.map((value) => value[0]), "weight", "value")}=${output[0]}`]);
  const number2 = (value) => el("td", { class: "tour-number", "data-value": value }, shown(value));
  const meeting = (key) => el("tr", pointed(() => point(key), { class: open(key) ? "" : "tour-closed" }), el("th", { scope: "row" }, piece(columns[key])),
    el("td", {}, strip(numbers.key[key], say("key"), keyLimit)), number2(dot(query, numbers.key[key])), number2(open(key) ? scores[key] : -Infinity),
    el("td", { "data-value": weights[key] }, bar(weights[key], shown(weights[key], 3))), el("td", {}, strip(values[key], say("value"), valueLimit)));
  const root = scaling(trace);
  const names = [say("key"), "q · k", root ? `÷ ${shown(root)}` : `× ${shown(trace.model.score_scale)}`, say("weight"), say("value")];
  const table = el("table", { class: "tour-table", on: { keydown: arrows(() => [...table.querySelectorAll("tr[tabindex]")], "ArrowUp", "ArrowDown") } },
    el("caption", { class: "unseen" }, say("attention.caption", rows[row].piece)),
    el("thead", {}, el("tr", {}, el("td"), names.map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, columns.map((_, key) => meeting(key))),
    el("tfoot", {}, el("tr", pointed(outcome), el("th", { scope: "row" }, say("sum")), el("td"), el("td"), el("td"),
      el("td", {}, bar(1, shown(weights.reduce((sum, each) => sum + each, 0), 3))), el("td", {}, strip(output, say("sum"), valueLimit)))));
  point(weights.indexOf(Math.max(...weights)));
  return box("stack", choosers, tokens, box("asking", plain([say("query"), " ", piece(rows[row])]), strip(query, say("query"), undefined, "tour-wide")), box("scroll", table));
}

/** The encoder's table of weights. */
export const selfAttention = (tour) => weightTable(tour, "encoder");

/** Weights of the chosen head as lines between words and as numbers, with the computation of each. `open` tells what is not masked. */
export function weightTable(tour, kind, open = () => true, leaks = () => false) {
  const { say } = tour;
  const { choosers, head, weights, numbers, rows, columns } = attended(tour, [kind]);
  if (!numbers) return absent(tour, choosers);
  const names = (tokens) => tokens.map((each) => each.piece);
  const lines = wordLines({ from: names(rows), to: names(columns), heads: [{ name: say("head"), colour: head, weights }], upright: true, label: say("lines"),
    masked: (row, column) => !open(row, column) });
  const point = (row, column) => {
    lines.bring({ side: 0, index: row });
    const scores = numbers.scores[row];
    tour.show(say("looks", rows[row].piece, columns[column].piece), [...scoreLines(tour, numbers.query[row], numbers.key[column], scores[column]),
      ...(open(row, column) ? [weightLine(scores, column, weights[row][column], (index) => open(row, index))]
        : [line`${scores[column]}+(-\\infty)=-\\infty,\\quad e^{-\\infty}=0`, say("behind")]), leaks(row, column) && say("leak")]);
  };
  const row = tellingRow(rows);
  return box("stack", choosers, box("pair", lines, grid({ rows, columns, values: weights, point, signed: false, limit: 1,
    hidden: (i, j) => !open(i, j), leaks, first: [row, weights[row].indexOf(Math.max(...weights[row]))], caption: say("weights.caption"), corner: say("corner") })));
}

/** All heads of a layer as small pictures, one token's weights in each, and their outputs side by side. */
export function multiHead(tour) {
  const { say, trace, steps } = tour;
  const { kind, layer, head, choosers, rows, columns } = attended(tour, KINDS, { heads: false });
  if (!steps.concatenated[kind][layer]) return absent(tour, choosers);
  const [row, tokens] = following(tour, "asks", rows);
  const heads = trace.attention[kind][layer];
  const outputs = steps.concatenated[kind][layer][row];
  const off = (index) => trace.changed_by.heads_off?.some(([k, l, h]) => k === kind && l === layer && h === index);
  const small = (weights, index) => {
    const { role } = trace.roles.find((each) => each.kind === kind && each.layer === layer && each.head === index);
    return el("button", { type: "button", class: `tour-small${off(index) ? " tour-off" : ""}`, "aria-pressed": String(index === head), id: `tour-head-${index}`,
      style: { "--head": `var(--head-${index % 8})` }, on: { click: () => tour.chooseHead(kind, layer, index) } },
    miniature(weights), plain(`${say("head")} ${index + 1}`), el("small", {}, say(off(index) ? "off" : `role.${role}`)));
  };
  const point = (index, column) => tour.show(say("headLooks", index + 1, rows[row].piece, columns[column].piece), [
    line`\\as{weight}{a}=${heads[index][row][column]}`,
    line`\\mathrm{head}_{${index + 1},0}=${products(heads[index][row], steps.query_key_value[kind][layer][index].value.map((each) => each[0]), "weight", "value")}=${outputs[index][0]}`,
    say("multiHead.joined", heads.length, trace.model.head_width, heads.length * trace.model.head_width)]);
  return box("stack", choosers, box("smalls", heads.map(small)), tokens,
    grid({ rows: heads.map((_, index) => plain(`${say("head")} ${index + 1}`)), columns, values: heads.map((weights) => weights[row]), signed: false, limit: 1, point,
      first: [head, heads[head][row].indexOf(Math.max(...heads[head][row]))], caption: say("multiHead.caption", rows[row].piece) }),
    title(say("multiHead.concatenation")), box("joined", outputs.map((output, index) =>
      el("b", { style: { "--head": `var(--head-${index % 8})` } }, strip(output, `${say("head")} ${index + 1}`, largest(outputs))))));
}
