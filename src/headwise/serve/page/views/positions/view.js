// Positions: sinusoidal, learned and rotary encodings as heat maps, curves, and similarity by distance.

import { debounced, el, replace } from "../../core/dom.js";
import { curves } from "../../draw/curves.js";
import { heatMap } from "../../draw/heat-map.js";
import { shown } from "../../draw/numbers.js";
import { rotary, rotarySimilarity, similarity, sinusoidal } from "../../draw/positions.js";
import { card, choices, menu, quiet, saveButtons, slider } from "../common/controls.js";

const KINDS = ["sinusoidal", "learned", "rotary"];
const USUAL = { width: 64, length: 48 };
const WIDEST = 512;
const LONGEST = 512;
const CURVES = 5;
const PAUSE = 40;

let stop = null;

export const view = {
  id: "positions",
  title: (t) => t("nav.positions"),
  async mount(root, context) {
    await context.load("inside");
    const { state, t } = context;
    const get = (name, usual) => state.get(`positions.${name}`) ?? usual;
    const content = el("div", { class: "stack" });
    const draw = debounced(() => fill(content, context), PAUSE);
    const set = (name) => (value) => {
      state.set({ [`positions.${name}`]: value });
      draw();
    };
    const kinds = choices(
      t("positions.kind"),
      KINDS.map((kind) => [kind, t(`positions.${kind}`)]),
      get("kind", KINDS[0]),
      set("kind"),
    );
    const controls = el(
      "section",
      { class: "card panel" },
      kinds,
      el(
        "div",
        { class: "row sliders" },
        slider(
          t("positions.width"),
          { least: 4, most: WIDEST, step: 2, value: get("width", USUAL.width) },
          set("width"),
        ),
        slider(t("positions.length"), { least: 4, most: LONGEST, value: get("length", USUAL.length) }, set("length")),
      ),
    );
    root.append(
      el("h1", {}, t("nav.positions")),
      el("p", { class: "view-intro" }, t("positions.intro")),
      controls,
      content,
    );
    stop = () => draw.cancel();
    await fill(content, context);
  },
  unmount() {
    stop?.();
    stop = null;
  },
};

/** What is drawn of a kind: {table, similarity, width, length, columns}. */
async function computed(context, kind, width, length) {
  if (kind === "sinusoidal") {
    const table = sinusoidal(width, length);
    return { table, similar: similarity(table), columns: (column) => context.t("positions.dimension", column) };
  }
  if (kind === "rotary") {
    const angles = rotary(width, length);
    const table = angles.map((row) => row.map(Math.cos));
    return {
      table,
      angles,
      similar: rotarySimilarity(angles),
      columns: (column) => context.t("positions.pair", column),
    };
  }
  const answer = await context.source.positions({
    kind,
    width,
    length,
    model: context.state.get("positions.model") ?? undefined,
  });
  return {
    table: answer.table,
    similar: answer.similarity,
    columns: (column) => context.t("positions.dimension", column),
  };
}

async function fill(content, context) {
  const { state, t } = context;
  const kind = state.get("positions.kind") ?? KINDS[0];
  const width = state.get("positions.width") ?? USUAL.width;
  const length = state.get("positions.length") ?? USUAL.length;
  const parts = [card(t(`positions.${kind}`), quiet(t(`positions.about_${kind}`)))];
  if (kind === "learned") parts[0].append(await modelMenu(context, content));
  try {
    const found = await computed(context, kind, width, length);
    parts[0].append(...map(context, kind, found, content.clientWidth - 56));
    parts.push(
      el("div", { class: "two-curves" }, curveCard(context, kind, found), similarityCard(context, kind, found)),
    );
  } catch (error) {
    parts[0].append(context.errorNote(error));
  }
  replace(content, parts);
}

/** The models whose learned positions can be asked for. */
async function modelMenu(context, content) {
  const { state, t } = context;
  const { models } = await context.catalogue();
  const options = models.map(({ name }) => [name, name]);
  return menu(
    t("positions.model"),
    [["", t("positions.choose_model")], ...options],
    state.get("positions.model") ?? "",
    (name) => {
      state.set({ "positions.model": name || null });
      fill(content, context);
    },
  );
}

function map(context, kind, { table, angles, columns }, width) {
  const { t } = context;
  const names = table[0].map((_, column) => columns(column));
  const key = kind === "rotary" ? "positions.cell_rotary" : "positions.cell";
  const picture = heatMap({
    rows: table.map((_, position) => String(position)),
    columns: table[0].map((_, column) => String(column)),
    values: table,
    range: kind === "learned" ? undefined : [-1, 1],
    numbers: false,
    cell: Math.max(2, Math.min(22, Math.floor((width - 40) / table[0].length))),
    label: t("positions.map_label", t(`positions.${kind}`)),
    describe: (row, column, value) =>
      t(key, row, names[column], shown(value), angles ? shown(angles[row][column]) : ""),
  });
  const save = saveButtons(context, `positions-${kind}`, {
    picture: () => picture.drawing,
    json: () => ({ kind, table, ...(angles ? { angles } : {}) }),
  });
  return [quiet(t("positions.axes")), picture, save];
}

/** A few columns of the table as curves, spread from fast to slow. */
function curveCard(context, kind, { table, columns }) {
  const { t } = context;
  const wide = table[0].length;
  const chosen = [...new Set(Array.from({ length: CURVES }, (_, index) => Math.floor((index * wide) / (CURVES + 1))))];
  const series = chosen.map((column, index) => ({
    name: columns(column),
    values: table.map((row) => row[column]),
    colour: index,
  }));
  const label = t("positions.curves");
  const picture = curves({
    series,
    x: t("positions.position"),
    y: t(kind === "rotary" ? "positions.cosine" : "positions.value"),
    label,
  });
  return card(
    label,
    quiet(t("positions.curves_about")),
    picture,
    saveButtons(context, `position-curves-${kind}`, { picture: () => picture.drawing }),
  );
}

function similarityCard(context, kind, { similar }) {
  const { t } = context;
  const label = t("positions.similarity");
  const series = [{ name: t(`positions.${kind}`), values: similar }];
  const picture = curves({ series, x: t("positions.distance"), y: t("positions.cosine"), label });
  const save = saveButtons(context, `position-similarity-${kind}`, {
    picture: () => picture.drawing,
    json: () => ({ kind, similarity: similar }),
  });
  return card(label, quiet(t("positions.similarity_about")), picture, save);
}
