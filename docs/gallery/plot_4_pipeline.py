"""
Digits, in a scikit-learn pipeline
==================================

``ModeClustering`` is a scikit-learn estimator: it is the last step of a pipeline, takes
parameters by ``set_params``, and predicts. Here 8 x 8 images of handwritten digits are
reduced to 8 principal components and clustered.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from modeseek import ModeClustering

digits = load_digits()
train, test, _, digit = train_test_split(digits.data, digits.target, random_state=0)
pipeline = make_pipeline(PCA(8, random_state=0), ModeClustering()).fit(train)
model = pipeline[-1]
print(f"{model.n_clusters_} clusters from {len(train)} images")

# %%
# New images go to the mode they climb to.
found = pipeline.predict(test)
print(f"adjusted Rand index, new images: {adjusted_rand_score(digit, found):.2f}")

# %%
# The modes can be taken back to images: they are what a cluster looks like where it is
# densest.
modes = pipeline[0].inverse_transform(model.cluster_centers_)
columns = 7
lines = int(np.ceil(len(modes) / columns))
fig, axes = plt.subplots(
    lines, columns, figsize=(7, 1.3 * lines), squeeze=False, layout="constrained"
)
for ax in axes.flat:
    ax.axis("off")
for k, (ax, mode) in enumerate(zip(axes.flat, modes, strict=False)):
    ax.imshow(mode.reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{np.sum(model.labels_ == k)} images", fontsize=8)
