"""`DerivedGroup`: the first instance of a group as a statement of its own, and the equations derived from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import sympy as sp

from dalembert.equations.derived import Derived, derive
from dalembert.equations.kinds.components import Components
from dalembert.equations.kinds.groups import Bundle, ElementGroup
from dalembert.equations.kinds.shapes import NotAnElementError
from dalembert.equations.probe import cancel
from dalembert.model.instances import difference
from dalembert.model.statement import Body, Statement
from dalembert.model.vectors import ORIGIN, derivative
from dalembert.scattered import Scattered


class DerivedGroup(NamedTuple):
    """A group and the equations of its first instance, whose constraints have the indices `constraints`."""

    group: ElementGroup
    equations: Derived
    constraints: list[int]

    @property
    def has_features(self) -> bool:
        """True if an element bends, jumps or hides something in a narrow range of an argument."""
        return any(self.equations.bends) or bool(self.equations.features.found)


def derive_group(
    statement: Statement, components: Components, group: ElementGroup, progress: Callable[[str], None]
) -> DerivedGroup:
    """The equations of a group. Raises `NotAnElementError` if checks find a fault: the whole model then says which."""
    first = group.instances[0]
    found = derive(_statement_of(statement, components, first, alike=group.alike), progress)
    if found.faults or not _are_invariant(found, len(first.shape.numbers) if group.alike else 0):
        raise NotAnElementError
    return DerivedGroup(group, found, first.places("constraints"))


def _are_invariant(found: Derived, numbers: int) -> bool:
    """True if the kinematics keep the invariants whatever the last `numbers` parameters are, those of an instance."""
    m, kinematics, rng = found.mechanics, found.derivation.kinematics, Scattered(271)
    values = [*found.derivation.statement.parameters.values()]
    values[len(values) - numbers :] = rng.uniform(0.3, 1.7, numbers)
    terms = kinematics.rate_terms(m.h)
    x = np.concatenate([rng.uniform(0.2, 1.2, 1 + m.q.shape[0] + m.u.shape[0]), values])
    at = ca.Function("terms", [m.x], [terms.nz[:]])(x) if terms.nnz() else ca.DM(0, 1)
    return bool(cancel(terms.sparsity().row(), at.full().reshape(1, -1), m.h.shape[0]).all())


def _statement_of(st: Statement, components: Components, bundle: Bundle, *, alike: bool) -> Statement:
    """The statement of one instance; if there are others `alike`, with symbols in the place of its own numbers."""
    own = [components.all[c] for c in bundle.shape.components]
    q, u = [k for c in own for k in c.coordinates], [k for c in own for k in c.speeds]
    slots = {number: sp.Dummy("number") for number in bundle.shape.numbers} if alike else {}
    parameters, values = [*st.parameters], [*st.parameters.values()]
    content: dict[str, Any] = _content(bundle)
    heavy = "particles" in content or "bodies" in content
    if "constraints" in content:
        own_bodies = content.setdefault("bodies", [])
        own_bodies += [
            _massless(b) for b in _moved(st, components, bundle) if not any(b is body for body in own_bodies)
        ]
    return Statement(
        name=st.name,
        time=st.time,
        coordinates=[st.coordinates[k] for k in q],
        speeds=[st.speeds[k] for k in u],
        kinematics=[difference(derivative(st.coordinates[k], st.time), components.rates[k]) for k in q],
        parameters={parameters[k]: values[k] for k in bundle.shape.parameters} | {s: v for v, s in slots.items()},
        gravity=st.gravity if heavy else ORIGIN,
        slots=slots,
        **content,
    )


def _content(bundle: Bundle) -> dict[str, list[Any]]:
    """Items of a bundle by the list in which they stand."""
    content: dict[str, list[Any]] = {}
    for element in bundle.elements:
        if element.content:
            content.setdefault(element.field, []).extend(element.content)
    return content


def _moved(statement: Statement, components: Components, bundle: Bundle) -> list[Body]:
    """Bodies that the components of a bundle place: joints are derived along their axes."""
    used, found = {*bundle.shape.components}, []
    for body in statement.bodies:
        variables = (*(body.position or ()), *body.rotation, *(body.angular_velocity or ()))
        leaves = [components.leaves.get(id(e)) for e in variables]
        if all(leaf is not None and leaf.component in used for leaf in leaves):
            found.append(body)
    return found


def _massless(body: Body) -> Body:
    return replace(body, mass=sp.S.Zero, inertia=(sp.S.Zero,) * len(body.inertia))
