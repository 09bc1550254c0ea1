// Colours of pictures. All are custom properties of styles/draw.css; canvases ask for their values.

import { colour } from "../core/theme.js";

export const HEAD_COLOURS = 8;

/** The colour of a head (or series): the same everywhere. */
export const headColour = (index) => `var(--head-${index % HEAD_COLOURS})`;

/** [red, green, blue] of a custom property such as "--heat", as it is now in this theme. */
export const resolved = (name) =>
  colour(name)
    .match(/[\d.]+/g)
    .slice(0, 3)
    .map(Number);

const painted = new Set();

document.addEventListener("themechange", () => {
  for (const reference of painted) {
    const canvas = reference.deref();
    if (canvas) canvas.paint();
    else painted.delete(reference);
  }
});

/** Paints a canvas now, and again whenever the theme changes: canvases do not follow custom properties. */
export function paintWithTheme(canvas, paint) {
  canvas.paint = paint;
  painted.add(new WeakRef(canvas));
  paint();
}
