"""Every odd input at every public entry point: the right answer, or an error in words.

The tables state the outcome of each cell: an input has one outcome at every entry point
that fits a model, and one at every entry point that asks a fitted model. Warnings are
errors in this test suite, so nothing warns from NumPy either.
"""

import tempfile
from typing import NamedTuple

import dask.array
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from modeseek import (
    KernelDensityGradient,
    LogDensityGradient,
    ModeClustering,
    report,
)
from modeseek.datasets import three_gaussians
from modeseek.persist import load_model, save_model
from modeseek.plot import (
    AscentDisplay,
    ClusterMapDisplay,
    ClusterPairsDisplay,
    ClusterProfileDisplay,
    FeatureRelevanceDisplay,
    GradientFieldDisplay,
    MergeTreeDisplay,
    ValidationDisplay,
)
from modeseek.report import write_report

mpl.use("Agg")

X = three_gaussians(2).sample(90, random_state=0)[0]
FRAME = pd.DataFrame(X, columns=["u", "v"])

#: Quick to fit: what is looked at here comes before any choice.
QUICK = LogDensityGradient(9, bandwidth=1.0, alpha=0.1)
ESTIMATORS = {
    "ModeClustering": ModeClustering(QUICK),
    "LogDensityGradient": QUICK,
    "separate": clone(QUICK).set_params(coefficients="separate"),
    "KernelDensityGradient": KernelDensityGradient(1.0),
}


class Refused(NamedTuple):
    """The outcome of a cell that is an error."""

    error: type[Exception]
    match: str


#: The outcome of a cell that gives what the same numbers as float64 give.
RIGHT = None


# --- entry points ------------------------------------------------------------------


def fitting(name):
    def fit(rows):
        model = clone(ESTIMATORS[name]).fit(rows)
        return model.labels_ if name == "ModeClustering" else model.coef_

    return fit


FITTING = {
    **{f"{name}.fit": fitting(name) for name in ESTIMATORS},
    "ModeClustering.fit_predict": lambda rows: ModeClustering(QUICK).fit_predict(rows),
    "default.fit": lambda rows: ModeClustering().fit(rows).labels_,
}

#: Those that estimate a gradient, which one point does not have.
GRADIENTS = {f"{name}.fit" for name in ESTIMATORS if name != "ModeClustering"}


def drawing(display, attribute, **options):
    def draw(model, rows):
        shown = display.from_estimator(model, rows, **options)
        shown.figure_.set_layout_engine("none")  # half of the time, whatever the rows
        shown.figure_.canvas.draw()
        plt.close(shown.figure_)
        return getattr(shown, attribute)

    return draw


