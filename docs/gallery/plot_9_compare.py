"""
Two clusterings of the same samples
===================================

Which clusters stay when a model is fitted anew to more samples, or when the tree is
cut at another level? ``compare_clusterings`` matches the clusters of two clusterings
and says what became of each.
"""

from sklearn.datasets import load_wine

from modeseek import ModeClustering, compare_clusterings
from modeseek.plot import ComparisonDisplay

X = load_wine(as_frame=True).data

# %%
# A model is updated: the first one knew three quarters of the wines. Both label all of
# them. For each cluster of the first the table has that of the second which is most
# like it, by the Jaccard index: the wines that both have by those of either.
before = ModeClustering().fit(X.sample(frac=0.75, random_state=0))
after = ModeClustering().fit(X)
print(compare_clusterings(before, after, X))

# %%
# The same as a picture. A band is as high as the number of wines that two clusters
# share.
ComparisonDisplay.from_clusterings(before, after, X, names=["3/4 of the wines", "all"])

# %%
# Labels can be compared as well, such as those of two levels of one tree.
two = after.cut(n_clusters=2)
print(compare_clusterings(after, two))
ComparisonDisplay.from_clusterings(after, two, names=["as fitted", "two clusters"])
