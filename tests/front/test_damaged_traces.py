"""Hunts for files that `compare_runs` does not survive as traces: values of a trace replaced by
wrong ones, and random damages of its text.

`DOVETAIL_FILES=100000` tries more of them, `DOVETAIL_FIRST_FILE` begins elsewhere.
"""

import json
import os
from pathlib import Path
from random import Random

import pytest
from damaged_files import WRONG_VALUES, changed, paths, replaced
from limits import limited

import dovetail

FILES = int(os.environ.get("DOVETAIL_FILES", "1000"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_FILE", "0"))


def step(x):
    y = (x * 0.5).tanh().to(dovetail.float64)
    dovetail.cat([y.exp(), y.add_(1)]).sum().backward()
    try:
        dovetail.mm(y, y[0])
    except RuntimeError:
        return dovetail.vmap(lambda row: row.sin())(y)


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Traces of two calls each."""
    path = tmp_path_factory.mktemp("traces") / "valid.json"
    with dovetail.tracing(hashes=True) as trace:
        step(dovetail.ones(2, 3, requires_grad=True))
    trace.export_json(path)
    data = json.loads(path.read_text())
    pieces = [data["spans"][at : at + 2] for at in range(0, len(data["spans"]), 2)]
    found = [path.with_name(f"{number}.json") for number in range(len(pieces))]
    for path, piece in zip(found, pieces, strict=True):
        path.write_text(json.dumps({**data, "spans": piece}))
    return found


def is_read(content: bytes, valid: Path, *, traced: bool = True) -> bool:
    """Compare a file with a valid trace; return whether it was taken for a trace."""
    path = valid.with_name("damaged.json")
    path.write_bytes(content)
    try:
        with limited(1 + len(content) / 20_000, 4e6 + 100 * len(content), traced=traced):
            found = dovetail.compare_runs(first=path, second=valid)
    except ValueError as error:
        assert str(error).startswith(f"can't read the trace '{path}': ")
        assert str(error).isprintable()
        assert len(str(error)) < 500 + len(str(path))
        return False
    assert str(found).replace("\n", "").isprintable()
    return True


def damaged(random: Random, data: object) -> bytes:
    """Return the text of a trace with a random damage."""
    if random.random() < 0.5:
        text = bytearray(json.dumps(data).encode())
        for _ in range(random.choice([1, 1, 2, 8])):
            start = random.randrange(len(text))
            pieces = [*'{}[]",:0\\', "null", "9" * 5000, "[" * 5000, "NaN", "1e999", "\\u001b", ""]
            text[start : start + random.choice([0, 1, 4])] = random.choice(pieces).encode()
            text[random.randrange(len(text))] ^= random.choice([0, 0, 1 << random.randrange(8)])
        return bytes(text)
    for _ in range(random.choice([1, 1, 2, 3])):
        places = paths(data)
        if not places:
            break
        path = random.choice(places)
        if random.random() < 0.2:
            data = changed(data, path, lambda container, key: container.pop(key))
        elif random.random() < 0.3:
            other = data
            for key in random.choice(places):
                other = other[key]
            data = replaced(data, path, other)
        else:
            data = replaced(data, path, random.choice(WRONG_VALUES))
    return json.dumps(data).encode()


def test_a_random_damage_is_refused_by_one_error_or_leaves_a_trace(valid: list[Path]) -> None:
    data = [json.loads(each.read_text()) for each in valid]
    assert all([is_read(each.read_bytes(), each) for each in valid])
    read = 0
    for seed in range(FIRST, FIRST + FILES):
        random = Random(seed)
        number, other = random.choices(range(len(valid)), k=2)
        content = damaged(random, data[number])
        with_it = valid[number if seed % 4 else other]
        try:
            read += is_read(content, with_it, traced=seed < FIRST + 400 or seed % 64 == 0)
        except Exception as error:
            raise AssertionError(f"file {seed}: {content!r:.300}") from error
    assert FILES / 10 < read < FILES


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "Expecting value"),
        ("[]", "[] stands in the place of an object with 'spans'"),
        ('{"spans": [3]}', "3 stands in the place of an object with 'fingerprints'"),
        ('{"spans": [{"name": "f"}]}', "without the values of tensors"),
        ('{"spans": [{"fingerprints": {"given": []}}]}', "'results' is missing"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "4300"),
        ('{"spans": "' + "\\u001b]0;x" * 10_000 + '"}', "'spans' is "),
        ("\udcff", "'utf-8' codec can't decode"),
    ],
)
def test_what_is_no_trace_is_refused_by_name(valid: list[Path], content: str, problem: str) -> None:
    path = valid[0].with_name("other.json")
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match="can't read the trace") as caught:
        dovetail.compare_runs(first=valid[0], second=path)
    assert str(path) in str(caught.value)
    assert problem in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "content",
    [
        b'{"spans": [' + b"[]," * 100_000 + b"0]}",
        b'{"spans": [], "x": {' + b",".join(b'"%d":0' % n for n in range(50_000)) + b"}}",
        b'{"spans": [], "x": "' + "\N{SNOWMAN}".encode() * 100_000 + b'"}',
    ],
    ids=["lists", "keys", "text"],
)
def test_a_file_costs_what_its_size_allows(valid: list[Path], content: bytes) -> None:
    is_read(content, valid[0])
