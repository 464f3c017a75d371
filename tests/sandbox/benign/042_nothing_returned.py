# form: function
# tests: {"entry_point": "nothing", "cases": [{"args": [1], "expected": null}]}
def nothing(n):
    pass
