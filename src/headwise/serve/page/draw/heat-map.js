// Heat maps: a table of numbers as coloured cells, with labels, masked cells hatched, and a cursor for mouse and keys.
// Few cells are drawn as SVG, many on a canvas; both behave alike.

import { el, svg } from "../core/dom.js";
import { colour } from "../core/theme.js";
import { paintWithTheme, resolved } from "./colours.js";
import { extent, shown } from "./numbers.js";
import { cut, lettering, picture, textWidth } from "./svg.js";

const SVG_CELLS = 4200;
const NUMBERED_CELLS = 110;
// The least width of a cell with a number.
const NUMBERED_WIDTH = 50;
const LONGEST_LABEL = 110;

/** The ink of a number: strong cells are dark in the light theme and bright in the dark one, middle ones suit black. */
function ink(value, opacity) {
  const [middle, strong] = value < 0 ? [0.59, 0.885] : [0.55, 0.85];
  return opacity < middle ? "var(--draw-on-paper)" : opacity < strong ? "#000" : "var(--draw-on-heat)";
}

let pictures = 0;

/** The opacity of a value in its range, and the colour of its sign. */
function strength(value, [least, most]) {
  const limit = least < 0 ? Math.max(-least, most) : most;
  return Math.min(1, Math.abs(value) / (limit || 1));
}

/** Sizes of everything: cells, margins for labels, and whether labels and numbers fit. */
function measures({ rows, columns, values, cell, width, numbers }) {
  const cells = values.length * columns.length;
  const room = (width ?? 720) - LONGEST_LABEL;
  const few = cells <= NUMBERED_CELLS && columns.length <= 12 && columns.length * NUMBERED_WIDTH <= (width ?? 720);
  const numbered = numbers ?? few;
  const least = numbered ? NUMBERED_WIDTH : cells > SVG_CELLS ? 2 : 16;
  const wide = cell ?? Math.max(least, Math.min(numbered ? 64 : 34, Math.floor(room / columns.length)));
  const high = cell ?? (numbered ? 32 : Math.min(wide, 34));
  // Turned labels stand closer to each other than the cells.
  const size = Math.min(13, Math.max(9, Math.floor(0.8 * Math.min(wide, high))));
  const labelled = high >= 9;
  const longest = (labels) => Math.min(LONGEST_LABEL, Math.max(8, ...labels.map((label) => textWidth(label, size))));
  const turned = labelled && columns.some((label) => textWidth(label, size) > wide - 4);
  const top = !labelled ? 2 : turned ? longest(columns) * 0.86 + 16 : size + 10;
  const left = labelled ? longest(rows) + 12 : 2;
  const right = turned ? 0.5 * textWidth(columns.at(-1) ?? "", size) : 2;
  return { wide, high, size, labelled, turned, top, left, right: Math.min(right, 60), numbered };
}

/** Labels of rows and columns as SVG text. */
function labels({ rows, columns }, { wide, high, size, turned, top, left }) {
  const group = svg("g", { class: "labels", "font-size": size });
  rows.forEach((label, row) => {
    const y = top + (row + 0.5) * high;
    const text = cut(label, LONGEST_LABEL, size);
    group.append(lettering({ x: left - 8, y, "text-anchor": "end", "dominant-baseline": "central" }, text));
  });
  columns.forEach((label, column) => {
    const x = left + (column + 0.5) * wide;
    const turn = turned ? `rotate(-58 ${x} ${top - 8})` : null;
    const text = cut(label, LONGEST_LABEL, size);
    const anchor = turned ? "start" : "middle";
    group.append(lettering({ x, y: top - 8, "text-anchor": anchor, transform: turn }, text));
  });
  return group;
}

