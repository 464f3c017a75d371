#!/usr/bin/env python3
"""Fail points are in the binaries of the fault tests and never in what is shipped: fail_points.py SOURCE_DIR BUILD_DIR

Each name in the sources is used once, is in a binary of BUILD_DIR/fault/bin, and in none of BUILD_DIR/bin.
"""
import os
import re
import sys

FOLDERS = ("core", "coordinator", "rollout", "reward", "learner", "services")
BINARIES = ("sluice", "sluice-coordinator", "sluice-rollout", "sluice-reward", "sluice-learner")
POINT = re.compile(r'SLUICE_FAIL_POINT\("([^"]*)"\)')
NAME = re.compile(r"(coordinator|rollout|reward|learner|weights|worker|supervisor)\.[a-z_]+")


def uses(source):
    for folder in FOLDERS:
        for path, _, files in os.walk(os.path.join(source, folder)):
            for file in files:
                if file.endswith((".cc", ".h")) and not file.startswith("fail_point"):
                    with open(os.path.join(path, file), encoding="utf-8") as f:
                        for name in POINT.findall(f.read()):
                            yield name, os.path.relpath(os.path.join(path, file), source)


def contents(folder):
    for binary in BINARIES:
        with open(os.path.join(folder, binary), "rb") as f:
            yield binary, f.read()


def main():
    source, build = sys.argv[1:3]
    errors, places = [], {}
    for name, path in uses(source):
        if not NAME.fullmatch(name):
            errors.append(f"{path}: {name} is not ROLE.PLACE")
        if name in places:
            errors.append(f"{path}: {name} is in {places[name]} too")
        places[name] = path
    shipped, faulty = dict(contents(os.path.join(build, "bin"))), dict(contents(os.path.join(build, "fault", "bin")))
    for name, path in sorted(places.items()):
        word = name.encode() + b"\0"
        errors += [f"bin/{binary} has the fail point {name}" for binary, bytes in shipped.items() if word in bytes]
        if not any(word in bytes for bytes in faulty.values()):
            errors.append(f"{path}: no binary of fault/bin has {name}: is the file in a sluice_fail_points()?")
    errors += [f"bin/{binary} reads SLUICE_FAIL_POINT_DIR" for binary, bytes in shipped.items() if b"SLUICE_FAIL_POINT" in bytes]
    for error in errors:
        print(error)
    print(f"{len(places)} fail points, {len(errors)} errors")
    return 1 if errors or not places else 0


if __name__ == "__main__":
    sys.exit(main())
