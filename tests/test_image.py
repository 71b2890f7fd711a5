"""Pictures: truth is drawn, found by brute force, or that of scikit-image."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage
from skimage import data

from modeseek import image
from modeseek.field.ascent import climb, fixed_point
from modeseek.field.fields import PotentialField, potential
from modeseek.field.modes import cell_means
from modeseek.image.inputs import find_pieces
from modeseek.image.pixel_landscape import PENALTIES, Pixels, climb_pixels
from modeseek.image.pixels import (
    block_size,
    draw_grid_centers,
    find_nearest_blocks,
    find_rounding_step,
    positions,
    reduce_blocks,
    spread_ties,
    strip_rows,
)
from modeseek.image.regions import (
    Borders,
    build_region_tree,
    find_borders,
    join_small,
)
from modeseek.image.rough_climb import climb_roughly
from modeseek.rows.coordinates import Frame
from modeseek.tree.pairs import follow_to_end

BOX = slice(8, 24), slice(10, 30)


def drawn(dtype=np.uint8, noise=4, shape=(32, 48)):
    """A red box on blue, with noise; and its labels."""
    rng = np.random.default_rng(0)
    picture = np.full((*shape, 3), [40.0, 60.0, 160.0])
    picture[BOX] = 200.0, 60.0, 50.0
    picture += rng.normal(0.0, noise, picture.shape)
    truth = np.zeros(shape, dtype=int)
    truth[BOX] = 1
    picture = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
    if dtype == np.uint16:
        return picture.astype(np.uint16) * 257, truth
    if np.dtype(dtype).kind == "f":
        return (picture / 255.0).astype(dtype), truth
    return picture, truth


@pytest.fixture(scope="module")
def astronaut():
    picture = data.astronaut()[::6, ::6]
    return picture, image.fit(picture)


# What comes out


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_a_drawn_box_is_found_in_every_data_type(dtype):
    picture, truth = drawn(dtype)
    np.testing.assert_array_equal(image.segment(picture), truth)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float64])
def test_smooth_keeps_shape_and_type_and_takes_the_noise_away(dtype):
    picture, truth = drawn(dtype)
    smoothed = image.smooth(picture, prominence=1.0)
    assert smoothed.shape == picture.shape
    assert smoothed.dtype == picture.dtype
    for label in (0, 1):
        inside = picture[truth == label].astype(float)
        flat = smoothed[truth == label].astype(float)
        assert (flat.std(axis=0) < 0.2 * inside.std(axis=0)).all()
        np.testing.assert_allclose(
            np.median(flat, axis=0), inside.mean(axis=0), rtol=0.1
        )


def test_smooth_gives_a_pixel_the_colour_of_its_mode(astronaut):
    _, model = astronaut
    np.testing.assert_array_equal(model.smooth(), model.mode_colors[model.modes])
    assert model.modes.max() == len(model.mode_colors) - 1


def test_smooth_keeps_the_edge_where_a_blur_does_not():
    picture, _ = drawn()
    jump = np.abs(np.diff(image.smooth(picture).astype(float), axis=1))[16, 9, 0]
    blurred = ndimage.gaussian_filter(picture.astype(float), (2, 2, 0))
    assert jump > 140
    assert np.abs(np.diff(blurred, axis=1))[16, 9, 0] < 60


def test_channel_axis_only_moves_the_channels():
    picture, _ = drawn()
    first = np.moveaxis(picture, -1, 0)
    np.testing.assert_array_equal(
        image.segment(first, channel_axis=0), image.segment(picture)
    )
    np.testing.assert_array_equal(
        image.smooth(first, channel_axis=0), np.moveaxis(image.smooth(picture), -1, 0)
    )


def test_grey_pictures():
    picture, truth = drawn()
    grey = picture[..., 0]
    np.testing.assert_array_equal(image.segment(grey, channel_axis=None), truth)
    smoothed = image.smooth(grey, channel_axis=None)
    assert smoothed.shape == grey.shape
    assert smoothed.dtype == grey.dtype


def test_many_channels():
    picture, truth = drawn()
    many = np.concatenate([picture, picture[..., ::-1], picture[..., :1]], axis=-1)
    np.testing.assert_array_equal(image.segment(many), truth)
    assert image.smooth(many).shape == many.shape


@pytest.mark.parametrize("channel_axis", [None, -1])
def test_volumes(channel_axis):
    rng = np.random.default_rng(0)
    truth = np.zeros((12, 14, 16), dtype=int)
    truth[3:9, 4:11, 5:12] = 1
    volume = 1000.0 * truth + rng.normal(0.0, 30.0, truth.shape)
    if channel_axis is not None:
        volume = np.stack([volume, -volume], axis=-1)
    labels = image.segment(volume, channel_axis=channel_axis)
    np.testing.assert_array_equal(labels, truth)
    assert image.smooth(volume, channel_axis=channel_axis).shape == volume.shape


def test_a_large_volume_is_reduced():
    truth = np.zeros((30, 36, 40), dtype=int)
    truth[10:20, 10:22, 12:28] = 1
    rng = np.random.default_rng(0)
    volume = np.rint(100 * truth + rng.normal(50.0, 4.0, truth.shape)).astype(np.uint8)
    model = image.fit(volume, channel_axis=None, max_pixels=2000)
    assert model.block_side == 3
    assert (model.segment() == truth).mean() > 0.99


@pytest.mark.parametrize("max_pixels", [None, 400])
def test_boolean_pictures(max_pixels):
    truth = drawn()[1]
    picture = truth.astype(bool)
    options = {"channel_axis": None, "max_pixels": max_pixels}
    np.testing.assert_array_equal(image.segment(picture, **options), truth)
    smoothed = image.smooth(picture, **options)
    assert smoothed.dtype == bool
    np.testing.assert_array_equal(smoothed, picture)


def test_the_largest_integers_do_not_overflow():
    truth = drawn()[1]
    picture = np.iinfo(np.uint64).max * (truth == 1).astype(np.uint64)
    smoothed = image.smooth(picture, channel_axis=None, prominence=1.0)
    np.testing.assert_array_equal(smoothed > 2**63, truth == 1)


def test_eight_bits_as_floats_are_the_same_picture():
    picture = data.astronaut()[::8, ::8]
    np.testing.assert_array_equal(
        image.segment(picture), image.segment(picture / 255.0)
    )


def test_labels_count_from_the_largest_segment(astronaut):
    sizes = np.bincount(astronaut[1].segment().ravel())
    assert (np.diff(sizes) <= 0).all()
    assert (sizes > 0).all()


def test_segments_are_connected_and_not_small(astronaut):
    labels = astronaut[1].segment(min_size=30)
    for label in range(labels.max() + 1):
        assert ndimage.label(labels == label)[1] == 1
        assert (labels == label).sum() >= 30


def test_the_papers_setting_gives_the_basins(astronaut):
    _, model = astronaut
    labels = model.segment(prominence=0.0, contrast=0.0, min_size=0)
    pairs = np.unique(np.stack([labels.ravel(), model.modes.ravel()]), axis=1)
    assert pairs.shape[1] == labels.max() + 1 == len(model.mode_colors)


def test_higher_levels_only_join_segments(astronaut):
    _, model = astronaut
    fine, coarse = (model.segment(contrast=level) for level in (0.2, 0.6))
    assert fine.max() > coarse.max()
    pairs = np.unique(np.stack([fine.ravel(), coarse.ravel()]), axis=1)
    assert pairs.shape[1] == fine.max() + 1


@pytest.mark.parametrize("n_segments", [1, 2, 5])
def test_a_number_of_segments_is_met(astronaut, n_segments):
    assert astronaut[1].segment(n_segments=n_segments).max() + 1 == n_segments


def test_segment_and_smooth_are_cuts_of_the_model(astronaut):
    picture, model = astronaut
    np.testing.assert_array_equal(
        image.segment(picture, contrast=0.3), model.segment(contrast=0.3)
    )
    np.testing.assert_array_equal(image.smooth(picture), model.smooth())


def test_the_result_depends_neither_on_threads_nor_on_the_run():
    picture = data.astronaut()[::5, ::5]
    one, two = (image.fit(picture, n_jobs=n, max_pixels=4000) for n in (1, 2))
    np.testing.assert_array_equal(one.modes, two.modes)
    np.testing.assert_array_equal(one.segment(), two.segment())


def test_the_picture_is_not_changed():
    picture, _ = drawn()
    before = picture.copy()
    image.fit(picture).segment()
    image.smooth(picture)
    np.testing.assert_array_equal(picture, before)


def test_a_reduced_picture_keeps_the_borders_of_the_whole():
    picture, truth = drawn(shape=(64, 80), noise=3)
    model = image.fit(picture, max_pixels=400)
    assert model.block_side == 4
    np.testing.assert_array_equal(model.segment(), truth)


def test_more_contrast_between_the_same_shapes_changes_nothing():
    rng = np.random.default_rng(1)
    _, truth = drawn()
    grey = truth + rng.normal(0.0, 0.05, truth.shape)
    one = image.segment(grey, channel_axis=None)
    np.testing.assert_array_equal(one, image.segment(1e6 * grey, channel_axis=None))


# What goes wrong


@pytest.mark.parametrize(
    ("picture", "options", "message"),
    [
        (np.empty((0, 4, 3)), {}, "empty"),
        (np.zeros((4, 4, 4), np.uint8), {}, "alpha"),
        (np.zeros((4, 4)), {}, "channel_axis=None"),
        (np.zeros(4), {"channel_axis": None}, "two or three dimensions"),
        (np.zeros((4, 4, 3)), {"channel_axis": 5}, "channel_axis is 5"),
        (np.full((4, 4, 3), np.nan), {}, "48 values that are NaN"),
        (np.full((4, 4, 3), np.inf), {}, "infinite"),
        (np.full((4, 4, 3), 2.0), {}, "between 0 and 1"),
        (np.zeros((4, 4, 5)), {"convert2lab": True}, "three channels"),
        (np.zeros((4, 4, 3), np.int64), {}, "uint8"),
        (np.zeros((4, 4, 3)), {"max_pixels": 3}, "max_pixels"),
        (np.zeros((4, 4, 3)), {"n_jobs": 0}, "n_jobs"),
    ],
)
@pytest.mark.parametrize("call", [image.segment, image.smooth, image.fit])
def test_bad_pictures_are_refused(call, picture, options, message):
    with pytest.raises(ValueError, match=message):
        call(picture, **options)


@pytest.mark.parametrize("picture", ["no_image.png", b"x", np.array([["a", "b"]])])
def test_what_is_no_picture_is_refused(picture):
    with pytest.raises(TypeError, match=r"must be an array|must hold numbers"):
        image.segment(picture)


def test_an_option_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="sigma"):
        image.segment(drawn()[0], sigma=1.0)


def test_a_path_is_told_how_to_be_read(tmp_path):
    with pytest.raises(TypeError, match="imread"):
        image.smooth(tmp_path / "nothing.txt")


@pytest.mark.parametrize(
    "options",
    [
        {"prominence": -1.0},
        {"contrast": -0.1},
        {"n_segments": 0},
        {"min_size": -1},
    ],
)
def test_bad_levels_are_refused(astronaut, options):
    with pytest.raises(ValueError, match="at least"):
        astronaut[1].segment(**options)


def test_four_bands_are_welcome_when_said_so():
    picture, truth = drawn()
    bands = np.concatenate([picture, picture[..., :1]], axis=-1)
    np.testing.assert_array_equal(image.segment(bands, convert2lab=False), truth)


@pytest.mark.parametrize("shape", [(1, 1, 3), (7, 5, 3), (200, 150, 3)])
@pytest.mark.parametrize("value", [0, 17, 255])
def test_a_constant_picture_is_one_segment_and_its_own_smoothing(shape, value):
    picture = np.full(shape, value, dtype=np.uint8)
    model = image.fit(picture)
    np.testing.assert_array_equal(model.segment(), np.zeros(shape[:2]))
    np.testing.assert_array_equal(model.smooth(), picture)


@pytest.mark.parametrize("shape", [(1, 2), (2, 2), (1, 9), (3, 4), (6, 6), (1, 200)])
def test_tiny_pictures_of_two_colours(shape):
    picture = np.zeros((*shape, 3), dtype=np.uint8)
    picture[:, shape[1] // 2 :] = 250, 240, 20
    labels = image.segment(picture, min_size=0)
    assert labels.shape == shape
    np.testing.assert_array_equal(labels != labels[0, 0], picture[..., 0] == 250)
    assert image.smooth(picture).dtype == picture.dtype


# Progress


def test_progress_goes_to_a_callable():
    seen = []
    image.fit(drawn()[0], progress=lambda stage, share: seen.append((stage, share)))
    assert {"choosing widths", "climbing", "merging", "done"} <= {s for s, _ in seen}
    assert all(0.0 <= share <= 1.0 for _, share in seen)
    assert seen[-1] == ("done", 1.0)


def test_progress_is_quiet_off_a_terminal_and_shown_when_asked(capsys):
    image.fit(drawn()[0])
    assert capsys.readouterr() == ("", "")
    image.fit(drawn()[0], progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "climbing 100 %" in err
    assert err.endswith("\n")


# Pixels


def test_blocks_are_means():
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 256, (7, 10, 2), dtype=np.uint8)
    means = reduce_blocks(picture, 3)
    assert means.shape == (3, 4, 2)
    for i in range(3):
        for j in range(4):
            block = picture[3 * i : 3 * i + 3, 3 * j : 3 * j + 3]
            np.testing.assert_allclose(means[i, j], block.mean(axis=(0, 1)))
    np.testing.assert_array_equal(reduce_blocks(picture, 1), picture)


@pytest.mark.parametrize(
    ("space", "most", "side"),
    [((81, 121), 10_000, 1), ((321, 481), 10_000, 4), ((50, 50), None, 1)],
)
def test_block_sides(space, most, side):
    assert block_size(space, most) == side


def test_rounding_steps_are_found():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 256, (5000, 2))
    assert find_rounding_step(levels.astype(np.uint8)) == 1.0
    assert find_rounding_step(levels / 255.0) == pytest.approx(1 / 255)
    assert find_rounding_step(levels.astype(np.uint16) * 257) == 257.0
    assert find_rounding_step(rng.normal(size=(5000, 2))) == 0.0
    two = np.repeat([0.0, 100.0], 50)[:, None]
    assert find_rounding_step(two) == pytest.approx(100 / 255)


def test_spread_values_round_to_what_they_were_and_have_no_ties():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 256, (100, 100)).astype(float)
    spread = spread_ties(levels, 1.0, 0.0, 255.0, rng)
    np.testing.assert_array_equal(np.rint(spread), levels)
    assert len(np.unique(spread)) == spread.size
    assert spread.min() >= 0.0
    assert spread.max() <= 255.0


@pytest.mark.parametrize("space", [(81, 121), (121, 81), (20, 30, 10), (1, 2), (5, 1)])
def test_centers_lie_one_in_a_cell(space):
    centers = draw_grid_centers(space, np.random.default_rng(0))
    assert len(np.unique(centers)) == len(centers)
    assert centers.max() < np.prod(space)
    assert len(centers) <= max(1, np.prod(space))


def test_the_papers_picture_gets_the_papers_number_of_centers():
    assert len(draw_grid_centers((81, 121), np.random.default_rng(0))) == 11 * 16


def test_pixels_go_with_the_nearest_blocks_around():
    rng = np.random.default_rng(0)
    side, grid, space = 3, (4, 5), (11, 14)
    blocks, pixels = rng.normal(size=(*grid, 3)), rng.normal(size=(*space, 3))
    found = find_nearest_blocks(lambda strip: pixels[strip], blocks, space, side, 2)
    nearest = np.concatenate(list(found))
    for i, j in np.ndindex(space):
        around = [
            (a, b)
            for a, b in np.ndindex(grid)
            if abs(a - i // side) <= 1 and abs(b - j // side) <= 1
        ]
        gaps = [((blocks[at] - pixels[i, j]) ** 2).sum() for at in around]
        a, b = around[int(np.argmin(gaps))]
        assert nearest[i, j] == a * grid[1] + b


def test_strips_hold_whole_blocks():
    assert strip_rows((4000, 3000), 35) % 35 == 0
    assert strip_rows((10, 10**7), 7) == 7


def test_positions_are_middles():
    whole = positions(slice(0, 3), (3, 2), 4.0)
    np.testing.assert_array_equal(whole[:2], [[2.0, 2.0], [2.0, 6.0]])
    np.testing.assert_array_equal(positions(slice(1, 3), (3, 2), 4.0), whole[2:])


# Modes


def test_walking_finds_the_best_of_its_neighbours():
    rng = np.random.default_rng(0)
    picture = data.astronaut()[::8, ::8].astype(float)
    colors = picture.reshape(-1, 3) + rng.uniform(-0.5, 0.5, (64 * 64, 3))
    place = positions(slice(0, 64), (64, 64), 1.0)
    Z = np.column_stack([(p - p.mean(axis=0)) / p.std() for p in (colors, place)])
    pixels = Pixels(Frame(np.zeros(5), np.ones(5)), Z, 3, (64, 64))
    found = climb_pixels(pixels, rng, 1, lambda stage, share: None)
    landscape, scores = found.landscape, found.scores
    i, _ = scores.best()
    np.testing.assert_array_equal(landscape.field.widths, scores.widths[i])
    assert len(np.unique(scores.widths[:, :3])) > 1
    assert (scores.widths[:, :3] == scores.widths[:, :1]).all()
    assert (scores.widths[:, 3:] == scores.widths[:, 3:4]).all()
    assert scores.loss.shape == (len(scores.widths), len(PENALTIES))
    heights = potential(landscape.field, landscape.peaks)
    assert (np.diff(heights) <= 0).all()
    np.testing.assert_allclose(heights, landscape.tree.heights)
    assert (heights[found.mode] >= potential(landscape.field, Z) - 1e-9).all()


def test_cells_gather_points():
    points = np.array([[0.1, 0.1], [0.2, 0.3], [1.5, 0.2]])
    means, cell = cell_means(points, np.array([2.0, 2.0]), 0.5)
    np.testing.assert_allclose(means[cell], [[0.15, 0.2], [0.15, 0.2], [1.5, 0.2]])


# Numbered cells, too many of them, and numbered ones of many features.
@pytest.mark.parametrize(("spread", "d"), [(10.0, 4), (1e16, 4), (2.0, 80)])
def test_cells_are_those_of_rows_sorted_one_by_one(spread, d):
    points = spread * np.random.default_rng(0).normal(size=(300, d)).round(1)
    points[:, 4:70] = 0.0
    widths = np.append([1.0, 2.0, np.inf, 0.5], np.ones(d - 4))
    means, cell = cell_means(points, widths, 5.0)
    corners = [tuple(np.floor(point / widths / 5.0)) for point in points]
    order = sorted(set(corners))
    np.testing.assert_array_equal(cell, [order.index(corner) for corner in corners])
    for number in range(len(order)):
        np.testing.assert_allclose(means[number], points[cell == number].mean(axis=0))


def rough_field():
    """Bells in rows of colour and place, some upside down; and rows among them."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(40, 3)) * [3.0, 3.0, 8.0]
    theta = rng.uniform(-0.3, 1.0, 40)
    field = PotentialField(centers, np.array([1.0, 1.0, 3.0]), theta, np.zeros(3))
    rows = centers[theta > 0].repeat(30, axis=0)
    return field, rows + rng.normal(size=rows.shape) * field.widths


