"use strict";

// Clusters: their table and their profiles.

const SHAPES = {
  circle: "M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12z",
  square: "M2.5 2.5h11v11h-11z",
  "triangle-up": "M8 1.5l6.5 12h-13z",
  diamond: "M8 1l6.5 7l-6.5 7l-6.5-7z",
  "triangle-down": "M8 14.5l6.5-12h-13z",
  cross: "M5.5 1.5h5v4h4v5h-4v4h-5v-4h-4v-5h4z",
  x: "M4.5 1.5l3.5 3.5l3.5-3.5l3 3l-3.5 3.5l3.5 3.5l-3 3l-3.5-3.5l-3.5 3.5l-3-3l3.5-3.5l-3.5-3.5z",
  "triangle-left": "M1.5 8l12-6.5v13z",
};

function swatch(cluster) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("width", 16);
  svg.setAttribute("height", 16);
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", SHAPES[symbol(cluster)]);
  path.setAttribute("fill", color(cluster));
  svg.append(path);
  return svg;
}

/** Sums over the modes of each cluster. */
function sumsByCluster(values, width) {
  const sums = state.tops.map(() => new Float64Array(width));
  state.labels.forEach((cluster, mode) => {
    for (let j = 0; j < width; j++) sums[cluster][j] += values[mode * width + j];
  });
  return sums;
}

/** Features whose means over n rows are farthest out, and these means, from their sums. */
function farthestMeans(sums, n) {
  return Array.from(sums, (sum, j) => [j, n ? sum / n : 0])
    .sort(([, one], [, other]) => Math.abs(other) - Math.abs(one))
    .slice(0, data.said.most)
    .filter(([, mean]) => Math.abs(mean) >= data.said.least);
}

/** The words of say_what_sets_apart, from sums of standardised features over n rows. */
function whatSetsApart(sums, n) {
  return farthestMeans(sums, n)
    .map(([j, mean]) => `${data.profiled[j]} ${mean > 0 ? "+" : ""}${mean.toFixed(1)} sd`)
    .join(", ");
}

function highlight(cluster) {
  state.highlighted = state.highlighted === cluster ? null : cluster;
  document
    .querySelectorAll("#clusters button")
    .forEach((button, i) => button.setAttribute("aria-pressed", i === state.highlighted));
  schedule(drawRows);
}

function drawClusters() {
  const rows = sumsByCluster(data.count, 1);
  const modes = sumsByCluster(
    data.count.map(() => 1),
    1,
  );
  const left = mergesLeft(data.tree, state.labels);
  const sums = sumsByCluster(data.sums, data.profiled.length);
  const body = document.createElement("tbody");
  state.tops.slice(0, MOST_LISTED).forEach((_, cluster) => {
    const merge = left.get(cluster);
    const prominence =
      merge === undefined
        ? "highest"
        : withError(data.tree.prominence[merge], data.tree.error[merge]);
    const line = body.insertRow();
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Show only this cluster";
    button.setAttribute("aria-pressed", "false");
    const name = data.named.get(state.tops[cluster]);
    button.append(swatch(cluster), name ?? String(cluster));
    button.addEventListener("click", () => highlight(cluster));
    line.insertCell().append(button);
    const share = (100 * rows[cluster][0]) / data.rows;
    for (const text of [
      count(rows[cluster][0]),
      `${share.toFixed(1)} %`,
      count(modes[cluster][0]),
      prominence,
      whatSetsApart(sums[cluster], rows[cluster][0]),
    ]) {
      line.insertCell().textContent = text;
    }
  });
  $("clusters").tBodies[0].replaceWith(body);
  const more = state.tops.length - MOST_LISTED;
  const notes = [
    more > 0
      ? `and ${plural(more, "smaller cluster")}`
      : "Choose a cluster to show it alone.",
  ];
  if ([...left.values()].some((merge) => data.tree.prominence[merge] > data.gap.above))
    notes.push(`Prominence, ${data.gap.words}`);
  $("cluster-note").textContent = notes.join(" ");
}

function drawProfile() {
  const width = data.profiled.length;
  const clusters = state.tops.slice(0, MOST_PROFILED);
  const rows = sumsByCluster(data.count, 1);
  const sums = sumsByCluster(data.sums, width);
  const squares = sumsByCluster(data.squares, width);
  const z = [];
  const hovertext = [];
  clusters.forEach((_, cluster) => {
    const n = rows[cluster][0];
    // A cluster none of whose rows were given has no profile.
    z.push(Array.from(sums[cluster], (sum) => (n ? sum / n : null)));
    hovertext.push(
      z[cluster].map((mean, j) => {
        if (!n) return "no rows";
        const spread = Math.sqrt(Math.max(squares[cluster][j] / n - mean * mean, 0));
        const value = data.mean[j] + data.deviation[j] * mean;
        return `<b>${plain(nameOf(cluster))}</b><br>${plain(data.profiled[j])}<br>${short(value)} ± ${short(data.deviation[j] * spread, 2)}`;
      }),
    );
  });
  // A few means far out would leave all others pale.
  const most = Math.min(MOST_COLORED, Math.max(1, ...z.flat().map(Math.abs)));
  const roomy = width <= 16; // numbers fit into the cells
  const trace = {
    type: "heatmap",
    z,
    x: data.profiled.map((_, j) => j),
    y: clusters.map((_, cluster) => cluster),
    zmin: -most,
    zmax: most,
    // The ends differ in lightness as well, for print in grey.
    colorscale: [
      [0, isDark() ? "#3a8fd0" : "#00406b"],
      [0.5, styled("paper")],
      [1, "#e69f00"],
    ],
    xgap: 1,
    ygap: 1,
    hovertext,
    hovertemplate: "%{hovertext}<extra></extra>",
    text: z.map((means) =>
      means.map((mean) =>
        mean === null ? "" : mean.toFixed(1).replace("-0.0", "0.0").replace("-", "−"),
      ),
    ),
    texttemplate: roomy ? "%{text}" : "",
    showscale: !roomy,
    colorbar: {
      title: { text: "sd", side: "top" },
      thickness: 12,
      outlinewidth: 0,
      nticks: 5,
    },
  };
  const names = data.profiled.map((name) => shortened(name, 24));
  const below = 15 + 4.6 * Math.max(...names.map((name) => name.length)); // room for slanted names
  const layout = {
    ...chartLayout(),
    height: 5 + below + Math.max(90, 28 * clusters.length),
    margin: { l: 70, r: 10, t: 5, b: below },
    plot_bgcolor: styled("line"),
    xaxis: {
      tickvals: trace.x,
      ticktext: names.map(plain),
      tickangle: -40,
      ticklabeloverflow: "allow",
      automargin: true,
      showgrid: false,
      zeroline: false,
      fixedrange: true,
    },
    yaxis: {
      tickvals: trace.y,
      ticktext: trace.y.map((cluster) => plain(shortened(nameOf(cluster), 24))),
      autorange: "reversed",
      automargin: true,
      showgrid: false,
      zeroline: false,
      fixedrange: true,
    },
  };
  $("profile").style.minWidth = `${Math.min(2400, 120 + 34 * width)}px`;
  Plotly.react("profile", [trace], layout, { ...CONFIG, displayModeBar: false });
  const left = state.tops.length - MOST_PROFILED;
  $("profile-note").textContent =
    left > 0
      ? `The ${MOST_PROFILED} largest clusters; ${plural(left, "smaller one")} not drawn.`
      : "";
}
