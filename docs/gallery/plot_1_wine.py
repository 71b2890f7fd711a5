"""
Wines
=====

178 Italian wines of three cultivars, with 13 measurements each in units of their own.
The clustering is told neither the cultivars nor that there are three.
"""

import pandas as pd
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

from modeseek import ModeClustering
from modeseek.plot import (
    AscentDisplay,
    ClusterPairsDisplay,
    FeatureRelevanceDisplay,
)

wine = load_wine(as_frame=True)
model = ModeClustering().fit(wine.data)
print(f"adjusted Rand index: {adjusted_rand_score(wine.target, model.labels_):.2f}")
pd.crosstab(wine.target, model.labels_, rownames=["cultivar"], colnames=["cluster"])

# %%
# Every row climbs to a mode of the density, here in two principal components. The climb
# is in all 13 features, so its picture may turn where the density seems flat.
AscentDisplay.from_estimator(model, wine.data)

# %%
# The features whose means differ most between the clusters, in pairs. Clusters have a
# colour and a shape each.
ClusterPairsDisplay.from_estimator(model, wine.data)

# %%
# Which measurements say something: their share in what is not Gaussian about the
# density.
FeatureRelevanceDisplay.from_estimator(model)
