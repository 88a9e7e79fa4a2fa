"""Sockets: the one way in which a lower room calls a higher one, and the list of them."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from fresh_interpreter import printed_by

from dovetail_dispatcher.compiled_code import is_in_force
from dovetail_kernel.sockets import SharedSocket, Socket

ROOT = Path(__file__).resolve().parents[2]
WITH_SOCKETS = ["dovetail_kernel", "dovetail_dispatcher", "dovetail_autograd", "dovetail_aten"]
LOWER = [*WITH_SOCKETS, "dovetail_cpu"]
SOURCES = {
    path.name: path
    for folder in ("*/src", "plugins/*/src", "src")
    for path in ROOT.glob(f"{folder}/*")
    if (path / "__init__.py").exists()
}
DOORS = {
    "compile_accessors": "COMPILED_ACCESSOR",
    "set_tensor_class": "TENSOR_CLASS",
    "on_new_backend": "NEW_BACKEND",
    "tell_tf32": "MATMUL_PRECISION",
}
"""Functions that fill a socket for those who call them, since there is more to do."""


def sockets() -> dict[str, Socket[object] | SharedSocket[object]]:
    return {
        name: value
        for package in WITH_SOCKETS
        for name, value in vars(importlib.import_module(f"{package}.sockets")).items()
        if isinstance(value, (Socket, SharedSocket))
    }


def modules(packages: list[str], pattern: str = "") -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules of some distributions whose text has a pattern, with their trees."""
    for package in packages:
        for file in sorted(SOURCES[package].rglob("*.py")):
            if "_generated" in file.parts:
                continue
            text = file.read_text()
            if not re.search(pattern, text):
                continue
            parts = file.relative_to(SOURCES[package].parent).with_suffix("").parts
            yield ".".join(parts).removesuffix(".__init__"), ast.parse(text)


def fillers() -> dict[str, set[str]]:
    """Return the modules that fill each socket, by its name without a leading underscore."""
    found: dict[str, set[str]] = {}
    pattern = rf"\b[A-Z_]+\.(fill|add)\(|\b({'|'.join(DOORS)})\("
    for module, tree in modules(list(SOURCES), pattern):
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call):
                continue
            match call.func:
                case ast.Attribute(value=ast.Name(id=name), attr="fill" | "add"):
                    doors = [door for door, socket in DOORS.items() if socket == name]
                    if not own.intersection(doors):
                        found.setdefault(name.removeprefix("_"), set()).add(module)
                case ast.Name(id=name) if name in DOORS:
                    found.setdefault(DOORS[name], set()).add(module)
    return found


def test_each_socket_is_filled_where_its_declaration_says() -> None:
    declared = sockets()
    found = fillers()
    found["CHECKS"] = found.pop("CHECK_LOADERS", set())
    for name, socket in declared.items():
        said = socket.filled_by
        assert found[name] == set((said,) if isinstance(said, str) else said), name


def test_every_socket_is_filled_in_a_program_that_uses_all() -> None:
    """But for the one that only a GPU's backend fills, and those of compiled code where it
    is switched off or not built.
    """
    program = dedent(f"""
        import dovetail
        from importlib import import_module
        from dovetail_dispatcher.table import pending
        from dovetail_kernel.sockets import SharedSocket, Socket

        x = dovetail.ones(2)
        dovetail.vmap(dovetail.func.grad(lambda row: row * row))(x)
        with dovetail.tracing():
            x + x
        for package in {WITH_SOCKETS!r}:
            for name, value in vars(import_module(package + ".sockets")).items():
                if isinstance(value, SharedSocket) and not value.plugs:
                    print(name)
                elif isinstance(value, Socket) and not value.is_filled:
                    print(name)
    """)
    empty = set(printed_by(program).split())
    compiled = {
        name
        for name, socket in sockets().items()
        if all(
            module.startswith("dovetail_native")
            for module in (
                (socket.filled_by,) if isinstance(socket.filled_by, str) else socket.filled_by
            )
        )
    }
    assert empty - compiled == {"MATMUL_PRECISION"}
    assert not (is_in_force() and empty & compiled)


def test_an_empty_socket_says_what_fills_it() -> None:
    empty: Socket[object] = Socket("some.module", "when it is imported")
    with pytest.raises(RuntimeError, match=r"needs some\.module"):
        _ = empty.plug
    assert not hasattr(Socket("some.module", "at once", 1), "plugs")


def _stores_upward(tree: ast.Module) -> Iterator[str]:
    """Yield what may call upward in another way: a function that stores a callable that it is given
    in its module, and an assignment to an attribute of another module or class.
    """
    imported = {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    own = {
        target.id
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                match target:
                    case ast.Attribute(value=ast.Name(id=name)) if name in imported:
                        yield f"line {node.lineno}: {ast.unparse(node)}"
        if not isinstance(node, ast.FunctionDef):
            continue
        given = {
            a.arg
            for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            if a.annotation is not None and re.search(r"Callable|type\[", ast.unparse(a.annotation))
        }
        stored = {n for each in ast.walk(node) if isinstance(each, ast.Global) for n in each.names}
        for each in ast.walk(node):
            match each:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=value)):
                    found = name in stored and value in given
                case ast.Assign(
                    targets=[ast.Subscript(value=ast.Name(id=name))], value=ast.Name(id=value)
                ):
                    found = name in own and value in given
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr="append" | "add" | "insert"),
                    args=[*_, ast.Name(id=value)],
                ):
                    found = name in own and value in given
                case _:
                    found = False
            if found:
                yield f"line {each.lineno}: {ast.unparse(each)}"


def test_nothing_but_a_socket_is_a_way_up() -> None:
    found = {
        module: list(_stores_upward(tree))
        for module, tree in modules(LOWER)
        if not module.endswith(".sockets")
    }
    assert {module: ways for module, ways in found.items() if ways} == {}


def test_what_looks_for_ways_up_finds_them() -> None:
    hook = "_f = None\ndef set_f(f: Callable[[], int]) -> None:\n    global _f\n    _f = f\n"
    observer = "_all = []\ndef on_f(f: Callable[[], int]) -> None:\n    _all.append(f)\n"
    patch = "from . import lower\nlower.hook = print\n"
    for text in (hook, observer, patch):
        assert list(_stores_upward(ast.parse(text))), text


@pytest.mark.parametrize("package", WITH_SOCKETS)
def test_sockets_import_nothing_of_their_own_distribution_at_run_time(package: str) -> None:
    tree = ast.parse((SOURCES[package] / "sockets.py").read_text())
    imported = [node.module or "." for node in tree.body if isinstance(node, ast.ImportFrom)]
    allowed = {"__future__", "contextlib", "typing", "dovetail_kernel.sockets"}
    assert set(imported) <= allowed
    assert not [node for node in tree.body if isinstance(node, ast.Import)]


def test_the_page_lists_every_socket_and_who_fills_it() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.+?) \|", page, re.M)
    assert dict(rows) == {
        name: ", ".join(
            f"`{module.removeprefix('dovetail_')}`"
            for module in ([s.filled_by] if isinstance(s.filled_by, str) else s.filled_by)
        )
        for name, s in sockets().items()
    }


@pytest.mark.parametrize("package", ["dovetail_kernel", "dovetail_dispatcher"])
def test_no_operator_of_the_base_library_is_named_below_it(package: str) -> None:
    named = {}
    for module, tree in modules([package]):
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        texts = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docs
        ]
        if found := [text for text in texts if re.match(r"aten::\w", text)]:
            named[module] = found
    assert named == {}
