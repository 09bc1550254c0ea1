// A sentence being learned: its translation by each checkpoint of a training run, with a slider.

import { el, replace } from "../../core/dom.js";
import { curves } from "../../draw/curves.js";
import { shown } from "../../draw/numbers.js";
import { wordLines } from "../../draw/word-lines.js";
import { button, menu, quiet, saveButtons, slider } from "../common/controls.js";

/** Fill the section with a menu of models, and the checkpoints of the chosen one once asked for. */
export async function showCheckpoints(section, context) {
  const { source, state, t } = context;
  const place = el("div", { class: "stack", "aria-live": "polite" });
  const ask = async () => {
    const body = context.sentence();
    const model = state.get("compare.run") ?? body.model;
    place.setAttribute("aria-busy", "true");
    replace(place, el("p", { class: "quiet-text busy" }, t("compare.reading")));
    try {
      const answer = await source.checkpoints({ ...body, ...(model ? { model } : {}) });
      fill(place, context, body, Array.isArray(answer) ? answer : answer.checkpoints);
    } catch (error) {
      replace(place, context.errorNote(error));
    } finally {
      place.removeAttribute("aria-busy");
    }
  };
  const row = el("div", { class: "row bottom" });
  if (source.live) {
    const { models } = await context.catalogue();
    const names = models.filter(({ kind }) => kind === "translation").map(({ name }) => [name, name]);
    const chosen = state.get("compare.run") ?? "";
    row.append(
      menu(t("compare.run"), [["", t("shell.usual_model")], ...names], chosen, (name) =>
        state.set({ "compare.run": name || null }),
      ),
    );
  }
  row.append(button(t("compare.show_checkpoints"), ask));
  replace(section, el("h2", {}, t("compare.checkpoints")), quiet(t("compare.checkpoints_about")), row, place);
}

function fill(place, context, { text, target }, checkpoints) {
  const { t } = context;
  const detail = el("div", { class: "stack" });
  const last = checkpoints.length - 1;
  const step = (index) => t("compare.step", checkpoints[index].step.toLocaleString(context.language));
  const words = text.split(/\s+/);
  const show = (index) => {
    const { translation, score, alignment } = checkpoints[index];
    const said = translation.split(/\s+/).filter(Boolean);
    const weights = words.map((_, i) => said.map((_, j) => (alignment.some(([a, b]) => a === i && b === j) ? 0.7 : 0)));
    const lines = wordLines({
      from: words,
      to: said,
      heads: [{ name: t("compare.alignment"), colour: 0, weights }],
      label: t("compare.alignment"),
      width: place.clientWidth - 8,
    });
    const pharaoh = () => alignment.map((pair) => pair.join("-")).join(" ");
    const save = saveButtons(context, `checkpoint-${checkpoints[index].step}`, {
      picture: () => lines.drawing,
      json: () => checkpoints,
      pharaoh,
    });
    replace(
      detail,
      el("p", { class: "learned", lang: target, dir: "auto" }, translation || "–"),
      el("p", { class: "quiet-text number" }, t("compare.score", shown(score))),
      lines,
      save,
    );
  };
  const move = slider(t("compare.checkpoint"), { least: 0, most: last, value: last, show: step }, show);
  const series = [{ name: t("compare.own_score"), values: checkpoints.map(({ score }) => score) }];
  if (checkpoints[0].score_of_last !== undefined)
    series.push({ name: t("compare.last_score"), values: checkpoints.map((each) => each.score_of_last) });
  const curve = curves({
    series,
    x: t("compare.checkpoint"),
    y: t("compare.mean"),
    label: t("compare.learning"),
    start: 1,
    height: 220,
  });
  replace(
    place,
    move,
    detail,
    el("h3", {}, t("compare.learning")),
    curve,
    saveButtons(context, "learning", { picture: () => curve.drawing }),
  );
  show(last);
}
