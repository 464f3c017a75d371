# form: function
# tests: {"entry_point": "multiply", "cases": [{"args": [[[1, 2], [3, 4]], [[0, 1], [1, 0]]], "expected": [[2, 1], [4, 3]]}]}
def multiply(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]
