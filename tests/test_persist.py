"""Models on disk: the same after as before, and nothing but models is let in."""

import io
import json
import os
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.cluster.summary import NOT_SAVED
from modeseek.datasets import three_gaussians
from modeseek.gradient.extensions.penalties import PENALTIES
from modeseek.persist import ABOUT, FORMAT, ModelError, is_model, load_model, save_model

X, _ = three_gaussians().sample(300, random_state=0)

#: Quick to fit, where it does not matter what the model is.
QUICK = LogDensityGradient(bandwidth=1.0, alpha=0.1)

#: Saved with old versions, see make_model.py there; and with others, in a folder that
#: make test-versions names.
DATA = Path(__file__).parent / "data"
OTHERS = os.environ.get("MODESEEK_MODELS")
SAVED = sorted(
    path
    for folder in (DATA, *([Path(OTHERS)] if OTHERS else []))
    for path in folder.glob("*.skops")
)

MODELS = {
    "default": ModeClustering(),
    "separate": ModeClustering(LogDensityGradient(coefficients="separate")),
    "kernel": ModeClustering(KernelDensityGradient()),
    "blurring": ModeClustering(ascent="blurring"),
    "learned": ModeClustering(LogDensityGradient(bandwidth="learned")),
    "splitter": ModeClustering(LogDensityGradient(cv=KFold(3), alpha=0.1)),
    "level": ModeClustering(prominence=0.0),
    "l1": ModeClustering(LogDensityGradient(30, penalty="l1")),
    "common": ModeClustering(
        LogDensityGradient(30, coefficients="separate", basis="common"),
        ascent="quasi_newton",
    ),
    "multitask": ModeClustering(
        LogDensityGradient(30, coefficients="multitask", similarity=np.eye(2))
    ),
    "huber": ModeClustering(LogDensityGradient(30, loss="pseudo_huber")),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved model; its bytes are the start of every broken file below."""
    path = tmp_path_factory.mktemp("model") / "toy.skops"
    save_model(path, ModeClustering(QUICK).fit(X))
    return path.read_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_says_what_the_saved_one_said(tmp_path, name):
    rows = X[:150]
    model = MODELS[name].fit(rows)
    save_model(tmp_path / "model.skops", model)
    loaded = load_model(tmp_path / "model.skops").model
    np.testing.assert_array_equal(loaded.labels_, model.labels_)
    for ask in ("predict", "membership", "outlier_score"):
        said = getattr(model, ask)(X)
        np.testing.assert_array_equal(getattr(loaded, ask)(X), said)
    np.testing.assert_array_equal(loaded.cut(n_clusters=2), model.cut(n_clusters=2))
    assert repr(loaded.get_params()) == repr(model.get_params())
    # Fitting again works as well: nothing that a fit needs was lost.
    np.testing.assert_array_equal(loaded.fit(rows).labels_, model.labels_)


@pytest.mark.parametrize(
    "path", SAVED, ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_models_of_other_versions_say_what_they_said(path):
    rows, _ = three_gaussians().sample(120, random_state=0)
    loaded = load_model(path)
    assert loaded.columns == ("u", "v")
    assert loaded.model.n_clusters_ >= 2
    np.testing.assert_array_equal(loaded.model.predict(rows), loaded.model.labels_)
    # Files of earlier versions hold fewer rows to compare with, but some.
    share, score = loaded.model.membership(rows), loaded.model.outlier_score(rows)
    np.testing.assert_array_equal(share.argmax(axis=1), loaded.model.labels_)
    assert 0.3 < score.mean() < 0.6
    known = "_profile" in loaded.model.__dict__
    for said in loaded.model.summary()["features"]:
        assert (" sd" in said) if known else (said == NOT_SAVED)
    assert loaded.model.decision_ in loaded.model._repr_mimebundle_()["text/html"]


def test_there_are_models_of_every_version():
    assert {int(p.stem.split("-")[1]) for p in DATA.glob("*.skops")} == {
        *range(1, FORMAT + 1)
    }


def test_what_the_features_are_is_kept(tmp_path):
    model = ModeClustering(QUICK).fit(X)
    path = tmp_path / "model.skops"
    save_model(path, model, columns=["CD3", "größe"], cofactors=[5, 0])
    loaded = load_model(path)
    assert loaded.columns == ("CD3", "größe")
    assert loaded.cofactors == (5.0, 0.0)


def test_names_of_a_frame_are_kept(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["u", "v"])
    save_model(tmp_path / "model.skops", ModeClustering(QUICK).fit(frame))
    loaded = load_model(tmp_path / "model.skops")
    assert loaded.columns == ("u", "v")
    assert loaded.model.feature_names_in_.tolist() == ["u", "v"]


def test_only_fitted_models_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save_model(tmp_path / "model.skops", ModeClustering())
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_only_when_that_is_asked_for(tmp_path, saved):
    path = tmp_path / "model.skops"
    path.write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        save_model(path, ModeClustering(QUICK).fit(X), force=False)
    assert path.read_bytes() == b"precious"
    save_model(path, ModeClustering(QUICK).fit(X))
    assert is_model(path)
    assert list(tmp_path.iterdir()) == [path]


def rewrite(content, **members):
    """The bytes of an archive with some members replaced."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(made, "w") as new,
    ):
        for name in old.namelist():
            key = name.split(".")[0]
            new.writestr(name, members.get(key, old.read(name)))
    return made.getvalue()


