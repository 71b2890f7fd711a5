"""Save the models that tests/test_persist.py loads, with whatever is installed.

They were made by ``python tests/data/make_model.py`` with scikit-learn 1.6.1, NumPy
1.26.4 and skops 0.13.0: the oldest that are supported.
"""

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
    for name, estimator in ESTIMATORS.items():
        model = ModeClustering(estimator).fit(X)
        place = Path(__file__).with_name(f"{name}-{FORMAT}.skops")
        save_model(place, model, columns=["u", "v"])
