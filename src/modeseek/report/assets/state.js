"use strict";

// The data, the level of the tree, and what follows from it.

const MOST_LISTED = 100; // clusters in the table and labelled in the scatter
const MOST_PROFILED = 30; // clusters in the heat map
const MOST_COLORED = 2.5; // standard deviations that the colours of profiles tell apart
const MOST_SIZED = 12; // clusters whose sizes stand below the tree
const MOST_NAMED = 30; // clusters whose sizes stand on the map
const FRAME_TIME = 70; // milliseconds
const PAPER_WIDTH = 680; // pixels, of a page between its margins
// Named buttons only: plotly's own choice has one that sends the data to a server.
const BUTTONS = [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]];
const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: BUTTONS };

const $ = (id) => document.getElementById(id);
const count = (n) => n.toLocaleString("en");
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
const short = (x, digits = 4) =>
  Number.isFinite(x) ? String(Number(x.toPrecision(digits))) : "";

/** A number to the second digit of its error. */
function withError(x, error) {
  if (x > data.gap.above) return `${short(x, 3)}, a gap`;
  if (!(error > 0)) return short(x, 3);
  const digits = Math.min(20, Math.max(0, 1 - Math.floor(Math.log10(error))));
  return `${x.toFixed(digits)} ± ${error.toFixed(digits)}`;
}

const shortened = (name, letters) =>
  name.length > letters ? `${name.slice(0, letters - 1)}…` : name;

/** Text for plotly, which reads tags in what it is given. */
const plain = (text) =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

async function decompress(id) {
  const stream = new Blob([bytesOf($(id).textContent)])
    .stream()
    .pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

const ARRAYS = { u2: Uint16Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };

/** Packed arrays anywhere in the data become typed arrays. */
function unpack(value) {
  if (value === null || typeof value !== "object") return value;
  if (value.bytes !== undefined) return new ARRAYS[value.type](bytesOf(value.bytes).buffer);
  if (Array.isArray(value)) return value.map(unpack);
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, unpack(part)]),
  );
}

let data;
const state = {
  theme: null, // as the system has it
  printing: false,
  sought: "",
  prominence: 0,
  asFitted: true,
  labels: [],
  tops: [],
  highlighted: null,
  described: null, // clusters in words, at this level
  frame: 0,
};

const NOISE = -1;

/** Colours and marks stay with the highest mode of a cluster, at every level. */
function prepareMarks() {
  const tops = Array.from(data.fitted.tops);
  const others = Array.from(data.weight, (_, mode) => mode).filter((mode) => !tops.includes(mode));
  data.rank = new Map([...tops, ...others].map((mode, rank) => [mode, rank]));
  data.named = new Map(data.clusterNames);
}

const rankOf = (cluster) => data.rank.get(state.tops[cluster]);
function paintOf(rank) {
  const plainly = data.colors[rank % data.colors.length];
  return isDark() ? mixed(plainly, "#ffffff", 0.25) : plainly;
}
const color = (cluster) => (cluster === NOISE ? styled("grey") : paintOf(rankOf(cluster)));
const symbol = (cluster) =>
  cluster === NOISE ? "circle-open" : data.symbols[rankOf(cluster) % data.symbols.length];
const nameOf = (cluster) =>
  cluster === NOISE ? "noise" : (data.named.get(state.tops[cluster]) ?? `cluster ${cluster}`);
const clusterOf = (row) =>
  data.noise.has(row) ? NOISE : state.labels[data.modes[row]];

/** One column of quantised rows; `first` and `n` choose some of them. */
function columnOf(
  quantised,
  column,
  first = 0,
  n = quantised.length / data.columns.length - first,
) {
  const width = data.columns.length;
  return Array.from(
    { length: n },
    (_, i) =>
      data.low[column] + data.quantum[column] * quantised[(first + i) * width + column],
  );
}

function setLevel(prominence, typed = false) {
  state.prominence = prominence;
  state.asFitted = false;
  Object.assign(
    state,
    numberGroups(groupsAt(data.tree, data.weight.length, prominence), data.weight),
  );
  afterLevel(typed);
}

function setFitted() {
  const { labels, tops, prominence } = data.fitted;
  const { sorted } = data;
  Object.assign(state, {
    labels: Array.from(labels),
    tops: Array.from(tops),
    asFitted: true,
  });
  state.prominence = prominence ?? levelOf(sorted, sorted.length + 1 - state.tops.length);
  afterLevel();
}

function afterLevel(typed = false) {
  state.highlighted = null;
  state.described = null;
  $("slider").value = state.prominence;
  if (!typed) $("exact").value = state.prominence; // half a number is left alone
  $("found").textContent =
    plural(state.tops.length, "cluster") + (state.asFitted ? ", as fitted" : "");
  schedule(...ALL_DRAWINGS);
}

const ALL_DRAWINGS = [drawRows, drawTree, drawClusters, drawProfile];

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
