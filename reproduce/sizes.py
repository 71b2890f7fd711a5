"""How much is computed: the paper's size, a reduced one, and one for the tests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Numbers of runs, rows and features; seeds are 0, 1, ... of every setting."""

    name: str
    gradient_runs: int  # figures 1 to 3
    gradient_features: tuple[int, ...]
    cluster_runs: int  # figures 5a, 5b, 5e
    other_runs: int  # of what the paper does not have, and of times
    cluster_features: tuple[int, ...]
    rows: int
    widths: tuple[float, ...]  # figure 5b, with width_features features
    width_features: int
    timed_rows: tuple[int, ...]  # figure 5d
    centers: tuple[int, ...]  # figures 5e and 5f
    images: int  # table 1
    accelerometry_runs: int  # table 2
    speech_runs: int  # of each pair of speakers
    speech_rows: int  # of each speaker
    peers: tuple[str, ...]

    def describe(self) -> str:
        """What this size is, in a sentence."""
        features = ", ".join(map(str, self.cluster_features))
        return (
            f"The size is **{self.name}**: {self.gradient_runs} runs of figures 1 to "
            f"3, {self.cluster_runs} of figure 5 ({features} features), {self.images} "
            f"images, {self.accelerometry_runs} draws of each accelerometry set and "
            f"{self.speech_runs} of each pair of speakers ({self.speech_rows} rows a "
            f"speaker); {self.other_runs} runs of times, and of methods that the paper "
            "does not have."
        )


SKLEARN_PEERS = ("HDBSCAN", "MeanShift", "GMM + BIC")

FULL = Size(
    name="full",
    gradient_runs=100,
    gradient_features=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
    cluster_runs=100,
    other_runs=10,
    cluster_features=(2, 3, 4, 5, 6, 7, 8, 9, 10),
    rows=1000,
    widths=(0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0),
    width_features=8,
    timed_rows=(500, 1000, 2000),
    centers=(10, 25, 50, 100, 200, 400),
    images=200,
    accelerometry_runs=100,
    speech_runs=100,
    speech_rows=200,
    peers=(*SKLEARN_PEERS, "ToMATo", "PLSCAN"),
)

REDUCED = Size(
    name="reduced",
    gradient_runs=3,
    gradient_features=(1, 2, 4, 6, 8, 10),
    cluster_runs=2,
    other_runs=2,
    cluster_features=(2, 3, 4, 6, 8, 10),
    rows=1000,
    widths=(0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0),
    width_features=8,
    timed_rows=(500, 1000, 2000),
    centers=(10, 25, 50, 100, 200, 400),
    images=6,
    accelerometry_runs=5,
    speech_runs=1,
    speech_rows=200,
    peers=FULL.peers,
)

TINY = Size(
    name="tiny",
    gradient_runs=1,
    gradient_features=(1, 2),
    cluster_runs=2,
    other_runs=1,
    cluster_features=(2, 3),
    rows=120,
    widths=(1.0, 2.0),
    width_features=3,
    timed_rows=(100, 150),
    centers=(10, 20),
    images=1,
    accelerometry_runs=2,
    speech_runs=1,
    speech_rows=30,
    peers=("HDBSCAN",),
)

SIZES = {size.name: size for size in (FULL, REDUCED, TINY)}
