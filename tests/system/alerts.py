#!/usr/bin/env python3
"""deploy/prometheus/alerts.yml names only metrics that the services have, and docs/runbook/ has a page for each alert:
alerts.py BIN_DIR

One process of each role is started, and each metric of an expression must be among the families of one of them, with the
labels that the expression asks for.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
RUNBOOK = os.path.join(ROOT, "docs", "runbook")
LIMIT = 60


def metrics_of(binaries, role, folder):
    state = os.path.join(folder, role)
    os.makedirs(state)
    file = os.path.join(folder, role + ".json")
    process = subprocess.Popen([os.path.join(binaries, "sluice-" + role), "--address-file", file, "--log-level", "warning",
                                "--state", state])
    try:
        deadline = time.monotonic() + LIMIT
        while not os.path.exists(file):
            assert process.poll() is None and time.monotonic() < deadline, f"{role} does not serve"
            time.sleep(0.02)
        with open(file, encoding="utf-8") as f:
            address = json.load(f)["metrics"]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=LIMIT) as response:
            return response.read().decode()
    finally:
        process.terminate()
        assert process.wait(LIMIT) == 0


def errors_of_rule(name, rule, metrics):
    expression = re.search(r"expr: (?:\|\n)?((?:.+\n)(?:^ {10,}.+\n)*)", rule, re.M)[1]
    used = re.findall(r"(sluice_\w+|process_\w+)(?:\{([^}]*)\})?", expression)
    if not used:
        yield f"{name}: no metric in {expression!r}"
    for metric, labels in used:
        samples = [line for line in metrics.splitlines() if re.match(re.escape(metric) + r"[ {]", line)]
        if not samples:
            yield f"{name}: no service has {metric}"
        for label, value in re.findall(r'(\w+)!?="([^"]*)"', labels):
            if not any(f'{label}="{value}"' in line for line in samples):
                yield f"{name}: {metric} has no {label}=\"{value}\""
    for part in ("severity:", "summary:", "description:"):
        if part not in rule:
            yield f"{name}: no {part}"


def commands_of(binaries):
    told = subprocess.run([os.path.join(binaries, "sluice"), "--help"], capture_output=True, text=True, timeout=LIMIT)
    return set(re.findall(r"^  ([a-z]+)\b", told.stdout, re.M))


def errors_of_runbook(names, commands):
    pages = {file[:-3] for file in os.listdir(RUNBOOK) if file.startswith("Sluice")}
    with open(os.path.join(RUNBOOK, "README.md"), encoding="utf-8") as f:
        index = f.read()
    for name in names - pages:
        yield f"{name}: no page docs/runbook/{name}.md"
    for name in pages - names:
        yield f"docs/runbook/{name}.md is of no alert"
    for name in pages:
        if f"[{name}]({name}.md)" not in index:
            yield f"docs/runbook/README.md does not list {name}"
        with open(os.path.join(RUNBOOK, name + ".md"), encoding="utf-8") as f:
            page = f.read()
        for part in ("# " + name, "## What it means", "## Look closer", "## What to do"):
            if not re.search("^" + re.escape(part) + r"\b.*\n(?:\n+[^#\n]|$)" if part.startswith("##") else "^" + part,
                             page, re.M):
                yield f"docs/runbook/{name}.md: nothing under \"{part}\""
        for command in re.findall(r"(?:^ {4}|`)sluice ([a-z]+)\b", page, re.M):
            if command not in commands:
                yield f"docs/runbook/{name}.md: there is no command sluice {command}"
        for link in re.findall(r"\]\((?!http)([^)#]+)\)", page):
            if not os.path.exists(os.path.join(RUNBOOK, link)):
                yield f"docs/runbook/{name}.md: {link} is not there"


def main():
    with tempfile.TemporaryDirectory() as folder:
        metrics = "".join(metrics_of(sys.argv[1], role, folder) for role in ("coordinator", "learner", "rollout", "reward"))
    with open(os.path.join(ROOT, "deploy", "prometheus", "alerts.yml"), encoding="utf-8") as f:
        text = f.read()
    rules = {rule.split("\n", 1)[0]: rule for rule in re.split(r"^\s+- alert: ", text, flags=re.M)[1:]}
    errors = [error for name, rule in rules.items() for error in errors_of_rule(name, rule, metrics)]
    errors += errors_of_runbook(set(rules), commands_of(sys.argv[1]))
    print("\n".join(errors) or f"{len(rules)} alerts name metrics that exist and have their pages")
    return 1 if errors or not rules else 0


if __name__ == "__main__":
    sys.exit(main())
