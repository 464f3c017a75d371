# form: function
# tests: {"entry_point": "fibonacci", "cases": [{"args": [10], "expected": [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]}]}
import itertools


def numbers():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b


def fibonacci(n):
    return list(itertools.islice(numbers(), n))
