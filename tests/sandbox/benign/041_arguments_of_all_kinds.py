# form: function
# tests: {"entry_point": "kinds", "cases": [{"args": [1, 2.5, "x", true, null, [1, [2]], {"a": [1]}], "expected": ["int", "float", "str", "bool", "NoneType", "list", "dict"]}]}
def kinds(*values):
    return [type(v).__name__ for v in values]
