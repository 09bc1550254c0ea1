// The logit lens: which token each decoder layer would write if it were the last.

import { el } from "../../core/dom.js";
import { bars } from "../../draw/bars.js";
import { pieceText, percent, shown } from "../../draw/numbers.js";
import { card, namedTable, quiet, saveButtons, scrolling } from "../common/controls.js";

const MOST_TOKENS = 96;
const STRONGEST_SHADE = 34; // per cent of the heat colour: ink on it stays readable

/** A table of layers and target tokens; a cell opens the five likeliest. */
export function showLens(context, trace) {
  const { t } = context;
  const { lens } = trace;
  const tokens = trace.target_tokens.slice(0, MOST_TOKENS);
  const layerName = (layer) =>
    layer === 0
      ? t("heads.lens_embedding")
      : layer === lens.length - 1
        ? t("heads.lens_output", layer)
        : t("inside.layer", layer);
  const details = el("div", { class: "lens-details", "aria-live": "polite" }, quiet(t("heads.lens_choose")));
  let pressed = null;

  const open = (button, layer, position) => {
    pressed?.setAttribute("aria-pressed", "false");
    pressed = button;
    button.setAttribute("aria-pressed", "true");
    const written = pieceText(tokens[position].piece);
    const rows = lens[layer][position].map(({ piece, probability }) => ({
      name: pieceText(piece),
      value: probability,
      chosen: piece === tokens[position].piece,
    }));
    const title = t("heads.lens_at", layerName(layer), written);
    details.replaceChildren(el("h3", {}, title), bars({ rows, label: title, most: 1 }));
  };
  const cell = (layer, position) => {
    const [best] = lens[layer][position];
    const right = best.piece === tokens[position].piece;
    const seen = `${pieceText(best.piece)} ${percent(best.probability)}`;
    const where = [layerName(layer), pieceText(tokens[position].piece)];
    const name = `${seen}: ${t("heads.lens_cell", ...where, pieceText(best.piece), shown(best.probability))}`;
    const button = el(
      "button",
      { type: "button", "aria-pressed": "false", "aria-label": name, class: right ? "right" : null },
      el("span", { class: "lens-piece" }, pieceText(best.piece)),
      " ",
      el("span", { class: "lens-probability" }, percent(best.probability)),
    );
    const shade = (STRONGEST_SHADE * best.probability).toFixed(2);
    button.style.background = `color-mix(in srgb, var(--heat) ${shade}%, transparent)`;
    button.addEventListener("click", () => open(button, layer, position));
    return el("td", {}, button);
  };
  const rows = lens.map((line, layer) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, layerName(layer)),
      tokens.map((_, position) => cell(layer, position)),
    ),
  );
  const columns = ["", ...tokens.map((token) => pieceText(token.piece))];
  const scroll = scrolling(t("heads.lens"), namedTable(t("heads.lens"), columns, rows, "lens"));
  const save = saveButtons(context, "logit-lens", {
    json: () => ({ text: trace.text, tokens: trace.target_tokens.map(({ piece }) => piece), lens }),
  });
  return card(
    t("heads.lens"),
    quiet(t("heads.lens_about"), trace.target_tokens.length > MOST_TOKENS && ` ${t("heads.lens_first", MOST_TOKENS)}`),
    scroll,
    details,
    save,
  );
}
