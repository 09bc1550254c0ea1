// What opens at a word of the translation: where it came from, how sure the model was, and what else it might be.

import { el, replace } from "../../core/dom.js";
import { icon } from "../../core/icons.js";
import { confidence, originOf } from "./target-pane.js";
import { wordsOf } from "./session.js";

/** The menu: {root, open(session, sentence, word, anchor), close()}. `actions`: glossary(term, translation), closed(). */
export function makeWordMenu(context, actions) {
  const { t } = context;
  const root = el("div", { class: "word-menu card", role: "dialog", "aria-modal": "false", hidden: true, tabindex: -1 });
  let asked = null;
  let here = null;

  const close = (refocus = true) => {
    if (root.hidden) return;
    asked?.abort();
    root.hidden = true;
    const { pane, sentence, word } = here;
    here = null;
    pane.word(sentence, word)?.removeAttribute("aria-expanded");
    if (refocus) pane.focusWord(sentence, word);
    actions.closed();
  };
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); close(); }
    const listed = [...root.querySelectorAll(".choice")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && listed.includes(document.activeElement)) {
      event.preventDefault();
      listed[listed.indexOf(document.activeElement) + step]?.focus();
    }
  });

  async function put(session, sentence, word, text) {
    root.classList.add("waiting");
    try {
      await session.put(sentence, word, text);
      close();
      context.announce(session.sentences[sentence].text);
    } catch (error) {
      root.append(context.errorNote(error));
    } finally {
      root.classList.remove("waiting");
    }
  }

  function choiceButton(session, sentence, word, choice) {
    const words = wordsOf(choice.text);
    const rest = choice.text.slice(words[word].end);
    const current = wordsOf(session.sentences[sentence].text)[word]?.text === choice.word;
    const percent = context.percent(choice.probability);
    return el("li", {}, el("button", {
      type: "button", class: "choice", "aria-current": current ? "true" : null, lang: session.target,
      on: { click: () => (current ? close() : put(session, sentence, word, choice.word)) },
    },
    el("span", { class: "choice-word" }, choice.word), el("span", { class: "choice-number number" }, percent),
    el("span", { class: "choice-bar", "aria-hidden": "true" }, el("span", { style: { width: `${100 * choice.probability}%` } })),
    el("span", { class: "choice-rest", dir: "auto" }, rest.trim() ? "…" + rest : t("translate.end"))));
  }

  function build(session, sentence, word) {
    const { words, text, chosen } = session.sentences[sentence];
    const own = wordsOf(text)[word].text;
    const probability = words?.[word]?.probability;
    const origin = originOf(session, sentence, word).map((each) => each.text).join(" … ");
    const field = el("input", { type: "text", lang: session.target, dir: "auto", "aria-label": t("translate.own_word"), placeholder: t("translate.own_word"),
      autocomplete: "off", spellcheck: "false" });
    const list = el("ul", { class: "choices", "aria-label": t("translate.else") });
    const plain = (word) => word.replace(/^[\p{P}\p{S}]+|[\p{P}\p{S}]+$/gu, "");
    replace(root,
      el("div", { class: "row apart" },
        el("p", { class: "word-menu-head" }, el("strong", { lang: session.target }, own),
          probability == null ? null : el("span", { class: `badge ${confidence(probability)}` }, t("translate.sure_percent", context.percent(probability)))),
        el("button", { type: "button", class: "icon-button", "aria-label": t("translate.close"), on: { click: () => close() } }, icon("close"))),
      el("p", { class: "quiet-text" }, origin ? [t("translate.from"), " ", el("b", { lang: session.source, dir: "auto" }, origin)] : t("translate.from_none")),
      el("h2", {}, t("translate.else")), list,
      el("form", { class: "own-word", on: { submit: (event) => {
        event.preventDefault();
        if (field.value.trim()) put(session, sentence, word, field.value);
      } } }, field, el("button", { class: "button", type: "submit" }, t("translate.use"))),
      el("div", { class: "row" },
        origin ? el("button", { type: "button", class: "button plain", on: { click: () => { close(); actions.glossary(plain(origin), plain(own)); } } }, t("translate.to_glossary")) : null,
        chosen ? el("button", { type: "button", class: "button plain", on: { click: () => { close(); session.reset(sentence); } } }, t("translate.reset")) : null));
    return list;
  }

  async function fill(session, sentence, word, list) {
    const mine = asked = new AbortController();
    list.replaceChildren(el("li", { class: "busy quiet-text" }, t("translate.looking")));
    try {
      const found = await session.choices(sentence, word, { signal: mine.signal });
      if (mine !== asked || root.hidden) return;
      list.replaceChildren(...found.map((each) => choiceButton(session, sentence, word, each)));
      (list.querySelector(".choice") ?? root).focus({ preventScroll: true });
    } catch (error) {
      if (error.name !== "AbortError" && mine === asked) list.replaceChildren(el("li", {}, context.errorNote(error)));
    }
  }

  return {
    root,
    close,
    get isOpen() { return !root.hidden; },
    /** [sentence, word] that it is open at, or null. */
    get at() { return here && [here.sentence, here.word]; },
    async open(session, pane, sentence, word, anchor) {
      if (here) close(false);
      here = { pane, sentence, word };
      const list = build(session, sentence, word);
      root.setAttribute("aria-label", t("translate.word_menu", wordsOf(session.sentences[sentence].text)[word].text));
      anchor.setAttribute("aria-expanded", "true");
      root.hidden = false;
      stand(root, anchor);
      root.focus({ preventScroll: true });
      await fill(session, sentence, word, list);
      root.scrollIntoView({ block: "nearest" });
    },
  };
}

/** Stand below a word, within the box that both are in. */
function stand(root, anchor) {
  const frame = root.offsetParent.getBoundingClientRect();
  const word = anchor.getBoundingClientRect();
  const left = Math.min(Math.max(word.left - frame.left - 16, 0), Math.max(0, frame.width - root.offsetWidth));
  root.style.left = `${left}px`;
  root.style.top = `${word.bottom - frame.top + 8}px`;
}
