"use strict";

// Rows: the scatter, and their climb to the modes.

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
    text: clusters.map((cluster, i) => `row ${data.shown[i]}, ${nameOf(cluster)}`),
    hovertemplate: "%{text}<br>%{x:.4g}, %{y:.4g}<extra></extra>",
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
    line: { width: 1, color: "rgba(27, 31, 36, 0.25)" },
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
      line: { width: 1, color: "#1b1f24" },
    },
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
    marker: {
      size: crowded ? 9 : 15,
      symbol: "star",
      color: "#1b1f24",
      line: { width: 1, color: "#ffffff" },
    },
    text: tops.map((_, cluster) => `<b>${cluster}</b>`),
    textposition: "top center",
    textfont: {
      size: crowded ? 11 : 15,
      shadow: "0 0 3px #fff, 0 0 3px #fff, 0 0 3px #fff",
    },
    hovertemplate: "mode of cluster %{text}<extra></extra>",
  };
}

function drawRows() {
  const across = Number($("across").value);
  const up = Number($("up").value);
  const axis = (column) => ({
    title: { text: plain(data.columns[column]) },
    gridcolor: "#eaeef2",
    zeroline: false,
    automargin: true,
  });
  const layout = {
    font: FONT,
    margin: { l: 55, r: 15, t: 10, b: 45 },
    xaxis: axis(across),
    yaxis: axis(up),
    showlegend: false,
    hovermode: "closest",
    uirevision: `${across} ${up}`, // keeps the zoom until the axes change
  };
  Plotly.react(
    "scatter",
    [rowTrace(across, up), ...climbTraces(across, up), modeTrace(across, up)],
    layout,
    CONFIG,
  );
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
