"""Compares which schemas are accepted with PyTorch, on random texts and damaged ones.

`DOVETAIL_SCHEMAS=200000` tries more of them, `DOVETAIL_FIRST_SCHEMA` begins elsewhere. `EXCEPTIONS`
says where the parsers differ on purpose.
"""

from __future__ import annotations

import os
import re
from random import Random
from typing import Any

import random_schemas
import torch

from dovetail_dispatcher.schema import SchemaError, parse_schema

SCHEMAS = int(os.environ.get("DOVETAIL_SCHEMAS", "4000"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_SCHEMA", "0"))

EXCEPTIONS = {
    "PyTorch reads 1.5 as the size 1, and lists of any size": r"\[\s*(\d*\.|\d{3})",
    "PyTorch reads a hexadecimal int as 0": r"0[xX]",
    "PyTorch refuses every number as the default of a complex argument": r"complex[^,)]*=",
    "PyTorch reads numbers beyond doubles in lists of complex ones": r"[eE]-?999",
    "PyTorch repeats the set of all sets": r"\*\s*\|",
    "PyTorch has no numbers between 0 and 2.2e-308, and reads longer ones in a float": r"\d{19}",
    "PyTorch drops a line break after a backslash inside of strings, too": r"['\"](.|\n)*\\\n",
    "PyTorch refuses text that is no UTF-8": "[\ud800-\udfff]",
    "PyTorch nests types without end, and crashes": r"(\[\]){60}|(\(){60}",
}
_EXCEPTED = re.compile("|".join(f"(?:{pattern})" for pattern in EXCEPTIONS.values()))


def theirs(text: str) -> Any:
    try:
        return torch._C.parse_schema(text)
    except (RuntimeError, IndexError, ValueError):
        return None


def test_a_random_schema_is_accepted_exactly_when_torch_accepts_it() -> None:
    compared = accepted = 0
    for seed in range(FIRST, FIRST + SCHEMAS):
        random = Random(seed)
        text = random_schemas.a_schema(random)
        if seed % 3:
            text = random_schemas.damaged(random, text)
        if _EXCEPTED.search(text):
            continue
        their = theirs(text)
        names = [argument.name for argument in their.arguments] if their is not None else []
        if len(set(names)) < len(names):
            continue  # PyTorch lets two arguments have one name
        try:
            reason = None
            parse_schema(text)
        except SchemaError as error:
            reason = str(error)
        assert (reason is None) == (their is not None), (f"schema {seed}", text, reason, str(their))
        compared += 1
        accepted += their is not None
    assert SCHEMAS < 1000 or SCHEMAS / 20 < accepted < compared
