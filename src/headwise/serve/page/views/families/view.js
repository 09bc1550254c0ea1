// Other families: GPT and Llama, BERT, and Vision Transformers.

import { debounced, el, replace } from "../../core/dom.js";
import { menu, slider } from "../common/controls.js";
import { showImage } from "./image.js";
import { showText } from "./text.js";

const PAUSE = 450;
const MOST_GENERATED = 32;
const EXAMPLES = { causal_lm: "Once upon a time there was a", masked_lm: "She drinks a cup of ___ every morning." };
const USUAL = "The weather is nice today.";

let controller = null;

export const view = {
  id: "families",
  title: (t) => t("nav.families"),
  async mount(root, context) {
    await Promise.all([context.load("inside"), context.load("heads"), context.load("decoding")]);
    const { t, state } = context;
    const { models } = await context.catalogue();
    const others = models.filter(({ kind }) => kind !== "translation");
    root.append(el("h1", {}, t("nav.families")), el("p", { class: "view-intro" }, t("families.intro")));
    if (!others.length) {
      root.append(nothing(context));
      return;
    }
    const inputs = el("section", { class: "card panel" });
    const content = el("div", { class: "stack" });
    const chosen = () => others.find(({ name }) => name === state.get("families.model")) ?? others[0];
    const names = others.map(({ name, kind }) => [name, `${name} (${t(`families.${kind}`)})`]);
    const choose = menu(t("shell.model"), names, chosen().name, (name) => {
      state.set({ "families.model": name, "families.kind": null, "families.layer": null, "families.heads": null });
      fill();
    });
    const ask = (body) => answer(content, context, chosen(), body);
    const fill = () => {
      replace(content);
      const { kind } = chosen();
      replace(inputs, choose, kind === "images" ? imageInput(context, ask) : textInput(context, kind, ask));
    };
    root.append(inputs, content);
    fill();
  },
  unmount() {
    controller?.abort();
  },
};

/** What to do where there is no such model. */
function nothing({ source, t }) {
  return el(
    "section",
    { class: "card panel" },
    el("h2", {}, t("families.none")),
    el("p", {}, t(source.live ? "families.none_about" : "families.none_in_file")),
    el(
      "pre",
      { class: "command", tabindex: 0 },
      "headwise convert FOLDER-OF-GPT-2 models/gpt2\nheadwise serve --models models",
    ),
  );
}

/** A text, and how many tokens are generated after it. */
function textInput(context, kind, ask) {
  const { state, t } = context;
  const text = el("textarea", {
    rows: 2,
    dir: "auto",
    spellcheck: "false",
    value: state.get("families.text") ?? EXAMPLES[kind] ?? USUAL,
  });
  const count = () => state.get("families.generate") ?? 0;
  const run = () => {
    if (!text.value.trim()) return;
    ask({ text: text.value, ...(kind === "causal_lm" && count() ? { generate: count() } : {}) });
  };
  const soon = debounced(run, PAUSE);
  text.addEventListener("input", () => {
    state.set({ "families.text": text.value });
    soon();
  });
  const parts = [
    el(
      "label",
      { class: "labelled field" },
      el("span", {}, t(kind === "masked_lm" ? "families.text_blank" : "families.text")),
      text,
    ),
  ];
  if (kind === "causal_lm") {
    parts.push(
      slider(t("families.generate"), { least: 0, most: MOST_GENERATED, value: count() }, (value) => {
        state.set({ "families.generate": value || null });
        soon();
      }),
    );
  }
  run();
  return parts;
}

/** A picture from a file. */
function imageInput({ t }, ask) {
  const file = el("input", { type: "file", accept: "image/*" });
  file.addEventListener("change", () => {
    if (!file.files[0]) return;
    const reader = new FileReader();
    reader.addEventListener("load", () => ask({ image: reader.result }));
    reader.readAsDataURL(file.files[0]);
  });
  return el("label", { class: "labelled" }, el("span", {}, t("families.image")), file);
}

/** Ask, and show the answer by its kind. */
async function answer(content, context, { name }, body) {
  controller?.abort();
  controller = new AbortController();
  const { signal } = controller;
  content.setAttribute("aria-busy", "true");
  try {
    const found = await context.source.family({ model: name, ...body }, { signal });
    if (signal.aborted) return;
    if (found.kind === "vision") showImage(content, context, found);
    else showText(content, context, found);
  } catch (error) {
    if (!signal.aborted) replace(content, context.errorNote(error));
  } finally {
    if (!signal.aborted) content.removeAttribute("aria-busy");
  }
}
