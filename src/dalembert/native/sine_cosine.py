"""LLVM IR of sines and cosines, of up to four arguments at once and without a call.

Half of the time of a small kernel goes into the libm's sine and cosine: a call takes one argument, and no register of
the caller survives it. Here r = x - n pi/2 with |r| <= pi/4 is found by fused products from pi/2 in three parts (W. J.
Cody, W. Waite, "Software Manual for the Elementary Functions", 1980), with what the rounding of r leaves behind, then
sin r and cos r by the minimax polynomials of K. C. Ng (FreeBSD's msun, `k_sin.c` and `k_cos.c`), and n mod 4 says which
of them is wanted, with which sign. The error stays below one unit in the last place. Arguments beyond `FAR`, and those
that are not finite, go to the libm in a block aside.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

FAR = 2.0**30  # n fits into the mantissa by far, and three parts of pi/2 leave r with all its digits
# pi/2 in three parts of 53 bits each.
PI_2 = tuple(
    float.fromhex(part) for part in ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110")
)
TURN = 0.6366197723675814  # 2 / pi
INTEGER = 1.5 * 2.0**52  # added to a number it leaves the nearest integer in the last bits
SINE = (
    -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04, 2.75573137070700676789e-06,
    -2.50507602534068634195e-08, 1.58969099521155010221e-10,
)  # fmt: skip
COSINE = (
    4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05, -2.75573143513906633035e-07,
    2.08757232129817482790e-09, -1.13596475577881948265e-11,
)  # fmt: skip
LANES = 4
ASIDE = f"%aside = alloca double, i64 {3 * LANES}, align 32"  # at the head of a function with such lines


def emit_sines(name: str, operands: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Lines that leave sin and cos of each of up to four operands, and their names; the lines end in another block.

    All names begin with `name`; the block that follows is called `{name}on`.
    """
    width = count_lanes(len(operands))
    vector = _Vector(name, width)
    x = vector.gather([*operands, *([operands[0]] * (width - len(operands)))])
    vector.find(x)
    return vector.lines, vector.scatter(len(operands))


def call_sines(name: str, operands: Sequence[str], slot: int) -> list[str]:
    """Lines by which sin and cos of up to four operands come to stand in `work`, from `slot` on.

    They call what `define_sines` defines: shorter than the lines of `emit_sines`, if there are many, and no value of
    the caller's has to outlive their blocks.
    """
    vector = _Vector(name, LANES)
    x = vector.gather([*operands, *([operands[0]] * (LANES - len(operands)))])
    at = vector.put("p", f"getelementptr double, ptr %work, i64 {slot}")
    return [*vector.lines, f"call void @sines({vector.kind} {x}, ptr {at})"]


def define_sines() -> list[str]:
    """`sines(x, p)`: leaves at p the sines of four arguments, then their cosines."""
    vector = _Vector("v.", LANES)
    vector.find("%x")
    return [
        f"define internal void @sines({vector.kind} %x, ptr noalias %p) #2 {{", ASIDE, *vector.lines,
        f"store {vector.kind} {vector.value('sinv')}, ptr %p, align 8",
        f"%q = getelementptr double, ptr %p, i64 {LANES}",
        f"store {vector.kind} {vector.value('cosv')}, ptr %q, align 8", "ret void\n}",
    ]  # fmt: skip


def count_lanes(arguments: int) -> int:
    """Number of lanes for so many arguments: 1, 2 or 4."""
    return 1 if arguments == 1 else 2 if arguments == 2 else LANES


def declare_sines(widths: Iterable[int]) -> list[str]:
    """Declarations for the lines of `emit_sines`, for vectors of these widths: intrinsics, and the calls of the libm.

    The calls of the libm are in functions of their own that preserve all registers. So the rare call does not cost the
    other lines any registers.
    """
    widths = sorted(widths)
    text = ["declare double @sin(double) #0", "declare double @cos(double) #0"] if widths else []
    for width in widths:
        kind, mark = _kind(width), _mark(width)
        text += [
            f"declare {kind} @llvm.fma.{mark}({kind}, {kind}, {kind}) #0",
            f"declare i1 @llvm.vector.reduce.and.v{width}i1(<{width} x i1>) #0" if width > 1 else "",
            *_far(width),
        ]
    return [line for line in text if line]


