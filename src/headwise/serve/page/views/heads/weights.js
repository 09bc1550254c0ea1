// The numbers of the chosen heads, as they are drawn: merged, averaged and scaled as chosen.

import { groupsOf, meanWeights, mergedWeights, valueWeights } from "../../draw/merge-words.js";

/** The tokens of rows (they look) and columns (looked at), with the words that they are part of. */
export function sides(trace, kind) {
  const source = { tokens: trace.source_tokens, words: trace.source_words };
  const target = { tokens: trace.target_tokens, words: trace.target_words };
  const start = { ...trace.shown_tokens[0], word: -1 };
  const shown = { tokens: [start, ...trace.target_tokens.slice(0, -1)], words: trace.target_words };
  if (kind === "encoder") return [source, source];
  return kind === "decoder" ? [shown, shown] : [target, source];
}

/**
 * {rows, columns, tables (one per head), mean, masked(row, column), padding(column)} of a choice. Only what the mask
 * hides is masked: a later word, with a weight of exactly 0.
 */
export function chosenWeights(trace, { kind, layer, heads, merged, values }) {
  const [looking, seen] = sides(trace, kind);
  const rows = groupsOf(looking.tokens, looking.words, merged);
  const columns = groupsOf(seen.tokens, seen.words, merged);
  const norms = trace.value_norms?.[kind]?.[layer];
  const plain = heads.map((head) => trace.attention[kind][layer][head]);
  const scaled = values && norms ? plain.map((table, index) => valueWeights(table, norms[heads[index]])) : plain;
  const tables = scaled.map((table) => mergedWeights(table, rows, columns));
  const mean = meanWeights(tables);
  const last = (group) => group.tokens.at(-1);
  const later = (row, column) => columns[column].tokens[0] > last(rows[row]);
  const empty = columns.map((_, column) => mean.every((row) => row[column] === 0));
  const padding = (column) =>
    empty[column] && columns[column].tokens.every((index) => seen.tokens[index].piece === "<pad>");
  const masked = (row, column) =>
    mean[row][column] === 0 && ((kind === "decoder" && later(row, column)) || padding(column));
  return { rows, columns, tables, mean, masked, padding };
}
