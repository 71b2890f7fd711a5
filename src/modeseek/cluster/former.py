"""Models saved by earlier versions, made into models of today."""

from __future__ import annotations

import inspect

import numpy as np

from modeseek.cluster.blurring import rounds_of
from modeseek.cluster.climbing import has_learned_widths
from modeseek.cluster.landscape import Landscape
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.cluster.reference import Reference
from modeseek.field.climbing import Ascent
from modeseek.field.landscape import BlurredLandscape, FieldLandscape
from modeseek.gradient.base import field_of, frame_of
from modeseek.graph.landscape import GraphLandscape
from modeseek.rows.arrays import Floats
from modeseek.rows.validation import is_word


def adopt(model: ModeClustering, format: int) -> None:
    """Give a model of a file of such a format the attributes of today, in place."""
    if format == 1:
        _adopt_format_1(model)
    if format <= 2:
        _adopt_format_2(model)
    parameters = inspect.signature(ModeClustering).parameters
    later = {name: given.default for name, given in parameters.items()}
    for name, value in (later | {"features_left_out_": {}}).items():
        model.__dict__.setdefault(name, value)
    if model.merge_tree_.sizes is None:
        sizes = np.bincount(model.row_modes_, minlength=len(model.modes_))
        model.merge_tree_ = model.merge_tree_._replace(
            labels=model.mode_labels_, sizes=sizes
        )


def _adopt_format_1(model: ModeClustering) -> None:
    """Before there were landscapes, a model knew of climbing in its own attributes."""
    state = model.__dict__
    state["cluster_modes_"] = state.pop("_tops")
    state["mode_weights_"] = state.pop("_mode_weight")
    state["rounding_"] = state.pop("_rounding")
    state["_landscape"] = _landscape_of(model)
    state["_level"] = model.prominence
    state["_frame"] = state["_landscape"].frame
    state["n_components_"] = state["_frame"].n_coordinates
    state["decision_"] = "Saved by an earlier version, which did not say why."
    for name in ("_graph", "_blurred", "_modes", "_reach"):
        state.pop(name, None)


def _adopt_format_2(model: ModeClustering) -> None:
    """Before models kept reference rows: the nodes of a graph, or centres, are some."""
    landscape = model._landscape
    if isinstance(landscape, GraphLandscape):
        rows = landscape.rows
    else:
        rows = np.unique(_centers_of(model), axis=0)
    model._reference = Reference(rows, np.ones(len(rows)), grain=0.0)
    model._n_wanted = model._noise = None


def _centers_of(model: ModeClustering) -> Floats:
    """Centres in the user's features; those of fewer coordinates lead back there."""
    centers = model.estimator_.centers_
    same = centers.shape[1] == model.n_features_in_
    return centers if same else model._frame.leave(centers)


def _landscape_of(model: ModeClustering) -> Landscape:
    state, estimator = model.__dict__, model.estimator_
    frame, tree, weights = frame_of(estimator), model.merge_tree_, model.mode_weights_
    if state["_graph"] is not None:
        rows = frame.leave(state["_graph"].nodes)
        return GraphLandscape(frame, rows, state["_graph"], weights, tree)
    step_size: float | Floats | None = None
    if not is_word(model.step_size, "auto"):
        step_size = float(model.step_size) / frame.unit**2
    landscape = FieldLandscape(
        frame,
        field_of(estimator),
        Ascent(model.ascent_, step_size, model.tol, model.max_iter),
        state["_modes"],
        weights,
        tree,
        has_learned_widths(estimator),
    )
    blurred = state["_blurred"]
    return BlurredLandscape(landscape, rounds_of(blurred)) if blurred else landscape
