// Controls that several views use: switches, tabs, sliders, and the buttons that save a picture.

import { el } from "../../core/dom.js";
import { saveJson, saveText } from "../../core/export.js";

/** A paragraph that explains. */
export const quiet = (...content) => el("p", { class: "quiet-text" }, content);

/** A button. */
export function button(label, onClick, kind = "button") {
  return el("button", { type: "button", class: kind, on: { click: onClick } }, label);
}

/** Buttons of which one is pressed: `options` is [[value, name], ...]. */
export function choices(label, options, chosen, onChoose) {
  const buttons = options.map(([value, name]) => {
    const each = button(
      name,
      () => {
        for (const other of buttons) other.setAttribute("aria-pressed", String(other === each));
        onChoose(value);
      },
      null,
    );
    each.setAttribute("aria-pressed", String(value === chosen));
    return each;
  });
  return el("div", { class: "segmented", role: "group", "aria-label": label }, buttons);
}

/** Tokens in a row, each over a number: `tokens` is [[text, number, class], ...]. */
export function tokenRow(tokens) {
  const items = tokens.map(([text, number, kind]) =>
    el("li", { class: kind }, el("span", {}, text), el("small", {}, number)),
  );
  return el("ol", { class: "token-row" }, items);
}

/** A translation in a box: its name, what else is to say of it, its text (in a language), and its tokens if any. */
export function outcomeBox(name, aside, language, text, tokens) {
  const head = el("div", { class: "row apart" }, el("h3", {}, name), el("span", { class: "number quiet-text" }, aside));
  return el(
    "div",
    { class: "outcome" },
    head,
    el("p", { lang: language, dir: "auto", class: "outcome-text" }, text),
    tokens && tokenRow(tokens),
  );
}

/** A table of rows (of <tr>) below the names of its columns; `caption` is for screen readers. */
export function namedTable(caption, columns, rows, kind) {
  const head = el(
    "tr",
    {},
    columns.map((name) => (name ? el("th", { scope: "col" }, name) : el("td"))),
  );
  return el(
    "table",
    { class: kind },
    el("caption", { class: "unseen" }, caption),
    el("thead", {}, head),
    el("tbody", {}, rows),
  );
}

/** What scrolls sideways when it is too wide, also by keys. */
export const scrolling = (label, content) =>
  el("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": label }, content);

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
  const output = el("strong", {}, show(value));
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
