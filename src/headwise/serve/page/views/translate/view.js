// The translator: two boxes, and everything that belongs to a translation around them.

import { el, replace } from "../../core/dom.js";
import { icon } from "../../core/icons.js";
import { LANGUAGES } from "../../core/words.js";
import { makeFiles } from "./files.js";
import { editGlossary, glossaryOf, termsOf } from "./glossary.js";
import { makeHistory } from "./history.js";
import { fillLanguages, sourcesOf, targetsOf, translates } from "./languages.js";
import { makeNotes } from "./notes.js";
import { makeSession, storeCorrection } from "./session.js";
import { listenToKeys, showKeys } from "./shortcuts.js";
import { makeSourcePane } from "./source-pane.js";
import { makeTargetPane, originOf } from "./target-pane.js";
import { makeWordMenu } from "./word-menu.js";

let leave = () => {};

export const view = {
  id: "translate",
  title: (t) => t("nav.translate"),
  async mount(root, context) {
    const { languages, models, settings } = await context.catalogue();
    leave = new Translator(root, context, { languages, models, settings }).open();
  },
  unmount() { leave(); },
};

/** The view while it is on the page. */
class Translator {
  constructor(root, context, catalogue) {
    Object.assign(this, { root, context, t: context.t, state: context.state }, catalogue);
    this.chooseDirection();
    this.session = makeSession(context, () => this.given(), (session) => this.show(session));
    this.source = makeSourcePane(context, (text) => this.typed(text));
    this.target = makeTargetPane(context, {
      look: (sentence, word) => this.look(sentence, word),
      open: (sentence, word, element) => {
        this.menu.open(this.session, this.target, sentence, word, element);
        this.look(null);
      },
    });
    this.menu = makeWordMenu(context, {
      glossary: (term, translation) => this.glossary([term, translation]),
      closed: () => this.look(null),
    });
    this.files = makeFiles(context, () => this.direction());
    this.history = makeHistory(context, (entry) => this.restore(entry));
    this.notes = makeNotes(context, this);
  }

  /** Put everything on the page; the result takes it off. */
  open() {
    const { context, state } = this;
    this.build();
    this.asked = this.asking();
    this.source.box.value = state.get("text") ?? "";
    this.source.fit();
    this.fillMenus();
    this.count();
    const ends = [
      listenToKeys(context, {
        focus: () => this.source.box.focus(), now: () => this.session.now(), swap: () => this.swap(), copy: () => this.copy(),
        glossary: () => this.glossary(), history: () => this.history.open(),
        ...(this.settings.filesTranslation ? { file: () => this.files.choose() } : {}),
      }),
      state.on((keys) => { if (["text", "source", "target", "model"].some((key) => keys.has(key))) this.follow(); }),
      () => this.session.stop(),
      () => this.history.stop(),
    ];
    const outside = (event) => { if (this.menu.isOpen && !event.target.closest(".word-menu, .word")) this.menu.close(false); };
    document.addEventListener("pointerdown", outside);
    ends.push(() => document.removeEventListener("pointerdown", outside));
    if (this.source.box.value) this.session.now();
    else this.show(this.session);
    if (matchMedia("(pointer: fine)").matches) this.source.box.focus({ preventScroll: true });
    return () => { for (const end of ends) end(); };
  }

  // --- what is asked for -----------------------------------------------------------------------------

  given() {
    const { state } = this;
    const { source, target } = this.direction();
    const from = source === "auto" ? state.get("detected") ?? "" : source;
    return {
      text: this.source.box.value, source, target, model: state.get("model") ?? undefined,
      glossary: from ? glossaryOf(this.context, from, target) : {},
    };
  }

  direction() { return { source: this.state.get("source"), target: this.state.get("target") }; }

  chooseDirection() {
    const { state, languages, settings } = this;
    const known = (code) => languages.some((each) => each.code === code);
    const source = state.get("source") === "auto" || known(state.get("source")) ? state.get("source") : "auto";
    const targets = targetsOf(languages, source).map((each) => each.code);
    const wished = [state.get("target"), this.context.language, settings.language?.target?.code, ...Object.keys(LANGUAGES)];
    const target = wished.find((code) => targets.includes(code) && !(source === "auto" && code === "en" && targets.length > 1 && !state.get("target"))) ?? targets[0] ?? "";
    state.set({ source, target });
  }

  typed(text) {
    this.asked = this.asking(text);
    this.menu.close(false);
    this.state.set({ text, translation: null });
    this.count();
    if (text.length > this.settings.charLimit) { this.session.stop(); return this.notes.tooLong(this.settings.charLimit); }
    this.session.later();
  }

