# form: stdio
# tests: [{"stdin": "", "expected_stdout": "enter\nbody 3\nleave\ncaught"}]
import contextlib
import functools


def logged(f):
    @functools.wraps(f)
    def wrapper(*a):
        return f(*a)
    return wrapper


@contextlib.contextmanager
def scope():
    print("enter")
    try:
        yield 3
    finally:
        print("leave")


@logged
def run():
    with scope() as n:
        print("body", n)
        raise ValueError


try:
    run()
except ValueError:
    print("caught")
