# form: function
# tests: {"entry_point": "power", "cases": [{"args": [2, 100], "expected": 1267650600228229401496703205376}, {"args": [-3, 41], "expected": -36472996377170786403}]}
def power(a, b):
    return a ** b
