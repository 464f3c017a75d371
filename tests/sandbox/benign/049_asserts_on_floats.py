# form: asserts
# tests: {"setup": "import math", "asserts": ["assert abs(root(2) - 1.41421356) < 1e-6", "assert math.isclose(root(9), 3)", "assert round(root(10), 3) == 3.162", "assert root(4) == 2", "assert math.isnan(odd())"]}
def root(x):
    return x ** 0.5


def odd():
    return float("nan")
