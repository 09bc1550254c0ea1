// The header: the name, links to the views, the language of the interface, the theme.

import { el, replace, svg } from "./dom.js";
import { icon } from "./icons.js";
import { applyTheme, THEMES } from "./theme.js";
import { LANGUAGES } from "./words.js";

const THEME_ICONS = { auto: "auto", light: "sun", dark: "moon" };

/** Fill the header; `actions.language(code)` changes the language. `select(id)` marks the link of a view. */
export function makeHeader(root, ids, context, actions) {
  const { t, state } = context;
  const links = new Map(ids.map((id) => [id, el("a", {
    href: state.href(id),
    on: {
      click: (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        state.go(id);
      },
      focus: () => fresh(id),
      pointerenter: () => fresh(id),
    },
  }, t("nav." + id))]));
  const fresh = (id) => links.get(id).setAttribute("href", state.href(id));

  replace(root,
    el("a", { class: "brand", href: "#translate", "aria-label": t("shell.home"),
      on: { click: (event) => { event.preventDefault(); state.go("translate"); } } }, mark(), el("span", {}, "Headwise")),
    el("nav", { "aria-label": t("shell.views") }, el("ul", {}, [...links.values()].map((link) => el("li", {}, link)))),
    el("div", { class: "tools" }, languageMenu(context, actions.language), themeButton(context)));

  return {
    select(id) {
      for (const [each, link] of links) {
        if (each === id) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
      const link = links.get(id);
      const list = link.closest("ul");
      list.scrollLeft = link.offsetLeft - (list.clientWidth - link.offsetWidth) / 2;
    },
  };
}

function mark() {
  const paths = ["M9 10C16 10 16 22 23 22", "M9 16h14", "M9 22C16 22 16 10 23 10"];
  return svg("svg", { viewBox: "0 0 32 32", class: "mark", "aria-hidden": "true", focusable: "false" },
    svg("rect", { width: 32, height: 32, rx: 8 }),
    svg("path", { d: "M9 8v16M23 8v16", class: "posts" }),
    paths.map((d) => svg("path", { d, class: "strand" })));
}

function languageMenu({ t, language }, choose) {
  return el("select", { id: "interface-language", class: "quiet", "aria-label": t("shell.language"),
    on: { change: (event) => choose(event.target.value) } },
    Object.entries(LANGUAGES).map(([code, name]) =>
      el("option", { value: code, lang: code, selected: code === language }, name)));
}

function themeButton({ t, stored }) {
  const button = el("button", { type: "button", class: "icon-button", id: "theme" });
  const show = (theme) => {
    replace(button, icon(THEME_ICONS[theme]));
    button.setAttribute("aria-label", t("shell.theme", t("shell.theme_" + theme)));
    button.title = t("shell.theme", t("shell.theme_" + theme));
  };
  let theme = THEMES.includes(stored.get("theme")) ? stored.get("theme") : "auto";
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    stored.set("theme", theme);
    applyTheme(theme);
    show(theme);
  });
  show(theme);
  return button;
}
