// Break it: a part of the model is switched off, and its effect on the translation is shown beside the usual one.

import { el } from "../../core/dom.js";
import { box, chooser, miniature, note, numbered, shown } from "./parts.js";

const counting = (count) => numbered(count).map((each) => String(Number(each) + 1));

/** The switches of a kind of damage, as the server takes them. */
export function switchesOf({ broken }, damage) {
  if (damage === "head") return { heads_off: [[broken.kind, ...broken.head]] };
  return damage === "memory" ? { memory_layer: broken.layer } : { [damage]: false };
}

/** The panel of a station that can be broken, with a switch for each kind of damage. */
export function breakIt(tour, damages) {
  const { say, damage: on } = tour;
  if (!damages.length) return null;
  const shownOne = on ?? (damages.length > 1 ? "any" : damages[0]);
  const button = (damage) => el("button", { type: "button", role: "switch", "aria-checked": String(on === damage), class: "tour-switch", id: `tour-break-${damage}`,
    on: { click: () => tour.choose({ damage: on === damage ? null : damage, off: null }, "load") } }, el("i"), say(`break.${damage}`));
  const result = box("result");
  if (on) compare(tour, result);
  return el("section", { class: `tour-card tour-breaking${on ? " tour-broken" : ""}`, "aria-labelledby": "tour-breaking" },
    el("h3", { id: "tour-breaking" }, say("breaking")), el("p", {}, say(`break.${shownOne}.text`)), box("choosers", damages.map(button)), details(tour, shownOne), result);
}

/** What else can be chosen: which head is off, or after which layer the memory is taken. */
function details({ say, usual, broken, choose }, damage) {
  if (damage === "memory") {
    return chooser("memory", say("break.memory.after"), counting(usual.model.encoder_layers - 1), broken.layer - 1, (index) => choose({ memory: index + 1 }, "load"));
  }
  if (damage !== "head") return null;
  const [layer, head] = broken.head;
  return chooser("off", say("break.head.which", say(`kind.${broken.kind}`), layer + 1), counting(usual.attention[broken.kind][layer].length), head,
    (index) => choose({ off: [layer, index] }, "load"));
}

/** Before and after: translations, their log-probabilities, and one head's attention. */
function compare(tour, result) {
  const { say, usual, trace } = tour;
  result.append(note(say("waiting")));
  tour.brokenTranslation().then((after) => result.replaceChildren(
    box("sides", side(tour, say("breaking.before"), usual, after), side(tour, say("breaking.after"), after, usual)),
    el("p", { role: "status", class: "tour-verdict" }, say(after.translation === usual.translation ? "breaking.same" : "breaking.changed")),
    el("p", { class: "tour-note", "data-value": trace.score }, say("breaking.thinks", usual.translation, shown(usual.score, 4), shown(trace.score, 4)))),
  (error) => result.replaceChildren(tour.context.errorNote(error)));
}

/** One translation; words that the other does not have are marked. */
function side(tour, label, mine, other) {
  const { say } = tour;
  const kind = tour.station.breakKind;
  const [layer, head] = tour.head(kind);
  return el("figure", { class: "tour-side" }, el("figcaption", {}, label),
    el("p", { lang: mine.target, dir: "auto" }, mine.target_words.map((word) => [el(other.target_words.includes(word) ? "bdi" : "mark", {}, word), " "])),
    el("span", { class: "tour-number", "data-value": mine.score }, say("perToken", shown(mine.score, 4))),
    box("joined", miniature(mine.attention[kind][layer][head]), el("small", {}, say("breaking.picture", say(`kind.${kind}`), layer + 1, head + 1))));
}
