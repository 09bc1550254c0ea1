// Parts of all pictures: the outer SVG, text in it, and the width of text before it is drawn.

import { svg } from "../core/dom.js";

/** The outer <svg>, which shrinks with its column but never grows beyond its size. */
export function picture(width, height, name, ...children) {
  const round = (value) => Math.ceil(value * 10) / 10;
  const attributes = { viewBox: `0 0 ${round(width)} ${round(height)}`, width: round(width), height: round(height) };
  return svg("svg", { ...attributes, class: "drawing", role: "img", "aria-label": name }, ...children);
}

let ruler;

/** The width of text in pixels, in the page's font. */
export function textWidth(text, size = 13, weight = 400) {
  ruler ??= document.createElement("canvas").getContext("2d");
  const family = document.body ? getComputedStyle(document.body).fontFamily : "sans-serif";
  ruler.font = `${weight} ${size}px ${family || "sans-serif"}`;
  return ruler.measureText(text).width;
}

/** Text cut to a width, with an ellipsis where something was cut. */
export function cut(text, width, size = 13) {
  if (textWidth(text, size) <= width) return text;
  const letters = [...text];
  while (letters.length > 1 && textWidth(`${letters.join("")}…`, size) > width) letters.pop();
  return `${letters.join("")}…`;
}

/** An SVG text, in the colour of text unless another is given. */
export const lettering = (attributes, text) => svg("text", { fill: "var(--draw-text)", ...attributes }, text);
