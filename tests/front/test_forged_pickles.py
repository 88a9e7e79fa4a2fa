"""Pickles of tensors that say what no tensor says: they are refused, and nothing outside of the
storage is read.
"""

import copyreg
import io
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest

import dovetail
import dovetail_aten

ONES = dovetail.ones(4)


@pytest.mark.parametrize(
    ("position", "value"),
    [
        (0, int),
        (0, "Tensor"),
        (1, 5),
        (2, "float32"),
        (2, dovetail.float64),
        (3, (10**6,)),
        (3, (2**62,)),
        (3, (2**63,)),
        (3, (-4,)),
        (3, (2, 2)),
        (3, "ab"),
        (4, (2**61,)),
        (4, (-1,)),
        (5, 1),
        (5, -2),
        (5, -(10**10)),
        (5, 2**70),
        (5, 1.5),
        (6, "yes"),
    ],
)
def test_a_forged_state_of_a_tensor_is_refused(position, value):
    rebuild, state = ONES.__reduce_ex__(4)[:2]
    forged = [*state[:position], value, *state[position + 1 :]]
    with pytest.raises((pickle.UnpicklingError, RuntimeError)):
        rebuild(*forged)


@pytest.mark.cpu_only(reason="the state is that of storages of the cpu")
@pytest.mark.parametrize(
    ("position", "value"),
    [
        (0, "cpu"),
        (1, "float32"),
        (1, dovetail.float64),
        (2, 10**12),
        (2, -1),
        (2, None),
        (2, "text"),
        (2, np.array(["a"])),
        (2, np.array([object()])),
        (2, np.ones((2, 2), dtype=np.float32)),
        (2, np.ones(4, dtype=np.float32)[::-1]),
        (2, np.float32(1)),
    ],
    ids=range(12),
)
def test_a_forged_state_of_a_storage_is_refused(position, value):
    storage = ONES.__reduce_ex__(4)[1][1]
    rebuild, state = copyreg.dispatch_table[type(storage)](storage)
    forged = [*state[:position], value, *state[position + 1 :]]
    with pytest.raises(pickle.UnpicklingError, match="the pickle of a tensor is corrupt"):
        rebuild(*forged)


@pytest.mark.parametrize(
    "tensor",
    [
        dovetail.ones(2, 3),
        dovetail.ones(2, dtype=dovetail.bfloat16),
        dovetail.ones(2, 3, device="meta"),
        dovetail.zeros(0),
        dovetail.tensor([True, False]),
        dovetail.arange(6.0).reshape(2, 3).t()[1:],
        dovetail.ones(2, requires_grad=True),
    ],
    ids=range(7),
)
def test_an_honest_pickle_comes_back(tensor):
    loaded = pickle.loads(pickle.dumps(tensor))
    assert (loaded.shape, loaded.dtype, loaded.stride()) == (
        tensor.shape,
        tensor.dtype,
        tensor.stride(),
    )
    assert loaded.is_meta or loaded.tolist() == tensor.tolist()


class Forged(dovetail.Tensor):
    """An allowed class whose file says what a tensor is made of."""

    __slots__ = ("log",)
    said: ClassVar[dict[str, Any]] = {}

    def __reduce_ex__(self, protocol: Any) -> Any:
        plain = dovetail.Tensor._make_subclass(dovetail.Tensor, self)
        return dovetail_aten.make_subclass, (Forged, plain, False), (None, self.said)


@pytest.mark.parametrize(
    "forged", [{"_signature": 0}, {"array": 1}, {"_storage": None}, {"_counter": 1}]
)
def test_a_file_gives_an_allowed_class_its_own_slots_alone(forged: Any, monkeypatch: Any) -> None:
    made = dovetail.Tensor._make_subclass(Forged, dovetail.arange(3.0))
    for said in ({"log": 5}, forged):
        monkeypatch.setattr(Forged, "said", said)
        file = io.BytesIO()
        dovetail.save(made, file)
        file.seek(0)
        with dovetail.serialization.safe_globals([Forged]):
            if said is forged:
                with pytest.raises(RuntimeError, match=next(iter(forged))):
                    dovetail.load(file)
            else:
                assert dovetail.load(file).log == 5
