// What the switches do: the translation before and now, and how likely the first one still is.

import { el, replace } from "../../core/dom.js";
import { heatMap } from "../../draw/heat-map.js";
import { pieceText, shown } from "../../draw/numbers.js";
import { outcomeBox, quiet, saveButtons } from "../common/controls.js";
import { difference } from "./difference.js";

// Smaller changes of a log-probability do not get the full colour.
const LEAST_RANGE = 0.5;

/** Fill the section. `changed`: null while nothing is switched, otherwise {own, given}, two traces with the switches. */
export function showResult(section, context, trace, changed) {
  const { t } = context;
  const line = (name, score, words) => outcomeBox(name, t("effect.score", shown(score)), trace.target, words);
  const before = line(t("effect.before"), trace.score, trace.translation);
  if (!changed) {
    replace(section, el("h2", {}, t("effect.result")), before, el("p", { class: "note" }, t("effect.nothing")));
    return;
  }
  const { own, given } = changed;
  const marks = { same: "span", gone: "del", new: "ins" };
  const words = difference(trace.translation, own.translation).flatMap(({ word, kind }) => [
    el(marks[kind], {}, word),
    " ",
  ]);
  const same = own.translation === trace.translation;
  const now = line(t("effect.now"), own.score, same ? own.translation : words);
  const verdict = same ? t("effect.unchanged") : t("effect.changed");
  context.announce(`${verdict} ${own.translation}`);
  const drop = given.score - trace.score;
  replace(
    section,
    el("h2", {}, t("effect.result")),
    before,
    now,
    el("p", { class: same ? "note" : "note warn" }, verdict),
    el("h3", {}, t("effect.probability")),
    quiet(t("effect.probability_about")),
    el("p", { class: "drop number" }, t("effect.drop", shown(trace.score), shown(given.score), signed(drop))),
  );
  section.append(...perToken(section, context, trace, given));
}

const signed = (value) => (value > 0 ? `+${shown(value)}` : shown(value));

/** The change of the log-probability of every token of the first translation. */
function perToken(section, context, trace, given) {
  const { t } = context;
  const change = trace.log_probability.map((value, index) => given.log_probability[index] - value);
  const most = Math.max(LEAST_RANGE, ...change.map(Math.abs));
  const columns = trace.target_tokens.map(({ piece }) => pieceText(piece));
  const map = heatMap({
    rows: [t("effect.change")],
    columns,
    values: [change],
    range: [-most, most],
    label: t("effect.change_label"),
    width: Math.max(280, section.clientWidth - 56),
    format: signed,
    describe: (_, column, value) =>
      t(
        "effect.token",
        columns[column],
        shown(trace.log_probability[column]),
        shown(given.log_probability[column]),
        signed(value),
      ),
  });
  const json = () => ({
    text: trace.text,
    switches: given.changed_by,
    tokens: trace.target_tokens.map(({ piece }) => piece),
    before: trace.log_probability,
    now: given.log_probability,
  });
  return [map, saveButtons(context, "cause-and-effect", { picture: () => map.drawing, json })];
}