  /** What a translation depends on; a change of the state that changes this is translated. */
  asking(text = this.state.get("text") ?? "") {
    return JSON.stringify([text, this.state.get("source"), this.state.get("target"), this.state.get("model") ?? ""]);
  }

  /** The state has changed: by a menu, by the back button, or in another view. */
  follow() {
    this.chooseDirection();
    const asked = this.asking();
    if (asked === this.asked) return;
    this.asked = asked;
    const text = this.state.get("text") ?? "";
    if (text !== this.source.box.value) {
      this.source.box.value = text;
      this.source.fit();
      this.count();
    }
    this.menu.close(false);
    this.fillMenus();
    this.session.now();
  }

  set(changes) { this.state.set({ model: null, translation: null, ...changes }); }

  swap() {
    const { source, target } = this.direction();
    const from = source === "auto" ? this.session.detected?.language ?? this.session.source : source;
    if (!translates(this.languages, target, from)) return this.context.announce(this.t("translate.swap_not"));
    this.session.clearChoices();
    this.set({ source: target, target: from, text: this.session.translation || this.source.box.value });
  }

  restore({ text, source, target }) {
    this.set({ text, source, target });
    this.source.box.focus();
  }

  clear() {
    this.session.clearChoices();
    this.restore({ text: "", ...this.direction() });
  }

  // --- what is shown ---------------------------------------------------------------------------------

  build() {
    const { t, context } = this;
    const menu = (id, label, choose) => el("select", { id, "aria-label": label, class: "language", on: { change: (event) => choose(event.target.value) } });
    this.from = menu("source-language", t("translate.source_language"), (source) => this.set({ source }));
    this.to = menu("target-language", t("translate.target_language"), (target) => this.set({ target }));
    this.model = menu("model", t("shell.model"), (model) => this.state.set({ model: model || null }));
    this.model.classList.add("quiet");
    const press = (name, label, run, attributes = {}) => el("button", { type: "button", class: "icon-button", "aria-label": label, title: label, on: { click: run }, ...attributes }, icon(name));
    this.swapButton = press("swap", t("translate.swap"), () => this.swap(), { id: "swap" });
    this.clearButton = press("close", t("translate.clear"), () => this.clear());
    this.copyButton = press("copy", t("translate.copy"), () => this.copy(), { id: "copy" });
    this.editButton = press("pen", t("translate.edit"), () => this.notes.edit(), { id: "edit" });
    this.counter = el("span", { class: "quiet-text number", id: "count" });
    this.insideLink = el("a", { class: "button plain", href: "#heads", on: { click: (event) => { event.preventDefault(); this.inside(); } } }, t("translate.inside"));
    const fileButton = this.settings.filesTranslation && el("button", { type: "button", class: "button plain", "aria-label": t("translate.file_choose"), on: { click: () => this.files.choose() } }, icon("file"), el("span", { class: "wide" }, t("translate.file_choose")));

    const left = el("section", { class: "pane", "aria-label": t("translate.source_text") },
      el("div", { class: "pane-head" }, this.from), this.source.root,
      el("div", { class: "pane-foot" }, fileButton, el("span", { class: "spring" }), this.counter, this.clearButton));
    const right = el("section", { class: "pane pane-target", "aria-label": t("translate.translation") },
      el("div", { class: "pane-head" }, this.to, this.model),
      el("div", { class: "translate-out" }, this.target.root, this.notes.editor), this.notes.states,
      el("div", { class: "pane-foot" }, this.insideLink, el("span", { class: "spring" }), this.editButton, this.copyButton),
      this.menu.root);
    this.panes = el("div", { class: "panes card" }, left, this.swapButton, right);
    const tool = (name, label, run) => el("button", { type: "button", class: "button", on: { click: run } }, icon(name), label);
    this.keysButton = tool("keyboard", t("translate.keys"), () => showKeys(context, this.settings.filesTranslation));
    this.keysButton.classList.add("for-keys");
    this.glossaryButton = tool("book", t("translate.glossary"), () => this.glossary());
    replace(this.root,
      el("h1", { class: "unseen" }, t("nav.translate")), this.panes, this.files.root, this.notes.root,
      el("div", { class: "row translate-tools" }, this.glossaryButton, tool("history", t("translate.history"), () => this.history.open()),
        this.keysButton));
    if (context.source.live) this.takeDrops();
  }

