"""Moving images: as long as the motion, with everything where it is at each time; what cannot be is refused."""

import shutil
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.animation import FFMpegWriter
from mechanisms import bouncing
from PIL import Image

import dalembert as da
from dalembert import problems

BLUE = (0x2F, 0x6D, 0xB3)  # the first track


def sliding(t_end):
    """A particle that moves along x at 0.5 m/s, above a rail of 2 m."""
    model = da.Model("sliding")
    (x,) = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0.3])
    model.line([[0, 0], [2, 0]], name="rail")
    system = model.compile()
    return system.simulate(system.initial({"x": 0.0, "x'": 0.5}), t_end)


def frames(path):
    """Pictures (n, height, width, 3) and the time that each is shown, in seconds."""
    with Image.open(path) as film:
        shown, waits = [], []
        for k in range(film.n_frames):
            film.seek(k)
            shown.append(np.asarray(film.convert("RGB"), dtype=int))
            waits.append(film.info["duration"] / 1000)
    return shown, waits


def disc(picture):
    """The right edge and middle row of what has the colour of the first track: its disc, as trails are paler."""
    rows, columns = np.nonzero(np.abs(picture - BLUE).max(axis=2) < 24)
    return columns.max(), rows.mean()


def test_a_gif_shows_the_motion_in_its_time(tmp_path):
    shown, waits = frames(sliding(4.0).animate(tmp_path / "x.gif"))
    assert len(shown) == 100
    assert sum(waits) == pytest.approx(4.0)
    assert shown[0].shape == (480, 640, 3)
    right = np.array([disc(picture)[0] for picture in shown])
    steady = right[0] + (right[-1] - right[0]) * np.arange(100) / 99
    assert np.abs(right - steady).max() <= 2.0  # pixels: uniform motion; two edges are rounded to whole ones
    assert right[-1] - right[0] > 300


@pytest.mark.parametrize("kind", ["spatial", "sequence", "fast"])
def test_other_motions_become_gifs(kind, tmp_path):
    """A body in space, a motion with events, and one of 0.03 s, which is shown slowly."""
    if kind == "sequence":
        motion = bouncing()
    else:
        name, t_end = ("asymmetric_top", 3.0) if kind == "spatial" else ("andrews", 0.03)
        motion = problems.get(name).simulate(t_end=t_end)
    shown, waits = frames(motion.animate(tmp_path / "x.GIF"))
    assert len(shown) >= 50
    assert sum(waits) >= 2.0
    assert any((a != b).any() for a, b in pairwise(shown))


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg on this machine to write MP4 with")
def test_an_mp4_is_one(tmp_path):
    assert sliding(4.0).animate(tmp_path / "x.mp4").read_bytes()[4:8] == b"ftyp"


def test_what_cannot_be_written_is_refused(tmp_path, monkeypatch):
    motion = sliding(1.0)
    monkeypatch.setattr(FFMpegWriter, "isAvailable", lambda: False)
    with pytest.raises(da.OptionError, match=r"x\.mp4 needs the program ffmpeg.*write motion\.animate\('x\.gif'\)"):
        motion.animate(tmp_path / "x.mp4")
    with pytest.raises(da.OptionError, match="HTML pages or moving images"):
        motion.animate(tmp_path / "x.avi")
    with pytest.raises(da.FileError, match="cannot be written"):
        motion.animate(tmp_path / "missing" / "x.gif")
    model = da.Model("unseen")
    (x,) = model.coordinates("x")
    model.energy(kinetic=x.diff() ** 2 / 2)
    unseen = model.compile()
    with pytest.raises(da.DalembertError, match="nothing to draw"):
        unseen.simulate(unseen.initial({"x": 0.0, "x'": 1.0}), 1.0).animate(tmp_path / "x.gif")
    assert not list(tmp_path.iterdir())
