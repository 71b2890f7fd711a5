"""Broken files of every kind: no traceback, no hang, no partial output.

Every case follows from its number alone. ``make test`` runs two hundred of them and
``make soak`` (the marker ``soak``) more than ten thousand.
"""

import io
import json
import signal
import struct
import zipfile
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from modeseek import LogDensityGradient, ModeClustering
from modeseek.cli.commands import BAD_DATA, USAGE, run
from modeseek.cli.cytometry import write_fcs
from modeseek.persist import save_model

#: Seconds after which a case hangs.
PATIENCE = 60

#: Cases of one test, and tests of the quick and of the long run.
CASES, QUICK_RUNS, LONG_RUNS = 100, 2, 110

NAMES = ["u", "v", "w"]
ROWS = np.random.default_rng(0).standard_normal((24, 3)).round(3)
ROWS[12:] += 4

TOKENS = (
    b",",
    b'"',
    b"\n",
    b"\r",
    b"\x00",
    b"\xff\xfe",
    b"nan",
    b"inf",
    b"-1e308",
    b"1e999",
    b"4e-324",
    b";",
    b"\t",
    b"\xef\xbb\xbf",
    b"u",
    b"cluster",
    b"../",
    b"9" * 400,
    b"\x1b[2J",
)
NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40)


def make_samples(folder):
    """A good file of every kind."""
    columns = dict(zip(NAMES, ROWS.T, strict=True))
    table = pa.table({**columns, "name": [f"row {i}" for i in range(len(ROWS))]})
    text = "\n".join([",".join(NAMES), *(",".join(map(str, r)) for r in ROWS)])
    (folder / "rows.csv").write_text(text + "\n")
    pa.parquet.write_table(table, folder / "rows.parquet")
    pa.feather.write_feather(table, folder / "rows.feather")
    np.save(folder / "rows.npy", ROWS)
    lines = [json.dumps(dict(zip(NAMES, row, strict=True))) for row in ROWS.tolist()]
    (folder / "rows.jsonl").write_text("\n".join(lines))
    if find_spec("openpyxl") is not None:
        import openpyxl

        book = openpyxl.Workbook()
        for row in [NAMES, *ROWS.tolist()]:
            book.active.append(row)
        book.save(folder / "rows.xlsx")
    spill = {"spillover": "2,d1,d3,1,0.1,0.2,1"}
    write_fcs(folder / "rows.fcs", 100 * ROWS, ["d1", "d2", "d3"], NAMES, spill)
    quick = ModeClustering(LogDensityGradient(bandwidth=1.0, alpha=0.1)).fit(ROWS)
    save_model(folder / "model.skops", quick, columns=NAMES)
    save_model(folder / "plain.skops", quick)
    if find_spec("modeseek.image") is not None and find_spec("skimage") is not None:
        from skimage.io import imsave

        picture = np.random.default_rng(0).integers(0, 255, (9, 11, 3), dtype=np.uint8)
        imsave(folder / "picture.png", picture, check_contrast=False)
    return sorted(path for path in folder.iterdir())


def mutate(content, rng):
    """Break a file in one place or a few."""
    data = bytearray(content)
    for _ in range(int(rng.geometric(0.5))):
        at = int(rng.integers(0, len(data) + 1))
        until = min(len(data), at + int(rng.geometric(0.1)))
        match rng.integers(0, 8):
            case 0:  # a bit
                if at < len(data):
                    data[at] ^= 1 << int(rng.integers(0, 8))
            case 1:  # noise
                data[at:until] = rng.bytes(until - at)
            case 2:  # a loss
                del data[at:until]
            case 3:  # an echo
                data[at:at] = data[at:until] * int(rng.integers(1, 4))
            case 4:  # a token
                data[at:at] = TOKENS[rng.integers(len(TOKENS))]
            case 5:  # a number where a length may be
                number = int(NUMBERS[rng.integers(len(NUMBERS))])
                data[at : at + 8] = struct.pack("<Q", number)[: int(rng.integers(1, 9))]
            case 6:  # an end
                if rng.random() < 0.3:
                    del data[at:]
            case 7:  # a swap
                piece = data[at:until]
                del data[at:until]
                where = int(rng.integers(0, len(data) + 1))
                data[where:where] = piece
    return bytes(data)


