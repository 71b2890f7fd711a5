"""
Rows on Dask
============

A fitted model is small and made of sums over rows, and labels look at one row at a
time. So ``fit`` takes a Dask array: sums are made where the chunks are, and labels stay
lazy until they are asked for. No more than a few chunks are in memory at once.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from modeseek import ModeClustering
from modeseek.plot import ClusterPairsDisplay

MIDDLES = [[0, 0], [4, 4], [0, 7], [7, 0]]


def make_chunk(block_info=None):
    """Rows of one chunk, made where they are needed."""
    number = block_info[None]["chunk-location"][0]
    return make_blobs(5_000, centers=MIDDLES, random_state=number)[0]


X = da.map_blocks(make_chunk, chunks=((5_000,) * 10, (2,)), dtype=float)
print(X.shape, "in", X.numblocks[0], "chunks")

# %%
# On a cluster it runs where the current client is; here, in threads.
model = ModeClustering().fit(X)
print(f"{model.n_clusters_} clusters")

# %%
# The labels of all rows are another lazy array. Counting them goes through the chunks.
print(model.labels_)
counts = da.bincount(model.labels_, minlength=model.n_clusters_).compute()
print("shares:", (counts / counts.sum()).round(3))

# %%
# What a chunk gets is what its rows get by themselves.
first = X.blocks[0].compute()
labels = model.labels_.blocks[0].compute()
print("the same:", np.array_equal(labels, model.predict(first)))

ClusterPairsDisplay.from_estimator(model, first)
plt.show()
