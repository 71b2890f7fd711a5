"""
A Dask array, labelled chunk by chunk
=====================================

A fitted model holds a hundred-odd centres and at most 5,000 rows, and ``predict`` looks
at one row at a time. So it can be fitted on some of the rows and applied to chunks of
any number of them, wherever these are: labels stay lazy until they are asked for, and
no more than a few chunks are in memory at once.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from modeseek import ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.plot import ClusterPairsDisplay

toy = three_gaussians()


def make_chunk(block_info=None):
    """Rows of one chunk, made where they are needed."""
    number = block_info[None]["chunk-location"][0]
    return toy.sample(5_000, random_state=number)[0]


X = da.map_blocks(make_chunk, chunks=((5_000,) * 10, (2,)), dtype=float)
print(X.shape, "in", X.numblocks[0], "chunks")

# %%
# Every twentieth row is enough to fit on.
sample = X[::20].compute()
model = ModeClustering().fit(sample)
print(f"{model.n_clusters_} clusters")

# %%
# The labels of all rows are another lazy array. Counting them goes through the chunks.
labels = X.map_blocks(model.predict, drop_axis=1, dtype=np.intp)
counts = da.bincount(labels, minlength=model.n_clusters_).compute()
print("shares:", (counts / counts.sum()).round(3))

# %%
# What a chunk gets is what its rows get by themselves.
first = labels.blocks[0].compute()
print("the same:", (first == model.predict(X.blocks[0].compute())).all())

ClusterPairsDisplay.from_estimator(model, sample)
plt.show()
