# form: asserts
# tests: {"setup": "", "asserts": ["try:\n    divide(1, 0)\n    assert False\nexcept ZeroDivisionError:\n    pass", "assert divide(6, 3) == 2", "try:\n    divide('a', 1)\nexcept TypeError:\n    pass\nelse:\n    assert False"]}
def divide(a, b):
    return a / b
