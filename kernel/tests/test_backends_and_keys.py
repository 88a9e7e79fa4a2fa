"""The open table of backends, and the dispatch keys and key sets that follow from it."""

from __future__ import annotations

import copy
import pickle
import threading
from typing import Any

import pytest

from dovetail_kernel.devices import backends
from dovetail_kernel.devices.array_backend import ArrayBackend
from dovetail_kernel.devices.backends import (
    Backend,
    all_backends,
    backend,
    backend_of_signature,
    backends_of_signature,
    usable_device_types,
    wrapped_backend,
)
from dovetail_kernel.devices.device import Device
from dovetail_kernel.keys import dispatch_key
from dovetail_kernel.keys.dispatch_key import (
    DispatchKey,
    backend_key,
    dispatch_key_for_device,
    is_included_in_alias,
    parse_dispatch_key,
)
from dovetail_kernel.keys.dispatch_keyset import (
    DispatchKeySet,
    after_autograd_keyset,
    full_after,
    full_keyset,
    runtime_keys,
)
from dovetail_kernel.signature import CPU_BIT, CUDA_BIT, GRAD, META_BIT
from dovetail_kernel.sockets import DEVICE_TYPES
from dovetail_kernel.types.bits import allocate_bit


@pytest.fixture(autouse=True)
def fresh_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a test add backends that the next one does not see."""
    monkeypatch.setattr(DEVICE_TYPES, "plugs", ())
    devices = tuple(
        [each for each in backends._in_order if each.is_device]
    )  # a transform may have run before
    monkeypatch.setattr(
        backends, "_by_name", {each.name: backends._by_name[each.name] for each in devices}
    )
    monkeypatch.setattr(
        backends, "_by_bit", {bit: each for bit, each in backends._by_bit.items() if each.is_device}
    )
    monkeypatch.setattr(backends, "_in_order", devices)
    monkeypatch.setattr(dispatch_key, "_by_name", dict(dispatch_key._by_name))


@pytest.fixture
def dsp() -> Backend:
    return backend("dsp", create=True)


# -- backends --------------------------------------------------------------------------------------


def test_the_predefined_backends_are_in_the_order_of_torch() -> None:
    assert [each.key_name for each in all_backends()[:15]] == [
        *("CPU", "CUDA", "HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA"),
        *("PrivateUse1", "PrivateUse2", "PrivateUse3"),
    ]
    assert all_backends()[-1].key_name == "Meta"


def test_a_new_backend_comes_just_below_meta(dsp: Backend) -> None:
    later = backend("dsp2", create=True)
    assert (all_backends()[-2], all_backends()[-1]) == (later, backend("meta"))
    assert (
        backend("privateusethree").priority
        < dsp.priority
        < later.priority
        < backend("meta").priority
    )


def test_the_same_name_gives_the_same_backend(dsp: Backend) -> None:
    assert backend("dsp", create=True) is backend("dsp") is dsp


def test_threads_that_create_together_get_one_backend() -> None:
    made: list[Backend] = []
    threads = [
        threading.Thread(target=lambda: made.append(backend("dsp", create=True))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, made))) == 1


def test_an_unknown_backend_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(RuntimeError, match="Did you mean 'cuda'"):
        backend("cudaa")


@pytest.mark.parametrize("name", ["Dsp", "1d", "a-b", "", "fpga", "mkldnn"])
def test_a_name_that_cannot_be_a_device_type_leaves_the_table_alone(name: str) -> None:
    before = all_backends()
    with pytest.raises(RuntimeError, match=r"device type"):
        backend(name, create=True)
    assert all_backends() == before


def test_signature_bits_of_common_backends_are_fixed() -> None:
    assert [backend(name).bit for name in ("cpu", "cuda", "meta")] == [CPU_BIT, CUDA_BIT, META_BIT]


def test_signature_bits_of_others_are_handed_out_once_and_above_bit_29(dsp: Backend) -> None:
    bit = dsp.bit
    assert bit == dsp.bit and bit >= 1 << 30 and bit.bit_count() == 1
    assert allocate_bit() not in (bit, 0)


def test_the_backend_of_a_signature(dsp: Backend) -> None:
    assert backend_of_signature(CPU_BIT | GRAD | 1).name == "cpu"
    assert backend_of_signature(dsp.bit | GRAD | 1) is dsp


def test_the_backends_of_a_call_key_are_ordered_by_priority(dsp: Backend) -> None:
    key = META_BIT | dsp.bit | CPU_BIT
    assert [each.name for each in backends_of_signature(key)] == ["cpu", "dsp", "meta"]
    assert backend_of_signature(key).name == "meta"


def test_a_signature_without_backend_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="has no backend"):
        backend_of_signature(GRAD)


class Numbers(ArrayBackend):
    array_types = (list,)


def test_arrays_are_attached_once(dsp: Backend) -> None:
    first = Numbers()
    dsp.attach(first)
    with pytest.raises(RuntimeError, match="already has arrays"):
        dsp.attach(Numbers())
    assert dsp.arrays is first and dsp.is_attached


def test_arrays_of_a_backend_that_is_not_loaded_are_an_error(dsp: Backend) -> None:
    with pytest.raises(RuntimeError, match="has no arrays yet"):
        _ = dsp.arrays


def test_the_backend_of_an_array_is_found_by_type(dsp: Backend) -> None:
    dsp.attach(Numbers())
    assert backends.backend_of_array([1]) is dsp
    assert backends.backend_of_array("text") is None


def test_an_index_alone_means_the_accelerator(dsp: Backend) -> None:
    dsp.attach(Numbers())
    assert str(Device(1)) == "dsp:1"


# -- keys ------------------------------------------------------------------------------------------


def test_keys_are_found_as_attribute_by_index_and_by_parsing() -> None:
    assert (
        DispatchKey.AutogradCPU is DispatchKey["AutogradCPU"] is parse_dispatch_key("AutogradCPU")
    )
    assert repr(DispatchKey.AutogradCPU) == "DispatchKey.AutogradCPU"


def test_a_key_knows_its_functionality_and_backend() -> None:
    key = DispatchKey.SparseCUDA
    assert (key.functionality, key.backend) == ("Sparse", backend("cuda"))
    assert (DispatchKey.Python.functionality, DispatchKey.Python.backend) == ("Python", None)


@pytest.mark.parametrize("name", ["Undefined", "Dense", "Autograd"])
def test_calls_never_end_at_undefined_blocks_and_aliases(name: str) -> None:
    assert not DispatchKey[name].is_runtime


def test_an_unknown_key_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"could not parse dispatch key: AutogradCPUU.*Did you mean 'AutogradCPU'",
    ):
        parse_dispatch_key("AutogradCPUU")


def test_unknown_attributes_and_items_raise_what_python_expects() -> None:
    assert not hasattr(DispatchKey, "Foo")
    with pytest.raises(KeyError, match="Foo"):
        DispatchKey["Foo"]


def test_a_pickle_makes_a_backend_that_is_not_known_yet() -> None:
    text = pickle.dumps(backend("cpu"))
    assert pickle.loads(text) is backend("cpu")
    assert pickle.loads(text.replace(b"cpu", b"tpu")) is backend("tpu")


def test_iteration_goes_from_low_to_high_priority() -> None:
    keys = list(DispatchKey)
    assert len(keys) == len(DispatchKey) and keys == sorted(keys)
    order = [*("Undefined", "CPU", "CUDA", "Meta", "Python"), "AutogradCPU", "AutogradCUDA"]
    assert [each.name for each in keys if each.name in order] == order


def test_keys_keep_their_identity_through_copies_and_pickles() -> None:
    key = DispatchKey.AutogradCPU
    assert copy.deepcopy(key) is pickle.loads(pickle.dumps(key)) is key


@pytest.mark.parametrize(
    "name", ["DSP", "QuantizedDSP", "SparseDSP", "SparseCsrDSP", "NestedTensorDSP", "AutogradDSP"]
)
def test_a_new_backend_has_its_own_keys(dsp: Backend, name: str) -> None:
    assert parse_dispatch_key(name).backend is dsp


def test_a_key_of_an_installed_backend_is_valid_before_it_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(DEVICE_TYPES, "plugs", (lambda: ["dsp"],))
    assert parse_dispatch_key("AutogradDSP") is backend_key("AutogradFunctionality", backend("dsp"))


@pytest.mark.parametrize(
    "alias",
    [
        "CompositeImplicitAutograd",
        "CompositeExplicitAutograd",
        "CompositeExplicitAutogradNonFunctional",
    ],
)
def test_a_new_backend_is_served_by_composite_kernels(dsp: Backend, alias: str) -> None:
    assert is_included_in_alias(DispatchKey["DSP"], DispatchKey[alias])
    assert runtime_keys(DispatchKey[alias]).has(DispatchKey["DSP"])


def test_a_new_backend_is_served_by_autograd_kernels(dsp: Backend) -> None:
    assert is_included_in_alias(DispatchKey["AutogradDSP"], DispatchKey.Autograd)
    assert not is_included_in_alias(DispatchKey["DSP"], DispatchKey.Autograd)


def test_the_key_of_a_device_type_has_no_index() -> None:
    with pytest.raises(
        RuntimeError, match="Expected device_type string to not have a device index; got cpu:0"
    ):
        dispatch_key_for_device("cpu:0")


def test_a_device_type_without_key_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="'mkldnn'"):
        dispatch_key_for_device("mkldnn")


# -- key sets --------------------------------------------------------------------------------------


def test_a_set_prints_from_low_to_high() -> None:
    assert (
        repr(DispatchKeySet.of(DispatchKey.AutogradCPU, DispatchKey.CPU))
        == "DispatchKeySet(CPU, AutogradCPU)"
    )


def test_two_backends_share_their_functionalities() -> None:
    keys = DispatchKeySet.of(DispatchKey.CPU, DispatchKey.CUDA, DispatchKey.AutogradCPU)
    assert keys.highestPriorityTypeId() is DispatchKey.AutogradCUDA


def test_removing_takes_the_functionality_away_from_every_backend() -> None:
    keys = DispatchKeySet.of(DispatchKey.CPU, DispatchKey.CUDA, DispatchKey.AutogradCPU)
    assert repr(keys.remove(DispatchKey.CPU)) == "DispatchKeySet(AutogradCPU, AutogradCUDA)"


def test_the_empty_set_is_undefined_and_false() -> None:
    assert not DispatchKeySet()
    assert DispatchKeySet().highestPriorityTypeId() is DispatchKey.Undefined


def test_keys_from_the_highest_are_those_left_as_each_is_taken_away() -> None:
    backend("dsp", create=True)
    names = ("CPU", "AutogradCUDA", "ADInplaceOrView", "DSP", "AutogradOther", "Python")
    sets = [DispatchKeySet.of(*[DispatchKey[each] for each in names[:n]]) for n in range(7)]
    sets += [full_keyset, full_keyset & after_autograd_keyset, sets[-1] - sets[1]]
    for keys in sets:
        left, rest = [], keys
        while (key := rest.highestPriorityTypeId()) is not DispatchKey.Undefined:
            left.append(key)
            rest = rest.remove(key)
        assert list(keys.from_highest()) == left
    assert sets[4].from_highest()[-1] is DispatchKey["DSP"]


def test_equal_sets_have_equal_hashes() -> None:
    one = DispatchKeySet.of(DispatchKey.CPU, DispatchKey.Python)
    other = DispatchKeySet.of(DispatchKey.Python, DispatchKey.CPU)
    assert one == other and hash(one) == hash(other)


def test_membership_is_has() -> None:
    assert DispatchKey.CPU in DispatchKeySet(DispatchKey.CPU)
    assert DispatchKey.Autograd not in full_keyset


@pytest.mark.parametrize("wrong", [[DispatchKey.CPU], ["CPU"], 1])
def test_a_set_is_made_of_keys(wrong: Any) -> None:
    with pytest.raises(TypeError, match="expected a DispatchKey"):
        DispatchKeySet(wrong)


@pytest.mark.parametrize("operation", ["__or__", "__and__", "__sub__"])
def test_sets_combine_with_sets_only(operation: str) -> None:
    assert getattr(DispatchKeySet(), operation)(DispatchKey.CPU) is NotImplemented


def test_no_set_holds_an_alias() -> None:
    with pytest.raises(RuntimeError, match="runtime_keys"):
        DispatchKeySet(DispatchKey.Autograd)


def test_sets_survive_their_raw_form() -> None:
    keys = DispatchKeySet.of(DispatchKey.CPU, DispatchKey.Python)
    assert DispatchKeySet.from_raw_repr(keys.raw_repr()) == keys


@pytest.mark.parametrize("raw", [-1, 1 << 63])
def test_bits_without_meaning_are_refused(raw: int) -> None:
    with pytest.raises(ValueError, match="is no DispatchKeySet"):
        DispatchKeySet.from_raw_repr(raw)


@pytest.mark.parametrize(
    "keys",
    [DispatchKeySet(DispatchKey.SparseCUDA), DispatchKeySet(), full_keyset],
    ids=["one", "empty", "full"],
)
def test_sets_survive_copying_and_pickling(keys: DispatchKeySet) -> None:
    assert copy.deepcopy(keys) == pickle.loads(pickle.dumps(keys)) == keys


def test_a_new_backend_wins_over_all_but_meta(dsp: Backend) -> None:
    keys = DispatchKeySet.of(DispatchKey["DSP"], DispatchKey.PrivateUse3)
    assert keys.highestPriorityTypeId() is DispatchKey["DSP"]
    assert keys.add(DispatchKey.Meta).highestPriorityTypeId() is DispatchKey.Meta


def test_predefined_sets_hold_backends_that_came_after_them(dsp: Backend) -> None:
    keys = DispatchKeySet.of(DispatchKey["DSP"], DispatchKey["AutogradDSP"])
    assert (keys & after_autograd_keyset).highestPriorityTypeId() is DispatchKey["DSP"]
    assert (keys & full_keyset) == keys


def test_full_after_a_key_has_what_is_below_it() -> None:
    below = full_after(DispatchKey.BackendSelect)
    assert below.has(DispatchKey.CPU) and not below.has(DispatchKey.BackendSelect)


def test_excluding_one_autograd_key_excludes_that_of_a_new_backend(dsp: Backend) -> None:
    keys = DispatchKeySet.of(DispatchKey["DSP"], DispatchKey["AutogradDSP"])
    assert repr(keys - DispatchKeySet(DispatchKey.AutogradCPU)) == "DispatchKeySet(DSP)"


def test_a_new_backend_shares_no_bit_with_one_that_came_before_one_that_is_gone(
    monkeypatch: pytest.MonkeyPatch, dsp: Backend
) -> None:
    later = backend("later", create=True)
    monkeypatch.delitem(backends._by_name, "dsp")
    assert backend("latest", create=True).component & later.component == 0


def test_the_backend_of_wrapped_tensors_is_no_device_and_above_all_others() -> None:
    wrapped = wrapped_backend()
    assert wrapped is wrapped_backend()
    assert all_backends()[-1] is wrapped
    assert (
        backends_of_signature(wrapped.bit | backend("cpu").bit | backend("meta").bit)[-1] is wrapped
    )
    assert backend_of_signature(wrapped.bit | backend("cpu").bit) is wrapped
    assert not wrapped.is_device
    assert wrapped.name not in usable_device_types()
    with pytest.raises(RuntimeError):
        Device(wrapped.name)
