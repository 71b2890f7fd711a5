"use strict";

// Rows: the map, and their climb to the modes.

const dimmed = (cluster) => state.highlighted !== null && state.highlighted !== cluster;

/** Columns past those of the data are the axes of the map that was given. */
const onMap = (column) => column >= data.columns.length;
const columnName = (column) =>
  onMap(column) ? data.embedding.axes[column - data.columns.length] : data.columns[column];
const view = () => [Number($("across").value), Number($("up").value)];
const viewName = () => view().join(" ");

/** Values of rows in a column; of the map they are known for the rows drawn only. */
function valuesOf(quantised, column) {
  if (!onMap(column)) return columnOf(quantised, column);
  const axis = column - data.columns.length;
  return Array.from(data.shown, (_, i) => data.embedding.values[2 * i + axis]);
}

/** A number as people write it: whole ones whole, others with four digits. */
function rounded(x) {
  if (typeof x !== "number") return x === null ? "" : String(x);
  if (Number.isInteger(x)) return String(x);
  return Math.abs(x) >= 1000 && Math.abs(x) < 1e15 ? x.toFixed(0) : short(x);
}

const titleOf = (i) =>
  data.rowNames === null ? `row ${data.shown[i]}` : rounded(data.rowNames[i]);

/** Columns and their values: as chosen, or the features that set each cluster apart. */
function toldColumns() {
  if (data.hover.length)
    return () => data.hover.map(({ name, values }) => [name, (i) => values[i]]);
  const rows = sumsByCluster(data.count, 1);
  const apart = sumsByCluster(data.sums, data.profiled.length).map((sums, cluster) =>
    farthestMeans(sums, rows[cluster][0]).map(([j]) => [data.profiled[j], valueAt(j)]),
  );
  return (cluster) => apart[cluster] ?? [];
}

/** Value of the i-th row that is drawn in a column. */
function valueAt(column) {
  const values = columnOf(data.drawn, column);
  return (i) => values[i];
}

/** What is told of each row that is drawn. */
function describeRows(clusters, axes) {
  const features = axes.filter((column) => column < data.profiled.length);
  const shown = features.map((column) => [data.columns[column], valueAt(column)]);
  const told = toldColumns();
  return clusters.map((cluster, i) => {
    const lines = new Map([...shown, ...told(cluster)].map(([name, at]) => [name, at(i)]));
    const texts = [...lines]
      .filter(([, value]) => value !== null)
      .map(([name, value]) => `${plain(name)}: ${plain(rounded(value))}`);
    return [`<b>${plain(titleOf(i))}</b>`, plain(nameOf(cluster)), ...texts].join("<br>");
  });
}

/** Rows whose name, or a column told of them, has the text that is sought. */
function soughtRows() {
  const text = state.sought.toLowerCase();
  if (!text) return null;
  const parts = (i) => [titleOf(i), ...data.hover.map(({ values }) => rounded(values[i]))];
  return Array.from(data.shown, (_, i) => parts(i).join("\n").toLowerCase().includes(text));
}

function rowTrace(across, up) {
  const clusters = Array.from(data.shown, clusterOf);
  const climbing = state.frame > 0;
  const x = valuesOf(data.drawn, across);
  const y = valuesOf(data.drawn, up);
  const sought = soughtRows();
  const opacity = (cluster, i) => {
    if (sought !== null) return sought[i] ? 1 : 0.06;
    return dimmed(cluster) ? 0.08 : climbing ? 0.2 : 0.8;
  };
  if (sought !== null) $("matches").textContent = `${count(sought.filter(Boolean).length)} found`;
  else $("matches").textContent = "";
  return {
    x,
    y,
    mode: "markers",
    marker: {
      size: data.shown.length > 1500 ? 6 : 8,
      ...paintRows(clusters),
      symbol: clusters.map(symbol),
      opacity: clusters.map(opacity),
      line: { width: 0.5, color: styled("paper") },
    },
    text: climbing ? [] : describeRows(clusters, [across, up]), // not in every frame
    hovertemplate: climbing ? "" : "%{text}<extra></extra>",
    hoverinfo: climbing ? "skip" : "text",
  };
}

function climbTraces(across, up) {
  const n = data.climbers.length;
  const clusters = Array.from(data.climbers, clusterOf);
  const visible = clusters.map((cluster) => state.frame > 0 && !dimmed(cluster));
  const frames = Array.from({ length: state.frame + 1 }, (_, f) => [
    columnOf(data.climb, across, f * n, n),
    columnOf(data.climb, up, f * n, n),
  ]);
  const trail = {
    x: [],
    y: [],
    mode: "lines",
    line: { width: 1, color: styled("trail") },
    hoverinfo: "skip",
  };
  for (let i = 0; i < n; i++) {
    if (!visible[i]) continue;
    frames.forEach(([x, y]) => {
      trail.x.push(x[i]);
      trail.y.push(y[i]);
    });
    trail.x.push(null); // breaks the line
    trail.y.push(null);
  }
  const pick = (values) => values.filter((_, i) => visible[i]);
  const [x, y] = frames[state.frame];
  const climber = {
    x: pick(x),
    y: pick(y),
    mode: "markers",
    marker: {
      size: 9,
      color: pick(clusters.map(color)),
      symbol: pick(clusters.map(symbol)),
      line: { width: 1, color: styled("ink") },
    },
    hoverinfo: "skip",
  };
  return [trail, climber];
}

/** On a map of their own nobody knows the way of the rows: there is nothing to climb. */
function checkClimb(mapped) {
  if (mapped) {
    stop();
    state.frame = 0;
    $("frame").value = 0;
  }
  $("play").disabled = mapped;
  $("frame").disabled = mapped;
  const some = data.climbers.length < data.rows ? `${count(data.climbers.length)} of the rows` : "";
  $("climbers").textContent = mapped ? "Choose other axes to see rows climb." : some;
}

function drawRows() {
  const [across, up] = view();
  const mapped = onMap(across) || onMap(up);
  checkClimb(mapped);
  const axis = (column) => ({
    title: { text: plain(columnName(column)) },
    gridcolor: styled("grid"),
    showgrid: !onMap(column),
    zeroline: false,
    automargin: true,
    showticklabels: !onMap(column), // places on a map have no unit
  });
  const layout = {
    ...chartLayout(),
    margin: { l: 50, r: 10, t: 10, b: 40 },
    xaxis: axis(across),
    yaxis: axis(up),
    showlegend: false,
    hovermode: "closest",
    uirevision: viewName(), // keeps the zoom until the axes change
  };
  const climb = mapped ? [{ x: [] }, { x: [] }] : climbTraces(across, up);
  const traces = [rowTrace(across, up), ...climb, islandTrace(across, up)];
  Plotly.react("scatter", traces, layout, CONFIG);
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
  if (matchMedia("(prefers-reduced-motion: reduce)").matches)
    return setFrame(state.frame === last ? 0 : last);
  if (state.frame === last) setFrame(0);
  $("play").textContent = "Pause";
  timer = setInterval(() => {
    setFrame(state.frame + 1);
    if (state.frame === last) stop();
  }, FRAME_TIME);
}
