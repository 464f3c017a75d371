#!/usr/bin/env python3
"""Each service, method, message, field, enum and enum value of the contract has a comment (AIP-192).

proto_comments.py PROTO_FILE...
"""
import re
import sys

DECLARATION = re.compile(r"^\s*(service|rpc|message|enum|oneof)\s+(\w+)|^\s*(?:optional |repeated )?[\w.<>, ]+\s+(\w+) = \d+")


def main():
    errors = declarations = 0
    for path in sys.argv[1:]:
        previous = ""
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            match = DECLARATION.match(line)
            value = re.match(r"^\s*([A-Z][A-Z0-9_]*) = \d+;", line)
            if (match or value) and not line.lstrip().startswith(("syntax", "//")):
                declarations += 1
                if not previous.lstrip().startswith("//"):
                    errors += 1
                    print(f"{path}:{number}: no comment: {line.strip()}")
            previous = line
    print(f"{declarations} declarations, {errors} without a comment")
    return 1 if errors or not declarations else 0


if __name__ == "__main__":
    sys.exit(main())
