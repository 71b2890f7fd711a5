"use strict";

// What rows are coloured by: their cluster, a feature, or a column that is told of them.

const MOST_KINDS = 12; // texts that have colours of their own

// From low to high; both ends can be seen on the paper.
const SHADES = [
  [0, "#f0b429"],
  [0.5, "#2a9d8f"],
  [1, "#1b2f5b"],
];
const SHADES_ON_DARK = [
  [0, "#5a7be0"],
  [0.5, "#35b59b"],
  [1, "#ffe45c"],
];

/** Names of what rows can be coloured by besides clusters, and their values. */
function paintColumns() {
  const features = data.profiled.map((name, j) => [name, valueAt(j)]);
  const told = data.hover.map(({ name, values }) => [name, (i) => values[i]]);
  const names = new Set(told.map(([name]) => name));
  return [...told, ...features.filter(([name]) => !names.has(name))];
}

function fillPaints() {
  $("paint").add(new Option("cluster", ""));
  paintColumns().forEach(([name], column) => $("paint").add(new Option(name, column)));
  $("paint").addEventListener("change", () => schedule(drawRows));
}

/** Colours of a marker for rows, by what is chosen, and the key to them. */
function paintRows(clusters) {
  $("key").replaceChildren();
  if ($("paint").value === "") return { color: clusters.map(color) };
  const [name, valueOf] = paintColumns()[Number($("paint").value)];
  const values = clusters.map((_, i) => valueOf(i));
  if (values.every((value) => value === null || typeof value === "number"))
    return shadesOf(name, values);
  return kindsOf(values);
}

/** Numbers as shades; the ends leave out what lies far from all others. */
function shadesOf(name, values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  const [low, high] = [at(0.01), at(0.99)];
  return {
    color: values,
    colorscale: isDark() ? SHADES_ON_DARK : SHADES,
    cmin: low < high ? low : sorted[0],
    cmax: low < high ? high : sorted.at(-1),
    colorbar: {
      title: { text: plain(shortened(name, 24)), side: "right" },
      thickness: 10,
      outlinewidth: 0,
      nticks: 5,
      len: 0.6,
      y: 0.5,
    },
  };
}

/** Texts as colours of their own, the most frequent ones. */
function kindsOf(values) {
  const counts = new Map();
  values.forEach((value) => counts.set(value, (counts.get(value) ?? 0) + 1));
  counts.delete(null);
  const kinds = [...counts].sort(([, a], [, b]) => b - a).slice(0, MOST_KINDS);
  const paints = new Map(kinds.map(([kind], rank) => [kind, paintOf(rank)]));
  kinds.forEach(([kind, n]) => keyEntry(paints.get(kind), `${rounded(kind)} (${count(n)})`));
  if (counts.size > kinds.length) keyEntry(styled("grey"), "others");
  return { color: values.map((value) => paints.get(value) ?? styled("grey")) };
}

function keyEntry(paint, text) {
  const entry = document.createElement("span");
  const dot = document.createElement("i");
  dot.style.background = paint;
  entry.append(dot, text);
  $("key").append(entry);
}
