// Break it: a part of the model is switched off, and its effect on the translation is shown beside the usual one.

import { el } from "../../core/dom.js";
import { chooser, shown } from "./grid.js";
import { counted } from "./choices.js";
import { miniature } from "./attending.js";

/** The switches of a kind of damage, as the server takes them. */
export function switchesOf(tour, damage) {
  if (!damage) return undefined;
  if (damage === "head") return { heads_off: [[tour.broken.kind, ...tour.broken.head]] };
  if (damage === "memory") return { memory_layer: tour.broken.layer };
  return { [damage]: false };
}

/** The panel of a station that can be broken, with a switch for each kind of damage. */
export function breakIt(tour, damages) {
  const { t } = tour;
  const on = damages.includes(tour.damage) ? tour.damage : null;
  const button = (damage) => el("button", { type: "button", role: "switch", "aria-checked": String(on === damage), class: "tour-switch", id: `tour-break-${damage}`,
    on: { click: () => tour.break(on === damage ? null : damage) } }, el("span", { class: "tour-knob", "aria-hidden": "true" }), t(`tour.break.${damage}`));
  const only = damages.length > 1 ? null : damages[0];
  const result = el("div", { class: "tour-result", "aria-live": "polite" });
  if (on) compare(tour, result);
  return el("section", { class: `tour-breaking${on ? " tour-broken" : ""}`, "aria-labelledby": "tour-breaking-title" },
    el("h3", { id: "tour-breaking-title" }, t("tour.breaking")), el("p", {}, t(`tour.break.${on ?? only ?? "any"}.text`)),
    el("div", { class: "tour-choosers" }, damages.map(button)), details(tour, on ?? only), result);
}

/** What else can be chosen: which head is off, or after which layer the memory is taken. */
function details(tour, damage) {
  const { t, usual } = tour;
  if (damage === "memory") {
    const layers = usual.model.encoder_layers;
    return chooser("tour-memory", t("tour.break.memory.after"), Array.from({ length: layers - 1 }, (_, index) => String(index + 1)), tour.broken.layer - 1,
      (index) => tour.breakWith({ layer: index + 1 }));
  }
  if (damage !== "head") return null;
  const { heads } = counted(usual, tour.broken.kind);
  const [layer, head] = tour.broken.head;
  return [
    chooser("tour-off", t("tour.break.head.which", t(`tour.kind.${tour.broken.kind}`), layer + 1), Array.from({ length: heads }, (_, index) => String(index + 1)), head,
      (index) => tour.breakWith({ head: [layer, index] })),
  ];
}

/** Before and after: translations, their log-probabilities, and one head's attention. */
function compare(tour, result) {
  const { t, usual } = tour;
  result.append(el("p", { class: "tour-note" }, t("tour.waiting")));
  tour.brokenTranslation().then((after) => {
    const same = after.translation === usual.translation;
    result.replaceChildren(
      el("div", { class: "tour-before-after" }, side(tour, t("tour.breaking.before"), usual, after), side(tour, t("tour.breaking.after"), after, usual)),
      el("p", { class: "tour-verdict" }, t(same ? "tour.breaking.same" : "tour.breaking.changed")),
      likelihood(tour));
  }, (error) => result.replaceChildren(tour.context.errorNote(error)));
}

/** One translation; words that the other does not have are marked. */
function side(tour, label, mine, other) {
  const { t } = tour;
  const theirs = new Set(other.target_words);
  const kind = tour.station.breakKind ?? "cross";
  const [layer, head] = tour.head(kind);
  return el("figure", { class: "tour-side" }, el("figcaption", {}, label),
    el("p", { lang: mine.target, dir: "auto" }, mine.target_words.flatMap((word) => [theirs.has(word) ? el("bdi", {}, word) : el("mark", {}, word), " "])),
    el("p", { class: "tour-number", "data-value": mine.score }, t("tour.perToken", shown(mine.score, 4))),
    el("div", { class: "tour-side-picture" }, miniature(mine.attention[kind][layer][head]), el("small", {}, t("tour.breaking.picture", t(`tour.kind.${kind}`), layer + 1, head + 1))));
}

/** What the broken model thinks of the usual translation. */
function likelihood(tour) {
  const { t, usual, trace } = tour;
  return el("p", { class: "tour-note", "data-value": trace.score }, t("tour.breaking.thinks", usual.translation, shown(usual.score, 4), shown(trace.score, 4)));
}
