// The theme: light, dark, or that of the system.

export const THEMES = ["auto", "light", "dark"];

const known = new Map();

/** Use a theme; canvases are painted anew on the event `themechange` of the document. */
export function applyTheme(theme) {
  document.documentElement.dataset.theme = THEMES.includes(theme) ? theme : "auto";
  changed();
}

/** A colour of the theme as rgb(...), for canvases and saved pictures: colour("--accent"). */
export function colour(name) {
  if (!known.has(name)) {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    known.set(name, getComputedStyle(probe).color);
    probe.remove();
  }
  return known.get(name);
}

function changed() {
  known.clear();
  document.dispatchEvent(new Event("themechange"));
}

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
