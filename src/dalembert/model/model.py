"""`Model`: the statement of a mechanical system, with its verbs by kind, and the way to a `System`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dalembert.guidance import no_attribute
from dalembert.listed import unlisted
from dalembert.model.contributions import ModelContributions
from dalembert.model.instances import difference
from dalembert.model.levels import SymbolOrders, levels_of
from dalembert.model.shapes import links_of
from dalembert.model.statement import Statement
from dalembert.model.time_symbols import function_of_time
from dalembert.model.vectors import derivative
from dalembert.stages import stage
from dalembert.text_tables import html_table

if TYPE_CHECKING:
    import dalembert
    from dalembert.model.beams import Beams
    from dalembert.model.contacts import Contacts
    from dalembert.model.elements import Elements
    from dalembert.model.joints import Joints


@unlisted("closed journal note number scalar")
class Model(ModelContributions):
    """The statement of a mechanical system.

    Contributions add up. `compile` checks the whole model and lists every fault. All expressions are SymPy; `x.diff()`
    is the rate of a coordinate. Vectors have 2 or 3 inertial components.
    """

    def __repr__(self) -> str:
        s = self.statement
        return (
            f"Model({self.name!r}: {len(s.coordinates)} coordinates, {len(s.particles)} particles, "
            f"{len(s.bodies)} bodies, {len(s.constraints)} constraints)"
        )

    def _repr_html_(self) -> str:
        s = self.statement
        kinds = (
            ("coordinates", [q.func.__name__ for q in s.coordinates]), ("speeds", [u.func.__name__ for u in s.speeds]),
            ("unknowns", [y.func.__name__ for y in s.unknowns]),
            ("particles", [p.name for p in s.particles if not p.part]),
            ("bodies", [b.name for b in s.bodies]), ("joints", [f"{j.name} ({j.kind})" for j in s.joints]),
            ("force elements", [f"{e.name} ({e.kind})" for e in s.elements]),
            ("constraints", [f"{c.name}: {c.expression} = 0".replace("(t)", "") for c in s.constraints]),
            ("outputs", [o.name for o in s.outputs]),
            ("parameters", [f"{p.name} = {value:g}" for p, value in s.parameters.items()]),
            ("faults", s.faults),
        )  # fmt: skip
        rows = [(kind, str(len(names)), "; ".join(names)) for kind, names in kinds if names]
        return html_table(f"Model {self.name}", [(("what", "count", "names"), rows)])

    if not TYPE_CHECKING:
        __getattr__ = no_attribute

    # -- verbs by kind ------------------------------------------------------------------------------------------------

    @property
    def joints(self) -> Joints:
        """Joints between bodies: `model.joints.revolute("A", first, second)` and others."""
        from dalembert.model.joints import Joints

        return Joints(self)

    @property
    def contacts(self) -> Contacts:
        """Rolling and skating without slip: `model.contacts.disc("C", hub, radius=r)` and others."""
        from dalembert.model.contacts import Contacts

        return Contacts(self)

    @property
    def beams(self) -> Beams:
        """Flexible beams in the plane: `model.beams.cable("beam", start=, end=, elements=, ...)` and others."""
        from dalembert.model.beams import Beams

        return Beams(self)

    @property
    def elements(self) -> Elements:
        """Springs, dampers and actuators: `model.elements.spring("s", P, Q, stiffness=k)` and others."""
        from dalembert.model.elements import Elements

        return Elements(self)

    # -- the next stage -------------------------------------------------------------------------------------------

    def to_toml(self, path: str | Path, **run: Any) -> Path:
        """Write the model to a TOML file that `from_toml` reads; `given`, `guess` and `t_end` of a run can go with it.

        See `dalembert.importers.model_writing.write_model`.
        """
        return stage("Model.to_toml")(self, path, **run)

    def compile(self) -> dalembert.System:
        """The equations of motion as native code; raises `ModelError`, which lists every fault of the model."""
        return stage("Model.compile")(self.closed())

    def closed(self) -> Statement:
        """The statement that `compile` reads, with default speeds for coordinates that have none."""
        s = self.statement
        missing, rest = self._rates.split()
        names = [f"{q.func.__name__}_dot" for q in rest]
        faults = [f"kinematics: the rate of `{q}` appears in no equation" for q in missing]
        faults += [
            f"default speed `{name}` clashes with the {self._names.kind(name)} of that name; name it by model.speeds"
            for name in names
            if self._names.kind(name)
        ]
        new = [function_of_time(name) for name in names]
        rates = [difference(derivative(q, self.t), u) for q, u in zip(rest, new, strict=True)]
        # Levels anew: a constraint may name a speed that was declared after it.
        levels = levels_of([c.stated for c in s.constraints], SymbolOrders(s.coordinates, [*s.speeds, *new]))
        constraints = [
            c if not c.law.restrains or level in (None, c.level) else replace(c, level=level)
            for c, level in zip(s.constraints, levels, strict=True)
        ]
        return replace(
            s,
            speeds=[*s.speeds, *new],
            kinematics=[*s.kinematics, *rates],
            constraints=constraints,
            lines=[*(s.lines or links_of(s)), *s.shapes],
            faults=[*s.faults, *faults],
        )
