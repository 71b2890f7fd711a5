"""
The hierarchy and its cuts
==========================

Two half moons are not two hills: the density has bumps along each of them. The merge
tree shows how deep the valleys between the bumps are, and where to cut.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from modeseek import ModeClustering
from modeseek.plot import GradientFieldDisplay, MergeTreeDisplay

X, moon = make_moons(1000, noise=0.07, random_state=0)
model = ModeClustering(max_iter=5000).fit(X)
print(f"{len(model.modes_)} modes, {model.n_clusters_} clusters")

# %%
# The estimated log-density, its gradient and its modes. Ridges run along the moons.
GradientFieldDisplay.from_estimator(model, X)

# %%
# The tree in numbers: mode ``child`` joins the hill of mode ``parent``. Prominence is
# how far the log-density falls between the two, from the lower of them. One valley is
# far deeper than the others, and nearly three of its standard errors deep: that between
# the moons.
tree = model.merge_tree_
for i in np.argsort(-tree.prominence):
    print(
        f"mode {tree.child[i]:2d} joins {tree.parent[i]:2d}: prominence "
        f"{tree.prominence[i]:.2f}, standard error {tree.std_error[i]:.2f}"
    )

# %%
# The same as a dendrogram. In a window of its own the cut can be dragged.
MergeTreeDisplay.from_estimator(model, cut=1.0)

# %%
# Any other level is a look at the tree; nothing is fitted again. ``predict_modes`` and
# ``merge_tree_.cut`` do the same for new rows.
levels = 0.0, 0.3, 1.0
fig, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for ax, prominence in zip(axes, levels, strict=True):
    labels = model.cut(prominence=prominence)
    ax.scatter(*X.T, c=labels, s=4, cmap="tab20")
    ax.set(
        title=f"prominence {prominence}: {labels.max() + 1} clusters", aspect="equal"
    )
