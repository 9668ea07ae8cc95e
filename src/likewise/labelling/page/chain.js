// The chain of answers that contradicts an answer: a path between its two items. All "same" contradicts "different";
// "same" but for one "different" contradicts "same".

// Returns [{item}, {answer, item}, ...] from left to right, the shortest there is, or null.
export function contradiction({ left, right, answer, chain }) {
  const wanted = answer === 1 ? 1 : 0; // how many answers "different" the path has
  const waiting = [[{ item: left, different: 0 }]];
  const seen = new Set([`${left.id} 0`]);
  while (waiting.length) {
    const path = waiting.shift();
    const { item, different } = path.at(-1);
    if (item.id === right.id && different === wanted) return path;
    for (const link of chain) {
      const other = link.left.id === item.id ? link.right : link.right.id === item.id ? link.left : null;
      if (!other) continue;
      const next = { item: other, answer: link.answer, different: different + (link.answer === 1 ? 0 : 1) };
      const state = `${other.id} ${next.different}`;
      if (next.different > wanted || seen.has(state)) continue;
      seen.add(state);
      waiting.push([...path, next]);
    }
  }
  return null;
}

// Answers that hang together, each beginning with the item at which the last one ended, as paths.
export function paths(chain) {
  const joined = [];
  for (const { left, right, answer } of chain) {
    const path = joined.at(-1);
    const end = path?.at(-1).item.id;
    if (end === left.id) path.push({ answer, item: right });
    else if (end === right.id) path.push({ answer, item: left });
    else joined.push([{ item: left }, { answer, item: right }]);
  }
  return joined;
}
