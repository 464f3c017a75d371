# form: asserts
# tests: {"setup": "", "asserts": ["assert split(7) == (3, 4)", "assert split(8) == (4, 4)", "assert split(1)[1] == 1", "assert isinstance(split(2), tuple)", "a, b = split(5)\nassert a + b == 5"]}
def split(n):
    return n // 2, n - n // 2