/** The pattern of masked cells: hatching, so that "not allowed" does not look like "little". */
function hatching(id) {
  const line = svg("path", { d: "M-1 7 L7 -1 M-1 1 L1 -1 M5 7 L7 5", stroke: "var(--draw-mask)", "stroke-width": 1 });
  return svg("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, line);
}

function drawSvg(data, size, range, label) {
  const { rows, columns, values, masked } = data;
  const { wide, high, top, left, right, numbered } = size;
  const id = `hatching-${(pictures += 1)}`;
  const cells = svg("g", { class: "cells" });
  const numbers = svg("g", { class: "numbers", "font-size": 11.5, "text-anchor": "middle" });
  values.forEach((row, r) => {
    row.forEach((value, c) => {
      const [x, y] = [left + c * wide, top + r * high];
      const box = { x, y, width: wide, height: high };
      const hidden = masked?.(r, c);
      const opacity = strength(value, range);
      if (hidden) cells.append(svg("rect", { ...box, fill: `url(#${id})`, class: "masked" }));
      else if (opacity > 0) {
        cells.append(
          svg("rect", { ...box, fill: value < 0 ? "var(--cold)" : "var(--heat)", "fill-opacity": +opacity.toFixed(4) }),
        );
      }
      if (numbered && !(hidden && value === 0)) {
        const fill = ink(value, opacity);
        const middle = { x: x + wide / 2, y: y + high / 2, "dominant-baseline": "central", fill };
        numbers.append(lettering(middle, data.format(value)));
      }
    });
  });
  const [width, height] = [left + columns.length * wide, top + rows.length * high];
  const frame = { x: left, y: top, width: width - left, height: height - top };
  const lines = svg("path", { d: grid(data, size), stroke: "var(--draw-line)", "stroke-width": 1, fill: "none" });
  const cursor = svg("rect", {
    class: "cursor",
    fill: "none",
    stroke: "var(--draw-cursor)",
    "stroke-width": 2.5,
    width: wide,
    height: high,
    visibility: "hidden",
  });
  const paper = svg("rect", { ...frame, fill: "var(--draw-paper)" });
  const drawing = picture(width + right + 2, height + 2, label, svg("defs", {}, hatching(id)), paper, cells, lines);
  drawing.append(numbers, labels(data, size), cursor);
  const point = (row, column) => {
    cursor.setAttribute("visibility", row === null ? "hidden" : "visible");
    if (row === null) return;
    cursor.setAttribute("x", left + column * wide);
    cursor.setAttribute("y", top + row * high);
  };
  return { drawing, point, width: width + right + 2 };
}

/** Grid lines of a map with large cells; small cells have only the frame. */
function grid({ rows, columns }, { wide, high, top, left }) {
  const [width, height] = [columns.length * wide, rows.length * high];
  if (high < 12) return `M${left} ${top}h${width}v${height}h${-width}z`;
  const across = Array.from({ length: rows.length + 1 }, (_, row) => `M${left} ${top + row * high}h${width}`);
  const down = Array.from({ length: columns.length + 1 }, (_, column) => `M${left + column * wide} ${top}v${height}`);
  return [...across, ...down].join("");
}

/** Paints one pixel per cell, with opacity for strength; masked cells are checked. */
export function paintCells(context, values, range, masked) {
  const [high, wide] = [values.length, values[0]?.length ?? 0];
  const image = context.createImageData(wide, high);
  const [hot, cold, mask] = [resolved("--heat"), resolved("--cold"), resolved("--draw-mask")];
  for (let r = 0; r < high; r += 1) {
    for (let c = 0; c < wide; c += 1) {
      const hidden = masked?.(r, c);
      const [red, green, blue] = hidden ? mask : values[r][c] < 0 ? cold : hot;
      const opacity = hidden ? 0.12 + 0.1 * ((r + c) % 2) : strength(values[r][c], range);
      image.data.set([red, green, blue, Math.round(255 * opacity)], 4 * (r * wide + c));
    }
  }
  context.putImageData(image, 0, 0);
}

function drawCanvas(data, size, range, label) {
  const { rows, columns, values, masked } = data;
  const { wide, high, top, left, right, labelled } = size;
  const [width, height] = [left + columns.length * wide + right + 2, top + rows.length * high + 2];
  const canvas = el("canvas", { width, height, class: "drawing", role: "img", "aria-label": label });
  const small = el("canvas", { width: columns.length, height: rows.length });
  let cursor = null;
  const compose = () => {
    const context = canvas.getContext("2d");
    context.fillStyle = colour("--draw-paper");
    context.fillRect(0, 0, width, height);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, left, top, columns.length * wide, rows.length * high);
    context.strokeStyle = colour("--draw-line");
    context.strokeRect(left - 0.5, top - 0.5, columns.length * wide + 1, rows.length * high + 1);
    if (labelled) canvasLabels(context, data, size, colour("--draw-text"));
    if (!cursor) return;
    context.strokeStyle = colour("--draw-cursor");
    const [x, y] = [left + cursor.column * wide, top + cursor.row * high];
    context.strokeRect(left, y - 0.5, columns.length * wide, high + 1);
    context.strokeRect(x - 0.5, top, wide + 1, rows.length * high);
  };
  paintWithTheme(canvas, () => {
    paintCells(small.getContext("2d"), values, range, masked);
    compose();
  });
  const point = (row, column) => {
    cursor = row === null ? null : { row, column };
    compose();
  };
  return { drawing: canvas, point, width };
}

