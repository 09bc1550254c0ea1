// The chosen head (or the mean of several), enlarged: lines between words, a heat map, and the numbers as a table.

import { el, replace } from "../../core/dom.js";
import { legend } from "../../draw/curves.js";
import { heatMap } from "../../draw/heat-map.js";
import { transposed } from "../../draw/merge-words.js";
import { percent, shown } from "../../draw/numbers.js";
import { foldedTable, numberTable } from "../../draw/number-table.js";
import { wordLines } from "../../draw/word-lines.js";
import { check, quiet, saveButtons } from "../common/controls.js";
import { LEAST_RANGE } from "./grid.js";
import { chosenWeights } from "./weights.js";

const MOST_WORDS = 128; // lines between more words than these would be a carpet

/** Fill the section with the picture of a choice; `again` is called when the choice of heads changed. */
export function showPicture(section, context, trace, choice, again) {
  const { t } = context;
  const weights = chosenWeights(trace, choice);
  const labels = { rows: weights.rows.map(({ label }) => label), columns: weights.columns.map(({ label }) => label) };
  const name = choice.heads.map((head) => `${choice.layer + 1}.${head + 1}`).join(", ");
  const title = t(choice.heads.length > 1 ? "heads.title_mean" : "heads.title", t(`inside.${choice.kind}`), name);
  const redraw = (key) => (on) => {
    choice.set(key, on);
    showPicture(section, context, trace, choice, again);
    section.querySelector(`[data-switch="${key}"] input`)?.focus();
  };
  const toggle = (key, on) => {
    const box = check(t(`heads.${key}`), on, redraw(key));
    box.dataset.switch = key;
    return box;
  };
  const head = el("div", { class: "row apart" }, el("h2", {}, title), roleNote(context, trace, choice));
  const switches = el(
    "div",
    { class: "row" },
    toggle("words", choice.merged),
    trace.value_norms ? toggle("values", choice.values) : null,
  );
  const notes = quiet(explanation(context, choice, weights));
  replace(section, head, switches, notes);
  section.append(
    el(
      "div",
      { class: "pictures" },
      linesPart(section, context, choice, weights, labels, title, trace),
      mapPart(section, context, choice, weights, labels, title, trace),
    ),
    foldedTable(t("inside.as_table"), () => asTable(context, weights, labels, title)),
  );
}

/** What the head does, as measured. */
function roleNote({ t }, trace, { kind, layer, heads }) {
  if (heads.length > 1) return null;
  const role = trace.roles?.find((each) => each.kind === kind && each.layer === layer && each.head === heads[0]);
  if (!role || role.role === "other") return null;
  return el("p", { class: "role-note" }, el("strong", {}, t(`role.${role.role}`)), ` ${percent(role.strength)}`);
}

function explanation({ t }, choice, weights) {
  const parts = [t(choice.values ? "heads.note_values" : "heads.note_plain")];
  if (choice.kind === "decoder") parts.push(t("heads.note_mask"));
  if (weights.columns.some((_, column) => weights.padding(column))) parts.push(t("heads.note_padding"));
  return parts.join(" ");
}

function fileName(trace, choice) {
  return `attention-${choice.kind}-${choice.layer + 1}-${choice.heads.map((head) => head + 1).join("-")}`;
}

function asJson(trace, choice, weights, labels) {
  const { kind, layer, heads, merged, values } = choice;
  const about = { model: trace.model?.name, text: trace.text, translation: trace.translation };
  return { ...about, kind, layer, heads, merged, value_norms: values, ...labels, weights: weights.mean };
}