  takeDrops() {
    const holds = (event) => event.dataTransfer?.types.includes("Files");
    this.root.addEventListener("dragover", (event) => { if (holds(event)) { event.preventDefault(); this.panes.classList.add("dropping"); } });
    this.root.addEventListener("dragleave", (event) => { if (!this.root.contains(event.relatedTarget)) this.panes.classList.remove("dropping"); });
    this.root.addEventListener("drop", (event) => {
      this.panes.classList.remove("dropping");
      if (!holds(event)) return;
      event.preventDefault();
      this.files.add([...event.dataTransfer.files]);
    });
    this.panes.dataset.drop = this.t("translate.drop");
  }

  fillMenus() {
    const { context, t, languages } = this;
    const { source, target } = this.direction();
    const found = this.session.detected;
    const auto = found && source === "auto" ? t("translate.detected", context.languageName(found.language)) : t("translate.detect");
    fillLanguages(this.from, context, sourcesOf(languages), source, ["auto", auto]);
    fillLanguages(this.to, context, targetsOf(languages, source), target);
    const from = source === "auto" ? found?.language : source;
    const fitting = this.models.filter((each) => each.directions.some(([a, b]) => (!from || a === from) && b === target));
    this.model.hidden = fitting.length < 2 || !from;
    this.model.replaceChildren(...[{ name: "", label: t("shell.usual_model") }, ...fitting].map((each) =>
      el("option", { value: each.name, selected: each.name === (this.state.get("model") ?? "") }, each.label ?? each.name)));
    this.source.box.lang = from ?? "";
    const terms = from ? termsOf(context, from, target).length : 0;
    this.glossaryButton.lastChild.textContent = terms ? t("translate.glossary_count", terms) : t("translate.glossary");
    this.swapButton.disabled = source !== "auto" && !translates(languages, target, source);
  }

  count() {
    const format = new Intl.NumberFormat(this.context.language);
    const length = this.source.box.value.length;
    // A saved page has no limit.
    const limit = this.settings.charLimit;
    this.counter.textContent = limit ? `${format.format(length)} / ${format.format(limit)}` : "";
    this.counter.classList.toggle("over", length > limit);
    this.clearButton.hidden = !length || this.source.box.readOnly;
  }

  show(session) {
    const detected = session.detected?.language ?? null;
    if (detected !== (this.state.get("detected") ?? null) && !session.busy) {
      this.state.set({ detected });
      const known = detected && Object.keys(glossaryOf(this.context, detected, session.target)).length;
      if (known && this.state.get("source") === "auto") this.session.now(); // now its terms are known, too
    }
    this.target.show(session);
    this.fillMenus();
    this.root.classList.toggle("is-busy", session.busy);
    const empty = !session.sentences.length;
    for (const button of [this.copyButton, this.editButton]) button.disabled = empty;
    this.insideLink.hidden = empty;
    this.notes.show(session);
    this.history.record(session);
    if (!session.busy && !empty) this.sayLater(session.translation);
  }

  sayLater(text) {
    clearTimeout(this.saying);
    if (text === this.said) return;
    this.saying = setTimeout(() => { this.said = text; this.context.announce(text); }, 1200);
  }

  /** Mark where a word of the translation came from. */
  look(sentence, word) {
    if (sentence === null && this.menu.at) [sentence, word] = this.menu.at;
    const known = sentence !== null && this.session.sentences[sentence] && this.session.text === this.source.box.value;
    this.source.mark(known ? originOf(this.session, sentence, word) : []);
  }

  // --- actions ---------------------------------------------------------------------------------------

  async copy() {
    if (!this.session.translation) return;
    await navigator.clipboard.writeText(this.session.translation);
    replace(this.copyButton, icon("check"));
    this.context.announce(this.t("translate.copied"));
    setTimeout(() => replace(this.copyButton, icon("copy")), 1500);
  }

  glossary(added = null) {
    const { target } = this.direction();
    const source = this.session.source || (this.direction().source === "auto" ? "en" : this.direction().source);
    editGlossary(this.context, { source, target }, () => { this.session.clearChoices(); this.fillMenus(); this.session.now(); }, added);
  }

  /** Store a translation that was written by hand. */
  async correct(translation) {
    this.session.edit(translation);
    const shared = await storeCorrection(this.context, this.session, translation);
    this.session.corrected = true;
    this.notes.show(this.session);
    this.context.announce(this.t(shared ? "translate.corrected_server" : "translate.corrected_device"));
  }

  inside() {
    const { session } = this;
    const sentence = session.sentences[0];
    this.state.go("heads", { text: sentence.source.trim(), source: session.source, target: session.target,
      translation: sentence.chosen || sentence.edited ? sentence.text : null });
  }
}
