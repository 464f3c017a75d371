#!/usr/bin/env python3
"""deploy/prometheus/alerts.yml names only metrics that the services have: alerts.py BIN_DIR

A reward service is started, and each metric of an expression must be among its families, with the labels that the
expression asks for.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

ALERTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "deploy", "prometheus", "alerts.yml")
LIMIT = 60


def metrics_of_a_reward_service(binaries, folder):
    file = os.path.join(folder, "address.json")
    process = subprocess.Popen([os.path.join(binaries, "sluice-reward"), "--address-file", file, "--log-level", "warning",
                                "--state", folder])
    try:
        deadline = time.monotonic() + LIMIT
        while not os.path.exists(file):
            assert process.poll() is None and time.monotonic() < deadline, "it does not serve"
            time.sleep(0.02)
        with open(file, encoding="utf-8") as f:
            address = json.load(f)["metrics"]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=LIMIT) as response:
            return response.read().decode()
    finally:
        process.terminate()
        assert process.wait(LIMIT) == 0


def main():
    with tempfile.TemporaryDirectory() as folder:
        metrics = metrics_of_a_reward_service(sys.argv[1], folder)
    with open(ALERTS, encoding="utf-8") as f:
        text = f.read()
    rules = re.split(r"^\s+- alert: ", text, flags=re.M)[1:]
    errors = []
    for rule in rules:
        name = rule.split("\n", 1)[0]
        expression = re.search(r"expr: (?:\|\n)?((?:.+\n)(?:^ {10,}.+\n)*)", rule, re.M)[1]
        used = re.findall(r"(sluice_\w+|process_\w+)(?:\{([^}]*)\})?", expression)
        if not used:
            errors.append(f"{name}: no metric in {expression!r}")
        for metric, labels in used:
            samples = [line for line in metrics.splitlines() if re.match(re.escape(metric) + r"[ {]", line)]
            if not samples:
                errors.append(f"{name}: no service has {metric}")
            for label, value in re.findall(r'(\w+)="([^"]*)"', labels):
                if not any(f'{label}="{value}"' in line for line in samples):
                    errors.append(f"{name}: {metric} has no {label}=\"{value}\"")
        for part in ("severity:", "summary:", "description:"):
            if part not in rule:
                errors.append(f"{name}: no {part}")
    print("\n".join(errors) or f"{len(rules)} alerts name metrics that exist")
    return 1 if errors or not rules else 0


if __name__ == "__main__":
    sys.exit(main())
