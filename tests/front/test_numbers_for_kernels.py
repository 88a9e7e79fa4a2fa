"""A Python number where the schema has a Tensor, for kernels that take tensors."""

from __future__ import annotations

from typing import Any

import dovetail as dt
import dovetail.library


def test_a_call_with_a_number_is_recorded_over_a_tensor_kernel() -> None:
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    with dovetail.library._scoped_library("aten", "IMPL") as library:

        def doubled(self: Any, other: Any) -> Any:
            return dt.ops.aten.add.Tensor(self, self) if other == 2 else NotImplemented

        library.impl("mul.Tensor", doubled, "CPU")
        (x * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]
