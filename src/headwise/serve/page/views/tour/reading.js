// Stations of reading: tokenisation, embeddings, positions.

import { el, svg } from "../../core/dom.js";
import { sideChooser, tellingRow } from "./choices.js";
import { factor, line, number, words } from "./formula.js";
import { grid } from "./grid.js";
import { arrows, box, largest, note, numbered, piece, plain, pointed, title } from "./parts.js";

/** Words, the pieces they are cut into, and the pieces' numbers. */
export function tokenisation(tour) {
  const { say, trace } = tour;
  const tell = (token, side) => tour.show(token.piece, [
    say("tokenisation.number", token.piece, token.id, tour.count(trace.model.vocabulary)),
    token.word >= 0 ? say("tokenisation.word", trace[`${side}_words`][token.word]) : say("tokenisation.special"),
    line`${words(token.piece)}\\rightarrow ${token.id}`,
  ]);
  const chip = (token, side) => el("button", pointed(() => tell(token, side), { type: "button", class: "tour-chip" }), piece(token), el("code", {}, token.id));
  const sentence = (side) => {
    const groups = [];
    for (const token of trace[`${side}_tokens`]) {
      if (groups.at(-1)?.[0].word === token.word && token.word >= 0) groups.at(-1).push(token);
      else groups.push([token]);
    }
    return [title(say(side)), box("words", groups.map((tokens) => box("word", el("bdi", {}, trace[`${side}_words`][tokens[0].word] ?? "\u00a0"),
      el("span", {}, tokens.map((token) => chip(token, side))))))];
  };
  const made = el("div", { on: { keydown: arrows(() => [...made.querySelectorAll("button")]) } }, sentence("source"), sentence("target"));
  tell(trace.source_tokens[tellingRow(trace.source_tokens)], "source");
  return made;
}

/** The rows of the embedding matrix that the tokens pick. */
export function embeddings(tour) {
  const { say, trace, steps } = tour;
  const { width } = trace.model;
  const [side, choosers] = sideChooser(tour);
  const tokens = side === "source" ? trace.source_tokens : trace.shown_tokens;
  const { [side]: rows, scale } = steps.embedding;
  const point = (row, column) => {
    const entry = rows[row][column];
    const entryName = tokens[row].id === undefined ? `E_{${words(tokens[row].piece)},${column}}` : `E_{${tokens[row].id},${column}}`;
    const name = `x_{${words(tokens[row].piece)},${column}}`;
    tour.show(say("cell", tokens[row].piece, column), [say("embeddings.row", tokens[row].piece, column), scale === 1 ? line`${name}=${entryName}=${entry}`
      : line`${name}=\\sqrt{${width}}\\cdot ${entryName}=${scale}\\times ${factor(entry)}=${entry * scale}`]);
  };
  return box("stack", choosers, grid({ rows: tokens, columns: numbered(rows[0].length), values: rows.map((row) => row.map((value) => value * scale)), point,
    first: [tellingRow(tokens), 0], caption: say("embeddings.caption", rows[0].length, width) }), note(say("embeddings.note", rows[0].length, width)));
}

/** The pair of a dimension and its function, in the order of a sinusoidal table. */
function pairOf(column, kind) {
  const halves = kind === "sinusoidal_halves";
  return [halves ? column : Math.floor(column / 2), halves || column % 2 === 0 ? "sin" : "cos"];
}

/** The paper's formula. */
function wave(position, column, { width, positions: kind }) {
  const [pair, name] = pairOf(column, kind);
  return Math[name](position / 10000 ** ((2 * pair) / width));
}

