// What a visitor chooses at several stations: a token, a kind of attention, a layer and a head.

import { box, chooser, note, tokenRow } from "./parts.js";

export const KINDS = ["encoder", "decoder", "cross"];
const CLEAR = ["aligns", "previous", "next"];

/** The tokens that look (rows) and those that are looked at (columns) in a kind of attention. */
export function sides({ source_tokens: source, shown_tokens: shown }, kind) {
  return { rows: kind === "encoder" ? source : shown, columns: kind === "decoder" ? shown : source };
}

/** The head to open on: the one whose part is told most clearly by its role, of those that have numbers. */
export function telling({ roles, alignment_head: aligning, steps }, kind) {
  if (kind === "cross" && aligning) return [aligning.layer, aligning.head];
  const clear = (each) => each.strength + (CLEAR.includes(each.role) ? 1 : 0);
  const [best] = roles.filter((each) => each.kind === kind && steps.query_key_value[kind][each.layer][each.head]).sort((a, b) => clear(b) - clear(a));
  return best ? [best.layer, best.head] : [0, 0];
}

/** The row to begin with: the longest piece, so that it is neither a mark nor a full stop. */
export function tellingRow(tokens) {
  const lengths = tokens.map((token) => (/^<.*>$/.test(token.piece) ? 0 : token.piece.length));
  return lengths.indexOf(Math.max(...lengths));
}

const counting = (count) => Array.from({ length: count }, (_, index) => String(index + 1));

/** The chosen kind among those of a station, its layer and head, and the choosers of all three. */
export function attended(tour, kinds = KINDS, { heads = true, label = "kind", name = (kind) => tour.say(`kind.${kind}`), more } = {}) {
  const { say, trace } = tour;
  const kind = kinds.includes(tour.get("kind")) ? tour.get("kind") : kinds[0];
  const [layer, head] = tour.head(kind);
  const layers = trace.attention[kind];
  const choosers = box("choosers",
    kinds.length > 1 && chooser("kind", say(label), kinds.map(name), kinds.indexOf(kind), (index) => tour.choose({ kind: kinds[index] })),
    layers.length > 1 && chooser("layer", say("layer"), counting(layers.length), layer, (index) => tour.chooseHead(kind, index, head)),
    heads && layers[layer].length > 1 &&
      chooser("head", say("head"), counting(layers[layer].length), head, (index) => tour.chooseHead(kind, layer, index)), more);
  return { kind, layer, head, choosers, weights: layers[layer][head], numbers: tour.steps.query_key_value[kind][layer][head], ...sides(trace, kind) };
}

/** What is shown in place of numbers that a file of a long sentence lacks. */
export const absent = (tour, choosers) => [choosers, note(tour.say("gone"))];

/** The chosen row among these tokens, and the buttons to choose it. */
export function following(tour, label, tokens) {
  const row = Math.min(tour.get("row") ?? tellingRow(tokens), tokens.length - 1);
  return [row, tokenRow(tour.say(label), tokens, row, (index) => tour.choose({ row: index }))];
}

/** Choosers of the source or the target. */
export function sideChooser(tour) {
  const names = ["source", "target"];
  const side = tour.get("side") ?? "source";
  return [side, box("choosers", chooser("side", tour.say("side"), names.map((name) => tour.say(name)), names.indexOf(side), (index) => tour.choose({ side: names[index] })))];
}
