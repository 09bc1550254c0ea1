// The translation as words that can be pressed: shaded by how sure the model was, and linked to their source.

import { el, replace } from "../../core/dom.js";
import { wordsOf } from "./session.js";

const SURE = 0.5;
const DOUBTFUL = 0.2;

/** How sure a model was: sure, unsure, or doubtful. */
export function confidence(probability) {
  return probability >= SURE ? "sure" : probability >= DOUBTFUL ? "unsure" : "doubtful";
}

/** The pane: {root, show(session), word(sentence, word), focusWord(sentence, word)}.

`actions`: look(sentence, word) while a word is pointed at or focused, look(null) afterwards; open(sentence, word, element). */
export function makeTargetPane(context, actions) {
  const { t } = context;
  const root = el("div", { class: "translate-target", role: "group", "aria-label": t("translate.translation"), dir: "auto" });
  let focused = 0; // the word that the tab key reaches

  const all = () => [...root.querySelectorAll(".word")];
  const place = (element) => [Number(element.dataset.sentence), Number(element.dataset.word)];

  function move(element, event) {
    const listed = all();
    const rtl = getComputedStyle(root).direction === "rtl";
    const steps = { ArrowRight: rtl ? -1 : 1, ArrowLeft: rtl ? 1 : -1, ArrowDown: 1, ArrowUp: -1 };
    const here = listed.indexOf(element);
    const next = event.key === "Home" ? 0 : event.key === "End" ? listed.length - 1 : here + (steps[event.key] ?? NaN);
    if (!listed[next]) return;
    event.preventDefault();
    listed[next].focus();
  }

  root.addEventListener("keydown", (event) => {
    const element = event.target.closest(".word");
    if (!element) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      actions.open(...place(element), element);
    } else move(element, event);
  });
  root.addEventListener("click", (event) => {
    const element = event.target.closest(".word");
    if (element && getSelection().isCollapsed) actions.open(...place(element), element);
  });
  root.addEventListener("focusin", (event) => {
    const element = event.target.closest(".word");
    if (!element) return;
    focused = all().indexOf(element);
    for (const each of all()) each.tabIndex = each === element ? 0 : -1;
    actions.look(...place(element));
  });
  root.addEventListener("focusout", () => actions.look(null));
  root.addEventListener("pointerover", (event) => {
    const element = event.target.closest(".word");
    if (element) actions.look(...place(element));
  });
  root.addEventListener("pointerleave", () => actions.look(null));

  function wordElement(session, number, index, word, count) {
    const sentence = session.sentences[number];
    const known = sentence.words?.[index];
    const fits = known && known.word === word.text;
    const level = sentence.pinned?.includes(index) ? "pinned" : fits ? confidence(known.probability) : "sure";
    const label = level === "sure" ? word.text : `${word.text}, ${t("translate." + level)}`;
    return el("span", {
      class: `word ${level}`, role: "button", "aria-haspopup": "dialog", "aria-label": label, "data-sentence": number,
      "data-word": index, tabindex: count === focused ? 0 : -1, lang: session.target,
    }, word.text);
  }

  return {
    root,
    show(session) {
      const parts = [];
      let count = 0;
      const total = session.sentences.reduce((sum, each) => sum + wordsOf(each.text).length, 0);
      if (focused >= total) focused = 0;
      session.sentences.forEach((sentence, number) => {
        let at = 0;
        wordsOf(sentence.text).forEach((word, index) => {
          parts.push(sentence.text.slice(at, word.start), wordElement(session, number, index, word, count));
          at = word.end;
          count += 1;
        });
        parts.push(sentence.text.slice(at) + sentence.separator);
      });
      root.lang = session.target;
      const held = root.contains(document.activeElement) ? place(document.activeElement) : null;
      const opened = root.querySelector("[aria-expanded]");
      const kept = opened && place(opened);
      replace(root, parts);
      if (kept) this.word(...kept)?.setAttribute("aria-expanded", "true");
      if (held) this.focusWord(...held);
    },
    word(sentence, index) { return root.querySelector(`.word[data-sentence="${sentence}"][data-word="${index}"]`); },
    focusWord(sentence, index) { this.word(sentence, index)?.focus(); },
  };
}

/** The parts of the text, [{start, end}], that a word of the translation came from. */
export function originOf(session, number, index) {
  const text = session.text;
  let from = 0;
  for (const before of session.sentences.slice(0, number)) {
    const at = text.indexOf(before.source, from);
    if (at >= 0) from = at + before.source.length;
  }
  const sentence = session.sentences[number];
  const start = text.indexOf(sentence.source, from);
  if (start < 0) return [];
  const words = wordsOf(sentence.source);
  return (sentence.alignment ?? []).filter(([, target]) => target === index).map(([source]) => words[source]).filter(Boolean)
    .map((word) => ({ text: word.text, start: start + word.start, end: start + word.end }))
    .sort((a, b) => a.start - b.start);
}
