// What the stations share: the trace of the sentence, what was chosen, and what is broken.

import { breakIt, switchesOf } from "./breaking.js";
import { telling, tellingRow } from "./choices.js";
import { STATIONS } from "./stations.js";

const BEAM = 4;

/** The tour of a context. `changed(what)` redraws: "figure", "station" or "sentence". */
export function makeGuide(context, changed) {
  const { state, source, t } = context;
  const answers = new Map();
  const ask = (method, body) => {
    const key = method + JSON.stringify(body);
    if (!answers.has(key)) {
      const answer = source[method](body);
      answers.set(key, answer);
      answer.catch(() => answers.delete(key));
    }
    return answers.get(key);
  };
  const get = (name, usual) => state.get(`tour.${name}`) ?? usual;
  const set = (values) => state.set(Object.fromEntries(Object.entries(values).map(([name, value]) => [`tour.${name}`, value])));
  const sentence = () => ({ ...context.sentence(), ...(state.get("translation") ? { translation: state.get("translation") } : {}) });

  const tour = {
    context,
    t,
    get language() { return context.language; },
    trace: null, // what the figures show: the broken model's numbers while something is broken
    usual: null,
    show: () => {},
    get station() { return STATIONS.find((each) => each.id === get("station")) ?? STATIONS[0]; },
    get steps() { return tour.trace.steps; },
    get damage() { return tour.station.damage?.includes(get("damage")) ? get("damage") : null; },
    get pick() { return { kind: get("kind", "encoder"), side: get("side", "source"), sublayer: get("sublayer", 0), beam: get("beam", BEAM), reference: get("reference") }; },
    get broken() {
      const kind = tour.station.id === "multi-head-attention" ? get("kind", "encoder") : "cross";
      return { kind, head: get("off") ?? tour.head(kind), layer: get("memory", Math.max(1, (tour.usual?.model.encoder_layers ?? 2) - 1)) };
    },
    /** The chosen layer and head of a kind of attention. */
    head(kind) {
      const shape = (tour.trace ?? tour.usual).attention[kind];
      const [layer, head] = get(`head.${kind}`) ?? telling(tour.usual ?? tour.trace, kind);
      return [Math.min(layer, shape.length - 1), Math.min(head, shape[0].length - 1)];
    },
    /** The chosen row among these tokens. */
    row(tokens) { return Math.min(get("row") ?? tellingRow(tokens), tokens.length - 1); },
    choose(values) { set(values); changed(values.reference !== undefined ? "sentence" : "figure"); },
    chooseHead(kind, layer, head) {
      set({ [`head.${kind}`]: [layer, head], ...(tour.damage === "head" ? { off: null } : {}) });
      changed(tour.damage === "head" ? "sentence" : "figure");
    },
    open(id) { set({ station: id, damage: null }); changed("station"); },
    break(damage) { set({ damage, off: null }); changed("sentence"); },
    breakWith({ head, layer }) { set(head ? { off: head } : { memory: layer }); changed("sentence"); },
    /** The trace of the sentence, and of the broken model where one is asked for; the translation stays the usual one. */
    async load() {
      tour.usual = await ask("trace", { ...sentence(), detail: "all" });
      const reference = tour.station.id === "teacher-forcing" && get("reference");
      const switches = switchesOf(tour, tour.damage);
      if (!switches && !reference) return (tour.trace = tour.usual);
      const translation = reference || tour.usual.translation;
      tour.trace = await ask("trace", { ...context.sentence(), translation, ...(switches ? { switches } : {}), detail: "all" });
      return tour.trace;
    },
    brokenTranslation: () => ask("trace", { ...context.sentence(), switches: switchesOf(tour, tour.damage) }),
    /** The trace of a given translation. */
    translated: (translation) => ask("trace", { ...context.sentence(), translation, detail: "all" }),
    decode: () => ask("decode", { ...context.sentence(), beam: tour.pick.beam }),
    /** How this model can be broken at this station. */
    get damages() { return (tour.station.damage ?? []).filter((each) => each !== "memory" || tour.usual.model.encoder_layers > 1); },
    breaking: () => (tour.damages.length ? breakIt(tour, tour.damages) : null),
  };
  return tour;
}
