"""Random values of the variables that Dovetail reads, and the code that reads each of them: run as
a program, it reads values of the seeds from one number on, so many of them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from random import Random
from types import ModuleType
from typing import Any

import pytest

from dovetail.inspection import installation_checks
from dovetail_dispatcher import compiled_code
from dovetail_kernel import plugin_manager, short_tracebacks
from dovetail_kernel.plugins.entries import KNOWN, blocked
from dovetail_pytest.parts import part_in

_core: Any  # imported before a value is there
try:
    from dovetail_native import _core
except ImportError:  # built without a C compiler
    _core = None

WORDS = [
    "0", "1", "2", "00", "true", "off", "x86-64-v2", "X86-64-V2", "x86-64-v3", "x86-64-v9", "cpu",
    "cuda", "cpuu", "native", "dovetail_native", "mpi", "aten", "2/8", "0/8", "9/8", "all", "/1",
    "1/1", ",", " ", "\n", "\x1b[31m", "\x1b]0;x\a", "\u202e", "é", "\udcff", "[bold]", "%s{}", "-",
]  # fmt: skip


def value(random: Random) -> str:
    """Return what a variable may contain: all but null characters and unpaired surrogates."""
    text = ""
    for _ in range(random.choice([1, 1, 1, 2, 3, 6])):
        ranges = [(1, 0x80), (0xA0, 0xD800), (0xDC80, 0xDD00), (0xE000, 0x110000)]
        odd = chr(random.randrange(*random.choice(ranges)))
        text += random.choice(WORDS) if random.random() < 0.8 else odd
    return text * random.choice([1] * 19 + [500])


def part_of(text: str) -> tuple[int, int] | None:
    """Return the part of the operators that a text names, or None."""
    part, _, parts = text.partition("/")
    if not (re.fullmatch("[0-9]{1,9}", part) and re.fullmatch("[0-9]{1,9}", parts)):
        return None
    return (int(part), int(parts)) if 1 <= int(part) <= int(parts) else None


def check(name: str, error: BaseException) -> None:
    """Check the message of an error: it names the variable, and is short and harmless."""
    message = str(error)
    assert name in message
    assert message.isprintable()
    assert len(message) < 3000


def words_of(given: str) -> set[str]:
    """Return the words of a list of plugins, spelt as distributions are."""
    return {re.sub("[-_]+", "-", word).lower() for word in given.replace(",", " ").split()}


def read_block(given: str) -> None:
    """Plugins whose names are among the words are blocked."""
    words = words_of(given)
    names = [{each.name, each.distribution} for each in KNOWN.values()]
    found = [blocked(each) is not None for each in KNOWN.values()]
    assert found == [not words.isdisjoint(each) for each in names]


def report_block(given: str) -> None:
    """Words that block nothing are reported by the doctor, which takes 20 ms."""
    findings = [each for each in installation_checks._plugins() if "DOVETAIL_BLOCK" in str(each)]
    installed = plugin_manager.list_plugins()
    names = [{each.name, each.distribution} for each in installed]
    assert len(findings) >= len(words_of(given).difference(*names))
    assert all([each.subject.isprintable() and each.text.isprintable() for each in findings])


def read_again(module: ModuleType) -> Any:
    """Return another module of the same file."""
    assert module.__file__ is not None
    spec = spec_from_file_location(module.__name__, module.__file__)
    assert spec is not None and spec.loader is not None
    again = module_from_spec(spec)
    spec.loader.exec_module(again)
    return again


def read_full_tracebacks(given: str) -> None:
    """Any value but 0 shows all frames."""
    assert read_again(short_tracebacks)._full == (given not in ("", "0"))


def read_native(given: str) -> None:
    """Compiled code is required or switched off, or the value is refused."""
    compiled_code._is_settled = False
    try:
        compiled_code.load_compiled_code()
    except ValueError as error:
        assert given not in ("", "0", "1")
        check("DOVETAIL_NATIVE=", error)
    else:
        found = compiled_code.is_switched_off(), compiled_code.is_required()
        assert found == (given == "0", given == "1")


def read_instruction_set(given: str) -> None:
    """The core takes the instruction set, or refuses to be loaded; where it is built."""
    if _core is None:
        return
    try:
        chosen = read_again(_core).INSTRUCTION_SET
        assert chosen == given
    except ImportError as error:
        assert given not in _core.INSTRUCTION_SETS
        check("DOVETAIL_NATIVE_ISA=", error)


def read_operators(given: str) -> None:
    """The value is a part of the operators or all of them, or refused."""
    try:
        assert part_in(given, "DOVETAIL_OPERATORS") == part_of(given)
        assert given == "all" or part_of(given)
    except pytest.UsageError as error:
        assert given != "all" and not part_of(given)
        check("DOVETAIL_OPERATORS", error)


READERS: dict[str, Callable[[str], None]] = {
    "DOVETAIL_BLOCK": read_block,
    "DOVETAIL_FULL_TRACEBACKS": read_full_tracebacks,
    "DOVETAIL_NATIVE": read_native,
    "DOVETAIL_NATIVE_ISA": read_instruction_set,
    "DOVETAIL_OPERATORS": read_operators,
}


def read(first: int, count: int) -> None:
    """Read values, of another variable each time."""
    for seed in range(first, first + count):
        name = list(READERS)[seed % len(READERS)]
        os.environ[name] = given = value(Random(seed))
        try:
            READERS[name](given)
            if name == "DOVETAIL_BLOCK" and seed % 1000 == 0:
                report_block(given)
        except BaseException as error:
            error.add_note(f"value {seed}: {name}={given!r:.500}")
            raise
        del os.environ[name]


if __name__ == "__main__":
    read(*map(int, sys.argv[1:]))
