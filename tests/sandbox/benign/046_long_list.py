# form: function
# tests: {"entry_point": "count", "cases": [{"args": [50000], "expected_range": 50000}]}
def count(n):
    return list(range(n))
