"""`Kernels`: everything made from the content of one system, once - machine code, native layouts - freed with it.

A System owns its `Kernels`; nothing else does, and what is kept in them never refers to a System. Systems that come out
of a pickle share them with every system of equal content in the process, so that a worker that is sent the same system
with each of its tasks compiles it once. They are found by a fingerprint of the content, which the pickle carries.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Any
from weakref import WeakValueDictionary

import casadi as ca

from dalembert.equations.functions import Functions
from dalembert.interrupts import noticed_interrupts
from dalembert.native.instance_loops import compile_sum
from dalembert.native.kernel import LOOPS_FROM, NATIVE_LIMIT, OFTEN, RARELY, Kernel, Use, compile_kernel

EVALUATED = frozenset({"dynamics", "sparse_dynamics", "invariant", "sparse_invariant"})  # all along a run
PROMPT_FUNCTION = 1500  # instructions that compile in an unnoticeable time
PROMPT_KERNEL = 1000  # instructions that compile in an unnoticeable time, even if there are a dozen such kernels
LATELY = 64  # objects made for callers, such as kernels of expressions, that stay for the next equal call
RECENT = 8  # unpickled systems whose kernels stay for the next equal one, although no system uses them

_MAKING = threading.RLock()  # one thread makes for all
_LOOKING = threading.Lock()
_known: WeakValueDictionary[str, Kernels] = WeakValueDictionary()  # by fingerprint
_recent: dict[str, Kernels] = {}  # the last `RECENT` that were unpickled, the latest at the end


class Kernels:
    """Objects made from the `functions` of a system: each is made once, by one thread, when first asked for."""

    def __init__(self, functions: Functions, fingerprint: str | None = None) -> None:
        self.functions = functions
        self.native: dict[str, Kernel] = {}  # machine code of `functions`, as far as it was asked for
        self._kept: dict[Hashable, Any] = {}
        self._lately: dict[Hashable, Any] = {}  # the latest at the end
        self._fingerprint = fingerprint
        self._limits = NATIVE_LIMIT, LOOPS_FROM

    def expect_few_calls(self) -> None:
        """Interpret long functions from now on, unless the cache holds machine code: that pays after 20,000 calls."""
        self._limits = PROMPT_KERNEL, NATIVE_LIMIT

    def kernel(self, name: str) -> Kernel:
        """The machine code of one of `functions`; its address stays good as long as this object lives."""
        if name not in self.native:
            with _MAKING:
                if name not in self.native:
                    use = OFTEN if name in EVALUATED else RARELY
                    self.native[name] = _whole(lambda: self._make(name, use))
        return self.native[name]

    def is_prompt(self, name: str) -> bool:
        """True if a function has machine code, or has it in an unnoticeable time."""
        if name in self.native or self.functions.is_summed(name):
            return True
        return self.functions[name].n_instructions() <= PROMPT_FUNCTION

    def _make(self, name: str, use: Use) -> Kernel:
        if self.functions.is_summed(name):
            total = self.functions.sum_of(name)
            return compile_sum(total.terms, total.n_in, total.n_out, use)
        return self._compile(self.functions[name], use)

    def known(self, key: Hashable) -> Any:
        """The object cached by `kept` under a key; None if there is none."""
        return self._kept.get(key)

    def lately_known(self, key: Hashable) -> Any:
        """The object that `lately` still has under a key; None if there is none."""
        return self._lately.get(key)

    def lately(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Like `kept`, but caches only the `LATELY` most recent objects; users keep others alive by holding them."""
        with _LOOKING:
            if key in self._lately:
                self._lately[key] = self._lately.pop(key)
                return self._lately[key]
        with _MAKING:
            made = self._lately[key] if key in self._lately else _whole(make)
        with _LOOKING:
            self._lately[key] = made
            forgotten = [self._lately.pop(old) for old in list(self._lately)[:-LATELY]]
        del forgotten  # freed outside the lock
        return made

    def kept(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The cached result of `make`, called when the key is first asked for. It must not refer to a System."""
        try:
            return self._kept[key]
        except KeyError:
            pass
        with _MAKING:
            if key not in self._kept:
                self._kept[key] = _whole(make)
        return self._kept[key]

    def compiled(self, name: str, build: Callable[[], ca.Function | None], use: Use = OFTEN) -> Any:
        """The `Kernel` of the function that `build` returns, cached under a name; None if it returns none."""
        return self.kept(("kernel", name), lambda: self._built(build, use))

    def compiled_lately(self, name: str, build: Callable[[], ca.Function | None]) -> Any:
        """Like `compiled`, for a function made from an expression of the caller; cached as in `lately`."""
        return self.lately(("kernel", name), lambda: self._built(build, OFTEN))

    def _built(self, build: Callable[[], ca.Function | None], use: Use) -> Kernel | None:
        function = build()
        return None if function is None else self._compile(function, use)

    def _compile(self, function: ca.Function, use: Use) -> Kernel:
        native_limit, loops_from = self._limits
        return compile_kernel(function, use=use, native_limit=native_limit, loops_from=loops_from)

    def packed(self, facts: Mapping[str, Any]) -> tuple[str, Functions]:
        """Fingerprint and functions, for the pickle of a system with these facts; `found` reads them back."""
        if self._fingerprint is None:
            content = repr((sorted(facts.items()), sorted(self.functions.texts().items())))
            self._fingerprint = hashlib.sha256(content.encode()).hexdigest()
        with _LOOKING:
            _known.setdefault(self._fingerprint, self)
        return self._fingerprint, self.functions


def _whole(make: Callable[[], Any]) -> Any:
    """Call `make` and return its result. Raises if Ctrl-C was pressed meanwhile: the result may be incomplete."""
    with noticed_interrupts() as check_interrupted:
        made = make()
        check_interrupted()
        return made


def found(fingerprint: str, functions: Functions) -> Kernels:
    """The kernels of this fingerprint if there are any in this process, else new ones of these functions."""
    with _LOOKING:
        kernels = _known.get(fingerprint)
        if kernels is None:
            kernels = _known[fingerprint] = Kernels(functions, fingerprint)
        _recent.pop(fingerprint, None)
        _recent[fingerprint] = kernels
        forgotten = [_recent.pop(key) for key in list(_recent)[:-RECENT]]
    del forgotten  # freed outside the lock
    return kernels
