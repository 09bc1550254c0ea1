// The sentence that all views look at, and the bar in which it is changed.

import { debounced, el } from "./dom.js";

// Milliseconds after the last key.
const PAUSE = 450;

const EXAMPLES = {
  en: "The animal did not cross the street because it was too tired.",
  de: "Der Hund überquerte die Straße nicht, weil er zu müde war.",
  fr: "Le chien n’a pas traversé la rue parce qu’il était trop fatigué.",
  it: "Il cane non ha attraversato la strada perché era troppo stanco.",
  hi: "कुत्ते ने सड़क पार नहीं की क्योंकि वह बहुत थका हुआ था।",
};

/** `sentence()` and `sentenceBar()` of a context. */
export function makeSentence(context) {
  const { state, source, t } = context;

  /** What the views look at: {text, source, target, model}; an example while nothing was typed. */
  const sentence = () => {
    const from = state.get("source") && state.get("source") !== "auto" ? state.get("source") : state.get("detected");
    const language = from || "en";
    return {
      text: state.get("text")?.trim() || EXAMPLES[language] || EXAMPLES.en,
      source: language,
      target: state.get("target") || (language === "en" ? "de" : "en"),
      ...(state.get("model") ? { model: state.get("model") } : {}),
    };
  };

  /** A bar to change the sentence, its direction and the model: it changes the state, and views listen to that. */
  const sentenceBar = () => {
    const now = sentence();
    const text = el("textarea", { class: "sentence-text", rows: 1, "aria-label": t("shell.sentence"), dir: "auto",
      lang: now.source, spellcheck: "false", value: now.text, readonly: !source.live });
    const from = el("select", { "aria-label": t("shell.source"), disabled: !source.live });
    const to = el("select", { "aria-label": t("shell.target"), disabled: !source.live });
    const model = el("select", { "aria-label": t("shell.model"), disabled: !source.live });
    const bar = el("form", { class: "sentence card", on: { submit: (event) => event.preventDefault() } },
      text, el("div", { class: "row" }, from, el("span", { "aria-hidden": "true", class: "arrow" }, "→"), to, model));

    const write = debounced(() => state.set({ text: text.value.trim(), translation: null }), PAUSE);
    text.addEventListener("input", () => write());
    text.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); write.now(); }
    });
    from.addEventListener("change", () => choose({ source: from.value }));
    to.addEventListener("change", () => choose({ target: to.value }));
    model.addEventListener("change", () => choose({ model: model.value || null }));
    const choose = (changes) => {
      write.cancel();
      const own = state.get("text")?.trim();
      const given = text.value.trim();
      const isExample = Object.values(EXAMPLES).includes(given);
      state.set({ translation: null, ...changes, text: isExample ? "" : given || own || "" });
      fillMenus().then(() => {
        const next = sentence();
        if (isExample) text.value = next.text;
        text.lang = next.source;
      });
    };

    const fillMenus = async () => {
      const { languages, models } = await context.catalogue();
      const current = sentence();
      const option = (code, name, chosen) => el("option", { value: code, selected: code === chosen }, name);
      const name = (code) => context.languageName(code, languages.find((each) => each.code === code)?.name);
      const sources = languages.filter((each) => each.targets?.some((target) => target !== each.code));
      from.replaceChildren(...sources.map((each) => option(each.code, name(each.code), current.source)));
      const targets = languages.find((each) => each.code === current.source)?.targets ?? [current.target];
      const others = targets.filter((code) => code !== current.source);
      if (others.length && !others.includes(current.target)) state.set({ target: others[0] });
      to.replaceChildren(...others.map((code) => option(code, name(code), sentence().target)));
      const fitting = models.filter((each) => (each.directions ?? []).some(([a, b]) =>
        a === current.source && b === sentence().target));
      if (current.model && !fitting.some((each) => each.name === current.model)) state.set({ model: null });
      model.replaceChildren(option("", t("shell.usual_model"), state.get("model") ?? ""),
        ...fitting.map((each) => option(each.name, each.name, state.get("model"))));
      model.hidden = fitting.length < 2;
    };
    fillMenus().catch((error) => bar.append(errorNote(error)));
    return bar;
  };

  /** An error in words, as an element. */
  const errorNote = (error) => el("p", { class: "note error", role: "alert" }, error.message);

  return { sentence, sentenceBar, errorNote };
}
