// Lines between two rows of words: one colour per head, width and opacity by weight.

import { el, svg } from "../core/dom.js";
import { headColour } from "./colours.js";
import { shown } from "./numbers.js";
import { cut, lettering, picture, textWidth } from "./svg.js";

const SIZE = 15;
const GAP = 18;
const WIDEST_GAP = 44;
const SPAN = 230;
const LONGEST_WORD = 190;

/** Places of words beside each other: their middles, and the width of all. */
function across(words, gap = GAP) {
  let x = 10;
  const middles = words.map((word) => {
    const width = Math.max(16, textWidth(word, SIZE));
    x += width + gap;
    return x - width / 2 - gap;
  });
  return { middles, width: x - gap + 10 };
}

/** The space between words that fills a width, as far as that looks like a sentence. */
function roomyGap(lists, width) {
  const gaps = lists.map((words) => GAP + (width - across(words).width) / Math.max(1, words.length - 1));
  return Math.max(GAP, Math.min(WIDEST_GAP, ...gaps));
}

/** Geometry of both layouts: where each word stands, and the curve between two of them. */
function geometry(from, to, upright, width) {
  if (upright) {
    const step = 27;
    const wide = (words) => Math.min(LONGEST_WORD, Math.max(20, ...words.map((word) => textWidth(word, SIZE))));
    const [left, right] = [wide(from) + 12, wide(to) + 12];
    const height = Math.max(from.length, to.length) * step + 12;
    const y = (words, index) => (height - words.length * step) / 2 + (index + 0.5) * step;
    const [x0, x1] = [left + 6, left + SPAN - 6];
    const curve = (i, j) => {
      const [a, b] = [y(from, i), y(to, j)];
      return `M${x0} ${a}C${x0 + SPAN / 2} ${a} ${x1 - SPAN / 2} ${b} ${x1} ${b}`;
    };
    const place = (side, i) => ({
      x: side ? left + SPAN : left,
      y: y(side ? to : from, i),
      anchor: side ? "start" : "end",
    });
    return { width: left + SPAN + right, height, curve, place, step };
  }
  const gap = roomyGap([from, to], width ?? 0);
  const [above, below] = [across(from, gap), across(to, gap)];
  const wide = Math.max(above.width, below.width);
  const shift = [(wide - above.width) / 2, (wide - below.width) / 2];
  const x = (side, i) => shift[side] + (side ? below : above).middles[i];
  const [top, bottom] = [36, 190];
  const curve = (i, j) => {
    const [a, b] = [x(0, i), x(1, j)];
    return `M${a} ${top}C${a} ${top + 80} ${b} ${bottom - 80} ${b} ${bottom}`;
  };
  const place = (side, i) => ({ x: x(side, i), y: side ? bottom + 18 : top - 18, anchor: "middle" });
  return { width: wide, height: bottom + 36, curve, place, step: 30 };
}

/** The curves of all heads, strongest last, so that they lie on top. */
function curves({ heads, minimum = 0.02, masked }, { curve }) {
  const lines = [];
  heads.forEach((head) => {
    head.weights.forEach((row, i) => {
      row.forEach((weight, j) => {
        if (weight >= minimum && !masked?.(i, j)) lines.push({ weight, i, j, head });
      });
    });
  });
  lines.sort((a, b) => a.weight - b.weight);
  return lines.map(({ weight, i, j, head }) => {
    const line = { d: curve(i, j), stroke: headColour(head.colour), "stroke-width": +(0.6 + 6 * weight).toFixed(3) };
    const paint = { fill: "none", "stroke-opacity": +(0.12 + 0.83 * weight).toFixed(3), "stroke-linecap": "round" };
    const path = svg("path", { ...line, ...paint }, svg("title", {}, `${head.name}: ${shown(weight)}`));
    return Object.assign(path, { ends: [i, j] });
  });
}

/** Buttons-in-SVG for words: hover, focus or click brings out the lines of one word. */
function wordLabel(side, index, word, where, step) {
  const text = lettering(
    { x: where.x, y: where.y, "text-anchor": where.anchor, "dominant-baseline": "central", "font-size": SIZE },
    cut(word, LONGEST_WORD, SIZE),
  );
  const width = Math.min(LONGEST_WORD, textWidth(word, SIZE)) + 10;
  const x =
    where.anchor === "middle" ? where.x - width / 2 : where.anchor === "end" ? where.x - width + 5 : where.x - 5;
  const box = svg("rect", { x, y: where.y - step / 2 + 1, width, height: step - 2, rx: 6, fill: "transparent" });
  const element = svg(
    "g",
    { class: "word", tabindex: index ? -1 : 0, role: "button", "aria-label": word, "aria-pressed": "false" },
    box,
    text,
  );
  return Object.assign(element, { side, index });
}

/**
 * Lines between words. Options: from, to (labels), heads ([{name, colour, weights[from][to]}]), label, upright (two
 * columns instead of two lines; by default where they are wider than `width`), minimum (weights below are not drawn),
 * masked(i, j), onWord({side, index} or null, by) for hover ("pointer"), focus ("focus") and clicks ("click"). The
 * result has `drawing` to export, and `bring({side, index} or null)`.
 */
export function wordLines(options) {
  const { from, to, label, onWord } = options;
  const widest = Math.max(across(from).width, across(to).width);
  const upright = options.upright ?? widest > (options.width ?? Infinity);
  const places = geometry(from, to, upright, options.width);
  const lines = curves(options, places);
  const words = [from, to].map((list, side) =>
    list.map((word, index) => wordLabel(side, index, word, places.place(side, index), places.step)),
  );
  const drawing = picture(places.width, places.height, label, svg("g", { class: "lines" }, ...lines));
  drawing.setAttribute("role", "group");
  drawing.append(...words.flat());
  let kept = null;
  const bring = (choice) => {
    for (const line of lines)
      line.classList.toggle("dimmed", choice !== null && line.ends[choice.side] !== choice.index);
    for (const word of words.flat()) {
      const chosen = choice !== null && word.side === choice.side && word.index === choice.index;
      word.classList.toggle("chosen", chosen);
      word.setAttribute("aria-pressed", String(chosen && kept !== null));
    }
  };
  const tell = (choice, by) => {
    bring(choice ?? kept);
    onWord?.(choice ?? kept, by);
  };
  for (const word of words.flat()) {
    const choice = { side: word.side, index: word.index };
    word.addEventListener("pointerenter", () => tell(choice, "pointer"));
    word.addEventListener("pointerleave", () => tell(null, "pointer"));
    word.addEventListener("focus", () => tell(choice, "focus"));
    const keep = () => {
      kept = kept && kept.side === choice.side && kept.index === choice.index ? null : choice;
      tell(choice, "click");
    };
    word.addEventListener("click", keep);
    word.addEventListener("keydown", (event) => walk(event, words, choice, keep));
  }
  const stage = el("div", { class: "stage" }, drawing);
  const element = el("div", { class: "word-lines" }, stage);
  return Object.assign(element, { drawing, bring });
}

/** Arrow keys walk along a row of words and over to the other one. */
function walk(event, words, { side, index }, keep) {
  const along = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (event.key === "Enter" || event.key === " ") keep();
  else if (event.key === "Tab" || !along) return;
  else {
    const next = words[side][index + along] ?? words[1 - side][along > 0 ? 0 : words[1 - side].length - 1];
    next?.focus();
  }
  event.preventDefault();
}
