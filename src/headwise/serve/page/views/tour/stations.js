// The stations of the tour in their order: what each shows, where it is in the machine, its formula, and how it can be broken.

import { attention, multiHead, queryKeyValue, selfAttention } from "./attending.js";
import { addAndNorm, decoder, encoder, feedForward } from "./layers.js";
import { embeddings, positions, tokenisation } from "./reading.js";
import { beam, greedy } from "./searching.js";
import { crossAttention, linear, maskedAttention, softmax, teacherForcing, wholeModel } from "./writing.js";

const both = (part) => [`source-${part}`, `target-${part}`];
const ATTENTIONS = ["encoder-self", "decoder-self", "cross"];
const [Q, K, V] = ["\\as{query}{Q}", "\\as{key}{K}", "\\as{value}{V}"];
const SCORES = "\\frac{\\as{query}{Q}\\as{key}{K}^{\\top}}{\\sqrt{d}}";
const NAMES = { relu: "ReLU", gelu: "GELU", gelu_tanh: "GELU", silu: "SiLU" };

const POSITIONS = {
  sinusoidal: ["P_{t,2i}=\\mathrm{sin}(\\frac{t}{10000^{2i/D}}),\\quad P_{t,2i+1}=\\mathrm{cos}(\\frac{t}{10000^{2i/D}})", "x_t\\leftarrow x_t+P_t"],
  learned: ["x_t\\leftarrow x_t+P_t,\\quad P\\in ℝ^{L\\times D}"],
  rotary: ["\\hat{q}_t=R_{t}q_t,\\quad \\hat{k}_s=R_{s}k_s,\\quad \\hat{q}_t\\cdot \\hat{k}_s=q_t\\cdot R_{s-t}k_s"],
  relative: ["s_{ij}=q_i\\cdot k_j+b_{j-i}"],
};

function normFormula({ norm, norm_kind: kind }) {
  const inner = kind === "rms" ? "\\frac{x}{\\sqrt{\\frac{1}{D}\\sum_{i}x_i^2+\\epsilon}}" : "\\frac{x-\\mu}{\\sqrt{\\sigma^2+\\epsilon}}+b";
  return [norm === "pre" ? "y=x+\\mathrm{Sublayer}(\\mathrm{Norm}(x))" : "y=\\mathrm{Norm}(x+\\mathrm{Sublayer}(x))", `\\mathrm{Norm}(x)=g\\odot ${inner}`];
}

function feedFormula({ feed_forward: kind, activation }) {
  const name = `\\mathrm{${NAMES[activation] ?? activation}}`;
  if (kind === "gated") return [`\\mathrm{FFN}(x)=(${name}(xW_1)\\odot xW_3)W_2`];
  return [activation === "relu" ? "\\mathrm{FFN}(x)=\\mathrm{max}(0,xW_1+b_1)W_2+b_2" : `\\mathrm{FFN}(x)=${name}(xW_1+b_1)W_2+b_2`];
}

