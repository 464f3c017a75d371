# form: function
# tests: {"entry_point": "ranking", "cases": [{"args": [[["x", 2], ["a", 2], ["b", 5]]], "expected": ["b", "a", "x"]}]}
import copy
from operator import itemgetter


def ranking(rows):
    rows = copy.deepcopy(rows)
    rows.sort(key=itemgetter(0))
    rows.sort(key=itemgetter(1), reverse=True)
    return [name for name, _ in rows]
