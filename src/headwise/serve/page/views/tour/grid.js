// A table of numbers: colours show them at a glance, and the cell that is pointed at shows how it came about.

import { el } from "../../core/dom.js";
import { largest, paint, piece, shown } from "./parts.js";

/**
 * A grid of `values` [rows][columns]. `point(row, column)` runs when a cell is pointed at, by pointer, touch or keyboard;
 * `first` is the cell to begin with, unless it is `quiet`. `hidden(row, column)`: behind the mask; `leaks`: should be;
 * `more(row, column)`: what else stands in a cell.
 */
export function grid({ rows, columns, values, point, caption, first = [0, 0], signed = true, limit = largest(values), hidden = () => false,
  leaks = () => false, more, corner = "", compact = false, digits = 2, tint = "", quiet = false }) {
  const cells = values.map((line, row) => line.map((value, column) => {
    const text = hidden(row, column) ? "0" : shown(value, digits);
    const cell = el("td", { role: "gridcell", tabindex: -1, "data-value": value, "aria-label": compact ? text : null },
      more?.(row, column), compact ? "" : text);
    if (hidden(row, column)) cell.classList.add("tour-hidden");
    else paint(cell, value, limit, signed);
    if (leaks(row, column)) cell.classList.add("tour-leak");
    cell.place = [row, column];
    return cell;
  }));
  const heading = (scope, label) => el("th", { scope, role: `${scope === "col" ? "column" : "row"}header` }, label.piece ? piece(label) : label);
  const table = el("table", { role: "grid", class: `tour-grid${compact ? " tour-compact" : ""} ${tint}`, "aria-label": caption },
    el("caption", { class: compact ? "" : "unseen" }, caption),
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, el("td", { class: "tour-corner" }, corner), columns.map((each) => heading("col", each)))),
    el("tbody", { role: "rowgroup" }, cells.map((line, row) => el("tr", { role: "row" }, heading("row", rows[row]), line))));
  pointing(table, cells, point, first, quiet);
  return el("div", { class: "tour-scroll" }, table);
}

function pointing(table, cells, point, first, quiet) {
  let at = cells[Math.min(first[0], cells.length - 1)][Math.min(first[1], cells[0].length - 1)];
  const move = (cell, focus) => {
    if (!cell) return;
    at.tabIndex = -1;
    for (const each of table.querySelectorAll(".tour-at, .tour-beside")) each.classList.remove("tour-at", "tour-beside");
    at = cell;
    at.tabIndex = 0;
    at.classList.add("tour-at");
    at.parentElement.firstElementChild.classList.add("tour-beside");
    table.tHead.rows[0].cells[at.place[1] + 1].classList.add("tour-beside");
    if (focus) at.focus();
    point?.(...at.place);
  };
  const over = (event) => {
    const cell = event.target.closest("td[role=gridcell]");
    if (cell && (cell !== at || event.type === "click")) move(cell, event.type === "click");
  };
  for (const event of ["mouseover", "focusin", "click"]) table.addEventListener(event, over);
  table.addEventListener("keydown", (event) => {
    const [row, column] = at.place;
    const next = { ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1], Home: [row, 0], End: [row, cells[row].length - 1] }[event.key];
    if (!next) return;
    event.preventDefault();
    move(cells[next[0]]?.[next[1]], true);
  });
  at.tabIndex = 0;
  if (!quiet) move(at);
}
