# form: function
# tests: {"entry_point": "evaluate", "cases": [{"args": [["add", 1, ["mul", 2, 3]]], "expected": 7}]}
def evaluate(node):
    match node:
        case ["add", a, b]:
            return evaluate(a) + evaluate(b)
        case ["mul", a, b]:
            return evaluate(a) * evaluate(b)
        case int():
            return node
