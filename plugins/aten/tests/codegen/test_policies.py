"""Every operator has exactly one policy of each kind: what follows from its shape, or what its
entry says instead.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dovetail_aten import codegen
from dovetail_aten._generated import policies
from dovetail_aten.codegen import DeclarationError, NativeFunction, read_native_functions
from dovetail_aten.codegen.source_functions import public_functions

SINE = "- func: sine(Tensor self) -> Tensor\n"
TOTAL = "- func: total(Tensor self, int dim, bool keepdim=False) -> Tensor\n"
OTHER = "- func: other(Tensor x) -> Tensor\n"
PART = "- func: part(Tensor(a) self) -> Tensor(a)\n"


def read(folder: Path, text: str) -> list[NativeFunction]:
    path = folder / "native_functions.yaml"
    path.write_text(text, encoding="utf-8")
    return read_native_functions(path)


@pytest.mark.parametrize(
    ("text", "meta", "batching"),
    [
        (SINE + "  shape: elementwise\n", "elementwise", "elementwise"),
        (SINE + "  shape: elementwise.wave\n", "wave", "elementwise"),
        (TOTAL + "  shape: reduce\n", "reduce", "reduce"),
        (TOTAL + "  shape: reduce\n  batching: whole\n", "reduce", "whole"),
        (PART + "  shape: view.part\n", "part", "part"),
        (PART + "  shape: view.part\n  batching: slice\n", "part", "slice"),
        (SINE + "  shape: data_dependent\n  tags: dynamic_output_shape\n", "", "data_dependent"),
        (SINE + "  composite: implicit.sine\n", "", ""),
        (SINE + "  composite: explicit.sine\n  batching: refuse\n", "", "refuse"),
        (
            SINE + "  composite: explicit.sine\n  shape: elementwise\n  batching: none\n",
            "elementwise",
            "",
        ),
    ],
)
def test_rules_follow_from_the_shape_unless_the_entry_names_others(
    tmp_path: Path, text: str, meta: str, batching: str
) -> None:
    (function,) = read(tmp_path, text)
    assert (function.policies.meta, function.policies.batching) == (meta, batching)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (SINE + "  shape: elementwise\n", "pointwise"),
        (PART + "  shape: view.part\n", "view"),
        (SINE + "  shape: unmarked_view.part\n", "unmarked_view"),
        (TOTAL + "  shape: along_dim\n", "other"),
        (TOTAL + "  shape: reduce\n", "other"),
        (SINE + "  shape: custom.noise\n  tags: nondeterministic_seeded\n", "random"),
    ],
)
def test_the_operator_table_keeps_what_routes_ask_for(tmp_path: Path, text: str, kind: str) -> None:
    assert [function.kind for function in read(tmp_path, text)] == [kind]


def test_variants_have_the_policies_of_their_operator(tmp_path: Path) -> None:
    functions = read(tmp_path, SINE + "  shape: elementwise\n  autogen: sine_, sine.out\n")
    assert [function.policies.shape for function in functions] == ["elementwise"] * 3


@pytest.mark.parametrize(
    ("line", "public"),
    [("", ["sine"]), ("  public: inplace\n", ["sine", "sine_"]), ("  public: false\n", [])],
)
def test_an_in_place_variant_is_a_method_unless_it_is_declared_public(
    tmp_path: Path, line: str, public: list[str]
) -> None:
    text = SINE + "  variants: function, method\n  autogen: sine_\n" + line
    assert [f.name for f in read(tmp_path, text) if f.is_public] == public


def test_a_policy_of_autocast_is_for_every_device_unless_one_is_named(tmp_path: Path) -> None:
    everywhere, on_cuda = read(
        tmp_path, SINE + "  autocast: fp32\n" + TOTAL + "  autocast: {cuda: promote}\n"
    )
    assert everywhere.policies.autocast == (("cpu", "fp32"), ("cuda", "fp32"))
    assert on_cuda.policies.autocast == (("cuda", "promote"),)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (SINE + "  shape: round\n", 2, "illegal shape 'round'. It is one of: elementwise, "),
        (SINE + "  shape: view.\n", 2, "illegal shape 'view.'"),
        (
            SINE + "  composite: implicit.sine\n  shape: elementwise\n",
            3,
            "an operator made of others has their shapes. Remove 'shape'",
        ),
        (SINE + "  shape: view.sine\n", 2, "no result shares memory. Mark it in the schema"),
        (PART + "  shape: unmarked_view.part\n", 2, "shares the memory of an argument. Write"),
        (OTHER + "  shape: unmarked_view.f\n", 2, "first argument is not 'self'. Name what"),
        (PART + "  shape: elementwise\n", 2, "shares the memory of an argument. Write view."),
        (SINE + "  shape: along_dim\n", 2, "there is no argument 'dim'. Name it so, or"),
        (SINE + "  shape: factory\n", 2, "no argument 'dtype' or 'device'. Add them, or"),
        (SINE + "  shape: data_dependent\n", 2, "no tag says so. Add one of the tags"),
        (SINE + "  composite: implicit.s\n  batching: f\n", 3, "batched as they are. Remove"),
        (SINE + "  shape: elementwise\n  batching: none\n", 3, "only a composite works without"),
        (SINE + "  shape: elementwise\n  batching: a b\n", 3, "illegal batching 'a b'. Name a"),
        (
            SINE + "  shape: elementwise\n  batching: elementwise\n",
            3,
            "says already that the batching rule is elementwise. Remove 'batching'.",
        ),
        (PART + "  shape: view.part\n  batching: part\n", 3, "the batching rule is part. Remove"),
        (TOTAL + "  shape: reduce\n  result: sum\n", 3, "illegal result 'sum'. Dtypes of results"),
        (TOTAL + "  shape: reduce.f\n  result: bool\n", 3, "is said twice: by 'result' and by"),
        (
            SINE + "  shape: elementwise\n  result: bool\n",
            3,
            "the shape elementwise says the dtype",
        ),
        (TOTAL + "  shape: reduce\n  result: [bool, real]\n", 3, "2 dtypes for 1 results. Give"),
        (TOTAL + "  shape: reduce\n  promotion: same\n", 3, "only operands of an elementwise"),
        (SINE + "  autocast: fp16\n", 2, "illegal autocast 'cpu: fp16'. Policies are: lower_"),
        (SINE + "  autocast: {xpu: fp32}\n", 2, "devices: cpu, cuda."),
        (SINE + "  autocast: [fp32]\n", 2, "Write a policy, or {cpu: policy, cuda: policy}."),
        (SINE + "  public: no\n", 2, "illegal public 'no'. Write false"),
        (SINE + "  public: inplace\n", 2, "there is no in-place variant. Add it to 'autogen'"),
        (
            SINE
            + "- func: sine.o(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
            + "  derived_from: sine\n  shape: elementwise\n",
            4,
            "the policies are those of sine. Remove shape.",
        ),
    ],
)
def test_a_policy_that_cannot_be_meant_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    with pytest.raises(DeclarationError, match=rf"^native_functions\.yaml:{line}: ") as raised:
        read(tmp_path, text)
    assert words in str(raised.value)


# -- libraries with rules --------------------------------------------------------------------------


@pytest.fixture
def library(tmp_path: Path) -> codegen.Library:
    """A library that has rules for the meta device and for batches."""
    folder = tmp_path / "waves"
    for room in ("meta", "batching"):
        (folder / room).mkdir(parents=True)
        (folder / room / "rules.py").write_text("def elementwise(op):\n    return op\n")
    return codegen.Library("waves", folder)


def generated(library: codegen.Library, text: str) -> str:
    (library.folder / "native_functions.yaml").write_text(text, encoding="utf-8")
    return codegen.generate(library)["policies.py"]


def test_rules_are_listed_with_their_modules_and_operators(library: codegen.Library) -> None:
    namespace: dict[str, object] = {}
    exec(
        generated(
            library,
            SINE + "  shape: elementwise\n  autogen: sine_\n  autocast: {cpu: fp32}\n"
            "- func: whole(Tensor self) -> bool\n  shape: data_dependent\n  batching: elementwise\n"
            "  tags: data_dependent_output\n",
        ),
        namespace,
    )
    assert namespace["META"] == (("waves.meta.rules", "elementwise", (), "sine"),)
    assert namespace["BATCHING"] == (("waves.batching.rules", "elementwise", "sine whole"),)
    assert namespace["AUTOCAST"] == (("cpu", "fp32", "sine"),)
    assert namespace["DATA_DEPENDENT"] == ("aten::whole",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SINE, "sine has neither a shape nor a composite. Add shape: elementwise, "),
        (PART + "  shape: view\n", "has the shape view, which does not say enough. Write view.<"),
        (SINE + "  shape: same_as\n", "sine has no batching rule: none follows from the shape"),
        (
            SINE + "  shape: custom.wave\n  batching: elementwise\n",
            "meta function 'wave' of sine is not defined. Define it in ",
        ),
        (
            SINE + "  shape: elementwise\n  batching: wave\n",
            "batching function 'wave' of sine is not defined. Define it in ",
        ),
    ],
)
def test_a_policy_that_is_missing_is_named_with_the_entry(
    library: codegen.Library, text: str, words: str
) -> None:
    with pytest.raises(DeclarationError, match=r"^native_functions\.yaml:1: ") as raised:
        generated(library, text)
    assert words in str(raised.value)


def test_two_functions_of_one_name_are_refused(library: codegen.Library) -> None:
    (library.folder / "meta" / "more.py").write_text("\n\ndef elementwise(op):\n    return op\n")
    with pytest.raises(DeclarationError, match=r"^meta/rules\.py:1: waves\.meta\.more has a fun"):
        generated(library, SINE + "  shape: elementwise\n")


@pytest.mark.parametrize(
    "policy", ["autocast: fp32", "shape: custom.wave", "shape: elementwise\n  batching: wave"]
)
def test_a_library_without_rules_registers_them_itself(tmp_path: Path, policy: str) -> None:
    (tmp_path / "native_functions.yaml").write_text(f"{SINE}  {policy}\n", encoding="utf-8")
    with pytest.raises(DeclarationError, match=r"no folders 'meta' and 'batching'. Register them"):
        codegen.generate(codegen.Library("waves", tmp_path))


def test_a_library_without_rules_needs_no_shapes(tmp_path: Path) -> None:
    (tmp_path / "native_functions.yaml").write_text(SINE, encoding="utf-8")
    assert "policies.py" not in codegen.generate(codegen.Library("waves", tmp_path))


# -- the base library ------------------------------------------------------------------------------


@pytest.mark.parametrize("room", ["meta", "batching"])
def test_every_rule_of_the_base_library_is_declared(room: str) -> None:
    library = codegen.Library.of_folder(Path(codegen.__file__).parent.parent)
    rows = {"meta": policies.META, "batching": policies.BATCHING}[room]
    declared = {row[1] for row in rows}
    text = "".join([path.read_text() for path in library.modules(room)])
    for name in public_functions(library.modules(room)).keys() - {"dovetail_backend", "register"}:
        # What no entry names is a helper, which the rules use, or a hook of the plugin.
        assert name in declared or len(re.findall(rf"\b{name}\b", text)) > 1, name
