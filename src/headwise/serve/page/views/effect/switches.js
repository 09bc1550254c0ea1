// The switches of this view: which heads are off, which are taken from another sentence, and the larger parts.

export const PARTS = ["positions", "mask", "scaling"];

const key = (kind, layer, head) => `${kind} ${layer} ${head}`;
const parsed = (text) => text.split(" ").map((part, index) => (index ? Number(part) : part));

/** Switches that are kept in the state. */
export function makeSwitches(context, trace) {
  const { state } = context;
  const known = ([kind, layer, head]) => layer < (trace.attention[kind]?.length ?? 0) && head < trace.model.heads;
  const read = (name) => new Set((state.get(name) ?? []).filter(known).map((each) => key(...each)));
  const off = read("effect.off");
  const patched = read("effect.patched");
  const listed = (set) => [...set].map(parsed);
  const keep = () =>
    state.set({
      "effect.off": off.size ? listed(off) : null,
      "effect.patched": patched.size ? listed(patched) : null,
    });

  return {
    get other() {
      return state.get("effect.other") ?? "";
    },
    set other(text) {
      state.set({ "effect.other": text || null });
    },
    isPart: (name) => state.get(`effect.${name}`) === false,
    setPart: (name, broken) => state.set({ [`effect.${name}`]: broken ? false : null }),
    /** "off", "patched" or "" for a head. */
    of: (...head) => (off.has(key(...head)) ? "off" : patched.has(key(...head)) ? "patched" : ""),
    /** Switch heads to `mode` ("off" or "patched"), or back if all of them are there already. */
    toggle(heads, mode) {
      const [mine, other] = mode === "off" ? [off, patched] : [patched, off];
      const keys = heads.map((head) => key(...head));
      const back = keys.every((each) => mine.has(each));
      for (const each of keys) {
        other.delete(each);
        if (back) mine.delete(each);
        else mine.add(each);
      }
      keep();
    },
    clear() {
      off.clear();
      patched.clear();
      keep();
      for (const name of PARTS) state.set({ [`effect.${name}`]: null });
    },
    count: () => off.size + patched.size,
    any() {
      return off.size > 0 || (patched.size > 0 && this.other !== "") || PARTS.some((name) => this.isPart(name));
    },
    /** What is sent to the server. */
    body() {
      const parts = Object.fromEntries(PARTS.filter((name) => this.isPart(name)).map((name) => [name, false]));
      const heads = off.size ? { heads_off: listed(off) } : {};
      const patch = patched.size && this.other ? { patch: { text: this.other, heads: listed(patched) } } : {};
      return { ...parts, ...heads, ...patch };
    },
  };
}
