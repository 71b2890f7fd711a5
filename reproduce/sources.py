"""Which code a number comes from: what ran, and what that refers to.

While a run is computed, every function of the library and of these scripts that is
entered is noted. A function's *digest* is of its syntax tree without docstrings and
annotations, and of where the names in it come from; constants and classes that it
refers to have digests of their own. So a change of what a run never enters, of comments
or of documentation is none to its numbers, and everything else is.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import modeseek

LIBRARY = Path(modeseek.__file__).resolve().parent
SCRIPTS = Path(__file__).resolve().parent

#: Folders whose code counts, by the name of their package.
PACKAGES = {"modeseek": LIBRARY, "reproduce": SCRIPTS}

#: Modules that only keep and note what was computed.
NO_NUMBERS = ("reproduce.runs", "reproduce.sources")

#: A function, constant or class: its module, and its name there.
Part = tuple[str, str]

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module:
    """The parts of a file by their names, and where imported names come from."""

    def __init__(self, name: str) -> None:
        path = PACKAGES[name.split(".")[0]].parent / Path(*name.split("."))
        file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        self.name = name
        self.parts: dict[str, list[ast.AST]] = {}
        self.imported: dict[str, str] = {}
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            self._take(node)

    def _take(self, node: ast.stmt) -> None:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                self.imported[alias.asname or alias.name] = (
                    f"{node.module}.{alias.name}"
                )
        elif isinstance(node, Function):
            self.parts[node.name] = [node]
        elif isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, Function)]
            for method in methods:  # setters and overloads have the name of another
                self.parts.setdefault(f"{node.name}.{method.name}", []).append(method)
            self.parts[node.name] = [node]
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store):
                        self.parts.setdefault(name.id, []).append(node)


@functools.cache
def read_module(name: str) -> Module:
    return Module(name)


def is_ours(name: str) -> bool:
    """Whether a dotted name is that of a module of the packages."""
    path = Path(*name.split("."))
    base = PACKAGES.get(name.split(".")[0])
    if base is None:
        return False
    whole = base.parent / path
    return whole.with_suffix(".py").exists() or (whole / "__init__.py").exists()


def resolve(dotted: str) -> Part | None:
    """Part that an imported name is, through whatever passes it on."""
    module, _, name = dotted.rpartition(".")
    if not is_ours(module):
        return None
    there = read_module(module)
    if name in there.parts:
        return module, name
    return resolve(there.imported[name]) if name in there.imported else None


class _Bare(ast.NodeTransformer):
    """Drops docstrings and annotations, and of classes the bodies of methods."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self._without_docstring(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        names = [part.name for part in node.body if isinstance(part, Function)]
        self._without_docstring(node)
        rest = [part for part in node.body if not isinstance(part, Function)]
        node.body = [*rest, ast.Expr(ast.Constant(", ".join(names)))]
        return node

    def _without_docstring(self, node: Any) -> ast.AST:
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            node.body = node.body[1:] or [ast.Pass()]
        return self.generic_visit(node)


@functools.cache
def bare(part: Part) -> tuple[str, frozenset[str]]:
    """Syntax of a part without what changes no number, and the names in it."""
    module, name = part
    nodes = read_module(module).parts.get(name, [])
    kept = [_Bare().visit(ast.parse(ast.unparse(node))) for node in nodes]
    names = {
        n.id for tree in kept for n in ast.walk(tree) if isinstance(n, ast.Name)
    } | {
        f"{n.value.id}.{n.attr}"
        for tree in kept
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
    }
    return "".join(ast.dump(tree) for tree in kept), frozenset(names)


def origin(part: Part, name: str) -> str:
    """Where a name in a part comes from; empty if it is none of the packages'."""
    module = read_module(part[0])
    first, _, attribute = name.partition(".")
    if not attribute:
        return (
            f"{module.name}.{name}"
            if name in module.parts
            else module.imported.get(name, "")
        )
    imported = module.imported.get(first, "")
    return f"{imported}.{attribute}" if is_ours(imported) else ""


@functools.cache
def digest(part: Part) -> str:
    """Eight digits that change with a part, or with where its names come from."""
    text, names = bare(part)
    origins = sorted(filter(None, (origin(part, name) for name in names)))
    return hashlib.sha256("\n".join([text, *origins]).encode()).hexdigest()[:8]


@functools.cache
def referred(part: Part) -> frozenset[Part]:
    """Constants, classes and remembered functions that a part refers to."""
    return frozenset(_referred(part))


