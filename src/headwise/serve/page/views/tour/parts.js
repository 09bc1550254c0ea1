// Small parts of the stations: numbers, pieces, strips, bars, choices, rows of tokens.

import { el } from "../../core/dom.js";

export const box = (name, ...children) => el("div", { class: `tour-${name}` }, ...children);
export const note = (...children) => el("p", { class: "tour-note" }, ...children);
export const title = (text) => el("h3", {}, text);
export const numbered = (count) => Array.from({ length: count }, (_, index) => String(index));
export const plain = (text) => el("span", {}, text);

/** Attributes of what shows something when it is pointed at, by pointer, touch or keyboard. */
export const pointed = (run, more) => ({ tabindex: 0, ...more, on: { mouseenter: run, focus: run, click: run } });

/** A number as text, with a true minus sign. */
export function shown(value, digits = 2) {
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  return value.toFixed(digits).replace("-", "−").replace(/^−(0\.?0*)$/, "$1");
}

export const percent = (share, digits = 2) => `${shown(100 * share, digits)} %`;

export function largest(values) {
  return values.flat().reduce((most, each) => (Number.isFinite(each) ? Math.max(most, Math.abs(each)) : most), 0) || 1;
}

/** Colour an element by its number: the strength as a property, the side as a class. */
export function paint(element, value, limit, signed = true) {
  if (!Number.isFinite(value)) return element;
  element.style.setProperty("--strength", Math.min(1, Math.abs(value) / limit).toFixed(3));
  element.classList.add(signed ? (value < 0 ? "tour-below" : "tour-above") : "tour-share");
  return element;
}

/** A piece as it is in the vocabulary, its mark of a space made faint. */
export function piece(token) {
  const text = token.piece ?? token;
  const marked = text.startsWith("▁") && text.length > 1;
  return el("bdi", { class: "tour-piece" }, marked && el("span", { class: "tour-space" }, "▁"), marked ? text.slice(1) : text);
}

/** A vector as a strip of coloured cells. */
export function strip(values, label, limit = largest(values), kind = "") {
  return el("span", { class: `tour-strip ${kind}`, role: "img", "aria-label": `${label}: ${values.slice(0, 4).map((each) => shown(each)).join(" ")} …` },
    values.map((value) => paint(el("i", { title: shown(value, 4) }), value, limit)));
}

/** A bar from 0 to 1 with its text. */
export function bar(share, text) {
  return el("span", { class: "tour-bar", style: { "--share": Math.max(0, Math.min(1, share)).toFixed(4) } }, el("span", {}, text));
}

/** Bars of pieces: [{piece, share, text, value, taken}]; without `point` they only stand there. */
export function bars(label, rows, point) {
  return el("ol", { class: "tour-bars", "aria-label": label }, rows.map((each, index) =>
    el("li", { ...(point ? pointed(() => point(index)) : {}), "data-value": each.value ?? each.share, class: each.taken ? "tour-taken" : "" },
      piece(each), bar(each.share, each.text ?? percent(each.share)))));
}

/** Candidates as bars; the piece that was taken is marked. */
export const candidates = (label, found, taken, point) =>
  bars(label, found.map((each) => ({ ...each, share: each.probability, taken: each.piece === taken })), point);

/** Radio buttons in a row. */
export function chooser(name, label, labels, chosen, choose) {
  return el("fieldset", { class: "tour-chooser" }, el("legend", {}, label), labels.map((text, index) =>
    el("label", {}, el("input", { type: "radio", name: `tour-${name}`, checked: index === chosen, on: { change: () => choose(index) } }), plain(text))));
}

/** Arrow keys move between the elements that `list` gives. */
export const arrows = (list, back = "ArrowLeft", on = "ArrowRight") => (event) => {
  const step = { [back]: -1, [on]: 1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const all = list();
  all[all.indexOf(document.activeElement) + step]?.focus();
};

/** A row of tokens as buttons, one of them chosen. */
export function tokenRow(label, tokens, chosen, choose) {
  const buttons = tokens.map((token, index) => el("button", { type: "button", class: "tour-token", tabindex: index === chosen ? 0 : -1,
    "aria-pressed": String(index === chosen), id: `tour-token-${index}`, on: { click: () => choose(index) } }, piece(token)));
  return el("div", { class: "tour-tokens", role: "group", "aria-label": label, on: { keydown: arrows(() => buttons) } }, plain(label), buttons);
}

/** A table of weights as a small picture. */
export function miniature(weights) {
  return el("span", { class: "tour-mini", "aria-hidden": "true", style: { "--columns": weights[0].length } },
    weights.flat().map((weight) => el("i", { style: { "--strength": weight.toFixed(3) } })));
}
