"""Hunts for bytes of ``torch.save`` that `load` does not survive, and tries what an enemy would
write.

`DOVETAIL_FILES=100000` tries more of them, `DOVETAIL_FIRST_FILE` begins elsewhere.
"""

import io
import os
import pickle
import struct
from random import Random

import pytest
from damaged_files import check_tree
from limits import limited
from torch_pickles import (
    archive,
    checkpoint,
    damaged_checkpoint,
    legacy,
    records,
    torch_contents,
    valid_checkpoints,
)

import dovetail
from dovetail.serialization import clear_safe_globals, safe_globals

FILES = int(os.environ.get("DOVETAIL_FILES", "2000"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_FILE", "0"))
ORDINARY = valid_checkpoints()
REMEDIES = (
    "Save it again by dovetail.save",
    "Pass map_location=",
    "Change it in PyTorch",
    "Load it in",
)


def check(content, traced=True):
    """Load; return whether there is something in it, and not just the one error."""
    stream = io.BytesIO(content)
    stream.name = "the file"
    try:
        with limited(1 + len(content) / 50_000, 4e6 + 300 * len(content), traced=traced):
            loaded = dovetail.load(stream)
    except pickle.UnpicklingError as error:
        assert str(error).startswith("Weights only load failed: 'the file' names")
        assert "Unsupported global: GLOBAL " in str(error)
        return False
    except RuntimeError as error:
        message = str(error)
        assert message.startswith("can't load 'the file': ")
        assert any(remedy in message for remedy in REMEDIES)
        assert len(message) < 1500
        return False
    check_tree(loaded)
    return True


def test_a_random_damage_is_refused_or_leaves_a_valid_tree():
    refused = 0
    for seed in range(FIRST, FIRST + FILES):
        random = Random(seed)
        content = damaged_checkpoint(random, random.choice(ORDINARY))
        try:
            refused += not check(content, traced=seed < FIRST + 400 or seed % 64 == 0)
        except Exception as error:
            raise AssertionError(f"file {seed}: {content!r:.300}") from error
    assert FILES / 3 < refused < FILES


def test_valid_checkpoints_are_read_in_both_formats():
    for content in ORDINARY:
        assert check(content)
        assert check(legacy(content))


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def storage(kind=b"ctorch\nFloatStorage\n", key="0", size=b"K\x02"):
    return b"(" + text("storage") + kind + text(key) + text("cpu") + size + b"tQ"


REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n"
HOOKS = b"ccollections\nOrderedDict\n)R"
TENSOR = REBUILD + b"(" + storage() + b"K\x00K\x02\x85K\x01\x85\x89" + HOOKS + b"tR"
LARGE = b"\x8a\x06" + (2**40).to_bytes(6, "little")
EIGHT = struct.pack("<2f", 1, 2)
FORBIDDEN = {
    "a command": (b"cos\nsystem\nX\x04\x00\x00\x00true\x85R", "os.system"),
    "a command by stack": (
        text("posix") + text("system") + b"\x93" + text("true") + b"\x85R",
        "posix.system",
    ),
    "eval": (b"c__builtin__\neval\nX\x01\x00\x00\x001\x85R", "builtins.eval"),
    "getattr": (b"c__builtin__\ngetattr\n", "builtins.getattr"),
    "a command inside of a tensor": (
        b"ctorch._tensor\n_rebuild_from_type_v2\n(cos\nsystem\nctorch\nTensor\n)Nt" + b"R",
        "os.system",
    ),
    "a pickle inside of the pickle": (
        b"ctorch.storage\n_load_from_bytes\nC\x00\x85R",
        "torch.storage._load_from_bytes",
    ),
    "an attribute of an allowed class": (
        text("collections") + text("OrderedDict.__init__") + b"\x93",
        "collections.OrderedDict.__init__",
    ),
    "a class of PyTorch": (b"ctorch.nn.modules.linear\nLinear\n", "torch.nn.modules.linear.Linear"),
}
REFUSED = {
    "an opcode of extensions": (b"\x82\x01", "opcode EXT1"),
    "another opcode of extensions": (b"\x83\x01\x00", "opcode EXT2"),
    "a third opcode of extensions": (b"\x84\x01\x00\x00\x00", "opcode EXT4"),
    "an instance of old": (b"(ios\nsystem\n", "opcode INST"),
    "an object of old": (b"(ccollections\nOrderedDict\no", "opcode OBJ"),
    "a buffer": (b"\x97", "opcode NEXT_BUFFER"),
    "a state for a class": (
        b"ccollections\nOrderedDict\n}" + text("a") + b"K\x01sb",
        "a type is given a state",
    ),
    "a class for an OrderedDict": (
        HOOKS + b"}" + text("__class__") + b"Nsb",
        "'__class__' is no attribute",
    ),
    "a method for an OrderedDict": (
        HOOKS + b"}" + text("items") + b"Nsb",
        "'items' is no attribute",
    ),
    "a state for a tensor": (TENSOR + b"}b", "a Tensor is given a state"),
    "an item of a tensor": (TENSOR + b"K\x00K\x05s", "sets items of a Tensor"),
    "appending to a tensor": (TENSOR + b"K\x00a", "appends to a Tensor"),
    "a call of a tensor class": (b"ctorch\nTensor\nK\x05\x85R", "calls Tensor"),
    "a call of a storage class": (
        b"ctorch\nFloatStorage\n" + LARGE + b"\x85R",
        "calls FloatStorage",
    ),
    "a call of a string": (text("a") + b")R", "calls str"),
    "a call of a list with a list": (b"]]R", "with a list for arguments"),
    "a large bytearray": (b"c__builtin__\nbytearray\n" + LARGE + b"\x85R", "made of no bytes"),
    "another codec": (
        b"c_codecs\nencode\n" + text("a") + text("zip") + b"\x86R",
        "no string of their values",
    ),
    "a Counter of a number": (b"ccollections\nCounter\n" + LARGE + b"\x85R", "made of no dict"),
    "an OrderedDict of numbers": (b"ccollections\nOrderedDict\n]K\x01a\x85R", "no list of pairs"),
    "a set of lists": (b"c__builtin__\nset\n]]a\x85R", "a list is no key"),
    "too many arguments": (b"ctorch\nSize\n(K\x01K\x01K\x01tR", "does not take the arguments"),
    "a large storage": (storage(size=LARGE), "storage '0' has 8 bytes in the file"),
    "a storage of another size": (storage(size=b"K\x03"), "storage '0' has 8 bytes"),
    "a storage outside of the archive": (storage(key="../../x"), "'data/../../x' is missing"),
    "a storage of no class": (storage(kind=b"ctorch\nfloat32\n"), "a storage has no class"),
    "something else outside": (b"K\x01Q", "something else than a storage is outside"),
    "a tensor beyond its storage": (
        REBUILD + b"(" + storage() + b"K\x00K\x03\x85K\x01\x85\x89NtR",
        "reaches to element 2 of a storage that has 2",
    ),
    "a large tensor": (
        REBUILD + b"(" + storage() + b"K\x00" + LARGE + LARGE + b"\x86K\x00K\x00\x86\x89NtR",
        "larger than memory can be",
    ),
    "a negative stride": (
        REBUILD + b"(" + storage() + b"K\x01K\x02\x85J\xff\xff\xff\xff\x85\x89NtR",
        "no non-negative integer",
    ),
    "an integer tensor that requires grad": (
        REBUILD + b"(" + storage(b"ctorch\nIntStorage\n") + b"K\x00K\x02\x85K\x01\x85\x88NtR",
        "requires grad, but its dtype is dovetail.int32",
    ),
    "a parameter of nothing": (b"ctorch._utils\n_rebuild_parameter\nN\x88N\x87R", "has no tensor"),
    "a device that is none": (b"ctorch\ndevice\nX\x03\x00\x00\x00cqu\x85R", "'cqu' is no device"),
    "a memo that is not there": (b"j\xff\xff\xff\x7f", "before it is stored"),
    "a stack that is empty": (b"a", "where there is none"),
    "objects below a mark": (b"K\x01(a", "where there is none"),
    "two objects": (b"K\x01K\x02", "something else than one object"),
    "a long string that is not there": (
        b"\x8d" + (2**62).to_bytes(8, "little"),
        "pickle is corrupt",
    ),
    "a long number that is not there": (b"\x8b\xff\xff\xff\x7f", "pickle is corrupt"),
    "a long frame": (b"\x95" + b"\xff" * 8, "pickle is corrupt"),
    "a quantized tensor": (b"ctorch._utils\n_rebuild_qtensor\n", "quantized tensor: dequantize()"),
    "a quantized storage": (b"ctorch\nQInt8Storage\n", "torch.QInt8Storage"),
    "an 8-bit float": (b"ctorch\nfloat8_e4m3fn\n", "torch.float8_e4m3fn, which is no dtype here"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORBIDDEN)
@pytest.mark.parametrize("version", ["zip", "legacy"])
def test_what_is_not_a_tensor_or_container_is_not_called_and_named(name, version, monkeypatch):
    monkeypatch.setattr(os, "system", lambda command: pytest.fail("ran a command"))
    operations, named = FORBIDDEN[name]
    content = checkpoint(operations)
    if version == "legacy":
        system = {"little_endian": True}
        start = [pickle.dumps(each, 2) for each in (0x1950A86A20F9469CFC6C, 1001, system)]
        content = b"".join([*start, records(content)["data.pkl"], pickle.dumps([], 2)])
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed") as caught:
        dovetail.load(io.BytesIO(content))
    assert f"GLOBAL {named} was not an allowed global" in str(caught.value)
    assert "add_safe_globals" in str(caught.value) or "state_dict()" in str(caught.value)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_said(name):
    operations, reason = REFUSED[name]
    content = checkpoint(operations, _0=EIGHT)
    with pytest.raises(RuntimeError, match="can't load") as caught:
        dovetail.load(io.BytesIO(content))
    assert reason in str(caught.value)
    assert not check(content)


def test_hidden_depth_and_breadth_take_neither_time_nor_the_stack():
    deep = b"]" + b"]" * 20_000 + b"a" * 20_000
    assert check(checkpoint(deep))
    tuples = b")" + b"\x85" * 50_000
    assert check(checkpoint(tuples))
    assert not check(checkpoint(b"}" + tuples + b"K\x01s"))  # hashing would end the process
    doubling = b")" + b"2\x86" * 60
    assert check(checkpoint(doubling))
    assert not check(checkpoint(b"}" + doubling + b"K\x01s"))  # and here the time of the universe
    assert not check(checkpoint(b"c__builtin__\nset\n]" + doubling + b"a\x85R"))


def test_an_index_of_the_memo_takes_no_memory():
    assert check(checkpoint(b"K\x01r\xff\xff\xff\x7f"))


def test_a_legacy_file_that_announces_large_storages_takes_no_memory():
    parts = records(checkpoint(storage(size=LARGE)))
    system = {"little_endian": True}
    start = [pickle.dumps(each, 2) for each in (0x1950A86A20F9469CFC6C, 1001, system)]
    content = b"".join([*start, parts["data.pkl"], pickle.dumps(["0"], 2)])
    assert not check(content)


def test_records_that_are_compressed_or_over_each_other_are_refused():
    import zipfile

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("archive/data.pkl", b"\x80\x02]" + b"]" * 100_000 + b".")
    with pytest.raises(RuntimeError, match="is compressed, which"):
        dovetail.load(io.BytesIO(stream.getvalue()))
    content = bytearray(torch_contents([dovetail.ones(100), dovetail.ones(100)]))
    entries = [i for i in range(len(content)) if content[i : i + 4] == b"PK\1\2"]
    for entry in entries:  # all entries name the place of the first
        name, extra = struct.unpack_from("<2H", content, entry + 28)
        content[entry + 46 + name + extra - 8 : entry + 46 + name + extra] = bytes(8)
    with pytest.raises(RuntimeError, match="reaches into the next one"):
        dovetail.load(io.BytesIO(bytes(content)))


def test_a_byte_that_is_changed_in_a_storage_is_noticed():
    content = bytearray(torch_contents(dovetail.ones(100)))
    place = bytes(content).index(b"\0\0\x80\x3f" * 50)
    content[place + 8] ^= 1
    with pytest.raises(RuntimeError, match="its checksum is another one"):
        dovetail.load(io.BytesIO(bytes(content)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (archive({"data.pkl": b"", "constants.pkl": b""}), "it is a TorchScript archive"),
        (archive({"other": b""}), "without data.pkl"),
        (archive({"data.pkl": b"N.", "byteorder": b"middle"}), "byteorder is 'middle'"),
        (b"x" * 257 + b"ustar" + bytes(600), "it is a tar archive, as PyTorch wrote before"),
        (b"PK\3\4", "it is a corrupt zip archive"),
    ],
    ids=range(5),
)
def test_a_file_of_another_kind_is_named(content, reason):
    with pytest.raises(RuntimeError, match=reason):
        dovetail.load(io.BytesIO(content))


class Point:
    def __init__(self, x):
        self.x = x


def test_safe_globals_let_a_file_name_a_class_within_the_block():
    content = checkpoint(pickle.dumps([Point(3)], 2)[2:-1])
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals\(\[Point\]\)"):
        dovetail.load(io.BytesIO(content))
    # Python's protocol 2 makes an object by copyreg, which must be allowed as well.
    import copyreg

    allowed = [Point, copyreg._reconstructor, (object, "builtins.object")]
    with safe_globals(allowed):
        (point,) = dovetail.load(io.BytesIO(content))
    assert type(point) is Point
    assert point.x == 3
    with pytest.raises(pickle.UnpicklingError):
        dovetail.load(io.BytesIO(content))
    (trusted,) = dovetail.load(io.BytesIO(content), weights_only=False)
    assert trusted.x == 3


class Holder:
    """Has tensors, one of them twice, and another object."""

    def __init__(self, inner):
        self.tensors = [dovetail.ones(2), dovetail.nn.Parameter(dovetail.zeros(1))]
        self.again, self.inner = self.tensors[0], inner


def test_safe_globals_let_a_file_of_save_name_a_class_within_the_block():
    stream = io.BytesIO()
    dovetail.save({"holder": Holder(Point(3)), "x": [dovetail.ones(3)]}, stream)
    content = stream.getvalue()
    with pytest.raises(pickle.UnpicklingError, match="add_safe_globals"):
        dovetail.load(io.BytesIO(content))
    with safe_globals([Point]), pytest.raises(pickle.UnpicklingError, match="Holder was not an"):
        dovetail.load(io.BytesIO(content))
    with safe_globals([Point, Holder]):
        loaded = dovetail.load(io.BytesIO(content))
    holder = loaded["holder"]
    assert (type(holder), type(holder.inner), holder.inner.x) == (Holder, Point, 3)
    assert holder.again is holder.tensors[0]
    assert holder.again.tolist() == [1.0, 1.0]
    assert isinstance(holder.tensors[1], dovetail.nn.Parameter)
    assert loaded["x"][0].tolist() == [1.0] * 3
    with pytest.raises(pickle.UnpicklingError):
        dovetail.load(io.BytesIO(content))


def test_objects_of_a_file_of_save_call_nothing_else(tmp_path):
    class Harmful:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    stream = io.BytesIO()
    dovetail.save([Harmful(), Point(1)], stream)
    with safe_globals([Point]), pytest.raises(pickle.UnpicklingError, match="mkdir was not an"):
        dovetail.load(io.BytesIO(stream.getvalue()))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("seed", range(3))
def test_damaged_objects_of_a_file_of_save_raise_or_load(seed):
    """Within safe_globals, too, a damaged file gives an error of `load` and nothing else."""
    stream = io.BytesIO()
    dovetail.save(Holder(Point(3)), stream)
    content, rng = stream.getvalue(), Random(seed)
    start = content.rindex(b"\x80\x04")  # the pickle
    outcomes = set()
    with safe_globals([Point, Holder]):
        for _ in range(200):
            damaged = bytearray(content)
            damaged[rng.randrange(start, len(content))] = rng.randrange(256)
            try:
                dovetail.load(io.BytesIO(bytes(damaged)))
            except (RuntimeError, pickle.UnpicklingError) as error:
                outcomes.add(type(error))
    assert outcomes == {RuntimeError, pickle.UnpicklingError}


def test_safe_globals_are_a_list_that_can_be_looked_at_and_cleared():
    from dovetail.serialization import add_safe_globals, get_safe_globals

    try:
        add_safe_globals([Point])
        assert get_safe_globals() == [Point]
        with safe_globals([(Point, "old.Point")]):
            assert len(get_safe_globals()) == 2
        assert get_safe_globals() == [Point]
        with pytest.raises(TypeError, match="should be a class or a function"):
            add_safe_globals(["os.system"])
    finally:
        clear_safe_globals()
    assert get_safe_globals() == []
