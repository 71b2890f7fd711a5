"""Run the experiments of the paper and write the index.

    python -m reproduce                  # reduced size
    python -m reproduce --size full      # the paper's size, 100 runs
    python -m reproduce --size full --minutes 60     # as much of it as an hour allows
    python -m reproduce --page docs/reproduce.md     # the outcome into the page, too

What was computed before is read from the CSV files in the folder of results, so that an
interrupted run goes on where it was; runs of all experiments take turns, so that one
that ends early has some of each. Real data is sought in the folder that the
environment variable MODESEEK_DATA names; entries that need it say so where there is
none.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from reproduce import climb, comparison, gradients, images, toy
from reproduce.page import update_page, write_index
from reproduce.runs import Lab, work
from reproduce.sizes import SIZES

#: In the order of the paper.
EXPERIMENTS = (gradients, climb, toy, images, comparison)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="reproduce", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--size", choices=SIZES, default="reduced")
    parser.add_argument("--out", type=Path, default=Path("out/reproduce"))
    parser.add_argument("--page", type=Path, help="page to put the outcome in")
    parser.add_argument("--minutes", type=float, default=np.inf, help="time to compute")
    options = parser.parse_args(arguments)
    folder = os.environ.get("MODESEEK_DATA")
    data = Path(folder) if folder else None
    if data is not None and not data.is_dir():
        parser.error(f"MODESEEK_DATA is {folder}, which is no folder.")
    options.out.mkdir(parents=True, exist_ok=True)
    lab = Lab(SIZES[options.size], options.out, data)
    # Sums of threads come in any order; one thread of BLAS and OpenMP gives the same
    # numbers every time.
    with threadpool_limits(1), warnings.catch_warnings():
        # The paper's candidates end where they end.
        warnings.filterwarnings("ignore", "The chosen .* is the first or last")
        batches = [batch for one in EXPERIMENTS for batch in one.batches(lab)]
        work(lab, batches, time.monotonic() + 60.0 * options.minutes)
        try:
            entries = [entry for one in EXPERIMENTS for entry in one.run(lab)]
        except LookupError as missing:
            parser.error(f"{missing.args[0]} Give it more time.")
    print(write_index(entries, lab.size, options.out))
    if options.page is not None:
        update_page(options.page, lab.size, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
