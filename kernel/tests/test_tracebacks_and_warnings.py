"""What a program sees of errors and warnings: its own lines, and not those of the library."""

from __future__ import annotations

import contextlib
import pickle
import traceback
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dovetail_kernel import (
    OutOfMemoryError,
    is_warn_always_enabled,
    reset_once_warnings,
    set_full_tracebacks,
    set_warn_always,
    warn_user,
    warn_user_once,
)
from dovetail_kernel import user_warning as own_module
from dovetail_kernel.errors import note_out_of_memory
from dovetail_kernel.short_tracebacks import shorten_traceback

# An entry of the library: it shortens the traceback of an error that leaves it.
ENTRY = """
def entry(function):
    try:
        return function()
    except BaseException as error:
        shorten(error)
        raise

def refuse():
    raise ValueError("refused")

def defect():
    return {}["missing"]

def translate(function):
    try:
        return function()
    except Exception as error:
        raise RuntimeError("translated") from error

def call(function):
    return function()
"""


def module(name: str) -> Any:
    """Return a module of the library, or of another package, that has an entry."""
    made = ModuleType(name)
    vars(made)["shorten"] = shorten_traceback
    exec(compile(ENTRY, f"<file of {name}>", "exec"), vars(made))
    return made


ours, numpy_module, strangers = (
    module("dovetail_kernel.part"),
    module("numpy.part"),
    module("acme.part"),
)


@pytest.fixture(autouse=True)
def short() -> Iterator[None]:
    """Shorten tracebacks, whatever the environment says."""
    set_full_tracebacks(False)
    yield
    set_full_tracebacks(False)


def frames(call: Callable[[], object]) -> list[str]:
    """Return the functions in the traceback of the error of `call`, those behind it."""
    error = raised(call)
    return [each.name for each in traceback.extract_tb(error.__traceback__)][2:]


def raised(call: Callable[[], object]) -> BaseException:
    """Return the error that `call` raises."""
    try:
        call()
    except BaseException as error:
        return error
    raise AssertionError("no error")


# -- errors ----------------------------------------------------------------------------------------


def test_an_error_that_the_library_raises_shows_the_program_alone() -> None:
    assert frames(lambda: ours.entry(ours.refuse)) == []
    assert frames(lambda: strangers.call(lambda: ours.entry(ours.refuse))) == ["call", "<lambda>"]


def test_an_error_that_the_library_did_not_mean_shows_everything() -> None:
    assert frames(lambda: ours.entry(ours.defect)) == ["entry", "defect"]


def test_everything_is_shown_where_that_is_asked_for() -> None:
    set_full_tracebacks(True)
    assert frames(lambda: ours.entry(ours.refuse)) == ["entry", "refuse"]


def test_frames_of_a_programs_own_kernel_stay() -> None:
    def kernel() -> None:
        raise KeyError("mine")

    assert frames(lambda: ours.entry(lambda: ours.call(kernel))) == ["<lambda>", "kernel"]


def test_frames_of_an_array_library_that_ours_calls_go_with_ours() -> None:
    error = raised(lambda: ours.entry(lambda: ours.call(numpy_module.refuse)))
    names = [each.name for each in traceback.extract_tb(error.__traceback__)]
    assert "refuse" not in names and "call" not in names
    # One that the program calls itself stays.
    assert frames(lambda: ours.entry(lambda: strangers.call(numpy_module.refuse))) == [
        *("<lambda>", "call", "refuse")
    ]


def test_an_interrupt_is_left_alone() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    error = raised(lambda: ours.entry(lambda: ours.call(interrupt)))
    assert "call" in [each.name for each in traceback.extract_tb(error.__traceback__)]


def test_an_error_of_an_inner_entry_is_shortened_at_the_outer_one() -> None:
    assert frames(lambda: ours.entry(lambda: ours.entry(ours.refuse))) == ["<lambda>"]
    assert frames(lambda: ours.entry(lambda: ours.call(lambda: ours.entry(ours.refuse)))) == [
        *("<lambda>", "<lambda>")
    ]


def test_the_error_of_an_array_library_is_not_shown_beside_its_translation() -> None:
    error = raised(lambda: ours.entry(lambda: ours.translate(numpy_module.refuse)))
    assert str(error) == "translated"
    assert (error.__cause__, error.__context__, error.__suppress_context__) == (None, None, True)


