// The translation that is shown: asked for while its text is typed, corrected word by word, without stale answers.

import { debounced } from "../../core/dom.js";

// Milliseconds after a key; a slow model gets half the time that it took.
const LEAST_PAUSE = 30;
const MOST_PAUSE = 400;
// Milliseconds until the words of a translation are looked into.
const WORDS_PAUSE = 200;
// Sentences.
const MOST_LOOKED_INTO = 12;
// Characters that /api/words takes.
const LONGEST_SENTENCE = 1000;

/** The words of a text, as {text, start, end}. */
export function wordsOf(text) {
  return [...text.matchAll(/\S+/g)].map((found) => ({ text: found[0], start: found.index, end: found.index + found[0].length }));
}

/** A session: `given()` returns {text, source, target, model, glossary}; `changed(session)` is called after each change. */
export function makeSession(context, given, changed) {
  const { source: server, t } = context;
  // Sentences that the reader has corrected, by direction and source.
  const chosen = new Map();
  // Word probabilities, by direction, source and translation.
  const probabilities = new Map();
  let running = null;
  let looking = null;
  let pause = LEAST_PAUSE;

  const session = {
    text: "", source: "", target: "", sentences: [], detected: null, terms: [], corrected: false, pivot: "", error: null,
    busy: false, models: [],
    get translation() { return session.sentences.map((each) => each.text + each.separator).join("").trim(); },
  };
  const tell = () => changed(session);
  const place = (sentence) => [session.source, session.target, given().model ?? "", sentence.source].join("\n");

  const ask = (extra = {}, options = {}) => {
    const { text, source, target, model, glossary } = given();
    return server.translate({ texts: [text], source, target, model, alignments: true, sentences: true, alternatives: 3,
      ...(Object.keys(glossary).length ? { glossary } : {}), ...extra }, options);
  };

  async function translate() {
    clearTimeout(timer);
    lookLater.cancel();
    running?.abort();
    looking?.abort();
    const { text, source, target } = given();
    if (!text.trim()) {
      running = null;
      Object.assign(session, { text, sentences: [], detected: null, terms: [], corrected: false, pivot: "", error: null, busy: false });
      return tell();
    }
    const own = localCorrection(context, source, target, text);
    const mine = running = new AbortController();
    session.busy = true;
    tell();
    const began = performance.now();
    try {
      const { translations: [found] } = await ask({}, { signal: mine.signal });
      // A later text has been asked for.
      if (mine !== running) return;
      pause = Math.min(MOST_PAUSE, Math.max(LEAST_PAUSE, (performance.now() - began) / 2));
      accept(own === null ? found : { ...found, text: own, sentences: [], alignment: [], alternatives: [], corrected: true }, text);
    } catch (error) {
      if (mine !== running || error.name === "AbortError") return;
      Object.assign(session, { error, busy: false });
      tell();
    }
  }

  function accept(found, text) {
    Object.assign(session, {
      text, source: found.source, target: found.target, detected: found.detected ?? null, terms: found.terms ?? [],
      corrected: Boolean(found.corrected), pivot: found.pivot ?? "", models: found.models, error: null, busy: false,
    });
    const whole = { source: text, separator: "", text: found.text, alignment: found.alignment ?? [], alternatives: found.alternatives ?? [] };
    const listed = found.sentences?.length ? found.sentences : [whole];
    session.sentences = listed.map((each) => chosen.get(place(each)) ?? each)
      .map((each, number) => ({ ...each, separator: listed[number].separator }));
    for (const each of session.sentences) each.words = probabilities.get(place(each) + "\n" + each.text) ?? null;
    tell();
    if (!session.corrected && !session.pivot) lookLater();
  }

  /** Ask how probable the words are, sentence by sentence, once nothing changes any more. */
  async function look() {
    const mine = looking = new AbortController();
    for (const sentence of session.sentences.slice(0, MOST_LOOKED_INTO)) {
      if (sentence.words || sentence.edited || Math.max(sentence.source.length, sentence.text.length) > LONGEST_SENTENCE) continue;
      if (session.source === session.target || !sentence.text.trim()) continue;
      try {
        const { words } = await server.words({ ...direction(), text: sentence.source, translation: sentence.text }, { signal: mine.signal });
        probabilities.set(place(sentence) + "\n" + sentence.text, words);
        sentence.words = words;
        if (mine === looking) tell();
      // The translation is there; only its shading is not.
      } catch {
        if (mine !== looking) return;
      }
    }
  }
  const lookLater = debounced(look, WORDS_PAUSE);
  let timer = 0;
  const direction = () => ({ source: session.source, target: session.target, model: session.models[0] });

  Object.assign(session, {
    /** Translate after a pause that suits the model. */
    later() {
      clearTimeout(timer);
      timer = setTimeout(translate, pause);
    },
    /** Translate at once. */
    now: translate,
    /** What else might stand in the place of a word: [{word, probability, text}]. */
    async choices(number, word, options) {
      const sentence = session.sentences[number];
      const found = await server.words({ ...direction(), text: sentence.source, translation: sentence.text, word }, options);
      return found.choices;
    },
    /** Put a word into a translation: what is before it stays, what follows is translated anew. */
    async put(number, word, text) {
      const sentence = session.sentences[number];
      const before = wordsOf(sentence.text).slice(0, word).map((each) => each.text);
      const prefix = [...before, text.trim()].join(" ");
      const { translations: [found] } = await ask({ texts: [sentence.source], prefix, source: session.source });
      replaceSentence(number, found, [...(sentence.pinned ?? []).filter((each) => each < word), word]);
    },
    /** Take another translation of a sentence as it is. */
    async take(number, text) {
      const sentence = session.sentences[number];
      const others = [{ text: sentence.text }, ...(sentence.alternatives ?? [])].filter((each) => each.text !== text);
      replaceSentence(number, { text, alternatives: others });
      await realign(number);
    },
    /** Forget what the reader has chosen for a sentence. */
    reset(number) {
      chosen.delete(place(session.sentences[number]));
      return translate();
    },
    /** Use a text that the reader has written as the translation of all. */
    edit(text) {
      session.sentences = [{ source: session.text, separator: "", text, alignment: [], alternatives: [], words: null, edited: true }];
      tell();
    },
    clearChoices() { chosen.clear(); },
    stop() {
      clearTimeout(timer);
      running?.abort();
      looking?.abort();
      lookLater.cancel();
    },
  });

  /** Show another translation of a sentence; `pinned` are the words in it that the reader has chosen. */
  function replaceSentence(number, found, pinned = []) {
    const { separator, source } = session.sentences[number];
    const { text, alignment = [], alternatives = [] } = found;
    const sentence = { source, separator, text, alignment, alternatives, chosen: true, pinned, words: null };
    session.sentences = session.sentences.with(number, sentence);
    chosen.set(place(sentence), sentence);
    tell();
    lookLater();
  }

  /** Alignments of a translation that was taken as a whole: it is forced as the beginning of its own translation. */
  async function realign(number) {
    const sentence = session.sentences[number];
    try {
      const { translations: [found] } = await ask({ texts: [sentence.source], prefix: sentence.text, source: session.source, alternatives: 0 });
      if (session.sentences[number] !== sentence || found.text !== sentence.text) return;
      sentence.alignment = found.alignment;
      tell();
    } catch { /* shown without alignments */ }
  }

  return session;
}

/** A correction that was stored on this device, or null. */
export function localCorrection(context, source, target, text) {
  const all = context.stored.get("corrections", {});
  return all[[source === "auto" ? "" : source, target, text.trim()].join("\n")] ?? null;
}

/** Store a correction: on the server where that is allowed, or else on this device. True: on the server. */
export async function storeCorrection(context, session, translation) {
  const { settings } = await context.catalogue();
  const { text, source, target } = session;
  if (settings.suggestions) {
    await context.source.suggest({ q: text, s: translation, source, target });
    return true;
  }
  const all = context.stored.get("corrections", {});
  for (const from of ["", source]) all[[from, target, text.trim()].join("\n")] = translation;
  context.stored.set("corrections", all);
  return false;
}
