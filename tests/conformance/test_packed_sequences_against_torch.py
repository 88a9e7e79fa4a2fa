"""``nn.utils.rnn`` beside PyTorch: values, gradients, permutations and errors."""

import copy
import inspect
import pickle
from importlib import import_module

import pytest
import torch
from devices import cpu_only_where
from same_programs import Programs, assert_same, plain

import dovetail

programs = Programs()


def sequences(lib):
    a, b, c = (lib.arange(2.0 * n).reshape(n, 2) + n for n in (3, 2, 4))
    return [a, b, c]


def packed(lib, **options):
    options.setdefault("enforce_sorted", False)
    return lib.nn.utils.rnn.pack_sequence(sequences(lib), **options)


# Each takes the library and its nn.utils.rnn.
VALUES = {
    "packs": lambda lib, rnn: packed(lib),
    "packs what is sorted": lambda lib, rnn: rnn.pack_sequence(sequences(lib)[:2]),
    "packs batch first": lambda lib, rnn: rnn.pack_padded_sequence(
        lib.arange(12.0).reshape(3, 4), [2, 4, 1], batch_first=True, enforce_sorted=False
    ),
    "packs by a tensor of lengths": lambda lib, rnn: rnn.pack_padded_sequence(
        lib.arange(12.0).reshape(4, 3), lib.tensor([4, 2, 2])
    ),
    "pads packed": lambda lib, rnn: rnn.pad_packed_sequence(packed(lib)),
    "pads packed, batch first, further": lambda lib, rnn: rnn.pad_packed_sequence(
        packed(lib), True, -1.0, 6
    ),
    "pads": lambda lib, rnn: rnn.pad_sequence(sequences(lib)),
    "pads batch first": lambda lib, rnn: rnn.pad_sequence(sequences(lib), True, 0.5),
    "pads on the left": lambda lib, rnn: rnn.pad_sequence(sequences(lib), padding_side="left"),
    "pads a generator": lambda lib, rnn: rnn.pad_sequence(each for each in sequences(lib)),
    "pads a tensor": lambda lib, rnn: rnn.pad_sequence(lib.ones(3, 2)),
    "unpacks": lambda lib, rnn: rnn.unpack_sequence(packed(lib)),
    "unpads": lambda lib, rnn: rnn.unpad_sequence(lib.ones(4, 2, 1), lib.tensor([4, 3])),
    "unpads batch first": lambda lib, rnn: rnn.unpad_sequence(
        lib.arange(8.0).reshape(2, 4), lib.tensor([4, 3]), True
    ),
    "unpads to copies": lambda lib, rnn: [
        each._is_view() for each in rnn.unpad_sequence(lib.ones(4, 2), lib.tensor([4, 3]))
    ],
    "inverts a permutation": lambda lib, rnn: rnn.invert_permutation(lib.tensor([2, 0, 3, 1])),
    "inverts nothing": lambda lib, rnn: rnn.invert_permutation(None),
    "makes one of its fields": lambda lib, rnn: rnn.PackedSequence(
        lib.ones(3), lib.tensor([2, 1]), lib.tensor([1, 0])
    ),
    "makes one of a pair": lambda lib, rnn: rnn.PackedSequence((lib.ones(1), lib.tensor([1]))),
    "is a tuple": lambda lib, rnn: (packed(lib)._fields, packed(lib)[0], len(packed(lib))),
    "replaces a field": lambda lib, rnn: packed(lib)._replace(data=lib.ones(9)),
    "casts": lambda lib, rnn: [
        getattr(packed(lib), name)()
        for name in ("double", "float", "half", "long", "int", "short", "char", "byte")
    ],
    "stays where it is": lambda lib, rnn: (
        (p := packed(lib)).to("cpu") is p,
        p.cpu() is p,
        p.float() is p,
        p.cpu(non_blocking=True) is p,
    ),
    "moves": lambda lib, rnn: packed(lib).to("meta", lib.float64),
    "is on no CUDA": lambda lib, rnn: packed(lib).is_cuda,
    "is copied": lambda lib, rnn: copy.deepcopy(packed(lib)),
    "is pickled": lambda lib, rnn: pickle.loads(pickle.dumps(packed(lib))),
    "prints": lambda lib, rnn: repr(packed(lib)),
    "is of its class": lambda lib, rnn: [
        type(each).__name__ for each in (packed(lib), packed(lib).double(), copy.copy(packed(lib)))
    ],
}
for name, made in VALUES.items():
    programs(name)(lambda lib, made=made: plain(made(lib, lib.nn.utils.rnn)))