def test_pixels_that_climb_roughly_end_where_they_climb_alone():
    field, Z = rough_field()
    shares = []
    ends, end = climb_roughly(field, Z, 1, shares.append)
    assert shares[-1] == 1.0
    assert len(ends) < 0.2 * len(Z)
    exact = climb(field, Z, fixed_point(), tol=1e-8, max_iter=20_000).points
    away = np.linalg.norm((ends[end] - exact) / field.widths, axis=1)
    assert (away < 0.1).mean() > 0.95
    assert (potential(field, ends[end]) > potential(field, Z) - 1e-3).mean() > 0.99


def test_pixels_beyond_every_gaussian_do_not_climb():
    field, _ = rough_field()
    far = np.full((1, 3), 200.0)
    ends, end = climb_roughly(field, far, 1, lambda share: None)
    np.testing.assert_allclose(ends[end], far, rtol=1e-5)


# Regions


def test_borders_are_those_of_a_double_loop():
    rng = np.random.default_rng(0)
    pieces = rng.integers(0, 4, (6, 7, 3))
    value = rng.normal(size=pieces.size)

    def jump(p, q):
        return np.abs(value[p] - value[q])

    expected = {}
    number = np.arange(pieces.size).reshape(pieces.shape)
    for at in np.ndindex(pieces.shape):
        for axis in range(3):
            to = tuple(at[k] + (k == axis) for k in range(3))
            if to[axis] == pieces.shape[axis] or pieces[at] == pieces[to]:
                continue
            key = tuple(sorted((int(pieces[at]), int(pieces[to]))))
            length, total = expected.get(key, (0, 0.0))
            step = jump(number[at], number[to])
            expected[key] = length + 1, total + step
    borders = find_borders(pieces, jump)
    found = {(a, b): (n, t) for a, b, n, t in zip(*borders, strict=True)}
    assert found.keys() == expected.keys()
    for key, pair in expected.items():
        assert found[key] == pytest.approx(pair)


