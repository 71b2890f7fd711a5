"use strict";

const MOST_LISTED = 100; // clusters in the table and labelled in the scatter
const MOST_PROFILED = 30; // clusters in the heat map
const FRAME_TIME = 70; // milliseconds
const PAPER_WIDTH = 680; // pixels, of a page between its margins
const GREY = "#8c959f";

const FONT = { family: 'system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif', color: "#1b1f24", size: 13 };
// Named buttons only: plotly's own choice has one that sends the data to a server.
const BUTTONS = [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]];
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: BUTTONS };

const $ = (id) => document.getElementById(id);
const count = (n) => n.toLocaleString("en");
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
const short = (x, digits = 4) => (Number.isFinite(x) ? String(Number(x.toPrecision(digits))) : "");
const withError = (x, error) => `${short(x, 3)} ± ${short(error, 2)}`;

/** Text for plotly, which reads tags in what it is given. */
const plain = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

async function decompress(id) {
  const stream = new Blob([bytesOf($(id).textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

const ARRAYS = { u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };

/** Packed arrays anywhere in the data become typed arrays. */
function unpack(value) {
  if (value === null || typeof value !== "object") return value;
  if (value.bytes !== undefined) return new ARRAYS[value.type](bytesOf(value.bytes).buffer);
  if (Array.isArray(value)) return value.map(unpack);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, unpack(part)]));
}

// ---- State: the data, the level, what follows from it, and what is highlighted ----

let data;
const state = { prominence: 0, asFitted: true, labels: [], tops: [], highlighted: null, frame: 0 };

const color = (cluster) => data.colors[cluster % data.colors.length];
const symbol = (cluster) => data.symbols[cluster % data.symbols.length];
const clusterOf = (row) => state.labels[data.modes[row]];

/** One column of quantised rows; `first` and `n` choose some of them. */
function columnOf(quantised, column, first = 0, n = quantised.length / data.columns.length - first) {
  const width = data.columns.length;
  return Array.from({ length: n }, (_, i) => data.low[column] + data.step[column] * quantised[(first + i) * width + column]);
}

function setLevel(prominence, typed = false) {
  state.prominence = prominence;
  state.asFitted = false;
  Object.assign(state, numberGroups(groupsAt(data.tree, data.weight.length, prominence), data.weight));
  afterLevel(typed);
}

function setFitted() {
  const { labels, tops, prominence } = data.fitted;
  const { sorted } = data;
  Object.assign(state, { labels: Array.from(labels), tops: Array.from(tops), asFitted: true });
  state.prominence = prominence ?? levelOf(sorted, sorted.length + 1 - state.tops.length);
  afterLevel();
}

function afterLevel(typed = false) {
  state.highlighted = null;
  $("slider").value = state.prominence;
  if (!typed) $("exact").value = state.prominence; // half a number is left alone
  $("found").textContent = plural(state.tops.length, "cluster") + (state.asFitted ? ", as fitted" : "");
  schedule(drawRows, drawTree, drawClusters, drawProfile);
}

// Dragging gives more events than frames: drawings wait for the next frame, once each.
const waiting = new Set();
function schedule(...drawings) {
  if (!waiting.size) {
    requestAnimationFrame(() => {
      const now = [...waiting];
      waiting.clear();
      now.forEach((draw) => draw());
    });
  }
  drawings.forEach((draw) => waiting.add(draw));
}

// ---- Rows ----

const dimmed = (cluster) => state.highlighted !== null && state.highlighted !== cluster;

function rowTrace(across, up) {
  const clusters = Array.from(data.shown, clusterOf);
  const climbing = state.frame > 0;
  return {
    x: columnOf(data.drawn, across),
    y: columnOf(data.drawn, up),
    mode: "markers",
    marker: {
      size: 8,
      color: clusters.map(color),
      symbol: clusters.map(symbol),
      opacity: clusters.map((cluster) => (dimmed(cluster) ? 0.08 : climbing ? 0.2 : 0.8)),
      line: { width: 0.5, color: "#ffffff" },
    },
    text: clusters.map((cluster, i) => `row ${data.shown[i]}, cluster ${cluster}`),
    hovertemplate: "%{text}<br>%{x:.4g}, %{y:.4g}<extra></extra>",
  };
}

function climbTraces(across, up) {
  const n = data.climbers.length;
  const clusters = Array.from(data.climbers, clusterOf);
  const visible = clusters.map((cluster) => state.frame > 0 && !dimmed(cluster));
  const frames = Array.from({ length: state.frame + 1 }, (_, f) => [columnOf(data.climb, across, f * n, n), columnOf(data.climb, up, f * n, n)]);
  const trail = { x: [], y: [], mode: "lines", line: { width: 1, color: "rgba(27, 31, 36, 0.25)" }, hoverinfo: "skip" };
  for (let i = 0; i < n; i++) {
    if (!visible[i]) continue;
    frames.forEach(([x, y]) => { trail.x.push(x[i]); trail.y.push(y[i]); });
    trail.x.push(null); // breaks the line
    trail.y.push(null);
  }
  const pick = (values) => values.filter((_, i) => visible[i]);
  const [x, y] = frames[state.frame];
  const climber = {
    x: pick(x),
    y: pick(y),
    mode: "markers",
    marker: { size: 9, color: pick(clusters.map(color)), symbol: pick(clusters.map(symbol)), line: { width: 1, color: "#1b1f24" } },
    hoverinfo: "skip",
  };
  return [trail, climber];
}

function modeTrace(across, up) {
  const tops = state.tops.slice(0, MOST_LISTED);
  const crowded = tops.length > 20;
  const x = columnOf(data.summits, across);
  const y = columnOf(data.summits, up);
  return {
    x: tops.map((mode) => x[mode]),
    y: tops.map((mode) => y[mode]),
    mode: "markers+text",
    marker: { size: crowded ? 9 : 15, symbol: "star", color: "#1b1f24", line: { width: 1, color: "#ffffff" } },
    text: tops.map((_, cluster) => `<b>${cluster}</b>`),
    textposition: "top center",
    textfont: { size: crowded ? 11 : 15, shadow: "0 0 3px #fff, 0 0 3px #fff, 0 0 3px #fff" },
    hovertemplate: "mode of cluster %{text}<extra></extra>",
  };
}

function drawRows() {
  const across = Number($("across").value);
  const up = Number($("up").value);
  const axis = (column) => ({ title: { text: plain(data.columns[column]) }, gridcolor: "#eaeef2", zeroline: false, automargin: true });
  const layout = {
    font: FONT,
    margin: { l: 55, r: 15, t: 10, b: 45 },
    xaxis: axis(across),
    yaxis: axis(up),
    showlegend: false,
    hovermode: "closest",
    uirevision: `${across} ${up}`, // keeps the zoom until the axes change
  };
  Plotly.react("scatter", [rowTrace(across, up), ...climbTraces(across, up), modeTrace(across, up)], layout, CONFIG);
}

let timer = null;

function setFrame(frame) {
  state.frame = frame;
  $("frame").value = frame;
  schedule(drawRows);
}

function stop() {
  clearInterval(timer);
  timer = null;
  $("play").textContent = "Climb";
}

function play() {
  if (timer) return stop();
  const last = data.frames - 1;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return setFrame(state.frame === last ? 0 : last);
  if (state.frame === last) setFrame(0);
  $("play").textContent = "Pause";
  timer = setInterval(() => {
    setFrame(state.frame + 1);
    if (state.frame === last) stop();
  }, FRAME_TIME);
}

// ---- Merge tree ----

function treeTraces() {
  const { tree, layout } = data;
  const lines = new Map(); // colour -> brackets of that colour
  layout.merge.forEach((merge, i) => {
    const cluster = state.labels[tree.child[merge]];
    const made = cluster === state.labels[tree.parent[merge]];
    const key = made ? color(cluster) : GREY;
    if (!lines.has(key)) lines.set(key, { x: [], y: [], mode: "lines", line: { color: key, width: made ? 2.5 : 1.5 }, hoverinfo: "skip" });
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
    marker: { size: 4, color: GREY },
    error_y: {
      type: "data",
      array: merges.map((merge) => tree.error[merge]),
      arrayminus: merges.map((merge) => Math.min(tree.error[merge], tree.prominence[merge])),
      color: "#b6bec6",
      thickness: 1,
      width: 3,
    },
    text: merges.map((merge) => `mode ${tree.child[merge]} into mode ${tree.parent[merge]}<br>prominence ${withError(tree.prominence[merge], tree.error[merge])}`),
    hovertemplate: "%{text}<extra></extra>",
  };
  const feet = {
    x: Array.from(layout.x),
    y: state.labels.map(() => 0),
    mode: "markers",
    cliponaxis: false,
    marker: { size: 9, color: state.labels.map(color), symbol: state.labels.map(symbol), line: { width: 0.5, color: "#ffffff" } },
    text: state.labels.map((cluster, mode) => `mode ${mode}, cluster ${cluster}`),
    hovertemplate: "%{text}<extra></extra>",
  };
  return [...lines.values(), joints, feet];
}

function drawTree() {
  const highest = Math.max(data.top, ...data.tree.prominence.map((height, i) => height + data.tree.error[i]));
  const line = { type: "line", xref: "paper", x0: 0, x1: 1, y0: state.prominence, y1: state.prominence, line: { color: "#1b1f24", width: 2, dash: state.asFitted && data.fitted.prominence === null ? "dot" : "dash" } };
  const layout = {
    font: FONT,
    margin: { l: 55, r: 15, t: 10, b: 30 },
    xaxis: { title: { text: "modes" }, showticklabels: false, showgrid: false, zeroline: false, fixedrange: true },
    yaxis: { title: { text: "prominence" }, gridcolor: "#eaeef2", zeroline: false, range: [-0.03 * highest, 1.05 * highest] },
    showlegend: false,
    hovermode: "closest",
    shapes: data.sorted.length ? [line] : [],
  };
  Plotly.react("tree", treeTraces(), layout, { ...CONFIG, edits: { shapePosition: true } });
}

// ---- Clusters ----

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

function highlight(cluster) {
  state.highlighted = state.highlighted === cluster ? null : cluster;
  document.querySelectorAll("#clusters button").forEach((button, i) => button.setAttribute("aria-pressed", i === state.highlighted));
  schedule(drawRows);
}

function drawClusters() {
  const rows = sumsByCluster(data.count, 1);
  const modes = sumsByCluster(data.count.map(() => 1), 1);
  const ownMerge = new Map(Array.from(data.tree.child, (child, merge) => [child, merge]));
  const body = document.createElement("tbody");
  state.tops.slice(0, MOST_LISTED).forEach((top, cluster) => {
    const merge = ownMerge.get(top);
    const prominence = merge === undefined ? "highest" : withError(data.tree.prominence[merge], data.tree.error[merge]);
    const line = body.insertRow();
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Show only this cluster";
    button.setAttribute("aria-pressed", "false");
    button.append(swatch(cluster), String(cluster));
    button.addEventListener("click", () => highlight(cluster));
    line.insertCell().append(button);
    const share = (100 * rows[cluster][0]) / data.rows;
    for (const text of [count(rows[cluster][0]), `${share.toFixed(1)} %`, count(modes[cluster][0]), prominence]) {
      line.insertCell().textContent = text;
    }
  });
  $("clusters").tBodies[0].replaceWith(body);
  const left = state.tops.length - MOST_LISTED;
  $("cluster-note").textContent = left > 0 ? `and ${plural(left, "smaller cluster")}` : "Choose a cluster to show it alone.";
}

// ---- Profiles ----

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
    hovertext.push(z[cluster].map((mean, j) => {
      if (!n) return "no rows";
      const spread = Math.sqrt(Math.max(squares[cluster][j] / n - mean * mean, 0));
      const value = data.center[j] + data.scale[j] * mean;
      return `${plain(data.profiled[j])}<br>${short(value)} ± ${short(data.scale[j] * spread, 2)}`;
    }));
  });
  const most = Math.max(1, ...z.flat().map(Math.abs));
  const roomy = width <= 16; // numbers fit into the cells
  const trace = {
    type: "heatmap",
    z,
    x: data.profiled.map((_, j) => j),
    y: clusters.map((_, cluster) => cluster),
    zmin: -most,
    zmax: most,
    // The ends differ in lightness as well, for print in grey.
    colorscale: [[0, "#00406b"], [0.5, "#ffffff"], [1, "#e69f00"]],
    xgap: 1,
    ygap: 1,
    hovertext,
    hovertemplate: "cluster %{y}<br>%{hovertext}<extra></extra>",
    text: z.map((means) => means.map((mean) => (mean === null ? "" : mean.toFixed(1).replace("-0.0", "0.0").replace("-", "−")))),
    texttemplate: roomy ? "%{text}" : "",
    showscale: !roomy,
    colorbar: { title: { text: "sd", side: "top" }, thickness: 12, outlinewidth: 0, nticks: 5 },
  };
  const names = data.profiled.map((name) => (name.length > 24 ? `${name.slice(0, 23)}…` : name));
  const below = 25 + 5 * Math.max(...names.map((name) => name.length)); // room for slanted names
  const layout = {
    font: FONT,
    height: 5 + below + Math.max(90, 28 * clusters.length),
    margin: { l: 70, r: 10, t: 5, b: below },
    plot_bgcolor: "#d5dae0",
    xaxis: { tickvals: trace.x, ticktext: names.map(plain), tickangle: -40, ticklabeloverflow: "allow", automargin: true, showgrid: false, zeroline: false, fixedrange: true },
    yaxis: { tickvals: trace.y, ticktext: trace.y.map((cluster) => `cluster ${cluster}`), autorange: "reversed", automargin: true, showgrid: false, zeroline: false, fixedrange: true },
  };
  $("profile").style.minWidth = `${Math.min(2400, 120 + 34 * width)}px`;
  Plotly.react("profile", [trace], layout, { ...CONFIG, displayModeBar: false });
  const left = state.tops.length - MOST_PROFILED;
  $("profile-note").textContent = left > 0 ? `The ${MOST_PROFILED} largest clusters; ${plural(left, "smaller one")} not drawn.` : "";
}

