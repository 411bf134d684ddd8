"""What imports what: imports inside functions count as much as those at the top of a file."""

import grimp
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

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


def test_modules_do_not_import_one_another():
    """Of a noun's verbs, `stages.py` names the functions of later stages; that table is no import and left out."""
    graph = grimp.build_graph("dalembert", exclude_type_checking_imports=True, cache_dir=None)
    edges = [(module, other) for module in graph.modules for other in graph.find_modules_directly_imported_by(module)]
    whole = [("dalembert", module) for module in PLACES.values()]  # names of the package are imported when asked for
    assert ("dalembert.run.simulate", "dalembert.run.hybrid") in edges  # one that is inside a function
    assert rings(edges + whole) == []


def test_rings_are_seen():
    assert rings([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]) == [["a", "b", "c"]]
