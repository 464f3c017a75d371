#!/usr/bin/env python3
"""Processes that hang: freeze.py BIN [--hang-seconds S] [--report FILE]

The processes of a fleet are stopped for good (SIGSTOP), some at a time, while a deterministic job runs: `sluice up` must notice
that they no longer answer, kill them and start them again. The job must end without a person, as the undisturbed one does: the
same weights, metrics, batches and ledger.
"""
import argparse
import json
import os
import signal
import sys
import tempfile
import time

import fault_fleet
from chaos import await_jobs, job_step
from fault_fleet import SHAPE, SMALL_JOB, FaultFleet, Store
from kill_sweep import check_store

STEPS_BETWEEN = 2  # that the job goes on between two hangs
PATIENCE = 90      # seconds for one hang to be over, and for the job to go on
# At once. Each has one without which the job stands still; what hangs beside it may be replaced a second or two later, in
# which the job goes on: it has steps enough not to be over before the next, on a fast machine too.
ROUNDS = [["rollout-0", "reward-0"], ["coordinator", "rollout-1"], ["learner-0"], ["learner-1", "rollout-0"]]
SETTINGS = dict(SMALL_JOB, **{"stop.steps": 120})


def await_step(fleet, job, step):
    """Whether the job comes so far; says where it is."""
    deadline, now = time.monotonic() + PATIENCE, job_step(fleet, job)
    while now < step and time.monotonic() < deadline and not fleet.problems:
        time.sleep(0.05)
        now = max(now, job_step(fleet, job))
    if now < step:
        fleet.problems.append(f"{job} is at step {now} after {PATIENCE} s, not at {step}")
    return now


def freeze(fleet, victims):
    """(name, seconds until another process serves in its place) of each."""
    frozen = {name: fleet.pids()[name] for name in victims}
    for pid in frozen.values():
        os.kill(pid, signal.SIGSTOP)
    start, replaced = time.monotonic(), {}
    while len(replaced) < len(frozen) and time.monotonic() < start + PATIENCE and not fleet.problems:
        for name in frozen.keys() - replaced.keys():
            address = fault_fleet.read_json(os.path.join(fleet.state, "run", name + ".json"))
            if address and address.get("pid") not in (frozen[name], None):
                replaced[name] = time.monotonic() - start
        time.sleep(0.02)
    for name in frozen.keys() - replaced.keys():
        fleet.problems.append(f"nothing took the place of {name} (pid {frozen[name]}), which hangs, in {PATIENCE} s")
    return sorted(replaced.items())


def run(binaries, folder, rounds, hang_seconds):
    job_file = fault_fleet.prepare_job(binaries, os.path.join(folder, "files"))
    fleet = FaultFleet(binaries, os.path.join(folder, "state"), shape=[*SHAPE, "--hang-seconds", str(hang_seconds)])
    out = {"problems": fleet.problems, "outcome": None, "seconds": []}
    try:
        fleet.await_serving(time.monotonic() + 60)
        options = [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
        job = json.loads(fleet.run("submit", job_file, *options).stdout)["job"]
        step = 0
        for victims in rounds:
            step = await_step(fleet, job, step + STEPS_BETWEEN)
            if fleet.problems:
                break
            out["seconds"] += freeze(fleet, victims)
        await_jobs(fleet, [job], time.monotonic() + 2 * PATIENCE)
    finally:
        fleet.stop()
    if not fleet.problems:
        store = Store(fleet.state)
        out["outcome"] = store.outcome(job)
        fleet.problems += check_store(store, out["outcome"], SETTINGS["stop.steps"])
    out["logs"] = fleet.logs() if fleet.problems else ""
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--hang-seconds", type=float, default=4)
    parser.add_argument("--report", default="")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        undisturbed = run(arguments.binaries, os.path.join(folder, "undisturbed"), [], arguments.hang_seconds)
        disturbed = run(arguments.binaries, os.path.join(folder, "disturbed"), ROUNDS, arguments.hang_seconds)
    problems = undisturbed["problems"] + disturbed["problems"]
    if not problems:
        problems = fault_fleet.differences(undisturbed["outcome"], disturbed["outcome"])
    for name, seconds in disturbed["seconds"]:
        print(f"{name}: replaced {seconds:.1f} s after it hung")
    if arguments.report:
        with open(arguments.report, "w", encoding="utf-8") as f:
            json.dump({"hang_seconds": arguments.hang_seconds, "seconds": disturbed["seconds"]}, f, indent=1)
    return fault_fleet.verdict(problems, undisturbed["logs"] + disturbed["logs"])


if __name__ == "__main__":
    sys.exit(main())
