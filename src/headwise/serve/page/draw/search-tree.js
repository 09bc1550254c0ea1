// The tree of a beam search: one column per step, the best candidates at the top, kept ones joined to what follows.

import { el, svg } from "../core/dom.js";
import { pieceText, shown } from "./numbers.js";
import { cut, lettering, picture, textWidth } from "./svg.js";

const LANE = 48;
const HEIGHT = 28;
const SPACE = 46;
const WIDEST_SPACE = 96;
const SIZE = 13;
// What is in sight after the step that is shown.
const BEYOND = 60;

const columnWidth = (column) =>
  Math.min(130, Math.max(44, ...column.map((node) => textWidth(pieceText(node.piece), SIZE)))) + 16;

const better = (a, b) => b.kept - a.kept || b.score - a.score;

/** The line of each node: by score within its step; or, where no branch is dropped, amid what follows it. */
function lines(nodes, columns, grouped) {
  const found = new Map();
  if (!grouped) {
    for (const column of columns) [...column].sort(better).forEach((node, line) => found.set(node.id, line));
    return found;
  }
  let next = 0;
  const place = (node) => {
    const children = nodes
      .filter(({ parent }) => parent === node.id)
      .sort(better)
      .map(place);
    const line = children.length ? (children[0] + children.at(-1)) / 2 : next;
    if (!children.length) next += 1;
    found.set(node.id, line);
    return line;
  };
  [...columns[0]].sort(better).forEach(place);
  return found;
}

/** Places of the nodes: x by step (as wide as its longest piece), y by their lines. */
function layout(nodes, room = 0, grouped = false) {
  const columns = [];
  for (const node of nodes) (columns[node.step] ??= []).push(node);
  const places = new Map();
  const widths = columns.map(columnWidth);
  const used = widths.reduce((sum, width) => sum + width, 16);
  const space = Math.min(WIDEST_SPACE, Math.max(SPACE, (room - used) / Math.max(1, columns.length - 1)));
  let x = 8;
  const line = lines(nodes, columns, grouped);
  columns.forEach((column, step) => {
    column.sort((a, b) => line.get(a.id) - line.get(b.id));
    column.forEach(({ id }, lane) => places.set(id, { x, y: 12 + line.get(id) * LANE, width: widths[step], lane }));
    x += widths[step] + space;
  });
  return { places, width: x - space + 8, height: 12 + (Math.max(...line.values()) + 1) * LANE + 4, columns };
}

function branch(from, to, kind) {
  const [x0, x1] = [from.x + from.width, to.x];
  const [y0, y1] = [from.y + HEIGHT / 2, to.y + HEIGHT / 2];
  const middle = (x0 + x1) / 2;
  const paint = {
    best: { stroke: "var(--tree-best)", "stroke-width": 3 },
    kept: { stroke: "var(--tree-kept)", "stroke-width": 1.8 },
    dropped: { stroke: "var(--tree-dropped)", "stroke-width": 1.2, "stroke-dasharray": "4 4" },
  }[kind];
  return svg("path", {
    d: `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`,
    fill: "none",
    class: `branch ${kind}`,
    ...paint,
  });
}

function leaf(node, place, kind) {
  const { x, y, width } = place;
  const paint = {
    best: { fill: "var(--tree-best)", stroke: "var(--tree-best)" },
    kept: { fill: "var(--draw-paper)", stroke: "var(--tree-kept)", "stroke-width": 1.6 },
    dropped: {
      fill: "var(--draw-paper)",
      stroke: "var(--tree-dropped)",
      "stroke-width": 1.2,
      "stroke-dasharray": "4 3",
    },
  }[kind];
  const ink = { best: "var(--draw-on-heat)", kept: "var(--draw-text)", dropped: "var(--draw-faint)" }[kind];
  const name = pieceText(node.piece);
  const text = lettering(
    {
      x: x + width / 2,
      y: y + HEIGHT / 2,
      "text-anchor": "middle",
      "dominant-baseline": "central",
      "font-size": SIZE,
      fill: ink,
    },
    cut(name, width - 8, SIZE),
  );
  const box = svg("rect", { x, y, width, height: HEIGHT, rx: node.finished ? HEIGHT / 2 : 6, ...paint });
  const score = lettering(
    { x: x + width / 2, y: y + HEIGHT + 12, "text-anchor": "middle", "font-size": 10.5, fill: "var(--draw-faint)" },
    shown(node.score),
  );
  return svg("g", { class: `leaf ${kind}`, tabindex: -1, role: "button" }, box, text, " ", score);
}

