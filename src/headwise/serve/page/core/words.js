// The words of the interface: one JSON file per language and view, with the same keys in all.

export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français", it: "Italiano", hi: "हिन्दी" };

/** The words of a language. `load(name)` adds a file; `t(key, ...values)` is a text, with values for {0}, {1}. */
export function makeWords(language) {
  const texts = {};
  const loaded = new Map();
  const embedded = document.getElementById("headwise-texts");
  const all = embedded ? JSON.parse(embedded.textContent) : null;

  const fetched = async (name) => {
    const answer = await fetch(`page/texts/${language}/${name}.json`);
    if (!answer.ok) throw new Error(`texts/${language}/${name}.json: ${answer.status}`);
    return answer.json();
  };
  const read = async (name) => Object.assign(texts, all ? all[language]?.[name] : await fetched(name));
  const load = (name) => {
    if (!loaded.has(name)) loaded.set(name, read(name));
    return loaded.get(name);
  };
  const t = (key, ...values) =>
    (texts[key] ?? key).replace(/\{(\d)\}/g, (whole, number) => String(values[number] ?? whole));
  return { language, load, t };
}

/** The language of the interface: the one that was chosen, or the browser's first that is known. */
export function chosenLanguage(stored) {
  const wanted = [stored.get("language"), ...(navigator.languages ?? [])].filter(Boolean);
  const found = wanted.map((each) => each.toLowerCase().split("-")[0]).find((each) => each in LANGUAGES);
  return found ?? "en";
}

/** The name of a language of translation in the language of the interface; `usual` where the browser knows none. */
export function languageName(language, code, usual = code) {
  try {
    const name = new Intl.DisplayNames([language], { type: "language", fallback: "none" }).of(code);
    return name ? name[0].toLocaleUpperCase(language) + name.slice(1) : usual;
  } catch {
    return usual;
  }
}
