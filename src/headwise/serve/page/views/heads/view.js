// Heads: what every attention head looks at, all at a glance and one enlarged.

import { el, replace } from "../../core/dom.js";
import { card, scrolling, tabList } from "../common/controls.js";
import { sharedTrace } from "../common/follow.js";
import { traceView } from "../common/trace-view.js";
import { makeChoice } from "./choice.js";
import { showGrid } from "./grid.js";
import { showLens } from "./lens.js";
import { showPicture } from "./picture.js";

const LONG_TEXT = 400; // characters from which the translation scrolls
const KINDS = ["encoder", "decoder", "cross"];

export const view = traceView("heads", show);

/** Everything below the sentence, for one trace. */
function show(content, context, trace) {
  const { t } = context;
  const choice = makeChoice(context, trace);
  const panel = el("div", { class: "stack" });
  const names = KINDS.filter((kind) => trace.attention[kind]?.length).map((kind) => [kind, t(`inside.${kind}`)]);
  const enlarged = el("section", { class: "card panel enlarged" });
  let grid = null;
  const onHeads = () => {
    grid.refresh();
    showPicture(enlarged, context, trace, choice, onHeads);
  };
  const onLayer = async () => {
    try {
      await loadLayer(context, trace, choice, panel);
      grid = showGrid(panel, context, trace, choice, { onHeads, onLayer });
      showPicture(enlarged, context, trace, choice, onHeads);
    } catch (error) {
      replace(panel, context.errorNote(error));
    }
  };
  const tabs = tabList(t("heads.kinds"), names, choice.kind, panel, (kind) => {
    choice.openKind(kind);
    onLayer();
  });
  const translation = el(
    "p",
    { class: "traced" },
    el("span", { lang: trace.source, dir: "auto" }, trace.text),
    el("span", { class: "arrow", "aria-hidden": "true" }, "→"),
    el("strong", { lang: trace.target, dir: "auto" }, trace.translation),
  );
  const long = trace.text.length > LONG_TEXT;
  const heading = long ? scrolling(t("heads.side_target"), translation) : translation;
  replace(content, el("div", { class: "heads-at-work" }, card(null, heading, tabs, panel), enlarged));
  if (trace.lens?.length) content.append(showLens(context, trace));
  onLayer();
}

/** The layer of the choice, asked for if it is missing: traces of long texts have one layer only. */
async function loadLayer(context, trace, { kind, layer }, panel) {
  if (trace.attention[kind][layer]) return;
  panel.setAttribute("aria-busy", "true");
  try {
    const part = await sharedTrace(context, { translation: trace.translation, only: { kind, layer } });
    trace.attention[kind][layer] = part.attention[kind][layer];
    trace.value_norms[kind][layer] = part.value_norms[kind][layer];
  } finally {
    panel.removeAttribute("aria-busy");
  }
}
