"""Tables of other libraries, and what scikit-learn's own clusterers do with them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from modeseek import ModeClustering
from modeseek.datasets import three_gaussians

X, _ = three_gaussians().sample(200, random_state=0)
COLUMNS = {"u": X[:, 0], "v": X[:, 1]}
DAYS = np.datetime64("2020-01-01") + np.arange(len(X))


def polars(columns):
    return pytest.importorskip("polars").DataFrame(columns)


FRAMES = {"pandas": pd.DataFrame, "polars": polars, "pyarrow": pa.table}


@pytest.fixture(scope="module")
def expected():
    return ModeClustering().fit(X)


@pytest.fixture(params=FRAMES)
def frame(request):
    return FRAMES[request.param]


def test_a_frame_gives_the_clusters_of_its_array(frame, expected):
    model = ModeClustering().fit(frame(COLUMNS))
    assert model.feature_names_in_.tolist() == ["u", "v"]
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_array_equal(model.predict(frame(COLUMNS)), expected.labels_)


def test_a_frame_must_have_the_columns_of_the_fit(frame):
    model = ModeClustering().fit(frame(COLUMNS))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame({"u": X[:, 0], "w": X[:, 1]}))


def test_dates_in_a_frame_are_refused(frame):
    with pytest.raises(TypeError, match="dates or durations"):
        ModeClustering().fit(frame({**COLUMNS, "day": DAYS}))


def test_a_lazy_frame_says_how_to_give_its_rows():
    lazy = polars(COLUMNS).lazy()
    with pytest.raises(TypeError, match=r"X\.collect\(\)"):
        ModeClustering().fit(lazy)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_coordinates_come_out_as_the_frame_that_is_set(kind, expected):
    frame = FRAMES[kind](COLUMNS)
    out = ModeClustering().set_output(transform=kind).fit_transform(frame)
    assert type(out) is type(frame)
    names = expected.get_feature_names_out().tolist()
    assert list(out.columns) == names
    assert names == [f"modeclustering{i}" for i in range(expected.n_components_)]
    np.testing.assert_array_equal(out.to_numpy(), expected.transform(X))


def test_a_notebook_shows_a_fitted_clustering(expected):
    assert "ModeClustering" in estimator_html_repr(expected)
    pipeline = make_pipeline(StandardScaler(), ModeClustering(ascent="rows"))
    assert "ascent" in estimator_html_repr(pipeline)


def test_weights_are_routed_as_scikit_learn_does():
    weight = np.arange(len(X)) % 2
    direct = ModeClustering().fit(StandardScaler().fit_transform(X), None, weight)
    with config_context(enable_metadata_routing=True):
        routed = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            ModeClustering().set_fit_request(sample_weight=True),
        )
        labels = routed.fit_predict(X, sample_weight=weight)
    np.testing.assert_array_equal(labels, direct.labels_)
    assert routed[-1].mode_weights_.sum() == weight.sum()
