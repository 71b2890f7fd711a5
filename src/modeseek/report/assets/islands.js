"use strict";

// Names of clusters on the map, with their sizes, where there is room for them.

const NARROW = 480; // pixels, of a map on a small screen

/** Middle of the rows of each cluster that are drawn: the row nearest to their median. */
function middles(x, y) {
  const members = state.tops.map(() => []);
  Array.from(data.shown, clusterOf).forEach((cluster, i) => {
    if (cluster !== NOISE) members[cluster].push(i);
  });
  const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];
  return members.map((rows) => {
    if (!rows.length) return null;
    const at = [median(rows.map((i) => x[i])), median(rows.map((i) => y[i]))];
    const far = (i) => Math.hypot(x[i] - at[0], y[i] - at[1]);
    const nearest = rows.reduce((best, i) => (far(i) < far(best) ? i : best));
    return [x[nearest], y[nearest]];
  });
}

/** Where the name of each cluster stands: at its mode, or amid its rows on a map. */
function places(across, up) {
  if (onMap(across) || onMap(up))
    return middles(valuesOf(data.drawn, across), valuesOf(data.drawn, up));
  const x = valuesOf(data.summits, across);
  const y = valuesOf(data.summits, up);
  return state.tops.map((mode) => [x[mode], y[mode]]);
}

/** Pixels for a unit of each axis, and what of the axes is in sight. */
function scales(x, y) {
  const drawn = $("scatter")._fullLayout;
  const kept = drawn && $("scatter").layout.uirevision === viewName();
  return [
    [x, "xaxis", $("scatter").clientWidth - 70],
    [y, "yaxis", $("scatter").clientHeight - 60],
  ].map(([values, axis, pixels]) => {
    const finite = values.filter(Number.isFinite);
    const range = kept
      ? drawn[axis].range
      : [Math.min(...finite), Math.max(...finite)];
    return { range, pixels: pixels / (range[1] - range[0] || 1) };
  });
}

/** For each cluster, largest first, a side where its name covers no other, or null. */
function sidesWithRoom(points, texts, [horizontal, vertical]) {
  const taken = [];
  const isFree = (box) =>
    taken.every(
      ([left, right, top, bottom]) =>
        box[1] < left || box[0] > right || box[3] < top || box[2] > bottom,
    );
  return state.tops.map((_, cluster) => {
    const point = points[cluster];
    if (point === null || cluster >= MOST_LISTED) return null;
    const [x, y] = [point[0] * horizontal.pixels, -point[1] * vertical.pixels];
    const lines = texts[cluster].split("\n");
    const half = 4 + 4 * Math.max(...lines.map((line) => line.length));
    const high = 15 * lines.length + 4;
    const above = [x - half, x + half, y - high - 8, y - 4];
    const below = [x - half, x + half, y + 4, y + high + 8];
    const side = isFree(above) ? "top center" : isFree(below) ? "bottom center" : null;
    if (side !== null) taken.push(side === "top center" ? above : below);
    return side;
  });
}

/** What stands on each island: its name and, where clusters are few, its rows. */
function islandTexts() {
  const rows = sumsByCluster(data.count, 1);
  const small = $("scatter").clientWidth < NARROW;
  return state.tops.map((_, cluster) => {
    if (state.tops.length > MOST_NAMED || small)
      return data.named.get(state.tops[cluster]) ?? String(cluster);
    return `${nameOf(cluster)}\n${plural(rows[cluster][0], "row")}`;
  });
}

function islandTrace(across, up) {
  state.described ??= describeClusters();
  const points = places(across, up);
  const texts = islandTexts();
  const known = points.filter((point) => point !== null);
  const sides = sidesWithRoom(
    points,
    texts,
    scales(
      [...valuesOf(data.drawn, across), ...known.map(([x]) => x)],
      [...valuesOf(data.drawn, up), ...known.map(([, y]) => y)],
    ),
  );
  const drawn = state.tops.map((_, k) => k).filter((k) => points[k] !== null && k < MOST_LISTED);
  const crowded = drawn.length > 20;
  const paper = styled("paper");
  const halo = [2, 2, 2, 3, 4, 6].map((blur) => `0 0 ${blur}px ${paper}`).join(", ");
  const stars = !(onMap(across) || onMap(up));
  return {
    x: drawn.map((k) => points[k][0]),
    y: drawn.map((k) => points[k][1]),
    mode: "markers+text",
    marker: {
      size: stars ? (crowded ? 9 : 14) : 1,
      opacity: stars ? 1 : 0,
      symbol: "star",
      color: styled("ink"),
      line: { width: 1, color: paper },
    },
    text: drawn.map((k) => {
      if (sides[k] === null || dimmed(k)) return "";
      const [name, ...rest] = texts[k].split("\n").map(plain);
      return [`<b>${name}</b>`, ...rest].join("<br>");
    }),
    textposition: drawn.map((k) => sides[k] ?? "top center"),
    textfont: { size: crowded ? 11 : 14, color: styled("ink"), shadow: halo },
    hovertext: drawn.map((k) => state.described[k]),
    hovertemplate: "%{hovertext}<extra></extra>",
  };
}

/** Clusters in a few lines each, as the table has them. */
function describeClusters() {
  const rows = sumsByCluster(data.count, 1);
  const sums = sumsByCluster(data.sums, data.profiled.length);
  return state.tops.map((_, cluster) => {
    const n = rows[cluster][0];
    const share = `${((100 * n) / data.rows).toFixed(1)} %`;
    const apart = whatSetsApart(sums[cluster], n).split(", ").map(plain);
    const name = `<b>${plain(nameOf(cluster))}</b>`;
    return [name, `${plural(n, "row")}, ${share}`, ...apart].join("<br>");
  });
}
