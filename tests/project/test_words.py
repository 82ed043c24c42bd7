"""Names and docstrings: verbs for functions, the field's words, a line for each parameter, and examples that run."""

import ast
import doctest
import importlib
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import svmkit

MOST_BARE = 38  # functions whose name is a participle or begins with a preposition
MOST_SILENT = 0  # public functions of four parameters and more without a Parameters section, their own or a base's
DEEPEST = 6  # classes between a class and the base that describes its methods
MOST_STOPPED = 0  # identifiers with a stop word, once a file
MOST_LACKING = 0  # public classes and functions without Examples

PREPOSITIONS = {"as", "at", "beside", "by", "for", "from", "in", "of", "on", "to", "with", "within"}
CONVERTERS = {"as", "by", "from", "on", "to", "with"}  # `from_file`, `to_frame`, `on_end` are good names
IRREGULAR = """begun chosen dealt drawn found given held kept known learnt left lost made met said seen sent shown
    spelt taken told won written"""  # participles; the regular ones end in "ed"
STOPPED = """allowance chances crew dealt follower grain ground heed homes kink kinks mend roster tilt told
    Tasks ClassPair"""
TERMS = {"kinks", "kink_up", "kink_down"}  # the two kinks of a loss

ROOT = Path(svmkit.__file__).parent.parent
FILES = sorted(path for part in ("svmkit", "plugins", "registry") for path in (ROOT / part).rglob("*.py"))
Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def trees() -> dict[Path, ast.Module]:
    """The syntax tree of each file; parsed by the first test that asks, since each worker collects this file."""
    return {path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


@cache
def functions() -> dict[str, Function]:
    """The functions of all files by place and name."""
    return {
        f"{path}:{node.lineno} {node.name}": node
        for path, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, Function)
    }


def decorators(node: Function) -> str:
    return " ".join(map(ast.unparse, node.decorator_list))


def is_bare(node: Function) -> bool:
    """Whether a name begins with a preposition, or is a participle, which properties and yes-or-no answers may be."""
    first, *rest = node.name.strip("_").split("_")
    if first in PREPOSITIONS:
        return not (rest and first in CONVERTERS)
    if rest or not (first in IRREGULAR.split() or (first.endswith("ed") and len(first) > 4)):
        return False
    return "property" not in decorators(node) and not (node.returns and ast.unparse(node.returns) == "bool")


def is_silent(node: Function) -> bool:
    """Whether a public function of four parameters and more says nothing of them."""
    taken = len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
    if taken < 4 or node.name.startswith("_") or re.search("jit|overload", decorators(node)):
        return False
    return "Parameters" not in (ast.get_docstring(node) or "")


def described_parameters(doc: str) -> set[str]:
    """The names that stand in the Parameters section of a docstring, without their stars."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\w[^\n]*\n---|\Z)", doc, re.S | re.M)
    heads = [line.partition(":")[0] for line in section[1].splitlines() if line and line[0] != " "] if section else []
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


def described_methods() -> dict[str, set[str]]:
    """The methods of each class, by its name, whose docstrings have a Parameters section; those of its bases too."""
    classes = [node for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    methods: dict[str, set[str]] = {node.name: set() for node in classes}
    for node in classes:
        members = [member for member in node.body if isinstance(member, Function)]
        methods[node.name] |= {each.name for each in members if "Parameters" in (ast.get_docstring(each) or "")}
    for _ in range(DEEPEST):
        for node in classes:
            for base in node.bases:
                methods[node.name] |= methods.get(ast.unparse(base).split("[")[0].split(".")[-1], set())
    return methods


def public_functions() -> set[Function]:
    """The functions of modules and of public classes, without methods that a base class describes already."""
    methods = described_methods()
    public = {node for tree in trees().values() for node in tree.body if isinstance(node, Function)}
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                own = [member for member in node.body if isinstance(member, Function)]
                public |= {member for member in own if member.name not in methods[node.name]}
    return public


def has_stop_word(name: str) -> bool:
    """Whether a stop word is an identifier or a part of it."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_")
    return name not in TERMS and not {*parts, name}.isdisjoint(STOPPED.split())


def identifiers(tree: ast.AST) -> Iterator[str]:
    """All names that a file defines or uses."""
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name", "asname"):
            if isinstance(name := getattr(node, field, None), str):
                yield name


