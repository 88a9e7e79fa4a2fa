"""The fixture `assert_op_ok`: each check of `opcheck` is a result of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def assert_op_ok(subtests: pytest.Subtests) -> Callable[..., None]:
    """Check an operator with example arguments: ``assert_op_ok(op, *args, **kwargs)``.

    The checks are those of `dovetail.library.opcheck` (schema, autograd registration, fake kernel,
    …). Each is a subtest with its name, so that all of them are made and reported.
    """

    def check(op: Any, /, *args: Any, **kwargs: Any) -> None:
        from dovetail_dispatcher import opcheck

        for name, outcome in opcheck(op, args, kwargs, raise_exception=False).items():
            with subtests.test(name, operator=str(op)):
                if isinstance(outcome, BaseException):
                    raise outcome

    return check
