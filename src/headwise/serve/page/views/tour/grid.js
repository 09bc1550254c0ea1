// A table of numbers: colours show them at a glance, and the cell that is pointed at shows how it came about.

import { el } from "../../core/dom.js";

/** A number as text, with a true minus sign. */
export function shown(value, digits = 2) {
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  return value.toFixed(digits).replace("-", "−").replace(/^−(0\.?0*)$/, "$1");
}

/** A piece as it is in the vocabulary, its leading mark of a space made faint. */
export function piece(token) {
  const text = typeof token === "string" ? token : token.piece;
  const bare = text.startsWith("▁") && text.length > 1;
  return el("bdi", { class: "tour-piece" }, bare && el("span", { class: "tour-space" }, "▁"), bare ? text.slice(1) : text);
}

/** The strength of a colour, 0 to 1, and its side, as a class and a property. */
function colour(cell, value, limit, signed) {
  if (!Number.isFinite(value)) return;
  const strength = Math.min(1, Math.abs(value) / (limit || 1));
  cell.style.setProperty("--strength", strength.toFixed(3));
  cell.classList.add(signed ? (value < 0 ? "tour-below" : "tour-above") : "tour-share");
}

function largest(values) {
  return values.flat().reduce((most, each) => (Number.isFinite(each) ? Math.max(most, Math.abs(each)) : most), 0);
}

/**
 * A grid of `values` [rows][columns]. `point(row, column)` runs when a cell is pointed at, by pointer, touch or keyboard;
 * `first` is the cell that is pointed at to begin with, unless it is `quiet`. `hidden(row, column)`: cells behind the mask. `new(row, column)`: leaks.
 */
export function grid({ rows, columns, values, point, first = [0, 0], signed = true, digits = 2, limit, hidden = () => false,
  leaks = () => false, caption, corner = "", compact = false, tint = "", quiet = false }) {
  const most = limit ?? largest(values);
  const cells = values.map((line, row) => line.map((value, column) => {
    const cell = el("td", { role: "gridcell", tabindex: -1, "data-value": value }, compact ? "" : hidden(row, column) ? "0" : shown(value, digits));
    if (compact) cell.setAttribute("aria-label", shown(value, 4));
    if (hidden(row, column)) cell.classList.add("tour-hidden");
    else colour(cell, value, most, signed);
    if (leaks(row, column)) cell.classList.add("tour-leak");
    cell.place = [row, column];
    return cell;
  }));
  const head = el("tr", { role: "row" }, el("td", { class: "tour-corner" }, corner),
    columns.map((label) => el("th", { scope: "col", role: "columnheader" }, heading(label))));
  const body = cells.map((line, row) =>
    el("tr", { role: "row" }, el("th", { scope: "row", role: "rowheader" }, heading(rows[row])), line));
  const table = el("table", { role: "grid", class: `tour-grid${compact ? " tour-compact" : ""} ${tint}`, "aria-label": caption },
    el("caption", { class: compact ? "" : "unseen" }, caption), el("thead", { role: "rowgroup" }, head),
    el("tbody", { role: "rowgroup" }, body));
  if (values.length && values[0].length) pointing(table, cells, point, first, quiet);
  return el("div", { class: "tour-scroll" }, table);
}

function heading(label) {
  return typeof label === "string" || label?.piece ? piece(label) : label;
}

function pointing(table, cells, point, first, quiet) {
  let at = null;
  const move = (row, column, focus) => {
    const cell = cells[row]?.[column];
    if (!cell || (cell === at && !focus)) return;
    if (at) at.tabIndex = -1;
    for (const each of table.querySelectorAll(".tour-at, .tour-beside")) each.classList.remove("tour-at", "tour-beside");
    at = cell;
    cell.tabIndex = 0;
    cell.classList.add("tour-at");
    cell.parentElement.firstElementChild.classList.add("tour-beside");
    table.tHead.rows[0].cells[column + 1].classList.add("tour-beside");
    if (focus) cell.focus({ preventScroll: false });
    point?.(row, column);
  };
  const over = (event) => {
    const place = event.target.closest?.("td[role=gridcell]")?.place;
    if (place) move(...place, event.type === "click");
  };
  for (const event of ["mouseover", "focusin", "click"]) table.addEventListener(event, over);
  table.addEventListener("keydown", (event) => {
    const [row, column] = at.place;
    const next = { ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1], Home: [row, 0], End: [row, cells[row].length - 1] }[event.key];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    move(...next, true);
  });
  const [row, column] = [Math.min(first[0], cells.length - 1), Math.min(first[1], cells[0].length - 1)];
  if (!quiet) return move(row, column, false);
  at = cells[row][column];
  at.tabIndex = 0;
  return undefined;
}

/** A vector as a strip of coloured cells, without numbers. */
export function strip(values, label, limit = largest(values), tint = "") {
  const cells = values.map((value) => {
    const cell = el("i", { title: shown(value, 4) });
    colour(cell, value, limit, true);
    return cell;
  });
  return el("span", { class: `tour-strip ${tint}`, role: "img", "aria-label": `${label}: ${values.slice(0, 4).map((each) => shown(each)).join(" ")} …` }, cells);
}

/** Radio buttons in a row: `choose(index)` runs when another is chosen. */
export function chooser(name, label, labels, chosen, choose) {
  return el("fieldset", { class: "tour-chooser" }, el("legend", {}, label), labels.map((text, index) =>
    el("label", {}, el("input", { type: "radio", name, checked: index === chosen, on: { change: () => choose(index) } }),
      el("span", {}, text))));
}

/** A bar from 0 to 1 with its number. */
export function bar(share, text, tint = "") {
  return el("span", { class: `tour-bar ${tint}`, style: { "--share": Math.max(0, Math.min(1, share)).toFixed(4) } },
    el("span", { class: "tour-bar-text" }, text));
}
