"""Use without end, by many at once, on full disks: nothing grows, nothing is lost.

``make test`` runs a short version of the long use; ``make soak`` two thousand fits.
"""

import ctypes
import gc
import os
import resource
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.cli.commands import BAD_DATA, run
from modeseek.datasets import three_gaussians
from modeseek.persist import save_model
from modeseek.report import write_report

#: Fits of one use, after as many as warm up; and most growth, in bytes.
SHORT, LONG, GROWTH = (8, 16), (200, 2000), 20 << 20

X, _ = three_gaussians().sample(300, random_state=0)
QUICK = ModeClustering(LogDensityGradient(30, bandwidth=1.0, alpha=0.1))

linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")


def make_model(rng):
    estimators = (
        None,
        LogDensityGradient(),
        LogDensityGradient(5, coefficients="separate"),
        KernelDensityGradient(),
    )
    return ModeClustering(
        estimators[rng.integers(len(estimators))],
        ascent=("fixed_point", "quasi_newton")[rng.integers(2)],
        n_jobs=(None, 1, 3)[rng.integers(3)],
        max_iter=100,
    )


def use_once(rng):
    """Fit and predict rows of a random shape, in groups of random places."""
    n, d = int(rng.integers(20, 300)), int(rng.integers(1, 7))
    centers = 4.0 * rng.standard_normal((int(rng.integers(1, 5)), d))
    rows = centers[rng.integers(0, len(centers), n)] + rng.standard_normal((n, d))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="The chosen bandwidth")
        model = make_model(rng).fit(rows)
    assert model.predict(rows[: n // 2]).shape == (n // 2,)


def resident():
    """Bytes of memory that the process holds, without those that it has freed.

    The C library keeps some of these for later, tens of megabytes after many threads.
    """
    gc.collect()
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
    if give_back is not None:
        give_back(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def held():
    """Threads and open files of the process."""
    gc.collect()
    files = [
        os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")
    ]
    files = [name for name in files if not name.startswith("/proc/")]
    return threading.active_count(), len(os.listdir("/proc/self/task")), sorted(files)


@linux
@pytest.mark.parametrize(
    ("warm_up", "uses"), [SHORT, pytest.param(*LONG, marks=pytest.mark.soak)]
)
def test_long_use_holds_no_more_than_short_use(warm_up, uses):
    rng = np.random.default_rng(0)
    for _ in range(warm_up):
        use_once(rng)
    before, memory = held(), resident()
    for _ in range(uses):
        use_once(rng)
    assert held() == before
    assert resident() - memory < GROWTH


def test_eight_threads_agree_with_one():
    model = ModeClustering().fit(X)
    rng = np.random.default_rng(0)
    pieces = [X[rng.integers(0, len(X), 100)] for _ in range(16)]

    def ask(rows):
        return model.predict(rows), model.membership(rows), model.outlier_score(rows)

    before = threadpool_info()
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(ask, pieces))
    for rows, answers in zip(pieces, together, strict=True):
        for actual, expected in zip(answers, ask(rows), strict=True):
            np.testing.assert_array_equal(actual, expected)
    assert threadpool_info() == before  # BLAS has its threads back


def test_eight_threads_may_fit_at_once():
    tables = [three_gaussians().sample(120, random_state=k)[0] for k in range(8)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda rows: ModeClustering().fit(rows), tables))
    for rows, model in zip(tables, together, strict=True):
        alone = ModeClustering().fit(rows)
        np.testing.assert_array_equal(model.labels_, alone.labels_)
        np.testing.assert_array_equal(model.modes_, alone.modes_)


# --- disks -------------------------------------------------------------------------


@contextmanager
def tiny_files():
    """No file may grow beyond a few bytes, as on a disk that is full.

    Only for what is tested: what pytest prints may go to a file too.
    """
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture
def read_only_folder(tmp_path_factory):
    """A folder in which an ordinary user can write nothing."""
    folder = tmp_path_factory.mktemp("closed")
    for parent in folder.parents:
        if not parent.name.startswith(("pytest-", "popen-")):
            break
        parent.chmod(0o755)
    (folder / "rows.csv").write_text(csv_text())
    folder.chmod(0o555)
    root = os.geteuid() == 0  # to whom nothing is forbidden
    if root:
        # What is imported late may lie where an ordinary user reads nothing.
        for write in WRITERS.values():
            write(tmp_path_factory.mktemp("open") / "new.file")
        out = tmp_path_factory.mktemp("open") / "out.csv"
        run(["cluster", str(folder / "rows.csv"), "-o", str(out)])
        os.seteuid(65534)
    yield folder
    if root:
        os.seteuid(0)
    folder.chmod(0o755)


def csv_text():
    return "u,v\n" + "\n".join(f"{u},{v}" for u, v in X.tolist()) + "\n"


WRITERS = {
    "a model": lambda place: save_model(place, QUICK.fit(X)),
    "a page": lambda place: write_report(place, QUICK.fit(X), X),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("old", [None, "old"])
def test_a_full_disk_is_an_error_that_names_the_file(tmp_path, name, old):
    place = tmp_path / "new.file"
    if old is not None:
        place.write_text(old)
    too_large = pytest.raises(OSError, match=r"File too large.*new\.file")
    with too_large, tiny_files():
        WRITERS[name](place)
    left = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert left == ({} if old is None else {"new.file": old})


@pytest.mark.parametrize("name", WRITERS)
def test_a_read_only_folder_is_an_error_that_names_the_file(read_only_folder, name):
    with pytest.raises(OSError, match=r"Permission denied.*new\.file"):
        WRITERS[name](read_only_folder / "new.file")


COMMANDS = {
    "CSV": ["cluster", "rows.csv", "-o", "out.csv"],
    "Parquet": ["cluster", "rows.csv", "-o", "out.parquet"],
    "Feather": ["cluster", "rows.csv", "-o", "out.feather"],
    "NPY": ["cluster", "rows.csv", "-o", "out.npy"],
    "a model": ["cluster", "rows.csv", "-o", os.devnull, "-m", "out.skops"],
    "a page": ["report", "rows.csv", "-o", "out.html"],
    "a picture": ["segment", "picture.png", "-o", "out.png"],
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    from skimage.io import imsave

    noise = np.random.default_rng(0).integers(0, 255, (40, 50, 3), dtype=np.uint8)
    imsave(tmp_path / "picture.png", noise, check_contrast=False)
    (tmp_path / "rows.csv").write_text(csv_text())
    monkeypatch.chdir(tmp_path)
    return {"picture.png", "rows.csv"}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_on_a_full_disk_ends_in_a_line(files, capsys, name):
    with tiny_files():
        code = run(COMMANDS[name])
    assert code == BAD_DATA
    err = capsys.readouterr().err.splitlines()
    assert err[-1].startswith("modeseek: "), err
    assert "File too large" in err[-1], err
    assert "out." in err[-1], err
    assert {path.name for path in Path().iterdir()} == files


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_device_ends_in_a_line(files, capsys):
    assert run(["cluster", "rows.csv", "-o", "/dev/full"]) == BAD_DATA
    assert capsys.readouterr().err.splitlines()[-1].endswith("No space left on device")


def test_a_command_in_a_read_only_folder_ends_in_a_line(read_only_folder, capsys):
    place = read_only_folder / "out.csv"
    assert run(["cluster", str(read_only_folder / "rows.csv"), "-o", str(place)])
    line = capsys.readouterr().err.splitlines()[-1]
    assert line == f"modeseek: {place}: Permission denied"
