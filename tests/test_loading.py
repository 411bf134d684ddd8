import gc
import subprocess
import sys

import pytest

from dalembert.loading import collection_paused, load


@pytest.fixture(autouse=True)
def _collector():
    """Whatever a test leaves, the collector is on for the others."""
    yield
    gc.unfreeze()
    gc.enable()


def test_the_collector_rests_inside_and_works_again_afterwards():
    with collection_paused():
        assert not gc.isenabled()
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_works_again_after_an_error(tmp_path, monkeypatch):
    (tmp_path / "faulty_module.py").write_text("import gc\nfound = gc.isenabled()\nraise RuntimeError(found)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(RuntimeError, match="False"):
        load("faulty_module")
    assert "faulty_module" not in sys.modules
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    with collection_paused():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_what_was_frozen_stays_frozen_and_nothing_else_is():
    with collection_paused():
        pass
    assert gc.get_freeze_count() == 0
    gc.freeze()
    with collection_paused():
        pass
    assert gc.get_freeze_count() > 0


@pytest.mark.parametrize("module", ["sympy.multipledispatch.core", "numpy._core.multiarray", "casadi.casadi"])
def test_after_ctrl_c_during_an_import_everything_can_be_imported(module):
    script = f"""
import signal, sys
class Hook:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Hook())
def mass():
    import dalembert as da
    model = da.Model("p")
    x, = model.coordinates("x")
    model.particle("P", mass=1.0, position=[x, 0])
    return model.compile().nq
try:
    mass()
except KeyboardInterrupt:
    print("stopped", mass())
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert found.stdout == "stopped 1\n", found.stderr
