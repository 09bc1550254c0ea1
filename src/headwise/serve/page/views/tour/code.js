// The lines of this repository that compute a station, with a little colour.

import { el } from "../../core/dom.js";

const PARTS = /("""[\s\S]*?"""|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(#.*)|\b(def|class|return|if|else|elif|for|while|in|not|and|or|is|None|True|False|import|from|lambda|with|raise|self|yield|assert)\b|\b(\d+(?:\.\d+)?)\b/g;
const NAMES = ["string", "comment", "keyword", "number"];

function coloured(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(PARTS)) {
    parts.push(text.slice(end, match.index), el("span", { class: `tour-code-${NAMES[match.slice(1).findIndex((each) => each !== undefined)]}` }, match[0]));
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

/** The blocks of code of a station, the first of them open. */
export function codeOf(tour) {
  const { t, trace, station } = tour;
  const names = typeof station.code === "function" ? station.code(trace.model) : station.code;
  const blocks = names.map((name) => (trace.code ?? []).find((each) => each.concept === name)).filter(Boolean);
  if (!blocks.length) return null;
  return el("section", { class: "tour-code", "aria-labelledby": "tour-code-title" }, el("h3", { id: "tour-code-title" }, t("tour.code")),
    blocks.map((block, index) => el("details", { open: index === 0 }, el("summary", {}, el("code", {}, block.file), el("span", { class: "tour-number" }, t("tour.code.lines", block.first, block.last))),
      el("pre", { tabindex: 0, role: "region", "aria-label": block.file, style: { "--first": block.first - 1 } }, el("code", {}, coloured(block.lines.join("\n")))))));
}
