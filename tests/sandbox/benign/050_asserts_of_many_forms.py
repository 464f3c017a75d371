# form: asserts
# tests: {"setup": "", "asserts": ["assert not empty([1])", "assert empty([]) is True", "assert sorted(empty_keys({'a': 0, 'b': 1})) == ['a']", "assert all(x > 0 for x in positive([1, -1, 2]))", "for n in range(5):\n    assert positive([n]) == ([n] if n else [])", "assert positive([3])[0] == 3 and len(positive([3])) == 1"]}
def empty(xs):
    return not xs


def empty_keys(d):
    return [k for k, v in d.items() if not v]


def positive(xs):
    return [x for x in xs if x > 0]