ERRORS = {
    "not sorted": lambda lib, rnn: packed(lib, enforce_sorted=True),
    "empty": lambda lib, rnn: rnn.pack_padded_sequence(lib.ones(3, 2), [3, 0]),
    "too many lengths": lambda lib, rnn: rnn.pack_padded_sequence(lib.ones(3, 2), [3, 2, 1]),
    "one length": lambda lib, rnn: rnn.pack_padded_sequence(lib.ones(3, 2), 3),
    "total length too small": lambda lib, rnn: rnn.pad_packed_sequence(packed(lib), total_length=2),
    "padding what is not packed": lambda lib, rnn: rnn.pad_packed_sequence(lib.ones(2)),
    "padding a number": lambda lib, rnn: rnn.pad_sequence(3),
    "padding nothing": lambda lib, rnn: rnn.pad_sequence([]),
    "packing nothing": lambda lib, rnn: rnn.pack_sequence([]),
    "an unknown side": lambda lib, rnn: rnn.pad_sequence(sequences(lib), padding_side="top"),
    "sizes on another device": lambda lib, rnn: rnn.PackedSequence(
        lib.ones(2), lib.tensor([1, 1], device="meta")
    ),
    "no sizes": lambda lib, rnn: rnn.PackedSequence(lib.ones(3)),
    "lengths that are no tensor": lambda lib, rnn: rnn.unpad_sequence(lib.ones(4, 2), [4, 3]),
}
for name, made in ERRORS.items():
    programs(f"refuses {name}")(lambda lib, made=made: made(lib, lib.nn.utils.rnn))


@programs("gradients flow back through packing and padding")
def _(lib):
    x = lib.arange(12.0, dtype=lib.float64).reshape(3, 4).requires_grad_()
    rnn = lib.nn.utils.rnn
    y = rnn.pack_padded_sequence(x, [1, 3, 2], batch_first=True, enforce_sorted=False)
    padded, lengths = rnn.pad_packed_sequence(y._replace(data=y.data**2), padding_value=1.0)
    padded.cos().sum().backward()
    return plain([padded, lengths, x.grad])


ON_CPU = {
    "packs by a tensor of lengths",
    "makes one of its fields",
    "stays where it is",
    "is on no CUDA",
}


@pytest.mark.parametrize(
    "name",
    cpu_only_where(programs, lambda each: each in ON_CPU, "lengths, and what stays, are there"),
)
def test_a_program_of_sequences_is_the_same(name: str) -> None:
    assert_same(programs[name], words=30)


def test_lengths_beyond_the_padding_are_refused_where_pytorch_returns_too_few_elements() -> None:
    with pytest.raises(RuntimeError, match="Expected lengths of at most 3, the steps of the input"):
        dovetail.nn.utils.rnn.pack_padded_sequence(dovetail.ones(3, 2), [4, 3])
    assert len(torch.nn.utils.rnn.pack_padded_sequence(torch.ones(3, 2), [4, 3]).data) == 6


def test_names_and_signatures_are_those_of_pytorch() -> None:
    ours, theirs = (import_module(f"{lib}.nn.utils.rnn") for lib in ("dovetail", "torch"))
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    for name in theirs.__all__:
        left, right = (
            list(inspect.signature(getattr(rnn, name)).parameters) for rnn in (ours, theirs)
        )
        assert left == right, name
    assert {n for n in vars(theirs.PackedSequence) if n[0] != "_"} <= set(dir(ours.PackedSequence))


def test_a_packed_sequence_that_torch_pickled_has_the_same_class_path() -> None:
    ours = dovetail.nn.utils.rnn.PackedSequence
    theirs = torch.nn.utils.rnn.PackedSequence
    assert ours.__module__.replace("dovetail", "torch") == theirs.__module__
