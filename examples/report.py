"""Write the web page of a clustering: 178 Italian wines, no parameter set.

Writes ``out/report.html``: open it in a browser.
"""

from __future__ import annotations

from pathlib import Path

from sklearn.datasets import load_wine

from modeseek import ModeClustering
from modeseek.report import write_report

OUT = Path(__file__).resolve().parent.parent / "out"


def main() -> None:
    wine = load_wine(as_frame=True).data
    model = ModeClustering().fit(wine)
    OUT.mkdir(exist_ok=True)
    path = write_report(
        OUT / "report.html",
        model,
        wine,
        modes=model.row_modes_,
        title="178 Italian wines",
        settings={"data": "the wine data of scikit-learn"},
    )
    print(f"Wrote {OUT.name}/{path.name}.")


if __name__ == "__main__":
    main()
