"use strict";

// The arithmetic of MergeTree.cut and ModeClustering.cut, step for step: the labels must
// be theirs to the last number.

/** Highest mode of each mode's group when merges below a prominence are made. */
function groupsAt(tree, nModes, prominence) {
  const across = Array.from({ length: nModes }, (_, mode) => mode);
  tree.child.forEach((child, i) => {
    if (tree.prominence[i] < prominence) across[child] = tree.parent[i];
  });
  return across.map((mode) => {
    while (across[mode] !== mode) mode = across[mode];
    return mode;
  });
}

/** Cluster of each mode, 0 for the heaviest group, and the top mode of each cluster. */
function numberGroups(group, weight) {
  const size = new Map();
  group.forEach((top, mode) => size.set(top, (size.get(top) ?? 0) + weight[mode]));
  const tops = [...size.keys()].sort((a, b) => size.get(b) - size.get(a) || a - b);
  const number = new Map(tops.map((top, label) => [top, label]));
  return { labels: group.map((top) => number.get(top)), tops };
}

/** The merge that each cluster would be joined to another by; the highest has none. */
function mergesLeft(tree, labels) {
  const left = new Map();
  tree.child.forEach((child, merge) => {
    if (labels[child] !== labels[tree.parent[merge]]) left.set(labels[child], merge);
  });
  return left;
}

/** The number of fewest digits that lies above one number and not above another. */
function roundest(below, above) {
  const middle = below + (above - below) / 2;
  for (let digits = 1; digits < 17; digits++) {
    const round = Number(middle.toPrecision(digits));
    if (round > below && round <= above) return round;
  }
  // The middle may round to its lower end, which would leave that merge out.
  return middle > below ? middle : above;
}

/** A prominence at which exactly the n lowest merges are made (and those equal to them). */
function levelOf(sorted, n) {
  const below = n > 0 ? sorted[n - 1] : 0;
  const above = sorted.slice(Math.max(n, 0)).find((value) => value > below);
  if (n <= 0) return sorted[0] > 0.02 * sorted.at(-1) ? roundest(0, sorted[0]) : 0;
  if (above === undefined) return below > 0 ? roundest(1.02 * below, 1.1 * below) : 1;
  return roundest(below, above);
}
