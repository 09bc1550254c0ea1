// The page's state, shared by all views and written to the address: #view?text=...&source=en

// Characters of a value in the address; longer ones live as long as the page.
const LONGEST = 2000;
// Milliseconds between changes of the address: browsers limit them.
const PAUSE = 300;

/** The state in a fragment such as `#heads?text=Hello&heads.layer=~2`. What is no string is written as ~JSON. */
export function readFragment(fragment) {
  const [view, query = ""] = fragment.replace(/^#/, "").split(/\?(.*)/s);
  const values = {};
  for (const [key, text] of new URLSearchParams(query)) {
    try {
      values[key] = text.startsWith("~") ? JSON.parse(text.slice(1)) : text;
    } catch { /* a value that somebody cut off is as if it were missing */ }
  }
  return { view, values };
}

/** The fragment of a view and its values; undefined, null and empty ones are left out. */
export function writeFragment(view, values) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value == null || value === "") continue;
    const text = typeof value === "string" && !value.startsWith("~") ? value : "~" + JSON.stringify(value);
    if (text.length <= LONGEST) query.set(key, text);
  }
  const written = query.toString();
  return "#" + view + (written ? "?" + written : "");
}

/** The state of a page that opens on `opening`: {view, values}. The address wins over it. */
export function makeState(opening) {
  const read = readFragment(location.hash);
  let view = read.view || opening.view;
  let values = { ...opening.values, ...read.values };
  const listeners = new Set();
  let timer = 0;
  // When the address last changed.
  let written = -PAUSE;

  const write = () => {
    clearTimeout(timer);
    timer = 0;
    written = performance.now();
    history.replaceState(null, "", writeFragment(view, values));
  };
  const tell = (keys) => { for (const each of [...listeners]) each(keys); };

  window.addEventListener("hashchange", () => {
    const found = readFragment(location.hash);
    // The skip link.
    if (location.hash === "#main") { write(); return; }
    view = found.view || view;
    // What the view itself keeps is that of the address; a long text, which no address has, stays.
    const kept = Object.entries(values).filter(([key]) => !key.startsWith(`${view}.`));
    values = { ...Object.fromEntries(kept), ...found.values };
    // It is mounted again, with all that has changed.
    tell(new Set(["view"]));
  });

  return {
    get view() { return view; },
    get(key) { return values[key]; },
    /** Change values; listeners receive the set of keys that changed. */
    set(changes) {
      const keys = Object.keys(changes).filter((key) => !Object.is(values[key], changes[key]));
      if (!keys.length) return;
      values = { ...values, ...changes };
      // At once where it can be: a reload finds only what the address has by then.
      if (!timer) timer = setTimeout(write, Math.max(0, written + PAUSE - performance.now()));
      tell(new Set(keys));
    },
    /** Listen to changes, as fn(keys); the function that is returned ends that. */
    on(listener) { listeners.add(listener); return () => listeners.delete(listener); },
    /** Open another view, with changes if any. The back button returns. */
    go(id, changes = {}) {
      if (timer) write();
      values = { ...values, ...changes };
      const before = view;
      view = id;
      history[before === id ? "replaceState" : "pushState"](null, "", writeFragment(view, values));
      tell(new Set(["view", ...Object.keys(changes)]));
    },
    /** The address of a view with the present state, for links. */
    href(id) { return writeFragment(id, values); },
  };
}
