#!/usr/bin/env python3
"""Files that comments and documents name are there: named_files.py SOURCE_DIR

A path from the root or from the file's own folder must be a file; a bare `name.h` or `name.cc` the name of one somewhere.
"""
import os
import re
import sys

ROOTS = ("bench", "cmake", "coordinator", "core", "deploy", "docs", "examples", "learner", "proto", "reward", "rollout",
         "services", "tests")
READ = (".h", ".cc", ".cu", ".md", ".py", ".proto", ".cmake", ".txt", ".sh", ".js")
ENDS = r"(?:h|cc|cu|py|sh|md|proto|cmake)"
PATH = re.compile(rf"(?<![\w./\-])((?:{'|'.join(ROOTS)})/[\w./\-]*\w\.{ENDS})\b")
BARE = re.compile(r"(?<![\w./\-<*])([A-Za-z]\w*\.(?:h|cc))\b")
COMMENT = re.compile(r"//(.*)")
# Of others: headers of libraries, and examples of names.
FOREIGN = {"main.cc", "a.h", "a.cc", "b.h", "b.cc", "a_test.cc", "x.cc", "store.cc", "torch.h"}


def sources(root):
    for folder, folders, files in os.walk(root):
        folders[:] = [f for f in folders if not f.startswith((".", "build", "__pycache__"))]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root)


def said(path, line):
    """What of the line is said to people."""
    if path.endswith(".md"):
        return line
    if path.endswith((".h", ".cc", ".cu", ".proto")):
        comment = COMMENT.search(line)
        return comment.group(1) if comment else ""
    return ""


def main():
    root = sys.argv[1]
    files = set(sources(root))
    names = {os.path.basename(f) for f in files} | FOREIGN
    errors, count = [], 0
    for path in sorted(files):
        if not path.endswith(READ) or path == "tests/guards/named_files.py":
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
            for number, line in enumerate(f, 1):
                if line.lstrip().startswith("#include"):
                    continue
                for named in PATH.findall(line):
                    count += 1
                    beside = os.path.normpath(os.path.join(os.path.dirname(path), named))
                    if named not in files and beside not in files:
                        errors.append(f"{path}:{number}: {named} is not there")
                for named in BARE.findall(said(path, line)):
                    count += 1
                    if named not in names:
                        errors.append(f"{path}:{number}: no file is called {named}")
    for error in errors:
        print(error)
    print(f"{count} names of files, {len(errors)} errors")
    return 1 if errors or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
