import base64
import gzip
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.report import write_report
from modeseek.report.columns import FRAMES
from modeseek.report.content import collect
from modeseek.report.told import Told, check_told


@pytest.fixture(scope="module")
def rows():
    return three_gaussians(4).sample(500, random_state=0)[0]


@pytest.fixture(scope="module")
def model(rows):
    return ModeClustering(KernelDensityGradient(0.9), prominence=0.5).fit(rows)


def element(page, name):
    """Text of a compressed element of the page."""
    packed = re.search(rf'<script id="{name}" type="text/plain">(.*?)</script>', page)
    return gzip.decompress(base64.b64decode(packed[1])).decode("utf-8")


def unpack(packed):
    return np.frombuffer(base64.b64decode(packed["bytes"]), f"<{packed['type']}")


def columns(data, name):
    """Quantised rows of the page as numbers, shape (m, n_columns)."""
    steps = unpack(data[name]).reshape(-1, len(data["columns"]))
    return unpack(data["low"]) + unpack(data["quantum"]) * steps


def gather(model, X, max_rows=3000, **options):
    names = [f"feature {j}" for j in range(X.shape[1])]
    modes = options.pop("modes", None)
    if modes is None:
        modes = model.predict_modes(X)
    rng = np.random.default_rng(0)
    data = collect(model, X, modes, names, max_rows, rng, **options)
    return json.loads(json.dumps(data))


def test_page_holds_everything_and_names_no_server(model, rows, tmp_path):
    path = write_report(tmp_path / "page.html", model, rows)
    page = path.read_text("utf-8")
    assert "{{" not in page
    assert "plotly.js v" in element(page, "plotly")[:200]
    data = json.loads(element(page, "data"))
    np.testing.assert_array_equal(unpack(data["modes"]), model.row_modes_)
    without_packed = re.sub(r'type="text/plain">.*?</script>', "", page)
    addresses = set(re.findall(r"https?://[^\s\"')]*", without_packed))
    assert addresses == {"http://www.w3.org/2000/svg"}


def test_worst_case_of_100_000_rows_is_below_5_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    d, n = 70, 100_000
    X = rng.standard_normal((n, d))
    model = ModeClustering(KernelDensityGradient(0.5), prominence=0).fit(X[:100])
    assert len(model.modes_) == 100
    # Modes without order, which no compression shortens, and more features than fit.
    modes = rng.integers(len(model.modes_), size=n)
    path = write_report(tmp_path / "page.html", model, X, modes=modes)
    assert path.stat().st_size < 5_000_000


def test_same_call_writes_the_same_bytes(model, rows, tmp_path):
    one = write_report(tmp_path / "one.html", model, rows, max_rows=100)
    two = write_report(tmp_path / "two.html", model, rows, max_rows=100)
    assert one.read_bytes() == two.read_bytes()


def test_modes_given_or_climbed_to_are_the_same_page(model, rows, tmp_path):
    one = write_report(tmp_path / "one.html", model, rows)
    two = write_report(tmp_path / "two.html", model, rows, modes=model.row_modes_)
    assert one.read_bytes() == two.read_bytes()


def test_title_is_escaped(model, rows, tmp_path):
    title = "</title><script>alert(1)</script>{{data}}"
    path = write_report(tmp_path / "page.html", model, rows, title=title)
    page = path.read_text("utf-8")
    assert "<script>alert" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;{{data}}") == 2


def test_names_cannot_leave_their_element(model, rows, tmp_path):
    names = ["</script><script>alert(1)</script>", "b", "c", "d"]
    path = write_report(tmp_path / "page.html", model, rows, feature_names=names)
    page = path.read_text("utf-8")
    assert "alert(1)" not in page
    assert json.loads(element(page, "data"))["columns"][:4] == names


def test_names_of_a_data_frame_are_used(tmp_path, rows):
    frame = pd.DataFrame(rows, columns=list("abcd"))
    model = ModeClustering(KernelDensityGradient(1.2)).fit(frame)
    path = write_report(tmp_path / "page.html", model, frame)
    data = json.loads(element(path.read_text("utf-8"), "data"))
    assert data["profiled"] == list("abcd")


def test_rows_are_drawn_where_they_are(model, rows):
    data = gather(model, rows)
    drawn = columns(data, "drawn")
    np.testing.assert_array_equal(unpack(data["shown"]), np.arange(500))
    np.testing.assert_allclose(drawn[:, :4], rows, atol=1e-3)
    components = drawn[:, 4:8]
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    values = np.linalg.eigvalsh(np.cov(standard.T))[::-1]
    np.testing.assert_allclose(np.var(components, axis=0, ddof=1), values, rtol=1e-3)
    heights = model.estimator_.log_density(rows)
    np.testing.assert_allclose(drawn[:, -1], heights, atol=1e-2)
    assert data["columns"][-1] == "log-density"
    assert data["columns"][4].startswith("principal component 1 (")


