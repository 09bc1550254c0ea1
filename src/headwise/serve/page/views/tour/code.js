// The lines of this repository that compute a station, with a little colour.

import { el } from "../../core/dom.js";

const PARTS = /("""[^]*?"""|"(?:[^"\\]|\\.)*")|(#.*)|\b(def|class|return|if|else|for|while|in|not|and|or|is|None|True|False|lambda|with|raise|self)\b|\b(\d+(?:\.\d+)?)\b/g;
const NAMES = ["string", "comment", "keyword", "number"];

function coloured(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(PARTS)) {
    parts.push(text.slice(end, match.index), el("span", { class: `tour-code-${NAMES[match.slice(1).findIndex(Boolean)]}` }, match[0]));
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

/** The blocks of code of a station, all of them open. */
export function codeOf({ say, trace, station }) {
  const blocks = trace.code.filter((each) => each.concept === station.code);
  return el("section", { class: "tour-card", "aria-labelledby": "tour-code" }, el("h3", { id: "tour-code" }, say("code")), blocks.map(({ file, first, last, lines }) =>
    el("details", { open: true }, el("summary", {}, el("code", {}, file), el("span", { class: "tour-number" }, say("code.lines", first, last))),
      el("pre", { tabindex: 0, role: "region", "aria-label": `${file}, ${say("code.lines", first, last)}` }, el("code", {}, coloured(lines.join("\n")))))));
}
