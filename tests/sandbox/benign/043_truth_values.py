# form: function
# tests: {"entry_point": "even", "cases": [{"args": [2], "expected": true}, {"args": [3], "expected": false}]}
def even(n):
    return n % 2 == 0
