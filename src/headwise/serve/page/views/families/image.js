// A Vision Transformer: what every head looks at in a picture, and the rollout through all layers.

import { el, replace } from "../../core/dom.js";
import { headGrid } from "../../draw/head-grid.js";
import { thumbnail } from "../../draw/heat-map.js";
import { shown } from "../../draw/numbers.js";
import { overImage } from "../../draw/over-image.js";
import { card, quiet, saveButtons } from "../common/controls.js";

const SIZE = 384;

/** Fill the place with an answer about a picture. */
export function showImage(place, context, answer) {
  const { t } = context;
  const [rows, columns] = answer.grid;
  const patches = (weights) =>
    Array.from({ length: rows }, (_, row) => weights.slice(1 + row * columns, 1 + (row + 1) * columns));
  const enlarged = el("section", { class: "card panel" });
  let chosen = { layer: answer.looks.length - 1, head: 0 };

  const picture = (weights, name) => {
    const describe = (row, column, value) => t("families.patch", row + 1, column + 1, shown(value));
    const drawn = overImage({ pixels: answer.pixels, weights: patches(weights), label: name, size: SIZE, describe });
    const file = name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");
    return [
      drawn,
      saveButtons(context, file, { picture: () => drawn.drawing, json: () => ({ grid: answer.grid, weights }) }),
    ];
  };
  const show = () => {
    const weights = answer.looks[chosen.layer][chosen.head];
    const title = t("inside.head", chosen.layer + 1, chosen.head + 1);
    replace(
      enlarged,
      el("h2", {}, title),
      picture(weights, title),
      quiet(t("families.class_token", shown(weights[0]))),
    );
  };
  const grid = headGrid({
    layers: answer.looks.map((_, layer) => layer),
    heads: answer.looks[0].length,
    label: t("families.heads"),
    layerName: (layer) => t("inside.layer", layer + 1),
    make: (layer, head, state) => {
      const pressed = chosen.layer === layer && chosen.head === head;
      if (state) return { pressed };
      const weights = patches(answer.looks[layer][head]);
      const most = Math.max(...weights.flat(), 1e-12);
      return {
        picture: thumbnail(weights, { range: [0, most] }),
        name: t("inside.head", layer + 1, head + 1),
        pressed,
      };
    },
    onChoose: (layer, head) => {
      chosen = { layer, head };
      grid.refresh();
      show();
    },
  });
  const rollout = card(
    t("families.rollout"),
    quiet(t("families.rollout_about")),
    picture(answer.rollout, t("families.rollout")),
  );
  const about = quiet(t("families.image_about"));
  const answerText = answer.label ? el("p", { class: "family-label" }, answer.label) : null;
  replace(
    place,
    card(t("families.prediction"), answerText, about, grid),
    el("div", { class: "family-pictures" }, enlarged, rollout),
  );
  show();
}
