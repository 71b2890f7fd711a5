"""A plot of the merge tree, with a cut that can be moved."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from modeseek.cluster.mode_clustering import ModeClustering
from modeseek.plot.canvas import GREY, INK, Axes, Display, MouseEvent, mark
from modeseek.rows.arrays import Floats, Integers
from modeseek.rows.validation import check_real
from modeseek.tree.dendrogram import Dendrogram, lay_out
from modeseek.tree.merge_tree import MergeTree

#: Modes that are drawn large.
MOST_LARGE = 30

#: Clusters whose sizes are written below the tree, and the points that a digit takes.
MOST_SIZED, DIGIT = 12, 5.3

#: Pixels from the line of the cut within which the mouse takes hold of it.
GRIP = 6.0


class MergeTreeDisplay(Display):
    """The merge tree as a dendrogram, with a cut that can be moved.

    Feet are modes, with the numbers of their clusters and how many samples of the fit
    these have; two branches join at their prominence, drawn with its standard error.
    Branches that join below the dashed line are one cluster. In a window or a notebook
    with a live canvas the line can be dragged. Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    estimator : ModeClustering
        Fitted; it numbers the clusters.
    cut : float or None
        Prominence of the cut; None for the clusters as fitted.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    cut_ : float or None
        The level shown.
    mode_labels_ : ndarray of shape (n_modes,)
        Cluster of every mode at that level.
    mode_places_ : ndarray of shape (n_modes,)
        Where every mode stands on the horizontal axis.

    Examples
    --------
    >>> from modeseek import ModeClustering
    >>> from modeseek.datasets import three_gaussians
    >>> from modeseek.plot import MergeTreeDisplay
    >>> X, _ = three_gaussians().sample(500, random_state=0)
    >>> display = MergeTreeDisplay.from_estimator(ModeClustering().fit(X))
    >>> set(display.set_cut(100.0).mode_labels_.tolist())
    {0}
    """

    cut_: float | None
    mode_labels_: Integers
    mode_places_: Floats

    def __init__(self, *, estimator: ModeClustering, cut: float | None = None) -> None:
        self.estimator = estimator
        self.cut = cut

    @classmethod
    def from_estimator(
        cls,
        estimator: ModeClustering,
        *,
        cut: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the merge tree of a fitted clustering.

        Parameters
        ----------
        estimator : ModeClustering
            Fitted model, whose tree is drawn.
        cut : float, optional
            Prominence of the cut; by default the clusters as fitted.
        ax : matplotlib Axes, optional
            Where to draw; a new figure if not given.

        Returns
        -------
        MergeTreeDisplay
        """
        check_is_fitted(estimator)
        return cls(estimator=estimator, cut=cut).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        tree, layout = self.estimator.merge_tree_, lay_out(self.estimator.merge_tree_)
        self._draw_brackets(tree, layout)
        self._draw_feet(layout)
        self._line = ax.axhline(0.0, color=INK, linestyle="--", linewidth=1.5)
        top = float((tree.prominence + tree.std_error).max(initial=0.0)) or 1.0
        ax.set_ylim(-0.04 * top, 1.05 * top)
        ax.set_ylabel("prominence")
        self._dragging = False
        canvas = self.figure_.canvas
        canvas.mpl_connect("button_press_event", self._press)
        canvas.mpl_connect("motion_notify_event", self._move)
        canvas.mpl_connect("button_release_event", self._release)
        self.set_cut(self.cut)

    def _draw_brackets(self, tree: MergeTree, layout: Dendrogram) -> None:
        sides = zip(
            layout.left,
            layout.right,
            layout.left_foot,
            layout.right_foot,
            layout.height,
            strict=True,
        )
        self._brackets = [
            self.ax_.plot(
                [a, a, b, b], [foot_a, y, y, foot_b], solid_joinstyle="miter"
            )[0]
            for a, b, foot_a, foot_b, y in sides
        ]
        error = tree.std_error[layout.merge]
        self.ax_.errorbar(
            layout.middle(),
            layout.height,
            [np.minimum(error, layout.height), error],
            fmt="none",
            ecolor=GREY,
            elinewidth=6.0 if len(error) <= MOST_LARGE else 2.0,
            alpha=0.35,
            zorder=1,
        )
        self._merge = layout.merge

    def _draw_feet(self, layout: Dendrogram) -> None:
        k = len(layout.x)
        size = 8.0 if k <= MOST_LARGE else 4.0
        self._feet = [
            self.ax_.plot(x, 0.0, markersize=size, clip_on=False, zorder=4)[0]
            for x in layout.x
        ]
        self.mode_places_ = layout.x
        self.ax_.tick_params(axis="x", length=0, pad=8)
        self.ax_.set_xlim(-0.6, k - 0.4)

    def set_cut(self, prominence: float | None) -> Self:
        """Move the cut.

        Parameters
        ----------
        prominence : float or None
            None for the clusters as fitted.

        Returns
        -------
        self
        """
        model, tree = self.estimator, self.estimator.merge_tree_
        labels = model.mode_labels_
        if prominence is not None:
            prominence = check_real("cut", prominence, least=0.0)
            labels = model.label_modes(prominence=prominence)
        self.cut_, self.mode_labels_ = prominence, labels
        made = labels[tree.child] == labels[tree.parent]
        for bracket, merge in zip(self._brackets, self._merge, strict=True):
            color = mark(int(labels[tree.child[merge]]))["color"]
            bracket.set_color(color if made[merge] else GREY)
            bracket.set_linewidth(2.2 if made[merge] else 1.3)
        for foot, label in zip(self._feet, labels, strict=True):
            foot.set(**mark(int(label)), markeredgecolor="white")
        self._name_feet(labels)
        level = self._fitted_level() if prominence is None else prominence
        self._line.set_ydata([level, level])
        # Faint where the fit did not make exactly the merges below a level.
        at_a_level = np.array_equal(made, tree.prominence < level)
        self._line.set(color=INK if at_a_level else GREY)
        self._line.set(linestyle="--" if at_a_level else ":")
        n = int(labels.max()) + 1
        where = "as fitted" if prominence is None else f"at prominence {level:.3g}"
        self.ax_.set_title(f"{n} cluster{'s' * (n > 1)} {where}", fontsize="medium")
        self.figure_.canvas.draw_idle()
        return self

    def _name_feet(self, labels: Integers) -> None:
        """Write number and size of each cluster below the middle of its feet.

        Those of smaller clusters are left out where there is no room.
        """
        sizes = np.bincount(labels, weights=self.estimator.merge_tree_.sizes)
        sized = len(sizes) <= MOST_SIZED
        width = self.ax_.get_window_extent().width * 72.0 / self.figure_.dpi
        foot = width / (len(labels) + 0.2)
        names: dict[float, str] = {}
        taken: list[tuple[float, float]] = []
        for k, size in enumerate(sizes):
            middle = float(np.median(self.mode_places_[labels == k]))
            lines = [f"{k}", f"{size:,.0f}"] if sized else [f"{k}"]
            half = 1.0 + 0.5 * DIGIT * max(map(len, lines))
            left, right = foot * middle - half, foot * middle + half
            if all(right < start or left > end for start, end in taken):
                names[middle] = "\n".join(lines)
                taken.append((left, right))
        self.ax_.set_xticks(list(names), list(names.values()), fontsize="small")
        self.ax_.set_xlabel("clusters and their samples" if sized else "clusters")

    def _fitted_level(self) -> float:
        """A level among the merges that would make as many as the fit made."""
        rising = np.r_[0.0, np.sort(self.estimator.merge_tree_.prominence)]
        made = len(rising) - self.estimator.n_clusters_
        if made == len(rising) - 1:
            return float(1.02 * rising[-1])
        return float(0.5 * (rising[made] + rising[made + 1]))

    def _grips_line(self, event: MouseEvent) -> bool:
        """Whether the mouse is near enough to the line to drag it."""
        if event.inaxes is not self.ax_:
            return False
        level = float(np.asarray(self._line.get_ydata())[0])
        line = self.ax_.transData.transform((0.0, level))[1]
        return bool(abs(event.y - line) <= GRIP)

    def _press(self, event: MouseEvent) -> None:
        self._dragging = self._grips_line(event)

    def _move(self, event: MouseEvent) -> None:
        if self._dragging and event.inaxes is self.ax_ and event.ydata is not None:
            self.set_cut(max(0.0, float(event.ydata)))

    def _release(self, event: object) -> None:
        self._dragging = False
