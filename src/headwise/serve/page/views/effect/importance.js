// The importance of every head: the BLEU that a test set loses without it, as a map.

import { el, replace } from "../../core/dom.js";
import { heatMap } from "../../draw/heat-map.js";
import { foldedTable, numberTable } from "../../draw/number-table.js";
import { shown } from "../../draw/numbers.js";
import { button, quiet, saveButtons } from "../common/controls.js";

const MOST_PAIRS = 200;
const OWN_SENTENCES = "page/views/effect/test-sentences.json"; // in five languages: enough to see which heads matter

/** Our own sentences of a direction as lines; none where we have no translations of them. */
async function ownPairs({ source, target }) {
  const { [source]: from, [target]: to } = await (await fetch(OWN_SENTENCES)).json();
  return from && to ? from.map((sentence, index) => `${sentence}\t${to[index]}`).join("\n") : "";
}

/** Pairs in lines with a tab between source and reference. */
function readPairs(text) {
  return text
    .split("\n")
    .map((line) => line.split("\t").map((side) => side.trim()))
    .filter(([source, reference]) => source && reference);
}

/** Fill the section: the test set, a button, a progress bar, and the maps. */
export function showImportance(section, context, trace) {
  const { source, t } = context;
  const text = el("textarea", { rows: 6, dir: "auto", spellcheck: "false" });
  if (source.live) ownPairs(trace).then((pairs) => (text.value ||= pairs));
  const start = button(t("effect.measure"), () => measure(), "button primary");
  const cancel = button(t("effect.stop"), () => controller?.abort());
  cancel.hidden = true;
  const bar = el("progress", { max: 1, value: 0, "aria-label": t("effect.progress"), hidden: true });
  const maps = el("div", { class: "importance-maps" });
  let controller = null;

  const measure = async () => {
    controller = new AbortController();
    const body = { ...context.sentence(), pairs: readPairs(text.value).slice(0, MOST_PAIRS) };
    delete body.text;
    busy(true);
    replace(maps);
    const progress = ({ done, of }) => (bar.value = of ? done / of : 0);
    try {
      showMaps(maps, context, await source.importance(body, { signal: controller.signal, progress }));
    } catch (error) {
      section.hidden = !source.live; // a saved page has a map only if one was measured for it
      if (error.name !== "AbortError") replace(maps, context.errorNote(error));
    } finally {
      busy(false);
    }
  };
  const busy = (on) => {
    start.disabled = on;
    cancel.hidden = !on;
    bar.hidden = !on;
    if (on) bar.value = 0;
  };
  const field = el("label", { class: "labelled field" }, el("span", {}, t("effect.pairs")), text);
  replace(section, el("h2", {}, t("effect.importance")), quiet(t("effect.importance_about")));
  if (source.live) section.append(field, el("div", { class: "row" }, start, cancel, bar));
  section.append(maps);
  if (!source.live) measure();
}

/** One heat map per kind of attention: layers down, heads across. */
function showMaps(place, context, { bleu, heads }) {
  const { t } = context;
  const kinds = [...new Set(heads.map(({ kind }) => kind))];
  const most = Math.max(...heads.map(({ lost }) => Math.abs(lost)), 1e-9);
  const maps = kinds.map((kind) => {
    const mine = heads.filter((each) => each.kind === kind);
    const size = (name) => Math.max(...mine.map((each) => each[name])) + 1;
    const values = Array.from({ length: size("layer") }, () => new Array(size("head")).fill(0));
    for (const { layer, head, lost } of mine) values[layer][head] = lost;
    const rows = values.map((_, layer) => t("inside.layer", layer + 1));
    const columns = values[0].map((_, head) => String(head + 1));
    const describe = (layer, head, value) =>
      t("effect.lost", t("inside.head", layer + 1, head + 1), shown(value), shown(bleu));
    const label = t("effect.importance_of", t(`inside.${kind}`));
    const map = heatMap({ rows, columns, values, range: [-most, most], label, describe, width: 620 });
    const save = saveButtons(context, `importance-${kind}`, {
      picture: () => map.drawing,
      json: () => ({ bleu, heads: mine }),
    });
    return el("figure", {}, el("figcaption", {}, el("h3", {}, t(`inside.${kind}`))), map, save);
  });
  const sorted = [...heads].sort((a, b) => b.lost - a.lost);
  const table = () =>
    numberTable({
      caption: t("effect.importance"),
      rows: sorted.map(({ kind, layer, head }) => `${t(`inside.${kind}`)}, ${t("inside.head", layer + 1, head + 1)}`),
      columns: [t("effect.bleu_without"), t("effect.bleu_lost")],
      values: sorted.map(({ bleu: without, lost }) => [without, lost]),
    });
  replace(place, el("p", {}, t("effect.bleu", shown(bleu))), maps, foldedTable(t("inside.as_table"), table));
}