function canvasLabels(context, { rows, columns }, { wide, high, size, top, left }, colour) {
  context.fillStyle = colour;
  context.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  context.textBaseline = "middle";
  context.textAlign = "right";
  rows.forEach((label, row) => context.fillText(cut(label, LONGEST_LABEL, size), left - 8, top + (row + 0.5) * high));
  context.textAlign = "left";
  columns.forEach((label, column) => {
    context.save();
    context.translate(left + (column + 0.5) * wide, top - 8);
    context.rotate((-58 * Math.PI) / 180);
    context.fillText(cut(label, LONGEST_LABEL, size), 0, 0);
    context.restore();
  });
}

const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** Mouse and arrow keys move a cursor over the cells; Home and End go to the ends of a row. */
function followCursor(element, drawn, { rows, columns }, { wide, high, top, left }, say, leave) {
  let at = null;
  const go = (row, column, by) => {
    if (row < 0 || column < 0 || row >= rows.length || column >= columns.length) return;
    if (at && at.row === row && at.column === column) return;
    at = { row, column };
    drawn.point(row, column);
    say(row, column, by);
  };
  element.addEventListener("pointermove", (event) => {
    const box = drawn.drawing.getBoundingClientRect();
    const scale = drawn.width / box.width;
    const column = Math.floor(((event.clientX - box.left) * scale - left) / wide);
    go(Math.floor(((event.clientY - box.top) * scale - top) / high), column, "pointer");
  });
  element.addEventListener("keydown", (event) => {
    const last = columns.length - 1;
    const ends = { Home: [at?.row ?? 0, 0], End: [at?.row ?? 0, last] };
    const move = MOVES[event.key];
    if (!move && !ends[event.key]) return;
    event.preventDefault();
    const next = ends[event.key] ?? (at ? [at.row + move[0], at.column + move[1]] : [0, 0]);
    go(...next, "keyboard");
  });
  element.addEventListener("pointerleave", () => {
    at = null;
    drawn.point(null);
    leave();
  });
  return { go };
}

/**
 * A heat map. Options: rows, columns (labels), values (rows of numbers), label (what the picture shows), masked(row,
 * column), range ([least, most]; negative numbers get the cold colour), numbers (true, false; by default where few),
 * cell (pixels) or width (of the column), format, describe(row, column, value), onCell({row, column, value, by}),
 * onLeave. The result is a focusable element; its `drawing` is the picture to export, and `point(row, column)` moves
 * the cursor.
 */
export function heatMap(options) {
  const data = { format: shown, ...options };
  const [least, most] = extent(data.values);
  const range = data.range ?? (least < 0 ? [least, most] : [0, Math.max(most, 0)]);
  const size = measures(data);
  const many = data.values.length * data.columns.length > SVG_CELLS;
  const drawn = (many ? drawCanvas : drawSvg)(data, size, range, data.label);
  const place = (row, column) =>
    `${data.rows[row]} → ${data.columns[column]}: ${data.format(data.values[row][column])}`;
  const describe = data.describe ?? place;
  const readout = el("output", { class: "readout" }, "\u00a0");
  const stage = el(
    "div",
    { class: "stage", tabindex: 0, role: "application", "aria-label": data.label },
    drawn.drawing,
  );
  const element = el("div", { class: "heat-map" }, stage, readout);
  const say = (row, column, by) => {
    const value = data.values[row][column];
    readout.textContent = describe(row, column, value);
    data.onCell?.({ row, column, value, by });
  };
  const leave = () => {
    readout.textContent = "\u00a0";
    data.onLeave?.();
  };
  const { go } = followCursor(stage, drawn, data, size, say, leave);
  return Object.assign(element, { drawing: drawn.drawing, point: (row, column) => go(row, column, "call") });
}

/** A small heat map without labels, for grids of many heads. */
export function thumbnail(values, { masked, range = [0, 1] } = {}) {
  const canvas = el("canvas", { width: values[0]?.length || 1, height: values.length || 1, class: "thumbnail" });
  canvas.setAttribute("aria-hidden", "true");
  paintWithTheme(canvas, () => paintCells(canvas.getContext("2d"), values, range, masked));
  return canvas;
}