def test_what_a_program_was_handling_stays_beside_a_translation() -> None:
    def call() -> None:
        try:
            raise LookupError("of the program")
        except LookupError:
            ours.entry(lambda: ours.translate(numpy_module.refuse))

    error = raised(call)
    assert isinstance(error.__context__, LookupError) and not error.__suppress_context__


def test_the_error_of_a_program_stays_beside_its_translation() -> None:
    error = raised(lambda: ours.entry(lambda: ours.translate(strangers.refuse)))
    assert isinstance(error.__cause__, ValueError)


def test_memory_of_an_array_library_that_is_not_there_is_an_error_of_both_kinds() -> None:
    class ArrayMemoryError(MemoryError):
        def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
            super().__init__("no memory")
            self.shape, self.dtype = shape, dtype

    def fail() -> None:
        raise ArrayMemoryError((3, 5), np.dtype("float64"))

    error = raised(lambda: ours.entry(lambda: ours.call(fail)))
    assert isinstance(error, OutOfMemoryError) and isinstance(error, ArrayMemoryError)
    assert str(error) == (
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 120 bytes. no memory"
    )
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is OutOfMemoryError and str(copied) == str(error)


def test_memory_errors_without_a_size_keep_their_words() -> None:
    class Short(MemoryError):
        pass

    for error in (Short("words"), MemoryError("words"), OutOfMemoryError("words")):
        kind = type(error)
        note_out_of_memory(error)
        assert str(error) == "words" and isinstance(error, kind)
        assert isinstance(error, OutOfMemoryError) is (kind is not MemoryError)
    assert str(OutOfMemoryError()) == ""
    other = ValueError()
    note_out_of_memory(other)
    assert type(other) is ValueError


# -- warnings --------------------------------------------------------------------------------------


def test_a_warning_is_about_the_line_of_the_program() -> None:
    def decorated() -> None:
        ours.call(lambda: warn_user("from inside", FutureWarning))

    with pytest.warns(FutureWarning, match="from inside") as caught:
        decorated()
    assert caught[0].filename == __file__

    @contextlib.contextmanager
    def block() -> Iterator[None]:
        yield

    outer = ModuleType("dovetail_dispatcher.part")
    vars(outer)["warn"] = warn_user
    exec("def work(): warn('in a block')\ndef outer(): work()", vars(outer))
    with pytest.warns(UserWarning, match="in a block") as caught, block():
        outer.outer()
    assert caught[0].filename == __file__


def test_a_warning_is_shown_once_for_each_line() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            warn_user("repeated")
        warn_user("repeated")
    assert len(caught) == 2


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin as a process does."""
    given, policy = set(own_module._given), own_module._policy
    reset_once_warnings()
    yield
    own_module._given.update(given)
    monkeypatch.setattr(own_module, "_policy", policy)


def given(call: Callable[[], object]) -> int:
    """Return how many warnings `call` gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return len(caught)


def test_some_warnings_are_given_once_in_a_process(once: None) -> None:
    def call() -> None:
        warn_user_once("first")
        warn_user_once("first")
        warn_user_once("second", site="a place")
        warn_user_once("third", site="a place")

    assert (given(call), given(call)) == (2, 0)
    reset_once_warnings()
    assert given(call) == 2
    reset_once_warnings("never")
    assert given(call) == 0


def test_all_warnings_are_given_each_time_if_a_program_wants_so(once: None) -> None:
    assert not is_warn_always_enabled()
    set_warn_always(True)
    assert is_warn_always_enabled()
    assert given(lambda: [warn_user_once("again") for _ in range(3)]) == 3
    set_warn_always(False)
    assert not is_warn_always_enabled()
    assert given(lambda: [warn_user_once("again") for _ in range(3)]) == 1
    with pytest.raises(RuntimeError, match="expects a bool, but got int"):
        set_warn_always(1)  # type: ignore[arg-type]  # no bool


def test_the_category_of_a_warning_is_the_callers_choice(once: None) -> None:
    with pytest.warns(DeprecationWarning, match="old"):
        warn_user_once("old", DeprecationWarning)
