"""What a certificate tells of many findings: the worst of each level, and whether the others held."""

import functools

import numpy as np
import pytest

from dalembert.motion.certificate import MOST_FINDINGS, WORST_FINDINGS, Certificate, Finding
from dalembert.motion.tally import EnergyTally, Worst

BLOCKS = [slice(k, min(k + 6, 50)) for k in range(0, 50, 6)]


def certificate(findings):
    return Certificate("many", success=True, message="done", method="", stats={}, findings=tuple(findings))


def rows(count, bad=()):
    return [Finding("position", f"rod{k}", 1.0 if k in bad else 1e-13 * k, 0.5, 1e-9) for k in range(count)]


def test_a_few_findings_are_all_told_in_their_order():
    text = str(certificate(rows(MOST_FINDINGS)))
    assert [line.split()[1] for line in text.splitlines()[2 : 2 + MOST_FINDINGS]] == [
        f"rod{k}" for k in range(MOST_FINDINGS)
    ]


def test_of_many_the_worst_are_told_and_the_others_counted():
    one = certificate(rows(5000, bad=(17,)))
    text = str(one)
    assert text.splitlines()[2].split()[1:3] == ["rod17", "1.0e+00"]
    assert "<-- not held" in text.splitlines()[2]
    assert f"and {5000 - WORST_FINDINGS:,} more, all held; these are the worst" in text
    assert len(text.splitlines()) < 30
    assert "rod17" in one._repr_html_()


def test_what_was_not_held_is_counted_where_it_is_not_told():
    assert f"{100 - WORST_FINDINGS:,} of them not held" in str(certificate(rows(5000, bad=range(100))))


def test_what_is_not_a_number_is_the_worst():
    findings = rows(MOST_FINDINGS + 1)
    findings[40] = Finding("position", "rod40", np.nan, 0.5, 1e-9)
    assert str(certificate(findings)).splitlines()[2].split()[1] == "rod40"


def test_the_worst_of_each_column_does_not_depend_on_blocks():
    values = np.random.default_rng(3).normal(size=(50, 7))
    values[20, 2] = np.nan
    values[[30, 40], 4] = 9.0  # the first of equal ones counts
    t = np.linspace(0.0, 1.0, 50)
    whole, *parts = (Worst.of(t[rows], values[rows]) for rows in [slice(0, 50), *BLOCKS])
    joined = functools.reduce(Worst.joined, parts)
    np.testing.assert_array_equal(whole, joined)
    assert np.isnan(whole.values[2])
    assert whole.t[2] == t[20]
    for k in (0, 1, 3, 4, 5, 6):
        assert (whole.values[k], whole.t[k]) == (np.abs(values[:, k]).max(), t[np.abs(values[:, k]).argmax()])


@pytest.mark.parametrize("broken", [None, 0, 13, 49])
def test_energies_do_not_depend_on_blocks(broken):
    t, parts = np.linspace(0.0, 1.0, 50), np.random.default_rng(4).normal(size=(3, 50))
    if broken is not None:
        parts[0, broken] = np.nan
    whole, *some = (EnergyTally.of(t[rows], *parts[:, rows]) for rows in [slice(0, 50), *BLOCKS])
    joined = functools.reduce(EnergyTally.joined, some)
    assert str(joined) == str(whole)  # as NaN is not equal to itself
    off = np.abs(parts[0] + parts[1] - parts[2] - joined.first[0])
    np.testing.assert_allclose(joined.met(None).off, off.max(), rtol=1e-15)
    assert joined.met(None).t == (t[np.argmax(off)] if broken is None else t[broken] if broken else t[0])
