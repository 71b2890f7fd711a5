"""Models on disk, without pickle: skops files that hold nothing but known types.

A model file is a skops file (a zip archive of arrays and a description) with one more
member, ``modeseek.json``: the version of the format and what the model was fitted on.
Before anything is made from it, the version is checked, and every type that the
description names; a file with any other type is refused unread.
"""

from __future__ import annotations

import io
import json
import os
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.answers import NOISE
from modeseek.cluster.features import reference_of
from modeseek.cluster.former import adopt
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.profile import Profile
from modeseek.cluster.reference import Reference
from modeseek.errors import DataError
from modeseek.field.climbing import Ascent
from modeseek.field.fields import (
    CommonField,
    KernelField,
    PotentialField,
    SeparateField,
)
from modeseek.field.landscape import BlurredLandscape, FieldLandscape
from modeseek.files import replacing
from modeseek.gradient.kernel import KernelDensityGradient
from modeseek.gradient.least_squares import LogDensityGradient
from modeseek.gradient.moments import Moments
from modeseek.gradient.settings import GradientSettings
from modeseek.graph.landscape import GraphLandscape
from modeseek.graph.row_graph import RowGraph
from modeseek.rows.containers import is_lazy
from modeseek.rows.coordinates import Frame
from modeseek.rows.rounding import Rounding
from modeseek.tree.merge_tree import MergeTree

#: Version of the format. A file of a later one is refused, of an earlier one read.
FORMAT = 3

#: Types as files of format 1 name them, where that has changed, and their modules now.
FORMER_MODULES = {
    "modeseek.kernel.KernelDensityGradient": "modeseek.gradient",
    "modeseek.moments.Moments": "modeseek.gradient",
    "modeseek.rounding.Rounding": "modeseek.rows",
    "modeseek.rowgraph.RowGraph": "modeseek.graph",
}

#: Entries of tuples in files of formats 1 and 2 that are gone.
FORMER_ENTRIES = {
    "modeseek.field.FieldLandscape": 6,  # the farthest row's distance
    "modeseek.graph.RowGraph": 2,  # radii
}

#: Member of the archive in which skops describes the model.
SCHEMA = "schema.json"

#: Member of the archive that says what the file is.
ABOUT = "modeseek.json"

#: What a model is made of; KFold is what ``cv`` may hold besides numbers.
OWN_TYPES = frozenset(
    f"{kind.__module__}.{kind.__qualname__}"
    for kind in (
        ModeClustering,
        LogDensityGradient,
        KernelDensityGradient,
        MergeTree,
        Profile,
        RowGraph,
        Rounding,
        Moments,
        GradientSettings,
        Frame,
        PotentialField,
        SeparateField,
        CommonField,
        KernelField,
        Ascent,
        FieldLandscape,
        BlurredLandscape,
        GraphLandscape,
        Reference,
        KFold,
    )
)

#: Packages whose other types skops may judge: those it knows to be harmless pass.
KNOWN_PACKAGES = frozenset({"builtins", "numpy", "sklearn"})

#: Members of skops' own description that name a type.
CLASS, MODULE = "__class__", "__module__"


class ModelError(DataError):
    """A model file that cannot be used; says which, and why."""


class SavedModel(NamedTuple):
    """A model and what it was fitted on.

    Attributes
    ----------
    model : ModeClustering
    columns : tuple of str
        Names of the features; empty if they have none.
    cofactors : tuple of float
        Each feature is ``arcsinh(x / cofactor)`` of its column, or the column itself
        where the cofactor is 0.
    """

    model: ModeClustering
    columns: tuple[str, ...] = ()
    cofactors: tuple[float, ...] = ()


