"""What a fitted ModeClustering answers about rows: modes, clusters, shares, depths."""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.blurring import blurring_step
from modeseek.field.ascent import (
    Climb,
    Step,
    accelerated,
    climb,
    gradient_ascent,
    largest_step_size,
    quasi_newton,
)
from modeseek.field.basins import Basins, certain_basins
from modeseek.field.fields import Field
from modeseek.field.memberships import distance_beyond, drops, soft_memberships
from modeseek.field.modes import assign_modes
from modeseek.gradient.base import GradientEstimator, enter_frame, field_of, frame_of
from modeseek.graph.row_graph import (
    RowGraph,
    nearest_modes,
    row_heights,
    row_memberships,
    row_paths,
)
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.blocks import chunk_slices, map_blocks
from modeseek.rows.containers import (
    apply_rowwise,
    check_in_memory,
    look_up,
)
from modeseek.rows.source import Source
from modeseek.rows.validation import check_integer, check_real, check_rows, is_word
from modeseek.tree.merge_tree import MergeTree


class Answers:
    """The methods of :class:`ModeClustering` that need no more than what is fitted.

    Rows climb as they did in the fit: along the field, or to the nearest node of the
    graph of rows and up from there.
    """

    tol: float
    max_iter: int
    step_size: str | float
    n_jobs: int | None
    ascent_: str
    estimator_: GradientEstimator
    labels_: Integers
    modes_: Floats
    mode_labels_: Integers
    row_modes_: Integers
    merge_tree_: MergeTree
    _modes: Floats
    _mode_weight: Floats
    _tops: Integers
    _reach: float
    _blurred: list[GradientEstimator]
    _graph: RowGraph | None

    def predict(self, X: ArrayLike) -> Integers:
        """Cluster of each row, by the mode it climbs to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            For the training rows, ``labels_``.
        """
        modes = self.predict_modes(X)
        labels: Integers = look_up(self.mode_labels_, modes)
        return labels

    def predict_modes(self, X: ArrayLike) -> Integers:
        """Mode that each row reaches, as a row of ``modes_``.

        With ``merge_tree_.cut`` it gives the clusters of new rows at any level.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        modes: Integers = self._ask(X, Answers._modes_of)
        return modes

    def cut(
        self, prominence: float | None = None, n_clusters: int | None = None
    ) -> Integers:
        """Labels of the training rows at another level of the merge tree.

        Parameters
        ----------
        prominence : float, optional
            Merge modes of a smaller prominence.
        n_clusters : int, optional
            Merge the modes of smallest prominence until so many clusters are left.

        Returns
        -------
        ndarray of shape (n_samples,)
            0 for the largest cluster.
        """
        check_is_fitted(self)
        if prominence is not None:
            prominence = check_real("prominence", prominence, least=0.0)
        if n_clusters is not None:
            n_clusters = check_integer("n_clusters", n_clusters, least=1)
        labels, _ = self._number(self.merge_tree_.cut(prominence, n_clusters))
        cut: Integers = look_up(labels, self.row_modes_)
        return cut

    def membership(self, X: ArrayLike) -> Floats:
        """Soft membership of each row in each cluster.

        A row belongs to another cluster as far as the barrier in between is low: its
        share falls as the exponential of the deepest descent of the log-density on
        the way there, straight or through the row's own mode. From row to row it is
        the way along the graph, and the share falls with the distance too.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Rows sum to 1; the largest entry is the label.
        """
        shares: Floats = self._ask(X, Answers._share)
        return shares

    def _share(self, rows: NDArray[np.floating]) -> Floats:
        """Memberships of rows in memory."""
        Z, modes = self._arrive(rows)
        barrier = self.merge_tree_.barriers()[:, self._tops]
        if self._graph is not None:
            node_labels = self.mode_labels_[self._graph.mode]
            return row_memberships(self._graph, Z, node_labels, barrier, self.n_jobs)
        field, barrier = field_of(self.estimator_), barrier[modes]
        labels = self.mode_labels_[modes]
        tops = self._modes[self._tops]

        def kernel(part: slice) -> Floats:
            return soft_memberships(field, Z[part], labels[part], tops, barrier[part])

        return np.concatenate(list(map_blocks(kernel, len(Z), n_jobs=self.n_jobs)))

    def outlier_score(self, X: ArrayLike) -> Floats:
        """How far below its mode each row lies, from 0 to 1.

        One minus the ratio of the density at the row to that at its mode; past the
        reach of the training rows it goes on towards 1 with the distance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores: Floats = self._ask(X, Answers._descend)
        return scores

    def _descend(self, rows: NDArray[np.floating]) -> Floats:
        """Outlier scores of rows in memory."""
        Z, modes = self._arrive(rows)
        if self._graph is not None:
            height = row_heights(self._graph, Z, self.n_jobs)
            down = np.maximum(self.merge_tree_.heights[modes] - height, 0.0)
            return np.asarray(-np.expm1(-down))
        field = field_of(self.estimator_)
        size = chunk_slices(len(Z), len(field.centers))[0].stop

        def kernel(part: slice) -> Floats:
            down = drops(field, Z[part], self._modes[modes[part]])
            if field.saturates:
                down += distance_beyond(field, Z[part], self._reach)
            return down

        blocks = map_blocks(kernel, len(Z), n_jobs=self.n_jobs, size=size)
        return np.asarray(-np.expm1(-np.concatenate(list(blocks))))

    def paths(self, X: ArrayLike) -> Floats:
        """Where each row is after every step of its climb.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_steps + 1, n_samples, n_features)
            The first entry is X; a row that has arrived stays where it is.
        """
        check_is_fitted(self)
        check_in_memory(X, "paths are for some of them: give those as an array.")
        rows = check_rows(self, X, reset=False)
        Z = enter_frame(self.estimator_, rows)
        if self._graph is not None:
            steps = row_paths(self._graph, Z, self.n_jobs)
            steps = [frame_of(self.estimator_).leave(step) for step in steps]
            return np.stack([np.array(rows, dtype=np.float64), *steps[1:]])
        field, frame = field_of(self.estimator_), frame_of(self.estimator_)
        here = np.asarray(rows, dtype=np.float64)
        points = []
        for estimator in self._blurred:
            points.append(here)
            here = blurring_step(estimator, here)
        climb(
            field,
            frame.enter(here),
            self._step(field),
            tol=self.tol,
            max_iter=self.max_iter,
            record=lambda Z: points.append(frame.leave(Z)),
        )
        points[0] = np.array(rows, dtype=np.float64)
        return np.stack(points)

    @property
    def feature_relevance_(self) -> Floats:
        """Relevance of the features to the estimator, where it measures that."""
        return self.estimator_.feature_relevance_

    def _ask(self, X: Any, ask: Any) -> Any:
        """Ask a method about rows; on Dask, when the answers are needed."""
        check_is_fitted(self)
        frame = frame_of(self.estimator_)
        bare = partial(ask, self._without_rows())
        return apply_rowwise(self, X, bare, frame, self.modes_[:1])

    def _ask_source(self, source: Source, ask: Any) -> Any:
        frame = frame_of(self.estimator_)
        bare = partial(ask, self._without_rows())
        return source.apply_rowwise(bare, frame, self.modes_[:1])

    def _without_rows(self) -> Self:
        """Copy what new rows need: labels may be many, or lazy themselves."""
        bare = copy(self)
        for name in ("row_modes_", "labels_"):
            bare.__dict__.pop(name, None)
        return bare

    def _arrive(self, rows: NDArray[np.floating]) -> tuple[Floats, Integers]:
        """Rows in the frame and the modes they reach."""
        Z = enter_frame(self.estimator_, rows)
        if self._graph is not None:
            return Z, nearest_modes(self._graph, Z, self.n_jobs)
        field = field_of(self.estimator_)
        # Basins cost about as much as climbing from the modes.
        worthwhile = len(rows) > 4 * len(self._modes)
        basins = certain_basins(field, self._modes) if worthwhile else None
        arrived = self._climb(self._enter_blurred(rows), field, basins)
        return Z, self._assign(arrived.points, self._modes, field, basins)

    def _modes_of(self, rows: NDArray[np.floating]) -> Integers:
        """Modes that rows reach."""
        return self._arrive(rows)[1]

    def _step(self, field: Field) -> Step:
        if self.ascent_ == "gradient":
            if is_word(self.step_size, "auto"):
                return gradient_ascent(largest_step_size(field))
            return gradient_ascent(
                float(self.step_size) / frame_of(self.estimator_).unit ** 2
            )
        return quasi_newton() if self.ascent_ == "quasi_newton" else accelerated()

    def _climb(self, Z: Floats, field: Field, basins: Basins | None = None) -> Climb:
        """Climb from all rows, in chunks on the thread pool."""
        step = self._step(field)
        columns = len(field.centers)
        if self.ascent_ == "quasi_newton":
            columns = max(columns, Z.shape[1] ** 2)  # an inverse Hessian a row
        size = chunk_slices(len(Z), columns)[0].stop

        certain = None if basins is None else lambda Z: basins.find(field, Z)[1]

        def kernel(rows: slice) -> Climb:
            return climb(
                field,
                Z[rows],
                step,
                tol=self.tol,
                max_iter=self.max_iter,
                certain=certain,
            )

        parts = list(map_blocks(kernel, len(Z), n_jobs=self.n_jobs, size=size))
        columns_of_climb: list[Any] = [
            np.concatenate(part) for part in zip(*parts, strict=True)
        ]
        return Climb(*columns_of_climb)

    def _assign(
        self, ends: Floats, modes: Floats, field: Field, basins: Basins | None = None
    ) -> Integers:
        def climb_on(Z: Floats) -> Floats:
            return self._climb(Z, field).points

        return assign_modes(field, ends, modes, climb_on, basins)

    def _enter_blurred(self, rows: NDArray[np.floating]) -> Floats:
        """Rows in the frame, after the steps of blurring if there are any."""
        X = np.asarray(rows, dtype=np.float64)
        for estimator in self._blurred:
            X = blurring_step(estimator, X)
        return frame_of(self.estimator_).enter(X)

    def _number(self, group: Integers) -> tuple[Integers, Integers]:
        """Number groups of modes by their weight; the top mode of each number."""
        tops, index = np.unique(group, return_inverse=True)
        size = np.bincount(index, weights=self._mode_weight)
        order = np.lexsort((tops, -size))
        number = np.empty(len(tops), dtype=np.intp)
        number[order] = np.arange(len(tops))
        return number[index], tops[order]
