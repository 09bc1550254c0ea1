// Saving what is shown: an SVG or a canvas as SVG or PNG, data as JSON, texts as they are.

import { colour } from "./theme.js";

const SCALE = 2; // pixels of a PNG per pixel of the page

/** Save a picture. An SVG is saved in the format `kind`, "svg" or "png"; a canvas as PNG. */
export async function savePicture(element, name, kind = element instanceof SVGElement ? "svg" : "png") {
  if (element instanceof HTMLCanvasElement) return saveBlob(await canvasBlob(element), name + ".png");
  const text = new XMLSerializer().serializeToString(standalone(element));
  const blob = new Blob([text], { type: "image/svg+xml;charset=utf-8" });
  if (kind === "svg") return saveBlob(blob, name + ".svg");
  return saveBlob(await canvasBlob(await painted(blob, element)), name + ".png");
}

/** Save a value as JSON. */
export function saveJson(value, name) {
  saveText(JSON.stringify(value, null, 1), name + ".json", "application/json");
}

/** Save a text under a file name. */
export function saveText(text, name, type = "text/plain") {
  saveBlob(new Blob([text], { type: type + ";charset=utf-8" }), name);
}

/** Save bytes under a file name. */
export function saveBlob(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** A copy of an SVG that looks the same without the page's styles: computed colours, fonts and lines are written into it. */
export function standalone(element) {
  const copy = element.cloneNode(true);
  const box = element.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  if (!copy.getAttribute("width")) copy.setAttribute("width", Math.ceil(box.width));
  if (!copy.getAttribute("height")) copy.setAttribute("height", Math.ceil(box.height));
  const originals = [element, ...element.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((each, number) => inlineStyle(originals[number], each));
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  const view = element.viewBox?.baseVal;
  const [x, y] = view?.width ? [view.x, view.y] : [0, 0];
  const fill = colour("--surface");
  for (const [key, value] of Object.entries({ x, y, width: "100%", height: "100%", fill })) ground.setAttribute(key, value);
  copy.prepend(ground);
  return copy;
}

const PROPERTIES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linecap", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "display",
  "visibility"];

function inlineStyle(original, copy) {
  const computed = getComputedStyle(original);
  copy.removeAttribute("class");
  copy.removeAttribute("style");
  for (const name of PROPERTIES) copy.setAttribute(name, computed.getPropertyValue(name));
}

async function painted(blob, element) {
  const image = new Image();
  const address = URL.createObjectURL(blob);
  try {
    image.src = address;
    await image.decode();
    const box = element.getBoundingClientRect();
    const canvas = document.createElement("canvas");
    canvas.width = Math.ceil((box.width || image.width) * SCALE);
    canvas.height = Math.ceil((box.height || image.height) * SCALE);
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return canvas;
  } finally {
    URL.revokeObjectURL(address);
  }
}

function canvasBlob(canvas) {
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))), "image/png");
  });
}
