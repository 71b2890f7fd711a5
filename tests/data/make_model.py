"""Save the models that tests/test_persist.py loads, with whatever is installed.

Those beside this file were made without an argument, with scikit-learn 1.6.1, NumPy
1.26.4 and skops 0.13.0. ``make test-versions`` makes more with the oldest and newest
releases, in the folder that is given.
"""

import sys
from pathlib import Path

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.persist import FORMAT, save_model

ESTIMATORS = {
    "gradient": LogDensityGradient(n_centers=40, bandwidth="auto"),
    "kernel": KernelDensityGradient(),
}

if __name__ == "__main__":
    X, _ = three_gaussians().sample(120, random_state=0)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    folder.mkdir(parents=True, exist_ok=True)
    for name, estimator in ESTIMATORS.items():
        model = ModeClustering(estimator).fit(X)
        save_model(folder / f"{name}-{FORMAT}.skops", model, columns=["u", "v"])