def exports() -> dict[str, Any]:
    """The classes and functions that the faces of svmkit and its rooms export, each once."""
    names: dict[int, tuple[str, Any]] = {}
    for face in sorted((ROOT / "svmkit").rglob("__init__.pyi"), key=lambda path: len(path.parts)):
        module = importlib.import_module(".".join(face.parent.relative_to(ROOT).parts))
        for name in module.__all__:
            member = getattr(module, name)
            if inspect.isclass(member) or inspect.isfunction(member):
                names.setdefault(id(member), (f"{module.__name__}.{name}", member))
    return dict(names.values())


PUBLIC = exports()
WITH_EXAMPLES = {name: member for name, member in PUBLIC.items() if "Examples\n" in (member.__doc__ or "")}


def test_functions_are_named_by_verbs_and_nouns():
    bare = [place for place, node in functions().items() if is_bare(node)]
    assert len(bare) <= MOST_BARE, "\n".join(bare)


def test_public_functions_describe_their_parameters():
    public = public_functions()
    silent = [place for place, node in functions().items() if is_silent(node) and node in public]
    assert len(silent) <= MOST_SILENT, "\n".join(silent)


def test_exported_functions_describe_their_parameters():
    functions = {name: member for name, member in PUBLIC.items() if inspect.isfunction(member)}
    silent = [
        name
        for name, function in functions.items()
        if inspect.signature(function).parameters and not described_parameters(inspect.getdoc(function) or "")
    ]
    assert not silent


def test_described_parameters_are_those_of_the_signature():
    """A sentence after the section is taken for a parameter, too: it belongs above, or into Notes."""
    wrong = {}
    for place, node in functions().items():
        described = described_parameters(ast.get_docstring(node) or "")
        own = {one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        own |= {one.arg for one in (node.args.vararg, node.args.kwarg) if one}
        if described and (differ := described ^ (own - {"self", "cls", "typing"})):  # numba gives an intrinsic `typing`
            wrong[place] = differ
    assert not wrong


def test_identifiers_are_the_words_of_the_field():
    stopped = Counter(name for tree in trees().values() for name in set(identifiers(tree)) if has_stop_word(name))
    assert stopped.total() <= MOST_STOPPED, stopped


@pytest.mark.parametrize(
    ("source", "bare", "silent"),
    [
        ("def shown(a): ...", True, False),
        ("def of(a, b, c, d): ...", True, True),
        ("def from_file(path): ...", False, False),
        ("def converged(self) -> bool: ...", False, False),
        ("@property\ndef unscaled(self): ...", False, False),
        ("def seed(a, *, b, c, d):\n    '''S.\n\n    Parameters\n    '''", False, False),
    ],
)
def test_the_rules_tell_names_apart(source, bare, silent):
    (node,) = ast.parse(source).body
    assert isinstance(node, Function)
    assert (is_bare(node), is_silent(node)) == (bare, silent)


@pytest.mark.parametrize(
    ("doc", "names"),
    [
        (
            "S.\n\nParameters\n----------\na, b : int\n    Both.\n*rest, **more\n\nReturns\n-------\nint",
            {"a", "b", "rest", "more"},
        ),
        ("S.\n\nParameters\n----------\na : int\n\nIt is slow.", {"a", "It is slow."}),
        ("S.", set()),
    ],
)
def test_the_parameters_of_a_docstring_are_read(doc, names):
    assert described_parameters(doc) == names


def test_a_stop_word_is_seen_within_a_name():
    assert all(map(has_stop_word, ("kink", "_crew", "ClassPair", "mend_all", "in_ground")))
    assert not any(map(has_stop_word, ("kink_up", "kinks", "background", "grained", "subproblem")))


def test_public_names_have_examples():
    assert len(PUBLIC) - len(WITH_EXAMPLES) <= MOST_LACKING, "\n".join(PUBLIC.keys() - WITH_EXAMPLES.keys())


@pytest.mark.parametrize("name", WITH_EXAMPLES)
@pytest.mark.slow
@pytest.mark.usefixtures("cells_here")
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (examples,) = doctest.DocTestFinder(recurse=False).find(WITH_EXAMPLES[name], name, globs={})
    assert examples.examples
    report: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=report.append)
    assert not outcome.failed, "".join(report)
