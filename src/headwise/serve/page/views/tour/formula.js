// Formulas: a small part of TeX becomes MathML, which browsers render and screen readers read by themselves.

const MATHML = "http://www.w3.org/1998/Math/MathML";
const SIGNS = {
  sum: "∑", prod: "∏", cdot: "·", times: "×", dots: "…", cdots: "⋯", in: "∈", leftarrow: "←", rightarrow: "→", le: "≤", lt: "<",
  infty: "∞", odot: "⊙", top: "⊤", mid: "|", quad: "\u2003", enspace: "\u2002",
};
const LETTERS = { alpha: "α", epsilon: "ε", mu: "μ", sigma: "σ", theta: "θ" };
const UNDER = new Set(["∑", "∏", "argmax"]); // their limits stand below and above them
const HIDDEN = "{}\\~";

function node(name, ...children) {
  const made = document.createElementNS(MATHML, name);
  made.append(...children);
  return made;
}

const row = (nodes) => (nodes.length === 1 ? nodes[0] : node("mrow", ...nodes));

class Reader {
  constructor(tex) {
    this.tokens = tex.match(/\\[a-zA-Z]+|\d+(?:[.,]\d+)*|\S/gu) ?? [];
    this.place = 0;
  }

  get next() { return this.tokens[this.place]; }

  take() { return this.tokens[this.place++]; }

  /** Everything up to a closing brace, or to the end. */
  sequence() {
    const found = [];
    while (this.place < this.tokens.length && this.next !== "}") found.push(this.scripted());
    return row(found);
  }

  argument() {
    if (this.next !== "{") return this.atom();
    this.take();
    const inside = this.sequence();
    this.take();
    return inside;
  }

  /** The words in braces as they are; ~ is a space. */
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
    const kind = UNDER.has(base.textContent) ? ["munder", "mover", "munderover"] : ["msub", "msup", "msubsup"];
    return node(kind[below && above ? 2 : below ? 0 : 1], base, ...[below, above].filter(Boolean));
  }

  atom() {
    if (this.next === "{") return this.argument();
    const token = this.take();
    if (token.length > 1 && token[0] === "\\") return this.command(token.slice(1));
    if (/^\d/.test(token)) return node("mn", token);
    return /^\p{L}$/u.test(token) ? node("mi", token) : node("mo", token === "-" ? "−" : token);
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
    return LETTERS[name] ? node("mi", LETTERS[name]) : node("mo", SIGNS[name] ?? name);
  }
}

/** A formula as a <math> element; a block stands on a line of its own. */
export function formula(tex, block) {
  const math = node("math", new Reader(tex).sequence());
  math.setAttribute("display", block ? "block" : "inline");
  math.setAttribute("displaystyle", "true");
  return math;
}

/** Any text as a part of a formula, whatever characters it holds. */
export function words(text) {
  const hidden = text.replace(/[{}\\~]/g, (sign) => String.fromCharCode(0xe000 + HIDDEN.indexOf(sign)));
  return `\\text{${hidden.replace(/\s/g, "~") || "~"}}`;
}

/** A number in a formula: six decimals, or as many as are asked for. */
export function number(value, digits = 6) {
  if (Number.isInteger(value)) return value < 0 ? `{${value}}` : String(value);
  if (!Number.isFinite(value)) return value < 0 ? "{-\\infty}" : "\\infty";
  return value < 0 ? `{${value.toFixed(digits)}}` : value.toFixed(digits);
}

/** A number as a factor or a summand: in parentheses if it is negative. */
export const factor = (value, digits) => (value < 0 ? `(${number(value, digits)})` : number(value, digits));

/** A part of a formula as a template: numbers in it have six decimals. */
export function math(strings, ...values) {
  return strings.reduce((text, next, index) => {
    const value = values[index - 1];
    return text + (typeof value === "number" ? number(value) : value) + next;
  });
}

/** A line of a computation, written likewise. */
export function line(...template) {
  const made = document.createElement("div");
  made.className = "tour-line";
  made.append(formula(math(...template)));
  return made;
}

/** a1 b1 + a2 b2 + ... with the first three products, in the colours of two kinds of numbers. */
export function products(a, b, first, second) {
  const terms = a.slice(0, 3).map((value, index) => `\\as{${first}}{${factor(value, 4)}}\\cdot \\as{${second}}{${factor(b[index], 4)}}`);
  return terms.join("+") + (a.length > 3 ? "+\\cdots" : "");
}
