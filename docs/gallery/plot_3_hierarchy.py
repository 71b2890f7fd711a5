"""
The hierarchy and its cuts
==========================

Two half moons are ridges with many tops. The merge tree shows how deep the
valleys between the tops are, and where to cut.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from modeseek import ModeClustering
from modeseek.plot import AscentDisplay, GradientFieldDisplay, MergeTreeDisplay

X, moon = make_moons(1000, noise=0.07, random_state=0)
model = ModeClustering().fit(X)
print(f"{len(model.modes_)} modes, {model.n_clusters_} clusters")

# %%
# Rows climb from row to row, to tops all along the moons. Stars are the highest ones.
AscentDisplay.from_estimator(model, X)

# %%
# The tree in numbers, its deepest merges: mode ``child`` joins mode ``parent`` across
# the saddle. Prominence is how far the log-density falls from child to saddle. One
# valley is far deeper than the others, and deeper than chance makes them among a
# thousand rows in a plane (1.2): that between the moons.
tree = model.merge_tree_
for i in np.argsort(-tree.prominence)[:6]:
    print(
        f"mode {tree.child[i]:2d} joins {tree.parent[i]:2d}: prominence "
        f"{tree.prominence[i]:.2f}, standard error {tree.std_error[i]:.2f}"
    )

# %%
# The same as a dendrogram. In a window of its own the cut can be dragged.
MergeTreeDisplay.from_estimator(model)

# %%
# Any other level is a look at the tree; nothing is fitted again. ``predict_modes`` and
# ``merge_tree_.cut`` do the same for new rows.
levels = 0.0, 0.9, 2.0
fig, axes = plt.subplots(1, 3, figsize=(9, 3), sharey=True, layout="constrained")
for ax, prominence in zip(axes, levels, strict=True):
    labels = model.cut(prominence=prominence)
    ax.scatter(*X.T, c=labels, s=4, cmap="tab20")
    ax.set(
        title=f"prominence {prominence}: {labels.max() + 1} clusters", aspect="equal"
    )

# %%
# Along the gradient there are fewer tops, as the estimated log-density is smooth. But
# some ripples of its Gaussians on the ridges are deeper than the fixed level, 0.3: it
# leaves four clusters, and the two moons are at another level.
smooth = ModeClustering(ascent="fixed_point").fit(X)
print(f"{len(smooth.modes_)} modes, {smooth.n_clusters_} clusters")
two = smooth.cut(n_clusters=2)
print(f"cut into two: {max(np.mean(two == moon), np.mean(two != moon)):.1%} right")
GradientFieldDisplay.from_estimator(smooth, X)