/** id: [group, figure, parts of the machine, formulas of a model, damage, kind of attention to show it by]. */
const TABLE = {
  "tokenisation": ["reading", tokenisation, both("text"), () => ["\\hat{p}=\\mathrm{argmax}_{p_1\\dots p_n=x}\\enspace\\sum_{i=1}^{n}\\mathrm{log}P(p_i)"]],
  "embeddings": ["reading", embeddings, both("embedding"), ({ scaled }) => [scaled ? "x_t=\\sqrt{D}\\cdot E_{w_t},\\quad E\\in ℝ^{V\\times D}" : "x_t=E_{w_t},\\quad E\\in ℝ^{V\\times D}"]],
  "positions": ["reading", positions, both("positions"), ({ positions: kind }) => POSITIONS[kind.split("_")[0]] ?? [], ["positions"], "encoder"],
  "query-key-value": ["attention", queryKeyValue, ATTENTIONS,
    () => ["\\as{query}{q_t}=x_tW^{Q}+b^{Q},\\quad \\as{key}{k_t}=x_tW^{K}+b^{K},\\quad \\as{value}{v_t}=x_tW^{V}+b^{V}"]],
  "attention": ["attention", attention, ATTENTIONS, () => [`\\mathrm{Attention}(${Q},${K},${V})=\\mathrm{softmax}(${SCORES})${V}`], ["scaling"], "encoder"],
  "self-attention": ["attention", selfAttention, ["encoder-self"],
    () => ["\\as{weight}{A_{ij}}=\\frac{\\mathrm{exp}(\\as{query}{q_i}\\cdot \\as{key}{k_j}/\\sqrt{d})}{\\sum_{m}\\mathrm{exp}(\\as{query}{q_i}\\cdot \\as{key}{k_m}/\\sqrt{d})}"], ["positions"], "encoder"],
  "multi-head-attention": ["attention", multiHead, ATTENTIONS, () => ["\\mathrm{MultiHead}(X)=\\mathrm{Concat}(\\mathrm{head}_1,\\dots,\\mathrm{head}_H)W^{O}",
    "\\mathrm{head}_h=\\mathrm{Attention}(XW^{Q}_h,XW^{K}_h,XW^{V}_h)"], ["head"]],
  "feed-forward": ["layers", feedForward, ["encoder-feed", "decoder-feed"], feedFormula],
  "add-norm": ["layers", addAndNorm, [...ATTENTIONS, "encoder-feed", "decoder-feed"].map((each) => `${each}-norm`), normFormula],
  "encoder": ["layers", encoder, ["encoder", "memory"], ({ encoder_layers: n, norm }) => [`X^{(n)}=\\mathrm{Layer}_n(X^{(n-1)}),\\quad n=1,\\dots,${n}`,
    `\\mathrm{memory}=${norm === "pre" ? `\\mathrm{Norm}(X^{(${n})})` : `X^{(${n})}`}`], ["memory"]],
  "masked-attention": ["decoding", maskedAttention, ["decoder-self"],
    () => [`A=\\mathrm{softmax}(${SCORES}+M)`, "M_{ij}=0\\quad (j\\le i),\\quad M_{ij}=-\\infty\\quad (j>i)"], ["mask"], "decoder"],
  "encoder-decoder-attention": ["decoding", crossAttention, ["cross", "memory"],
    () => ["\\as{query}{Q=XW^{Q}},\\quad \\as{key}{K=\\mathrm{memory}\\cdot W^{K}},\\quad \\as{value}{V=\\mathrm{memory}\\cdot W^{V}}", `\\mathrm{softmax}(${SCORES})${V}`], ["memory", "head"]],
  "linear": ["decoding", linear, ["linear"], ({ tied }) => [`z_t=h_t${tied ? "E^{\\top}" : "W"},\\quad z_t\\in ℝ^{V}`]],
  "softmax": ["decoding", softmax, ["softmax"], () => ["P(y_{t+1}=w\\mid y_{\\le t},x)=\\frac{\\mathrm{exp}(z_{t,w})}{\\sum_{w'=1}^{V}\\mathrm{exp}(z_{t,w'})}"]],
  "decoder": ["decoding", decoder, ["decoder"], () => ["X'=\\mathrm{AddNorm}(X,\\mathrm{Masked}),\\quad X''=\\mathrm{AddNorm}(X',\\mathrm{Cross})",
    "\\mathrm{Layer}(X)=\\mathrm{AddNorm}(X'',\\mathrm{FFN})"], ["mask"], "decoder"],
  "model": ["whole", wholeModel, ["encoder", "decoder", "memory", "linear", "softmax", ...both("text"), ...both("embedding"), ...both("positions")],
    () => ["P(y\\mid x)=\\prod_{t=1}^{T}P(y_t\\mid y_{\\lt t},x)"], ["positions", "scaling", "mask", "head", "memory"]],
  "teacher-forcing": ["whole", teacherForcing, ["target-text", "softmax"], () => ["L=-\\frac{1}{T}\\sum_{t=1}^{T}\\mathrm{log}P(y_t\\mid y_{\\lt t},x)"], ["mask"], "decoder"],
  "greedy": ["whole", greedy, ["search"], () => ["y_t=\\mathrm{argmax}_{w}P(w\\mid y_{\\lt t},x)"]],
  "beam": ["whole", beam, ["search"], () => ["\\mathrm{score}(y)=\\frac{\\mathrm{log}P(y\\mid x)}{|y|^{\\alpha}}"]],
};

const CONCEPTS = { "query-key-value": "query, key, value", "add-norm": "add and norm", "multi-head-attention": "multi-head attention",
  "masked-attention": "masked attention", "encoder-decoder-attention": "encoder-decoder attention", "teacher-forcing": "teacher forcing" };

export const STATIONS = Object.entries(TABLE).map(([id, [group, figure, parts, formulas, damage = [], breakKind = "cross"]]) =>
  ({ id, group, figure, parts, formulas, damage, breakKind, code: CONCEPTS[id] ?? id }));

export const GROUPS = [...new Set(STATIONS.map((each) => each.group))];