def test_a_graph_of_rows_shows_its_own_log_density():
    X, _ = three_gaussians(2).sample(400, random_state=0)
    model = ModeClustering(ascent="rows").fit(X)
    data = gather(model, X)
    assert data["columns"][-1] == "log-density"
    tree = model.merge_tree_
    summits = columns(data, "summits")[:, -1]
    np.testing.assert_allclose(summits, tree.heights, atol=1e-3)
    node = cdist(X, model._landscape.rows).argmin(axis=1)
    heights = model._landscape.graph.height[node]
    np.testing.assert_allclose(columns(data, "drawn")[:, -1], heights, atol=1e-3)
    settings = dict(data["settings"]["Chosen and found"])
    assert not any("gradient" in name or "width" in name for name in settings)


def test_the_way_up_is_said(model, rows):
    assert gather(model, rows)["decision"] == model.decision_


def test_climb_starts_at_the_rows_and_ends_at_the_modes(model, rows):
    data = gather(model, rows)
    climbers = unpack(data["climbers"])
    assert len(climbers) == 300
    climb = columns(data, "climb").reshape(FRAMES, 300, -1)
    np.testing.assert_allclose(climb[0, :, :4], rows[climbers], atol=1e-3)
    ends = model.modes_[model.row_modes_[climbers]]
    np.testing.assert_allclose(climb[-1, :, :4], ends, atol=1e-3)
    # The log-density never falls on the way, but for the steps of 16 bits.
    heights = climb[:, :, -1]
    assert np.diff(heights, axis=0).min() > -1e-2 * np.ptp(heights)


def test_profiles_are_those_of_the_rows_of_every_mode(model, rows):
    X = rows * [1.0, 1e-9, 1e6, 1.0] + [0.0, 0.0, -1e7, 5.0]
    X[:, 3] = 7.0
    model = ModeClustering(prominence=0.5).fit(X)
    data = gather(model, X)
    k, count = len(model.modes_), unpack(data["count"])
    np.testing.assert_array_equal(count, np.bincount(model.row_modes_, minlength=k))
    center, scale = unpack(data["mean"]), unpack(data["deviation"])
    np.testing.assert_allclose(center, X.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(scale, [*X[:, :3].std(axis=0), 0.0], rtol=1e-9)
    standard = (X - center) / np.where(scale > 0, scale, 1.0)
    for name, power in (("sums", 1), ("squares", 2)):
        sums = np.zeros((k, 4))
        np.add.at(sums, model.row_modes_, standard**power)
        found = unpack(data[name]).reshape(k, 4)
        np.testing.assert_allclose(found, sums, rtol=1e-5, atol=1e-4)


def test_thinning_keeps_rows_of_every_mode(model, rows):
    data = gather(model, rows, max_rows=150)
    shown = unpack(data["shown"])
    assert len(shown) == len(np.unique(shown)) == 150
    size = np.bincount(model.row_modes_)
    kept = np.bincount(model.row_modes_[shown], minlength=len(size))
    assert (kept >= np.minimum(size, 10)).all()


def test_wide_data_keep_the_features_that_tell_clusters_apart():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 80))
    X[:150, 71] += 12.0
    model = ModeClustering(
        LogDensityGradient(bandwidth=np.r_[[5.0] * 80][None], alpha=0.01)
    ).fit(X)
    data = gather(model, X)
    assert len(data["profiled"]) == 60
    assert "feature 71" in data["profiled"]
    assert data["features"] == 80


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("coefficients", ["shared", "separate"])
def test_any_number_of_features_has_two_axes(d, coefficients):
    X = three_gaussians(3).sample(200, random_state=0)[0][:, :d]
    model = ModeClustering(LogDensityGradient(coefficients=coefficients)).fit(X)
    data = gather(model, X)
    across, up = data["start"]
    assert 0 <= across < len(data["columns"])
    assert 0 <= up < len(data["columns"])
    assert across != up or (d == 1 and coefficients == "separate")
    assert np.isfinite(columns(data, "climb")).all()


def test_blurring_is_drawn_too():
    X, _ = three_gaussians().sample(200, random_state=0)
    model = ModeClustering(ascent="blurring").fit(X)
    data = gather(model, X)
    climb = columns(data, "climb").reshape(FRAMES, 200, -1)
    np.testing.assert_allclose(climb[0, :, :2], X, atol=1e-3)


def test_a_single_row_can_be_drawn(model, rows):
    data = gather(model, rows[:1])
    np.testing.assert_allclose(columns(data, "drawn")[:, :4], rows[:1], atol=1e-3)
    assert not any("principal" in name for name in data["columns"])


