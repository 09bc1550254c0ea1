// Pieces of other tokenizers in one notation: a word begins with ▁, as in SentencePiece.

/** A function that rewrites pieces; how this tokenizer marks words is seen from some of its tokens. */
export function rewriting(tokens) {
  if (tokens.some((token) => token.startsWith("▁"))) return (piece) => piece;
  if (tokens.some((token) => token.startsWith("Ġ"))) return (piece) => piece.replaceAll("Ġ", "▁").replaceAll("Ċ", "⏎");
  if (tokens.some((token) => token.startsWith("##") || token === "[CLS]")) {
    return (piece) => (piece.startsWith("##") ? piece.slice(2) : /^\[.*\]$/.test(piece) ? piece : `▁${piece}`);
  }
  return (piece) => piece;
}

const special = (piece) => /^([<[].*[>\]])$/.test(piece);

/** Tokens with the words that they are part of: {tokens: [{piece, word}], words}. */
export function withWords(pieces) {
  const words = [];
  const tokens = pieces.map((piece) => {
    if (special(piece)) return { piece, word: -1 };
    if (piece.startsWith("▁") || !words.length) words.push("");
    words[words.length - 1] += piece.replace("▁", "");
    return { piece, word: words.length - 1 };
  });
  return { tokens, words };
}
