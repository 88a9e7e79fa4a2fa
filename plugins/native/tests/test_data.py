"""Compiled functions that make tensors of data: they do what their texts do."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest

core = pytest.importorskip("dovetail_native._core", reason="built without a C compiler")
dovetail = pytest.importorskip("dovetail", reason="the front end is not installed")

from dovetail_dispatcher import compiled_code  # noqa: E402 - after what may be missing

from .recorder import Recorder  # noqa: E402

pytestmark = [
    pytest.mark.skipif(not compiled_code.is_in_force(), reason="it is switched off"),
    pytest.mark.cpu_only(reason="the entries are for the cpu"),
    pytest.mark.filterwarnings("ignore"),
]

NAMES = ("tensor", "as_tensor", "from_numpy")
TYPES = "?bBhHiIlLqQefdgFDGSUOMm"


class Sub(np.ndarray):
    pass


def read_only() -> Any:
    array = np.ones(3)
    array.flags.writeable = False
    return array


def data() -> list[Any]:
    x = np.arange(12.0).reshape(3, 4)
    numbers = [0.5, -0.0, 1e300, 1e-300, float("nan"), float("inf"), 3, -(1 << 63), 1 << 63, True]
    return [
        *[np.zeros((2, 3), kind) for kind in TYPES],
        *[np.zeros((), kind) for kind in "?bdf"],
        *(x, x.T, x[1:], x[:, ::2], x[::-1], np.empty((0, 3)), np.asfortranarray(x)),
        *(x.astype(">f8"), x.view(Sub), read_only(), np.float64(1.5), np.ones(3, "f4")[0]),
        np.zeros(3, [("a", "f4"), ("b", "f4")])["b"],
        *numbers,
        *[[each] for each in numbers],
        *([1.0, 2.0], [1, 2], [True, False], [1, 2.0], [True, 1], [], [[1.0]], (1.0, 2.0)),
        *([1, 1 << 64], [np.float64(1)], ["a"], "a", None, 1j, [1j], range(3), object()),
        dovetail.ones(2),
        bytearray(b"ab"),
    ]


def seen(call: Callable[[], Any]) -> Any:
    try:
        made = call()
    except Exception as error:
        return type(error), str(error)
    return (
        type(made),
        made._signature,
        made.shape,
        made.stride(),
        repr(made.tolist()),
        np.signbit(made.numpy()).tolist() if made.dtype.is_floating_point else None,
        made._counter is None,
        made.is_inference() or made._version,
    )


MODES: list[Callable[[], AbstractContextManager[Any]]] = [
    nullcontext,
    dovetail.no_grad,
    dovetail.inference_mode,
]


@pytest.mark.parametrize("default", [dovetail.float32, dovetail.float64, dovetail.float16])
@pytest.mark.parametrize("name", NAMES)
def test_tensors_are_those_of_the_text(name: str, default: Any) -> None:
    entry = getattr(dovetail, name)
    assert type(entry) is core.Entry
    before, made = dovetail.get_default_dtype(), 0
    dovetail.set_default_dtype(default)
    try:
        for mode in MODES:
            for each in data():
                with mode():
                    found = seen(lambda each=each: entry(each))  # type: ignore[misc]
                    assert found == seen(lambda each=each: entry.text(each)), each  # type: ignore[misc]
                made += len(found) > 2
    finally:
        dovetail.set_default_dtype(before)
    assert made > 60


@pytest.mark.parametrize("name", NAMES)
def test_other_calls_are_the_texts(name: str) -> None:
    entry, array = getattr(dovetail, name), np.ones(2)
    for args, kwargs in [((), {}), ((array, None, None, None), {}), ((array,), {"unknown": 1})]:
        with pytest.raises(TypeError) as found:
            entry(*args, **kwargs)
        with pytest.raises(TypeError) as expected:
            entry.text(*args, **kwargs)
        assert str(found.value).replace(name, "") == str(expected.value).replace(name, "")
    if name != "from_numpy":
        assert entry([1, 2], dtype=dovetail.float64).dtype is dovetail.float64
        assert entry([1, 2], device="meta").is_meta
        with dovetail.device("meta"):
            assert entry([1.0]).is_meta
    assert pickle.loads(pickle.dumps(entry)) is entry


@pytest.mark.parametrize("name", ["as_tensor", "from_numpy"])
def test_memory_is_shared(name: str) -> None:
    array = np.zeros((2, 3))
    made = getattr(dovetail, name)(array)
    array[0, 1] = 5
    made[1, 0] = 7
    assert made.tolist() == array.tolist() == [[0, 5, 0], [7, 0, 0]]
    assert made.numpy().base is not None
    with pytest.raises(ValueError, match="resize"):
        array.resize((5, 5), refcheck=True)


@pytest.mark.parametrize("name", ["tensor", "as_tensor"])
def test_modes_see_the_function(name: str) -> None:
    with Recorder() as mode:
        getattr(dovetail, name)([1.0])
    assert mode.seen[0] is getattr(dovetail, name)


@pytest.mark.parametrize("blocked", ["", "cpu"])
def test_backend_is_loaded_by_the_first_tensor(blocked: str) -> None:
    program = "import dovetail; x = dovetail.tensor([1.0, 2.0]); print((x + x).tolist())"
    environment = {**os.environ, "DOVETAIL_BLOCK": blocked}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if blocked:
        assert "PluginError" in done.stderr.splitlines()[-1]
    else:
        assert done.stdout == "[2.0, 4.0]\n"
