"""Flexible beams: beam theory at rest, natural frequencies, exact large rotations, convergence, stiffness."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import eigh, null_space

import dalembert as da
from dalembert.problems import flexible_pendulum as pendulum

LENGTH, DENSITY, EA, EI = 2.0, 1.5, 4e4, 30.0
ROOTS = np.array([1.875104068711961, 4.694091132974175, 7.854757438237613])  # cos(b) cosh(b) = -1


def cantilever(elements, *, load=0.0, moment=0.0, end=(LENGTH, 0.0), gravity=0.0):
    """A cable clamped at its start, with a force across its end (along y) and a moment there, both parameters."""
    model = da.Model("cantilever")
    P, M = model.parameters(P=load, M=moment)
    beam = model.beams.cable(
        "b", start=[0, 0], end=end, elements=elements, density=DENSITY, axial_stiffness=EA, bending_stiffness=EI
    )
    direction = np.append(np.array(end) / LENGTH, 0.0)
    clamp = model.marker(model.ground, [0, 0], across=direction)
    model.joints.fixed("clamp", clamp, beam.start)
    model.force([0, P], at=beam.end)
    model.torque(M, on=beam.end)
    model.gravity([0, -gravity])
    return model.compile()


def equilibrium(system, parameters=None, start=None):
    """Coordinates (nq,) and multipliers where forces and reactions balance, from M u' = f + A^T la with u = u' = 0."""
    given = dict(zip(system.parameters, system.parameter_defaults, strict=True)) | (parameters or {})
    p, still, nq = np.array(list(given.values())), np.zeros(system.nu), len(system.coordinates)

    def unbalanced(z):
        q, la = z[:nq], z[nq:]
        A = system.constraint_jacobian(0.0, q, still, p)
        return np.concatenate([system.forces(0.0, q, still, p) + A.T @ la, system.position_residual(0.0, q, p)])

    z = np.concatenate([system.guess, np.zeros(system.nc)]) if start is None else start
    steps = 1e-6 * np.eye(len(z))
    for _ in range(40):
        J = np.stack([(unbalanced(z + s) - unbalanced(z - s)) / 2e-6 for s in steps], axis=1)
        change = np.linalg.solve(J, -unbalanced(z))
        z = z + change
        if np.abs(change[:nq]).max() < 1e-11:
            return z
    raise AssertionError(f"no equilibrium: still moving by {np.abs(change).max():.1e}")


def frequencies(system, count):
    """Lowest natural frequencies about the unloaded state: eigenvalues of K = -df/dq in the directions left free."""
    q, still, h = np.array(system.guess), np.zeros(system.nu), 1e-6
    steps = h * np.eye(system.nu)
    K = -np.stack([(system.forces(0.0, q + s, still) - system.forces(0.0, q - s, still)) / (2 * h) for s in steps], 1)
    free = null_space(system.constraint_jacobian(0.0, q, still)) if system.nc else np.eye(system.nu)
    M = free.T @ system.mass_matrix(0.0, q, still) @ free
    return np.sqrt(eigh(free.T @ (K + K.T) / 2 @ free, M, eigvals_only=True)[:count])


class TestStatics:
    @pytest.mark.parametrize("elements", [1, 4])
    def test_tip_load_bends_as_beam_theory_says(self, elements):
        """P L^3 / (3 E I) for loads so small that the beam hardly turns; cubics hold it exactly."""
        P = 1e-3
        z = equilibrium(cantilever(elements, load=P))
        tip = z[4 * elements + 1]
        assert tip == pytest.approx(P * LENGTH**3 / (3 * EI), rel=1e-6)

    def test_own_weight(self):
        g = 1e-3
        z = equilibrium(cantilever(4, gravity=g))
        assert z[17] == pytest.approx(-DENSITY * g * LENGTH**4 / (8 * EI), rel=1e-6)

    def test_clamp_bears_force_and_moment(self):
        P = 1e-3
        system = cantilever(4, load=P)
        z = equilibrium(system)
        state = system.initial(dict(zip(system.coordinates, z, strict=False)) | dict.fromkeys(system.speeds, 0.0))
        clamp = state.joint_reaction("clamp")
        np.testing.assert_allclose(clamp.force, [0, -P, 0], atol=1e-7)
        np.testing.assert_allclose(clamp.torque, [0, 0, -P * LENGTH], atol=1e-7)

    def test_beam_laid_in_any_direction_is_the_same(self):
        P = 1e-3
        z = equilibrium(cantilever(2, load=P, end=(LENGTH * 0.6, LENGTH * 0.8)))
        across = 0.6 * P * LENGTH**3 / (3 * EI)
        np.testing.assert_allclose(z[8:10] - LENGTH * np.array([0.6, 0.8]), across * np.array([-0.8, 0.6]), atol=2e-7)

    def test_end_moment_rolls_it_into_a_circle(self):
        """M = 2 pi E I / L makes a full circle, without any stretch: error of the tip, and its order in the mesh."""
        errors = []
        for elements in (4, 8):
            system, z = cantilever(elements), None
            for part in np.linspace(0.1, 1.0, 10):
                z = equilibrium(system, {"M": 2 * np.pi * EI / LENGTH * part}, z)
            errors.append(np.abs(z[4 * elements : 4 * elements + 2]).max())
        assert errors[1] < 5e-3 * LENGTH
        assert np.log2(errors[0] / errors[1]) > 3.5

    def test_modes_give_the_partial_sums_of_the_deflection(self):
        """Each mode gives 4 P L^3 / (E I beta^4); together they tend to P L^3 / (3 E I)."""
        P = 1e-3
        model = da.Model("modes")
        beam = model.beams.floating(
            "b", length=LENGTH, modes=3, density=DENSITY, bending_stiffness=EI, position=[0, 0], rotation=0
        )
        model.force([0, P], at=beam.end)
        z = equilibrium(model.compile())
        np.testing.assert_allclose(z, 4 * P * LENGTH**3 / EI / ROOTS**4, rtol=1e-6)
        assert z.sum() == pytest.approx(P * LENGTH**3 / (3 * EI), rel=2e-3)


class TestVibration:
    SCALE = np.sqrt(EI / (DENSITY * LENGTH**4))

    def test_cable(self):
        """Too high by (beta h / L)^4 / 1440, as cubic elements of length h are."""
        exact = ROOTS**2 * self.SCALE
        coarse, fine = (frequencies(cantilever(elements), 3) / exact - 1 for elements in (4, 8))
        np.testing.assert_allclose(fine, (ROOTS / 8) ** 4 / 1440, rtol=0.08)
        assert (np.log2(coarse / fine) > 3.6).all()

    def test_modes_vibrate_at_their_own_frequencies(self):
        model = da.Model("modes")
        model.beams.floating(
            "b", length=LENGTH, modes=3, density=DENSITY, bending_stiffness=EI, position=[0, 0], rotation=0
        )
        np.testing.assert_allclose(frequencies(model.compile(), 3), ROOTS**2 * self.SCALE, rtol=1e-7)

    def test_rod_vibrates_along_itself(self):
        """Longitudinal waves: (pi / 2L) sqrt(E A / rho) for the first of a clamped rod."""
        system = cantilever(4)
        found, exact = frequencies(system, system.nu - system.nc), np.pi / (2 * LENGTH) * np.sqrt(EA / DENSITY)
        assert np.abs(found / exact - 1).min() < 1e-4

    def test_tip_mass_lowers_the_frequency(self):
        """A beam much lighter than its tip mass: w^2 = 3 E I / (L^3 (m + 33/140 rho L))."""
        model = da.Model("tip mass")
        m = 300.0
        beam = model.beams.cable(
            "b", start=[0, 0], end=[LENGTH, 0], elements=2, density=DENSITY, axial_stiffness=EA, bending_stiffness=EI
        )
        model.joints.fixed("clamp", model.ground, beam.start)
        model.particle("tip", mass=m, position=beam.end.position)
        w = np.sqrt(3 * EI / (LENGTH**3 * (m + 33 / 140 * DENSITY * LENGTH)))
        assert frequencies(model.compile(), 1)[0] == pytest.approx(w, rel=1e-5)


class TestFlexiblePendulum:
    TIMES = np.linspace(0.0, 1.2, 61)

    def run(self, build, *, E, **options):
        system = build().compile()
        state = system.initial({}, parameters={"E": E})
        return system.simulate(state, 1.2, t_eval=self.TIMES, **options)

    def test_energy_is_kept(self):
        motion = self.run(pendulum.build, E=pendulum.SOFT)
        assert motion.certificate.ok, motion.certificate
        assert np.abs(motion.energy_balance).max() < 1e-6
        kinetic = motion.system.evaluate("energy", motion.t, motion.q, motion.u, motion.parameters)[:, 0]
        assert np.ptp(kinetic) > 10.0  # what is turned over

    def test_mesh_converges(self):
        """Differences of the end point between 2, 4, 8 and 16 elements; E between the soft and the stiff one."""
        ends = [
            pendulum.end_of(
                self.run(lambda n=n: pendulum.build(n), E=0.7e8, integrator=da.DOP853(rtol=1e-7, atol=1e-9))
            )
            for n in (2, 4, 8, 16)
        ]
        gaps = np.array([np.abs(a - b).max() for a, b in pairwise(ends)])
        orders = np.log2(gaps[:-1] / gaps[1:])
        assert gaps[-1] < 2e-3
        assert orders[0] > 1.5
        assert orders[1] > 3.2

    def test_both_models_of_a_stiff_beam_tend_to_the_same_motion(self):
        gaps = []
        for elements, modes in ((4, 3), (8, 4)):
            loose = da.DOP853(rtol=1e-4, atol=1e-6)
            cable = self.run(lambda n=elements: pendulum.build(n), E=pendulum.STIFF, integrator=loose)
            floating = self.run(lambda n=modes: pendulum.build_floating(n), E=pendulum.STIFF)
            gaps.append(np.abs(pendulum.end_of(cable) - pendulum.end_of(floating)).max())
        assert gaps[0] < 1e-4
        assert gaps[1] < 2e-5
        bent = pendulum.deformation_of(floating)
        assert 5e-3 < np.abs(bent).max() < 6e-3
        np.testing.assert_allclose(pendulum.deformation_of(cable), bent, atol=2e-4)
        np.testing.assert_allclose(bent, np.sum([floating[f"beam_d{k}"] for k in range(4)], axis=0), atol=1e-12)

    def test_state_space_and_explicit_runs_agree(self):
        explicit = self.run(pendulum.build, E=pendulum.SOFT)
        implicit = self.run(pendulum.build, E=pendulum.SOFT, integrator=da.StateSpaceSVD(rtol=1e-7, atol=1e-9))
        assert implicit.certificate.ok, implicit.certificate
        np.testing.assert_allclose(pendulum.end_of(implicit), pendulum.end_of(explicit), atol=2e-4)

    def test_stiff_beam_needs_ten_times_fewer_evaluations_implicitly(self):
        """Both at loose tolerances: what costs the explicit run is the axial vibration that nobody looks at."""
        explicit = self.run(pendulum.build, E=pendulum.STIFF, integrator=da.DOP853(rtol=1e-4, atol=1e-6))
        implicit = self.run(pendulum.build, E=pendulum.STIFF, integrator=da.StateSpaceSVD(rtol=1e-5, atol=1e-7))
        np.testing.assert_allclose(pendulum.end_of(implicit), pendulum.end_of(explicit), atol=5e-6)
        assert explicit.stats["nfev"] > 10 * implicit.stats["nfev"]


def test_bad_input_names_the_beam():
    model = da.Model("faulty")
    stuff = {"density": 1.0, "bending_stiffness": 1.0}
    model.beams.cable("none", start=[0, 0], end=[1, 0], elements=0, axial_stiffness=1.0, **stuff)
    model.beams.cable("short", start=[1, 0], end=[1, 0], elements=2, axial_stiffness=1.0, **stuff)
    model.beams.floating("rich", length=1.0, modes=9, **stuff)
    model.beams.floating("text", length="one", modes=1, **stuff)
    with pytest.raises(da.ModelError) as error:
        model.compile()
    text = str(error.value)
    for words in (
        "beam `none` needs at least one element",
        "beam `short` needs",
        "beam `rich`: 9 modes",
        "beam `text`",
    ):
        assert words in text
