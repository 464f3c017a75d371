#!/usr/bin/env python3
"""What a warm interpreter costs without a sandbox: forks for each program that comes in on standard input and answers
with its exit status. bench/sandbox_rate measures the sandbox against it.

  python3 -I -S bench/fork_server.py MODULES
MODULES is a Python file whose imports are loaded first. A program is its length in decimal on a line, then its text.
"""
import ast
import os
import resource
import sys


def load_imports(path):
    with open(path) as f:
        tree = ast.parse(f.read())
    tree.body = [n for n in tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
    exec(compile(tree, path, "exec"), {})


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(source):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(write, 1)
        os.dup2(write, 2)
        os.closerange(3, 64)
        limits()
        code = 1
        try:
            exec(compile(source, "main.py", "exec"), {"__name__": "__main__"})
            code = 0
        finally:
            os._exit(code)
    os.close(write)
    while os.read(read, 1 << 16):
        pass
    os.close(read)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main():
    load_imports(sys.argv[1])
    while line := sys.stdin.buffer.readline():
        source = sys.stdin.buffer.read(int(line))
        os.write(1, b"%d\n" % run(source))


main()
