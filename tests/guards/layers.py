#!/usr/bin/env python3
"""The layer guard: layers.py SOURCE_DIR BUILD_DIR

Reads BUILD_DIR/targets.txt (written by cmake/SluiceTargets.cmake) and checks that
  1. each first-party #include "a/b.h" names a header of the target itself or of one in its link closure,
  2. no folder depends on a folder that depends on it: by the targets' DEPS, and by what the product's files include,
     where rooms of one target (coordinator/store, core/spec/text, ...) count as folders of their own,
  3. x.cc includes its own x.h first (so that every header with a source is self-contained),
  4. no two headers or sources of the product define a type of the same name in one namespace (the linker would mix them),
  5. targets that must not know LibTorch have none in their closure, and protobuf stays in services/.
"""
import os
import re
import sys

NO_TORCH = ["core_base", "core_rl", "core_spec", "core_weights", "coordinator", "reward", "sluice", "sluice-coordinator",
            "sluice-reward"]
PROTO_ONLY_BELOW = ("services", "tests", "proto")


def read_targets(build):
    targets = {}
    for line in open(os.path.join(build, "targets.txt"), encoding="utf-8"):
        if line.strip():
            name, kind, folder, files, deps = line.rstrip("\n").split("|")
            targets[name] = dict(kind=kind, folder=folder, files=[f for f in files.split(",") if f],
                                 deps=[d for d in deps.split(",") if d])
    return targets


def closure(targets, name, seen=None):
    seen = set() if seen is None else seen
    for dep in targets.get(name, {"deps": []})["deps"]:
        if dep not in seen:
            seen.add(dep)
            closure(targets, dep, seen)
    return seen


def includes(path):
    text = open(path, encoding="utf-8").read()
    return re.findall(r'^\s*#\s*include\s+([<"][^>"]+[>"])', text, re.M)


def types_defined(path):
    """namespace::Type for each type at namespace level; those in unnamed namespaces are left out."""
    namespace, unnamed = "", False
    for line in open(path, encoding="utf-8"):
        opened = re.match(r"^(?:inline )?namespace ([\w:]+)?\s*\{", line)
        if opened:
            namespace, unnamed = (opened.group(1) or namespace), unnamed or not opened.group(1)
        elif re.match(r"^}\s*// namespace\s*$", line):
            unnamed = False
        elif not unnamed:
            defined = re.match(r"^(?:class|struct|enum class) (\w+)(?: final)?(?: :[^;]*)?\s*\{", line)
            if defined:
                yield f"{namespace}::{defined.group(1)}"


def cycles(edges, what):
    """A line for each edge a -> b from whose end a can be reached again."""
    for a in sorted(edges):
        for b in sorted(edges[a]):
            seen, todo = set(), [b]
            while todo:
                for c in edges.get(todo.pop(), ()):
                    if c not in seen:
                        seen.add(c)
                        todo.append(c)
            if a in seen:
                yield f"{what}: {a} -> {b} -> ... -> {a}"


def is_product(target_kind, path):
    """Neither a test nor what only tests use."""
    name = os.path.basename(path)
    for_tests = name.startswith(("testing_", "tiny_model")) or re.search(r"(_test|_testing|_for_test)\.(h|cc)$", name)
    return target_kind != "test" and not for_tests and not path.startswith("tests/")


def main():
    source, build = sys.argv[1:3]
    targets = read_targets(build)
    owner, errors = {}, []
    for name, t in targets.items():
        for f in t["files"]:
            if f.endswith(".h"):
                owner.setdefault(os.path.normpath(os.path.join(t["folder"], f)), set()).add(name)
    uses_torch, type_owner, included = set(), {}, {}
    for name, t in targets.items():
        reachable = closure(targets, name) | {name}
        for f in t["files"]:
            relative = os.path.normpath(os.path.join(t["folder"], f))
            path = os.path.join(source, relative)
            if not os.path.exists(path):
                continue
            found = includes(path)
            if is_product(t["kind"], relative):
                included[relative] = [include[1:-1] for include in found if include[1:-1] in owner]
            for defined in types_defined(path) if t["kind"] != "test" else ():
                other = type_owner.setdefault(defined, relative)
                if other != relative:
                    errors.append(f"{relative}: {defined} is defined in {other} too")
            for include in found:
                header = include[1:-1]
                if header.startswith(("torch/", "ATen/", "c10/")):
                    uses_torch.add(name)
                if header.startswith(("sluice/v1/", "google/protobuf/", "grpc")) and not relative.startswith(PROTO_ONLY_BELOW):
                    errors.append(f"{relative}: {header}: protobuf and gRPC are only for services/")
                if include[0] == '"' and header in owner and not owner[header] & reachable:
                    errors.append(f"{relative}: {header} belongs to {sorted(owner[header])}, which {name} does not link")
                if include[0] == '"' and os.path.exists(os.path.join(source, header)) and header not in owner \
                        and not header.startswith("tests/"):
                    errors.append(f"{relative}: {header} belongs to no target (add it to HDRS)")
            own = relative[:-3] + ".h"
            if relative.endswith(".cc") and os.path.exists(os.path.join(source, own)) and found[:1] != [f'"{own}"']:
                errors.append(f"{relative}: its first include must be \"{own}\"")
    for name in NO_TORCH:
        if name not in targets:
            errors.append(f"target {name} is missing")
        for t in sorted((closure(targets, name) | {name}) & uses_torch):
            errors.append(f"{name} must not know LibTorch but reaches {t}")
    edges, rooms = {}, {}
    for name, t in targets.items():
        if t["kind"] != "test":
            for dep in t["deps"]:
                if dep in targets and targets[dep]["folder"] != t["folder"]:
                    edges.setdefault(t["folder"], set()).add(targets[dep]["folder"])
    for relative, headers in included.items():
        for header in headers:
            a, b = os.path.dirname(relative), os.path.dirname(header)
            if a != b:
                rooms.setdefault(a, {}).setdefault(b, f"{relative} includes {header}")
    errors += cycles(edges, "folder cycle by DEPS")
    errors += [f"{line} ({rooms[line.split(': ')[1].split(' -> ')[0]][line.split(' -> ')[1]]})"
               for line in cycles(rooms, "folder cycle by includes")]
    for e in errors:
        print(e)
    print(f"{len(targets)} targets, {len(owner)} headers, {len(errors)} errors")
    return 1 if errors or not targets else 0


if __name__ == "__main__":
    sys.exit(main())
