# form: asserts
# tests: {"setup": "", "asserts": ["assert encode('é') == b'\\xc3\\xa9'", "assert encode('') == b''", "assert complex_root(-4) == 2j"]}
import cmath


def encode(s):
    return s.encode("utf-8")


def complex_root(x):
    return complex(0, round(cmath.sqrt(x).imag))
