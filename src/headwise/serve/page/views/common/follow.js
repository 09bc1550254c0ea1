// Asking again whenever the sentence changes, and traces that several views share.

import { el } from "../../core/dom.js";

const SENTENCE = ["text", "source", "target", "model", "translation", "detected"];
const KEPT_TRACES = 4;

/** A note that an answer is being computed, for a place that is still empty. */
export const workingNote = ({ t }) => el("p", { class: "quiet-text busy", role: "status" }, t("shell.working"));

/**
 * Ask now, and again when the sentence changes; show the newest answer in `place`, or the error. `ask(signal)` returns
 * a promise. The result ends it, and its `again()` asks anew.
 */
export function follow(context, place, ask, show) {
  const waiting = workingNote(context);
  let controller = null;
  const again = async () => {
    controller?.abort();
    controller = new AbortController();
    const { signal } = controller;
    place.setAttribute("aria-busy", "true");
    // Not in it: what is busy is not read out.
    if (!place.hasChildNodes()) place.before(waiting);
    try {
      const answer = await ask(signal);
      if (!signal.aborted) show(answer);
    } catch (error) {
      if (signal.aborted || error.name === "AbortError") return;
      place.replaceChildren(context.errorNote(error));
    } finally {
      if (!signal.aborted) {
        place.removeAttribute("aria-busy");
        waiting.remove();
      }
    }
  };
  const unlisten = context.state.on((keys) => {
    if (SENTENCE.some((key) => keys.has(key))) again();
  });
  again();
  const stop = () => {
    unlisten();
    controller?.abort();
  };
  return Object.assign(stop, { again });
}

const traces = new Map();

/** A trace of the sentence, kept for the next view that asks for the same. */
export async function sharedTrace(context, extra = {}, options = {}) {
  const translation = context.state.get("translation");
  const body = { ...context.sentence(), ...(translation ? { translation } : {}), ...extra };
  const key = JSON.stringify(body);
  if (!traces.has(key)) {
    const trace = await context.source.trace(body, options);
    traces.set(key, trace);
    if (traces.size > KEPT_TRACES) traces.delete(traces.keys().next().value);
  }
  return traces.get(key);
}
