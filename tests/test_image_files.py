"""Pictures in files: what is read, what is written, and the commands on them."""

import io
from importlib.util import find_spec

import numpy as np
import pytest

Image = pytest.importorskip("PIL.Image")

from modeseek.cli.commands import BAD_DATA, USAGE, run  # noqa: E402
from modeseek.errors import DataError  # noqa: E402
from modeseek.image.image_files import (  # noqa: E402
    StoredImage,
    draw_borders,
    mean_colors,
    number_pixels,
    read_image,
    write_image,
    write_segments,
)

needs_image = pytest.mark.skipif(
    find_spec("modeseek.image") is None, reason="modeseek.image is not there yet"
)

RNG = np.random.default_rng(0)
COLORS = RNG.integers(0, 256, (12, 17, 3), dtype=np.uint8)
SEGMENTS = np.repeat([0, 1, 2], [5, 4, 3])[:, None] * np.ones(17, dtype=np.intp)


def read(path):
    return read_image(path, path.name)


@pytest.mark.parametrize("suffix", ["png", "tif", "bmp", "webp", "gif", "jpg"])
def test_colours_are_read_as_they_were_written(tmp_path, suffix):
    path = tmp_path / f"picture.{suffix}"
    write_image(path, path.name, StoredImage(COLORS), COLORS)
    pixels = read(path).pixels
    assert pixels.shape == COLORS.shape
    assert pixels.dtype == np.uint8
    if suffix in ("png", "tif", "bmp"):
        np.testing.assert_array_equal(pixels, COLORS)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_grey_pictures_keep_their_depth(tmp_path, dtype):
    grey = RNG.integers(0, np.iinfo(dtype).max, (9, 8), dtype=dtype)
    write_image(tmp_path / "grey.png", "grey.png", StoredImage(grey), grey)
    back = read(tmp_path / "grey.png")
    np.testing.assert_array_equal(back.pixels, grey)
    assert back.pixels.dtype == dtype
    assert back.channel_axis is None


def test_opacity_and_profile_go_along(tmp_path):
    alpha = RNG.integers(0, 256, (12, 17), dtype=np.uint8)
    source = StoredImage(COLORS, alpha, b"a colour profile")
    write_image(tmp_path / "picture.png", "picture.png", source, COLORS)
    back = read(tmp_path / "picture.png")
    np.testing.assert_array_equal(back.pixels, COLORS)
    np.testing.assert_array_equal(back.alpha, alpha)
    assert back.profile == b"a colour profile"
    assert back.channel_axis == -1
    with pytest.raises(DataError, match="no opacity; write PNG"):
        write_image(tmp_path / "picture.jpg", "picture.jpg", source, COLORS)


def test_palettes_and_bilevel_pictures_are_colours_and_greys(tmp_path):
    Image.fromarray(COLORS).quantize(16).save(tmp_path / "palette.png")
    assert read(tmp_path / "palette.png").pixels.shape == (12, 17, 3)
    Image.fromarray(COLORS).convert("1").save(tmp_path / "bits.png")
    assert set(np.unique(read(tmp_path / "bits.png").pixels)) == {0, 255}


def test_a_camera_held_sideways_is_turned(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90 degrees
    Image.fromarray(COLORS).save(tmp_path / "turned.png", exif=exif)
    np.testing.assert_array_equal(
        read(tmp_path / "turned.png").pixels, np.rot90(COLORS, -1)
    )


def test_the_first_of_several_pictures_is_taken(tmp_path):
    frames = [Image.fromarray(COLORS), Image.fromarray(255 - COLORS)]
    frames[0].save(tmp_path / "many.tif", save_all=True, append_images=frames[1:])
    back = read(tmp_path / "many.tif")
    assert back.n_frames == 2
    np.testing.assert_array_equal(back.pixels, COLORS)


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n", b"no picture" * 50])
def test_what_is_no_picture_is_refused(tmp_path, content):
    path = tmp_path / "picture.png"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"picture\.png: "):
        read(path)


def test_an_unknown_ending_cannot_be_written(tmp_path):
    with pytest.raises(DataError, match="cannot be written"):
        write_image(tmp_path / "picture.what", "it", StoredImage(COLORS), COLORS)


def test_mean_colours_are_means():
    means = mean_colors(StoredImage(COLORS), SEGMENTS)
    for k in range(3):
        np.testing.assert_allclose(means[k], COLORS[k == SEGMENTS].mean(axis=0))


