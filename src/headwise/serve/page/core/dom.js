// Elements made through the DOM: text is always text, whatever is in it.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. `attributes`: strings, booleans, `on` (event handlers), `style` (properties), `class`. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Replace what is inside an element. */
export function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((each) => each != null && each !== false));
  return element;
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value == null || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) element.addEventListener(event, handler);
    } else if (name === "style") {
      for (const [property, text] of Object.entries(value)) element.style.setProperty(property, text);
    } else if (name === "value" || name === "checked" || name === "selected") {
      element[name] = value;
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  element.append(...children.flat(Infinity).filter((each) => each != null && each !== false));
  return element;
}

/** A function that runs once, some milliseconds after its last call; `.cancel()` and `.now()` as named. */
export function debounced(run, milliseconds) {
  let timer = 0;
  const later = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => { timer = 0; run(...values); }, milliseconds);
  };
  later.cancel = () => { clearTimeout(timer); timer = 0; };
  later.now = (...values) => { later.cancel(); run(...values); };
  return later;
}
