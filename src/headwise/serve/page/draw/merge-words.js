// Arithmetic on attention: subwords merged into words, heads averaged, weights scaled by the norm of the values.

import { pieceText } from "./numbers.js";

/** Groups of tokens, each [{label, tokens: [indices]}]: one per word if `merge`, otherwise one per token. */
export function groupsOf(tokens, words, merge) {
  const groups = [];
  tokens.forEach((token, index) => {
    const last = groups.at(-1);
    if (merge && token.word >= 0 && last?.word === token.word) last.tokens.push(index);
    else {
      const label = merge && token.word >= 0 ? (words[token.word] ?? pieceText(token.piece)) : pieceText(token.piece);
      groups.push({ word: token.word, label, tokens: [index] });
    }
  });
  return groups;
}

/** Weights between groups: the sum over the tokens looked at, the mean over the tokens that look. */
export function mergedWeights(weights, rows, columns) {
  return rows.map((row) =>
    columns.map((column) => {
      let sum = 0;
      for (const r of row.tokens) for (const c of column.tokens) sum += weights[r][c];
      return sum / row.tokens.length;
    }),
  );
}

/** The mean of several tables of the same size. */
export function meanWeights(tables) {
  if (tables.length === 1) return tables[0];
  return tables[0].map((row, r) =>
    row.map((_, c) => tables.reduce((sum, table) => sum + table[r][c], 0) / tables.length),
  );
}

/** Weights times the norms of the values looked at, each row scaled to the sum of 1: what a weight really moves. */
export function valueWeights(weights, norms) {
  return weights.map((row) => {
    const products = row.map((weight, column) => weight * norms[column]);
    const sum = products.reduce((a, b) => a + b, 0);
    return sum > 0 ? products.map((product) => product / sum) : products;
  });
}

/** A table with rows and columns exchanged. */
export const transposed = (table) => (table[0] ?? []).map((_, column) => table.map((row) => row[column]));

/** A table of at most `most` rows and columns: each cell the largest of its block, so that single strong cells stay. */
export function pooled(table, most) {
  const factor = Math.ceil(Math.max(table.length, table[0]?.length ?? 0) / most);
  if (factor <= 1) return table;
  const size = (length) => Math.ceil(length / factor);
  const small = Array.from({ length: size(table.length) }, () => new Array(size(table[0].length)).fill(0));
  table.forEach((row, r) => {
    const line = small[Math.floor(r / factor)];
    row.forEach((value, c) => {
      const at = Math.floor(c / factor);
      if (value > line[at]) line[at] = value;
    });
  });
  return small;
}
