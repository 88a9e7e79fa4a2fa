"""Devices: how they are written, compared and made the default."""

from __future__ import annotations

import copy
import pickle
import threading
from contextvars import copy_context
from typing import Any

import pytest

from dovetail_kernel.devices.device import Device, get_default_device, set_default_device
from dovetail_kernel.sockets import DEVICE_TYPES


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DEVICE_TYPES, "plugs", ())


@pytest.mark.parametrize(
    "device",
    [Device("cuda:1"), Device("cuda", 1), Device(Device("cuda:1")), Device(type="cuda", index=1)],
)
def test_every_spelling_gives_the_same_device(device: Device) -> None:
    assert (device.type, device.index) == ("cuda", 1)
    assert device == Device("cuda:1") and hash(device) == hash(Device("cuda:1"))


def test_a_device_without_index_has_none() -> None:
    assert Device("cuda").index is None


def test_devices_are_compared_exactly() -> None:
    assert Device("cpu") != Device("cpu:0")


def test_a_device_is_not_equal_to_its_string() -> None:
    string: object = "cpu"
    assert Device("cpu") != string


def test_repr_and_str() -> None:
    assert [repr(Device("cuda:1")), repr(Device("cpu"))] == [
        "device(type='cuda', index=1)",
        "device(type='cpu')",
    ]
    assert [str(Device("cuda:1")), str(Device("cpu"))] == ["cuda:1", "cpu"]


def test_copies_and_pickles_are_equal() -> None:
    device = Device("cuda:1")
    assert copy.deepcopy(device) == pickle.loads(pickle.dumps(device)) == device


def test_attributes_cannot_be_written() -> None:
    with pytest.raises(AttributeError, match="not writable"):
        Device("cpu").type = "cuda"


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (
            ("foo",),
            RuntimeError,
            r"Expected one of cpu, cuda, .* device type at start of device string: foo",
        ),
        (("CUDA",), RuntimeError, r"Did you mean 'cuda'"),
        (("",), RuntimeError, "Device string must not be empty"),
        (("cuda:",), RuntimeError, "Invalid device string: 'cuda:'"),
        (("cuda:-1",), RuntimeError, "Invalid device string: 'cuda:-1'"),
        (("cuda:01",), RuntimeError, "Invalid device string: 'cuda:01'"),
        (("cuda:1:2",), RuntimeError, "Invalid device string: 'cuda:1:2'"),
        (("cuda:2147483648",), RuntimeError, "Could not parse device index .2147483648. in"),
        (("cuda:" + "9" * 5000,), RuntimeError, "Could not parse device index '999.*at most 2147"),
        (("cuda", 2**31), RuntimeError, "Device index must be at most 2147483647, got 2147483648"),
        (
            ("cuda:1", 1),
            RuntimeError,
            "must not include an index because index was passed explicitly: cuda:1",
        ),
        (("cuda", -1), RuntimeError, "Device index must not be negative"),
        (("cuda", 1.5), TypeError, "argument 'index' .* must be int, not float"),
        (("cuda", True), TypeError, "argument 'index' .* must be int, not bool"),
        ((None,), TypeError, r"invalid combination of arguments - got \(NoneType\)"),
        ((Device("cuda"), 1), TypeError, "argument 'type' .* must be str"),
        ((1,), RuntimeError, "Cannot access accelerator device when none is available"),
    ],
)
def test_what_is_no_device_is_an_error(
    arguments: tuple[Any, ...], kind: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dovetail_kernel.devices.device.accelerator", lambda: None)
    with pytest.raises(kind, match=message):
        Device(*arguments)


def test_large_indices_are_kept() -> None:
    assert Device("cuda:300").index == 300


def test_the_default_is_cpu() -> None:
    assert get_default_device() == Device("cpu")


def test_a_device_is_the_default_inside_its_block() -> None:
    with Device("meta") as entered:
        assert get_default_device() is entered
        with Device("cuda"):
            assert get_default_device() == Device("cuda")
        assert get_default_device() == Device("meta")
    assert get_default_device() == Device("cpu")


def test_the_default_is_restored_after_an_exception() -> None:
    with pytest.raises(KeyError), Device("meta"):
        raise KeyError
    assert get_default_device() == Device("cpu")


def test_a_block_takes_precedence_over_the_chosen_default() -> None:
    def choose() -> list[Device]:
        set_default_device("meta")
        chosen = get_default_device()
        with Device("cpu"):
            inside = get_default_device()
        set_default_device(None)
        return [chosen, inside, get_default_device()]

    assert copy_context().run(choose) == [Device("meta"), Device("cpu"), Device("cpu")]


def test_a_chosen_default_must_be_a_device() -> None:
    with pytest.raises(RuntimeError, match="device string: foo"):
        set_default_device("foo")
    assert get_default_device() == Device("cpu")


def test_a_new_thread_starts_from_cpu() -> None:
    seen: list[Device] = []
    with Device("meta"):
        thread = threading.Thread(target=lambda: seen.append(get_default_device()))
        thread.start()
        thread.join()
    assert seen == [Device("cpu")]
