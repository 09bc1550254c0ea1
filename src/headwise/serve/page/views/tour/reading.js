// Stations of reading: tokenisation, embeddings, positions.

import { el, svg } from "../../core/dom.js";
import { chooser, grid, piece, shown } from "./grid.js";
import { factor, inTex, tex, words } from "./formula.js";
import { tellingRow } from "./choices.js";

const SIDES = ["source", "target"];

/** Words, the pieces they are cut into, and the pieces' numbers. */
export function tokenisation(tour) {
  const { t, trace } = tour;
  const tell = (token, side) => tour.show(token.piece, [
    t("tour.tokenisation.number", token.piece, token.id, trace.model.vocabulary?.toLocaleString(tour.language) ?? "V"),
    token.word >= 0 ? t("tour.tokenisation.word", trace[`${side}_words`][token.word]) : t("tour.tokenisation.special"),
    tex`${words(token.piece)}\\rightarrow ${token.id}`,
  ]);
  const buttons = [];
  const chip = (token, side) => {
    const button = el("button", { type: "button", class: "tour-chip", tabindex: buttons.length ? -1 : 0,
      on: { mouseenter: () => tell(token, side), focus: () => tell(token, side), click: () => tell(token, side) } },
    piece(token), el("span", { class: "tour-id" }, token.id));
    buttons.push(button);
    return button;
  };
  const sentence = (side) => {
    const groups = [];
    for (const token of trace[`${side}_tokens`]) {
      const last = groups.at(-1);
      if (last && last.word === token.word && token.word >= 0) last.tokens.push(token);
      else groups.push({ word: token.word, tokens: [token] });
    }
    return el("div", { class: "tour-sentence" }, el("h4", {}, t(`tour.${side}`)), el("div", { class: "tour-words" }, groups.map((group) =>
      el("div", { class: "tour-word" },
        el("span", { class: "tour-word-text" }, el("bdi", {}, group.word < 0 ? "\u00a0" : trace[`${side}_words`][group.word] ?? "")),
        el("span", { class: "tour-word-pieces" }, group.tokens.map((token) => chip(token, side)))))));
  };
  const walk = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    buttons[buttons.indexOf(document.activeElement) + step]?.focus();
  };
  const made = el("div", { on: { keydown: walk } }, SIDES.map(sentence));
  const tokens = trace.source_tokens;
  tell(tokens[tellingRow(tokens)], "source");
  return made;
}

function sideChooser(tour) {
  const { t } = tour;
  return el("div", { class: "tour-choosers" }, chooser("tour-side", t("tour.side"), SIDES.map((side) => t(`tour.${side}`)),
    SIDES.indexOf(tour.pick.side), (index) => tour.choose({ side: SIDES[index] })));
}

/** The tokens of a side as the model takes them in. */
function taken(tour) {
  return tour.pick.side === "source" ? tour.trace.source_tokens : tour.trace.shown_tokens;
}

function dimensions(count) {
  return Array.from({ length: count }, (_, index) => String(index));
}

/** The rows of the embedding matrix that the tokens pick. */
export function embeddings(tour) {
  const { t, trace, steps } = tour;
  const tokens = taken(tour);
  const rows = steps.embedding[tour.pick.side];
  const { scale } = steps.embedding;
  const first = tellingRow(tokens);
  const point = (row, column) => {
    const entry = rows[row][column] / scale;
    const of = `${words(tokens[row].piece)}`;
    const product = scale === 1 ? `E_{${tokens[row].id},${column}}` : `\\sqrt{${trace.model.width}}\\cdot E_{${tokens[row].id},${column}}`;
    const numbers = scale === 1 ? inTex(entry) : `${inTex(scale)}\\times ${factor(entry)}=${inTex(rows[row][column])}`;
    tour.show(t("tour.cell", tokens[row].piece, column), [
      t("tour.embeddings.row", tokens[row].id, column), tex`x_{${of},${column}}=${product}=${numbers}`,
    ]);
  };
  return el("div", {}, sideChooser(tour),
    grid({ rows: tokens, columns: dimensions(rows[0].length), values: rows, point, first: [first, 0],
      caption: t("tour.embeddings.caption", rows[0].length, trace.model.width) }),
    el("p", { class: "tour-note" }, t("tour.embeddings.note", rows[0].length, trace.model.width)));
}

/** The pair of a dimension and its function, in the order of the model's table. */
function pairOf(column, kind) {
  const halves = kind === "sinusoidal_halves";
  return [halves ? column : Math.floor(column / 2), halves || column % 2 === 0 ? "sin" : "cos"];
}

/** The paper's formula; NaN for positions of another kind. */
function waving(position, column, width, kind) {
  const [pair, name] = pairOf(column, kind);
  return kind.startsWith("sinusoidal") ? Math[name](position / 10000 ** ((2 * pair) / width)) : NaN;
}

/** The formula of a number of the table, where the table follows the paper's formula. */
function wave(value, position, column, width, kind) {
  const [pair, name] = pairOf(column, kind);
  if (!(Math.abs(waving(position, column, width, kind) - value) < 1e-4)) return null;
  return `\\mathrm{${name}}(\\frac{${position}}{10000^{${2 * pair}/${width}}})`;
}

