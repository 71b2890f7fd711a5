"""Models saved before there were landscapes, made into models of today."""

from __future__ import annotations

from modeseek.cluster.blurring import rounds_of
from modeseek.cluster.climbing import has_learned_widths
from modeseek.cluster.landscape import Landscape
from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.field.climbing import Ascent
from modeseek.field.landscape import BlurredLandscape, FieldLandscape
from modeseek.gradient.base import field_of, frame_of
from modeseek.graph.landscape import GraphLandscape
from modeseek.rows.arrays import Floats
from modeseek.rows.validation import is_word


def adopt_format_1(model: ModeClustering) -> None:
    """Give a model of a file of format 1 the attributes of today, in place.

    Parameters
    ----------
    model : ModeClustering
        As it was loaded: what it knew about climbing stood in attributes of its own.
    """
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
        state["_reach"],
        has_learned_widths(estimator),
    )
    blurred = state["_blurred"]
    return BlurredLandscape(landscape, rounds_of(blurred)) if blurred else landscape