def save_model(
    path: str | os.PathLike[str],
    model: ModeClustering,
    *,
    columns: Sequence[str] | None = None,
    cofactors: Sequence[float] = (),
    force: bool = True,
) -> None:
    """Save a fitted model.

    Parameters
    ----------
    path : path-like
        Usually ends in ``.skops``.
    model : ModeClustering
        Fitted.
    columns : sequence of str, optional
        Names of the features; by default ``feature_names_in_``, if there are any.
    cofactors : sequence of float, optional
        How features were made from columns, see :class:`SavedModel`.
    force : bool, default=True
        Replace a file that is there.

    Raises
    ------
    ModelError
        If the model holds what no loaded file may hold, such as a penalty that is a
        function, or lazy labels.
    TypeError, ValueError
        If there is no model of ours to save, or its columns are not its features.

    See Also
    --------
    load_model

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from modeseek import ModeClustering
    >>> from modeseek.datasets import three_gaussians
    >>> from modeseek.persist import load_model, save_model
    >>> X, _ = three_gaussians().sample(300, random_state=0)
    >>> model = ModeClustering().fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(Path(folder, "toy.skops"), model, columns=["u", "v"])
    ...     loaded = load_model(Path(folder, "toy.skops"))
    >>> loaded.columns
    ('u', 'v')
    >>> bool((loaded.model.predict(X) == model.labels_).all())
    True
    """
    import skops.io

    from modeseek import __version__

    if not isinstance(model, ModeClustering):
        raise TypeError(f"model must be a ModeClustering, got {model!r}.")
    check_is_fitted(model)
    if is_lazy(model.labels_):
        raise ModelError(
            "The labels of the model are on Dask, and a file holds arrays: set "
            "model.row_modes_ = model.row_modes_.compute() and model.labels_ = "
            "model.labels_.compute() first."
        )
    if columns is None:
        columns = getattr(model, "feature_names_in_", ())
    d = model.n_features_in_
    if len(columns) not in (0, d) or len(cofactors) not in (0, d):
        raise ValueError(
            f"columns and cofactors must have an entry for each of the {d} features; "
            f"got {len(columns)} and {len(cofactors)}."
        )
    if not all(_is_cofactor(float(cofactor)) for cofactor in cofactors):
        raise ValueError(f"cofactors must be finite and not negative: {cofactors}.")
    about = {
        "format": FORMAT,
        "modeseek": __version__,
        "columns": [str(name) for name in columns],
        "cofactors": [float(cofactor) for cofactor in cofactors],
    }
    content = io.BytesIO(skops.io.dumps(model, compression=zipfile.ZIP_DEFLATED))
    for kind in _unknown_types(_schema(zipfile.ZipFile(content))):
        raise ModelError(
            f"The model holds {kind!r} and could not be loaded again: give penalty, "
            "loss and basis by name, and remove what you have added."
        )
    with zipfile.ZipFile(content, "a") as archive:
        archive.writestr(ABOUT, json.dumps(about, ensure_ascii=False))
    with replacing(path, force=force) as beside:
        beside.write_bytes(content.getvalue())


def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Load a model that :func:`save_model` saved.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    SavedModel

    Raises
    ------
    ModelError
        If the file is broken, is of a later version, or holds any type that a model
        is not made of. Nothing of it has been run then.
    """
    name, content = str(path), Path(path).read_bytes()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            about = _about(name, archive)
            schema = _schema(archive)
            if about["format"] < FORMAT:
                _update_schema(schema)
                content = _replace_schema(archive, schema)
    except ModelError:
        raise
    except (zipfile.BadZipFile, zlib.error, LookupError, ValueError, OSError) as error:
        raise ModelError(f"{name}: not a model saved by modeseek.") from error
    except (NotImplementedError, RuntimeError, TypeError, EOFError) as error:
        raise ModelError(f"{name}: not a model saved by modeseek.") from error
    for kind in _unknown_types(schema):
        raise _foreign(name, kind)
    model = _load(name, content, about["format"])
    columns, cofactors = tuple(about["columns"]), tuple(about["cofactors"])
    for what, entries in {"columns": columns, "cofactors": cofactors}.items():
        if len(entries) not in (0, model.n_features_in_):
            raise ModelError(f"{name}: the model and its {what} do not match.")
    return SavedModel(model, columns, cofactors)


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file is an archive, as models are and tables are not."""
    return zipfile.is_zipfile(path)


def _about(name: str, archive: zipfile.ZipFile) -> dict[str, Any]:
    """What the file says of itself, checked."""
    about = json.loads(archive.read(ABOUT))
    if not isinstance(about, dict) or not isinstance(about.get("format"), int):
        raise ModelError(f"{name}: not a model saved by modeseek.")
    if about["format"] > FORMAT:
        raise ModelError(
            f"{name}: saved by modeseek {about.get('modeseek')} in version "
            f"{about['format']} of the format, and this one reads up to {FORMAT}: "
            "upgrade modeseek."
        )
    columns, cofactors = about.get("columns"), about.get("cofactors")
    if not isinstance(columns, list) or not all(isinstance(c, str) for c in columns):
        raise ModelError(f"{name}: its columns are not names.")
    if not isinstance(cofactors, list) or not all(map(_is_cofactor, cofactors)):
        raise ModelError(f"{name}: its cofactors are not positive numbers.")
    return about


