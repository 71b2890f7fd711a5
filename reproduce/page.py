"""The index: one page with an entry for every figure and table, and the outcome."""

from __future__ import annotations

import csv
import shutil
import textwrap
from html import escape
from pathlib import Path

from reproduce.entries import Claim, Entry, Table
from reproduce.sizes import Size

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1f24; max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; border-top: 1px solid #d0d7de; padding-top: 1rem; }
img { max-width: 100%; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.88rem; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.3rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.6rem;
  border-bottom: 1px solid #d0d7de; }
.verdict { font-weight: 600; white-space: nowrap; }
.agrees { color: #00694d; } .depends { color: #7a5c00; }
.disagrees { color: #a33f00; } .not-run { color: #57606a; }
figure { margin: 1rem 0; } figcaption { color: #57606a; font-size: 0.88rem; }
"""

#: Marks on the page of the documentation, between which the outcome stands.
FROM_HERE, TO_HERE = "<!-- written by python -m reproduce -->", "<!-- to here -->"

SIGNS = {"agrees": "✓", "depends": "≈", "disagrees": "✗", "not run": "-"}


def write_index(entries: list[Entry], size: Size, out: Path) -> Path:
    """Write index.html, outcome.csv and outcome.md; give the path of the page."""
    claims = [claim for entry in entries for claim in entry.claims]
    count = {v: sum(c.verdict == v for c in claims) for v in SIGNS}
    summary = ", ".join(f"{n} {verdict}" for verdict, n in count.items())
    body = "\n".join(render_entry(entry) for entry in entries)
    page = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The paper's experiments, run again</title><style>{STYLE}</style></head><body>
<h1>The paper's experiments, run again</h1>
<p>Every figure and table of <i>Clustering via Mode Seeking by Direct Estimation of
the Gradient of a Log-Density</i> (Sasaki, Hyvärinen, Sugiyama, 2014): what the paper
claims, what came out here, and whether they agree. A verdict is computed from the
numbers by the criterion beside it; where the paper prints no number, the criterion is
ours. "Depends" is what holds by one reading of what the paper leaves open and not by
another, both shown. Claims about time depend on the machine and may change from run to
run; all other numbers are the same every time. Every number is in the CSV files beside
this page.</p>
<p>Size of this run: <b>{escape(size.name)}</b>. Claims: {escape(summary)}.</p>
{render_outcome(entries)}
{body}
</body></html>
"""
    path = out / "index.html"
    path.write_text(page, encoding="utf-8")
    write_outcome(entries, out)
    return path


def anchor(entry: Entry) -> str:
    return "".join(c if c.isalnum() else "-" for c in entry.name.lower())


def render_verdict(claim: Claim) -> str:
    kind = claim.verdict.replace(" ", "-")
    text = f"{SIGNS[claim.verdict]} {claim.verdict}"
    return f'<span class="verdict {kind}">{text}</span>'


def render_outcome(entries: list[Entry]) -> str:
    lines = [
        f'<tr><td><a href="#{anchor(e)}">{escape(e.name)}</a></td>'
        f"<td>{escape(c.paper)}</td><td>{render_verdict(c)}</td></tr>"
        for e in entries
        for c in e.claims
    ]
    return (
        '<div class="scroll"><table><tr><th>entry</th><th>the paper</th>'
        f"<th>here</th></tr>{''.join(lines)}</table></div>"
    )


def render_entry(entry: Entry) -> str:
    parts = [
        f'<h2 id="{anchor(entry)}">{escape(entry.name)}: {escape(entry.title)}</h2>',
        f"<p>{escape(entry.setting)} Runs of every setting: {entry.extent or 'none'}."
        "</p>",
        render_claims(entry.claims),
        *(render_picture(*picture) for picture in entry.pictures),
        *(render_table(table) for table in entry.tables),
    ]
    return "\n".join(parts)


def render_claims(claims: list[Claim]) -> str:
    head = "<tr><th>the paper</th><th>criterion</th><th>here</th><th>verdict</th></tr>"
    lines = []
    for c in claims:
        timed = " (a time)" if c.timed else ""
        why = "" if c.holds or not c.why else f"<br>{escape(c.why)}"
        lines.append(
            f"<tr><td>{escape(c.paper)}</td><td>{escape(c.criterion)}{timed}</td>"
            f"<td>{escape(c.here)}</td><td>{render_verdict(c)}{why}</td></tr>"
        )
    return f'<div class="scroll"><table>{head}{"".join(lines)}</table></div>'


def render_picture(file: str, what: str) -> str:
    return (
        f'<figure><img src="{escape(file)}" alt="{escape(what)}">'
        f"<figcaption>{escape(what)}</figcaption></figure>"
    )


def render_table(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>"
        for line in table.body
    )
    return (
        f'<div class="scroll"><table><caption>{escape(table.caption)}</caption>'
        f"<tr>{head}</tr>{body}</table></div>"
    )


def write_outcome(entries: list[Entry], out: Path) -> None:
    """The claims and verdicts, as CSV and as a table for Markdown."""
    head = ["entry", "runs", "paper", "criterion", "here", "verdict", "timed", "why"]
    lines = [
        [e.name, e.extent, c.paper, c.criterion, c.here, c.verdict, timed, reason(c)]
        for e in entries
        for c in e.claims
        for timed in ("yes" if c.timed else "no",)
    ]
    with (out / "outcome.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head)
        writer.writerows(lines)
    text = ["| entry | runs | the paper | here | verdict |", f"|{' --- |' * 5}"]
    text += [table_line(dict(zip(head, line, strict=True))) for line in lines]
    (out / "outcome.md").write_text("\n".join(text) + "\n", encoding="utf-8")


def table_line(claim: dict[str, str]) -> str:
    """A claim in the table for Markdown, with the reason where it does not agree."""
    verdict = " ".join(filter(None, [f"**{claim['verdict']}**", claim["why"]]))
    cells = [*(claim[name] for name in ("entry", "runs", "paper", "here")), verdict]
    return f"| {' | '.join(cells)} |"


def summary(out: Path) -> str:
    """How many claims have each verdict, of those that were written last."""
    with (out / "outcome.csv").open(newline="", encoding="utf-8") as file:
        verdicts = [row["verdict"] for row in csv.DictReader(file)]
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in SIGNS if v in verdicts)
    return f"Of {len(verdicts)} claims: {counts}."


def reason(claim: Claim) -> str:
    return "" if claim.holds else claim.why


def update_page(page: Path, size: Size, out: Path) -> None:
    """Put the outcome between the two marks of a page; the CSV files go beside it."""
    text = page.read_text(encoding="utf-8")
    head, rest = text.split(FROM_HERE)
    _, tail = rest.split(TO_HERE)
    table = (out / "outcome.md").read_text(encoding="utf-8")
    said = textwrap.fill(f"{size.describe()} {summary(out)}", 120)
    body = f"{FROM_HERE}\n\n{said}\n\n{table}\n{TO_HERE}"
    page.write_text(head + body + tail, encoding="utf-8")
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    for path in sorted([*out.glob("*.csv"), out / "sources.json"]):
        shutil.copyfile(path, folder / path.name)
