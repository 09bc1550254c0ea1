// What a visitor chooses at several stations: a token, a kind of attention, a layer and a head.

import { el } from "../../core/dom.js";
import { chooser, piece } from "./grid.js";

export const KINDS = ["encoder", "decoder", "cross"];

/** The tokens that look (rows) and those that are looked at (columns) in a kind of attention. */
export function sides(trace, kind) {
  if (kind === "encoder") return { rows: trace.source_tokens, columns: trace.source_tokens };
  return { rows: trace.shown_tokens, columns: kind === "cross" ? trace.source_tokens : trace.shown_tokens };
}

/** How many layers and heads a kind of attention has. */
export function counted(trace, kind) {
  const layers = trace.attention[kind];
  return { layers: layers.length, heads: layers[0].length };
}

/** The head to open on: the one whose part is told most clearly by its role. */
export function telling(trace, kind) {
  if (kind === "cross" && trace.alignment_head) return [trace.alignment_head.layer, trace.alignment_head.head];
  const wanted = ["aligns", "previous", "next", "same", "first", "punctuation", "broad", "other"];
  const found = (trace.roles ?? []).filter((each) => each.kind === kind);
  const rank = (each) => (["aligns", "previous", "next"].includes(each.role) ? 1 + each.strength : each.strength - wanted.indexOf(each.role) / 10);
  const best = found.sort((a, b) => rank(b) - rank(a))[0];
  return best ? [best.layer, best.head] : [0, 0];
}

/** Choosers of layer and head of a kind, and of the kind where a station has several. */
export function headChoosers(tour, kinds, withHead = true) {
  const { t, trace, pick } = tour;
  const kind = kinds.includes(pick.kind) ? pick.kind : kinds[0];
  const { layers, heads } = counted(trace, kind);
  const [layer, head] = tour.head(kind);
  const numbers = (count) => Array.from({ length: count }, (_, index) => String(index + 1));
  return el("div", { class: "tour-choosers" },
    kinds.length > 1 && chooser("tour-kind", t("tour.kind"), kinds.map((each) => t(`tour.kind.${each}`)), kinds.indexOf(kind),
      (index) => tour.choose({ kind: kinds[index] })),
    layers > 1 && chooser("tour-layer", t("tour.layer"), numbers(layers), layer, (index) => tour.chooseHead(kind, index, head)),
    withHead && heads > 1 && chooser("tour-head", t("tour.head"), numbers(heads), head, (index) => tour.chooseHead(kind, layer, index)));
}

/** The kind that is chosen among those of a station. */
export function chosenKind(tour, kinds) {
  return kinds.includes(tour.pick.kind) ? tour.pick.kind : kinds[0];
}

/** A row of tokens as buttons: `point(index)` runs on hover and focus, `choose(index)` on a click. */
export function tokenRow(label, tokens, { chosen = -1, point = () => {}, choose = () => {} } = {}) {
  const buttons = tokens.map((token, index) => el("button", {
    type: "button", class: "tour-token", tabindex: index === Math.max(0, chosen) ? 0 : -1, "aria-pressed": String(index === chosen),
    on: { mouseenter: () => point(index), focus: () => point(index), click: () => choose(index) },
  }, piece(token)));
  const walk = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = buttons[buttons.indexOf(document.activeElement) + step];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    next?.focus();
  };
  return el("div", { class: "tour-tokens", role: "group", "aria-label": label, on: { keydown: walk } },
    el("span", { class: "tour-label", "aria-hidden": "true" }, label), buttons);
}

/** The row to begin with: the longest word's first piece, so that it is neither a mark nor a full stop. */
export function tellingRow(tokens) {
  const lengths = tokens.map((token) => ((token.word ?? 0) >= 0 && !/^<.*>$/.test(token.piece) ? token.piece.length : 0));
  return Math.max(0, lengths.indexOf(Math.max(...lengths)));
}
