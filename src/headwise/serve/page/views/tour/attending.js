// Stations of attention: query/key/value, one query's attention, self-attention, several heads.

import { el } from "../../core/dom.js";
import { wordLines } from "../../draw/word-lines.js";
import { bar, grid, piece, shown, strip } from "./grid.js";
import { factor, inTex, tex, words } from "./formula.js";
import { chosenKind, headChoosers, KINDS, sides, tellingRow, tokenRow } from "./choices.js";

/** Query, key, value and scores of the chosen head, as the trace has them. */
function projections(tour, kind) {
  const [layer, head] = tour.head(kind);
  return tour.steps.query_key_value[kind][layer][head];
}

function dot(a, b) {
  return a.reduce((sum, value, index) => sum + value * b[index], 0);
}

/** The factor of the scores: 1 / sqrt(head width) unless the model has another or it is switched off. */
export function scoreFactor(tour) {
  const { model, changed_by: changed } = tour.trace;
  if (changed?.scaling === false) return 1;
  return model.score_scale ?? 1 / Math.sqrt(model.head_width);
}

/** `q . k` and what becomes of it, as lines of a computation. */
export function scoreLines(tour, query, key, score) {
  const { model } = tour.trace;
  const product = dot(query, key);
  const scale = scoreFactor(tour);
  const usual = Math.abs(scale - 1 / Math.sqrt(model.head_width)) < 1e-6;
  const terms = query.slice(0, 3).map((value, index) => `\\as{query}{${factor(value, 4)}}\\cdot \\as{key}{${factor(key[index], 4)}}`);
  const sum = tex`\\as{query}{q}\\cdot \\as{key}{k}=${terms.join("+")}+\\cdots=${inTex(product)}`;
  if (usual) return [sum, tex`\\frac{\\as{query}{q}\\cdot \\as{key}{k}}{\\sqrt{${model.head_width}}}=\\frac{${inTex(product)}}{${inTex(Math.sqrt(model.head_width))}}=${inTex(score)}`];
  return [sum, scale === 1 ? tour.t("tour.unscaled") : tex`${inTex(product)}\\times ${inTex(scale)}=${inTex(score)}`];
}

/** The softmax of one row, for one of its cells: the numerator over the sum, with their numbers. */
export function weightLine(scores, column, weight, allowed = () => true) {
  const open = scores.filter((_, index) => allowed(index));
  const top = Math.max(...open);
  const sum = open.reduce((total, each) => total + Math.exp(each - top), 0);
  const shift = top > 20 ? top : 0;
  const shifted = shift ? `${inTex(scores[column], 4)}-${factor(shift, 4)}` : inTex(scores[column], 4);
  const total = sum * Math.exp(top - shift);
  return tex`\\as{weight}{a}=\\frac{e^{${shifted}}}{\\sum_{j}e^{s_j${shift ? `-${inTex(shift, 4)}` : ""}}}=\\frac{${inTex(Math.exp(scores[column] - shift))}}{${inTex(total)}}=${inTex(weight)}`;
}

/** Queries, keys and values of one head for all tokens. */
export function queryKeyValue(tour) {
  const { t, trace } = tour;
  const kind = chosenKind(tour, KINDS);
  const found = projections(tour, kind);
  const { rows, columns } = sides(trace, kind);
  const columnNames = found.query[0].map((_, index) => String(index));
  const one = (name, tokens, letter) => grid({
    rows: tokens, columns: columnNames, values: found[name], compact: true, tint: `tour-tint-${name}`, first: [tellingRow(tokens), 0],
    caption: t(`tour.${name}`), point: (row, column) => tour.show(t("tour.qkv.cell", t(`tour.${name}`), tokens[row].piece, column), [
      t(`tour.qkv.${name}`, tokens[row].piece),
      tex`\\as{${name}}{${letter}_{${words(tokens[row].piece)},${column}}}=\\sum_{i=1}^{${trace.model.width}}x_{i}W_{i,${column}}${trace.model.attention_bias === false ? "" : `+b_{${column}}`}=${inTex(found[name][row][column])}`,
    ]) });
  const made = el("div", {}, headChoosers(tour, KINDS), el("div", { class: "tour-three" },
    one("value", columns, "v"), one("key", columns, "k"), one("query", rows, "q")));
  const box = made.lastElementChild;
  box.append(...[...box.children].reverse()); // drawn last, the query is what is shown first
  return made;
}