const kindOf = (node, best) => (best.has(node.id) ? "best" : node.kept ? "kept" : "dropped");

/** Arrow keys: left to the parent, right to the best child, up and down within a step. */
function neighbour(key, node, drawn, columns) {
  const rank = (other) => drawn.places.get(other.id).lane;
  const column = columns[node.step];
  if (key === "ArrowUp") return column[rank(node) - 1];
  if (key === "ArrowDown") return column[rank(node) + 1];
  if (key === "ArrowLeft") return columns[node.step - 1]?.find((other) => other.id === node.parent);
  const children = (columns[node.step + 1] ?? []).filter((other) => other.parent === node.id);
  return children.sort((a, b) => rank(a) - rank(b))[0];
}

/**
 * A search tree. Options: nodes ({id, parent, piece, step, score, kept, finished}), best (ids of the winning path),
 * label, width (of the column: branches grow to fill it), grouped (children stand beside their parent),
 * describe(node) for screen readers (after the piece and the score), onNode(node, by, said) for hover, focus and
 * click. The result has `drawing` to export,
 * `grow(step)` to show the first steps only, the last of them in sight, and `choose(id)` to mark a node.
 */
export function searchTree({ nodes, best, label, width, grouped, describe, onNode }) {
  const winners = new Set(best);
  const drawn = layout(nodes, width, grouped);
  const branches = svg("g", { class: "branches" });
  const leaves = new Map();
  for (const node of nodes) {
    const kind = kindOf(node, winners);
    const place = drawn.places.get(node.id);
    const parent = drawn.places.get(node.parent);
    if (parent)
      branches.append(
        Object.assign(branch(parent, place, kind), { step: node.step, order: { dropped: 0, kept: 1, best: 2 }[kind] }),
      );
    const element = leaf(node, place, kind);
    const said = `${pieceText(node.piece)} ${shown(node.score)}: ${describe(node)}`;
    element.setAttribute("aria-label", said);
    leaves.set(node.id, Object.assign(element, { node, said }));
  }
  branches.append(...[...branches.children].sort((a, b) => a.order - b.order));
  const drawing = picture(drawn.width, drawn.height, label, branches, ...leaves.values());
  drawing.setAttribute("role", "group");
  const choose = (id) => {
    for (const [other, element] of leaves) {
      element.classList.toggle("chosen", other === id);
      element.setAttribute("tabindex", other === id ? 0 : -1);
    }
  };
  for (const [id, element] of leaves) {
    const tell = (by) => {
      choose(id);
      onNode?.(element.node, by, element.said);
    };
    element.addEventListener("click", () => tell("click"));
    element.addEventListener("focus", () => tell("focus"));
    element.addEventListener("pointerenter", () => onNode?.(element.node, "pointer", element.said));
    element.addEventListener("keydown", (event) => {
      if (!event.key.startsWith("Arrow")) return;
      event.preventDefault();
      const next = neighbour(event.key, element.node, drawn, drawn.columns);
      if (next && !leaves.get(next.id).classList.contains("unborn")) leaves.get(next.id).focus();
    });
  }
  const stage = el("div", { class: "stage" }, drawing);
  const edge = (step) =>
    Math.max(...(drawn.columns[step] ?? []).map(({ id }) => drawn.places.get(id).x + drawn.places.get(id).width), 0);
  const grow = (step) => {
    for (const element of leaves.values()) element.classList.toggle("unborn", element.node.step > step);
    for (const element of branches.children) element.classList.toggle("unborn", element.step > step);
    const follow = () => stage.scrollTo({ left: edge(step) - stage.clientWidth + BEYOND });
    if (stage.isConnected) follow();
    else requestAnimationFrame(follow);
  };
  choose(nodes[0]?.id);
  const element = el("div", { class: "search-tree" }, stage);
  return Object.assign(element, { drawing, grow, choose });
}
