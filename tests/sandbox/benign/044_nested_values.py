# form: function
# tests: {"entry_point": "tree", "cases": [{"args": [3], "expected": [3, [2, [1, null]]]}]}
def tree(n):
    return None if n == 0 else [n, tree(n - 1)]
