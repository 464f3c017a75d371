# form: function
# tests: {"entry_point": "lengths", "cases": [{"args": [["a", "bb", ""]], "expected": {"a": 1, "bb": 2, "": 0}}]}
def lengths(words):
    return {w: len(w) for w in words}