def _is_cofactor(value: object) -> bool:
    return isinstance(value, float) and 0.0 <= value < np.inf


def _schema(archive: zipfile.ZipFile) -> Any:
    return json.loads(archive.read(SCHEMA))


def _update_schema(schema: Any) -> None:
    """Give the types in a description of an earlier format their names and entries."""
    for part in _typed_parts(schema):
        former = _type_name(part)
        if former in FORMER_MODULES:
            part[MODULE] = FORMER_MODULES[former]
        if _type_name(part) in FORMER_ENTRIES:
            del part["content"][FORMER_ENTRIES[_type_name(part)]]


def _replace_schema(archive: zipfile.ZipFile, schema: Any) -> bytes:
    """The same archive with another description."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as copy:
        for member in archive.namelist():
            if member != SCHEMA:
                copy.writestr(member, archive.read(member))
        copy.writestr(SCHEMA, json.dumps(schema))
    return content.getvalue()


def _typed_parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the parts of a description that name a type or function, however deep."""
    if isinstance(schema, dict):
        if CLASS in schema or MODULE in schema:
            yield schema
        schema = list(schema.values())
    for part in schema if isinstance(schema, list) else ():
        yield from _typed_parts(part)


def _type_name(part: dict[str, Any]) -> str:
    return f"{part.get(MODULE)}.{part.get(CLASS)}"


def _unknown_types(schema: Any) -> Iterator[str]:
    """Yield the types of other packages, before skops so much as imports one."""
    for kind in map(_type_name, _typed_parts(schema)):
        if kind not in OWN_TYPES and kind.split(".")[0] not in KNOWN_PACKAGES:
            yield kind


def _foreign(name: str, kind: str) -> ModelError:
    return ModelError(f"{name}: holds a {kind!r}, which no model is made of.")


def _load(name: str, content: bytes, format: int) -> ModeClustering:
    """Make the model, from a description whose packages are known."""
    import skops.io

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # broken members warn before they raise
            foreign = set(skops.io.get_untrusted_types(data=content)) - OWN_TYPES
            if foreign:
                raise _foreign(name, min(foreign))
            model = skops.io.loads(content, trusted=sorted(OWN_TYPES))
    except (ModelError, MemoryError):
        raise
    # A broken file meets skops and NumPy at any point of their work.
    except Exception as error:
        raise ModelError(
            f"{name}: broken ({type(error).__name__}: {error})."
        ) from error
    if not isinstance(model, ModeClustering):
        raise ModelError(f"{name}: holds a {type(model).__name__}, no ModeClustering.")
    try:
        adopt(model, format)
        check_is_fitted(model)
        model.get_params()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that the array does not have
            model.predict(model.cluster_centers_[:1])
        whole = _is_whole(model)
    except Exception as error:
        raise ModelError(f"{name}: broken, its model cannot be used.") from error
    if not whole:
        raise ModelError(f"{name}: broken, parts of its model do not match.")
    return model


def _is_whole(model: ModeClustering) -> bool:
    """Whether modes, rows, clusters and merges number each other rightly."""
    tree, n_modes = model.merge_tree_, len(model.modes_)
    merges = (n_modes - 1,)
    numbered = (
        (model.row_modes_, model.row_modes_.shape, n_modes),
        (model.mode_labels_, (n_modes,), model.n_clusters_),
        (model.cluster_modes_, (model.n_clusters_,), n_modes),
        (tree.child, merges, n_modes),
        (tree.parent, merges, n_modes),
    )
    for numbers, shape, end in numbered:
        if numbers.dtype.kind != "i" or numbers.shape != shape:
            return False
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < end:
            return False
    heights = (tree.passes, tree.prominence, tree.std_error)
    of_modes = (tree.heights, tree.labels, tree.sizes)
    d, expected = model.n_features_in_, model.mode_labels_[model.row_modes_]
    kept = slice(None) if model.noise is None else model.labels_ != NOISE
    return (
        all(values is not None and len(values) == n_modes for values in of_modes)
        and all(height.shape == merges for height in heights)
        and len(np.unique(tree.child)) == n_modes - 1
        and np.array_equal(model.labels_[kept], expected[kept])
        and reference_of(model).rows.shape == (len(reference_of(model).weight), d)
        and model.modes_.shape == (n_modes, d)
        and model.cluster_centers_.shape == (model.n_clusters_, d)
    )
