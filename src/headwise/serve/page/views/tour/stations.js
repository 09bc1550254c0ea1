// The stations of the tour in their order: what each shows, where it is in the machine, its code, and how it can be broken.

import { attention, multiHead, queryKeyValue, selfAttention } from "./attending.js";
import { addAndNorm, decoder, encoder, feedForward } from "./layers.js";
import { embeddings, positions, tokenisation } from "./reading.js";
import { beam, greedy } from "./searching.js";
import { crossAttention, linear, maskedAttention, softmax, teacherForcing, wholeModel } from "./writing.js";

const both = (...parts) => parts.flatMap((part) => [`source-${part}`, `target-${part}`]);
const K = "\\sqrt{d}";

function positionFormula({ positions: kind }) {
  if (kind.startsWith("sinusoidal")) {
    return ["P_{t,2i}=\\mathrm{sin}(\\frac{t}{10000^{2i/D}}),\\quad P_{t,2i+1}=\\mathrm{cos}(\\frac{t}{10000^{2i/D}})", "x_t\\leftarrow x_t+P_t"];
  }
  if (kind === "rotary") return ["\\hat{q}_t=R_{t}q_t,\\quad \\hat{k}_s=R_{s}k_s,\\quad \\hat{q}_t\\cdot \\hat{k}_s=q_t\\cdot R_{s-t}k_s"];
  if (kind === "relative") return ["s_{ij}=q_i\\cdot k_j+b_{j-i}"];
  return kind === "none" ? [] : ["x_t\\leftarrow x_t+P_t,\\quad P\\in \\mathbb_R^{\\mathrm{max}\\times D}".replace("\\mathbb_R", "ℝ")];
}

function normFormula({ norm, norm_kind: kind }) {
  const rms = kind === "rms";
  const inner = rms ? "\\frac{x}{\\sqrt{\\frac{1}{D}\\sum_{i}x_i^2+\\epsilon}}" : "\\frac{x-\\mu}{\\sqrt{\\sigma^2+\\epsilon}}+b";
  const name = "\\mathrm{Norm}";
  return [norm === "pre" ? `y=x+\\mathrm{Sublayer}(${name}(x))` : `y=${name}(x+\\mathrm{Sublayer}(x))`, `${name}(x)=g\\odot ${inner}`];
}

function feedFormula({ feed_forward: kind, activation = "ReLU" }) {
  const name = { relu: "ReLU", gelu: "GELU", gelu_tanh: "GELU", silu: "SiLU" }[activation] ?? activation;
  if (kind === "gated") return [`\\mathrm{FFN}(x)=(\\mathrm{${name}}(xW_1)\\odot xW_3)W_2`];
  return [name === "ReLU" ? "\\mathrm{FFN}(x)=\\mathrm{max}(0,xW_1+b_1)W_2+b_2" : `\\mathrm{FFN}(x)=\\mathrm{${name}}(xW_1+b_1)W_2+b_2`];
}

const heads = "\\as{query}{Q}\\as{key}{K}^{\\top}";