def chain(*totals):
    """Borders of length 1 between regions in a row."""
    n = len(totals)
    return Borders(
        np.arange(n), np.arange(1, n + 1), np.ones(n), np.array(totals, dtype=float)
    )


def test_small_regions_join_the_nearest_colour():
    size = np.array([50.0, 3.0, 50.0])
    color = np.array([[0.0], [9.0], [10.0]])
    into = join_small(size, color, chain(0, 0), 10)
    np.testing.assert_array_equal(into, [0, 2, 2])


def test_small_regions_join_as_in_arrays_of_all_regions():
    rng = np.random.default_rng(0)
    pieces = ndimage.label(rng.integers(0, 2, (30, 30)))[0]
    pieces = find_pieces(pieces)
    size = np.bincount(pieces.ravel()).astype(float)
    color = rng.normal(size=(len(size), 3))
    into = join_small(size, color, find_borders(pieces), 12)
    # The same without a queue: the smallest that is left, and all of its neighbours.
    labels, sums, sizes = pieces.copy(), color * size[:, None], size.copy()
    while True:
        left = np.unique(labels)
        i = min(left, key=lambda k: (sizes[k], k))
        if sizes[i] >= 12 or len(left) == 1:
            break
        beside = np.unique(labels[ndimage.binary_dilation(labels == i)])
        beside = beside[beside != i]
        gaps = sums[beside] / sizes[beside, None] - sums[i] / sizes[i]
        j = beside[np.argmin((gaps**2).sum(axis=1))]
        labels[labels == i] = j
        sums[j] += sums[i]
        sizes[j] += sizes[i]
    np.testing.assert_array_equal(into[pieces], labels)


