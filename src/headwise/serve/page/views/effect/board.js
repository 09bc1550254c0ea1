// The board of switches: all heads of all kinds, and the parts of the model that can be taken away.

import { debounced, el } from "../../core/dom.js";
import { headGrid } from "../../draw/head-grid.js";
import { thumbnail } from "../../draw/heat-map.js";
import { pooled } from "../../draw/merge-words.js";
import { button, check, choices, quiet } from "../common/controls.js";
import { PARTS } from "./switches.js";

const PIXELS = 40;
const PAUSE = 400;

/** A card with the switches; `onChange` is called after each. */
export function showBoard(context, trace, switches, onChange) {
  const { t } = context;
  let mode = "off";
  const grids = Object.keys(trace.attention)
    .filter((kind) => trace.attention[kind].length)
    .map((kind) => {
      const grid = kindGrid(context, trace, switches, kind, (heads) => {
        switches.toggle(heads, mode);
        refresh();
      });
      return { kind, grid };
    });
  const count = el("p", { class: "quiet-text", "aria-live": "polite" });
  const refresh = () => {
    for (const { grid } of grids) grid.refresh();
    count.textContent = t("effect.count", switches.count());
    onChange();
  };
  const other = el("input", { type: "text", value: switches.other, placeholder: t("effect.other_hint"), dir: "auto" });
  const typed = debounced(() => {
    switches.other = other.value.trim();
    onChange();
  }, PAUSE);
  other.addEventListener("input", () => typed());
  const field = el("label", { class: "labelled other" }, el("span", {}, t("effect.other")), other);
  field.hidden = true;
  const modes = choices(
    t("effect.mode"),
    ["off", "patched"].map((each) => [each, t(`effect.mode_${each}`)]),
    mode,
    (each) => {
      mode = each;
      field.hidden = mode !== "patched";
    },
  );
  const parts = PARTS.map((name) =>
    check(t(`effect.no_${name}`), switches.isPart(name), (broken) => {
      switches.setPart(name, broken);
      onChange();
    }),
  );
  const reset = button(t("effect.reset"), () => {
    switches.clear();
    for (const part of parts) part.querySelector("input").checked = false;
    refresh();
  });
  const boards = grids.map(({ kind, grid }) =>
    el("div", { class: "stack small" }, el("h3", {}, t(`inside.${kind}`)), grid),
  );
  count.textContent = t("effect.count", switches.count());
  return el(
    "section",
    { class: "card panel board" },
    el("h2", {}, t("effect.board")),
    modes,
    field,
    quiet(t("effect.board_about")),
    boards,
    el("div", { class: "row" }, parts),
    el("div", { class: "row apart" }, count, reset),
  );
}

/** The heads of one kind; the name of a layer switches the whole layer. */
function kindGrid({ t }, trace, switches, kind, toggle) {
  const attention = trace.attention[kind];
  const heads = attention.find((layer) => layer)?.length ?? trace.model.heads;
  const roles = new Map(
    trace.roles.filter((role) => role.kind === kind).map((role) => [`${role.layer} ${role.head}`, role.role]),
  );
  const make = (layer, head, state) => {
    const status = switches.of(kind, layer, head);
    if (state) return { pressed: status !== "", class: status };
    const weights = attention[layer]?.[head];
    const picture = weights ? thumbnail(pooled(weights, PIXELS), { range: [0, 0.7] }) : null;
    const role = roles.get(`${layer} ${head}`) ?? "other";
    const name = `${t(`inside.${kind}`)}, ${t("inside.head", layer + 1, head + 1)}: ${t(`role.${role}`)}`;
    return { picture, name, pressed: status !== "", class: status };
  };
  const layers = attention.map((_, layer) => layer);
  const grid = headGrid({
    layers,
    heads,
    label: t(`inside.${kind}`),
    layerName: (layer) => {
      const all = Array.from({ length: heads }, (_, head) => [kind, layer, head]);
      const name = button(t("inside.layer", layer + 1), () => toggle(all), "layer-switch");
      name.title = t("effect.whole_layer", layer + 1);
      return name;
    },
    make,
    onChoose: (layer, head) => toggle([[kind, layer, head]]),
  });
  return grid;
}
