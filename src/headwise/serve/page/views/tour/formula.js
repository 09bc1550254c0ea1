// Formulas: a small part of TeX becomes MathML, which browsers render and screen readers read by themselves.

const MATHML = "http://www.w3.org/1998/Math/MathML";
const SIGNS = {
  sum: "∑", prod: "∏", cdot: "·", times: "×", dots: "…", cdots: "⋯", in: "∈", leftarrow: "←", rightarrow: "→", le: "≤", ge: "≥", lt: "<",
  approx: "≈", infty: "∞", odot: "⊙", top: "⊤", mid: "|", pm: "±", ne: "≠", lbrack: "[", rbrack: "]", quad: "\u2003",
};
const LETTERS = { alpha: "α", epsilon: "ε", mu: "μ", sigma: "σ", theta: "θ", pi: "π", mathbb_R: "ℝ" };
const WITH_LIMITS = new Set(["∑", "∏", "argmax", "max"]);

const HIDDEN = "{}\\~";

// Any text as a part of a formula, whatever characters it holds.
export function words(text) {
  const hidden = text.replace(/[{}\\~]/g, (sign) => String.fromCharCode(0xe000 + HIDDEN.indexOf(sign)));
  return `\\text{${hidden.replaceAll(" ", "~") || "~"}}`;
}

function node(name, ...children) {
  const made = document.createElementNS(MATHML, name);
  made.append(...children);
  return made;
}

function row(nodes) {
  return nodes.length === 1 ? nodes[0] : node("mrow", ...nodes);
}

// Tokens of a formula: commands, numbers, and single characters.
function tokens(tex) {
  return tex.match(/\\[a-zA-Z]+|\\.|\d+(?:[.,]\d+)*|\S/gu) ?? [];
}

class Reader {
  constructor(tex) {
    this.tokens = tokens(tex);
    this.raw = tex;
    this.place = 0;
  }

  get next() {
    return this.tokens[this.place];
  }

  take() {
    return this.tokens[this.place++];
  }

  // Everything up to a closing brace, or to the end.
  sequence() {
    const found = [];
    while (this.place < this.tokens.length && this.next !== "}") found.push(this.scripted());
    return found;
  }

  argument() {
    if (this.next !== "{") return this.atom();
    this.take();
    const inside = row(this.sequence());
    this.take();
    return inside;
  }

  // The words in braces as they are; spaces are written as ~.
  words() {
    this.take();
    let text = "";
    while (this.next !== "}") text += this.take();
    this.take();
    return text.replaceAll("~", "\u00a0").replace(/[\ue000-\ue003]/g, (mark) => HIDDEN[mark.charCodeAt(0) - 0xe000]);
  }

  scripted() {
    const base = this.atom();
    let below, above;
    while (this.next === "_" || this.next === "^") {
      if (this.take() === "_") below = this.argument();
      else above = this.argument();
    }
    if (!below && !above) return base;
    const kind = WITH_LIMITS.has(base.textContent) ? ["munder", "mover", "munderover"] : ["msub", "msup", "msubsup"];
    if (below && above) return node(kind[2], base, below, above);
    return below ? node(kind[0], base, below) : node(kind[1], base, above);
  }

  atom() {
    const token = this.take();
    if (token === "{") {
      this.place--;
      return this.argument();
    }
    if (token.startsWith("\\")) return this.command(token.slice(1));
    if (/^\d/.test(token)) return node("mn", token);
    if (/^\p{L}$/u.test(token)) return node("mi", token);
    return node("mo", token === "-" ? "−" : token);
  }

  command(name) {
    if (name === "frac") return node("mfrac", this.argument(), this.argument());
    if (name === "sqrt") return node("msqrt", this.argument());
    if (name === "hat") return node("mover", this.argument(), node("mo", "^"));
    if (name === "text") return node("mtext", this.words());
    if (name === "mathrm") {
      const word = node("mi", this.words());
      word.setAttribute("mathvariant", "normal");
      return word;
    }
    if (name === "as") { // \as{query}{...}: a part in the colour of the queries
      const part = node("mrow");
      part.setAttribute("class", `tour-as-${this.words()}`);
      part.append(this.argument());
      return part;
    }
    if (LETTERS[name]) return node("mi", LETTERS[name]);
    return node("mo", SIGNS[name] ?? name);
  }
}

// A formula as a <math> element; a block stands on a line of its own.
export function formula(tex, block = false) {
  const math = node("math", row(new Reader(tex).sequence()));
  if (block) math.setAttribute("display", "block");
  return math;
}

// A number as it stands in a formula, with its parentheses if it is negative and a factor.
export function inTex(value, digits = 6) {
  if (!Number.isFinite(value)) return value < 0 ? "{-\\infty}" : "\\infty";
  const text = Math.abs(value).toFixed(digits);
  return value < 0 ? `{-${text}}` : text;
}

export function factor(value, digits = 6) {
  return value < 0 ? `(${inTex(value, digits)})` : inTex(value, digits);
}

/** A line of a computation, written as a template. */
export function tex(strings, ...values) {
  const line = document.createElement("div");
  line.className = "tour-line";
  line.append(formula(strings.map((text, index) => text + (index < values.length ? values[index] : "")).join("")));
  return line;
}