def test_small_regions_grow_together_until_they_are_large_enough():
    size = np.array([3.0, 3.0, 3.0, 50.0])
    color = np.array([[0.0], [1.0], [2.0], [100.0]])
    np.testing.assert_array_equal(
        len(np.unique(join_small(size, color, chain(0, 0, 0), 8))), 2
    )
    assert len(np.unique(join_small(size, color, chain(0, 0, 0), 20))) == 1


def test_the_weakest_border_falls_first():
    tree = build_region_tree(np.full(4, 25.0), chain(3.0, 1.0, 2.0))
    assert [len(np.unique(tree.cut(n_segments=k))) for k in (1, 2, 3, 4)] == [
        1,
        2,
        3,
        4,
    ]
    first = tree.cut(n_segments=3)
    assert first[1] == first[2]
    assert tree.contrast[0] == pytest.approx(0.25**0.25)
    assert (np.diff(tree.contrast) >= 0).all()
    np.testing.assert_array_equal(tree.cut(contrast=0.0), np.arange(4))
    assert len(np.unique(tree.cut(contrast=np.inf))) == 1


def test_joined_borders_add():
    # 0 and 1 join first; their borders to 2 then hold (1 + 1) pairs and a total of 6.
    borders = Borders(
        np.array([0, 0, 1]),
        np.array([1, 2, 2]),
        np.ones(3),
        np.array([0.1, 2.0, 4.0]),
    )
    tree = build_region_tree(np.array([40.0, 40.0, 20.0]), borders)
    assert tree.contrast[1] == pytest.approx(3.0 * 0.2**0.25)


def test_following_reaches_the_last():
    np.testing.assert_array_equal(follow_to_end(np.array([1, 2, 2, 0])), [2, 2, 2, 2])


# Around it


def test_without_scikit_image_the_error_names_the_extra():
    code = "import sys; sys.modules['skimage'] = None; import modeseek.image"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert "pip install 'modeseek[image]'" in run.stderr


GUIDE = Path(__file__).resolve().parent.parent / "docs" / "images.md"


@pytest.mark.parametrize(
    "block",
    re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), flags=re.DOTALL),
)
def test_every_python_block_of_the_guide_runs(block):
    exec(compile(block, "images.md", "exec"), {})
