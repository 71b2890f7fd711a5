"""The panels of figure 5: what the paper says of each, and what the runs say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from reproduce.entries import Claim, Entry, Table, mean_std
from reproduce.methods import (
    DEFAULTS,
    LSLDG,
    LSLDG_OURS,
    LSLDG_PRINTED,
    MEAN_SHIFT,
    MEAN_SHIFT_FINE,
    PAPER_GRID,
    missing,
)
from reproduce.pictures import STYLES, line_with_spread, panels, save
from reproduce.runs import Batch, Lab, Row, extent, found, numbers

OURS = (LSLDG, LSLDG_PRINTED, LSLDG_OURS, DEFAULTS, MEAN_SHIFT, MEAN_SHIFT_FINE)

#: Methods that are timed: the paper's pair and our defaults.
TIMED = (LSLDG, DEFAULTS, MEAN_SHIFT)

#: "Works very well", and "reasonably high".
VERY_WELL, REASONABLE = 0.8, 0.7

#: Features of panel d, and of panels e and f; the paper does not give them.
TIME_FEATURES, CENTER_FEATURES = 2, 4


def panels_of_figure_5(
    lab: Lab, batch: Batch, rows: list[Row], methods: list[str]
) -> list[Entry]:
    entries = [
        panel_a(lab, rows, methods),
        panel_b(lab, rows),
        panel_c(lab, rows),
        panel_d(lab, rows),
        *panels_e_and_f(lab, rows),
    ]
    own = {"width": "", "centers": ""}
    parts = {
        "Figure 5a": {"rows": lab.size.rows, **own},
        "Figure 5c": {"rows": lab.size.rows, **own},
        "Figure 5b": {"features": lab.size.width_features, "centers": ""},
        "Figure 5d": {"features": TIME_FEATURES, **own},
        "Figure 5e": {"features": CENTER_FEATURES, "width": ""},
        "Figure 5f": {"features": CENTER_FEATURES, "width": ""},
    }
    return [
        replace(entry, extent=extent(batch, rows, method=LSLDG, **parts[entry.name]))
        for entry in entries
    ]


def chosen(rows: list[Row], column: str, method: str, d: int, n: int) -> np.ndarray:
    """Runs in which the method chose width and centres itself."""
    where = {"method": method, "features": d, "rows": n, "width": "", "centers": ""}
    return found(rows, column, **where)


def setting(more: str) -> str:
    return f"Three Gaussians of section 5.2, further features standard normal. {more}"


def panel_a(lab: Lab, rows: list[Row], methods: list[str]) -> Entry:
    dims, n = list(lab.size.cluster_features), lab.size.rows
    ari = {m: [chosen(rows, "ari", m, d, n) for d in dims] for m in methods}
    mean = {m: np.array([v.mean() for v in ari[m]]) for m in methods}
    low = np.array(dims) <= 4
    shift, last = mean[MEAN_SHIFT], dims[-1]
    at_four, at_last = shift[low][-1], shift[-1]
    fine = mean[MEAN_SHIFT_FINE]
    widths = {
        m: [float(np.median(chosen(rows, "bandwidth", m, d, n))) for d in dims]
        for m in (MEAN_SHIFT, MEAN_SHIFT_FINE)
    }
    claims = [
        Claim(
            "With 2 to 4 features both methods work very well.",
            f"mean ARI of both at least {VERY_WELL:g} for each of them",
            f"at least {mean[LSLDG][low].min():.2f} for LSLDG, {shift[low].min():.2f} "
            f"for the mean shift, {fine[low].min():.2f} on a finer grid of widths",
            bool(min(mean[LSLDG][low].min(), shift[low].min()) >= VERY_WELL),
            "Between 0.32 and 1 the paper's grid has no candidate. With two or three "
            "features likelihood now and then takes the narrow one, and every bump is "
            "a cluster. The paper does not say that this grid is that of the figure.",
            elsewhere=bool(min(mean[LSLDG][low].min(), fine[low].min()) >= VERY_WELL),
        ),
        Claim(
            "Beyond 4 features the Gaussian mean shift drops sharply.",
            f"its mean ARI with {last} features is below half of that with at most 4",
            f"{at_last:.2f} against {at_four:.2f}, width {widths[MEAN_SHIFT][-1]:.2f} "
            f"by likelihood; on a finer grid of widths {fine[-1]:.2f} against "
            f"{fine[low][-1]:.2f}, width {widths[MEAN_SHIFT_FINE][-1]:.2f}",
            bool(at_last < 0.5 * at_four),
            "The printed grid cannot show it: its candidates beside the best width are "
            "0.32 and 1, likelihood takes 1 for any number of features beyond 4, and "
            "there the mean shift is good (panel b). On a finer grid likelihood takes "
            "narrower widths, and it drops.",
            elsewhere=bool(fine[-1] < 0.5 * fine[low][-1]),
        ),
        Claim(
            "LSLDG stays reasonably high as features are added.",
            f"mean ARI at least {REASONABLE:g} for every number of features",
            f"lowest {mean[LSLDG].min():.2f} in the authors' setting, "
            f"{mean[LSLDG][:-1].min():.2f} up to {dims[-2]} features; "
            f"{np.nanmin(mean[LSLDG_PRINTED]):.2f} as printed, "
            f"{np.nanmin(mean[LSLDG_OURS]):.2f} with our grid, "
            f"{np.nanmin(mean[DEFAULTS]):.2f} with our defaults",
            bool(mean[LSLDG].min() >= REASONABLE),
            "As printed, the penalty is too strong for wide Gaussians: one cluster. In "
            f"the authors' setting the widest candidate, {PAPER_GRID[-1]:g}, wins now "
            "and then with many features, and there is one cluster as well; the paper "
            "leaves open which scale its penalty has, and how many features its figure "
            "goes to.",
            elsewhere=bool(
                max(np.nanmin(mean[LSLDG_OURS]), mean[LSLDG][:-1].min()) >= REASONABLE
            ),
        ),
    ]
    table = Table(
        "Adjusted Rand index, mean (standard deviation)",
        ["method", *(f"d = {d}" for d in dims)],
        [[m, *(mean_std(v) for v in ari[m])] for m in methods],
    )
    by_likelihood = Table(
        "Width that likelihood chose, median over runs",
        ["method", *(f"d = {d}" for d in dims)],
        [[m, *(f"{w:.2f}" for w in widths[m])] for m in widths],
    )
    figure, axes = panels(2, height=4.2, width=5.0)
    for m in methods:
        ax = axes[0] if m in OURS else axes[1]
        line_with_spread(ax, dims, ari[m], m, **STYLES[m])
    line_with_spread(axes[1], dims, ari[DEFAULTS], DEFAULTS, **STYLES[DEFAULTS])
    for ax, title in zip(axes, ("the paper's methods", "today's peers"), strict=True):
        ax.set(xlabel="features", ylabel="adjusted Rand index", title=title)
        ax.set_xticks(dims)
        ax.set_ylim(-0.1, 1.02)
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.16), "ncols": 2}
        ax.legend(frameon=False, fontsize=8, **place)
    picture = save(figure, lab.out / "figure5a.png")
    absent = missing(lab.size.peers)
    note = f" Not installed: {', '.join(absent)}." if absent else ""
    return Entry(
        "Figure 5a",
        "Clustering performance over the number of features",
        setting(f"n = {n}. Peers run with their defaults.{note}"),
        claims,
        [(picture, "Adjusted Rand index over the number of features")],
        [table, by_likelihood],
    )


def panel_b(lab: Lab, rows: list[Row]) -> Entry:
    d, widths = lab.size.width_features, list(lab.size.widths)
    ari = {
        m: [
            numbers(rows, "ari", method=m, features=d, rows=lab.size.rows, width=str(w))
            for w in widths
        ]
        for m in (LSLDG, MEAN_SHIFT)
    }
    good = {m: [v.mean() >= REASONABLE for v in ari[m]] for m in ari}
    count, count_shift = sum(good[LSLDG]), sum(good[MEAN_SHIFT])
    claims = [
        Claim(
            "LSLDG performs well for a wide range of widths, while the mean shift is "
            "peaky.",
            f"mean ARI is at least {REASONABLE:g} for at least twice as many widths of "
            "a geometric grid",
            f"{count} of {len(widths)} widths for LSLDG, {count_shift} for the mean "
            "shift",
            bool(count >= 2 * count_shift and count > 0),
        )
    ]
    table = Table(
        "Adjusted Rand index, mean (standard deviation)",
        ["method", *(f"{w:g}" for w in widths)],
        [[m, *(mean_std(v) for v in ari[m])] for m in ari],
    )
    figure, (ax,) = panels(1, width=5.5)
    for m in ari:
        line_with_spread(ax, widths, ari[m], m.split(",")[0], **STYLES[m])
    ax.set(xscale="log", xlabel="Gaussian width", ylabel="adjusted Rand index")
    ax.set_xticks(widths, [f"{w:g}" for w in widths])
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize=8)
    picture = save(figure, lab.out / "figure5b.png")
    return Entry(
        "Figure 5b",
        f"Clustering performance over the Gaussian width, {d} features",
        setting(f"n = {lab.size.rows}; LSLDG's penalty is chosen for every width."),
        claims,
        [(picture, "Adjusted Rand index over the Gaussian width")],
        [table],
    )


def panel_c(lab: Lab, rows: list[Row]) -> Entry:
    dims, n = list(lab.size.cluster_features), lab.size.rows
    time = {m: [chosen(rows, "seconds", m, d, n) for d in dims] for m in TIMED}
    ari = {m: [chosen(rows, "ari", m, d, n).mean() for d in dims] for m in TIMED}
    ratio = np.array(
        [np.median(a) / np.median(b) for a, b in zip(*pair(time), strict=True)]
    )
    good = np.minimum(ari[LSLDG], ari[MEAN_SHIFT]) >= VERY_WELL
    worst = ratio[good].max() if good.any() else np.nan
    many = np.array(dims) > 8
    finer = [chosen(rows, "seconds", MEAN_SHIFT_FINE, d, n) for d in dims]
    fine = np.array(
        [np.median(a) / np.median(b) for a, b in zip(time[LSLDG], finer, strict=True)]
    )
    claims = [
        Claim(
            "Where the ARI of both is high, LSLDG takes about as long as the mean "
            "shift or less.",
            f"at most 1.2 times as long wherever both reach {VERY_WELL:g}",
            f"at most {worst:.2f} times as long"
            if good.any()
            else "both are high for no number of features",
            bool(good.any() and worst <= 1.2),
            "LSLDG with separate coefficients solves a problem for each feature, width "
            "and fold, and this mean shift is a fast one: rows that have arrived leave "
            "the loop. With 1000 rows, 1000 kernels are still cheap.",
            timed=True,
        ),
        Claim(
            "Beyond 8 features the mean shift is the faster one.",
            "less time than LSLDG for every such number of features",
            f"LSLDG takes {ratio[many].min():.1f} times as long or more, "
            f"{np.nanmin(fine[many]):.1f} times on a finer grid of widths"
            if many.any()
            else "no such number of features in this run",
            bool((ratio[many] > 1.0).all()) if many.any() else None,
            "Over the paper's candidates likelihood keeps a wide kernel, so that this "
            "mean shift does not stop early with many features, as the paper's did."
            if many.any()
            else "This size has no run with more than 8 features; take a larger one.",
            timed=True,
            elsewhere=bool(many.any() and np.nanmin(fine[many]) > 1.0),
        ),
    ]
    return time_entry(
        lab,
        "Figure 5c",
        "Time over the number of features",
        setting(f"n = {n}; width and penalty chosen within the time."),
        claims,
        "features",
        dims,
        time,
    )


def panel_d(lab: Lab, rows: list[Row]) -> Entry:
    sizes = list(lab.size.timed_rows)
    time = {
        m: [chosen(rows, "seconds", m, TIME_FEATURES, n) for n in sizes] for m in TIMED
    }
    ours, shift = (np.array([np.median(v) for v in some]) for some in pair(time))
    claims = [
        Claim(
            "With the same sample size LSLDG is much faster than the mean shift.",
            f"at most half the time with {sizes[-1]} rows",
            f"{ours[-1] / shift[-1]:.2f} times the mean shift's time with "
            f"{sizes[-1]} rows, {ours[0] / shift[0]:.2f} times with {sizes[0]}; our "
            f"defaults {np.median(time[DEFAULTS][-1]) / shift[-1]:.2f} times",
            bool(ours[-1] <= 0.5 * shift[-1]),
            "The time of the mean shift grows with the square of the rows, that of "
            "LSLDG in proportion to them; the factor is reached with more rows. "
            "Choosing width and penalty is part of both times.",
            timed=True,
        )
    ]
    return time_entry(
        lab,
        "Figure 5d",
        "Time over the number of rows",
        setting(f"{TIME_FEATURES} features (the paper does not say how many)."),
        claims,
        "rows",
        sizes,
        time,
    )


def pair(of: dict[str, list[Any]]) -> tuple[list[Any], list[Any]]:
    return of[LSLDG], of[MEAN_SHIFT]


def time_entry(
    lab: Lab,
    name: str,
    title: str,
    text: str,
    claims: list[Claim],
    axis: str,
    x: list[int],
    time: dict[str, list[np.ndarray]],
) -> Entry:
    """An entry whose picture has seconds on logarithmic axes."""
    base = [np.median(v) for v in time[MEAN_SHIFT]]
    table = Table(
        "Processor time relative to the Gaussian mean shift, medians over runs",
        ["method", *(f"{value} {axis}" for value in x)],
        [
            [
                m,
                *(f"{np.median(v) / r:.2f}" for v, r in zip(vs, base, strict=True)),
            ]
            for m, vs in time.items()
        ],
    )
    figure, (ax,) = panels(1, width=5.5)
    for m, values in time.items():
        line_with_spread(ax, x, values, m, **STYLES[m])
    ax.set(xlabel=axis, ylabel="seconds of processor time", yscale="log")
    if axis == "rows":
        ax.set_xscale("log")
    ax.set_xticks(x, [str(v) for v in x])
    ax.xaxis.set_tick_params(which="minor", bottom=False)
    ax.legend(frameon=False, fontsize=8)
    picture = save(figure, lab.out / f"{name.lower().replace(' ', '')}.png")
    return Entry(
        name, title, text, claims, [(picture, f"Seconds over {axis}")], [table]
    )


def panels_e_and_f(lab: Lab, rows: list[Row]) -> list[Entry]:
    numbers_of_centers = list(lab.size.centers)

    def column(name: str) -> list[np.ndarray]:
        where = {"method": LSLDG, "features": CENTER_FEATURES, "rows": lab.size.rows}
        return [
            numbers(rows, name, centers=str(b), **where) for b in numbers_of_centers
        ]

    ari, time = column("ari"), column("seconds")
    paper = min(100, numbers_of_centers[-1])
    at = max(i for i, b in enumerate(numbers_of_centers) if b <= paper)
    b, most = numbers_of_centers[at], numbers_of_centers[-1]
    loss = ari[-1].mean() - ari[at].mean()
    spent = [float(np.median(v)) for v in time]
    share = spent[at] / spent[-1]
    figure, axes = panels(2, width=4.8)
    for ax, values, label in zip(
        axes, (ari, time), ("adjusted Rand index", "seconds"), strict=True
    ):
        line_with_spread(ax, numbers_of_centers, values, LSLDG, **STYLES[LSLDG])
        ax.set(xscale="log", xlabel="basis functions", ylabel=label)
        ax.set_xticks(numbers_of_centers, [str(v) for v in numbers_of_centers])
        ax.minorticks_off()
    axes[0].set(ylim=(-0.1, 1.02), title="(e)")
    axes[1].set(yscale="log", title="(f)")
    picture = save(figure, lab.out / "figure5ef.png")
    text = setting(
        f"n = {lab.size.rows}, {CENTER_FEATURES} features (the paper does not say how "
        "many); separate coefficients.",
    )
    shown = [(picture, "ARI and seconds over the number of basis functions")]
    return [
        Entry(
            "Figure 5e",
            "Clustering performance over the number of basis functions",
            text,
            [
                Claim(
                    "Fewer centres do not worsen the clustering.",
                    f"mean ARI with {b} centres is at most 0.05 below that with {most}",
                    f"{ari[at].mean():.3f} with {b}, {ari[-1].mean():.3f} with {most}, "
                    f"{ari[0].mean():.3f} with {numbers_of_centers[0]}",
                    bool(loss <= 0.05),
                )
            ],
            shown,
            [
                Table(
                    "Adjusted Rand index, mean (standard deviation)",
                    ["basis functions", *map(str, numbers_of_centers)],
                    [[LSLDG, *(mean_std(v) for v in ari)]],
                )
            ],
        ),
        Entry(
            "Figure 5f",
            "Time over the number of basis functions",
            text,
            [
                Claim(
                    "Fewer centres significantly reduce the time.",
                    f"{b} centres take at most half the time of {most}",
                    f"{share:.2f} of the time",
                    bool(share <= 0.5) if b < most else None,
                    "" if b < most else "This size has no run with more centres.",
                    timed=True,
                )
            ],
            shown,
            [
                Table(
                    f"Time relative to {most} basis functions, medians over runs",
                    ["basis functions", *map(str, numbers_of_centers)],
                    [
                        [
                            LSLDG,
                            *(
                                f"{np.median(v) / np.median(time[-1]):.2f}"
                                for v in time
                            ),
                        ]
                    ],
                )
            ],
        ),
    ]
