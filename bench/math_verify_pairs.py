#!/usr/bin/env python3
"""Math-Verify over the pairs of reward/math/suite, for comparison: share right, false positives and negatives.

  VENV/bin/python bench/math_verify_pairs.py [--pairs FILE] [--list]

Needs math-verify (PyPI). Each bare answer is put into a box on both sides, as its documentation asks. Rows with
"clear": false are left out.
"""
import argparse
import collections
import json
import time

from math_verify import parse, verify


def read(text):
    delimited = any(mark in text for mark in ("$", "\\(", "\\[", "\\boxed"))
    return parse(text if delimited and not text.startswith("\\$") else "\\boxed{" + text + "}")


def judge(row):
    try:
        return bool(verify(read(row["gold"]), read(row["prediction"])))
    except Exception:  # it has none to document: what it cannot judge it does not accept
        return False


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--pairs", default="reward/math/suite/pairs.jsonl")
    arguments.add_argument("--list", action="store_true", help="print each row that it judges otherwise")
    options = arguments.parse_args()
    with open(options.pairs, encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if row.get("clear", True)]
    counts = collections.defaultdict(collections.Counter)
    start = time.perf_counter()
    for row in rows:
        got = judge(row)
        kind = "right" if got == row["expected"] else "false_positive" if got else "false_negative"
        for name in (row["category"], "all"):
            counts[name][kind] += 1
        if options.list and kind != "right":
            print(kind, json.dumps(row, ensure_ascii=False))
    seconds = time.perf_counter() - start
    for name, count in sorted(counts.items()):
        total = sum(count.values())
        print(f"{name:18} {total:5} rows {100 * count['right'] / total:6.1f} % right "
              f"{count['false_positive']:4} false positives {count['false_negative']:4} false negatives")
    print(f"{len(rows) / seconds:.0f} pairs/s")


if __name__ == "__main__":
    main()
