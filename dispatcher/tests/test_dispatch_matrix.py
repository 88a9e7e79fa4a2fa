"""The computed table, row by row: which kernel each runtime key gets from each set of
registrations.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dovetail_dispatcher import Library, dispatch_table

CIA, CEA, CEANF = (
    "CompositeImplicitAutograd",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)
NESTED, BATCHED = "CompositeImplicitAutogradNestedTensor", "FuncTorchBatchedDecomposition"

COLUMNS = (
    *(
        "Undefined",
        "CPU",
        "CUDA",
        "Meta",
        "SparseCPU",
        "QuantizedCPU",
        "NestedTensorCPU",
        "AutogradOther",
    ),
    *("AutogradCPU", "AutogradCUDA", "AutogradNestedTensor", "ADInplaceOrView", "FuncTorchBatched"),
)

TAGS = {
    "K": "kernel",
    "E": "default backend kernel",
    "I": "math kernel",
    "A": "autograd kernel",
    "N": "nested kernel",
    "B": "batched kernel",
    "F": "backend fallback",
    "f": "backend fallback",
    "AMB": "ambiguous autogradother",
    "–": "missing",
}

ROWS = {
    (): "– – – F – – – F F F – f F",
    ("CPU",): "– K – F – – – F F F – f F",
    (CIA,): "I I I I I I I I I I I f F",
    (CEA,): "E E E E E E – F F F – f F",
    (CEANF,): "E E E E – E – F F F – f F",
    ("Autograd",): "– – – F – – – A A A A f F",
    ("CPU", "Autograd"): "– K – F – – – A A A A f F",
    ("CPU", CIA): "I K I I I I I I F I I f F",
    ("CPU", CIA, "Autograd"): "I K I I I I I I A I I f F",
    (CIA, "Autograd"): "I I I I I I I I I I I f F",
    (CEA, CIA): "E E E E E E – F F F – f F",
    (CEA, "Autograd"): "E E E E E E – A A A A f F",
    (CEA, CIA, "Autograd"): "E E E E E E – A A A A f F",
    (CEANF, CEA): "E E E E E E – F F F – f F",
    (CEANF, CIA): "E E E E I E I I I I I f F",
    ("FPGA", CIA): "I I I I I I I AMB I I I f F",
    ("SparseCPU", CIA): "I I I I K I I AMB I I I f F",
    ("SparseCPU", CEA, CIA): "E E E E K E – AMB F F – f F",
    ("QuantizedCPU", CIA, "Autograd"): "I I I I I K I AMB I I I f F",
    ("SparseCPU", CIA, "AutogradOther"): "I I I I K I I K I I I f F",
    ("NestedTensorCPU", CIA): "I I I I I I K I I I – f F",
    (NESTED,): "– – – F – – N F F F N f F",
    (CIA, NESTED): "I I I I I I N I I I N f F",
    ("AutogradCPU", CIA): "I I I I I I I I K I I f F",
    (BATCHED,): "– – – F – – – F F F – f B",
}


def register(keys: tuple[str, ...], library: Callable[..., Library]) -> None:
    """Define ``matrix::f`` and register a kernel at each of the keys."""
    lib = library("matrix", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    for key in keys:
        lib.impl("f", lambda x: x, key)


@pytest.mark.parametrize("registered", ROWS, ids=lambda row: "+".join(row) or "none")
def test_the_computed_table_is_that_of_pytorch(
    registered: tuple[str, ...], library: Callable[..., Library]
) -> None:
    register(registered, library)
    table = dispatch_table("matrix::f")
    assert {key: table[key].tag for key in COLUMNS} == dict(
        zip(COLUMNS, [TAGS[letter] for letter in ROWS[registered].split()], strict=True)
    )


@pytest.mark.parametrize("registered", ROWS, ids=lambda row: "+".join(row) or "none")
def test_the_table_does_not_depend_on_the_order_of_registration(
    registered: tuple[str, ...], library: Callable[..., Library]
) -> None:
    lib = library("matrix", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.define("g(Tensor x) -> Tensor")
    for forward, backward in zip(registered, reversed(registered), strict=True):
        lib.impl("f", lambda x: x, forward)
        lib.impl("g", lambda x: x, backward)
    tags = [[(row.key.name, row.tag) for row in dispatch_table(f"matrix::{name}")] for name in "fg"]
    assert tags[0] == tags[1]


def test_the_fallback_of_ADInplaceOrView_falls_through_and_that_of_AutogradCPU_does_not(
    library: Callable[..., Library],
) -> None:
    library("matrix", "DEF").define("f(Tensor x) -> Tensor")
    table = dispatch_table("matrix::f")
    kernels = table["ADInplaceOrView"].kernel, table["AutogradCPU"].kernel
    assert [kernel is not None and kernel.is_fallthrough for kernel in kernels] == [True, False]


def test_a_table_prints_one_line_per_key_that_has_a_kernel(library: Callable[..., Library]) -> None:
    lib = library("matrix", "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x, "CPU")
    text = str(dispatch_table("matrix::f"))
    assert "\nCPU: registered at" in f"\n{text}"
    assert "CUDA: " not in text.replace("AutogradCUDA: ", "").replace("AutocastCUDA: ", "")


def test_a_table_is_asked_for_runtime_keys_only(library: Callable[..., Library]) -> None:
    library("matrix", "DEF").define("f(Tensor x) -> Tensor")
    with pytest.raises(
        KeyError, match=r"AutogradCPUU is no runtime key.*Did you mean 'AutogradCPU'"
    ):
        dispatch_table("matrix::f")["AutogradCPUU"]


def test_the_table_of_an_unknown_operator_is_an_error_with_a_suggestion(
    library: Callable[..., Library],
) -> None:
    library("matrix", "DEF").define("function(Tensor x) -> Tensor")
    with pytest.raises(
        RuntimeError,
        match=r"operator matrix::funktion does not exist.*Did you mean 'matrix::function'",
    ):
        dispatch_table("matrix::funktion")


@pytest.mark.parametrize(
    ("registered", "tag"),
    [
        ((CIA, "Autograd"), "math kernel"),
        (("CPU", CIA), "backend fallback"),
        (("CPU", CIA, "Autograd"), "autograd kernel"),
        ((CEA, CIA), "backend fallback"),
    ],
)
def test_a_composite_fills_an_autograd_slot_only_if_the_backend_has_no_kernel(
    registered: tuple[str, ...], tag: str, library: Callable[..., Library]
) -> None:
    # Trap 3.
    register(registered, library)
    assert dispatch_table("matrix::f")["AutogradCPU"].tag == tag


@pytest.mark.parametrize(
    ("registered", "tag"),
    [
        (("SparseCPU", CIA), "ambiguous autogradother"),
        (("SparseCPU", CEA, CIA, "Autograd"), "ambiguous autogradother"),
        (("SparseCPU", CIA, "AutogradOther"), "kernel"),
    ],
)
def test_a_composite_beside_a_sparse_kernel_is_ambiguous_at_AutogradOther(
    registered: tuple[str, ...], tag: str, library: Callable[..., Library]
) -> None:
    # Trap 5.
    register(registered, library)
    assert dispatch_table("matrix::f")["AutogradOther"].tag == tag
