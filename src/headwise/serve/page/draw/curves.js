// Curves: a few series of numbers over positions, with axes.

import { el, svg } from "../core/dom.js";
import { headColour } from "./colours.js";
import { shown } from "./numbers.js";
import { lettering, picture } from "./svg.js";

const FAINT = "var(--draw-faint)";
const MARGIN = { left: 54, right: 14, top: 12, bottom: 40 };

/** Round steps (1, 2 or 5 times a power of ten) between two numbers. */
export function ticks(least, most, about = 5) {
  const rough = (most - least || 1) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough) * power;
  const first = Math.ceil(least / step - 1e-9);
  const count = Math.floor(most / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, index) => +((first + index) * step).toPrecision(10));
}

function axes({ x, y, xs, ys }, scale, { width, height }) {
  const group = svg("g", { "font-size": 12 });
  for (const value of ys) {
    const at = scale.y(value);
    const line = svg("path", { d: `M${MARGIN.left} ${at}H${width - MARGIN.right}`, stroke: "var(--draw-line)" });
    group.append(
      line,
      lettering(
        { fill: FAINT, x: MARGIN.left - 8, y: at, "text-anchor": "end", "dominant-baseline": "central" },
        value,
      ),
    );
  }
  for (const value of xs) {
    group.append(
      lettering({ fill: FAINT, x: scale.x(value), y: height - MARGIN.bottom + 16, "text-anchor": "middle" }, value),
    );
  }
  const middle = (MARGIN.left + width - MARGIN.right) / 2;
  group.append(lettering({ fill: FAINT, x: middle, y: height - 6, "text-anchor": "middle" }, x));
  const half = (height - MARGIN.bottom + MARGIN.top) / 2;
  group.append(
    lettering({ fill: FAINT, x: 12, y: half, "text-anchor": "middle", transform: `rotate(-90 12 ${half})` }, y),
  );
  return group;
}

/**
 * Curves over positions. Options: series ([{name, values, colour}]), x and y (names of the axes), label, start (the
 * position of the first value), width, height, range. A readout below names all values at the position of the pointer
 * or, with arrow keys, of the cursor.
 */
export function curves({ series, x, y, label, start = 0, width = 620, height = 280, range, format = shown }) {
  const count = Math.max(...series.map(({ values }) => values.length));
  const all = series.flatMap(({ values }) => values);
  const [least, most] = range ?? [Math.min(...all), Math.max(...all)];
  const pad = most === least ? 1 : 0;
  const inner = { x: width - MARGIN.left - MARGIN.right, y: height - MARGIN.top - MARGIN.bottom };
  const scale = {
    x: (value) => +(MARGIN.left + (inner.x * (value - start)) / Math.max(1, count - 1)).toFixed(2),
    y: (value) => +(MARGIN.top + inner.y * (1 - (value - least + pad) / (most - least + 2 * pad))).toFixed(2),
  };
  const names = {
    x,
    y,
    xs: ticks(start, start + count - 1, 8).filter(Number.isInteger),
    ys: ticks(least - pad, most + pad),
  };
  const lines = series.map(({ values, colour }, index) => {
    const d = values.map((value, at) => `${at ? "L" : "M"}${scale.x(start + at)} ${scale.y(value)}`).join("");
    return svg("path", {
      d,
      fill: "none",
      stroke: headColour(colour ?? index),
      "stroke-width": 2,
      "stroke-linejoin": "round",
    });
  });
  const cursor = svg("path", { stroke: "var(--draw-cursor)", "stroke-width": 1.5, visibility: "hidden" });
  const drawing = picture(width, height, label, axes(names, scale, { width, height }), ...lines, cursor);
  const readout = el("output", { class: "readout" }, "\u00a0");
  const stage = el("div", { class: "stage", tabindex: 0, role: "application", "aria-label": label }, drawing);
  let at = -1;
  const point = (index) => {
    at = Math.min(count - 1, Math.max(0, index));
    cursor.setAttribute("d", `M${scale.x(start + at)} ${MARGIN.top}V${MARGIN.top + inner.y}`);
    cursor.setAttribute("visibility", "visible");
    const values = series.map(({ name, values: list }) => `${name}: ${format(list[at])}`);
    readout.textContent = `${x} ${start + at} · ${values.join(" · ")}`;
  };
  stage.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    const place = ((event.clientX - box.left) * width) / box.width - MARGIN.left;
    point(Math.round((place / inner.x) * (count - 1)));
  });
  stage.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!move) return;
    event.preventDefault();
    point(at + move);
  });
  return Object.assign(el("div", { class: "curves" }, stage, legend(series), readout), { drawing, point });
}

/** Names of series beside their colours. */
export function legend(series) {
  const entries = series.map(({ name, colour }, index) => {
    const swatch = el("span", { class: "swatch", "aria-hidden": "true" });
    swatch.style.background = headColour(colour ?? index);
    return el("li", {}, swatch, name);
  });
  return el("ul", { class: "legend" }, ...entries);
}
