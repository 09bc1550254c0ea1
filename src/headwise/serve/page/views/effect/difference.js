// The difference between two sentences, word by word.

/** [{word, kind}] with kind "same", "gone" or "new": the longest common subsequence stays. */
export function difference(before, after) {
  const [old, now] = [before.split(/\s+/).filter(Boolean), after.split(/\s+/).filter(Boolean)];
  const lengths = Array.from({ length: old.length + 1 }, () => new Array(now.length + 1).fill(0));
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      lengths[i][j] = old[i] === now[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const found = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      found.push({ word: old[i], kind: "same" });
      i += 1;
      j += 1;
    } else if (j >= now.length || (i < old.length && lengths[i + 1][j] >= lengths[i][j + 1])) {
      found.push({ word: old[i], kind: "gone" });
      i += 1;
    } else {
      found.push({ word: now[j], kind: "new" });
      j += 1;
    }
  }
  return found;
}
