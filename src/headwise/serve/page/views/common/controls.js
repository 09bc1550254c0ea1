// Controls that several views use: switches, tabs, sliders, and the buttons that save a picture.

import { el } from "../../core/dom.js";
import { saveJson, saveText } from "../../core/export.js";

/** A checkbox with its label. */
export function check(label, checked, onChange) {
  const box = el("input", { type: "checkbox", checked });
  box.addEventListener("change", () => onChange(box.checked));
  return el("label", { class: "check" }, box, label);
}

/** A menu with its label. `options`: [[value, name], ...]. */
export function menu(label, options, chosen, onChange) {
  const select = el(
    "select",
    {},
    options.map(([value, name]) => el("option", { value, selected: value === chosen }, name)),
  );
  select.addEventListener("change", () => onChange(select.value));
  return el("label", { class: "labelled" }, el("span", {}, label), select);
}

/** A slider with its label and its value; `onInput(value)` while it moves. */
export function slider(label, { least, most, value, step = 1, show = String }, onInput) {
  const input = el("input", { type: "range", min: least, max: most, step, value });
  const output = el("output", {}, show(value));
  input.addEventListener("input", () => {
    output.textContent = show(Number(input.value));
    onInput(Number(input.value));
  });
  const element = el("label", { class: "labelled slider" }, el("span", {}, label, " ", output), input);
  const set = (next) => {
    input.value = next;
    output.textContent = show(Number(next));
  };
  return Object.assign(element, { input, set });
}

/** Tabs: `tabs` is [[id, name], ...]; the panel is filled by `onChoose`. Arrow keys change the tab. */
export function tabList(label, tabs, chosen, panel, onChoose) {
  const buttons = tabs.map(([id, name]) =>
    el("button", { type: "button", role: "tab", id: `tab-${id}`, "data-tab": id }, name),
  );
  const choose = (id, focus) => {
    for (const button of buttons) {
      const is = button.dataset.tab === id;
      button.setAttribute("aria-selected", String(is));
      button.tabIndex = is ? 0 : -1;
      if (is && focus) button.focus();
    }
    panel.setAttribute("aria-labelledby", `tab-${id}`);
  };
  panel.setAttribute("role", "tabpanel");
  buttons.forEach((button, index) => {
    button.addEventListener("click", () => {
      choose(button.dataset.tab);
      onChoose(button.dataset.tab);
    });
    button.addEventListener("keydown", (event) => {
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const next = move && buttons[(index + move + buttons.length) % buttons.length];
      if (!next) return;
      choose(next.dataset.tab, true);
      onChoose(next.dataset.tab);
    });
  });
  choose(chosen);
  return el("div", { class: "segmented", role: "tablist", "aria-label": label }, buttons);
}

/**
 * Buttons that save what is shown: `picture()` is an SVG or a canvas, `json()` its numbers, `pharaoh()` word alignments
 * as text. What is left out has no button.
 */
export function saveButtons(context, name, { picture, json, pharaoh }) {
  const button = (kind, save) => {
    const label = context.t("save.as", kind);
    return el("button", { type: "button", class: "chip", "aria-label": label, on: { click: save } }, kind);
  };
  const row = el("div", { class: "row save" });
  if (picture && picture() instanceof SVGElement)
    row.append(button("SVG", () => context.export(picture(), name, "svg")));
  if (picture) row.append(button("PNG", () => context.export(picture(), name, "png")));
  if (json) row.append(button("JSON", () => saveJson(json(), name)));
  if (pharaoh) row.append(button("Pharaoh", () => saveText(`${pharaoh()}\n`, `${name}.pharaoh`)));
  return row;
}

/** A card with a heading. */
export function card(title, ...children) {
  return el("section", { class: "card panel" }, title && el("h2", {}, title), children);
}
