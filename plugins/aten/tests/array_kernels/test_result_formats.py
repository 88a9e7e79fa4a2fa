"""Memory formats of results, by the strides of images."""

from __future__ import annotations

from itertools import permutations, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dovetail_aten.kernel_support.result_formats import ResultFormat


@pytest.mark.parametrize("rule", [ResultFormat(), ResultFormat(in_c_order=True)], ids=["", "in_c"])
@pytest.mark.parametrize("ndim", [4, 5])
def test_an_image_with_flags_is_judged_as_its_strides_say(ndim: int, rule: ResultFormat) -> None:
    def geometry(array: Any) -> Any:
        return array.shape, tuple([step // 4 for step in array.strides])

    answers = set()
    for sizes, order in product(product((0, 1, 3), repeat=ndim), permutations(range(ndim))):
        image = np.zeros(sizes, np.float32).transpose(order)
        strange = SimpleNamespace(ndim=ndim, shape=image.shape, strides=image.strides)
        expected = rule.gives_channels_last(geometry, {}, [strange])
        assert rule.gives_channels_last(geometry, {}, [image]) == expected
        answers.add(expected)
    assert answers == {False, True}