/** Lines between the words: for cross-attention, the source stands first. */
function linesPart(section, context, choice, weights, labels, title, trace) {
  const { t } = context;
  const part = el("figure", { class: "lines-part" });
  if (Math.max(labels.rows.length, labels.columns.length) > MOST_WORDS) {
    part.append(el("p", { class: "note" }, t("heads.too_long", MOST_WORDS)));
    return part;
  }
  const crossing = choice.kind === "cross";
  const name = (head) => t("inside.head", choice.layer + 1, head + 1);
  const heads = weights.tables.map((table, index) => ({
    name: name(choice.heads[index]),
    colour: choice.heads[index],
    weights: crossing ? transposed(table) : table,
  }));
  const readout = el("output", { class: "readout" }, "\u00a0");
  const lines = wordLines({
    from: crossing ? labels.columns : labels.rows,
    to: crossing ? labels.rows : labels.columns,
    heads,
    label: t("heads.lines_label", title),
    width: section.clientWidth - 48,
    onWord: (word) => (readout.textContent = word ? strongest(context, weights, labels, word, crossing) : "\u00a0"),
  });
  const ends = crossing ? ["heads.side_source", "heads.side_target"] : ["heads.side_looking", "heads.side_seen"];
  const sides = el(
    "p",
    { class: "quiet-text sides" },
    el("span", {}, t(ends[0])),
    el("span", { "aria-hidden": "true" }, " ↕ "),
    el("span", {}, t(ends[1])),
  );
  part.append(el("figcaption", {}, el("h3", {}, t("heads.lines")), sides), lines, readout);
  if (heads.length > 1) part.append(legend(heads.map((head) => ({ name: head.name, colour: head.colour }))));
  part.append(saveButtons(context, `${fileName(trace, choice)}-lines`, { picture: () => lines.drawing }));
  return part;
}

/** The strongest three weights of one word, in words. */
function strongest({ t }, { mean }, labels, { side, index }, crossing) {
  const looks = (side === 0) !== crossing;
  const weights = looks ? mean[index] : mean.map((row) => row[index]);
  const others = looks ? labels.columns : labels.rows;
  const best = weights
    .map((weight, other) => [weight, others[other]])
    .sort((a, b) => b[0] - a[0])
    .slice(0, 3)
    .map(([weight, other]) => `${other} ${shown(weight)}`);
  return t(
    looks ? "heads.word_looks" : "heads.word_seen",
    (looks ? labels.rows : labels.columns)[index],
    best.join(" · "),
  );
}

function mapPart(section, context, choice, weights, labels, title, trace) {
  const { t } = context;
  const describe = (row, column, value) => {
    const hidden = weights.masked(row, column);
    const key = hidden ? (weights.padding(column) ? "heads.cell_padding" : "heads.cell_masked") : "heads.cell";
    return t(key, labels.rows[row], labels.columns[column], shown(value));
  };
  const map = heatMap({
    ...labels,
    values: weights.mean,
    masked: weights.masked,
    range: [0, Math.max(LEAST_RANGE, ...weights.mean.map((row) => Math.max(...row)))],
    label: t("heads.map_label", title),
    width: Math.min(section.clientWidth - 48, 980),
    describe,
  });
  const sides = quiet(t(choice.kind === "cross" ? "heads.map_cross" : "heads.map_self"));
  const pharaoh = trace.alignment ? () => trace.alignment.map((pair) => pair.join("-")).join(" ") : undefined;
  const save = saveButtons(context, fileName(trace, choice), {
    picture: () => map.drawing,
    json: () => asJson(trace, choice, weights, labels),
    pharaoh,
  });
  return el("figure", { class: "map-part" }, el("figcaption", {}, el("h3", {}, t("heads.map")), sides), map, save);
}

/** The weights with the sum of each row. */
function asTable({ t }, weights, labels, caption) {
  const values = weights.mean.map((row) => [...row, row.reduce((a, b) => a + b, 0)]);
  return numberTable({
    caption,
    corner: t("heads.corner"),
    rows: labels.rows,
    columns: [...labels.columns, t("heads.sum")],
    values,
    masked: (row, column) => column < labels.columns.length && weights.masked(row, column),
    maskedText: t("heads.masked_short"),
  });
}
