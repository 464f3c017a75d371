#!/usr/bin/env python3
"""What compiling costs, held against a budget: build_cost.py BUILD [BUDGET] [--write]

Counts, for each object of the last build in BUILD, the lines of the files that its compiler read (source and headers, each
once; a precompiled header counts where it is made), and adds them up by folder. Lines say what a change costs whatever the
machine; BUDGET (default: build_budget.txt beside this script) holds thousands of lines by folder. A folder that is more than
a tenth above its budget fails. Prints the 20 slowest steps of the build log too, in seconds, for people: they decide nothing.

--write   writes the budget anew from this build, when a cost is wanted
"""
import argparse
import collections
import os
import subprocess
import sys

SLACK = 1.10
SMALL = 20  # thousands of lines that no folder is asked about


def lines_of(path, known={}):
    if path not in known:
        try:
            with open(path, "rb") as f:
                known[path] = f.read().count(b"\n")
        except OSError:
            known[path] = 0
    return known[path]


def inputs_by_object(build):
    """{object: [files]} of what ninja knows was read."""
    listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    objects, current = {}, None
    for line in listing.splitlines():
        if line and not line.startswith((" ", "ninja:")):
            name, _, state = line.partition(": ")
            current = None
            if "VALID" in state:
                current = objects.setdefault(name, [])
        elif line.startswith("    ") and current is not None:
            current.append(os.path.normpath(os.path.join(build, line.strip())))
    return objects


def folder_of(name):
    folder = name.split("/CMakeFiles/")[0]
    if "sluice_pch_" in name:
        return "precompiled headers"
    return folder + (" (tests)" if "_test.dir" in name else "")


def cost_by_folder(build):
    cost, files = collections.Counter(), collections.Counter()
    for name, inputs in inputs_by_object(build).items():
        if name.endswith((".o", ".gch")):
            cost[folder_of(name)] += sum(lines_of(path) for path in inputs if not path.endswith(".gch"))
            files[folder_of(name)] += 1
    return {folder: round(lines / 1000) for folder, lines in cost.items()}, files


def slowest_steps(build, count=20):
    last = {}
    with open(os.path.join(build, ".ninja_log"), encoding="utf-8") as f:
        for line in f:
            fields = line.rstrip("\n").split("\t")
            if len(fields) >= 4 and not line.startswith("#"):
                last[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return sorted(((seconds, name) for name, seconds in last.items()), reverse=True)[:count]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("budget", nargs="?", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "build_budget.txt"))
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    cost, files = cost_by_folder(build)
    if not cost:
        print(f"{build}: ninja knows of no object: build first")
        return 1
    if arguments.write:
        with open(arguments.budget, "w", encoding="utf-8") as f:
            f.write("# Thousands of lines that the compiler reads, by folder: tests/guards/build_cost.py BUILD --write\n")
            f.writelines(f"{cost[folder]:6d} {folder}\n" for folder in sorted(cost))
        return 0
    budget = {}
    with open(arguments.budget, encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                lines, folder = line.split(None, 1)
                budget[folder.strip()] = int(lines)
    print("slowest steps of this build:")
    for seconds, name in slowest_steps(build):
        print(f"  {seconds:6.1f} s {name}")
    over = 0
    for folder in sorted(cost, key=cost.get, reverse=True):
        allowed = max(budget.get(folder, 0), SMALL) * SLACK
        if cost[folder] > allowed:
            over += 1
            print(f"{folder}: {cost[folder]} thousand lines read in {files[folder]} files, {budget.get(folder, 0)} allowed: which header "
                  f"drags more in? If it is wanted: build_cost.py BUILD --write")
    print(f"{sum(cost.values())} thousand lines in {sum(files.values())} objects, {over} folders over their budget")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