def test_borders_are_where_segments_meet():
    drawn = draw_borders(COLORS, SEGMENTS)
    changed = (drawn != COLORS).any(axis=2)
    assert set(np.flatnonzero(changed.any(axis=1))) == {4, 8}
    assert (
        draw_borders(COLORS[:, :, 0].astype(np.uint16), SEGMENTS).shape == COLORS.shape
    )


def test_segments_are_drawn_in_three_ways(tmp_path):
    source = StoredImage(COLORS)
    for draw in ("means", "borders", "labels"):
        path = tmp_path / f"{draw}.png"
        write_segments(path, path.name, source, SEGMENTS, draw)
    means = read(tmp_path / "means.png").pixels
    assert len(np.unique(means.reshape(-1, 3), axis=0)) == 3
    np.testing.assert_array_equal(read(tmp_path / "labels.png").pixels, SEGMENTS)
    write_segments(tmp_path / "labels.npy", "labels.npy", source, SEGMENTS, "means")
    np.testing.assert_array_equal(np.load(tmp_path / "labels.npy"), SEGMENTS)
    with pytest.raises(DataError, match="more segments than an image can number"):
        number_pixels("labels.png", np.array([[0, 70_000]]))


@pytest.fixture
def photo(tmp_path):
    """A red square on blue, with some noise."""
    pixels = np.zeros((40, 50, 3), dtype=np.uint8)
    pixels[...] = 20, 40, 160
    pixels[10:30, 15:35] = 200, 50, 50
    noise = RNG.integers(0, 12, pixels.shape, dtype=np.uint8)
    Image.fromarray(pixels + noise).save(tmp_path / "photo.png")
    return tmp_path / "photo.png"


@needs_image
def test_segment_finds_the_square(photo, tmp_path, capsys):
    labels = tmp_path / "labels.npy"
    assert run(["segment", str(photo), "-o", str(labels), "-q"]) == 0
    expected = np.zeros((40, 50), dtype=int)
    expected[10:30, 15:35] = 1
    np.testing.assert_array_equal(np.load(labels), expected)
    assert capsys.readouterr() == ("", "")
    assert run(["segment", str(photo)]) == 0
    out, err = capsys.readouterr()
    lines = [line.split()[:3] for line in out.splitlines()[1:]]
    assert lines == [["0", "1,600", "80.0%"], ["1", "400", "20.0%"]]
    assert err == f"modeseek: wrote {tmp_path / 'photo.segments.png'}\n"
    assert run(["segment", str(photo), "--n-segments", "1", "--force"]) == 0
    painted = read(tmp_path / "photo.segments.png").pixels
    assert len(np.unique(painted.reshape(-1, 3), axis=0)) == 1


@needs_image
@pytest.mark.parametrize("prominence", [None, 0.3])
def test_smooth_writes_what_the_library_says(photo, tmp_path, prominence):
    from modeseek.image import smooth

    level = [] if prominence is None else ["--prominence", str(prominence)]
    assert run(["smooth", str(photo), "-q", *level, "--seed", "3"]) == 0
    expected = smooth(read(photo).pixels, prominence=prominence or 0.0, random_state=3)
    after = read(tmp_path / "photo.smooth.png").pixels
    np.testing.assert_array_equal(after, expected)


@needs_image
def test_pictures_come_and_go_through_pipes(photo, monkeypatch, capsysbinary):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(photo.read_bytes())))
    assert run(["smooth", "-", "-q"]) == 0
    out = capsysbinary.readouterr().out
    assert Image.open(io.BytesIO(out)).size == (50, 40)


@needs_image
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["smooth", "{photo}", "-o", "{photo}"], USAGE, "exists already"),
        (["smooth", "{photo}", "--prominence", "nan"], USAGE, "--prominence"),
        (["segment", "{photo}", "--contrast", "inf"], USAGE, "a finite number"),
        (["smooth", "{photo}", "--jobs", "0"], USAGE, "--jobs"),
        (["smooth", "{photo}", "--max-pixels", "5"], USAGE, "--max-pixels"),
        (["smooth", "{photo}.jpg"], BAD_DATA, "No such file"),
        (["segment", "{photo}", "-o", "{photo}.what"], BAD_DATA, "cannot be written"),
    ],
)
def test_errors_are_one_line(photo, capsys, arguments, code, message):
    before = sorted(photo.parent.iterdir())
    assert run([a.format(photo=photo) for a in arguments]) == code
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert sorted(photo.parent.iterdir()) == before
