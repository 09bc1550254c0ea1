// The settings of one side: model, precision and beam width.

import { el } from "../../core/dom.js";
import { menu } from "../common/controls.js";

const BEAMS = [1, 2, 3, 4, 6, 8];
const PRECISIONS = ["float32", "int8"];

/** A card with the settings of a side; `onChange(settings)`. */
export function settingsCard({ t }, side, settings, models, onChange) {
  const set =
    (name, read = (value) => value || undefined) =>
    (value) => {
      settings = { ...settings, [name]: read(value) };
      onChange(settings);
    };
  const names = [["", t("shell.usual_model")], ...models.map(({ name }) => [name, name])];
  const precisions = PRECISIONS.map((each) => [each, each]);
  const beams = BEAMS.map((beam) => [String(beam), beam === 1 ? t("compare.greedy") : String(beam)]);
  return el(
    "section",
    { class: "card panel" },
    el("h2", {}, t(`compare.${side}`)),
    el(
      "div",
      { class: "row" },
      menu(t("shell.model"), names, settings.model ?? "", set("model")),
      menu(t("compare.precision"), precisions, settings.precision ?? PRECISIONS[0], set("precision")),
      menu(t("compare.beam"), beams, String(settings.beam ?? 4), set("beam", Number)),
    ),
  );
}

/** The settings of a side in words, with what its trace says. */
export function settingsText({ t }, settings, trace) {
  const beam = settings.beam === 1 ? t("compare.greedy") : t("compare.beam_of", settings.beam ?? 4);
  return [trace.model.name, trace.model.precision, beam].join(" · ");
}
