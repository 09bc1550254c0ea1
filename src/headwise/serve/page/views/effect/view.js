// Cause and effect: switch heads off, or take them from another sentence, and see what becomes of the translation.

import { debounced, el, replace } from "../../core/dom.js";
import { traceView } from "../common/trace-view.js";
import { showImportance } from "./importance.js";
import { showResult } from "./result.js";
import { makeSwitches } from "./switches.js";
import { showBoard } from "./board.js";

// Milliseconds after the last click: several switches become one request.
const PAUSE = 60;

export const view = traceView("effect", show);

/** The board of switches, what they do, and the map of importance. */
function show(content, context, trace) {
  const switches = makeSwitches(context, trace);
  const result = el("section", { class: "card panel result" });
  const importance = el("section", { class: "card panel" });
  let controller = null;

  const ask = async () => {
    controller?.abort();
    controller = new AbortController();
    const { signal } = controller;
    const body = { ...context.sentence(), switches: switches.body() };
    if (!switches.any()) {
      // Of an answer that is no longer waited for.
      result.removeAttribute("aria-busy");
      return showResult(result, context, trace, null);
    }
    result.setAttribute("aria-busy", "true");
    try {
      const [own, given] = await Promise.all([
        context.source.trace({ ...body, detail: "brief" }, { signal }),
        context.source.trace({ ...body, translation: trace.translation, detail: "brief" }, { signal }),
      ]);
      if (!signal.aborted) showResult(result, context, trace, { own, given });
    } catch (error) {
      if (!signal.aborted) replace(result, context.errorNote(error));
    } finally {
      if (!signal.aborted) result.removeAttribute("aria-busy");
    }
    return undefined;
  };
  const soon = debounced(ask, PAUSE);
  const board = showBoard(context, trace, switches, () => soon());
  replace(content, el("div", { class: "effect" }, board, result), importance);
  showImportance(importance, context, trace);
  ask();
}
