"""Ctrl-C and forks in the midst of a fit: nothing stays held, nothing half fitted."""

import inspect
import os
import subprocess
import sys
import threading
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_info, threadpool_limits

from modeseek import KernelDensityGradient, LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians
from modeseek.rows.blocks import map_blocks, one_blas_thread, one_openmp_thread

X, _ = three_gaussians().sample(80, random_state=0)

FIXED = LogDensityGradient(20, bandwidth=1.0, alpha=0.1)

#: Fits that take every way: graph, directions, field, blurring, learned widths.
MODELS = {
    "default": ModeClustering(n_jobs=2),
    "field": ModeClustering(LogDensityGradient(20), n_jobs=2),
    "blurring": ModeClustering(FIXED, ascent="blurring", max_iter=3, n_jobs=2),
    "gradient": LogDensityGradient(5, bandwidth="learned", cv=2, n_jobs=2),
    "kernel": KernelDensityGradient(n_jobs=2),
}


class Interrupter:
    """Raises KeyboardInterrupt where a function begins or one of C ended, or counts.

    That is where Python looks for signals.
    """

    def __init__(self, moment=None):
        self.moment, self.count = moment, 0

    def __call__(self, frame, event, arg):
        name, code = frame.f_globals.get("__name__", ""), frame.f_code
        # What a profiler raises as generators go on passes by their finally; what is
        # raised where Python closes one it only prints.
        resumed = event == "call" and code.co_flags & inspect.CO_GENERATOR
        if (
            event not in ("call", "c_return")
            or not name.startswith(("modeseek.", "threadpoolctl"))
            or resumed
            or code.co_name == "<genexpr>"
        ):
            return
        self.count += 1
        if self.count == self.moment:
            raise KeyboardInterrupt

    def run(self, function):
        sys.setprofile(self)
        try:
            return function()
        finally:
            sys.setprofile(None)


def interrupt(function, moment):
    """Whether an interrupt at that moment got through."""
    try:
        Interrupter(moment).run(function)
    except KeyboardInterrupt:
        return True
    return False


def held():
    return threadpool_info(), threading.active_count()


def state_of(model):
    return {name: id(value) for name, value in vars(model).items()}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_moments", [12, pytest.param(50, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", MODELS)
def test_an_interrupted_fit_leaves_everything_as_it_was(name, n_moments):
    model = MODELS[name]
    with threadpool_limits(2, user_api="blas"):
        model.fit(X)  # what is made once is made
        counter = Interrupter()
        counter.run(lambda: model.fit(X))
        fresh = clone(model)
        rng = np.random.default_rng(0)
        before, fitted, empty = held(), state_of(model), state_of(fresh)
        for k, moment in enumerate(rng.integers(1, counter.count, n_moments)):
            one = fresh if k % 2 else model
            assert interrupt(partial(one.fit, X[::-1]), moment)
            assert held() == before
            assert state_of(model) == fitted
            assert state_of(fresh) == empty
    ask = "predict" if isinstance(model, ModeClustering) else "gradient"
    getattr(model, ask)(X)
    with pytest.raises(NotFittedError):
        getattr(fresh, ask)(X)


def test_an_interrupted_partial_fit_has_added_nothing():
    model = clone(FIXED).fit(X)
    counter = Interrupter()
    counter.run(lambda: model.partial_fit(X))
    state = state_of(model)
    for moment in np.random.default_rng(0).integers(1, counter.count, 25):
        assert interrupt(lambda: model.partial_fit(X), moment)
        assert state_of(model) == state


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    model = ModeClustering(FIXED).fit(X)
    labels = model.labels_
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((20, 3), np.nan))
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.predict(X), labels)


@pytest.mark.parametrize("hold", [one_blas_thread, one_openmp_thread])
def test_limits_come_back_whatever_moment_a_hold_is_interrupted_at(hold):
    def use():
        with hold():
            pass

    use()  # libraries are looked for once
    with threadpool_limits(2):
        before, moment = threadpool_info(), 1
        while interrupt(use, moment):
            moment += 1
            assert threadpool_info() == before
        assert moment > 5


def test_blocks_left_behind_hold_nothing_when_the_fit_has_ended():
    with threadpool_limits(2, user_api="blas"):
        before, left = threadpool_info(), []
        with one_blas_thread():
            left.append(map_blocks(lambda rows: rows, 100, size=1))
            next(left[0])
        assert threadpool_info() == before


FORKS = """
import os, sys, threading, time, warnings
import numpy as np
from threadpoolctl import threadpool_info
from modeseek import LogDensityGradient, ModeClustering
from modeseek.datasets import three_gaussians

warnings.simplefilter("ignore")  # of forks, by Python 3.12
X, _ = three_gaussians().sample(100, random_state=0)
tables = [X, np.random.default_rng(0).normal(size=(1500, 20))]
expected = ModeClustering().fit(X).labels_
limits = [pool["num_threads"] for pool in threadpool_info()]

def fit_for_ever(rows):
    while True:
        ModeClustering(n_jobs=2).fit(rows)

for rows in tables:
    threading.Thread(target=fit_for_ever, args=(rows,), daemon=True).start()
rng = np.random.default_rng(0)
for _ in range(int(sys.argv[1])):
    time.sleep(rng.uniform(0.0, 0.1))
    child = os.fork()
    if not child:
        if [pool["num_threads"] for pool in threadpool_info()] != limits:
            os._exit(3)
        labels = ModeClustering().fit(X).labels_
        os._exit(0 if np.array_equal(labels, expected) else 4)
    for _ in range(1200):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.1)
    else:
        os.kill(child, 9)
        print("a child stands still", flush=True)
        os._exit(1)
    if status:
        print("a child ended with", os.waitstatus_to_exitcode(status), flush=True)
        os._exit(1)
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("n_forks", [5, pytest.param(20, marks=pytest.mark.soak)])
def test_processes_forked_during_fits_can_fit(n_forks):
    command = [sys.executable, "-c", FORKS, str(n_forks)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=2700)
    assert ended.returncode == 0, ended.stdout + ended.stderr