def test_settings_and_versions_are_told(model, rows):
    data = gather(model, rows, settings={"file": "rows.csv"})
    tables = {heading: dict(lines) for heading, lines in data["settings"].items()}
    assert tables["Data"] == {"file": "rows.csv"}
    assert tables["Settings"]["prominence"] == "0.5"
    assert tables["Chosen and found"]["their width (bandwidth)"] == "0.9"
    assert tables["Versions"]["NumPy"] == np.__version__


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_names": ["a"]}, "1 names, but X has 4 features"),
        ({"modes": [0, 1]}, "500 whole numbers"),
        ({"modes": np.zeros(500)}, "whole numbers"),
        ({"modes": np.full(500, 10_000)}, "from 0 to"),
        ({"modes": np.full(500, -1)}, "from 0 to"),
        ({"max_rows": 0}, "max_rows"),
        ({"embedding": np.zeros((500, 3))}, "500 x 2 numbers"),
        ({"embedding": np.full((500, 2), np.nan)}, "must be finite"),
        ({"row_names": ["a"]}, "row_names must be 500 values.*got 1"),
        ({"hover": {"a": [1]}}, r"hover\['a'\] must be 500 values"),
        ({"hover": ["a"]}, "no feature of X: 'a'"),
        ({"cluster_names": ["a"] * 99}, "names, one for each cluster"),
        ({"cluster_names": {99: "a"}}, "got one of 99"),
    ],
)
def test_bad_input_is_refused(model, rows, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        write_report(tmp_path / "page.html", model, rows, **options)
    assert not (tmp_path / "page.html").exists()


def test_page_opens_where_clusters_lie_apart():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 6))
    X[:, 0] *= 10.0  # the largest variance says nothing about the clusters
    X[:200, 3] += 9.0
    X[200:400, 4] += 9.0
    X[400:, 5] += 9.0
    model = ModeClustering(ascent="rows").fit(X).recut(n_clusters=3)
    data = gather(model, X)
    across, up = data["start"]
    assert data["columns"][across].startswith("cluster plane")
    plane = columns(data, "drawn")[:, [across, up]]
    truth = np.repeat([0, 1, 2], 200)
    inside = [plane[truth == k] for k in range(3)]
    spread = max(group.std(axis=0).max() for group in inside)
    apart = cdist(*2 * [[group.mean(axis=0) for group in inside]])
    assert apart[np.triu_indices(3, 1)].min() > 6 * spread
    # The climb ends at the modes there, too.
    climb = columns(data, "climb").reshape(FRAMES, -1, len(data["columns"]))
    ends = columns(data, "summits")[model.row_modes_[unpack(data["climbers"])]]
    np.testing.assert_allclose(climb[-1], ends, atol=1e-2)


def test_what_is_told_of_rows_is_on_the_page(model, rows, tmp_path):
    frame = pd.DataFrame(rows, index=[f"row {i}" for i in range(500)])
    frame.columns = list("abcd")
    place = pd.DataFrame(rows[:, :2] * 3, columns=["umap 1", "umap 2"])
    page = write_report(
        tmp_path / "page.html",
        ModeClustering(KernelDensityGradient(0.9)).fit(frame),
        frame,
        embedding=place,
        hover=pd.DataFrame({"when": pd.date_range("2020", periods=500), "n": 7}),
        max_rows=100,
    ).read_text("utf-8")
    data = json.loads(element(page, "data"))
    shown = unpack(data["shown"])
    assert data["rowNames"] == [f"row {i}" for i in shown]
    assert data["embedding"]["axes"] == ["umap 1", "umap 2"]
    values = unpack(data["embedding"]["values"]).reshape(-1, 2)
    np.testing.assert_allclose(values, place.to_numpy()[shown], rtol=1e-6)
    when, n = data["hover"]
    assert when["name"] == "when"
    assert when["values"][0].startswith("2020-01-01" if shown[0] == 0 else "202")
    assert n["values"] == [7] * 100


def test_values_are_told_in_short(model, rows):
    values = [np.nan, None, pd.NaT, 1 / 3, np.int32(7), "x" * 99, True, np.inf, 2**60]
    told = Told(hover={"told": values * 56}).describe(np.arange(9), np.arange(3))
    assert told["hover"][0]["values"] == [
        *(None, None, None, 0.333333, 7),
        *("x" * 79 + "…", "True", "inf", str(2**60)),
    ]
    names = ["a", "d"]
    found = check_told(
        rows,
        rows,
        list("abcd"),
        3,
        embedding=None,
        row_names=None,
        hover=names,
        cluster_names=["p", "q", "r"],
    )
    np.testing.assert_array_equal(list(found.hover["d"]), rows[:, 3])
    assert list(found.hover) == names
    assert found.cluster_names == {0: "p", 1: "q", 2: "r"}


def test_unfitted_model_is_refused(rows, tmp_path):
    with pytest.raises(NotFittedError):
        write_report(tmp_path / "page.html", ModeClustering(), rows)


def test_missing_plotly_is_said_with_its_remedy(tmp_path):
    code = """
import sys
sys.modules["plotly"] = None
from modeseek import ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.report import write_report
X, _ = three_gaussians().sample(100, random_state=0)
try:
    write_report("page.html", ModeClustering().fit(X), X)
except ImportError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert "pip install 'modeseek[report]'" in run.stdout
