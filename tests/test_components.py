"""Principal components, less noise: what they are, and that the frame keeps rows."""

import numpy as np
import pytest

from modeseek.rows.components import principal_components, shrink_components
from modeseek.rows.coordinates import Frame


def rows(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d))


@pytest.mark.parametrize(("n", "d"), [(200, 5), (7, 30), (5, 5)])
def test_components_are_those_of_the_singular_values(n, d):
    Z = rows(n, d)
    deviation, axes = principal_components(Z)
    _, s, V = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
    q = len(deviation)
    assert q == min(n - 1, d)
    np.testing.assert_allclose(deviation, s[:q] / np.sqrt(n), rtol=1e-6)
    np.testing.assert_allclose(np.abs((axes * V[:q]).sum(axis=1)), 1.0, rtol=1e-6)
    np.testing.assert_allclose(axes @ axes.T, np.eye(q), atol=1e-6)
    assert (axes[np.arange(q), np.abs(axes).argmax(axis=1)] > 0).all()


def test_constant_features_have_no_component():
    Z = np.column_stack([rows(50, 3), np.zeros(50)])
    deviation, axes = principal_components(Z)
    assert len(deviation) == 3
    assert not axes[:, 3].any()


def test_what_is_left_of_a_component_is_its_variance_above_the_noise():
    X = rows(500, 8)
    frame = Frame(X.mean(axis=0), X.std(axis=0))
    values = np.linalg.eigvalsh(np.corrcoef(X.T))[::-1]
    shrunk = shrink_components(frame, X)
    above = values - np.median(values)
    np.testing.assert_allclose(
        shrunk.enter(X).var(axis=0), above[: len(shrunk.components)], rtol=1e-6
    )
    assert len(shrunk.components) == (above > 1e-5).sum()


def test_few_features_are_taken_as_they_are():
    X = rows(100, 3)
    frame = Frame(X.mean(axis=0), X.std(axis=0))
    assert shrink_components(frame, X) is frame


@pytest.mark.parametrize("d", [4, 20, 100])
def test_features_that_are_not_correlated_are_taken_as_they_are(d):
    for seed in range(5):
        X = np.random.default_rng(seed).normal(size=(1000, d))
        frame = Frame(X.mean(axis=0), X.std(axis=0))
        assert shrink_components(frame, X) is frame
        X[:, 1] += X[:, 0]
        frame = Frame(X.mean(axis=0), X.std(axis=0))
        assert shrink_components(frame, X) is not frame


def test_equal_eigenvalues_leave_the_features_as_they_are():
    X = np.concatenate([np.eye(4), -np.eye(4)])
    frame = Frame(np.zeros(4), np.ones(4))
    assert shrink_components(frame, X) is frame


def test_units_of_the_features_do_not_matter():
    X, units = rows(300, 6), np.array([1.0, 1e3, 1e-3, 7.0, 0.1, 1e6])
    one = shrink_components(Frame(X.mean(axis=0), X.std(axis=0)), X)
    Y = X * units
    two = shrink_components(Frame(Y.mean(axis=0), Y.std(axis=0)), Y)
    np.testing.assert_allclose(one.enter(X), two.enter(Y), rtol=1e-6, atol=1e-9)


def test_rows_in_the_span_of_the_components_come_back():
    X = rows(300, 6)
    frame = shrink_components(Frame(X.mean(axis=0), X.std(axis=0)), X)
    Z = frame.enter(X)
    np.testing.assert_allclose(frame.enter(frame.leave(Z)), Z, atol=1e-8)


def test_a_frame_after_a_frame_is_one_frame():
    X = rows(300, 6)
    outer = shrink_components(Frame(X.mean(axis=0), X.std(axis=0)), X)
    Y = outer.enter(X)
    for inner in (
        Frame(np.median(Y, axis=0), 0.25),
        Frame(np.median(Y, axis=0), 1.0 + np.arange(Y.shape[1])),
    ):
        both = outer.then(inner)
        np.testing.assert_allclose(both.enter(X), inner.enter(Y), atol=1e-8)
        np.testing.assert_allclose(
            both.leave(inner.enter(Y)), outer.leave(Y), atol=1e-7
        )


def test_steps_of_features_are_as_long_as_they_are_in_the_frame():
    X = rows(300, 6)
    frame = shrink_components(Frame(X.mean(axis=0), X.std(axis=0)), X)
    steps = np.array([0.1, 0.0, 2.0, 0.3, 0.0, 1.0])
    moved = frame.enter(X[:1] + np.diag(steps)) - frame.enter(X[:1])
    np.testing.assert_allclose(
        frame.steps(steps), np.linalg.norm(moved, axis=1), atol=1e-12
    )
