// Which heads are looked at, and how: kept in the state, so that the address shows the same picture again.

/** The choice of a trace; it opens on the head that the trace recommends. `prefix` is that of its keys in the state. */
export function makeChoice(context, trace, prefix = "heads") {
  const { state } = context;
  const opening = trace.opening ?? { kind: "cross", layer: 0, head: 0 };
  const count = (kind) => trace.attention[kind]?.find((layer) => layer)?.length ?? trace.model.heads;
  const valid = ({ kind, layer, heads }) =>
    layer >= 0 &&
    layer < (trace.attention[kind]?.length ?? 0) &&
    heads?.length &&
    heads.every((head) => head >= 0 && head < count(kind));

  const telling = (kind) => {
    if (opening.kind === kind) return { layer: opening.layer, heads: [opening.head] };
    const best = (trace.roles ?? [])
      .filter((role) => role.kind === kind && role.role !== "other" && role.role !== "broad")
      .sort((a, b) => b.strength - a.strength)[0];
    return { layer: best?.layer ?? 0, heads: [best?.head ?? 0] };
  };

  const stored = {
    kind: state.get(`${prefix}.kind`),
    layer: Number(state.get(`${prefix}.layer`) ?? -1),
    heads: state.get(`${prefix}.heads`),
  };
  let now = valid(stored) ? stored : { kind: opening.kind, ...telling(opening.kind) };
  const keep = () =>
    state.set({ [`${prefix}.kind`]: now.kind, [`${prefix}.layer`]: now.layer, [`${prefix}.heads`]: now.heads });

  return {
    get kind() {
      return now.kind;
    },
    get layer() {
      return now.layer;
    },
    get heads() {
      return now.heads;
    },
    get merged() {
      return state.get(`${prefix}.words`) === true;
    },
    get values() {
      return state.get(`${prefix}.values`) === true;
    },
    get several() {
      return state.get(`${prefix}.several`) === true;
    },
    set(name, value) {
      state.set({ [`${prefix}.${name}`]: value || null });
    },
    openKind(kind) {
      now = { kind, ...telling(kind) };
      keep();
    },
    /** Look at a head: alone, or, with several, added to the others of its layer or taken from them. */
    toggle(layer, head, several) {
      const others = now.heads.filter((each) => each !== head);
      if (!several || layer !== now.layer) now = { kind: now.kind, layer, heads: [head] };
      else if (others.length < now.heads.length) now = { ...now, heads: others.length ? others : now.heads };
      else now = { ...now, heads: [...others, head].sort((a, b) => a - b) };
      keep();
    },
    all() {
      now = { ...now, heads: Array.from({ length: count(now.kind) }, (_, head) => head) };
      keep();
    },
  };
}
