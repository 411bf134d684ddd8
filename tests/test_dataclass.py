import copy
import dataclasses
import inspect
import pickle
from dataclasses import KW_ONLY, field, fields, replace
from typing import Any, ClassVar

import pytest

from dalembert.dataclass import dataclass


def classes(decorator: Any) -> tuple[type, ...]:
    """A frozen class, one derived from it, one by identity, and one that changes, as a decorator makes them."""

    @decorator(frozen=True)
    class Point:
        """Two numbers."""

        x: float
        y: float = 2.0
        tags: list[str] = field(default_factory=list, compare=False)
        axes: ClassVar[int] = 2

    @decorator(frozen=True, kw_only=True)
    class Mass(Point):
        """A point with mass."""

        mass: float
        hidden: int = field(default=7, repr=False)

        def __post_init__(self) -> None:
            if self.mass < 0:
                raise ValueError("negative")

    @decorator(frozen=True, eq=False, repr=False)
    class Single:
        """Equal to itself only."""

        x: float
        _: KW_ONLY
        y: float = 0.0

    @decorator
    class Changing:
        """May be assigned to."""

        x: int
        made: dict[str, int] = field(init=False, default_factory=dict)

    return Point, Mass, Single, Changing


OURS, STANDARD = classes(dataclass), classes(dataclasses.dataclass)
PAIRS = pytest.mark.parametrize(
    ("ours", "standard"), list(zip(OURS, STANDARD, strict=True)), ids=lambda cls: cls.__name__
)


@PAIRS
def test_a_class_has_the_fields_and_the_signature_of_a_standard_one(ours, standard):
    assert str(inspect.signature(ours)) == str(inspect.signature(standard))
    assert list(map(repr, fields(ours))) == list(map(repr, fields(standard)))
    assert ours.__match_args__ == standard.__match_args__
    assert repr(ours.__dataclass_params__) == repr(standard.__dataclass_params__)
    for name in ("x", "y", "tags", "axes", "mass", "hidden", "made"):
        assert getattr(ours, name, None) == getattr(standard, name, None)


@PAIRS
@pytest.mark.parametrize(
    ("given", "named"),
    [((), {}), ((1.0,), {}), ((1.0, 3.0), {}), ((1.0, 3.0, ["a"], 4.0, 5.0), {}), ((1.0,), {"x": 2.0}),
     ((1.0,), {"mass": 3.0}), ((1.0,), {"mass": -3.0}), ((1.0,), {"y": 3.0}), ((1.0,), {"wrong": 3.0})],
)  # fmt: skip
def test_instances_are_what_standard_ones_are(ours, standard, given, named):
    """The same text, the same values, or the same error with the same words."""

    def outcome(cls: Any) -> Any:
        try:
            made = cls(*given, **named)
        except (TypeError, ValueError) as error:
            return type(error), str(error)
        text = "by identity" if cls.__name__ == "Single" else repr(made)
        again = cls(*given, **named)
        return text, vars(made), made == again, made != again, made == 1, cls.__hash__ is None

    assert outcome(ours) == outcome(standard)


def test_equal_values_have_equal_hashes_and_other_classes_are_never_equal():
    point, mass, single, changing = OURS
    assert hash(point(1.0, tags=["a"])) == hash(point(1.0))
    assert len({point(1.0), point(1.0), point(2.0)}) == 2
    assert point(1.0) != STANDARD[0](1.0)
    assert mass(1.0, mass=1.0) != point(1.0)
    assert single(1.0) != single(1.0)
    with pytest.raises(TypeError, match="unhashable"):
        hash(changing(1))


def test_frozen_instances_refuse_changes_and_others_take_them():
    point, _, single, changing = OURS
    for made in (point(1.0), single(1.0)):
        for name in ("x", "other"):
            with pytest.raises(dataclasses.FrozenInstanceError, match=f"cannot assign to field '{name}'"):
                setattr(made, name, 2.0)
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
            del made.x
        assert made.x == 1.0
    changed = changing(1)
    changed.x = 2
    assert changed == changing(2)


def test_a_plain_subclass_keeps_the_fields_and_may_have_more():
    class Plain(OURS[0]):
        pass

    made = Plain(1.0)
    made.more = 3
    assert (made.x, made.more) == (1.0, 3)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.x = 2.0


def test_standard_dataclasses_derive_from_ours():
    """As integrators of users do, whose files know the standard library only."""

    @dataclasses.dataclass(frozen=True)
    class Derived(OURS[0]):
        z: float = 3.0

    assert repr(Derived(1.0)).endswith("Derived(x=1.0, y=2.0, tags=[], z=3.0)")
    assert [f.name for f in fields(Derived)] == ["x", "y", "tags", "z"]


def test_replace_asks_post_init_again():
    made = OURS[1](1.0, mass=1.0)
    assert replace(made, y=5.0) == OURS[1](1.0, 5.0, mass=1.0)
    with pytest.raises(ValueError, match="negative"):
        replace(made, mass=-1.0)


@dataclass(frozen=True)
class Kept:
    """Found by its name in pickles."""

    x: float
    names: tuple[str, ...] = ()


def test_instances_survive_pickles_and_copies():
    made = Kept(1.0, ("a",))
    for again in (pickle.loads(pickle.dumps(made)), copy.copy(made), copy.deepcopy(made)):
        assert again == made
        assert hash(again) == hash(made)


class Doubled:
    """An attribute that is set to twice what it is given."""

    def __set__(self, instance: Any, value: float) -> None:
        instance.__dict__["_x"] = 2.0 * value

    def __get__(self, instance: Any, _owner: type | None = None) -> Any:
        return None if instance is None else instance.__dict__["_x"]


@pytest.mark.parametrize("decorator", [dataclass, dataclasses.dataclass])
def test_fields_of_frozen_classes_are_set_through_descriptors(decorator):
    class Given:
        x = Doubled()

    @decorator(frozen=True)
    class Derived(Given):
        x: float = field()
        values: float = 0.0  # a name that the text of an initialiser might use itself

    assert (Derived(3.0, 5.0).x, Derived(3.0, 5.0).values) == (6.0, 5.0)
