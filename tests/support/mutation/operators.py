"""The small changes that a mutation makes to a module, as edits of its syntax tree."""

from __future__ import annotations

import ast
import builtins
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

COMPARISONS = {
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
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
FUNCTIONS = {"minimum": "maximum", "argmin": "argmax", "min": "max", "any": "all", "zeros": "ones"}
FUNCTIONS |= {other: name for name, other in FUNCTIONS.items()} | {"sum": "mean", "floor": "ceil", "ceil": "floor"}
SYMMETRIC = {"max", "min", "maximum", "minimum", "fmax", "fmin", "hypot", "gcd", "lcm", "logaddexp"}

HELD = ("body", "orelse", "finalbody", "handlers")  # what holds the statements under a statement
PASSED_OVER = {"annotation", "targets", "target", "type", "returns", *HELD}


@dataclass(frozen=True)
class Mutation:
    """One change of one module.

    Attributes
    ----------
    number : int
        Its place among all mutations of the module, by which `mutated` finds it again.
    line : int
        The line of the module.
    where : str
        The function or class, dotted; "" for the module itself.
    before, after : str
        The text of the statement or expression around the change.
    compiled : bool
        Whether the change is within a function that numba compiles.
    """

    number: int
    line: int
    where: str
    before: str
    after: str
    compiled: bool

    def order(self, seed: int) -> str:
        """Return a key for a random order, which edits elsewhere in the module do not change."""
        return hashlib.sha256(f"{seed}/{self.where}/{self.before}/{self.after}".encode()).hexdigest()


@dataclass(frozen=True)
class _Edit:
    """Puts `new` in place of `holder.key`, or of `holder[key]` in a list; `shown` is the node whose text tells it."""

    holder: Any
    key: Any
    new: Any
    shown: ast.AST
    where: str = ""
    compiled: bool = False

    def make(self) -> Any:
        """Make the edit and return what stood there before."""
        if isinstance(self.holder, list):
            old, self.holder[self.key] = self.holder[self.key], self.new
        else:
            old = getattr(self.holder, self.key)
            setattr(self.holder, self.key, self.new)
        return old

    def mutation(self, number: int) -> Mutation:
        """Describe the edit, and leave the tree as it is."""
        before, old = ast.unparse(self.shown), self.make()
        after = ast.unparse(self.new if old is self.shown else self.shown)
        replace(self, new=old).make()
        return Mutation(number, self.shown.lineno, self.where, before, after, self.compiled)


def mutations(source: str) -> list[Mutation]:
    """Return all mutations of a module, in the order of its lines."""
    return [edit.mutation(number) for number, edit in enumerate(_edits(ast.parse(source)))]


def mutated(source: str, number: int) -> ast.Module:
    """Return the syntax tree of a module with one mutation."""
    tree = ast.parse(source)
    _edits(tree)[number].make()
    return ast.fix_missing_locations(tree)


def _edits(tree: ast.Module) -> list[_Edit]:
    return list(_in_block(tree, "", "@njit" in ast.unparse(tree)))  # compiled functions hold the module's numbers


def _in_block(node: ast.AST, where: str, compiled: bool) -> Iterator[_Edit]:
    """Yield the edits under a node; messages, types, decorators and imports are left as they are."""
    for name in HELD:
        for k, statement in enumerate(block := getattr(node, name, [])):
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                inside = f"{where}.{statement.name}".lstrip(".")
                jitted = any("njit" in ast.unparse(decorator) for decorator in statement.decorator_list)
                edits = [*_in_defaults(statement), *_in_block(statement, inside, jitted)]
                yield from (replace(e, where=e.where or inside, compiled=jitted) for e in edits)
            elif not isinstance(statement, ast.Import | ast.ImportFrom | ast.Raise | ast.Assert):
                edits = [_Edit(block, k, ast.Pass(), statement)] if _can_be_dropped(statement) else []
                edits += _in_statement(statement)
                yield from (replace(e, where=where, compiled=compiled) for e in edits)
                yield from _in_block(statement, where, compiled)


def _can_be_dropped(statement: ast.AST) -> bool:
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, ast.Attribute | ast.Subscript) for target in statement.targets)
    call = isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant)
    return call or isinstance(statement, ast.AugAssign | ast.Break | ast.Continue)


