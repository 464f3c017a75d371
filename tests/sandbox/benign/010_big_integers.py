# form: function
# tests: {"entry_point": "digits", "cases": [{"args": [100], "expected": 158}, {"args": [1000], "expected": 2568}]}
import math


def digits(n):
    return len(str(math.factorial(n)))