/** Position encodings: what is added to each embedding, or by what angle queries and keys are rotated. */
export function positions(tour) {
  const { t, trace, steps } = tour;
  const { width, positions: kind } = trace.model;
  const tokens = taken(tour);
  const table = steps.positions?.[tour.pick.side];
  if (!table) return rotations(tour);
  const rows = steps.embedding[tour.pick.side];
  const off = trace.changed_by?.positions === false;
  const follow = (row, column, value) => Math.abs(waving(row, column, width, kind) - value) < 1e-4 && ((at) => waving(at, column, width, kind));
  const waves = curves(table, off ? () => null : follow);
  const point = (row, column) => {
    waves.bring?.(row, column);
    const [entry, place] = [rows[row][column], table[row][column]];
    const how = off ? null : wave(place, row, column, width, kind);
    tour.show(t("tour.cell", tokens[row].piece, column), [
      t(off ? "tour.positions.off" : "tour.positions.added", row),
      how && tex`P_{${row},${column}}=${how}=${inTex(place)}`,
      tex`x_{${row},${column}}=\\as{value}{${inTex(entry)}}+\\as{query}{${factor(place)}}=${inTex(entry + place)}`,
    ].filter(Boolean));
  };
  return el("div", {}, sideChooser(tour), waves,
    grid({ rows: tokens.map((token, index) => el("span", {}, el("span", { class: "tour-id" }, index), " ", piece(token))),
      columns: dimensions(table[0].length), values: table, point, first: [Math.min(2, tokens.length - 1), 0], limit: Math.max(1, ...table.flat().map(Math.abs)),
      caption: t("tour.positions.caption", table[0].length, width) }));
}

/** One curve per dimension over the positions, with the values of the sentence as dots. `follow` gives the curve between. */
function curves(table, follow) {
  const [wide, high] = [620, 150];
  const x = (row) => 16 + (row * (wide - 32)) / Math.max(1, table.length - 1);
  const most = Math.max(1e-9, ...table.flat().map(Math.abs));
  const y = (value) => high / 2 - (value / most) * (high / 2 - 12);
  const points = (column) => {
    const between = follow(table.length - 1, column, table.at(-1)[column]);
    if (!between) return table.map((row, index) => [index, row[column]]);
    return Array.from({ length: 12 * (table.length - 1) + 1 }, (_, index) => [index / 12, between(index / 12)]);
  };
  const lines = table[0].map((_, column) => svg("g", { class: "tour-wave" },
    svg("polyline", { points: points(column).map(([at, value]) => `${x(at)},${y(value)}`).join(" "), fill: "none" }),
    table.map((row, index) => svg("circle", { cx: x(index), cy: y(row[column]), r: 3 }))));
  const mark = svg("circle", { class: "tour-wave-at", r: 6 });
  const made = svg("svg", { viewBox: `0 0 ${wide} ${high}`, class: "tour-waves", "aria-hidden": "true" },
    svg("line", { x1: 8, x2: wide - 8, y1: high / 2, y2: high / 2, class: "tour-axis" }), lines, mark);
  made.bring = (row, column) => {
    lines.forEach((line, index) => line.classList.toggle("tour-on", index === column));
    mark.setAttribute("cx", x(row));
    mark.setAttribute("cy", y(table[row][column]));
  };
  return made;
}

/** Rotary positions: the angles by which pairs of numbers of queries and keys are turned; relative ones: what is said of them. */
function rotations(tour) {
  const { t, trace, steps } = tour;
  const angles = steps.positions?.angles;
  if (!angles) {
    tour.show(t("tour.station.positions"), [t("tour.positions.other", trace.model.positions)]);
    return el("p", { class: "tour-note" }, t("tour.positions.other", trace.model.positions));
  }
  const tokens = taken(tour);
  const part = tokens.map((_, row) => angles[row].slice(0, 8));
  const point = (row, column) => tour.show(t("tour.cell", tokens[row].piece, column), [
    t("tour.positions.turned", row, column),
    tex`\\theta_{${row},${column}}=${row}\\times ${inTex(angles[1]?.[column] ?? 0)}=${inTex(part[row][column])}`,
    tex`\\mathrm{cos}\\theta=${inTex(Math.cos(part[row][column]))},\\quad \\mathrm{sin}\\theta=${inTex(Math.sin(part[row][column]))}`,
  ]);
  const dials = el("div", { class: "tour-dials", "aria-hidden": "true" }, part.slice(0, 12).map((row, place) => svg("svg", { viewBox: "-22 -22 44 44" },
    svg("circle", { r: 18, class: "tour-axis", fill: "none" }),
    row.slice(0, 3).map((angle, pair) => svg("line", { x2: 18 * Math.cos(angle), y2: -18 * Math.sin(angle), class: `tour-hand tour-hand-${pair}` })),
    svg("title", {}, `${place}: ${shown(row[0])}`))));
  return el("div", {}, sideChooser(tour), dials,
    grid({ rows: tokens, columns: dimensions(part[0].length), values: part, point, first: [Math.min(2, tokens.length - 1), 0], signed: false,
      caption: t("tour.positions.angles") }));
}
