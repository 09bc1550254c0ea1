// Compare: two models or settings side by side, with the first token where they part; and the checkpoints of a run.

import { debounced, el, replace } from "../../core/dom.js";
import { button } from "../common/controls.js";
import { follow } from "../common/follow.js";
import { showCheckpoints } from "./checkpoints.js";
import { showOutcome } from "./outcome.js";
import { settingsCard } from "./settings.js";

const USUAL = { left: { beam: 1 }, right: { beam: 4 } };
const PAUSE = 50;

let stop = null;

export const view = {
  id: "compare",
  title: (t) => t("nav.compare"),
  async mount(root, context) {
    await context.load("inside");
    const { source, state, t } = context;
    const sides = () => ({
      left: state.get("compare.left") ?? USUAL.left,
      right: state.get("compare.right") ?? USUAL.right,
    });
    const outcome = el("div", { class: "stack" });
    const settings = el("div", { class: "compare-sides" });
    const checkpoints = el("section", { class: "card panel" });
    const again = debounced(() => stop.again(), PAUSE);
    const fillSettings = async () => {
      const models = source.live ? (await context.catalogue()).models.filter(({ kind }) => kind === "translation") : [];
      const change = (side) => (chosen) => {
        state.set({ [`compare.${side}`]: chosen });
        again();
      };
      replace(
        settings,
        ["left", "right"].map((side) => settingsCard(context, side, sides()[side], models, change(side))),
      );
    };
    const presets = presetRow(context, (chosen) => {
      state.set({ "compare.left": chosen.left, "compare.right": chosen.right });
      fillSettings();
      again();
    });
    root.append(
      el("h1", {}, t("nav.compare")),
      el("p", { class: "view-intro" }, t("compare.intro")),
      context.sentenceBar(),
    );
    if (source.live) {
      root.append(presets, settings);
      await fillSettings();
    }
    root.append(outcome);
    if (source.checkpoints) root.append(checkpoints);
    const ask = (signal) => {
      const { model, ...sentence } = context.sentence();
      const { left, right } = sides();
      const usual = model ? { model } : {};
      const body = source.live ? { ...sentence, left: { ...usual, ...left }, right: { ...usual, ...right } } : sentence;
      return source.compare(body, { signal });
    };
    if (source.checkpoints) showCheckpoints(checkpoints, context);
    stop = follow(context, outcome, ask, (answer) => showOutcome(outcome, context, answer, sides()));
  },
  unmount() {
    stop?.();
    stop = null;
  },
};

/** Comparisons that are often wanted. */
function presetRow({ t }, choose) {
  const presets = {
    greedy_beam: { left: { beam: 1 }, right: { beam: 4 } },
    float_int8: { left: { beam: 4, precision: "float32" }, right: { beam: 4, precision: "int8" } },
  };
  const buttons = Object.entries(presets).map(([name, sides]) =>
    button(t(`compare.${name}`), () => choose(sides), "chip"),
  );
  return el("div", { class: "row" }, buttons);
}