def _in_defaults(function: ast.AST) -> Iterator[_Edit]:
    if isinstance(function, ast.FunctionDef):
        for block in (function.args.defaults, function.args.kw_defaults):
            for k in range(len(block)):
                if block[k] is not None:
                    yield from _in_expression(block, k, block[k])


def _in_statement(statement: ast.AST) -> Iterator[_Edit]:
    """Yield the edits of the expressions that a statement itself holds."""
    if isinstance(statement, ast.If | ast.While) and not _has_its_opposite(statement.test):
        yield _Edit(statement, "test", ast.UnaryOp(ast.Not(), statement.test), statement.test)
    if isinstance(statement, ast.AugAssign) and type(statement.op) in ARITHMETIC:
        yield _Edit(statement, "op", ARITHMETIC[type(statement.op)](), statement)
    for name in statement._fields:
        part = getattr(statement, name)
        if name not in PASSED_OVER and part is not None:
            whole = isinstance(statement, ast.If | ast.While | ast.For)  # whose text holds all statements under it
            yield from _in_expression(statement, name, part if whole else statement)


def _has_its_opposite(test: ast.expr) -> bool:
    """Return whether another edit of the condition already negates it, or nothing is to be negated."""
    single = isinstance(test, ast.Compare) and len(test.ops) == 1
    return single or isinstance(test, ast.UnaryOp | ast.Constant)


def _in_expression(holder: Any, key: Any, shown: ast.AST) -> Iterator[_Edit]:
    """Yield the edits of the expression at `holder.key` or `holder[key]` and then of its parts."""
    node = holder[key] if isinstance(holder, list) else getattr(holder, key)
    if isinstance(node, list):
        for k in range(len(node)):
            yield from _in_expression(node, k, shown)
    elif isinstance(node, ast.AST) and not isinstance(node, ast.JoinedStr) and getattr(node, "arg", "") != "strict":
        if isinstance(node, ast.BinOp | ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Call | ast.IfExp | ast.Subscript):
            shown = node
        yield from (_Edit(*edit, shown) for edit in _of_node(holder, key, node))
        for name in node._fields:
            yield from _in_expression(node, name, shown)


def _of_node(holder: Any, key: Any, node: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield (holder, key, new) of the edits that a node itself gives occasion to."""
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            for other in COMPARISONS[type(op)]:
                yield node.ops, k, other()
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        yield node, "op", ARITHMETIC[type(node.op)]()
        if isinstance(node.op, ast.Add | ast.Sub):  # a term is dropped
            yield holder, key, node.left
            yield holder, key, node.right
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        yield node, "left", _mean_of(node.left)
        yield node, "right", _mean_of(node.right)
    elif isinstance(node, ast.BoolOp):
        yield node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.UnaryOp):
        yield holder, key, node.operand
    elif isinstance(node, ast.IfExp) and not _has_its_opposite(node.test):
        yield node, "test", ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.comprehension):
        for k in range(len(node.ifs)):
            yield node.ifs, k, ast.Constant(True)
    elif isinstance(node, ast.Call):
        name = "attr" if isinstance(node.func, ast.Attribute) else "id"
        other = FUNCTIONS.get(getattr(node.func, name, ""))
        if other and (name == "attr" or hasattr(builtins, other)):
            yield node.func, name, other
        starred = any(isinstance(argument, ast.Starred) for argument in node.args[:2])
        if len(node.args) > 1 and not starred and not _is_symmetric(node):
            yield node, "args", [node.args[1], node.args[0], *node.args[2:]]
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        yield holder, key, ast.Constant(_other_number(node.value))


def _is_symmetric(call: ast.Call) -> bool:
    """Return whether a call gives the same if its first two arguments change places."""
    if isinstance(call.func, ast.Attribute):  # `np.max(x, 0)` takes an axis
        return call.func.attr in SYMMETRIC - {"max", "min"}
    keyed = any(keyword.arg == "key" for keyword in call.keywords)  # of equal keys the first counts
    return isinstance(call.func, ast.Name) and call.func.id in SYMMETRIC and not keyed


def _other_number(value: bool | int | float) -> bool | int | float:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else 2.0 * value or 1.0


def _mean_of(array: ast.expr) -> ast.expr:
    """Return the array with all of its numbers replaced by their mean."""
    mean = ast.Call(ast.Attribute(array, "mean", ast.Load()), [], [])
    return ast.BinOp(ast.BinOp(array, ast.Mult(), ast.Constant(0.0)), ast.Add(), mean)
