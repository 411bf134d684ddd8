"""Groups of elements of equal shape: what becomes one kind, and what is too rare to be one."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from dalembert.equations.kinds.elements import KindElement
from dalembert.equations.kinds.shapes import Shape, join

FEWEST_INSTANCES = 8  # a shape with fewer instances is derived with all other such elements together


class Bundle(NamedTuple):
    """Elements on the same components of the kinematics, such as a body and its weight: one instance of a kind."""

    elements: list[KindElement]
    shape: Shape

    @classmethod
    def of(cls, elements: list[KindElement]) -> Bundle:
        """The bundle of some elements."""
        return cls(elements, join([(element.field, element.shape) for element in elements]))

    def places(self, field: str) -> list[int]:
        """Where the elements stand in a list of the statement."""
        return [k for element in self.elements if element.field == field for k in element.places]


class ElementGroup(NamedTuple):
    """Instances of one shape; or one instance, of all elements whose shapes are rare, with its numbers as they are."""

    instances: list[Bundle]
    alike: bool

    @property
    def name(self) -> str:
        """The lists of the statement in which its elements stand."""
        fields = dict.fromkeys(element.field for element in self.instances[0].elements)
        return ", ".join(fields) if self.alike else "others"


def group(elements: Sequence[KindElement]) -> tuple[list[ElementGroup], list[KindElement]]:
    """Groups of equal shape, and all elements whose shape is rare."""
    bundles: dict[frozenset[int], list[KindElement]] = {}
    for element in elements:
        bundles.setdefault(frozenset(element.shape.components), []).append(element)
    shapes: dict[Hashable, list[Bundle]] = {}
    for bundle in map(Bundle.of, bundles.values()):
        shapes.setdefault(bundle.shape.key, []).append(bundle)
    frequent = [ElementGroup(own, alike=True) for own in shapes.values() if len(own) >= FEWEST_INSTANCES]
    rare = [bundle for own in shapes.values() if len(own) < FEWEST_INSTANCES for bundle in own]
    return frequent, [element for bundle in rare for element in bundle.elements]
