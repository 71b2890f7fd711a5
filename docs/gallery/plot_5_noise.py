"""
Many features that say nothing
==============================

The paper's toy: three Gaussians in a plane. Here 48 further features are noise, and distances
between rows hardly tell the clusters any more. modeseek learns a width for each feature and finds
the two that matter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.datasets import three_gaussians

X, y = three_gaussians(50).sample(1000, random_state=0)
model = ModeClustering().fit(X)
others = HDBSCAN(copy=True).fit_predict(X)
for name, labels in {"modeseek": model.labels_, "HDBSCAN": others}.items():
    print(f"{name}: adjusted Rand index {adjusted_rand_score(y, labels):.2f}")

# %%
# The widths, in standard deviations of the features: the first two features are narrow, the others
# so wide that they are out of the model. A feature is out when its width is far beyond the data.
relative = model.estimator_.bandwidth_ / X.std(axis=0)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
axes[0].bar(np.arange(1, 51), relative, color="0.4")
axes[0].set(xlabel="feature", ylabel="width / standard deviation", yscale="log")
for k in range(model.n_clusters_):
    axes[1].scatter(*X[model.labels_ == k, :2].T, s=5, label=f"cluster {k}")
axes[1].set(xlabel="feature 1", ylabel="feature 2", aspect="equal")
axes[1].legend()
