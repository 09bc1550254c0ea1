// Bars: a short list of names with numbers, such as the most likely next tokens.

import { el } from "../core/dom.js";
import { headColour } from "./colours.js";
import { shown } from "./numbers.js";

/**
 * Horizontal bars as a list. Options: rows ([{name, value, chosen, colour}]), label, format, most (the value of a full
 * bar; by default the largest), onChoose(row, index) makes the names buttons.
 */
export function bars({ rows, label, format = shown, most, onChoose }) {
  const full = most ?? Math.max(...rows.map(({ value }) => Math.abs(value)), 1e-12);
  const items = rows.map((row, index) => {
    const fill = el("span", { class: "bar-fill" });
    fill.style.width = `${Math.min(100, (100 * Math.abs(row.value)) / full)}%`;
    const colour = row.value < 0 ? "var(--cold)" : "var(--heat)";
    fill.style.background = row.colour === undefined ? colour : headColour(row.colour);
    const name = el(onChoose ? "button" : "span", { class: "bar-name", type: onChoose ? "button" : null }, row.name);
    if (onChoose) name.addEventListener("click", () => onChoose(row, index));
    const track = el("span", { class: "bar-track", "aria-hidden": "true" }, fill);
    const number = el("span", { class: "bar-number" }, format(row.value));
    return el(
      "li",
      { class: row.chosen ? "chosen" : null, "aria-current": row.chosen ? "true" : null },
      name,
      track,
      number,
    );
  });
  return el("ol", { class: "bars", "aria-label": label }, ...items);
}
