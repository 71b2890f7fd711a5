"""
Wines
=====

178 Italian wines of three cultivars, with 13 measurements each in units of their own.
The clustering is told neither the cultivars nor their number. It finds three clusters,
and most wines of a cultivar are in one of them.
"""

import pandas as pd
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.plot import (
    AscentDisplay,
    ClusterMapDisplay,
    ClusterPairsDisplay,
    ClusterProfileDisplay,
    FeatureRelevanceDisplay,
)

wine = load_wine(as_frame=True)
model = ModeClustering().fit(wine.data)
print(f"adjusted Rand index: {adjusted_rand_score(wine.target, model.labels_):.2f}")
pd.crosstab(wine.target, model.labels_, rownames=["cultivar"], colnames=["cluster"])

# %%
# Among 13 measurements of 178 wines, distances say little. The clusters were sought in
# fewer coordinates, principal components without their noise. ``model.transform`` gives
# them, and the map is drawn in them.
print(model.decision_)
ClusterMapDisplay.from_estimator(model, wine.data)

# %%
# Every wine climbs to a mode of the density there, from wine to wine.
AscentDisplay.from_estimator(model, wine.data)

# %%
# The means of the clusters, in standard deviations from those of all wines.
ClusterProfileDisplay.from_estimator(model, wine.data)

# %%
# The features whose means differ most between the clusters, in pairs. Clusters have a
# colour and a shape each.
ClusterPairsDisplay.from_estimator(model, wine.data)

# %%
# Which measurements say something: their share in what is not Gaussian about the
# density.
FeatureRelevanceDisplay.from_estimator(model)

# %%
# The clusters in a table: how many wines, how deep the valley to the next cluster, and
# the measurements whose means are farthest from those of all wines, in standard
# deviations.
model.summary()

# %%
# Which would merge next, and what the deepest valley alone separates.
print(model.merge_tree_)
two = model.cut(n_clusters=2)
pd.crosstab(wine.target, two, rownames=["cultivar"], colnames=["cluster"])
