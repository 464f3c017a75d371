# form: asserts
# tests: {"setup": "", "asserts": ["assert letters('hello') == {'h', 'e', 'l', 'o'}", "assert len(letters('')) == 0", "assert 'h' in letters('hi')", "assert letters('ab') | {'c'} == set('abc')", "assert frozen('ab') == frozenset('ab')"]}
def letters(s):
    return set(s)


def frozen(s):
    return frozenset(s)
