# form: function
# tests: {"entry_point": "double", "cases": [{"args": [4], "expected": 8}, {"args": [-1], "expected": -2}]}
def double(n):
    print("doubling", n)
    print("." * 10000)
    return 2 * n


print("loaded")
