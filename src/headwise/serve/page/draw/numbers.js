// Numbers as they are shown: five decimals, so that what is read equals the tensor to 1e-5.

/** A number with five decimals; exact zeros are "0", and large numbers have fewer decimals. */
export function shown(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const text = Math.abs(value) < 1000 ? value.toFixed(5) : value.toPrecision(8);
  return text.replace("-", "−");
}

/** A probability in per cent, for labels beside which the number itself stands. */
export const percent = (value) => `${(100 * value).toFixed(value > 0.0995 || value === 0 ? 0 : 1)} %`;

/** The piece of a tokenizer as people read it: word starts are bare, continuations begin with a middle dot. */
export function pieceText(piece) {
  if (piece === "▁") return "␣";
  if (piece.startsWith("▁")) return piece.slice(1);
  if (/^([<[].*[>\]]|\p{P}*)$/u.test(piece)) return piece;
  return `·${piece}`;
}

/** Smallest and largest of a table of numbers. */
export function extent(table) {
  let least = Infinity;
  let most = -Infinity;
  for (const row of table) {
    for (const value of row) {
      if (value < least) least = value;
      if (value > most) most = value;
    }
  }
  return [least, most];
}
