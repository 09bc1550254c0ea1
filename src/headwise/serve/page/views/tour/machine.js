// The picture of the whole architecture: every box leads to its station, and those of the present station are lit.

import { svg } from "../../core/dom.js";
import { cut } from "../../draw/svg.js";

const [LEFT, RIGHT, WIDE, HIGH] = [12, 172, 132, 25];

/** Boxes of one column from the bottom to the top: [part, station, text key]. Pre-norm stands below its sublayer, post-norm above. */
function sublayers(model, names) {
  const pre = model.norm === "pre";
  return names.flatMap(([part, station, key]) => {
    const box = { part, station, key };
    const norm = { part: `${part}-norm`, station: "add-norm", key: pre ? "machine.norm" : "machine.addNorm", thin: true };
    return pre ? [norm, box] : [box, norm];
  });
}

function columns(model) {
  return {
    encoder: sublayers(model, [["encoder-self", "self-attention", "machine.self"], ["encoder-feed", "feed-forward", "machine.feed"]]),
    decoder: sublayers(model, [["decoder-self", "masked-attention", "machine.masked"],
      ["cross", "encoder-decoder-attention", "machine.cross"], ["decoder-feed", "feed-forward", "machine.feed"]]),
  };
}

/** The picture for a trace; `open(station)` runs when a box is chosen. */
export function machine(say, trace, open) {
  const { model } = trace;
  const { encoder, decoder } = columns(model);
  const box = (x, y, { part, station, key, thin }, text = say(key)) => {
    const high = thin ? 15 : HIGH;
    const choose = () => open(station);
    const made = svg("g", { class: `tour-box${thin ? " tour-thin" : ""}`, "data-part": part, on: { click: choose } },
      svg("rect", { x, y: y - high, width: WIDE, height: high, rx: thin ? 4 : 6 }),
      svg("text", { x: x + WIDE / 2, y: y - high / 2, "text-anchor": "middle", "dominant-baseline": "central" }, cut(text, WIDE - 6, thin ? 9.5 : 11.5)));
    return made;
  };
  const arrow = (x, from, to) => svg("path", { class: "tour-wire", d: `M${x} ${from}V${to}`, "marker-end": "url(#tour-arrow)" });

  const height = 520;
  const base = height - 60;
  const stack = (x, list, layers, part, station) => {
    let y = base - 78;
    const floor = y + 10;
    const boxes = list.map((each, index) => {
      const made = box(x, y, each);
      const step = (each.thin ? 15 : HIGH) + (index % 2 ? 15 : 5);
      y -= step;
      return made;
    });
    const top = y + 4;
    const frame = svg("g", { class: "tour-box tour-frame", "data-part": part, on: { click: (event) => { if (event.target.closest(".tour-box") === frame) open(station); } } },
      svg("rect", { x: x - 8, y: top, width: WIDE + 16, height: floor - top, rx: 10 }),
      svg("text", { x: x + WIDE / 2, y: top - 8, "text-anchor": "middle" }, `${say(`machine.${part}`)} × ${layers}`));
    return { made: [frame, ...boxes], top, floor };
  };
  const left = stack(LEFT, encoder, model.encoder_layers, "encoder", "encoder");
  const right = stack(RIGHT, decoder, model.decoder_layers, "decoder", "decoder");
  const memory = left.top - 34;
  const [mid, far] = [LEFT + WIDE / 2, RIGHT + WIDE / 2];
  const crossAt = decoder.findIndex((each) => each.part === "cross");
  const crossBox = right.made[1 + crossAt].firstElementChild;
  const crossY = Number(crossBox.getAttribute("y")) + HIGH / 2;
  const added = model.positions === "rotary" || model.positions === "relative" || model.positions === "none";
  const entrance = (x, side) => [
    box(x, base - 40, { part: `${side}-positions`, station: "positions" }, (added ? "↻ " : "+ ") + say("machine.positions")),
    box(x, base - 6, { part: `${side}-embedding`, station: "embeddings" }, say("machine.embedding")),
    box(x, base + 44, { part: `${side}-text`, station: side === "source" ? "tokenisation" : "teacher-forcing" }, side === "source" ? trace.text : trace.translation),
    svg("text", { class: "tour-machine-side", x: x + WIDE / 2, y: base + 57, "text-anchor": "middle" }, say(side)),
  ];
  const top = right.top - 34;
  const ceiling = top - 3 * HIGH - 24;
  const made = svg("svg", { viewBox: `0 ${ceiling} 316 ${height + 4 - ceiling}`, class: "tour-machine", role: "group", "aria-label": say("machine") },
    svg("defs", {}, svg("marker", { id: "tour-arrow", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" },
      svg("path", { d: "M0 0L8 4L0 8z", class: "tour-arrow" }))),
    left.made, right.made,
    arrow(mid, base + 18, base - 4), arrow(far, base + 18, base - 4), arrow(mid, base - 66, left.floor - 1), arrow(far, base - 66, right.floor - 1),
    svg("path", { class: "tour-wire tour-memory", "data-part": "memory", d: `M${mid} ${left.top - 22}V${memory}H${(LEFT + WIDE + RIGHT) / 2}V${crossY}H${RIGHT - 1}`, "marker-end": "url(#tour-arrow)" }),
    entrance(LEFT, "source"), entrance(RIGHT, "target"),
    arrow(far, right.top - 22, top + 1), box(RIGHT, top, { part: "linear", station: "linear" }, say("machine.linear")),
    arrow(far, top - HIGH, top - HIGH - 9), box(RIGHT, top - HIGH - 10, { part: "softmax", station: "softmax" }, say("machine.softmax")),
    arrow(far, top - 2 * HIGH - 10, top - 2 * HIGH - 19), box(RIGHT, top - 2 * HIGH - 20, { part: "search", station: "greedy" }, say("machine.search")));
  made.light = (lit) => {
    for (const each of made.querySelectorAll("[data-part]")) each.classList.toggle("tour-lit", lit.includes(each.dataset.part));
  };
  return made;
}
