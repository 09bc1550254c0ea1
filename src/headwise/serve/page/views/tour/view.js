// The tour: stations from text to text, each with its numbers, formula and code, beside a picture of the machine.

import { el, replace } from "../../core/dom.js";
import { workingNote } from "../common/follow.js";
import { breakIt } from "./breaking.js";
import { codeOf } from "./code.js";
import { formula } from "./formula.js";
import { makeGuide } from "./guide.js";
import { machine } from "./machine.js";
import { box, note } from "./parts.js";
import { GROUPS, STATIONS } from "./stations.js";

const SENTENCE = ["text", "source", "target", "model", "translation"];
const BUSY = "input, textarea, select, summary, pre, [role=grid], [role=group] button, .tour-table, .tour-working, .word-lines, .search-tree";
let leave = [];

export const view = {
  id: "tour",
  title: (t) => t("tour.title"),
  async mount(root, context) {
    const { t, state } = context;
    const main = el("article", { class: "tour-main" });
    const list = el("nav", { class: "tour-list", "aria-label": t("tour.stations") });
    const aside = el("aside", { class: "tour-aside", "aria-label": t("tour.machine") });
    const tour = makeGuide(context, (what) => render(what));
    const waiting = workingNote(context);
    let turn = 0;
    let picture = null;

    const render = async (what) => {
      const mine = ++turn;
      try {
        if (what !== "figure") {
          main.setAttribute("aria-busy", "true");
          await tour.load();
        }
        if (mine !== turn) return;
        if (picture?.trace !== tour.usual) {
          picture = Object.assign(machine(tour.say, tour.usual, tour.open), { trace: tour.usual });
          replace(aside, picture, note(t("tour.machine.hint")));
        }
        drawList(tour, list);
        drawStation(tour, main, what);
        picture.light(tour.station.parts);
      } catch (error) {
        if (mine === turn) replace(main, context.errorNote(error));
      } finally {
        if (mine === turn) {
          main.removeAttribute("aria-busy");
          waiting.remove();
        }
      }
    };

    const keys = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      const modified = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
      if (!step || modified || event.defaultPrevented || event.target.closest?.(BUSY) || !tour.usual) return;
      event.preventDefault();
      move(tour, step);
    };
    document.addEventListener("keydown", keys);
    leave = [() => document.removeEventListener("keydown", keys), state.on((changed) => {
      if (!SENTENCE.some((key) => changed.has(key))) return;
      state.set({ "tour.row": null, "tour.reference": null });
      render("load");
    })];
    root.append(el("h1", {}, t("tour.title")), context.sentenceBar(), waiting, box("layout", list, main, aside));
    await render("load");
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

/** The stations in their groups, the present one marked, those before it as done. */
function drawList(tour, list) {
  const { say } = tour;
  const at = STATIONS.indexOf(tour.station);
  const entry = (station, index) => el("li", {}, el("button", { type: "button", class: index < at ? "tour-done" : "", "aria-current": index === at ? "step" : null,
    on: { click: () => tour.open(station.id) } }, el("span", { class: "tour-dot", "aria-hidden": "true" }, index + 1), say(`station.${station.id}`)));
  const stations = GROUPS.map((group) => [el("h2", {}, say(`group.${group}`)), el("ol", {}, STATIONS.map((each, index) => each.group === group && entry(each, index)))]);
  const progress = say("progress", at + 1, STATIONS.length);
  replace(list, el("progress", { max: STATIONS.length, value: at + 1, "aria-label": progress }),
    matchMedia("(min-width: 62rem)").matches ? stations : el("details", {}, el("summary", {}, progress), stations));
  const present = list.querySelector("[aria-current]");
  // The list alone, not the page.
  list.scrollTop = present.offsetTop - (list.clientHeight - present.offsetHeight) / 2;
}

function drawStation(tour, main, what) {
  const { say, station } = tour;
  const at = STATIONS.indexOf(station);
  const focused = main.contains(document.activeElement) ? document.activeElement : {};
  const working = el("div", { class: "tour-working", role: "status", tabindex: 0 });
  tour.show = (title, lines) => replace(working, el("strong", {}, el("bdi", {}, title)), lines.map((line) => (typeof line === "string" ? el("p", {}, line) : line)));
  const button = (step, key) => {
    const other = STATIONS[at + step];
    return el("button", { type: "button", class: `button tour-${key}`, disabled: !other, on: { click: () => move(tour, step) } }, say(key),
      other && el("b", {}, say(`station.${other.id}`)));
  };
  replace(main,
    el("p", { class: "tour-count" }, say("progress", at + 1, STATIONS.length)), el("h2", { tabindex: -1 }, say(`station.${station.id}`)),
    el("p", { class: "tour-text" }, say(textKey(tour))),
    el("section", { class: "tour-card tour-figure", "aria-label": say("numbers") }, station.figure(tour), working),
    el("section", { class: "tour-card tour-formula", "aria-labelledby": "tour-formula", tabindex: 0 }, el("h3", { id: "tour-formula" }, say("formula")),
      station.formulas({ ...tour.trace.model, scaled: tour.steps.embedding.scale !== 1 }).map((tex) => formula(tex, true))),
    breakIt(tour, tour.damages), codeOf(tour),
    el("nav", { class: "tour-steps", "aria-label": say("steps") }, button(-1, "previous"), button(1, "next")));
  if (what === "station") {
    main.querySelector("h2").focus({ preventScroll: true });
    if (main.getBoundingClientRect().top < 0) main.scrollIntoView();
  } else if (focused.id || focused.name) {
    (focused.id ? document.getElementById(focused.id) : main.querySelector(`[name="${focused.name}"]:checked`))?.focus({ preventScroll: true });
  }
}

/** The explanation of a station; some say what this model does. */
function textKey({ station: { id }, trace: { model } }) {
  const variant = { "add-norm": model.norm, "feed-forward": model.feed_forward, positions: model.positions.split("_")[0] }[id];
  return `text.${id}${variant ? `.${variant}` : ""}`;
}
