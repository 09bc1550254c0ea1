// What the heads of a text model do, as far as positions tell: the share of attention on a neighbour, itself, the first.

const CLEAR = 0.4;

/** The mean weight of the rows on `at(row)`, over the rows that have such a column. */
function share(weights, at) {
  let [sum, count] = [0, 0];
  weights.forEach((row, index) => {
    const column = at(index);
    if (column < 0 || column >= row.length) return;
    sum += row[column];
    count += 1;
  });
  return count ? sum / count : 0;
}

/** Roles of all heads, as those of a trace, and the head to open on: the clearest neighbour, or else the clearest. */
export function positionalRoles(attention, kind) {
  const roles = attention.flatMap((layer, l) =>
    layer.map((weights, head) => {
      const shares = {
        previous: share(weights, (row) => row - 1),
        next: kind === "encoder" ? share(weights, (row) => row + 1) : 0,
        same: share(weights.slice(1), (row) => row + 1),
        first: share(weights.slice(1), () => 0),
      };
      const [role, strength] = Object.entries(shares).reduce((best, each) => (each[1] > best[1] ? each : best));
      return { kind, layer: l, head, role: strength >= CLEAR ? role : "other", strength };
    }),
  );
  const by = (names) => roles.filter(({ role }) => names.includes(role)).sort((a, b) => b.strength - a.strength)[0];
  const { layer, head } = by(["previous", "next"]) ?? by(["same", "first"]) ?? roles[0];
  return { roles, opening: { kind, layer, head } };
}
