// The last translations, kept on this device only.

import { debounced, el, replace } from "../../core/dom.js";
import { openDialog } from "../../core/dialog.js";
import { icon } from "../../core/icons.js";

const NAME = "history";
const MOST = 100;
const LONGEST = 5000; // characters of a text that is kept
const PAUSE = 1500; // milliseconds after which a translation counts as finished

/** The history: {record(session), open()}; `restore(entry)` shows an entry again. */
export function makeHistory(context, restore) {
  const { t, stored } = context;
  const entries = () => stored.get(NAME, []);
  const isKept = () => stored.get("history.kept", true);

  const record = debounced((entry) => {
    if (!isKept() || entry.text.length > LONGEST) return;
    const others = entries().filter((each) => each.text !== entry.text || each.target !== entry.target)
      .filter((each, number) => number > 0 || !grows(each, entry)); // the same text, a few words earlier
    stored.set(NAME, [entry, ...others].slice(0, MOST));
  }, PAUSE);

  return {
    /** Remember a translation once it stays as it is. */
    record(session) {
      const { text, source, target, translation } = session;
      if (text.trim() && translation && !session.busy && !session.error) {
        record({ text: text.trim(), source, target, translation, time: Date.now() });
      } else record.cancel();
    },
    stop() { record.cancel(); },
    open() {
      openDialog(context, t("translate.history"), (body, close) => {
        const list = el("ul", { class: "entries" });
        const clear = el("button", { type: "button", class: "button", on: { click: () => { stored.remove(NAME); show(); } } }, icon("trash"), t("translate.history_clear"));
        const keep = el("input", { type: "checkbox", checked: isKept(), on: { change: (event) => stored.set("history.kept", event.target.checked) } });
        const row = (entry) => el("li", {},
          el("button", { type: "button", class: "entry", on: { click: () => { close(); restore(entry); } } },
            el("span", { class: "quiet-text" }, `${context.languageName(entry.source)} → ${context.languageName(entry.target)} · ${when(entry.time, context.language)}`),
            el("span", { class: "entry-text", lang: entry.source, dir: "auto" }, entry.text),
            el("span", { class: "entry-text entry-translation", lang: entry.target, dir: "auto" }, entry.translation)),
          el("button", { type: "button", class: "icon-button", "aria-label": t("translate.history_remove", entry.text.slice(0, 60)), on: { click: () => {
            stored.set(NAME, entries().filter((each) => each.time !== entry.time));
            show();
          } } }, icon("close")));
        const show = () => {
          const listed = entries();
          clear.disabled = !listed.length;
          replace(list, listed.length ? listed.map(row) : el("li", { class: "quiet-text" }, t("translate.history_empty")));
        };
        body.append(el("p", { class: "quiet-text" }, t("translate.history_about")), list,
          el("div", { class: "row apart" }, el("label", { class: "check" }, keep, t("translate.history_keep")), clear));
        show();
      });
    },
  };
}

function grows(earlier, later) {
  return earlier.target === later.target && later.text.startsWith(earlier.text.slice(0, -1)) && Date.now() - earlier.time < 60_000;
}

function when(time, language) {
  return new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(time);
}
