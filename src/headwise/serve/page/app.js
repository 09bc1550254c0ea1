// The shell: header, navigation between views, language, theme, and what every view receives as its context.

import { replace, el } from "./core/dom.js";
import { savePicture } from "./core/export.js";
import { makeHeader } from "./core/header.js";
import { makeSentence } from "./core/sentence.js";
import { makeSource } from "./core/source.js";
import { makeState } from "./core/state.js";
import { makeStored } from "./core/stored.js";
import { applyTheme } from "./core/theme.js";
import { chosenLanguage, languageName, makeWords } from "./core/words.js";

/** Views in the order of the navigation; each is loaded when it is opened. */
const VIEWS = {
  translate: () => import("./views/translate/view.js"),
  tour: () => import("./views/tour/view.js"),
  heads: () => import("./views/heads/view.js"),
  effect: () => import("./views/effect/view.js"),
  decoding: () => import("./views/decoding/view.js"),
  compare: () => import("./views/compare/view.js"),
  positions: () => import("./views/positions/view.js"),
  families: () => import("./views/families/view.js"),
};

const stored = makeStored();
const main = document.getElementById("main");
const announcer = document.getElementById("announcer");
let words = makeWords(chosenLanguage(stored));
const t = (...values) => words.t(...values);
const source = makeSource(t, stored);
const state = makeState(source.opening ?? { view: "translate", values: {} });

// The view on the page.
let shown = null;
// Counts openings: a view that loads slowly must not replace a later one.
let turn = 0;
let header = null;
let catalogue = null;

const context = {
  source,
  state,
  stored,
  t,
  get language() { return words.language; },
  /** Load another file of words: those that several views share. */
  load: (name) => words.load(name),
  languageName: (code, usual) => languageName(words.language, code, usual),
  /** {languages, models, settings} of the source, asked for once. */
  catalogue() {
    catalogue ??= Promise.all([source.languages(), source.models(), source.settings()])
      .then(([languages, models, settings]) => ({ languages, models, settings }))
      .catch((error) => { catalogue = null; throw error; });
    return catalogue;
  },
  /** A probability as a percentage. */
  percent: (share) =>
    new Intl.NumberFormat(words.language, { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 }).format(share),
  announce(text) {
    announcer.textContent = "";
    setTimeout(() => { announcer.textContent = text; }, 50);
  },
  export: savePicture,
};
Object.assign(context, makeSentence(context));

async function open() {
  const id = state.view in VIEWS ? state.view : "translate";
  const mine = ++turn;
  header.select(id);
  try {
    const [module] = await Promise.all([VIEWS[id](), words.load(id), style(id)]);
    if (mine !== turn) return;
    const moved = shown !== null;
    shown?.unmount?.();
    shown = module.view;
    document.title = `${shown.title(t)} – Headwise`;
    const root = el("div", { class: `view view-${id}`, "data-view": id });
    replace(main, root);
    await shown.mount(root, context);
    if (moved && mine === turn) {
      main.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
  } catch (error) {
    if (mine !== turn) return;
    console.error(error);
    replace(main, el("div", { class: "view" }, el("p", { class: "note error", role: "alert" }, t("error.view"), " ",
      error.message)));
  }
}

/** Load a view's own style sheet, once; a standalone file has them all. */
function style(id) {
  if (!source.live || document.getElementById("style-" + id)) return null;
  return new Promise((resolve) => {
    document.head.append(el("link", {
      id: "style-" + id, rel: "stylesheet", href: `page/styles/${id}.css`, on: { load: resolve, error: resolve },
    }));
  });
}

async function begin() {
  await words.load("shell");
  document.documentElement.lang = words.language;
  document.getElementById("skip").textContent = t("shell.skip");
  header = makeHeader(document.getElementById("top"), Object.keys(VIEWS), context, { language: speak });
  await open();
}

/** Change the language of the interface: the view is mounted again, its state stays. */
async function speak(language) {
  stored.set("language", language);
  words = makeWords(language);
  await begin();
  document.getElementById("interface-language")?.focus();
}

state.on((keys) => { if (keys.has("view")) open(); });
applyTheme(stored.get("theme"));
begin();
