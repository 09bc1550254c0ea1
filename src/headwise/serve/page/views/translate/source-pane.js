// The box with the text to translate. Behind it lies the same text, invisible, with marks where a word came from.

import { el, replace } from "../../core/dom.js";

/** The pane: {root, box, mark(ranges), fit()}; `typed(text)` is called with each change. */
export function makeSourcePane(context, typed) {
  const { t } = context;
  const behind = el("div", { class: "translate-behind", dir: "auto", "aria-hidden": "true" });
  const box = el("textarea", {
    id: "source-text", class: "translate-text", dir: "auto", rows: 4, spellcheck: "false", "aria-label": t("translate.source_text"),
    placeholder: t("translate.placeholder"), readonly: !context.source.live,
    on: { input: () => { show([]); typed(box.value); } },
  });

  let shown = "";
  const show = (ranges) => {
    const text = box.value;
    const key = text + JSON.stringify(ranges);
    if (key === shown) return;
    shown = key;
    const parts = [];
    let at = 0;
    for (const { start, end } of ranges) {
      parts.push(text.slice(at, start), el("mark", {}, text.slice(start, end)));
      at = end;
    }
    replace(behind, ...parts, text.slice(at) + "\n"); // a last empty line has a height only with something in it
  };

  return {
    root: el("div", { class: "translate-box" }, behind, box),
    box,
    /** Mark parts of the text, [{start, end}] in their order. */
    mark: show,
    fit() { show([]); },
  };
}