/** Position encodings: what is added to each embedding, what turns queries and keys, or what is added to scores. */
export function positions(tour) {
  const { say, trace, steps } = tour;
  const { model } = trace;
  const { angles, bias } = steps.positions;
  const off = trace.changed_by.positions === false;
  if (!off && (angles || bias)) return angles ? rotary(tour, angles) : relative(tour, bias);
  const [side, choosers] = sideChooser(tour);
  const tokens = side === "source" ? trace.source_tokens : trace.shown_tokens;
  const table = steps.positions[side];
  const rows = steps.embedding[side];
  const known = model.positions.startsWith("sinusoidal") && table.every((row, at) => row.every((value, column) => Math.abs(wave(at, column, model) - value) < 1e-4));
  const waves = curves(table, known && ((at, column) => wave(at, column, model)));
  const point = (row, column) => {
    waves.bring(row, column);
    const [entry, place] = [rows[row][column] * steps.embedding.scale, table[row][column]];
    const [pair, name] = pairOf(column, model.positions);
    tour.show(say("cell", tokens[row].piece, column), [
      say(off ? "positions.off" : "positions.added", row),
      known && line`P_{${row},${column}}=\\mathrm{${name}}(\\frac{${row}}{10000^{${2 * pair}/${model.width}}})=${place}`,
      line`x_{${row},${column}}=\\as{value}{${entry}}+\\as{query}{${factor(place)}}=${entry + place}`,
    ]);
  };
  return box("stack", choosers, waves, grid({ rows: tokens.map((token, index) => el("span", {}, el("code", {}, index), " ", piece(token))),
    columns: numbered(table[0].length), values: table, point, first: [Math.min(2, tokens.length - 1), 0],
    caption: say("positions.caption", table[0].length, model.width) }));
}

/** One curve per dimension over the positions, with the values of the sentence as dots. `follow` gives the curve between. */
function curves(table, follow) {
  const [wide, high, most, last] = [620, 150, largest(table), table.length - 1];
  const x = (row) => 16 + (row * (wide - 32)) / Math.max(1, last);
  const y = (value) => high / 2 - (value / most) * (high / 2 - 12);
  const points = (column) => (follow ? numbered(12 * last + 1).map((index) => [index / 12, follow(index / 12, column)])
    : table.map((row, index) => [index, row[column]]));
  const lines = table[0].map((_, column) => svg("g", { class: "tour-wave" },
    svg("polyline", { points: points(column).map(([at, value]) => `${x(at)},${y(value)}`).join(" ") }),
    table.map((row, index) => svg("circle", { cx: x(index), cy: y(row[column]), r: 3 }))));
  const mark = svg("circle", { class: "tour-wave-at", r: 6 });
  const made = svg("svg", { viewBox: `0 0 ${wide} ${high}`, class: "tour-waves", "aria-hidden": "true" },
    svg("line", { x1: 8, x2: wide - 8, y1: high / 2, y2: high / 2, class: "tour-axis" }), lines, mark);
  made.bring = (row, column) => {
    lines.forEach((each, index) => each.classList.toggle("tour-on", index === column));
    mark.setAttribute("cx", x(row));
    mark.setAttribute("cy", y(table[row][column]));
  };
  return made;
}

/** Rotary positions: the angles by which pairs of numbers of queries and keys are turned. */
function rotary(tour, angles) {
  const { say, trace } = tour;
  const tokens = trace.source_tokens;
  const part = angles.slice(0, tokens.length).map((row) => row.slice(0, 8));
  const hands = part.slice(0, 12).map((row) => svg("svg", { viewBox: "-22 -22 44 44" }, svg("circle", { r: 18, class: "tour-axis" }),
    row.slice(0, 3).map((angle, pair) => svg("line", { x2: 18 * Math.cos(angle), y2: -18 * Math.sin(angle), class: `tour-hand-${pair}` }))));
  const point = (row, column) => tour.show(say("cell", tokens[row].piece, column), [say("positions.turned", row, column),
    line`\\theta_{${row},${column}}=${row}\\times ${number(angles[1]?.[column] ?? 0)}=${part[row][column]}`,
    line`\\mathrm{cos}\\theta=${Math.cos(part[row][column])},\\quad \\mathrm{sin}\\theta=${Math.sin(part[row][column])}`]);
  return box("stack", el("div", { class: "tour-dials", "aria-hidden": "true" }, hands), grid({ rows: tokens, columns: numbered(part[0].length), values: part, point,
    first: [Math.min(2, tokens.length - 1), 0], signed: false, caption: say("positions.angles") }));
}

/** Relative positions: what each head adds to its scores, by distance. */
function relative(tour, bias) {
  const { say } = tour;
  return grid({ rows: bias.map((_, head) => plain(`${say("head")} ${head + 1}`)), columns: bias[0].map((_, distance) => `+${distance}`), values: bias,
    caption: say("positions.bias"), point: (head, distance) => tour.show(`${say("head")} ${head + 1}`, [say("positions.biased", distance),
      line`s\\leftarrow s+${factor(bias[head][distance])}`]) });
}
