// Views of the trace that several of them share: a heading, the sentence, and what each makes of its trace.

import { el } from "../../core/dom.js";
import { follow, sharedTrace } from "./follow.js";

/** A view of the trace of the sentence. `show(content, context, trace)` fills it, anew after each change. */
export function traceView(id, show) {
  let stop = null;
  return {
    id,
    title: (t) => t(`nav.${id}`),
    async mount(root, context) {
      await context.load("inside");
      const { t } = context;
      const content = el("div", { class: "stack" });
      root.append(
        el("h1", {}, t(`nav.${id}`)),
        el("p", { class: "view-intro" }, t(`${id}.intro`)),
        context.sentenceBar(),
        content,
      );
      const ask = (signal) => sharedTrace(context, {}, { signal });
      stop = follow(context, content, ask, (trace) => show(content, context, trace));
    },
    unmount() {
      stop?.();
      stop = null;
    },
  };
}
