// What is said about a translation: its legend, terms, alternatives, errors; and the box to write it by hand.

import { el, replace } from "../../core/dom.js";
import { icon } from "../../core/icons.js";
import { confidence } from "./target-pane.js";

const LEVELS = ["unsure", "doubtful", "pinned"]; // those that look different from other words

/** The notes: {root, states, editor, show(session), edit(), tooLong(limit)}; `translator` is the view. */
export function makeNotes(context, translator) {
  const { t } = context;
  const states = el("div", { class: "translate-states" });
  const root = el("div", { class: "translate-notes" });
  const text = el("textarea", { class: "translate-text", dir: "auto", "aria-label": t("translate.edit_text"), id: "edited" });
  const editor = el("form", { class: "translate-editor", hidden: true, on: { submit: (event) => { event.preventDefault(); finish(true); } } }, text,
    el("div", { class: "row" }, el("button", { class: "button primary", type: "submit" }, t("translate.save")),
      el("button", { class: "button", type: "button", on: { click: () => finish(false) } }, t("translate.cancel"))));
  text.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.stopPropagation(); finish(false); } });

  const open = (on) => {
    editor.hidden = !on;
    translator.target.root.hidden = on;
  };
  async function finish(save) {
    const given = text.value.trim();
    open(false);
    translator.editButton.focus();
    if (!save || !given || given === translator.session.translation) return;
    try {
      await translator.correct(given);
    } catch (error) {
      replace(states, context.errorNote(error));
    }
  }

  const legend = (session) => {
    const levels = new Set(session.sentences.flatMap((each) => (each.words ?? []).map((word, number) =>
      each.pinned?.includes(number) ? "pinned" : confidence(word.probability))));
    const present = LEVELS.filter((each) => levels.has(each));
    if (!levels.size) return null;
    return el("p", { class: "legend quiet-text" }, present.length
      ? present.map((level) => el("span", {}, el("span", { class: `word ${level} sample`, "aria-hidden": "true" }, t("translate.word")), " ", t("translate.legend_" + level)))
      : t("translate.legend_sure"), el("span", { class: "legend-hint" }, t("translate.hint")));
  };

  const terms = (session) => session.terms.length ? el("ul", { class: "row terms-used", "aria-label": t("translate.glossary") }, session.terms.map((each) =>
    el("li", { class: "badge" }, icon(each.status === "used" ? "check" : "close"), `${each.source} → ${each.requested.join(", ")}`,
      each.status === "used" ? null : ` (${t("translate.term_unused")})`))) : null;

  const others = (session) => {
    if (session.sentences.length !== 1 || session.corrected) return null;
    const listed = session.sentences[0].alternatives.filter((each) => each.text !== session.sentences[0].text);
    if (!listed.length) return null;
    return el("section", { class: "alternatives" }, el("h2", {}, t("translate.alternatives")), el("ul", {}, listed.slice(0, 3).map((each) =>
      el("li", {}, el("button", { type: "button", class: "alternative", lang: session.target, dir: "auto", on: { click: () => translator.session.take(0, each.text) } },
        differing(each.text, session.sentences[0].text))))));
  };

  const same = (session) => {
    if (!session.detected || session.detected.language !== session.target) return null;
    const other = session.target === "en" ? "de" : "en";
    const listed = translator.languages.find((each) => each.code === session.target)?.targets ?? [];
    const name = context.languageName(session.target);
    return el("p", { class: "note" }, t("translate.same", name), " ", listed.includes(other)
      ? el("button", { type: "button", class: "button plain", on: { click: () => translator.set({ target: other }) } }, t("translate.instead", context.languageName(other))) : null);
  };

  const failed = (error) => error.status === 403 && (translator.settings.keyRequired || context.stored.get("key")) ? keyForm(error) : context.errorNote(error);
  const keyForm = (error) => {
    const field = el("input", { type: "password", "aria-label": t("translate.key"), autocomplete: "off" });
    return el("form", { class: "note error row", on: { submit: (event) => {
      event.preventDefault();
      context.stored.set("key", field.value.trim());
      translator.session.now();
    } } }, el("span", { role: "alert" }, t("translate.key_needed"), " ", error.message), field, el("button", { class: "button", type: "submit" }, t("translate.use")));
  };

  return {
    root,
    states,
    editor,
    show(session) {
      if (session.busy) return; // what is said about the last translation stays until there is a new one
      replace(states,
        session.error ? failed(session.error) : null, same(session), legend(session), terms(session),
        session.corrected ? el("p", { class: "badge" }, icon("check"), t("translate.is_corrected")) : null,
        session.pivot ? el("p", { class: "quiet-text" }, t("translate.pivot", context.languageName(session.pivot))) : null);
      replace(root, others(session));
    },
    edit() {
      translator.menu.close(false);
      text.value = translator.session.translation;
      text.lang = translator.session.target;
      open(true);
      text.focus();
    },
    tooLong(limit) {
      replace(states, el("p", { class: "note error", role: "alert" }, t("translate.too_long", new Intl.NumberFormat(context.language).format(limit))));
    },
  };
}

/** A text with the words that another one lacks set off. */
function differing(text, other) {
  const known = new Set(other.split(/\s+/));
  return text.split(/(\s+)/).map((each) => (each.trim() && !known.has(each) ? el("b", {}, each) : each));
}
