"""Tables of the speed benchmark, made from its results alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"

#: Clusterers that are told the number of clusters.
ONE_START = "k-means, told k, one start"
TOLD = ("k-means, told k", "mini-batch k-means, told k", ONE_START)

#: Times that k-means takes to label rows, which ours may take at most.
MOST_PREDICTION = 3.0

#: Megabytes that may be used beyond one more copy of the input.
ALLOWED_MB = 300.0


def render(results: dict[str, Any], ours: str) -> str:
    """All tables and verdicts as Markdown."""
    parts = [about(results)]
    for name, entry in results["tasks"].items():
        if not name.startswith("growth-") and ours in entry["results"]:
            parts.append(table(entry, ours))
    parts += [growth(results, ours), predictions(results, ours), imports(results)]
    parts += [verdicts(results, ours)]
    return "\n\n".join(part for part in parts if part)


def about(results: dict[str, Any]) -> str:
    machine = results["machine"]
    stamps = [e["versions"] for e in results["tasks"].values() if "versions" in e]
    stamps += [results["imports"]["versions"]] if "imports" in results else []
    names = sorted({name for stamp in stamps for name in stamp})
    told = [
        f"{name} {' and '.join(sorted({s[name] for s in stamps if name in s}))}"
        for name in names
    ]
    return (
        f"{machine['cores']} cores of {machine['processor']}, {machine['system']}, "
        f"Python {machine['python']}; {', '.join(told)}."
    )


def table(entry: dict[str, Any], ours: str) -> str:
    """One set: who took how many times as long as ours, and how well."""
    size = f"{entry['rows']:,} x {entry['features']}"
    lines = [
        f"**{entry['set'].capitalize()}, {size}**",
        "",
        "| clusterer | time / ours | ARI | clusters | peak memory / input "
        "| import / ours | first call / ours |",
        "|" + " --- |" * 7,
    ]
    own = entry["results"][ours]
    done = {n: r for n, r in entry["results"].items() if r["status"] == "done"}
    for name in sorted(done, key=lambda n: done[n]["seconds"]):
        lines.append(row(name, done[name], own))
    for name, outcome in entry["results"].items():
        if name not in done:
            lines.append(f"| {name} | {why(outcome)} | | | | | |")
    return "\n".join(lines)


def row(name: str, outcome: dict[str, Any], own: dict[str, Any]) -> str:
    def ratio(key: str) -> str:
        if own["status"] != "done":
            return ""
        return f"{outcome[key] / own[key]:.2f}"

    cells = [
        name,
        ratio("seconds"),
        f"{outcome['ari']:.3f}",
        str(outcome["n_clusters"]),
        f"{outcome['peak_mb'] / outcome['input_mb']:.1f}",
        ratio("import_seconds"),
        ratio("warm_seconds"),
    ]
    return "| " + " | ".join(cells) + " |"


def why(outcome: dict[str, Any]) -> str:
    """Say why there is no time."""
    if outcome["status"] == "over":
        return f"over {minutes(outcome['limit'])}"
    if outcome["status"] == "skipped":
        return f"not run: over the limit at {outcome['over_at']:,} rows"
    return f"{outcome['status']}: {outcome.get('message', '')}"


def minutes(seconds: int) -> str:
    return f"{seconds // 60} min" if seconds % 60 == 0 else f"{seconds} s"


def sizes(results: dict[str, Any], ours: str) -> list[tuple[int, dict[str, Any]]]:
    """Rows and what ours took, ascending."""
    found = [
        (entry["rows"], entry["results"][ours])
        for name, entry in results["tasks"].items()
        if name.startswith("growth-")
        and entry["results"].get(ours, {}).get("status") == "done"
    ]
    return sorted(found, key=lambda pair: pair[0])


def growth(results: dict[str, Any], ours: str) -> str:
    found = sizes(results, ours)
    if len(found) < 2:
        return ""
    lines = [
        "**Growth of our time with the rows** (blobs with 5 features)",
        "",
        "| rows | time / the time above | exponent | peak memory / input |",
        "|" + " --- |" * 4,
    ]
    before = None
    for rows, outcome in found:
        grown = "" if before is None else f"{outcome['seconds'] / before[1]:.1f}"
        power = ""
        if before is not None:
            power = f"{exponent(before, (rows, outcome['seconds'])):.2f}"
        memory = outcome["peak_mb"] / outcome["input_mb"]
        lines.append(f"| {rows:,} | {grown} | {power} | {memory:.1f} |")
        before = rows, outcome["seconds"]
    return "\n".join(lines)


def exponent(small: tuple[int, float], large: tuple[int, float]) -> float:
    """Power of the rows by which the time grew."""
    return math.log(large[1] / small[1]) / math.log(large[0] / small[0])


def predictions(results: dict[str, Any], ours: str) -> str:
    """How long labels of rows take, ours over k-means."""
    if "predict" not in results:
        return ""
    entry = results["predict"]
    ratio = entry[ours] / entry["k-means"]
    return (
        f"**Predictions** of {size_of(entry, '')} blobs: `predict` takes {ratio:.1f} "
        "times as long as that of k-means with as many centres."
    )


def imports(results: dict[str, Any]) -> str:
    if "imports" not in results:
        return ""
    seconds = results["imports"]
    base = seconds["sklearn.cluster"]
    told = [
        f"`{name}` {seconds[name] / base:.2f} times as long"
        for name in ("modeseek", "modeseek.ModeClustering")
    ]
    return "**Imports**, against `sklearn.cluster`: " + ", ".join(told) + "."


def verdicts(results: dict[str, Any], ours: str) -> str:
    """What was aimed at, and whether it holds."""
    lines = ["| aim | measured | |", "| --- | --- | --- |"]
    for aim, measured, holds in claims(results, ours):
        verdict = "not measured" if holds is None else ("holds" if holds else "missed")
        lines.append(f"| {aim} | {measured} | **{verdict}** |")
    return "\n".join(lines)


def claims(
    results: dict[str, Any], ours: str
) -> Iterator[tuple[str, str, bool | None]]:
    """Yield every aim with what was measured and whether it holds."""
    for name, least in (("20k", 1.0), ("100k", 3.0)):
        entry = results["tasks"].get(name)
        aim = "faster than every clusterer that is told nothing"
        if least > 1.0:
            aim += f", by {least:.0f} times"
        yield (f"{size_of(entry, name)}: {aim}", *fastest_peer(entry, ours, least))
    entry = results["tasks"].get("1m")
    aim = f"{size_of(entry, '1m')}: no slower than k-means told k, 10 starts"
    yield (aim, *against_k_means(entry, ours, TOLD[0]))
    aim = f"{size_of(entry, '1m')}: no slower than k-means told k, one start"
    yield (aim, *against_k_means(entry, ours, ONE_START))
    yield (
        f"`predict` at most {MOST_PREDICTION:.0f} times as long as that of k-means",
        *prediction_ratio(results, ours),
    )
    found = [pair for pair in sizes(results, ours) if pair[0] >= 100_000]
    if len(found) >= 2:
        ends = [(rows, outcome["seconds"]) for rows, outcome in (found[0], found[-1])]
        power = exponent(*ends)
        measured = f"{power:.2f} from {ends[0][0]:,} to {ends[1][0]:,} rows"
        whole = ends[1][0] >= 10_000_000
        yield "time grows no faster than rows^1.1", measured, whole and power <= 1.1
    else:
        yield "time grows no faster than rows^1.1", "", None
    yield (
        "peak memory at most one more copy of the input and 300 MB",
        *memory(results, ours),
    )
    aim = "`import modeseek` at most 0.3 s longer than `import sklearn.cluster`"
    if "imports" in results:
        base = results["imports"]["sklearn.cluster"]
        alone, whole = (
            results["imports"][name] - base
            for name in ("modeseek", "modeseek.ModeClustering")
        )
        measured = f"{alone:+.2f} s, with `ModeClustering` {whole:+.2f} s"
        yield aim, measured, max(alone, whole) <= 0.3
    else:
        yield aim, "", None


def size_of(entry: dict[str, Any] | None, name: str) -> str:
    return name if entry is None else f"{entry['rows']:,} x {entry['features']}"


def fastest_peer(
    entry: dict[str, Any] | None, ours: str, least: float
) -> tuple[str, bool | None]:
    """The fastest of those told nothing, against ours."""
    done = finished(entry)
    peers = {n: r for n, r in done.items() if n != ours and n not in TOLD}
    if ours not in done or not peers:
        return "", None
    best = min(peers, key=lambda n: peers[n]["seconds"])
    ratio = peers[best]["seconds"] / done[ours]["seconds"]
    return f"{best} takes {ratio:.2f} times as long", ratio >= least


def prediction_ratio(results: dict[str, Any], ours: str) -> tuple[str, bool | None]:
    if "predict" not in results:
        return "", None
    ratio = results["predict"][ours] / results["predict"]["k-means"]
    return f"{ratio:.1f} times", ratio <= MOST_PREDICTION


def against_k_means(
    entry: dict[str, Any] | None, ours: str, told: str
) -> tuple[str, bool | None]:
    done = finished(entry)
    if ours not in done or told not in done:
        return "", None
    ratio = done[told]["seconds"] / done[ours]["seconds"]
    return f"k-means takes {ratio:.2f} times as long", ratio >= 1.0


def memory(results: dict[str, Any], ours: str) -> tuple[str, bool | None]:
    """Most memory beyond one more copy of the input, over all sets."""
    own = [finished(entry).get(ours) for entry in results["tasks"].values()]
    beyond = [o["peak_mb"] - o["input_mb"] for o in own if o is not None]
    if not beyond:
        return "", None
    most = max(beyond)
    return f"one copy and {most:.0f} MB at most", most <= ALLOWED_MB


def finished(entry: dict[str, Any] | None) -> dict[str, Any]:
    if entry is None:
        return {}
    return {n: r for n, r in entry["results"].items() if r["status"] == "done"}


def put(page: Path, text: str) -> None:
    """Replace what stands between the marks of a page."""
    old = page.read_text()
    head, rest = old.split(BEGIN, 1)
    _, tail = rest.split(END, 1)
    page.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}")
