// A grid of buttons, one per attention head, with a row per layer; arrow keys walk through it.

import { el } from "../core/dom.js";

const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/**
 * A grid of heads. Options: layers (their numbers from 0), heads (how many), label, layerName(layer), make(layer, head)
 * -> {picture, short (a word below the picture), kind (its class), name (what it does), pressed, class}, onChoose(layer,
 * head, event). The result has `refresh()`, which asks `make(layer, head, true)` for `pressed` and `class` again.
 */
export function headGrid({ layers, heads, label, layerName, make, onChoose }) {
  const buttons = layers.map((layer) => Array.from({ length: heads }, (_, head) => button(layer, head)));
  const all = buttons.flat();
  function button(layer, head) {
    const { picture, short = "", kind = "", name, pressed, class: status } = make(layer, head);
    const number = `${layer + 1}.${head + 1}`;
    const said = `${number} ${short ? `${short}: ` : ""}${name}`; // begins with what is seen
    const text = [el("span", { class: "head-name" }, number), " ", el("span", { class: `head-role ${kind}` }, short)];
    const looks = { class: `head ${status ?? ""}`, "aria-label": said, title: name };
    const element = el("button", { type: "button", ...looks }, picture, text);
    element.setAttribute("aria-pressed", String(pressed));
    element.addEventListener("click", (event) => onChoose(layer, head, event));
    return Object.assign(element, { layer, head });
  }
  const rows = layers.map((layer, row) =>
    el(
      "div",
      { class: "layer" },
      el("span", { class: "layer-name" }, layerName(layer)),
      el("div", { class: "layer-heads" }, buttons[row]),
    ),
  );
  const grid = el("div", { class: "head-grid", role: "group", "aria-label": label }, rows);
  grid.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    const at = all.indexOf(document.activeElement);
    if (!move || at < 0) return;
    event.preventDefault();
    const next = buttons[Math.floor(at / heads) + move[0]]?.[(at % heads) + move[1]];
    if (!next) return;
    for (const each of all) each.tabIndex = each === next ? 0 : -1;
    next.focus();
  });
  const refresh = () => {
    for (const each of all) {
      const { pressed, class: status } = make(each.layer, each.head, true);
      each.setAttribute("aria-pressed", String(pressed));
      each.className = `head ${status ?? ""}`;
    }
  };
  const first = all.find((each) => each.getAttribute("aria-pressed") === "true") ?? all[0];
  for (const each of all) each.tabIndex = each === first ? 0 : -1;
  return Object.assign(grid, { refresh });
}