export const STATIONS = [
  { id: "tokenisation", group: "reading", parts: both("text"), figure: tokenisation, code: ["tokenisation"],
    formulas: () => ["\\hat{p}=\\mathrm{argmax}_{p_1\\dots p_n=x}\\sum_{i=1}^{n}\\mathrm{log}P(p_i)"] },
  { id: "embeddings", group: "reading", parts: both("embedding"), figure: embeddings, code: ["embedding"],
    formulas: (trace) => [trace.embedding_scale === 1 ? "x_t=E_{w_t}" : "x_t=\\sqrt{D}\\cdot E_{w_t},\\quad E\\in ℝ^{V\\times D}"] },
  { id: "positions", group: "reading", parts: both("positions"), figure: positions, code: ({ positions: kind }) => [`${kind.split("_")[0]} positions`], damage: ["positions"], breakKind: "encoder",
    formulas: (trace) => positionFormula(trace.model) },
  { id: "query-key-value", group: "attention", parts: ["encoder-self", "decoder-self", "cross"], figure: queryKeyValue, code: ["queries", "keys and values"],
    formulas: () => ["\\as{query}{q_t}=x_tW^{Q}+b^{Q},\\quad \\as{key}{k_t}=x_tW^{K}+b^{K},\\quad \\as{value}{v_t}=x_tW^{V}+b^{V}"] },
  { id: "attention", group: "attention", parts: ["encoder-self", "decoder-self", "cross"], figure: attention, code: ["scaled dot-product attention"], damage: ["scaling"], breakKind: "encoder",
    formulas: () => [`\\mathrm{Attention}(\\as{query}{Q},\\as{key}{K},\\as{value}{V})=\\mathrm{softmax}(\\frac{${heads}}{${K}})\\as{value}{V}`] },
  { id: "self-attention", group: "attention", parts: ["encoder-self"], figure: selfAttention, code: ["layer", "scaled dot-product attention"], damage: ["positions"], breakKind: "encoder",
    formulas: () => [`\\as{weight}{A_{ij}}=\\frac{\\mathrm{exp}(\\as{query}{q_i}\\cdot \\as{key}{k_j}/${K})}{\\sum_{m}\\mathrm{exp}(\\as{query}{q_i}\\cdot \\as{key}{k_m}/${K})}`] },
  { id: "multi-head-attention", group: "attention", parts: ["encoder-self", "decoder-self", "cross"], figure: multiHead, code: ["multi-head attention"], damage: ["head"],
    formulas: () => ["\\mathrm{MultiHead}(X)=\\mathrm{Concat}(\\mathrm{head}_1,\\dots,\\mathrm{head}_H)W^{O}", "\\mathrm{head}_h=\\mathrm{Attention}(XW^{Q}_h,XW^{K}_h,XW^{V}_h)"] },
  { id: "feed-forward", group: "layers", parts: ["encoder-feed", "decoder-feed"], figure: feedForward, code: ({ feed_forward: kind }) => [kind === "gated" ? "gated feed-forward network" : "feed-forward network"],
    formulas: (trace) => feedFormula(trace.model) },
  { id: "add-norm", group: "layers", parts: ["encoder-self-norm", "encoder-feed-norm", "decoder-self-norm", "cross-norm", "decoder-feed-norm"], figure: addAndNorm, code: ({ norm }) => [`add & norm, ${norm}`],
    formulas: (trace) => normFormula(trace.model) },
  { id: "encoder", group: "layers", parts: ["encoder", "memory"], figure: encoder, code: ["stack", "encoder"], damage: ["memory"],
    formulas: ({ model }) => [`X^{(n)}=\\mathrm{Layer}_n(X^{(n-1)}),\\quad n=1,\\dots,${model.encoder_layers}`,
      model.norm === "pre" ? `\\mathrm{memory}=\\mathrm{Norm}(X^{(${model.encoder_layers})})` : `\\mathrm{memory}=X^{(${model.encoder_layers})}`] },
  { id: "masked-attention", group: "decoding", parts: ["decoder-self"], figure: maskedAttention, code: ["causal mask", "mask as a term of the scores"], damage: ["mask"], breakKind: "decoder",
    formulas: () => [`A=\\mathrm{softmax}(\\frac{${heads}}{${K}}+M),\\quad M_{ij}=0~\\text{if}~j\\le i,~\\text{else}~-\\infty`.replaceAll("~", "\\quad ")] },
  { id: "encoder-decoder-attention", group: "decoding", parts: ["cross", "memory"], figure: crossAttention, code: ["layer", "keys and values"], damage: ["memory", "head"],
    formulas: () => [`\\mathrm{Cross}(X,\\mathrm{memory})=\\mathrm{softmax}(\\frac{\\as{query}{(XW^{Q})}\\as{key}{(\\mathrm{memory}\\cdot W^{K})}^{\\top}}{${K}})\\as{value}{(\\mathrm{memory}\\cdot W^{V})}`] },
  { id: "linear", group: "decoding", parts: ["linear"], figure: linear, code: ["output projection"],
    formulas: ({ model }) => [model.tied === false ? "z_t=h_tW,\\quad z_t\\in ℝ^{V}" : "z_t=h_tE^{\\top},\\quad z_t\\in ℝ^{V}"] },
  { id: "softmax", group: "decoding", parts: ["softmax"], figure: softmax, code: ["one decoding step"],
    formulas: () => ["P(y_{t+1}=w\\mid y_{\\le t},x)=\\frac{\\mathrm{exp}(z_{t,w})}{\\sum_{w'=1}^{V}\\mathrm{exp}(z_{t,w'})}"] },
  { id: "decoder", group: "decoding", parts: ["decoder"], figure: decoder, code: ["decoder", "layer"], damage: ["mask"], breakKind: "decoder",
    formulas: () => ["X'=\\mathrm{AddNorm}(X,\\mathrm{Masked})", "X''=\\mathrm{AddNorm}(X',\\mathrm{Cross})", "\\mathrm{Layer}(X)=\\mathrm{AddNorm}(X'',\\mathrm{FFN})"] },
  { id: "model", group: "whole", parts: ["encoder", "decoder", "memory", "linear", "softmax", ...both("text", "embedding", "positions")], figure: wholeModel, code: ["teacher forcing", "encoder", "decoder"], damage: ["positions", "scaling", "mask", "head", "memory"],
    formulas: () => ["P(y\\mid x)=\\prod_{t=1}^{T}P(y_t\\mid y_{\\lt t},x)"] },
  { id: "teacher-forcing", group: "whole", parts: ["target-text", "softmax"], figure: teacherForcing, code: ["teacher forcing"], damage: ["mask"], breakKind: "decoder",
    formulas: () => ["L=-\\frac{1}{T}\\sum_{t=1}^{T}\\mathrm{log}P(y_t\\mid y_{\\lt t},x)"] },
  { id: "greedy", group: "whole", parts: ["search"], figure: greedy, code: ["greedy search"], damage: [],
    formulas: () => ["y_t=\\mathrm{argmax}_{w}P(w\\mid y_{\\lt t},x)"] },
  { id: "beam", group: "whole", parts: ["search"], figure: beam, code: ["beam search"], damage: [],
    formulas: () => ["\\mathrm{score}(y)=\\frac{\\mathrm{log}P(y\\mid x)}{|y|^{\\alpha}}"] },
];

export const GROUPS = ["reading", "attention", "layers", "decoding", "whole"];
