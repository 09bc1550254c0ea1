// What this page keeps on this device: the theme, the language, glossaries, history. Nothing of it is sent.

const PREFIX = "headwise.";

/** Values in the browser's storage by name; where storage is switched off, they live as long as the page. */
export function makeStored() {
  const memory = new Map();
  return {
    get(name, usual = null) {
      try {
        const text = localStorage.getItem(PREFIX + name);
        if (text === null) return memory.has(name) ? memory.get(name) : usual;
        return name === "theme" ? text : JSON.parse(text);
      } catch {
        return memory.has(name) ? memory.get(name) : usual;
      }
    },
    set(name, value) {
      memory.set(name, value);
      try {
        localStorage.setItem(PREFIX + name, name === "theme" ? value : JSON.stringify(value));
      } catch { /* full or switched off */ }
    },
    remove(name) {
      memory.delete(name);
      try { localStorage.removeItem(PREFIX + name); } catch { /* switched off */ }
    },
  };
}
