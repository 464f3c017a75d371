#!/usr/bin/env python3
"""Files compile alone too: stand_alone.py SOURCE BUILD [--all] [--most N] [--jobs N]

The release build compiles files in batches and with precompiled headers, where a file can lean on what another includes.
This checks the syntax of files as the preset "dev" compiles them: alone, with nothing precompiled. Of the whole tree with
--all (make soak); else of the N files (default 24) that the newest commits and the working tree changed, which is where such
a fault comes in; without a git history of as many, spread over the tree.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def git(source, *arguments):
    done = subprocess.run(["git", "-C", source, *arguments], capture_output=True, text=True)
    return done.stdout.splitlines() if done.returncode == 0 else []


def changed_files(source, most):
    """Newest first; none without a git history."""
    names = git(source, "diff", "--name-only", "HEAD") + git(source, "log", "-30", "--name-only", "--pretty=format:")
    seen = dict.fromkeys(name for name in names if name.endswith((".cc", ".h")) and os.path.exists(os.path.join(source, name)))
    return list(seen)[:most]


def commands(build):
    """{source file: (folder, arguments)}; the files of a batch get the batch's arguments."""
    out = {}
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as f:
        for entry in json.load(f):
            files = [entry["file"]]
            if "/Unity/unity_" in entry["file"] and os.path.exists(entry["file"]):
                with open(entry["file"], encoding="utf-8") as batch:
                    files = re.findall(r'#include "([^"]+\.cc)"', batch.read())
            for file in files:
                out.setdefault(os.path.normpath(file), (entry["directory"], entry["command"]))
    return out


def alone(command, file):
    """The arguments that check this file's syntax with nothing precompiled."""
    words, kept, skip = shlex.split(command), [], False
    if "ccache" in command:
        words = words[next(i for i, word in enumerate(words) if re.search(r"(c\+\+|g\+\+|clang\+\+)[-\d]*$", word)):]
    for i, word in enumerate(words):
        if skip:
            skip = False
        elif word in ("-o", "-c", "-MF", "-MT"):
            skip = True
        elif word == "-include" and "cmake_pch" in words[i + 1]:
            skip = True
        elif word in ("-MD", "-Winvalid-pch") or word.endswith(".cc"):
            continue
        else:
            kept.append(word)
    return [*kept, "-fsyntax-only", "-Wno-unused-function", file]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("build")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--most", type=int, default=24)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    source = os.path.abspath(arguments.source)
    known = {file: command for file, command in commands(arguments.build).items()
             if file.startswith(source + "/") and not file.startswith(os.path.abspath(arguments.build) + "/")}
    if not known:
        print("compile_commands.json names no file of the tree")
        return 1
    if arguments.all:
        wanted = sorted(known)
    else:  # of a header, a source beside it that includes it first
        wanted = []
        for name in changed_files(source, arguments.most):
            path = os.path.join(source, re.sub(r"\.h$", ".cc", name))
            if path in known and path not in wanted:
                wanted.append(path)
        if not wanted:  # no history to go by: some of each folder
            wanted = sorted(known)[::max(1, len(known) // max(1, arguments.most))]

    def check(file):
        folder, command = known[file]
        done = subprocess.run(alone(command, file), cwd=folder, capture_output=True, text=True)
        return file, done.returncode, done.stderr

    failed = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for file, code, errors in pool.map(check, wanted):
            if code != 0:
                failed += 1
                print(f"{os.path.relpath(file, source)} does not compile alone:\n{errors[:2000]}", flush=True)
    print(f"{len(wanted)} of {len(known)} files checked alone, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