def _bits(number: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", number))[0])


def _kind(width: int) -> str:
    return "double" if width == 1 else f"<{width} x double>"


def _mark(width: int) -> str:
    return "f64" if width == 1 else f"v{width}f64"


def _far(width: int) -> list[str]:
    """`far(p)`: at p stand x, then come sin x and cos x, by the libm."""
    lines = [f"define internal preserve_allcc void @far{width}(ptr %p) #3 {{"]
    for k in range(width):
        lines += [f"%x{k}p = getelementptr double, ptr %p, i64 {k}", f"%x{k} = load double, ptr %x{k}p, align 8"]
        for j, function in enumerate(("sin", "cos")):
            lines += [
                f"%{function}{k} = call double @{function}(double %x{k})",
                f"%{function}{k}p = getelementptr double, ptr %p, i64 {(j + 1) * width + k}",
                f"store double %{function}{k}, ptr %{function}{k}p, align 8",
            ]
    return [*lines, "ret void", "}"]


class _Vector:
    """The lines of one vector as they grow; every value has the prefix `name`."""

    def __init__(self, name: str, width: int) -> None:
        self.name, self.width, self.kind, self.mark = name, width, _kind(width), _mark(width)
        self.integer = "i64" if width == 1 else f"<{width} x i64>"
        self.lines: list[str] = []

    def value(self, name: str) -> str:
        return f"%{self.name}{name}"

    def put(self, name: str, text: str) -> str:
        """A value by the right side of its line."""
        self.lines.append(f"{self.value(name)} = {text}")
        return self.value(name)

    def number(self, number: float) -> str:
        """The text of a constant in all lanes."""
        bits = f"0x{_bits(number):016X}"
        return bits if self.width == 1 else "<" + ", ".join([f"double {bits}"] * self.width) + ">"

    def whole(self, number: int) -> str:
        """The text of an integer in all lanes."""
        return str(number) if self.width == 1 else "<" + ", ".join([f"i64 {number}"] * self.width) + ">"

    def fma(self, name: str, a: str, b: str, c: str) -> str:
        return self.put(
            name, f"call {self.kind} @llvm.fma.{self.mark}({self.kind} {a}, {self.kind} {b}, {self.kind} {c})"
        )

    def find(self, x: str) -> None:
        """Sine and cosine of x, as `sinv` and `cosv`."""
        self.branch_on_range(x)
        self.reduce(x)
        self.evaluate()
        self.turn()
        self.join(x)

    def gather(self, operands: Sequence[str]) -> str:
        """One vector of the operands."""
        if self.width == 1:
            return operands[0]
        x = "undef"
        for k, operand in enumerate(operands):
            x = self.put(f"x{k}", f"insertelement {self.kind} {x}, double {operand}, i32 {k}")
        return x

    def branch_on_range(self, x: str) -> None:
        """Leave for the way by the libm if an argument is too large, or no number."""
        raw = self.put("raw", f"bitcast {self.kind} {x} to {self.integer}")
        size = self.put("size", f"and {self.integer} {raw}, {self.whole(2**63 - 1)}")
        near = self.put("within", f"icmp slt {self.integer} {size}, {self.whole(_bits(FAR))}")  # not for NaN
        if self.width > 1:
            near = self.put("all", f"call i1 @llvm.vector.reduce.and.v{self.width}i1(<{self.width} x i1> {near})")
        name = self.name
        self.lines += [f"br i1 {near}, label %{name}near, label %{name}far, !prof !0", f"{name}near:"]

    def reduce(self, x: str) -> None:
        """n, r and the error `rest` of r: x = n pi/2 + r + rest."""
        kind = self.kind
        shifted = self.fma("shifted", x, self.number(TURN), self.number(INTEGER))
        n = self.put("n", f"fsub {kind} {shifted}, {self.number(INTEGER)}")
        minus = self.put("minus", f"fneg {kind} {n}")
        first = self.fma("first", minus, self.number(PI_2[0]), x)  # exact
        second = self.put("second", f"fmul {kind} {minus}, {self.number(PI_2[1])}")
        r = self.put("r", f"fadd {kind} {first}, {second}")
        # What rounding took from r (D. E. Knuth, "The Art of Computer Programming", vol. 2, sec. 4.2.2) and from its
        # second term, and the third term.
        added = self.put("added", f"fsub {kind} {r}, {first}")
        kept = self.put("kept", f"fsub {kind} {r}, {added}")
        lost = self.put("lost", f"fsub {kind} {first}, {kept}")
        late = self.put("late", f"fsub {kind} {second}, {added}")
        both = self.put("both", f"fadd {kind} {lost}, {late}")
        against = self.put("against", f"fneg {kind} {second}")
        fine = self.fma("fine", minus, self.number(PI_2[1]), against)
        third = self.fma("third", minus, self.number(PI_2[2]), fine)
        self.put("rest", f"fadd {kind} {both}, {third}")

    def evaluate(self) -> None:
        """sin(r + rest) and cos(r + rest)."""
        kind, r, rest = self.kind, self.value("r"), self.value("rest")
        z = self.put("z", f"fmul {kind} {r}, {r}")
        p = self.polynomial("p", SINE, z)
        cube = self.put("cube", f"fmul {kind} {z}, {r}")
        bent = self.fma("bent", cube, p, rest)
        self.put("s", f"fadd {kind} {r}, {bent}")
        self.keep_sign_of_zero()
        q = self.polynomial("q", COSINE, z)
        half = self.put("half", f"fmul {kind} {z}, {self.number(0.5)}")
        w = self.put("w", f"fsub {kind} {self.number(1.0)}, {half}")
        gone = self.put("gone", f"fsub {kind} {self.number(1.0)}, {w}")
        low = self.put("low", f"fsub {kind} {gone}, {half}")
        fourth = self.put("fourth", f"fmul {kind} {z}, {z}")
        high = self.fma("high", fourth, q, low)
        opposite = self.put("opposite", f"fneg {kind} {r}")
        sum_up = self.fma("sum", opposite, rest, high)
        self.put("c", f"fadd {kind} {w}, {sum_up}")

    def keep_sign_of_zero(self) -> None:
        """The sign of r, which sin r has anyway unless it is zero."""
        kind, integer = self.kind, self.integer
        bits = self.put("rbits", f"bitcast {kind} {self.value('r')} to {integer}")
        sign = self.put("rsign", f"and {integer} {bits}, {self.whole(-(2**63))}")
        raw = self.put("sbits", f"bitcast {kind} {self.value('s')} to {integer}")
        signed = self.put("signed", f"or {integer} {raw}, {sign}")
        self.put("sine", f"bitcast {integer} {signed} to {kind}")

    def polynomial(self, name: str, coefficients: Sequence[float], z: str) -> str:
        """Coefficients from the constant one up, by Horner's rule."""
        value = self.number(coefficients[-1])
        for k in range(len(coefficients) - 2, -1, -1):
            value = self.fma(f"{name}{k}", value, z, self.number(coefficients[k]))
        return value

    def turn(self) -> None:
        """Sine and cosine of x by the quarter turns n: swapped for an odd n, with the sign of the quadrant."""
        kind, integer, s, c = self.kind, self.integer, self.value("sine"), self.value("c")
        bits = self.put("bits", f"bitcast {kind} {self.value('shifted')} to {integer}")
        odd_bit = self.put("oddbit", f"and {integer} {bits}, {self.whole(1)}")
        odd = self.put("odd", f"icmp ne {integer} {odd_bit}, {self.whole(0)}")
        truth = "i1" if self.width == 1 else f"<{self.width} x i1>"
        one = self.put("one", f"select {truth} {odd}, {kind} {c}, {kind} {s}")
        other = self.put("other", f"select {truth} {odd}, {kind} {s}, {kind} {c}")
        for name, value, ahead in (("sin", one, 0), ("cos", other, 1)):
            moved = self.put(f"{name}n", f"add {integer} {bits}, {self.whole(ahead)}")
            sign = self.put(f"{name}b", f"and {integer} {moved}, {self.whole(2)}")
            flip = self.put(f"{name}f", f"shl {integer} {sign}, {self.whole(62)}")
            raw = self.put(f"{name}r", f"bitcast {kind} {value} to {integer}")
            flipped = self.put(f"{name}x", f"xor {integer} {raw}, {flip}")
            self.put(f"{name}t", f"bitcast {integer} {flipped} to {kind}")

    def join(self, x: str) -> None:
        """The fallback to the libm, and the block in which both paths join."""
        name, kind, width = self.name, self.kind, self.width
        self.lines += [
            f"br label %{name}on", f"{name}far:", f"store {kind} {x}, ptr %aside, align 8",
            f"call preserve_allcc void @far{width}(ptr %aside)",
            f"{self.value('farsp')} = getelementptr double, ptr %aside, i64 {width}",
            f"{self.value('fars')} = load {kind}, ptr {self.value('farsp')}, align 8",
            f"{self.value('farcp')} = getelementptr double, ptr %aside, i64 {2 * width}",
            f"{self.value('farc')} = load {kind}, ptr {self.value('farcp')}, align 8",
            f"br label %{name}on", f"{name}on:",
        ]  # fmt: skip
        for function, far in (("sin", "fars"), ("cos", "farc")):
            self.put(
                f"{function}v",
                f"phi {kind} [ {self.value(function + 't')}, %{name}near ], [ {self.value(far)}, %{name}far ]",
            )

    def scatter(self, count: int) -> list[tuple[str, str]]:
        """The names of sine and cosine of each argument."""
        if self.width == 1:
            return [(self.value("sinv"), self.value("cosv"))]
        found = []
        for k in range(count):
            pair = [
                self.put(f"{function}{k}", f"extractelement {self.kind} {self.value(function + 'v')}, i32 {k}")
                for function in ("sin", "cos")
            ]
            found.append((pair[0], pair[1]))
        return found
