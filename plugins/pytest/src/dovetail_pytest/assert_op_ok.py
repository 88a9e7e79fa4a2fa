"""The fixture `assert_op_ok`: each check of `opcheck` is a result of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def assert_op_ok(subtests: pytest.Subtests) -> Callable[..., None]:
    """Check an operator with the given arguments: ``assert_op_ok(op, *args, **kwargs)``.

    The checks are those of `dovetail.library.opcheck` (schema, autograd registration, fake kernel, …). Each is a
    subtest with its name, so that all of them are run and reported.
    """

    def check(op: Any, /, *args: Any, **kwargs: Any) -> None:
        from dovetail_dispatcher import opcheck

        for name in opcheck_tests():
            with subtests.test(name, operator=str(op)):
                opcheck(op, args, kwargs, test_utils=name)

    return check


def opcheck_tests() -> tuple[str, ...]:
    """Return the names of the checks that `opcheck` makes by default."""
    from dovetail_dispatcher import DEFAULT_TEST_UTILS

    return tuple(DEFAULT_TEST_UTILS)
