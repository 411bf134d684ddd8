"""What imports what: imports inside functions and for annotations count as much as those at the top of a file."""

import ast
from pathlib import Path

import grimp
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

import dalembert
from dalembert.exports import PLACES


def rings(edges):
    """The groups of modules that import one another, directly or not; a module alone is no group."""
    modules = sorted({module for edge in edges for module in edge})
    places = {module: k for k, module in enumerate(modules)}
    rows, columns = (np.array([places[edge[side]] for edge in edges]) for side in (0, 1))
    graph = coo_array((np.ones(len(edges)), (rows, columns)), shape=(len(modules), len(modules)))
    count, group = connected_components(graph, connection="strong")
    groups = [[module for module, k in places.items() if group[k] == g] for g in range(count)]
    return [members for members in groups if len(members) > 1]


def imports(*, annotations):
    """Pairs (module, what it imports); with `annotations` those in blocks `if TYPE_CHECKING` count as well."""
    graph = grimp.build_graph("dalembert", exclude_type_checking_imports=not annotations, cache_dir=None)
    return [(module, other) for module in graph.modules for other in graph.find_modules_directly_imported_by(module)]


WHOLE = [("dalembert", module) for module in PLACES.values()]  # names of the package are imported when asked for


def test_modules_do_not_import_one_another():
    """Of a noun's verbs, `stages.py` names the functions of later stages; that table is no import and left out."""
    edges = imports(annotations=False)
    assert ("dalembert.run.simulate", "dalembert.run.hybrid") in edges  # one that is inside a function
    assert rings(edges + WHOLE) == []


def test_annotations_do_not_close_a_ring():
    """Verbs of Model and System return what later stages make, under its public name; nothing else looks ahead."""
    edges = imports(annotations=True)
    assert ("dalembert.motion.protocols", "dalembert.run.evaluation") in edges  # one that is for annotations alone
    ahead = {module for module, other in edges if other == "dalembert"}
    assert ahead == {"dalembert.model.model", "dalembert.equations.system"}
    assert rings([edge for edge in edges if edge[1] != "dalembert"] + WHOLE) == []


def test_rings_are_seen():
    assert rings([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]) == [["a", "b", "c"]]


# What factorises a matrix in NumPy, SciPy and CasADi. Eigenvalues are results, not solves, and allowed anywhere.
FACTORISATIONS = frozenset(
    [
        "svd",
        "svdvals",
        "qr",
        "lstsq",
        "pinv",
        "solve",
        "inv",
        "cholesky",
        "matrix_rank",
        "null_space",
        "orth",
        "slogdet",
        "det",
        "cond",
        "lu",
        "lu_factor",
        "lu_solve",
        "cho_factor",
        "solve_triangular",
        "splu",
        "spilu",
        "spsolve",
        "factorized",
        "lsqr",
        "lsmr",
        "lsq_linear",
        "ldl",
        "polar",
        "inv_minor",
        "nullspace",
        "chol",
        "cofactor",
        "adj",
        "mldivide",
    ]
)
MATRIX_MODULES = ("linalg", "casadi", "ca")
TABLES = ("radau_coefficients.py",)  # coefficients of a method, found once of constants


def factorisations(tree):
    """The factorisations that functions of a module call or import by NumPy, SciPy or CasADi, as (line, name)."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    called = {
        (node.lineno, node.attr)
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).endswith(MATRIX_MODULES)
    }
    imported = {
        (node.lineno, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith(MATRIX_MODULES)
        for alias in node.names
    }
    return sorted((line, name) for line, name in called | imported if name in FACTORISATIONS)


def test_only_solve_factorises():
    root = Path(dalembert.__file__).parent
    files = {path.relative_to(root): path for path in root.rglob("*.py") if path.name not in TABLES}
    found = {
        str(place): factorisations(ast.parse(path.read_text(encoding="utf-8")))
        for place, path in files.items()
        if place.parts[0] != "solve"
    }
    assert {place: names for place, names in found.items() if names} == {}


def test_factorisations_are_seen():
    inside = "def f(A):\n    from scipy.linalg import qr\n    return np.linalg.svd(A), np.linalg.norm(A)"
    assert factorisations(ast.parse(inside)) == [(2, "qr"), (3, "svd")]
    assert factorisations(ast.parse("def f(A, b):\n    return ca.solve(A, b), ca.mtimes(A, b)")) == [(2, "solve")]
    assert factorisations(ast.parse("TABLE = np.linalg.inv(CONSTANT)")) == []
