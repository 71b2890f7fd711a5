"""
Many features that say nothing
==============================

The paper's toy: three Gaussians in a plane. Here 48 further features are noise, and
distances between rows hardly tell the clusters any more. modeseek finds the two
directions that matter, and trusts them because rows that had no part in the search
show the same valleys.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.plot import FeatureRelevanceDisplay

X, y = three_gaussians(50).sample(1000, random_state=0)
model = ModeClustering().fit(X)
others = HDBSCAN(copy=True).fit_predict(X)
for name, labels in {"modeseek": model.labels_, "HDBSCAN": others}.items():
    print(f"{name}: adjusted Rand index {adjusted_rand_score(y, labels):.2f}")
print(model.decision_)

# %%
# How much of what is not Gaussian about the gradient is each feature's. The first two
# carry it.
FeatureRelevanceDisplay.from_estimator(model, max_features=8)

# %%
# The clusters, in the two features that matter.
fig, ax = plt.subplots(figsize=(5, 4.5), layout="constrained")
for k in range(model.n_clusters_):
    ax.scatter(*X[model.labels_ == k, :2].T, s=5, label=f"cluster {k}")
ax.set(xlabel="feature 0", ylabel="feature 1", aspect="equal")
ax.legend()
