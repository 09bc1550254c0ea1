// The menus of languages: those of the interface first, then the others, by name.

import { el } from "../../core/dom.js";
import { LANGUAGES } from "../../core/words.js";

/** Fill a menu with languages [{code, name}]; `first`: [value, text] of an entry before them. */
export function fillLanguages(menu, context, listed, chosen, first = null) {
  const named = listed.map(({ code, name }) => ({ code, name: context.languageName(code, name) }))
    .sort((a, b) => a.name.localeCompare(b.name, context.language));
  const ours = Object.keys(LANGUAGES);
  const entry = ({ code, name }) => el("option", { value: code, selected: code === chosen }, name);
  const near = named.filter((each) => ours.includes(each.code));
  const far = named.filter((each) => !ours.includes(each.code));
  menu.replaceChildren(
    ...(first ? [el("option", { value: first[0], selected: chosen === first[0] }, first[1])] : []),
    ...near.map(entry),
    ...(far.length ? [el("hr"), ...far.map(entry)] : []),
  );
  if (chosen) menu.value = chosen;
}

/** Languages that can be translated from. */
export function sourcesOf(languages) {
  return languages.filter((each) => each.targets.some((code) => code !== each.code));
}

/** Languages that a source can be translated to; of `auto`, all that any can. */
export function targetsOf(languages, source) {
  const from = source === "auto" ? languages : languages.filter((each) => each.code === source);
  const codes = new Set(from.flatMap((each) => each.targets.filter((code) => code !== each.code)));
  return languages.filter((each) => codes.has(each.code));
}

/** Whether there is a model from one language to another. */
export function translates(languages, source, target) {
  return source !== target && Boolean(languages.find((each) => each.code === source)?.targets.includes(target));
}
