// The grid of all heads of one kind of attention: a small picture of each, with its name and its role.

import { el, replace } from "../../core/dom.js";
import { headGrid } from "../../draw/head-grid.js";
import { thumbnail } from "../../draw/heat-map.js";
import { pooled } from "../../draw/merge-words.js";
import { percent } from "../../draw/numbers.js";
import { button, check, menu, quiet } from "../common/controls.js";

const PIXELS = 72; // the longest side of a thumbnail
const LONG = 160; // tokens from which one layer is shown at a time

/** The role of each head: "kind layer head" -> {role, strength}. */
const rolesOf = (trace) =>
  new Map((trace.roles ?? []).map((role) => [`${role.kind} ${role.layer} ${role.head}`, role]));

/** The least that a full colour stands for: otherwise heads that look everywhere would look sharp. */
export const LEAST_RANGE = 0.35;

/** Fill the panel with the grid; the result has `refresh()`. Of a long text, one layer is shown at a time. */
export function showGrid(panel, context, trace, choice, { onHeads, onLayer }) {
  const { t } = context;
  const attention = trace.attention[choice.kind];
  const roles = rolesOf(trace);
  const long = attention.includes(null) || Math.max(trace.source_tokens.length, trace.target_tokens.length) > LONG;
  const layers = long ? [choice.layer] : attention.map((_, layer) => layer);

  const make = (layer, head, state) => {
    const role = roles.get(`${choice.kind} ${layer} ${head}`);
    const pressed = layer === choice.layer && choice.heads.includes(head);
    const name = t("inside.head", layer + 1, head + 1);
    const known = role && role.role !== "other";
    const meaning = known ? t("heads.role_strength", t(`role.${role.role}`), percent(role.strength)) : t("role.other");
    if (state) return { pressed };
    const weights = pooled(attention[layer][head], PIXELS);
    const most = Math.max(LEAST_RANGE, ...weights.map((row) => Math.max(...row)));
    const short = known ? { short: t(`role.short.${role.role}`), kind: role.role } : {};
    return { picture: thumbnail(weights, { range: [0, most] }), ...short, name: `${name}: ${meaning}`, pressed };
  };
  const grid = headGrid({
    layers,
    heads: attention[layers[0]].length,
    label: t("heads.grid"),
    layerName: (layer) => t("inside.layer", layer + 1),
    make,
    onChoose(layer, head, event) {
      choice.toggle(layer, head, choice.several || event.ctrlKey || event.metaKey || event.shiftKey);
      onHeads();
    },
  });
  const several = check(t("heads.several"), choice.several, (on) => choice.set("several", on));
  const all = button(
    t("heads.all"),
    () => {
      choice.all();
      onHeads();
    },
    "chip",
  );
  const controls = el("div", { class: "row" }, several, all);
  if (long) {
    const options = attention.map((_, layer) => [String(layer), t("inside.layer", layer + 1)]);
    const chooseLayer = menu(t("heads.one_layer"), options, String(choice.layer), (layer) => {
      choice.toggle(Number(layer), 0, false);
      onLayer();
    });
    controls.prepend(chooseLayer);
  }
  replace(
    panel,
    quiet(t(trace.translation === undefined ? "heads.about_text" : `heads.about_${choice.kind}`)),
    controls,
    grid,
  );
  return grid;
}