/** One query meets all keys: products, scores, weights, and the mean of the values. */
export function attention(tour) {
  const { t, trace } = tour;
  const kind = chosenKind(tour, KINDS);
  const found = projections(tour, kind);
  const [layer, head] = tour.head(kind);
  const { rows, columns } = sides(trace, kind);
  const row = tour.row(rows);
  const weights = trace.attention[kind][layer][head][row];
  const query = found.query[row];
  const values = found.value;
  const output = query.map((_, index) => weights.reduce((sum, weight, key) => sum + weight * (values[key]?.[index] ?? 0), 0));
  const limit = (table) => Math.max(...table.flat().map(Math.abs));
  const [keyLimit, valueLimit] = [limit(found.key), limit(values)];
  const allowed = (key) => weights[key] > 0;
  const scale = scoreFactor(tour);
  const point = (key) => tour.show(t("tour.meets", rows[row].piece, columns[key].piece), [
    ...scoreLines(tour, query, found.key[key], found.scores[row][key]), terms(query, found.key[key], t),
    allowed(key) ? weightLine(found.scores[row], key, weights[key], allowed) : t("tour.behind"),
  ]);
  const outcome = (index) => {
    const parts = weights.slice(0, 3).map((weight, key) => `\\as{weight}{${inTex(weight, 4)}}\\cdot \\as{value}{${factor(values[key][index], 4)}}`);
    tour.show(t("tour.output", rows[row].piece), [tex`o_{${index}}=\\sum_{j}a_{j}v_{j,${index}}=${parts.join("+")}${weights.length > 3 ? "+\\cdots" : ""}=${inTex(output[index])}`]);
  };
  const line = (key) => el("tr", { tabindex: key === 0 ? 0 : -1, class: allowed(key) ? "" : "tour-hidden-row", on: { mouseenter: () => point(key), focus: () => point(key), click: () => point(key) } },
    el("th", { scope: "row" }, piece(columns[key])), el("td", {}, strip(found.key[key], t("tour.key"), keyLimit, "tour-tint-key")),
    el("td", { class: "tour-number", "data-value": dot(query, found.key[key]) }, shown(dot(query, found.key[key]))),
    el("td", { class: "tour-number", "data-value": found.scores[row][key] }, allowed(key) ? shown(found.scores[row][key]) : "−∞"),
    el("td", { "data-value": weights[key] }, bar(weights[key], shown(weights[key], 3))),
    el("td", {}, strip(values[key], t("tour.value"), valueLimit, "tour-tint-value")));
  const table = el("table", { class: "tour-meeting", on: { keydown: rowKeys } },
    el("caption", { class: "unseen" }, t("tour.attention.caption", rows[row].piece)),
    el("thead", {}, el("tr", {}, ["", t("tour.key"), "q · k", scale === 1 ? t("tour.score") : `÷ ${shown(1 / scale)}`, t("tour.weight"), t("tour.value")]
      .map((name) => (name ? el("th", { scope: "col" }, name) : el("td"))))),
    el("tbody", {}, columns.map((_, key) => line(key))),
    el("tfoot", {}, el("tr", { tabindex: -1, on: { mouseenter: () => outcome(0), focus: () => outcome(0), click: () => outcome(0) } },
      el("th", { scope: "row" }, t("tour.sum")), el("td", {}), el("td", {}), el("td", {}), el("td", {}, bar(1, "1.000")),
      el("td", {}, strip(output, t("tour.output", rows[row].piece), valueLimit, "tour-tint-value")))));
  point(weights.indexOf(Math.max(...weights)));
  return el("div", {}, headChoosers(tour, KINDS),
    tokenRow(t("tour.asks"), rows, { chosen: row, choose: (index) => tour.choose({ row: index }) }),
    el("div", { class: "tour-asking" }, el("span", {}, t("tour.query"), " ", piece(rows[row])), strip(query, t("tour.query"), limit([query]), "tour-tint-query tour-wide")),
    el("div", { class: "tour-scroll" }, table));
}

/** Arrow keys go through the rows of a table. */
function rowKeys(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  event.stopPropagation();
  const all = [...event.currentTarget.querySelectorAll("tr[tabindex]")];
  all[all.indexOf(document.activeElement) + step]?.focus();
}

/** All products of a query with a key as a strip, so that it can be seen which numbers agree. */
function terms(query, key, t) {
  const products = query.map((value, index) => value * key[index]);
  return el("div", { class: "tour-terms" }, el("span", {}, t("tour.terms")), strip(products, t("tour.terms"), undefined, "tour-wide"));
}

/** The table of weights of one head, as lines between words and as numbers. */
export function selfAttention(tour) {
  return weightTable(tour, "encoder", (row, column) => tour.trace.attention.encoder[tour.head("encoder")[0]][tour.head("encoder")[1]][row][column] > 0);
}

