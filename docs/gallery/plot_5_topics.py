"""
Topics of documents
===================

As BERTopic does it: texts become vectors, vectors are clustered, and each cluster is
named by the words that stand out in it. The texts are the docstrings of SciPy, which is
installed with modeseek; the vectors are TF-IDF reduced by a singular value
decomposition. Vectors of a language model take their place in the same lines.
"""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from modeseek import ModeClustering

PACKAGES = [
    "fft",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "special",
    "stats",
]

texts, packages = [], []
for package in PACKAGES:
    module = importlib.import_module(f"scipy.{package}")
    for name in sorted(module.__all__):
        docstring = inspect.getdoc(getattr(module, name)) or ""
        text = docstring.split("\nReferences\n")[0]
        if len(text) > 300:
            texts.append(text)
            packages.append(package)
print(f"{len(texts)} texts; one of them begins: {texts[100].splitlines()[0]}")

# %%
# Vectors: words of three letters or more, neither rare nor in half of the texts; ten
# dimensions; unit length.
tfidf = TfidfVectorizer(
    stop_words="english",
    token_pattern=r"\b[a-z]{3,}\b",
    min_df=5,
    max_df=0.5,
    sublinear_tf=True,
)
words = tfidf.fit_transform(texts)
embed = make_pipeline(TruncatedSVD(10, random_state=0), Normalizer())
vectors = embed.fit_transform(words)

# %%
# Clusters, and the words whose mean weight is most above that in the other texts. What
# many docstrings have in common, such as the list of array libraries they support, is a
# topic too.
model = ModeClustering().fit(vectors)
vocabulary = tfidf.get_feature_names_out()


def top_words(inside, n=5):
    """Words that tell the texts inside from those outside."""
    excess = words[inside].mean(axis=0) - words[~inside].mean(axis=0)
    return vocabulary[np.argsort(-np.asarray(excess).ravel())[:n]]


topics = [" ".join(top_words(model.labels_ == k)) for k in range(model.n_clusters_)]
for k, topic in enumerate(topics):
    print(f"{np.sum(model.labels_ == k):4d} texts: {topic}")

# %%
# SciPy's own packages were not shown to it. Some are one topic, others, such as
# ``special``, are many.
agreement = adjusted_rand_score(packages, model.labels_)
print(f"adjusted Rand index with the packages: {agreement:.2f}")
share = pd.crosstab(model.labels_, np.array(packages), normalize="columns")
shown = min(12, model.n_clusters_)
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
ax.imshow(share[:shown], cmap="Blues", aspect="auto")
ax.set_xticks(range(share.shape[1]), share.columns, rotation=30)
ax.set_yticks(range(shown), topics[:shown])
ax.set_title("share of each package in the largest topics")

# %%
# A new text goes to the topic that its vector climbs to.
question = ["Smooth a noisy time series with a low-pass filter, without phase shift."]
topic = model.predict(embed.transform(tfidf.transform(question)))[0]
print(topics[topic])