// ---- Labels as a file ----

function download() {
  const lines = ["row,cluster"];
  data.modes.forEach((mode, row) => lines.push(`${row},${state.labels[mode]}`));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }));
  link.download = state.asFitted ? "clusters-as-fitted.csv" : `clusters-at-${state.prominence}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// ---- Print ----

/** Charts keep the size they have on the screen: paper needs its own. */
function fitPaper() {
  document.querySelectorAll(".chart").forEach((chart) => Plotly.relayout(chart, { width: PAPER_WIDTH, height: chart.id === "profile" ? chart.layout.height : 380 }));
}

// ---- Start ----

function describe() {
  $("summary").textContent = [plural(data.rows, "row"), plural(data.features, "feature"), plural(data.weight.length, "mode") + " of the density"].join(" · ");
  const notes = [];
  if (data.shown.length < data.rows) {
    notes.push(`Thinned: ${count(data.shown.length)} of ${count(data.rows)} rows are drawn, some of every mode. Sizes, profiles and the download are of all rows.`);
  }
  if (data.profiled.length < data.features) {
    notes.push(`${count(data.profiled.length)} of ${count(data.features)} features are shown: those that differ most between the clusters as fitted.`);
  }
  $("notes").textContent = notes.join(" ");
  $("climbers").textContent = data.climbers.length < data.rows ? `${count(data.climbers.length)} of the rows` : "";
  for (const [heading, lines] of Object.entries(data.settings)) {
    const part = document.createElement("div");
    part.append(Object.assign(document.createElement("h3"), { textContent: heading }));
    const table = part.appendChild(document.createElement("table"));
    lines.forEach(([name, value]) => {
      const line = table.insertRow();
      line.append(Object.assign(document.createElement("th"), { scope: "row", textContent: name }));
      line.insertCell().textContent = value;
    });
    $("settings").append(part);
  }
}

/** The slider's steps are round numbers; its end lies above every merge. */
function prepareLevels() {
  data.sorted = Array.from(data.tree.prominence).sort((a, b) => a - b);
  data.top = data.sorted.at(-1) || 1;
  const step = 10 ** Math.floor(Math.log10(data.top / 200));
  const digits = Math.max(0, -Math.round(Math.log10(step)));
  Object.assign($("slider"), { step: step.toFixed(digits), max: (Math.ceil((1.02 * data.top) / step) * step).toFixed(digits) });
}

function fillChoices() {
  ["across", "up"].forEach((id, which) => {
    data.columns.forEach((name, column) => $(id).add(new Option(name, column)));
    $(id).value = data.start[which];
    $(id).addEventListener("change", () => schedule(drawRows));
  });
}

function listen() {
  const merges = () => data.sorted.length + 1 - state.tops.length;
  $("slider").addEventListener("input", () => setLevel($("slider").valueAsNumber));
  $("exact").addEventListener("input", () => { if ($("exact").value !== "" && $("exact").validity.valid) setLevel($("exact").valueAsNumber, true); });
  $("fewer").addEventListener("click", () => setLevel(levelOf(data.sorted, Math.min(merges() + 1, data.sorted.length))));
  $("more").addEventListener("click", () => {
    // Merges of one prominence are made together, so one less may be several less.
    const target = data.sorted[Math.max(0, merges() - 1)];
    setLevel(levelOf(data.sorted, data.sorted.findIndex((value) => value === target)));
  });
  $("fitted").addEventListener("click", setFitted);
  $("download").addEventListener("click", download);
  $("play").addEventListener("click", play);
  $("frame").max = data.frames - 1;
  $("frame").addEventListener("input", () => { stop(); setFrame($("frame").valueAsNumber); });
  $("tree").on("plotly_relayout", (change) => {
    if ("shapes[0].y0" in change) setLevel(Math.max(0, change["shapes[0].y0"]));
  });
  addEventListener("beforeprint", fitPaper);
  addEventListener("afterprint", () => schedule(drawRows, drawTree, drawProfile));
  document.querySelectorAll("input, select, button").forEach((control) => { control.disabled = false; });
  // With a single mode there is nothing to cut.
  if (!data.sorted.length) ["slider", "exact", "fewer", "more", "fitted"].forEach((id) => { $(id).disabled = true; });
}

async function start() {
  if (typeof DecompressionStream === "undefined") throw new Error("it needs a browser of 2023 or newer");
  const script = document.createElement("script");
  script.textContent = await decompress("plotly");
  document.head.append(script);
  data = unpack(JSON.parse(await decompress("data")));
  describe();
  prepareLevels();
  fillChoices();
  setFitted();
  drawTree(); // at once: plotly's events need the drawing
  listen();
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  $("failure").textContent = `The page could not be drawn: ${error.message}.`;
  $("failure").hidden = false;
  throw error;
});
