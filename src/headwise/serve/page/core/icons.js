// Icons as lines in a square of 24; they are decoration, so the control that has one needs a name.

import { svg } from "./dom.js";

const PATHS = {
  swap: "M7 7h13m0 0-4-4m4 4-4 4M17 17H4m0 0 4 4m-4-4 4-4",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M4 12.5 9.5 18 20 6.5",
  close: "M6 6l12 12M18 6 6 18",
  file: "M14 3H6v18h12V7zM14 3v4h4M12 18v-7m0 0-3 3m3-3 3 3",
  book: "M4 5c3-1 6-1 8 1v14c-2-2-5-2-8-1zM20 5c-3-1-6-1-8 1v14c2-2 5-2 8-1z",
  history: "M4 12a8 8 0 1 1 2.5 5.8M4 12l-2-2m2 2 2.5-2M12 8v4.5l3 2",
  keyboard: "M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M18 10h.01M8 14h8",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v2m0 16v2M4.9 4.9l1.4 1.4m11.4 11.4 1.4 1.4M2 12h2m16 0h2M4.9 19.1l1.4-1.4M17.7 6.3l1.4-1.4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
  auto: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18M12 3v18M12 8l6-3M12 13l8.5-3M12 18l7-3",
  download: "M12 4v11m0 0-4-4m4 4 4-4M5 20h14",
  plus: "M12 5v14M5 12h14",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  chevron: "M6 9l6 6 6-6",
  pen: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
};

/** An icon by its name. */
export function icon(name) {
  return svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true", focusable: "false" },
    svg("path", { d: PATHS[name] }));
}
