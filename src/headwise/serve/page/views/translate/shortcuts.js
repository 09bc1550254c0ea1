// Keyboard shortcuts, and the dialog that lists them.

import { el } from "../../core/dom.js";
import { openDialog } from "../../core/dialog.js";

const KEYS = [
  ["/", "key_focus"], ["Ctrl + Enter", "key_now"], ["Alt + S", "key_swap"], ["Alt + C", "key_copy"], ["Alt + G", "key_glossary"],
  ["Alt + H", "key_history"], ["Alt + O", "key_file"], ["← →", "key_words"], ["Enter", "key_open"], ["Esc", "key_close"], ["?", "key_help"],
];

/** Listen to shortcuts: {focus, now, swap, copy, glossary, history} are functions, and file may be. The result ends it. */
export function listenToKeys(context, actions) {
  const letters = { KeyS: "swap", KeyC: "copy", KeyG: "glossary", KeyH: "history", KeyO: "file" };
  const handle = (event) => {
    if (document.querySelector("dialog[open]")) return;
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    const run = (action) => { event.preventDefault(); action(); };
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") run(actions.now);
    else if (event.altKey && !event.ctrlKey && !event.metaKey && actions[letters[event.code]]) run(actions[letters[event.code]]);
    else if (!typing && !event.ctrlKey && !event.metaKey && !event.altKey && event.key === "/") run(actions.focus);
    else if (!typing && event.key === "?") run(() => showKeys(context, actions.file));
  };
  document.addEventListener("keydown", handle);
  return () => document.removeEventListener("keydown", handle);
}

/** The dialog with all shortcuts; that of files only where they are translated. */
export function showKeys(context, files) {
  const known = KEYS.filter(([, text]) => files || text !== "key_file");
  openDialog(context, context.t("translate.keys"), (body) => {
    body.append(el("dl", { class: "keys" }, known.map(([keys, text]) => el("div", {},
      el("dt", {}, keys.split(" + ").map((key, number) => [number ? " + " : null, el("kbd", {}, key)])),
      el("dd", {}, context.t("translate." + text))))));
  });
}