def load_bytes(folder, content):
    path = folder / "model.skops"
    path.write_bytes(content)
    return load_model(path)


def test_a_future_version_is_refused_in_words(tmp_path, saved):
    about = json.loads(zipfile.ZipFile(io.BytesIO(saved)).read(ABOUT))
    assert about["format"] == FORMAT
    about.update(format=FORMAT + 1, modeseek="9.1")
    # Whatever the future puts in the rest of the file is not looked at.
    content = rewrite(saved, modeseek=json.dumps(about), schema=b"unheard of")
    match = f"modeseek 9.1 in version {FORMAT + 1}.*up to {FORMAT}: upgrade modeseek"
    with pytest.raises(ModelError, match=match):
        load_bytes(tmp_path, content)


@pytest.mark.parametrize(
    "about",
    [
        "[]",
        "{}",
        '{"format": "1"}',
        '{"format": 1, "columns": [1], "cofactors": []}',
        '{"format": 1, "columns": ["u"], "cofactors": []}',
        '{"format": 1, "columns": [], "cofactors": ["5"]}',
        '{"format": 1, "columns": [], "cofactors": [-5.0, 1.0]}',
        '{"format": 1, "columns": [], "cofactors": [5.0]}',
        "{",
    ],
)
def test_a_file_that_misdescribes_itself_is_refused(tmp_path, saved, about):
    with pytest.raises(ModelError, match=r"model\.skops: "):
        load_bytes(tmp_path, rewrite(saved, modeseek=about))


class Trap:
    """Leaves a trace when it is made from a file."""

    sprung = False

    def __init__(self):
        self.bait = "bait"

    def __setstate__(self, state):
        type(self).sprung = True


class TrappedModel(ModeClustering):
    """A model that somebody else wrote."""

    def __setstate__(self, state):
        Trap.sprung = True
        super().__setstate__(state)


def about_of(saved):
    return zipfile.ZipFile(io.BytesIO(saved)).read(ABOUT)


def disguise(thing, saved):
    """Anything, saved by skops, described as a model of ours."""
    content = io.BytesIO(skops.io.dumps(thing))
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(ABOUT, about_of(saved))
    return content.getvalue()


def trapped(kind):
    model = ModeClustering(QUICK).fit(X)
    if kind == "attribute":
        model.extra_ = Trap()
    elif kind == "deep":
        model.estimator_.cv_results_["more"] = [{"deep": (Trap(),)}]
    elif kind == "subclass":
        model = TrappedModel(QUICK).fit(X)
    elif kind == "itself":
        return Trap()
    return model


