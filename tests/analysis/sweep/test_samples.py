"""Samples: distributions as asked for, strata filled once, seeds kept."""

import numpy as np
import pytest
from scipy import stats

import dalembert as da


def test_a_latin_hypercube_fills_every_stratum_once():
    sample = da.latin_hypercube({"a": (2.0, 4.0), "b": stats.norm(1.0, 0.1)}, 50, seed=3)
    for points in ((sample["a"].values - 2.0) / 2.0, stats.norm(1.0, 0.1).cdf(sample["b"].values)):
        assert sorted(np.floor(points * 50).astype(int)) == list(range(50))


def test_monte_carlo_follows_its_distributions():
    sample = da.monte_carlo({"a": (2.0, 4.0), "b": stats.expon(scale=3.0)}, 5000, seed=1)
    assert stats.kstest(sample["a"], stats.uniform(2.0, 2.0).cdf).pvalue > 1e-3
    assert stats.kstest(sample["b"], stats.expon(scale=3.0).cdf).pvalue > 1e-3


@pytest.mark.parametrize("draw", [da.latin_hypercube, da.monte_carlo])
def test_the_seed_is_kept_and_gives_the_sample_again(draw, track, start):
    sample = draw({"a": (0.5, 2.0), "m": stats.lognorm(0.2)}, 6)
    again = draw({"a": (0.5, 2.0), "m": stats.lognorm(0.2)}, 6, seed=sample.attrs["seed"])
    assert sample.identical(again)
    assert not sample.equals(draw({"a": (0.5, 2.0), "m": stats.lognorm(0.2)}, 6))
    runs = track.sweep(sample, 0.5, state=start, outputs=["x"])
    assert runs.attrs["seed"] == sample.attrs["seed"]
    assert "lognorm(0.2)" in runs.attrs["distributions"]
    assert dict(runs.sizes) == {"run": 6}


@pytest.mark.parametrize(
    ("distributions", "count", "words"),
    [
        ({"a": (2.0, 1.0)}, 3, "must be below"),
        ({"a": 3.0}, 3, "distribution of `a` is 3.0"),
        ({"a": (0, 1)}, 0, "0 runs"),
    ],
)
def test_wrong_distributions_are_refused(distributions, count, words):
    with pytest.raises(da.OptionError, match=words):
        da.monte_carlo(distributions, count, seed=0)
