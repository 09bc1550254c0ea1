// Position encodings in single precision, as in nn/positions.py and nn/rotary.py.

const BASE = 10000;
const single = Math.fround;

/** Sinusoidal positions, [length][width]: sine in even columns, cosine of the same angle in odd ones. */
export function sinusoidal(width, length) {
  const divisors = Array.from({ length: width }, (_, column) =>
    single(BASE ** single((column - (column % 2)) / width)),
  );
  return Array.from({ length }, (_, position) =>
    divisors.map((divisor, column) => {
      const angle = single(position / divisor);
      return column % 2 ? Math.cos(angle) : Math.sin(angle);
    }),
  );
}

/** Rotary angles, [length][width / 2]: how far each pair of a head's values is turned at each position. */
export function rotary(width, length) {
  const turns = Array.from({ length: Math.floor(width / 2) }, (_, pair) =>
    single(1 / single(BASE ** single((2 * pair) / (width - (width % 2))))),
  );
  return Array.from({ length }, (_, position) => turns.map((turn) => single(position * turn)));
}

/** The mean cosine of two rows by their distance, [length]. */
export function similarity(table) {
  const unit = table.map((row) => {
    const norm = Math.hypot(...row) || 1;
    return Float64Array.from(row, (value) => value / norm);
  });
  return unit.map((_, distance) => {
    let sum = 0;
    for (let at = distance; at < unit.length; at += 1) {
      const [one, other] = [unit[at - distance], unit[at]];
      for (let column = 0; column < one.length; column += 1) sum += one[column] * other[column];
    }
    return sum / (unit.length - distance);
  });
}

/** The mean cosine of rotary angles by distance: the product of a vector with itself, turned. */
export const rotarySimilarity = (angles) =>
  angles.map((row) => row.reduce((sum, angle) => sum + Math.cos(angle), 0) / row.length);
