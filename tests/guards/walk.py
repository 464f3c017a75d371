#!/usr/bin/env python3
"""The walk of a sample in docs/architecture.md is true: walk.py SOURCE_DIR

Each `Function` (file.cc) of that section, over line breaks too, is defined in that file.
"""
import os
import re
import sys

NAMED = re.compile(r"`([A-Z]\w+(?:::\w+)?)`\s+\(([\w/]+\.cc)\)")


def defines(text, function):
    """Whether a definition `... function(` stands at the start of a line, not a call inside a body."""
    if "::" in function:
        return re.search(rf"^(?!\s)[^;\n]*\b{function}\(", text, re.M) is not None
    return re.search(rf"^[\w:<>&*\s,]+?[\s&*]{function}\(", text, re.M) is not None


def main():
    source = sys.argv[1]
    with open(os.path.join(source, "docs/architecture.md"), encoding="utf-8") as f:
        text = f.read()
    walk = text[text.index("## The walk of a sample"):text.index("## Layers")]
    named = NAMED.findall(walk)
    errors = [f"`{name}`: the walk names files as `Function` (file.cc)" for name in re.findall(r"`([A-Z]\w+::\w+)`", walk)
              if name not in dict(named)]
    for function, path in named:
        full = os.path.join(source, path)
        if not os.path.exists(full):
            errors.append(f"{path} is not there (`{function}`)")
            continue
        with open(full, encoding="utf-8") as f:
            if not defines(f.read(), function):
                errors.append(f"{path} defines no {function}")
    for error in errors:
        print("docs/architecture.md: " + error)
    print(f"{len(named)} functions of the walk, {len(errors)} errors")
    return 1 if errors or len(named) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
