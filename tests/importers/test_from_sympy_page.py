"""The code of docs/from_sympy.md runs as it stands and does what the page says."""

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).resolve().parents[2] / "docs" / "from_sympy.md"


def test_code_of_the_page():
    names = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    motion = names["motion"]
    assert motion.certificate.ok
    # The disc rolls without loss: energy about the contact point, with the weight's work counted in.
    lean, (u1, u2, u3) = motion["q2"], (motion[name] for name in ("u1", "u2", "u3"))
    energy = 0.5 * 2.0 * 0.25 * (1.25 * u1**2 + 1.5 * u2**2 + 0.25 * u3**2) + 2.0 * 9.81 * 0.5 * np.cos(lean)
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
    pushed = names["model"].compile()
    rates = pushed.initial({"q2": 0.1, "u2": 1.0}, t0=0.5).udot - names["system"].initial({"q2": 0.1, "u2": 1.0}).udot
    # The push works on the disc by u2 through its radius: 3 m r^2 / 2 u2' = r F.
    np.testing.assert_allclose(rates[1] * 1.5 * 2.0 * 0.5, 3 * np.sin(0.5) - 1.0, rtol=1e-10)
