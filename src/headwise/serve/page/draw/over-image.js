// Weights over an image: the picture with each patch lit by how much is looked at it.

import { el } from "../core/dom.js";
import { paintWithTheme } from "./colours.js";
import { shown } from "./numbers.js";

/** The image as a canvas of its own size: pixels[row][column] is a grey value or [red, green, blue] in 0..255. */
export function imageCanvas(pixels) {
  const [high, wide] = [pixels.length, pixels[0].length];
  const canvas = el("canvas", { width: wide, height: high });
  const context = canvas.getContext("2d");
  const image = context.createImageData(wide, high);
  pixels.flat().forEach((pixel, index) => {
    const [red, green, blue] = Array.isArray(pixel) && pixel.length > 1 ? pixel : Array(3).fill(Number(pixel));
    image.data.set([red, green, blue, 255], 4 * index);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

/**
 * Weights over an image. Options: pixels, weights ([grid][grid]), label, size (pixels on the screen), describe(row,
 * column, value), onCell. Dark patches are hardly looked at; the brightest is the most looked at.
 */
export function overImage({ pixels, weights, label, size = 320, describe, onCell }) {
  const source = imageCanvas(pixels);
  const canvas = el("canvas", { width: size, height: size, class: "drawing", role: "img", "aria-label": label });
  const [rows, columns] = [weights.length, weights[0].length];
  const [high, wide] = [size / rows, size / columns];
  const most = Math.max(...weights.flat(), 1e-12);
  let at = null;
  paintWithTheme(canvas, () => {
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = source.width > 96;
    context.drawImage(source, 0, 0, size, size);
    weights.forEach((row, r) =>
      row.forEach((value, c) => {
        context.fillStyle = `rgb(10 14 26 / ${(0.76 * (1 - value / most)).toFixed(4)})`;
        context.fillRect(c * wide, r * high, wide, high);
      }),
    );
    if (!at) return;
    context.lineWidth = 3;
    context.strokeStyle = "#ffd166";
    context.strokeRect(at[1] * wide + 1.5, at[0] * high + 1.5, wide - 3, high - 3);
  });
  const readout = el("output", { class: "readout" }, "\u00a0");
  const stage = el("div", { class: "stage", tabindex: 0, role: "application", "aria-label": label }, canvas);
  const point = (row, column, by = "call") => {
    at = [Math.min(rows - 1, Math.max(0, row)), Math.min(columns - 1, Math.max(0, column))];
    const value = weights[at[0]][at[1]];
    readout.textContent = describe ? describe(...at, value) : `${at[0] + 1}, ${at[1] + 1}: ${shown(value)}`;
    onCell?.({ row: at[0], column: at[1], value, by });
    canvas.paint();
  };
  stage.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    point(Math.floor(y * rows), Math.floor(x * columns), "pointer");
  });
  stage.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    point((at?.[0] ?? -move[0]) + move[0], (at?.[1] ?? -move[1]) + move[1], "keyboard");
  });
  return Object.assign(el("div", { class: "over-image" }, stage, readout), { drawing: canvas, point });
}
