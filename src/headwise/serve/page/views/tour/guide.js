// What the stations share: the trace of the sentence, what was chosen, and what is broken.

import { switchesOf } from "./breaking.js";
import { telling } from "./choices.js";
import { STATIONS } from "./stations.js";

const BEAM = 4;

/** The tour of a context. `changed(what)` draws: the "figure" alone, the "station", or after what has to be asked for ("load"). */
export function makeGuide(context, changed) {
  const { state, source } = context;
  const answers = new Map();
  const ask = (method, body) => {
    const key = method + JSON.stringify(body);
    if (!answers.has(key)) {
      answers.set(key, source[method](body));
      answers.get(key).catch(() => answers.delete(key));
    }
    return answers.get(key);
  };
  const trace = (more) => ask("trace", { ...context.sentence(), detail: "all", ...more });
  const set = (values) => state.set(Object.fromEntries(Object.entries(values).map(([name, value]) => [`tour.${name}`, value])));

  const tour = {
    context,
    trace: null, // what the figures show: the broken model's numbers while something is broken
    usual: null,
    say: (key, ...values) => context.t(`tour.${key}`, ...values),
    count: (value) => value.toLocaleString(context.language),
    get: (name) => state.get(`tour.${name}`),
    get station() { return STATIONS.find((each) => each.id === tour.get("station")) ?? STATIONS[0]; },
    get steps() { return tour.trace.steps; },
    get beam() { return tour.get("beam") ?? BEAM; },
    /** How this model can be broken at this station, and how it is. */
    get damages() { return tour.station.damage.filter((each) => each !== "memory" || tour.usual.model.encoder_layers > 1); },
    get damage() { return tour.damages.find((each) => each === tour.get("damage")); },
    get broken() {
      const kind = tour.station.id === "multi-head-attention" ? (tour.get("kind") ?? "encoder") : "cross";
      return { kind, head: tour.get("off") ?? tour.head(kind), layer: tour.get("memory") ?? Math.max(1, tour.usual.model.encoder_layers - 1) };
    },
    /** The chosen layer and head of a kind of attention. */
    head(kind) {
      const shape = (tour.trace ?? tour.usual).attention[kind];
      const [layer, head] = tour.get(`head.${kind}`) ?? telling(tour.usual, kind);
      return [Math.min(layer, shape.length - 1), Math.min(head, shape[0].length - 1)];
    },
    choose(values, what = "figure") { set(values); changed(what); },
    chooseHead(kind, layer, head) { tour.choose({ [`head.${kind}`]: [layer, head], off: null }, tour.damage === "head" ? "load" : "figure"); },
    open(id) { tour.choose({ station: id, damage: null, off: null }, "station"); },
    /** The trace of the sentence, and of the broken model where one is asked for; the translation stays the usual one. */
    async load() {
      const given = state.get("translation");
      tour.usual = await trace(given ? { translation: given } : {});
      if (!tour.usual.steps || Object.values(tour.usual.attention).some((layers) => !layers.length || layers.includes(null))) throw new Error(tour.say("unfit"));
      tour.trace = tour.usual;
      const reference = tour.station.id === "teacher-forcing" && tour.get("reference");
      if (!tour.damage && !reference) return;
      tour.trace = await trace({ translation: reference || tour.usual.translation, ...(tour.damage ? { switches: switchesOf(tour, tour.damage) } : {}) });
    },
    translated: (translation) => trace({ translation }),
    brokenTranslation: () => trace({ switches: switchesOf(tour, tour.damage) }),
    decode: () => ask("decode", { ...context.sentence(), beam: tour.beam }),
  };
  return tour;
}
