"""Files are written whole or not at all."""

import io
import os

import pytest

from modeseek.files import beside_file, draining, remove_unfinished, replacing, spooled


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def fail_half_way(path):
    path.write_text("half")
    raise OSError("the disk is full")


def test_a_file_appears_when_it_is_complete(tmp_path):
    place = tmp_path / "rows.csv"
    with replacing(place) as beside:
        beside.write_text("new")
        assert not place.exists()
        assert beside.parent == tmp_path
        assert beside.suffix == ".csv"
    assert place.read_text() == "new"
    assert names(tmp_path) == ["rows.csv"]


def test_a_failure_leaves_what_was_there(tmp_path):
    place = tmp_path / "rows.csv"
    place.write_text("old")
    with pytest.raises(OSError, match="full"), replacing(place) as beside:
        fail_half_way(beside)
    assert place.read_text() == "old"
    assert names(tmp_path) == ["rows.csv"]


def test_what_exists_is_refused_before_and_after(tmp_path):
    place = tmp_path / "rows.csv"
    with pytest.raises(FileExistsError), replacing(place, force=False):
        place.write_text("somebody else's, written meanwhile")
    assert place.read_text().startswith("somebody")
    with pytest.raises(FileExistsError), replacing(place, force=False):
        pytest.fail("nothing is to be done")
    assert names(tmp_path) == ["rows.csv"]


def test_a_folder_cannot_be_written(tmp_path):
    with pytest.raises(IsADirectoryError), replacing(tmp_path):
        pytest.fail("nothing is to be done")
    with pytest.raises(NotADirectoryError), replacing(tmp_path / "no" / "rows.csv"):
        pytest.fail("nothing is to be done")


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
def test_modes_are_kept_and_links_followed(tmp_path):
    place, link = tmp_path / "rows.csv", tmp_path / "link.csv"
    place.write_text("old")
    place.chmod(0o600)
    link.symlink_to(place)
    with replacing(link) as beside:
        beside.write_text("new")
    assert link.is_symlink()
    assert place.read_text() == "new"
    assert place.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs devices")
def test_a_device_is_written_to_and_stays(tmp_path):
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    with replacing(link, force=False) as spool:
        spool.write_text("gone")
    assert link.is_symlink()
    assert not spool.exists()
    assert os.path.exists("/dev/null")
    assert not os.path.isfile("/dev/null")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_device_is_an_error(tmp_path):
    with pytest.raises(OSError, match="No space left"), replacing("/dev/full") as spool:
        spool.write_text("too much")
    assert not spool.exists()


def test_streams_are_spooled_and_drained():
    with spooled(io.BytesIO(b"rows")) as path:
        assert path.read_bytes() == b"rows"
    assert not path.exists()
    stream = io.BytesIO()
    with draining(stream) as path:
        path.write_bytes(b"rows")
        assert stream.getvalue() == b""
    assert stream.getvalue() == b"rows"
    assert not path.exists()


def test_a_failed_work_is_not_drained():
    stream = io.BytesIO()
    with pytest.raises(OSError, match="full"), draining(stream) as path:
        fail_half_way(path)
    assert stream.getvalue() == b""
    assert not path.exists()


def test_what_is_unfinished_can_be_removed(tmp_path):
    with replacing(tmp_path / "rows.csv") as beside:
        beside.write_text("half")
        remove_unfinished()
        assert names(tmp_path) == []
        beside.write_text("whole")
    assert names(tmp_path) == ["rows.csv"]


@pytest.mark.parametrize(
    ("file", "new", "name"),
    [
        ("a/wine.csv", ".clusters.csv", "a/wine.clusters.csv"),
        ("wine.csv.gz", ".html", "wine.html"),
        ("-", ".html", "table.html"),
        ("wine", ".html", "wine.html"),
    ],
)
def test_names_beside(file, new, name):
    assert beside_file(file, new) == name