def _referred(part: Part) -> Iterator[Part]:
    module, name = part
    if "." in name:
        yield module, name.rpartition(".")[0]
    for used in bare(part)[1]:
        found = resolve(origin(part, used))
        if found is None or found == part:
            continue
        (node, *_) = read_module(found[0]).parts[found[1]]
        remembered = isinstance(node, Function) and "cache" in "".join(
            map(ast.unparse, node.decorator_list)
        )
        if remembered or not isinstance(node, Function):
            yield found


def closure(parts: set[Part]) -> dict[str, str]:
    """Digests of parts and of all that they refer to, by ``module:name``."""
    found, left = set(parts), list(parts)
    while left:
        new = referred(left.pop()) - found
        found |= new
        left += new
    return {
        f"{module}:{name}": digest((module, name)) for module, name in sorted(found)
    }


_entered: set[CodeType] = set()


def _note(frame: FrameType, event: str, argument: object) -> None:
    _entered.add(frame.f_code)


@contextmanager
def noting() -> Iterator[set[Part]]:
    """Fill a set with the functions of the packages that are entered meanwhile."""
    parts: set[Part] = set()
    _entered.clear()
    before = sys.gettrace()
    threading.settrace(_note)
    sys.settrace(_note)
    try:
        yield parts
    finally:
        sys.settrace(before)
        threading.settrace(before)  # type: ignore[arg-type]
        places = {(code.co_filename, code.co_qualname) for code in set(_entered)}
        parts |= {part for place in places for part in parts_at(*place)}


@functools.cache
def parts_at(filename: str, qualname: str) -> list[Part]:
    """The function of the packages that has the code of this name, or has it inside."""
    file = Path(filename)
    for package, folder in PACKAGES.items():
        if file.is_relative_to(folder):
            path = file.relative_to(folder).with_suffix("")
            steps = [step for step in path.parts if step != "__init__"]
            module = read_module(".".join([package, *steps]))
            names = qualname.split(".<locals>")[0]
            counts = names in module.parts and module.name not in NO_NUMBERS
            return [(module.name, names)] if counts else []
    return []


class Ledger:
    """Which parts the lines of every file and group come from, kept in a JSON file.

    A group has the lines of one method. It is *current* while its parts are what they
    were when it was computed, with the same releases of NumPy, SciPy and scikit-learn.
    """

    def __init__(self, path: Path, releases: str) -> None:
        self.path, self.releases = path, releases
        self.digests: dict[str, str] = {}
        self.groups: dict[str, list[str]] = {}
        if path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
            self.digests = kept["digests"]
            names = list(self.digests)
            self.groups = {
                group: [names[i] for i in numbers]
                for group, numbers in kept["groups"].items()
            }

    def changed(self, group: str) -> list[str]:
        """Parts that are not what they were; "nothing is known" of a new group."""
        if group not in self.groups:
            return ["nothing is known"]
        return [
            name for name in self.groups[group] if self._now(name) != self.digests[name]
        ]

    def _now(self, name: str) -> str:
        if name == "releases":
            return self.releases
        module, _, part = name.partition(":")
        known = is_ours(module) and part in read_module(module).parts
        return digest((module, part)) if known else ""

    def forget(self, group: str) -> None:
        self.groups.pop(group, None)

    def add(self, group: str, parts: set[Part]) -> None:
        """Note what a run of a group entered; other groups with older parts go."""
        new = {**closure(parts), "releases": self.releases}
        for name, now in new.items():
            if self.digests.get(name, now) != now:
                for other in [g for g, names in self.groups.items() if name in names]:
                    del self.groups[other]
        self.digests |= new
        had = self.groups.get(group, [])
        self.groups[group] = sorted({*had, *new})

    def write(self) -> None:
        used = sorted({name for names in self.groups.values() for name in names})
        number = {name: i for i, name in enumerate(used)}
        content = {
            "digests": {name: self.digests[name] for name in used},
            "groups": {
                group: [number[name] for name in names]
                for group, names in sorted(self.groups.items())
            },
        }
        part = self.path.with_suffix(".part")
        part.write_text(_compact(content), encoding="utf-8")
        part.replace(self.path)


def _compact(content: dict[str, dict[str, Any]]) -> str:
    """JSON with a line for every entry."""
    blocks = []
    for name, entries in content.items():
        lines = [f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in entries.items()]
        blocks.append(f" {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(blocks) + "\n}\n"
