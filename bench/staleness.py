#!/usr/bin/env python3
"""The demonstration's job at several staleness bounds, side by side: throughput, held-out accuracy, measured staleness.

  python3 bench/staleness.py build/bin [--bounds 0,1,2,4,8] [--seeds 1,2,3] [--report FILE]

One fleet runs all jobs, one after the other, seed by seed and bound by bound within a seed, so that what else the machine does
falls on all bounds alike. The staleness of each group trained on is read from the coordinator's database while the job runs:
versions between the oldest version among its tokens and the version that it was trained at.
"""
import argparse
import collections
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

LOOK_SECONDS = 0.5
PATIENCE = 1800  # seconds for one job


def prepare(binaries, folder, seed):
    """The demonstration's model, prompts and job for one seed; the path of the job."""
    subprocess.run([f"{binaries}/sluice", "demo", "--prepare", folder, "--seed", str(seed)], check=True,
                   capture_output=True, timeout=120)
    return os.path.join(folder, "job.textproto")


class Fleet:
    def __init__(self, binaries, state, rollout, ranks):
        self.binaries, self.state = binaries, state
        subprocess.run([f"{binaries}/sluice", "up", "--state", state, "--rollout", str(rollout), "--learner-ranks", str(ranks),
                        "--detach"], check=True, capture_output=True, timeout=120)

    def sluice(self, *arguments):
        done = subprocess.run([f"{self.binaries}/sluice", *arguments, "--state", self.state], capture_output=True, text=True,
                              timeout=120)
        if done.returncode != 0:
            raise RuntimeError(f"sluice {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    def job(self, name):
        return next(job for job in json.loads(self.sluice("jobs", "--json"))["jobs"] if job["job"] == name)

    def database(self):
        return sqlite3.connect(f"file:{self.state}/coordinator/sluice.db?mode=ro", uri=True, timeout=30)

    def stop(self):
        subprocess.run([f"{self.binaries}/sluice", "down", "--state", self.state], capture_output=True, timeout=120)


class StalenessCount:
    """Groups trained on by their staleness, of the steps seen so far. Rows of old steps are removed while a job runs."""

    def __init__(self, job):
        self.job, self.seen, self.groups, self.steps = job, 0, collections.Counter(), 0

    def look(self, database):
        rows = database.execute(
            "SELECT b.version, b.version - 1 - g.oldest, COUNT(*) FROM batches c "
            "JOIN batch_draws b ON b.job = c.job AND b.version = c.version "
            "JOIN groups g ON g.job = b.job AND g.draw = b.draw "
            "WHERE c.job = ? AND c.committed AND c.version > ? AND g.oldest IS NOT NULL GROUP BY 1, 2", (self.job, self.seen)).fetchall()
        for _, staleness, groups in rows:
            self.groups[staleness] += groups
        versions = {version for version, _, _ in rows}
        self.steps += len(versions)
        self.seen = max(versions | {self.seen})


def train_rows(fleet, job):
    with open(f"{fleet.state}/coordinator/jobs/{job}/metrics.jsonl", encoding="utf-8") as f:
        return [row for row in map(json.loads, f) if row["kind"] == "train"]


def run(fleet, job_file, bound, settings):
    options = [f"--set=staleness.max_versions={bound}"] + [f"--set={setting}" for setting in settings]
    name = json.loads(fleet.sluice("submit", job_file, *options))["job"]
    count, deadline = StalenessCount(name), time.monotonic() + PATIENCE
    while True:
        state = fleet.job(name)
        database = fleet.database()
        count.look(database)
        database.close()
        if state["state"] in ("SUCCEEDED", "FAILED", "JOB_CANCELLED", "CANCELLED"):
            break
        if time.monotonic() > deadline:
            raise RuntimeError(f"{name} has not ended after {PATIENCE} s: waits for {state.get('waitingFor') or state.get('waiting_for')}")
        time.sleep(LOOK_SECONDS)
    if state["state"] != "SUCCEEDED":
        raise RuntimeError(f"{name} ended as {state['state']}: {state.get('error')}")
    rows = train_rows(fleet, name)
    groups = sum(count.groups.values())
    evaluations = state["evaluations"]
    waits = sum(row["wait_seconds"] for row in rows)
    return {"bound": bound, "job": name,
            # Between steps: evaluations stand still in all jobs alike and count.
            "seconds": sum(row["wait_seconds"] + row["step_seconds"] for row in rows),
            "tokens_per_second": statistics.median(row["tokens_per_second"] for row in rows),
            "learner_waits": waits / sum(row["wait_seconds"] + row["step_seconds"] for row in rows),
            "accuracy_before": evaluations[0]["accuracy"], "accuracy_after": evaluations[-1]["accuracy"],
            "staleness_mean": sum(s * n for s, n in count.groups.items()) / groups,
            "staleness_max": max(count.groups), "groups": groups, "steps": len(rows), "steps_seen": count.steps,
            "staleness": {str(s): n / groups for s, n in sorted(count.groups.items())}}


def cell(values, form):
    middle = form.format(statistics.median(values))
    return middle if len(values) == 1 else f"{middle} ({form.format(min(values))} to {form.format(max(values))})"


def table(runs):
    bounds = sorted({r["bound"] for r in runs})
    base = statistics.median(r["seconds"] for r in runs if r["bound"] == bounds[0])
    lines = ["| bound | seconds | speed against bound %d | tokens/s of a step | learner waits | accuracy before | after | staleness mean | max "
             "| share of groups by staleness |" % bounds[0], "|---|---|---|---|---|---|---|---|---|---|"]
    for bound in bounds:
        these = [r for r in runs if r["bound"] == bound]
        groups = sum(r["groups"] for r in these)
        shares = collections.Counter()
        for r in these:
            for staleness, share in r["staleness"].items():
                shares[int(staleness)] += share * r["groups"] / groups
        lines.append("| " + " | ".join([
            str(bound), cell([r["seconds"] for r in these], "{:.1f}"), cell([base / r["seconds"] for r in these], "{:.2f}"),
            cell([r["tokens_per_second"] for r in these], "{:.0f}"), cell([r["learner_waits"] for r in these], "{:.2f}"),
            cell([r["accuracy_before"] for r in these], "{:.3f}"), cell([r["accuracy_after"] for r in these], "{:.3f}"),
            cell([r["staleness_mean"] for r in these], "{:.2f}"), str(max(r["staleness_max"] for r in these)),
            ", ".join(f"{s}: {share:.2f}" for s, share in sorted(shares.items()))]) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("--bounds", default="0,1,2,4,8")
    parser.add_argument("--seeds", default="1,2,3")
    parser.add_argument("--rollout", type=int, default=2)
    parser.add_argument("--learner-ranks", type=int, default=2)
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="of every job")
    parser.add_argument("--report", default="", help="all figures as JSON")
    arguments = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        fleet = Fleet(arguments.binaries, os.path.join(folder, "state"), arguments.rollout, arguments.learner_ranks)
        try:
            for seed in arguments.seeds.split(","):
                job_file = prepare(arguments.binaries, os.path.join(folder, f"seed-{seed}"), seed)
                for bound in arguments.bounds.split(","):
                    runs.append(run(fleet, job_file, int(bound), arguments.set) | {"seed": seed})
                    print(json.dumps(runs[-1]), file=sys.stderr, flush=True)
        finally:
            fleet.stop()
    print(table(runs))
    if arguments.report:
        with open(arguments.report, "w", encoding="utf-8") as f:
            json.dump(runs, f, indent=1)
    late = [r for r in runs if r["staleness_max"] > r["bound"]]
    for r in late:
        print(f"FAILED: {r['job']}: staleness {r['staleness_max']} above the bound {r['bound']}")
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