@pytest.mark.parametrize("kind", ["attribute", "deep", "subclass", "itself"])
def test_a_foreign_type_is_refused_before_it_runs(tmp_path, saved, kind):
    content = disguise(trapped(kind), saved)
    Trap.sprung = False
    with pytest.raises(ModelError, match=r"holds a 'test_persist\.Trap.*no model"):
        load_bytes(tmp_path, content)
    assert not Trap.sprung
    # The trap works: skops, told to trust it, springs it.
    skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content))
    assert Trap.sprung


def test_a_foreign_type_is_not_even_imported(tmp_path, saved, monkeypatch):
    trace = tmp_path / "trace"
    (tmp_path / "evil_module.py").write_text(
        f"open({str(trace)!r}, 'w').close()\nclass Evil:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    schema = json.loads(zipfile.ZipFile(io.BytesIO(saved)).read("schema.json"))
    schema["__module__"], schema["__class__"] = "evil_module", "Evil"
    content = rewrite(saved, schema=json.dumps(schema))
    with pytest.raises(ModelError, match=r"evil_module\.Evil"):
        load_bytes(tmp_path, content)
    assert "evil_module" not in sys.modules
    assert not trace.exists()
    __import__("evil_module")
    assert trace.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("builtins", "exec"),
        ("numpy", "load"),
        ("numpy.testing", "measure"),
        ("sklearn.datasets", "fetch_openml"),
        ("modeseek.cli", "run"),
        ("modeseek.persist", "load_model"),
    ],
)
@pytest.mark.parametrize("loader", ["FunctionNode", "ObjectNode", "TypeNode"])
def test_functions_are_refused_whatever_they_are_called(
    tmp_path, saved, module, name, loader
):
    schema = json.loads(zipfile.ZipFile(io.BytesIO(saved)).read("schema.json"))
    attributes = schema["content"]["content"]
    attributes["tol"] = {
        "__class__": name,
        "__module__": module,
        "__loader__": loader,
        "__id__": 1,
        "content": {"module_path": module, "function": name},
    }
    with pytest.raises(ModelError, match=r"model\.skops: (holds a|broken)"):
        load_bytes(tmp_path, rewrite(saved, schema=json.dumps(schema)))


def test_pickled_arrays_are_refused(tmp_path, saved):
    with zipfile.ZipFile(io.BytesIO(saved)) as archive:
        member = next(name for name in archive.namelist() if name.endswith(".npy"))
    Trap.sprung = False
    pickled = io.BytesIO()
    np.save(pickled, np.array([Trap()], dtype=object), allow_pickle=True)
    content = rewrite(saved, **{member.split(".")[0]: pickled.getvalue()})
    with pytest.raises(ModelError, match="broken"):
        load_bytes(tmp_path, content)
    assert not Trap.sprung


@pytest.mark.parametrize(
    "thing",
    [
        RandomForestClassifier(n_estimators=2).fit(X, X[:, 0] > 0),
        LogDensityGradient().fit(X),
        [1, 2],
        ModeClustering(),
    ],
)
def test_what_is_no_fitted_model_is_refused(tmp_path, saved, thing):
    with pytest.raises(ModelError, match=r"holds a|cannot be used"):
        load_bytes(tmp_path, disguise(thing, saved))


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    model = ModeClustering(QUICK).fit(X)
    model.extra_ = Trap()
    with pytest.raises(ModelError, match="Trap"):
        save_model(tmp_path / "model.skops", model)
    assert not list(tmp_path.iterdir())


def test_a_penalty_that_is_a_function_is_not_saved(tmp_path):
    estimator = LogDensityGradient(30, penalty=PENALTIES["ridge"], bandwidth=1.0)
    model = ModeClustering(estimator).fit(X)
    with pytest.raises(ModelError, match=r"extensions\.penalties.*by name"):
        save_model(tmp_path / "model.skops", model)


@pytest.mark.parametrize("content", [b"", b"PK", b"no archive at all"])
def test_what_is_no_archive_is_refused(tmp_path, content):
    with pytest.raises(ModelError, match="not a model saved by modeseek"):
        load_bytes(tmp_path, content)


def test_a_plain_skops_file_is_refused(tmp_path):
    content = skops.io.dumps(ModeClustering(QUICK).fit(X))
    with pytest.raises(ModelError, match="not a model saved by modeseek"):
        load_bytes(tmp_path, content)
