"use strict";

// The merge tree as a dendrogram, with a line at the level.

function treeTraces() {
  const { tree, layout } = data;
  const grey = styled("grey");
  const lines = new Map(); // colour -> brackets of that colour
  layout.merge.forEach((merge, i) => {
    const cluster = state.labels[tree.child[merge]];
    const made = cluster === state.labels[tree.parent[merge]];
    const key = made ? color(cluster) : grey;
    if (!lines.has(key))
      lines.set(key, {
        x: [],
        y: [],
        mode: "lines",
        line: { color: key, width: made ? 2.5 : 1.5 },
        hoverinfo: "skip",
      });
    const { x, y } = lines.get(key);
    const height = tree.prominence[merge];
    x.push(layout.left[i], layout.left[i], layout.right[i], layout.right[i], null);
    y.push(layout.leftFoot[i], height, height, layout.rightFoot[i], null);
  });
  const merges = Array.from(layout.merge);
  const joints = {
    x: merges.map((_, i) => (layout.left[i] + layout.right[i]) / 2),
    y: merges.map((merge) => tree.prominence[merge]),
    mode: "markers",
    marker: { size: 4, color: grey },
    error_y: {
      type: "data",
      array: merges.map((merge) => tree.error[merge]),
      arrayminus: merges.map((merge) =>
        Math.min(tree.error[merge], tree.prominence[merge]),
      ),
      color: styled("faint"),
      thickness: 1,
      width: 3,
    },
    text: merges.map(
      (merge) =>
        `mode ${tree.child[merge]} into mode ${tree.parent[merge]}<br>prominence ${withError(tree.prominence[merge], tree.error[merge])}`,
    ),
    hovertemplate: "%{text}<extra></extra>",
  };
  const feet = {
    x: Array.from(layout.x),
    y: state.labels.map(() => 0),
    mode: "markers",
    cliponaxis: false,
    marker: {
      size: 9,
      color: state.labels.map(color),
      symbol: state.labels.map(symbol),
      line: { width: 0.5, color: styled("paper") },
    },
    text: state.labels.map((cluster, mode) => `mode ${mode}, ${plain(nameOf(cluster))}`),
    hovertemplate: "%{text}<extra></extra>",
  };
  return [...lines.values(), joints, feet];
}

/** Name and size of each cluster below the middle of its feet, if no larger one's are too near. */
function footNames() {
  const sized = state.tops.length <= MOST_SIZED;
  const rows = sumsByCluster(data.count, 1);
  const feet = state.tops.map(() => []);
  state.labels.forEach((cluster, mode) => feet[cluster].push(data.layout.x[mode]));
  const pixels = ($("tree").clientWidth - 80) / data.layout.x.length;
  const names = { tickvals: [], ticktext: [] };
  const taken = [];
  feet.forEach((places, cluster) => {
    places.sort((a, b) => a - b);
    const place = (places[places.length >> 1] + places[(places.length - 1) >> 1]) / 2;
    const name = shortened(data.named.get(state.tops[cluster]) ?? `${cluster}`, 10);
    const lines = sized ? [name, count(rows[cluster][0])] : [name];
    const half = 2 + 3.5 * Math.max(...lines.map((line) => line.length));
    const box = [pixels * place - half, pixels * place + half];
    if (taken.some(([left, right]) => box[0] < right && box[1] > left)) return;
    taken.push(box);
    names.tickvals.push(place);
    names.ticktext.push(lines.map(plain).join("<br>"));
  });
  return names;
}

function drawTree() {
  const highest = Math.max(
    data.top,
    ...data.tree.prominence.map((height, i) => height + data.tree.error[i]),
  );
  const line = {
    type: "line",
    xref: "paper",
    x0: 0,
    x1: 1,
    y0: state.prominence,
    y1: state.prominence,
    line: {
      color: styled("ink"),
      width: 2,
      dash: state.asFitted && data.fitted.prominence === null ? "dot" : "dash",
    },
  };
  const layout = {
    ...chartLayout(),
    margin: { l: 55, r: 15, t: 10, b: 55 },
    xaxis: {
      title: { text: state.tops.length > MOST_SIZED ? "clusters" : "clusters and their rows" },
      ...footNames(),
      tickangle: 0,
      tickfont: { size: 11 },
      showgrid: false,
      zeroline: false,
      fixedrange: true,
    },
    yaxis: {
      title: { text: "prominence" },
      gridcolor: styled("grid"),
      zeroline: false,
      range: [-0.03 * highest, 1.05 * highest],
    },
    showlegend: false,
    hovermode: "closest",
    shapes: data.sorted.length ? [line] : [],
  };
  Plotly.react("tree", treeTraces(), layout, { ...CONFIG, edits: { shapePosition: true } });
}
