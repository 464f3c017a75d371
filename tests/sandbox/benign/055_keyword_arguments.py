# form: asserts
# tests: {"setup": "", "asserts": ["assert join('a', 'b') == 'a-b'", "assert join('a', 'b', sep='+') == 'a+b'", "assert join(*['x'] * 3, sep='') == 'xxx'"]}
def join(*parts, sep="-"):
    return sep.join(parts)
