// The numbers of a picture as a table: for screen readers, and for everybody who wants to read them.

import { el } from "../core/dom.js";
import { shown } from "./numbers.js";

/** A table with row and column headers. Cells are numbers, or text that stands as it is. */
export function numberTable({ caption, corner = "", rows, columns, values, format = shown, masked, maskedText }) {
  const cell = (value, row, column) => {
    const hidden = masked?.(row, column);
    const text = typeof value === "number" ? format(value) : value;
    return el("td", { class: hidden ? "masked" : null }, hidden ? (maskedText ?? text) : text);
  };
  const head = columns.map((name) => el("th", { scope: "col" }, name));
  const body = values.map((line, row) => {
    const cells = line.map((value, column) => cell(value, row, column));
    return el("tr", {}, el("th", { scope: "row" }, rows[row]), ...cells);
  });
  const top = el("thead", {}, el("tr", {}, el("td", {}, corner), ...head));
  const table = el("table", { class: "numbers" }, el("caption", {}, caption), top, el("tbody", {}, ...body));
  return el("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": caption }, table);
}

/** A picture's table behind a disclosure, made when it is first opened: a table of 512 tokens has 262,144 cells. */
export function foldedTable(title, make) {
  const details = el("details", { class: "folded-table" }, el("summary", {}, title));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(make());
  });
  return details;
}
