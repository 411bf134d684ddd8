"""The animation file: self-contained, holding exactly the data given, refusing what cannot be drawn."""

import dataclasses
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from dalembert.errors import ArrayError, OptionError
from dalembert.view.animation import Polyline, Scene, Trace, Track, write_animation

NT = 7
T = np.linspace(0.0, 1.2, NT)


class Page(HTMLParser):
    """Elements with their attributes, and the text of each script."""

    def __init__(self, source):
        super().__init__()
        self.elements, self.scripts, self._inside = [], [], False
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = tag == "script"
        if self._inside:
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._inside = self._inside and tag != "script"

    def handle_data(self, data):
        if self._inside:
            self.scripts[-1] += data


def a_scene(**changes):
    rng = np.random.default_rng(3)
    positions = rng.normal(size=(NT, 3)) * 1e3
    rotations = np.tile(np.eye(3), (NT, 1, 1))
    scene = Scene(
        title="Linkage",
        t=T,
        planar=True,
        tracks=(Track("P", "point", positions), Track("B", "body", positions, rotations)),
        lines=(Polyline("rod", rng.normal(size=(NT, 2, 3))), Polyline("rail", np.ones((NT, 12, 3)))),
        traces=(Trace("drift", rng.normal(size=NT) * 1e-12),),
        caption="certificate: ok",
    )
    return dataclasses.replace(scene, **changes)


def written(tmp_path, scene):
    source = write_animation(tmp_path / "out.html", scene).read_text(encoding="utf-8")
    return source, json.loads(Page(source).scripts[0])


def test_the_written_path_comes_back(tmp_path):
    target = tmp_path / "out.html"
    assert write_animation(str(target), a_scene()) == target
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_file_refers_to_nothing_outside_itself(tmp_path):
    source, _ = written(tmp_path, a_scene())
    page = Page(source)
    assert not [attrs for _, attrs in page.elements if {"src", "href", "srcset", "data"} & attrs.keys()]
    assert not {"link", "iframe", "img", "object", "embed", "base"} & {tag for tag, _ in page.elements}
    assert not re.search(r"https?://|url\(|@import|\bimport\b|fetch\(|XMLHttpRequest", source)


def test_the_data_are_those_of_the_scene_to_rounding(tmp_path):
    scene = a_scene()
    _, data = written(tmp_path, scene)
    assert (data["title"], data["caption"], data["planar"]) == ("Linkage", "certificate: ok", True)
    np.testing.assert_allclose(data["t"], T, rtol=1e-11)
    assert [(track["name"], track["kind"]) for track in data["tracks"]] == [("P", "point"), ("B", "body")]
    np.testing.assert_allclose(data["tracks"][0]["positions"], scene.tracks[0].positions, rtol=1e-6)
    assert data["tracks"][0]["rotations"] is None
    np.testing.assert_allclose(data["tracks"][1]["rotations"], scene.tracks[1].rotations, atol=1e-6)
    np.testing.assert_allclose(data["lines"][0]["points"], scene.lines[0].points, rtol=1e-6)
    np.testing.assert_allclose(data["traces"][0]["values"], scene.traces[0].values, rtol=1e-6)


def test_a_line_that_never_moves_is_stored_once(tmp_path):
    _, data = written(tmp_path, a_scene())
    assert [(line["fixed"], np.shape(line["points"])) for line in data["lines"]] == [
        (False, (NT, 2, 3)),
        (True, (1, 12, 3)),
    ]


@pytest.mark.parametrize(
    "hostile", ["</script><script>alert(1)</script>", "<!-- @SCENE@ @TITLE@", "a & b \u2028 'c' \"d\""]
)
def test_hostile_text_is_only_text(tmp_path, hostile):
    scene = a_scene(title=hostile, caption=hostile, traces=(Trace(hostile, np.zeros(NT)),))
    source, data = written(tmp_path, scene)
    assert (data["title"], data["caption"], data["traces"][0]["name"]) == (hostile, hostile, hostile)
    assert len(Page(source).scripts) == 2
    assert source.count("</script>") == 2


def test_a_trace_that_is_not_finite_leaves_a_gap(tmp_path):
    values = np.array([0.0, np.nan, 2.0, np.inf, -np.inf, 5.0, -0.0])
    _, data = written(tmp_path, a_scene(traces=(Trace("gaps", values),)))
    assert data["traces"][0]["values"] == [0.0, None, 2.0, None, None, 5.0, 0.0]


def with_nan(shape):
    array = np.zeros(shape)
    array[(2, *([0] * (len(shape) - 1)))] = np.nan
    return array


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tracks": (Track("P", "point", np.zeros((NT, 2))),)}, r"positions of track `P`.*\(7, 2\).*\(7, 3\)"),
        ({"tracks": (Track("P", "point", np.zeros((NT - 1, 3))),)}, r"positions of track `P`.*\(6, 3\)"),
        ({"tracks": (Track("B", "body", np.zeros((NT, 3)), np.zeros((NT, 3))),)}, r"rotations of track `B`"),
        ({"lines": (Polyline("rod", np.zeros((NT, 3))),)}, r"points of line `rod`.*\(7, k, 3\)"),
        ({"lines": (Polyline("rod", np.zeros((NT, 1, 3))),)}, r"line `rod` has 1 points"),
        ({"traces": (Trace("drift", np.zeros(NT + 1)),)}, r"values of trace `drift`.*\(8,\).*\(7\)"),
        ({"tracks": (Track("P", "point", with_nan((NT, 3))),)}, r"track `P` hold 1 values.*sample 2"),
        ({"lines": (Polyline("rod", with_nan((NT, 2, 3))),)}, r"line `rod`.*not finite"),
        ({"tracks": (Track("P", "point", [["a"] * 3] * NT),)}, r"track `P` are not an array of real numbers"),
        ({"t": with_nan((NT,))}, r"times `t`.*not finite"),
        ({"t": np.zeros(NT)}, r"times `t`.*do not increase after sample 0"),
        ({"t": np.zeros(0)}, r"times `t`.*empty"),
        ({"t": np.zeros((NT, 1))}, r"times `t`.*shape"),
    ],
)
def test_arrays_that_do_not_fit_are_named(tmp_path, changes, message):
    with pytest.raises(ArrayError, match=message):
        write_animation(tmp_path / "out.html", a_scene(**changes))
    assert not (tmp_path / "out.html").exists()


def test_kinds_that_cannot_be_drawn_are_refused(tmp_path):
    with pytest.raises(OptionError, match=r"track `P`.*cloud.*point, body"):
        write_animation(tmp_path / "out.html", a_scene(tracks=(Track("P", "cloud", np.zeros((NT, 3))),)))
    turning = Track("P", "point", np.zeros((NT, 3)), np.tile(np.eye(3), (NT, 1, 1)))
    with pytest.raises(OptionError, match=r"track `P` is a point but has rotations"):
        write_animation(tmp_path / "out.html", a_scene(tracks=(turning,)))


def test_a_scene_may_be_empty_or_a_single_moment(tmp_path):
    _, data = written(tmp_path, Scene("nothing yet", np.array([2.5]), planar=False))
    assert data["t"] == [2.5]
    assert data["tracks"] == data["lines"] == data["traces"] == []
