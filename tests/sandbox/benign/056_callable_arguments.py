# form: asserts
# tests: {"setup": "", "asserts": ["assert apply(lambda x: x + 1, 3) == 4", "assert apply(len, 'abc') == 3"]}
def apply(f, x):
    return f(x)
