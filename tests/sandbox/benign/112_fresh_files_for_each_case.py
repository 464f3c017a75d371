# form: function
# tests: {"entry_point": "saved", "cases": [{"args": [1], "expected": 1}, {"args": [2], "expected": 2}, {"args": [3], "expected": 3}]}
def saved(number):
    with open("/tmp/number", "x") as file:
        file.write(str(number))
    with open("/tmp/number") as file:
        return int(file.read())
