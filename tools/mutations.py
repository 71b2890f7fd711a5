"""Mutations of a module: every small change of its code that ought to be noticed.

A mutation replaces one node of the syntax tree. Annotations, decorators and texts are
left alone: changing them is noticed at once or means nothing. So is ``strict=True`` of
zip, which says what holds anyway.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Mod: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}

#: Functions and methods, and what they are easily mistaken for.
NAMES = {
    "maximum": "minimum",
    "minimum": "maximum",
    "max": "min",
    "min": "max",
    "argmax": "argmin",
    "argmin": "argmax",
    "any": "all",
    "all": "any",
    "zeros": "ones",
    "ones": "zeros",
    "zeros_like": "ones_like",
    "floor": "ceil",
    "sum": "mean",
    "mean": "sum",
}


class Mutation(NamedTuple):
    """One change: where, what it was and what it becomes."""

    line: int
    column: int
    path: tuple[tuple[str, int | None], ...]  # fields from the root to the node
    new: ast.AST
    was: str
    becomes: str


def find_mutations(source: str) -> list[Mutation]:
    """List all mutations of a module, in the order of its text."""
    found = [
        Mutation(node.lineno, node.col_offset, path, new, text, ast.unparse(new))
        for node, path in _walk(ast.parse(source), ())
        for text in [ast.unparse(node)]
        for new in _replacements(node)
    ]
    return sorted(found, key=lambda m: (m.line, m.column, m.was, m.becomes))


def mutate(source: str, mutation: Mutation) -> ast.Module:
    """Tree of a module with one mutation."""
    tree = ast.parse(source)
    parent: ast.AST = tree
    *way, (field, index) = mutation.path
    for name, i in way:
        child = getattr(parent, name)
        parent = child if i is None else child[i]
    old = getattr(parent, field)
    new = ast.copy_location(
        copy.deepcopy(mutation.new), old if index is None else old[index]
    )
    if index is None:
        setattr(parent, field, new)
    else:
        old[index] = new
    return ast.fix_missing_locations(tree)


def _walk(
    node: ast.AST, path: tuple[tuple[str, int | None], ...]
) -> Iterator[tuple[ast.expr | ast.stmt, tuple[tuple[str, int | None], ...]]]:
    """Yield expressions and statements that run, with the way to each."""
    if isinstance(node, ast.expr | ast.stmt):
        yield node, path
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        if isinstance(node, ast.AnnAssign) and _is_alias(node):
            continue
        if isinstance(node, ast.keyword) and node.arg == "strict":
            continue
        for i, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST):
                step = (name, i if isinstance(value, list) else None)
                yield from _walk(child, (*path, step))


def _is_alias(node: ast.AnnAssign) -> bool:
    return isinstance(node.annotation, ast.Name) and node.annotation.id == "TypeAlias"


def _replacements(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1)
        case ast.Compare(left=left, ops=[op], comparators=right):
            for other in COMPARISONS[type(op)]:
                yield ast.Compare(left, [other()], right)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            yield ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.If(test=test, body=body, orelse=orelse):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Call():
            yield from _other_calls(node)
        case ast.AugAssign(target=target, op=op, value=value):
            yield ast.Pass()
            if type(op) in OPERATORS:
                yield ast.AugAssign(target, OPERATORS[type(op)](), value)
        case ast.Assign(targets=[ast.Subscript() | ast.Attribute()]):
            yield ast.Pass()
        case ast.Expr(value=ast.Call()) | ast.Continue() | ast.Break():
            yield ast.Pass()


def _other_calls(node: ast.Call) -> Iterator[ast.Call]:
    """Calls of another function, and without one of the named arguments."""
    match node.func:
        case ast.Attribute(value=value, attr=name) if name in NAMES:
            func = ast.Attribute(value, NAMES[name], ast.Load())
            yield ast.Call(func, node.args, node.keywords)
        case ast.Name(id=name) if name in NAMES:
            func = ast.Name(NAMES[name], ast.Load())
            yield ast.Call(func, node.args, node.keywords)
    for i, keyword in enumerate(node.keywords):
        if keyword.arg == "strict":
            continue
        fewer = node.keywords[:i] + node.keywords[i + 1 :]
        yield ast.Call(node.func, node.args, fewer)