def mutate_archive(content, rng):
    """Break one member of an archive and pack it again, its checksum right."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(made, "w") as new,
    ):
        names = old.namelist()
        weights = np.array([20 if name.endswith("json") else 1 for name in names])
        chosen = rng.choice(len(names), p=weights / weights.sum())
        for i, name in enumerate(names):
            member = old.read(name)
            new.writestr(name, mutate(member, rng) if i == chosen else member)
    return made.getvalue()


def model_for(sample):
    """The model whose features are called like the columns of a sample."""
    return sample.with_name(f"{'plain' if sample.suffix == '.npy' else 'model'}.skops")


def arguments_for(sample, broken, rng):
    """A command that reads the broken file."""
    kind, model = sample.suffix, model_for(sample)
    level = ["--n-clusters", "2"] if rng.random() < 0.2 else []
    if kind == ".skops":
        good = str(model.with_name("rows.csv"))
        out = str(broken.with_name("out.csv"))
        commands = [["predict", str(broken), good, "-o", out], ["tree", str(broken)]]
        return commands[rng.integers(2)]
    if kind == ".png":
        return [["segment", "smooth"][rng.integers(2)], str(broken)]
    if rng.random() < 0.6:
        return ["predict", str(model), str(broken), *drop(rng)]
    saved = ["-m", str(broken.with_name("out.skops"))] if rng.random() < 0.2 else []
    return ["cluster", str(broken), "--raw", *drop(rng), *level, *saved]


def drop(rng):
    return ["--drop-missing"] if rng.random() < 0.5 else []


def out_of_time(number, frame):
    raise TimeoutError(f"a case took more than {PATIENCE} s")


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return make_samples(tmp_path_factory.mktemp("samples"))


def run_case(number, samples, folder, capsys):
    """Run one case and check what it leaves; return its exit code."""
    rng = np.random.default_rng(number)
    sample = samples[number % len(samples)]
    content = sample.read_bytes()
    archive = sample.suffix in (".skops", ".xlsx") and rng.random() < 0.7
    broken = folder / f"broken{sample.suffix}"
    broken.write_bytes((mutate_archive if archive else mutate)(content, rng))
    arguments = arguments_for(sample, broken, rng)
    where = f"case {number}: {arguments}"
    if hasattr(signal, "SIGALRM"):
        signal.signal(signal.SIGALRM, out_of_time)
        signal.alarm(PATIENCE)
    try:
        code = run(arguments)
    finally:
        if hasattr(signal, "SIGALRM"):
            signal.alarm(0)
    out, err = capsys.readouterr()
    left = {path.name for path in folder.iterdir()} - {broken.name}
    assert code in (0, BAD_DATA, USAGE), f"{where} gave {code}: {err}"
    assert "Traceback" not in out + err, where
    said = [line for line in err.splitlines() if line.startswith("modeseek: ")]
    if code:
        assert not left, f"{where} left {left}"
        assert said, where
        assert len(err.splitlines()) == len(said), f"{where} said {err}"
    assert not any(name.startswith(".") for name in left), f"{where} left {left}"
    for path in folder.iterdir():
        path.unlink()
    return code


def run_cases(first, samples, folder, capsys):
    codes = [run_case(n, samples, folder, capsys) for n in range(first, first + CASES)]
    # Neither all refused nor all accepted: the cases test something.
    assert 0 in codes
    assert BAD_DATA in codes


@pytest.mark.parametrize("block", range(QUICK_RUNS))
def test_broken_files_are_refused_in_a_line(block, samples, tmp_path, capsys):
    run_cases(block * CASES, samples, tmp_path, capsys)


@pytest.mark.soak
@pytest.mark.parametrize("block", range(QUICK_RUNS, LONG_RUNS))
def test_many_broken_files_are_refused_in_a_line(block, samples, tmp_path, capsys):
    run_cases(block * CASES, samples, tmp_path, capsys)


def test_the_samples_are_good(samples, tmp_path, capsys):
    for sample in samples:
        if sample.suffix not in (".skops", ".png"):
            out = tmp_path / f"out{sample.suffix}"
            assert run(["cluster", str(sample), "--raw", "-o", str(out)]) == 0
            model = model_for(sample)
            assert run(["predict", str(model), str(sample), "--force"]) == 0
    assert run(["tree", str(model_for(samples[0]))]) == 0
    assert "cluster" in capsys.readouterr().out


def test_mutations_follow_from_their_number():
    one, two = (mutate(b"some bytes" * 9, np.random.default_rng(5)) for _ in "ab")
    assert one == two != b"some bytes" * 9