/** Weights [rows][columns] of the chosen head, with the computation of each. `allowed` tells what is not behind the mask. */
export function weightTable(tour, kind, allowed, leaks = () => false) {
  const { t, trace } = tour;
  const [layer, head] = tour.head(kind);
  const weights = trace.attention[kind][layer][head];
  const { rows, columns } = sides(trace, kind);
  const found = projections(tour, kind);
  const lines = wordLines({ from: rows.map(plain), to: columns.map(plain), heads: [{ name: t("tour.head"), colour: head, weights }], upright: true,
    label: t("tour.lines"), masked: (row, column) => !allowed(row, column) });
  const point = (row, column) => {
    lines.bring({ side: 0, index: row });
    const open = (index) => allowed(row, index);
    tour.show(t("tour.looks", rows[row].piece, columns[column].piece), [
      ...scoreLines(tour, found.query[row], found.key[column], found.scores[row][column]),
      ...(open(column) ? [weightLine(found.scores[row], column, weights[row][column], open)]
        : [tex`${inTex(found.scores[row][column])}+(-\\infty)=-\\infty,\\quad e^{-\\infty}=0`, t("tour.behind")]),
      leaks(row, column) && t("tour.leak"),
    ].filter(Boolean));
  };
  const row = tour.row(rows);
  return el("div", {}, headChoosers(tour, [kind]), el("div", { class: "tour-pair" }, lines,
    grid({ rows, columns, values: weights, point, signed: false, limit: 1, hidden: (i, j) => !allowed(i, j), leaks,
      first: [row, weights[row].indexOf(Math.max(...weights[row]))], caption: t("tour.weights.caption"), corner: t("tour.corner") })));
}

export function plain(token) {
  return token.piece;
}

/** All heads of a layer as small pictures, one token's weights in each, and their outputs side by side. */
export function multiHead(tour) {
  const { t, trace, steps } = tour;
  const kind = chosenKind(tour, KINDS);
  const [layer, head] = tour.head(kind);
  const { rows, columns } = sides(trace, kind);
  const row = tour.row(rows);
  const heads = trace.attention[kind][layer];
  const role = (index) => (trace.roles ?? []).find((each) => each.kind === kind && each.layer === layer && each.head === index);
  const small = heads.map((weights, index) => el("button", { type: "button", class: "tour-small", "aria-pressed": String(index === head),
    style: { "--head": `var(--head-${index % 8})` }, on: { click: () => tour.chooseHead(kind, layer, index) } },
  miniature(weights), el("span", {}, `${t("tour.head")} ${index + 1}`), role(index) && el("small", {}, t(`tour.role.${role(index).role}`))));
  const outputs = heads.map((weights, index) => {
    const { value } = steps.query_key_value[kind][layer][index];
    return value[0].map((_, place) => weights[row].reduce((sum, weight, key) => sum + weight * value[key][place], 0));
  });
  const limit = Math.max(...outputs.flat().map(Math.abs));
  const point = (index, column) => {
    const { value } = steps.query_key_value[kind][layer][index];
    const parts = heads[index][row].slice(0, 3).map((weight, key) => `\\as{weight}{${inTex(weight, 4)}}\\cdot \\as{value}{${factor(value[key][0], 4)}}`);
    tour.show(t("tour.headLooks", index + 1, rows[row].piece, columns[column].piece), [
      tex`\\as{weight}{a}=${inTex(heads[index][row][column])}`,
      tex`\\mathrm{head}_{${index + 1},0}=${parts.join("+")}${columns.length > 3 ? "+\\cdots" : ""}=${inTex(outputs[index][0])}`,
      t("tour.multiHead.joined", heads.length, trace.model.head_width, heads.length * trace.model.head_width),
    ]);
  };
  return el("div", {}, headChoosers(tour, KINDS, false), el("div", { class: "tour-smalls" }, small),
    tokenRow(t("tour.asks"), rows, { chosen: row, choose: (index) => tour.choose({ row: index }) }),
    grid({ rows: heads.map((_, index) => `${t("tour.head")} ${index + 1}`), columns, values: heads.map((weights) => weights[row]), signed: false, limit: 1,
      point, first: [head, heads[head][row].indexOf(Math.max(...heads[head][row]))], caption: t("tour.multiHead.caption", rows[row].piece) }),
    el("div", { class: "tour-joined" }, el("span", { class: "tour-label" }, t("tour.multiHead.concatenation")),
      outputs.map((output, index) => el("span", { style: { "--head": `var(--head-${index % 8})` } }, strip(output, `${t("tour.head")} ${index + 1}`, limit)))));
}

/** A table of weights as a small picture. */
export function miniature(weights) {
  const columns = weights[0]?.length ?? 0;
  return el("span", { class: "tour-mini", "aria-hidden": "true", style: { "--columns": columns } },
    weights.flat().map((weight) => el("i", { style: { "--strength": weight.toFixed(3) } })));
}
