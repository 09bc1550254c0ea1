// Terms that are always translated in the same way, for each direction; they are kept on this device.

import { el, replace } from "../../core/dom.js";
import { openDialog } from "../../core/dialog.js";
import { icon } from "../../core/icons.js";

const NAME = "glossary";

/** The terms of a direction: [[term, translation], ...]. */
export function termsOf(context, source, target) {
  return context.stored.get(NAME, {})[`${source}>${target}`] ?? [];
}

/** The terms of a direction as the server takes them: {term: translation}, without unfinished ones. */
export function glossaryOf(context, source, target) {
  return Object.fromEntries(termsOf(context, source, target).map((pair) => pair.map((each) => each.trim()))
    .filter(([term, translation]) => term && translation));
}

/** Open the editor; `changed()` is called when terms have changed. `added`: a term to begin with. */
export function editGlossary(context, direction, changed, added = null) {
  const { t, stored } = context;
  const { source, target } = direction;
  const name = `${context.languageName(source)} → ${context.languageName(target)}`;
  let terms = termsOf(context, source, target).map((each) => [...each]);
  if (added) terms = [...terms.filter(([term]) => term !== added[0]), added];
  const save = () => {
    const kept = terms.filter(([term, translation]) => term.trim() || translation.trim());
    stored.set(NAME, { ...stored.get(NAME, {}), [`${source}>${target}`]: kept });
    changed();
  };
  if (added) save();

  openDialog(context, t("translate.glossary"), (body) => {
    const list = el("ul", { class: "terms" });
    const row = (pair, number) => el("li", { class: "term" },
      [0, 1].map((side) => el("input", { type: "text", value: pair[side], dir: "auto", lang: side ? target : source, autocomplete: "off",
        "aria-label": t(side ? "translate.term_translation" : "translate.term", number + 1),
        placeholder: t(side ? "translate.term_translation_short" : "translate.term_short"),
        on: { input: (event) => { pair[side] = event.target.value; }, change: save } })),
      el("button", { type: "button", class: "icon-button", "aria-label": t("translate.term_remove", pair[0] || number + 1), on: { click: () => {
        terms = terms.filter((each) => each !== pair);
        save();
        show();
      } } }, icon("trash")));
    const show = (focusLast = false) => {
      replace(list, terms.map(row));
      if (focusLast) list.lastElementChild?.querySelector("input").focus();
    };
    body.append(
      el("p", { class: "quiet-text" }, t("translate.glossary_about", name)), list,
      el("div", { class: "row" }, el("button", { type: "button", class: "button", on: { click: () => { terms.push(["", ""]); show(true); } } },
        icon("plus"), t("translate.term_add"))));
    if (!terms.length) terms.push(["", ""]);
    show();
  });
}
