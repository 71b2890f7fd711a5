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

/** A prominence at which exactly the n lowest merges are made (and those equal to them). */
function levelOf(sorted, n) {
  if (n <= 0) return 0;
  const below = sorted[n - 1];
  const above = sorted.slice(n).find((value) => value > below);
  if (above === undefined) return below > 0 ? 1.05 * below : 1;
  // The middle may round to its lower end, which would leave that merge out.
  const middle = below + (above - below) / 2;
  return middle > below ? middle : above;
}