def page(model, rows):
    """A report, without the megabytes of plotly.js that are in all of them."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("modeseek.report.page.plotly_source", str)
        names = ["u", "v"]
        place = report.write_report(
            f"{folder}/p.html", model, rows, feature_names=names
        )
        return np.frombuffer(place.read_bytes(), np.uint8)


ASKING = {
    **{
        f"ModeClustering.{name}": (
            "ModeClustering",
            lambda model, rows, name=name: getattr(model, name)(rows),
        )
        for name in ("predict", "predict_modes", "membership", "outlier_score", "paths")
    },
    **{
        f"{estimator}.{name}": (
            estimator,
            lambda model, rows, name=name: getattr(model, name)(rows),
        )
        for estimator in ("LogDensityGradient", "KernelDensityGradient")
        for name in ("gradient", "hessian", "log_density", "score")
    },
    "separate.gradient": ("separate", lambda model, rows: model.gradient(rows)),
    "GradientFieldDisplay": (
        "ModeClustering",
        drawing(GradientFieldDisplay, "gradient", grid_resolution=3),
    ),
    "AscentDisplay": ("ModeClustering", drawing(AscentDisplay, "paths", max_rows=9)),
    "ClusterPairsDisplay": ("ModeClustering", drawing(ClusterPairsDisplay, "rows")),
    "ClusterMapDisplay": ("ModeClustering", drawing(ClusterMapDisplay, "points")),
    "ClusterProfileDisplay": (
        "ModeClustering",
        drawing(ClusterProfileDisplay, "sizes"),  # means of no rows are NaN
    ),
    "write_report": ("ModeClustering", page),
}

MODELS = {name: clone(model).fit(X) for name, model in ESTIMATORS.items()}
FRAMED = {name: clone(model).fit(FRAME) for name, model in ESTIMATORS.items()}


# --- rows --------------------------------------------------------------------------


def replaced(value, row=7, column=1):
    rows = X.copy()
    rows[row, column] = value
    return rows


def read_only():
    rows = X.copy()
    rows.flags.writeable = False
    return rows


def on_disk():
    with tempfile.NamedTemporaryFile() as file:
        rows = np.memmap(file, dtype=np.float64, shape=X.shape)
        rows[:] = X
        return rows


DAYS = np.datetime64("2020-01-01") + np.arange(180).reshape(90, 2)
NUMBERS = np.round(9 * X)

NAN = Refused(ValueError, "contains NaN")
INFINITE = Refused(ValueError, "contains infinity")
HUGE = Refused(ValueError, "Divide the features by a constant")
WORDS = Refused(ValueError, "could not convert string.*numbers only: encode other")
OBJECTS = Refused(TypeError, "float.*not '.*'. X must hold numbers only")
DATES = Refused(TypeError, "dates or durations.*Convert them, for example")
SPARSE = Refused(TypeError, r"dense data is required. Use '\.?toarray")
COMPLEX = Refused(ValueError, "Complex data not supported")
SHAPE = Refused(ValueError, "Expected 2D array.*Reshape your data")
TOO_FEW = Refused(ValueError, r"minimum of (1|2) is required")
EQUAL = Refused(ValueError, "two distinct rows are needed")
WIDTH = Refused(ValueError, r"X has \d features, but \w+ is expecting 2 features")

#: Input: rows, outcome where they are fitted, outcome where they are asked about.
ROWS = {
    "no rows": (X[:0], TOO_FEW, TOO_FEW),
    "no features": (X[:, :0], TOO_FEW, TOO_FEW),
    "one row": (X[:1], TOO_FEW, RIGHT),
    "two rows": (X[:2], RIGHT, RIGHT),
    "one feature": (X[:, :1], RIGHT, WIDTH),
    "three features": (np.c_[X, X[:, 0] ** 2], RIGHT, WIDTH),
    "equal rows": (np.ones((9, 2)), EQUAL, RIGHT),
    "a constant feature": (np.c_[X[:, 0], np.full(90, 3.0)], RIGHT, RIGHT),
    "NaN": (replaced(np.nan), NAN, NAN),
    "infinity": (replaced(np.inf), INFINITE, INFINITE),
    "minus infinity": (replaced(-np.inf), INFINITE, INFINITE),
    "one value of 1e308": (replaced(1e308), HUGE, HUGE),
    "values of 1e308 and -1e308": (np.sign(X) * 1e308, HUGE, HUGE),
    "values of 1e-308": (1e-308 * X, Refused(ValueError, "Multiply the f"), RIGHT),
    "integers": (NUMBERS.astype(int), RIGHT, RIGHT),
    "small integers": ((NUMBERS + 60).astype(np.uint8), RIGHT, RIGHT),
    "booleans": (np.c_[NUMBERS % 2, NUMBERS % 3, NUMBERS % 5] > 0, RIGHT, WIDTH),
    "single precision": (X.astype(np.float32), RIGHT, RIGHT),
    "half precision": (X.astype(np.float16), RIGHT, RIGHT),
    "extended precision": (X.astype(np.longdouble), RIGHT, RIGHT),
    "other byte order": (X.astype(X.dtype.newbyteorder()), RIGHT, RIGHT),
    "numbers as text": (X.astype(str), RIGHT, RIGHT),
    "words": (np.full((90, 2), "tall"), WORDS, WORDS),
    "bytes": (np.full((90, 2), b"tall"), WORDS, WORDS),
    "numbers as objects": (X.astype(object), RIGHT, RIGHT),
    "objects": (np.full((90, 2), {}, dtype=object), OBJECTS, OBJECTS),
    "None among objects": (
        np.where(np.arange(90)[:, None] == 3, None, X.astype(object)),
        NAN,
        NAN,
    ),
    "dates": (DAYS, DATES, DATES),
    "durations": (DAYS - DAYS[0, 0], DATES, DATES),
    "a frame": (FRAME, RIGHT, RIGHT),
    "a frame of nullable numbers": (FRAME.astype("Float64"), RIGHT, RIGHT),
    "a frame with NaN": (FRAME.mask(FRAME > 3), NAN, NAN),
    "a frame with NA": (FRAME.astype("Float64").mask(FRAME > 3), NAN, NAN),
    "a frame with words": (FRAME.assign(u="tall"), WORDS, WORDS),
    "a frame with categories": (
        FRAME.assign(u=pd.Categorical(["a", "b"] * 45)),
        WORDS,
        WORDS,
    ),
    "a frame with dates": (
        FRAME.assign(u=pd.date_range("2020-01-01", periods=90)),
        DATES,
        DATES,
    ),
    "a frame with dates and zones": (
        FRAME.assign(u=pd.date_range("2020-01-01", periods=90, tz="UTC")),
        DATES,
        DATES,
    ),
    "a series": (
        FRAME["u"],
        Refused(ValueError, "2-dimensional container"),
        Refused(ValueError, "2-dimensional container"),
    ),
    "a sparse matrix": (sparse.csr_matrix(X), SPARSE, SPARSE),
    "a sparse array": (sparse.coo_array(X), SPARSE, SPARSE),
    "complex": (X + 1j, COMPLEX, COMPLEX),
    "complex without imaginary part": (X + 0j, COMPLEX, COMPLEX),
    "read-only": (read_only(), RIGHT, RIGHT),
    "every other column": (np.repeat(X, 2, axis=1)[:, ::2], RIGHT, RIGHT),
    "backwards in memory": (X[::-1].copy()[::-1], RIGHT, RIGHT),
    "by columns": (np.asfortranarray(X), RIGHT, RIGHT),
    "a list": (X.tolist(), RIGHT, RIGHT),
    "on disk": (on_disk(), RIGHT, RIGHT),
    "a mask that hides values": (
        np.ma.masked_greater(X, 3.0),
        Refused(ValueError, "masked values. Fill them"),
        Refused(ValueError, "masked values. Fill them"),
    ),
    "a mask that hides nothing": (np.ma.masked_greater(X, 300.0), RIGHT, RIGHT),
    "named fields": (
        X.copy().view([("u", float), ("v", float)]),
        Refused(TypeError, "Cannot cast"),
        Refused(TypeError, "Cannot cast"),
    ),
    "one dimension": (X[:, 0], SHAPE, SHAPE),
    "three dimensions": (
        X[None],
        Refused(ValueError, "array with dim 3"),
        Refused(ValueError, "array with dim 3"),
    ),
    "a number": (1.0, SHAPE, SHAPE),
    "None": (None, SHAPE, SHAPE),
    "the name of a file": ("rows.csv", WORDS, WORDS),
    "a dictionary": ({"u": X[:, 0]}, OBJECTS, OBJECTS),
    "ragged": (
        [[1.0, 2.0], [3.0]],
        Refused(ValueError, "inhomogeneous"),
        Refused(ValueError, "inhomogeneous"),
    ),
}


def as_floats(rows):
    """The same numbers as float64, in an array that is like any other."""
    return np.array(np.asarray(rows).tolist(), dtype=np.float64)


#: What the entry points say of float64; many inputs are the same numbers.
EXPECTED = {}


def check(name, entry, rows, outcome):
    if outcome is not RIGHT:
        with pytest.raises(outcome.error, match=f"(?s){outcome.match}"):
            entry(rows)
        return
    actual, floats = entry(rows), as_floats(rows)
    key = name, floats.shape, floats.tobytes()
    if key not in EXPECTED:
        EXPECTED[key] = entry(floats)
    np.testing.assert_allclose(actual, EXPECTED[key], rtol=1e-6, atol=1e-9)
    assert np.isfinite(actual).all()


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("entry", FITTING)
@pytest.mark.filterwarnings("ignore:n_centers=9 is more than the distinct rows allow")
@pytest.mark.filterwarnings("ignore::modeseek.rows.rounding.RoundingWarning")
def test_rows_are_fitted_or_refused_in_words(entry, name):
    rows, outcome, _ = ROWS[name]
    if name in ("one row", "equal rows") and entry not in GRADIENTS:
        with pytest.warns(UserWarning, match="that is one cluster"):
            check(entry, FITTING[entry], rows, RIGHT)
        return
    check(entry, FITTING[entry], rows, outcome)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("entry", ASKING)
def test_rows_are_asked_about_or_refused_in_words(entry, name):
    rows, _, outcome = ROWS[name]
    estimator, ask = ASKING[entry]
    framed = isinstance(rows, pd.DataFrame)

    def entry_point(given):
        model = FRAMED if framed and isinstance(given, pd.DataFrame) else MODELS
        return ask(model[estimator], given)

    check(entry, entry_point, rows, outcome)


#: Rows that are not in memory; what takes them has tests of its own.
ELSEWHERE = {
    "on Dask": dask.array.from_array(X, chunks=40),
    "in chunks": [X[:40], X[40:]],
}


@pytest.mark.parametrize("name", ELSEWHERE)
@pytest.mark.parametrize(
    "entry",
    [
        "ModeClustering.paths",
        "GradientFieldDisplay",
        "AscentDisplay",
        "ClusterMapDisplay",
        "ClusterPairsDisplay",
        "ClusterProfileDisplay",
        "write_report",
    ],
)
def test_what_shows_some_rows_wants_them_as_an_array(entry, name):
    estimator, ask = ASKING[entry]
    with pytest.raises(TypeError, match=f"rows are {name}, and .* give those as an"):
        ask(MODELS[estimator], ELSEWHERE[name])


@pytest.mark.parametrize("entry", ASKING)
def test_a_model_that_is_not_fitted_says_so(entry):
    estimator, ask = ASKING[entry]
    with pytest.raises(NotFittedError, match=r"not fitted yet\. Call 'fit'"):
        ask(clone(ESTIMATORS[estimator]), X)


# --- weights -----------------------------------------------------------------------

ONES = np.ones(90)

WEIGHTS = {
    "negative": (np.r_[-1.0, ONES[1:]], Refused(ValueError, "negative entries")),
    "NaN": (np.r_[np.nan, ONES[1:]], Refused(ValueError, "NaN or infinite")),
    "infinite": (np.r_[np.inf, ONES[1:]], Refused(ValueError, "NaN or infinite")),
    "all zero": (0 * ONES, Refused(ValueError, "zero for every row")),
    "too few": (ONES[1:], Refused(ValueError, r"one entry a row: shape \(90,\)")),
    "a column": (ONES[:, None], Refused(ValueError, "one entry a row")),
    "words": (np.full(90, "1"), Refused(ValueError, "must be numbers")),
    "dates": (DAYS[:, 0], Refused(ValueError, "must be numbers")),
    "complex": (ONES + 1j, Refused(ValueError, "must be numbers")),
    "huge": (1e200 * ONES, Refused(ValueError, r"between 1e-100 and 1e\+100")),
    "tiny": (1e-200 * ONES, Refused(ValueError, r"between 1e-100 and 1e\+100")),
    "integers": (np.full(90, 2), RIGHT),
    "booleans": (np.arange(90) % 3 > 0, RIGHT),
    "a number": (3, RIGHT),
    "a list": ([2.0] * 90, RIGHT),
    "a series": (pd.Series(2.0 * ONES), RIGHT),
}

WEIGHING = {
    **{
        f"{name}.fit": lambda weight, name=name: (
            clone(ESTIMATORS[name]).fit(X, sample_weight=weight).__dict__
        )["labels_" if name == "ModeClustering" else "coef_"]
        for name in ESTIMATORS
    },
    "ModeClustering.fit_predict": lambda weight: ModeClustering(QUICK).fit_predict(
        X, sample_weight=weight
    ),
    "LogDensityGradient.score": lambda weight: MODELS["LogDensityGradient"].score(
        X, sample_weight=weight
    ),
    "KernelDensityGradient.score": lambda weight: MODELS["KernelDensityGradient"].score(
        X, sample_weight=weight
    ),
}


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.parametrize("entry", WEIGHING)
def test_weights_are_taken_or_refused_in_words(entry, name):
    weight, outcome = WEIGHTS[name]
    if outcome is RIGHT:
        floats = np.broadcast_to(np.asarray(weight, dtype=np.float64), 90)
        expected = WEIGHING[entry](floats)
        np.testing.assert_allclose(WEIGHING[entry](weight), expected, rtol=1e-12)
    else:
        check(entry, WEIGHING[entry], weight, outcome)


# --- parameters --------------------------------------------------------------------

WHOLE = Refused(TypeError, "must be a whole number")
NUMBER = Refused(TypeError, "must be a number")

#: What is called, the parameter, its value and the outcome.
CLUSTERING = [
    ("ascent", "newton", Refused(ValueError, "ascent must be one of 'auto'")),
    ("ascent", None, Refused(ValueError, "ascent must be one of")),
    ("prominence", "low", NUMBER),
    ("prominence", -0.1, Refused(ValueError, "finite and at least 0")),
    ("prominence", np.nan, Refused(ValueError, "finite and at least 0")),
    ("prominence", True, NUMBER),
    ("step_size", 0.0, Refused(ValueError, "step_size must be finite and at least")),
    ("step_size", "long", NUMBER),
    ("tol", -1e-3, Refused(ValueError, "tol must be finite and at least 0")),
    ("tol", None, NUMBER),
    ("tol", np.inf, Refused(ValueError, "tol must be finite")),
    ("max_iter", 0, Refused(ValueError, "max_iter must be at least 1")),
    ("max_iter", 2.0, WHOLE),
    ("n_jobs", 0, Refused(ValueError, "n_jobs must not be 0")),
    ("n_jobs", "all", WHOLE),
    ("estimator", "kernel", Refused(TypeError, "must be a LogDensityGradient or a")),
    ("estimator", KernelDensityGradient, Refused(TypeError, "estimator must be a")),
    ("random_state", "seed", Refused(ValueError, "seed")),
]


@pytest.mark.parametrize(("name", "value", "outcome"), CLUSTERING)
@pytest.mark.parametrize("method", ["fit", "fit_predict"])
def test_parameters_of_a_clustering_are_refused_in_words(method, name, value, outcome):
    model = ModeClustering(QUICK).set_params(**{name: value})
    check(method, getattr(model, method), X, outcome)


FOUND = MODELS["ModeClustering"]
CALLS = {
    "cut at a level below zero": (
        lambda: FOUND.cut(prominence=-1.0),
        Refused(ValueError, "prominence"),
    ),
    "cut at a level that is none": (
        lambda: FOUND.cut(prominence="low"),
        Refused(TypeError, "prominence"),
    ),
    "cut at NaN": (
        lambda: FOUND.cut(prominence=np.nan),
        Refused(ValueError, "prominence"),
    ),
    "cut into no clusters": (
        lambda: FOUND.cut(n_clusters=0),
        Refused(ValueError, "n_clusters"),
    ),
    "cut into half a cluster": (
        lambda: FOUND.cut(n_clusters=1.5),
        Refused(TypeError, "n_clusters"),
    ),
    "cut twice": (
        lambda: FOUND.cut(prominence=1.0, n_clusters=2),
        Refused(ValueError, "prominence or n_clusters"),
    ),
    "cut nowhere": (FOUND.cut, Refused(ValueError, "prominence or n_clusters")),
    "a toy of no features": (
        lambda: three_gaussians(0),
        Refused(ValueError, "n_features must be at least 2"),
    ),
    "a toy of half a feature": (
        lambda: three_gaussians(2.5),
        Refused(TypeError, "n_features must be a whole number"),
    ),
    "a sample of fewer than no rows": (
        lambda: three_gaussians().sample(-1),
        Refused(ValueError, "n_samples must be at least 0"),
    ),
    "the density of other features": (
        lambda: three_gaussians().log_density(X[:, :1]),
        Refused(ValueError, "2 features"),
    ),
    "the gradient at a word": (
        lambda: three_gaussians().gradient("here"),
        Refused(ValueError, "could not convert"),
    ),
    "a page of no rows drawn": (
        lambda: write_report("page.html", FOUND, X, max_rows=0),
        Refused(ValueError, "max_rows must be at least 1"),
    ),
    "a page with modes that are not there": (
        lambda: write_report("page.html", FOUND, X, modes=np.full(90, 99)),
        Refused(ValueError, "modes must be from 0 to"),
    ),
    "a page with modes of other rows": (
        lambda: write_report("page.html", FOUND, X, modes=[0]),
        Refused(ValueError, "modes must be 90 whole numbers"),
    ),
    "a page with too few names": (
        lambda: write_report("page.html", FOUND, X, feature_names=["u"]),
        Refused(ValueError, "feature_names"),
    ),
    "a field of one arrow": (
        lambda: GradientFieldDisplay.from_estimator(FOUND, X, grid_resolution=1),
        Refused(ValueError, "grid_resolution must be at least 2"),
    ),
    "a field of a feature that is not there": (
        lambda: GradientFieldDisplay.from_estimator(FOUND, X, features=(0, 2)),
        Refused(ValueError, "features must be two numbers from 0 to 1"),
    ),
    "a field at a wrong place": (
        lambda: GradientFieldDisplay.from_estimator(FOUND, X, at=[0.0]),
        Refused(ValueError, "at must have 2 numbers"),
    ),
    "paths of no rows": (
        lambda: AscentDisplay.from_estimator(FOUND, X, max_rows=0),
        Refused(ValueError, "max_rows must be at least 1"),
    ),
    "pairs of no rows": (
        lambda: ClusterPairsDisplay.from_estimator(FOUND, X, max_rows=0),
        Refused(ValueError, "max_rows must be at least 1"),
    ),
    "pairs of no features": (
        lambda: ClusterPairsDisplay.from_estimator(FOUND, X, features=[]),
        Refused(ValueError, "features must be numbers from 0 to 1"),
    ),
    "pairs of features by name": (
        lambda: ClusterPairsDisplay.from_estimator(
            FRAMED["ModeClustering"], FRAME, features=["u"]
        ),
        Refused((TypeError, ValueError), "features must be"),
    ),
    "a tree with a wrong cut": (
        lambda: MergeTreeDisplay.from_estimator(FOUND, cut="low"),
        Refused(TypeError, "cut must be a number"),
    ),
    "no bars": (
        lambda: FeatureRelevanceDisplay.from_estimator(FOUND, max_features=0),
        Refused(ValueError, "max_features must be at least 1"),
    ),
    "relevance of a kernel density": (
        lambda: FeatureRelevanceDisplay.from_estimator(MODELS["KernelDensityGradient"]),
        Refused(ValueError, "has no feature_relevance_: only"),
    ),
    "validation where nothing was chosen": (
        lambda: ValidationDisplay.from_estimator(FOUND),
        Refused(ValueError, "Nothing was chosen by cross-validation"),
    ),
    "saving what is not fitted": (
        lambda: save_model("model.skops", ModeClustering()),
        Refused(NotFittedError, "not fitted yet"),
    ),
    "saving a gradient": (
        lambda: save_model("model.skops", MODELS["LogDensityGradient"]),
        Refused(TypeError, "model must be a ModeClustering"),
    ),
    "saving with too few names": (
        lambda: save_model("model.skops", FOUND, columns=["u"]),
        Refused(ValueError, "columns"),
    ),
    "saving with a cofactor below zero": (
        lambda: save_model("model.skops", FOUND, cofactors=[-5.0, 1.0]),
        Refused(ValueError, "cofactors"),
    ),
    "loading a file that is not there": (
        lambda: load_model("no.skops"),
        Refused(FileNotFoundError, "no.skops"),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_mean_nothing_are_refused_in_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, outcome = CALLS[name]
    check(name, lambda _: call(), None, outcome)
    assert not list(tmp_path.iterdir())
