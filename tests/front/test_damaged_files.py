"""Hunts for bytes that `load` does not survive: every value of valid files replaced by every wrong
one, and random damages.

`DOVETAIL_FILES=100000` tries more of them, `DOVETAIL_FIRST_FILE` begins elsewhere.
"""

import io
import json
import os
import pickle
from random import Random

import damaged_files
import pytest
from damaged_files import check_tree, closed, contents, edited, joined, joined_text, opened, split
from limits import limited

import dovetail

FILES = int(os.environ.get("DOVETAIL_FILES", "4000"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_FILE", "0"))
VALID = damaged_files.valid_files()


def check(content, traced=True):
    """Load; return whether there is something in it, and not just the one error."""
    stream = io.BytesIO(content)
    stream.name = "the file"
    try:
        with limited(1 + len(content) / 100_000, 4e6 + 100 * len(content), traced=traced):
            loaded = dovetail.load(stream)
    except pickle.UnpicklingError as error:
        assert str(error).startswith("Weights only load failed: 'the file' contains")
        return False
    except RuntimeError as error:
        message = str(error)
        assert message.startswith("can't load 'the file': ")
        assert "Save it again by dovetail.save" in message or "Pass map_location=" in message
        assert len(message) < 1500
        return False
    check_tree(loaded)
    return True


@pytest.mark.parametrize("number", range(len(VALID)))
def test_every_value_replaced_by_every_wrong_one_is_refused_or_still_a_valid_tree(number):
    header, data = opened(VALID[number])
    random = Random(number)
    trials = [
        (path, wrong)
        for path in damaged_files.paths(header)
        for wrong in damaged_files.WRONG_VALUES
    ]
    if len(trials) > FILES // 5:
        trials = random.sample(trials, FILES // 5)
    refused = 0
    for path, wrong in trials:
        try:
            refused += not check(closed(damaged_files.replaced(header, path, wrong), data))
        except Exception as error:
            raise AssertionError(f"file {number}, {path} replaced by {wrong!r:.100}") from error
    assert refused > len(trials) / 2


def test_a_random_damage_is_refused_or_leaves_a_valid_tree():
    refused = 0
    for seed in range(FIRST, FIRST + FILES):
        random = Random(seed)
        content = damaged_files.damaged(random, random.choice(VALID))
        try:
            refused += not check(content, traced=seed < FIRST + 400 or seed % 64 == 0)
        except Exception as error:
            raise AssertionError(f"file {seed}: {content!r:.300}") from error
    assert FILES / 2 < refused < FILES


def plain(arrays, data):
    """A file of arrays: dtype, shape and offsets by name."""
    return joined(
        {
            name: {"dtype": dtype, "shape": shape, "data_offsets": offsets}
            for name, (dtype, shape, offsets) in arrays.items()
        },
        data,
    )


ONES = dovetail.ones(3)
REFUSED = {
    "a thousand arrays over the same bytes": (
        plain({str(n): ("U8", [1000], [0, 1000]) for n in range(1000)}, bytes(1000)),
        "begins at byte 0 of the data and overlaps the one before, which ends at byte 1000",
    ),
    "a hole": (plain({"a": ("U8", [1], [1, 2])}, bytes(2)), "leaves a hole before it"),
    "a key twice": (
        joined_text('{"a":{"dtype":"U8","shape":[0],"shape":[0],"data_offsets":[0,0]}}', b""),
        "the key 'shape' occurs twice",
    ),
    "an array twice": (
        joined_text(
            '{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},'
            '"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}',
            b"",
        ),
        "the key 'a' occurs twice",
    ),
    "a number of 5,000 digits": (
        joined_text('{"a":{"dtype":"U8","shape":[%s],"data_offsets":[0,0]}}' % ("9" * 5000), b""),
        "a number has 5000 digits",
    ),
    "a shape of a thousand nines": (plain({"a": ("U8", [9] * 1000, [0, 1])}, b"1"), "at most 64"),
    "a shape of 2**63": (plain({"a": ("U8", [2**63], [0, 1])}, b"1"), "below 9223372036854775808"),
    "an empty array of a size beyond memory": (
        plain({"a": ("F64", [0, 2**62], [0, 0])}, b""),
        "larger than memory can be",
    ),
    "an 8-bit float": (plain({"a": ("F8_E4M3", [1], [0, 1])}, b"1"), "'F8_E4M3' of the array 'a'"),
    "bools that are none": (plain({"a": ("BOOL", [1], [0, 1])}, b"\x02"), "neither 0 nor 1"),
    "a header in UTF-16": (bytes([3, *bytes(7)]) + b"{}\0", "its header is corrupt"),
    "types that are no list": (
        edited(contents([1]), lambda d: d.update(types=5)),
        "should be a list, not '5'",
    ),
    "a tensor before the first": (
        edited(contents([ONES]), lambda d: d.update(root=[{"tensor": -1}])),
        "the number of a tensor should be one of the non-negative integers below 1, not '-1'",
    ),
    "a meta tensor within a storage": (
        edited(contents([ONES]), lambda d: d["tensors"][0].update(storage="", offset=1)),
        "tensor 0 has no storage, but the offset 1",
    ),
    "a container before the first": (
        edited(contents([1]), lambda d: d.update(root=[{"again": -1}])),
        "not '-1'",
    ),
    "bad base64": (
        edited(contents([1]), lambda d: d.update(root={"bytes": "!!!!"})),
        "'bytes' in the description can't be '!!!!'",
    ),
    "an integer tensor that requires grad": (
        edited(contents(dovetail.arange(3)), lambda d: d["tensors"][0].update(requires_grad=True)),
        "tensor 0 requires grad, but its dtype is dovetail.int64",
    ),
    "a key that can't be one": (
        edited(contents([1]), lambda d: d.update(root={"dict": [[[], 1]]})),
        "a list is no key of a dict or set",
    ),
    "a device of a number of 5,000 digits": (
        edited(
            contents(ONES), lambda d: d["storages"]["tensor"].update(device="cuda:" + "9" * 5000)
        ),
        "should be the name of a device, not 'cuda:999",
    ),
    "a set in a set": (
        edited(contents([1]), lambda d: d.update(root={"set": [{"set": [1]}]})),
        "a set is no key of a dict or set",
    ),
    "a device that is none": (
        edited(contents([1]), lambda d: d.update(root={"device": "cqu"})),
        "'cqu' is no device",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_said(name):
    content, reason = REFUSED[name]
    stream = io.BytesIO(content)
    with pytest.raises(RuntimeError, match="can't load") as caught:
        dovetail.load(stream)
    assert reason in str(caught.value)
    check(content)


def test_containers_nested_too_deeply_are_refused():
    header, data = split(contents([1]))
    description = json.loads(header["__metadata__"]["dovetail"])
    text = json.dumps({**description, "root": "@"}).replace('"@"', "[" * 100_000 + "]" * 100_000)
    content = joined({"__metadata__": {**header["__metadata__"], "dovetail": text}}, data)
    assert not check(content)


def test_a_tensor_from_a_device_that_is_not_there_names_map_location():
    content = edited(
        contents(ONES), lambda d: [one.update(device="xpu") for one in d["storages"].values()]
    )
    with pytest.raises(RuntimeError, match=r"saved from the device 'xpu'.*Pass map_location='cpu'"):
        dovetail.load(io.BytesIO(content))
    assert dovetail.load(io.BytesIO(content), map_location="cpu").tolist() == [1.0] * 3


def test_an_error_of_the_callers_map_location_stays_what_it_is():
    def broken(storage, name):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        dovetail.load(io.BytesIO(contents(ONES)), map_location=broken)


def test_a_header_that_announces_more_than_there_is_takes_no_memory():
    text = json.dumps({"a": {"dtype": "U8", "shape": [2**40], "data_offsets": [0, 2**40]}})
    assert not check(joined_text(text, b"x"))
    assert not check((99_000_000).to_bytes(8, "little") + b"{")


@pytest.mark.parametrize("number", [10**5000, -(10**30), 2**63 - 1, -(2**63), 2**64], ids=range(5))
def test_an_integer_of_any_size_comes_back(number):
    assert dovetail.load(io.BytesIO(contents([number]))) == [number]


def test_a_thousand_tensors_under_one_name_have_short_names():
    tensors = {(n, n): dovetail.ones(1) for n in range(1000)}
    header, _ = split(contents(tensors))
    assert max(map(len, header)) < 20
    assert len(header) == 1001
