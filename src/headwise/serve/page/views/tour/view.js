// The tour: stations from text to text, each with its numbers, formula and code, beside a picture of the machine.

import { el, replace } from "../../core/dom.js";
import { codeOf } from "./code.js";
import { formula } from "./formula.js";
import { makeGuide } from "./guide.js";
import { machine } from "./machine.js";
import { GROUPS, STATIONS } from "./stations.js";

const OWN_KEYS = new Set(["text", "source", "target", "model", "translation"]);
let leave = [];

export const view = {
  id: "tour",
  title: (t) => t("tour.title"),
  async mount(root, context) {
    const { t, state } = context;
    const main = el("article", { class: "tour-main", "aria-live": "off" });
    const list = el("nav", { class: "tour-list", "aria-label": t("tour.stations") });
    const aside = el("aside", { class: "tour-aside", "aria-label": t("tour.machine") });
    const tour = makeGuide(context, (what) => render(what));
    const parts = { main, list, aside, picture: null };
    let turn = 0;

    const render = async (what) => {
      const mine = ++turn;
      if (what !== "figure") main.setAttribute("aria-busy", "true");
      try {
        if (what !== "figure" || !tour.trace) await tour.load();
      } catch (error) {
        if (mine === turn) replace(main, context.errorNote(error));
        return;
      } finally {
        if (mine === turn) main.removeAttribute("aria-busy");
      }
      if (mine !== turn) return;
      if (what === "opened" || what === "sentence" || !parts.picture) drawMachine(tour, parts);
      drawList(tour, parts);
      drawStation(tour, parts, what);
      parts.picture.light(tour.station.parts);
    };

    const keys = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const busy = event.target.closest?.("input, textarea, select, summary, pre, [role=grid], [contenteditable], .word-lines, .search-tree");
      if (!step || busy || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
      move(tour, step);
      event.preventDefault();
    };
    document.addEventListener("keydown", keys);
    leave = [() => document.removeEventListener("keydown", keys), state.on((changed) => {
      if ([...changed].some((key) => OWN_KEYS.has(key))) {
        state.set({ "tour.row": null, "tour.reference": null });
        render("sentence");
      } else if (!root.isConnected) return;
    })];
    root.append(el("h1", {}, t("tour.title")), context.sentenceBar(), el("div", { class: "tour-layout" }, list, main, aside));
    await render("opened");
  },
  unmount() {
    for (const each of leave) each();
    leave = [];
  },
};

function move(tour, step) {
  const next = STATIONS[STATIONS.indexOf(tour.station) + step];
  if (next) tour.open(next.id);
}

function drawMachine(tour, parts) {
  parts.picture = machine(tour.t, tour.trace, (id) => tour.open(id));
  replace(parts.aside, parts.picture, el("p", { class: "tour-note" }, tour.t("tour.machine.hint")));
}

/** The stations in their groups, the present one marked, those before it as done. */
function drawList(tour, { list }) {
  const { t } = tour;
  const at = STATIONS.indexOf(tour.station);
  const entry = (station) => {
    const index = STATIONS.indexOf(station);
    return el("li", {}, el("button", { type: "button", class: index < at ? "tour-done" : "", "aria-current": index === at ? "step" : null,
      on: { click: () => tour.open(station.id) } }, el("span", { class: "tour-dot", "aria-hidden": "true" }, index + 1), t(`tour.station.${station.id}`)));
  };
  const stations = GROUPS.map((group) => el("section", {}, el("h2", {}, t(`tour.group.${group}`)), el("ol", {}, STATIONS.filter((each) => each.group === group).map(entry))));
  const open = window.matchMedia("(min-width: 62rem)").matches;
  replace(list, el("progress", { max: STATIONS.length, value: at + 1, "aria-label": t("tour.progress", at + 1, STATIONS.length) }),
    open ? stations : el("details", {}, el("summary", {}, t("tour.progress", at + 1, STATIONS.length)), stations));
}

function drawStation(tour, { main }, what) {
  const { t, station } = tour;
  const at = STATIONS.indexOf(station);
  const focused = main.contains(document.activeElement) && document.activeElement;
  const kept = focused && (focused.id || focused.name) && { id: focused.id, name: focused.name };
  const working = el("div", { class: "tour-working", role: "status", "aria-live": "polite" });
  tour.show = (title, lines) => {
    replace(working, el("strong", {}, el("bdi", {}, title)), lines.map((line) => (typeof line === "string" ? el("p", {}, line) : line)));
  };
  const figure = draw(tour);
  const button = (step, key) => {
    const other = STATIONS[at + step];
    return el("button", { type: "button", class: `tour-${key}`, disabled: !other, on: { click: () => move(tour, step) } }, t(`tour.${key}`),
      other && el("span", {}, t(`tour.station.${other.id}`)));
  };
  replace(main,
    el("header", { class: "tour-heading" }, el("p", { class: "tour-count" }, t("tour.progress", at + 1, STATIONS.length)),
      el("h2", { tabindex: -1 }, t(`tour.station.${station.id}`)), el("p", { class: "tour-text" }, t(textKey(tour)))),
    el("section", { class: "tour-figure", "aria-label": t("tour.numbers") }, figure, working),
    el("section", { class: "tour-formula", "aria-labelledby": "tour-formula-title" }, el("h3", { id: "tour-formula-title" }, t("tour.formula")),
      station.formulas(tour.trace).map((tex) => formula(tex, true))),
    tour.breaking(),
    codeOf(tour),
    el("nav", { class: "tour-steps", "aria-label": t("tour.steps") }, button(-1, "previous"), button(1, "next")));
  if (what === "station") {
    main.querySelector("h2").focus({ preventScroll: true });
    if (main.getBoundingClientRect().top < 0) main.scrollIntoView();
  } else if (kept) {
    const again = kept.id ? document.getElementById(kept.id) : main.querySelector(`input[name="${kept.name}"]:checked`);
    again?.focus({ preventScroll: true });
  }
}

/** The figure of a station, or why there is none for this model. */
function draw(tour) {
  try {
    return tour.station.figure(tour);
  } catch (error) {
    console.error(error);
    return el("p", { class: "note" }, tour.t("tour.missing"));
  }
}

/** The explanation of a station; some say what this model does. */
function textKey({ station, trace: { model } }) {
  const variants = { "add-norm": model.norm, "feed-forward": model.feed_forward, positions: model.positions.split("_")[0] };
  const key = `tour.text.${station.id}`;
  const variant = variants[station.id];
  return variant ? `${key}.${variant}` : key;
}
