# form: asserts
# tests: {"setup": "values = [3, 1, 2]", "asserts": ["assert smallest(values) == 1", "assert values == [3, 1, 2]", "assert smallest(values + [0]) == 0"]}
def smallest(xs):
    return min(xs)
