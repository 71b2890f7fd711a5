"use strict";

// Labels as a file, print, and the start.

function download() {
  const lines = ["row,cluster"];
  data.modes.forEach((_, row) => lines.push(`${row},${clusterOf(row)}`));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(
    new Blob([`${lines.join("\n")}\n`], { type: "text/csv" }),
  );
  link.download = state.asFitted
    ? "clusters-as-fitted.csv"
    : `clusters-at-${state.prominence}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Charts keep the size they have on the screen: paper needs its own, and is white. */
function fitPaper() {
  state.printing = true;
  applyTheme();
  $("made").open = true;
  ALL_DRAWINGS.forEach((draw) => draw());
  document.querySelectorAll(".chart").forEach((chart) =>
    Plotly.relayout(chart, {
      width: PAPER_WIDTH,
      height: chart.id === "profile" ? chart.layout.height : 380,
    }),
  );
}

function leavePaper() {
  state.printing = false;
  applyTheme();
  schedule(...ALL_DRAWINGS);
}

function describe() {
  $("summary").textContent = [
    plural(data.rows, "row"),
    plural(data.features, "feature"),
    plural(data.fitted.tops.length, "cluster") + " as fitted",
    plural(data.weight.length, "mode") + " of the density",
  ].join(" · ");
  $("decision").textContent = data.decision;
  const notes = [];
  if (data.shown.length < data.rows) {
    notes.push(
      `Thinned: ${count(data.shown.length)} of ${count(data.rows)} rows are drawn, some of every mode. Sizes, profiles and the download are of all rows.`,
    );
  }
  if (data.profiled.length < data.features) {
    notes.push(
      `${count(data.profiled.length)} of ${count(data.features)} features are shown: those that differ most between the clusters as fitted.`,
    );
  }
  if (data.noise.size) {
    notes.push(
      `Noise: ${plural(data.noise.size, "row")}, grey rings and label -1 in the download. Sizes and profiles count them with the cluster that they are nearest to.`,
    );
  }
  $("notes").textContent = notes.join(" ");
  $("plane").hidden = !data.columns.some((name) => name === data.plane);
  $("finding").hidden = data.rowNames === null && !data.hover.length;
  for (const [heading, lines] of Object.entries(data.settings)) {
    const part = document.createElement("div");
    part.append(Object.assign(document.createElement("h3"), { textContent: heading }));
    const table = part.appendChild(document.createElement("table"));
    lines.forEach(([name, value]) => {
      const line = table.insertRow();
      line.append(
        Object.assign(document.createElement("th"), { scope: "row", textContent: name }),
      );
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
  Object.assign($("slider"), {
    step: step.toFixed(digits),
    max: (Math.ceil((1.02 * data.top) / step) * step).toFixed(digits),
  });
}

/** The map that was given first, then the columns. */
function fillChoices() {
  const n = data.columns.length;
  const start = data.embedding ? [n, n + 1] : data.start;
  ["across", "up"].forEach((id, which) => {
    (data.embedding?.axes ?? []).forEach((name, axis) => $(id).add(new Option(name, n + axis)));
    data.columns.forEach((name, column) => $(id).add(new Option(name, column)));
    $(id).value = start[which];
    $(id).addEventListener("change", () => schedule(drawRows));
  });
}

function listen() {
  const merges = () => data.sorted.length + 1 - state.tops.length;
  $("slider").addEventListener("input", () => setLevel($("slider").valueAsNumber));
  $("exact").addEventListener("input", () => {
    if ($("exact").value !== "" && $("exact").validity.valid)
      setLevel($("exact").valueAsNumber, true);
  });
  $("fewer").addEventListener("click", () =>
    setLevel(levelOf(data.sorted, Math.min(merges() + 1, data.sorted.length))),
  );
  $("more").addEventListener("click", () => {
    // Merges of one prominence are made together, so one less may be several less.
    const target = data.sorted[Math.max(0, merges() - 1)];
    setLevel(
      levelOf(
        data.sorted,
        data.sorted.findIndex((value) => value === target),
      ),
    );
  });
  $("fitted").addEventListener("click", setFitted);
  $("download").addEventListener("click", download);
  $("play").addEventListener("click", play);
  $("frame").max = data.frames - 1;
  $("frame").addEventListener("input", () => {
    stop();
    setFrame($("frame").valueAsNumber);
  });
  $("tree").on("plotly_relayout", (change) => {
    if ("shapes[0].y0" in change)
      setLevel(Math.max(0, Number(change["shapes[0].y0"].toPrecision(3))));
  });
  // Where one looks closer, there is room for more names.
  $("scatter").on("plotly_relayout", () => state.printing || schedule(drawRows));
  $("theme").addEventListener("click", switchTheme);
  DARK.addEventListener("change", () => {
    applyTheme();
    schedule(...ALL_DRAWINGS);
  });
  $("find").addEventListener("input", () => {
    state.sought = $("find").value.trim();
    schedule(drawRows);
  });
  addEventListener("beforeprint", fitPaper);
  addEventListener("afterprint", leavePaper);
  document.querySelectorAll("input, select, button").forEach((control) => {
    control.disabled = false;
  });
  checkClimb(view().some(onMap));
  // With a single mode there is nothing to cut.
  if (!data.sorted.length)
    ["slider", "exact", "fewer", "more", "fitted"].forEach((id) => {
      $(id).disabled = true;
    });
}

async function start() {
  if (typeof DecompressionStream === "undefined")
    throw new Error("it needs a browser of 2023 or newer");
  const script = document.createElement("script");
  script.textContent = await decompress("plotly");
  document.head.append(script);
  data = unpack(JSON.parse(await decompress("data")));
  data.noise = new Set(data.noise);
  applyTheme();
  prepareMarks();
  describe();
  prepareLevels();
  fillChoices();
  fillPaints();
  setFitted();
  drawTree(); // at once: plotly's events need the drawings
  drawRows();
  listen();
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  $("failure").textContent = `The page could not be drawn: ${error.message}.`;
  $("failure").hidden = false;
  throw error;
});
