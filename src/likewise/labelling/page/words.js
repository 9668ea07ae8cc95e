// What differs between two texts: the words outside a longest common subsequence.

const LIMIT = 1500; // words; the table has this squared entries at most, 2 bytes each

export const split = (text) => text.match(/\s+|\p{N}+(?:[.,]\p{N}+)*|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

// Returns, for each word of a and of b, whether it is part of what both have in common.
export function common(a, b) {
  const inA = new Array(a.length).fill(false);
  const inB = new Array(b.length).fill(false);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) inA[start] = inB[start++] = true;
  let endA = a.length,
    endB = b.length;
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) inA[--endA] = inB[--endB] = true;
  if (endA - start > LIMIT || endB - start > LIMIT) {
    const [wordsA, wordsB] = [new Set(a), new Set(b)]; // too long for the table: words that the other has anywhere
    for (let i = start; i < endA; i++) inA[i] = wordsB.has(a[i]);
    for (let j = start; j < endB; j++) inB[j] = wordsA.has(b[j]);
    return [inA, inB];
  }
  const width = endB - start + 1;
  const length = new Uint16Array((endA - start + 1) * width); // of the longest common subsequence of what follows (i, j)
  for (let i = endA - 1; i >= start; i--) {
    for (let j = endB - 1; j >= start; j--) {
      const at = (i - start) * width + (j - start);
      length[at] = a[i] === b[j] ? length[at + width + 1] + 1 : Math.max(length[at + width], length[at + 1]);
    }
  }
  for (let i = start, j = start; i < endA && j < endB;) {
    const at = (i - start) * width + (j - start);
    if (a[i] === b[j]) inA[i++] = inB[j++] = true;
    else if (length[at + width] >= length[at + 1]) i++;
    else j++;
  }
  return [inA, inB];
}

// Both texts as runs: [[text, differs], ...]. Upper and lower case count as equal.
export function differences(left, right) {
  const a = split(left),
    b = split(right);
  const lower = (words) => words.map((word) => word.trim().toLowerCase());
  const [inA, inB] = common(lower(a), lower(b));
  return [runs(a, inA), runs(b, inB)];
}

// Whether so little is shared that marks would cover most of both texts.
export function unlike(left, right) {
  const marked = [...left, ...right].reduce((sum, [part, differs]) => sum + (differs ? part.length : 0), 0);
  const all = [...left, ...right].reduce((sum, [part]) => sum + part.length, 0);
  return marked > all / 2;
}

function runs(words, shared) {
  const result = [];
  words.forEach((word, i) => {
    const differs = !shared[i] && word.trim() !== "";
    const last = result.at(-1);
    const between = word.trim() === "" && last?.[1] && i + 1 < words.length && !shared[i + 1]; // a space between two marks
    if (last && (last[1] === differs || between)) last[0] += word;
    else result.push([word, differs]);
  });
  return result;
}
