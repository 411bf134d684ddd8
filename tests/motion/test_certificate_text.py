"""What a certificate tells of many findings: the worst of each level, and whether the others held."""

import numpy as np

from dalembert.motion.certificate import MOST, WORST, Certificate, Finding, worst_of_each


def certificate(findings):
    return Certificate("many", success=True, message="done", method="", stats={}, findings=tuple(findings))


def rows(count, bad=()):
    return [Finding("position", f"rod{k}", 1.0 if k in bad else 1e-13 * k, 0.5, 1e-9) for k in range(count)]


def test_a_few_findings_are_all_told_in_their_order():
    text = str(certificate(rows(MOST)))
    assert [line.split()[1] for line in text.splitlines()[2 : 2 + MOST]] == [f"rod{k}" for k in range(MOST)]


def test_of_many_the_worst_are_told_and_the_others_counted():
    one = certificate(rows(5000, bad=(17,)))
    text = str(one)
    assert text.splitlines()[2].split()[1:3] == ["rod17", "1.0e+00"]
    assert "<-- not held" in text.splitlines()[2]
    assert f"and {5000 - WORST:,} more, all held; these are the worst" in text
    assert len(text.splitlines()) < 30
    assert "rod17" in one._repr_html_()


def test_what_was_not_held_is_counted_where_it_is_not_told():
    assert f"{100 - WORST:,} of them not held" in str(certificate(rows(5000, bad=range(100))))


def test_what_is_not_a_number_is_the_worst():
    findings = rows(MOST + 1)
    findings[40] = Finding("position", "rod40", np.nan, 0.5, 1e-9)
    assert str(certificate(findings)).splitlines()[2].split()[1] == "rod40"


def test_the_worst_of_each_column_does_not_depend_on_blocks():
    values = np.random.default_rng(3).normal(size=(50, 7))
    values[20, 2] = np.nan
    t, judged = np.linspace(0.0, 1.0, 50), np.arange(50) != 31
    names, sizes = [f"c{k}" for k in range(9)], np.arange(1.0, 10.0)
    whole, parts = (
        worst_of_each("velocity", names, t, values, judged, 1e-9 * sizes, sizes, blocks)
        for blocks in ([slice(0, 50)], [slice(k, k + 6) for k in range(0, 50, 6)])
    )
    assert str(whole) == str(parts)
    assert np.isnan(whole[2].worst)
    assert whole[2].t == t[20]
    for k in (0, 1, 3, 4, 5, 6):
        left = np.where(judged, np.abs(values[:, k]), 0.0)
        assert (whole[k].worst, whole[k].t) == (left.max(), t[left.argmax()])
        assert (whole[k].size, whole[k].allowed) == (sizes[k], 1e-9 * sizes[k])
