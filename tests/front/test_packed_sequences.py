"""``nn.utils.rnn``: sequences of different lengths, padded and packed."""

import pytest

import dovetail
from dovetail.nn.utils import rnn

LENGTHS = [2, 4, 1]


def sequences():
    return [dovetail.arange(1.0, n + 1) * 10**place for place, n in enumerate(LENGTHS)]


def test_packing_puts_the_steps_of_all_sequences_after_each_other():
    packed = rnn.pack_sequence(sequences(), enforce_sorted=False)
    assert packed.data.tolist() == [10, 1, 100, 20, 2, 30, 40]
    assert packed.batch_sizes.tolist() == [3, 2, 1, 1]
    assert packed.sorted_indices.tolist() == [1, 0, 2]
    assert packed.unsorted_indices.tolist() == [1, 0, 2]


def test_unpacking_gives_the_sequences_back_in_their_order():
    packed = rnn.pack_sequence(sequences(), enforce_sorted=False)
    found = [each.tolist() for each in rnn.unpack_sequence(packed)]
    assert found == [each.tolist() for each in sequences()]


def test_padding_fills_behind_or_before_a_sequence():
    assert rnn.pad_sequence(sequences(), batch_first=True, padding_value=-1).tolist()[2] == [
        *(100, -1, -1, -1)
    ]
    left = rnn.pad_sequence(sequences(), batch_first=True, padding_side="left")
    assert left.tolist()[0] == [0, 0, 1, 2]


def test_packed_padding_has_no_gradient():
    padded = dovetail.ones(3, 4, requires_grad=True)
    rnn.pack_padded_sequence(padded, LENGTHS, True, False).data.sum().backward()
    assert padded.grad.tolist() == [[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]


def test_sequences_that_are_not_sorted_are_refused_unless_asked_for():
    with pytest.raises(RuntimeError, match=r"sorted in decreasing order.*enforce_sorted=False"):
        rnn.pack_sequence(sequences())


def test_a_packed_sequence_is_made_of_a_pair():
    with pytest.raises(AssertionError, match=r"tuple of length 2, but got Tensor.*pack_sequence"):
        rnn.PackedSequence(dovetail.ones(2))
