#!/usr/bin/env python3
"""kill -9 at every fail point: kill_sweep.py BIN SOURCE [--all] [--points A,B] [--seed N] [--report FILE]

BIN has binaries with fail points (build/fault/bin). A small deterministic job runs undisturbed once. Then each fail point in
the sources of SOURCE kills the process that comes to it; the job must end without a person, in the same weights, learning
metrics, batches and ledger, and its marker must prove that the process died there. Several points are swept in one run of
the job; with --all each has runs of its own, at the first time and at a later one. --points sweeps only these.
--report writes the times of recovery as JSON.
"""
import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import fault_fleet
from fault_fleet import SMALL_JOB, FaultFleet, Store

DEADLINE = 240  # seconds for one run of the job; a hang is a failure
BUNDLES = 8
SIDE_BY_SIDE = 2
LATEST_TIME = 4
# Points that only a recovery comes to, with the point whose kill brings it about.
AFTER = {"supervisor.child_adopting": "supervisor.record_written"}


def bundles_of(points):
    """The points, spread so that neighbours in the code are in different runs; each with what must happen before it."""
    bundles = [[] for _ in range(BUNDLES)]
    for i, point in enumerate(p for p in points if p not in AFTER):
        bundles[i % BUNDLES].append(point)
    for point, cause in AFTER.items():
        if point in points:
            next(b for b in bundles if cause in b or b is bundles[-1]).append(point)
    return [[f"{point}=kill" for point in bundle] for bundle in bundles if bundle]


def single_runs(points, seed):
    draw = random.Random(seed)
    runs = []
    for point in points:
        before = [f"{AFTER[point]}=kill"] if point in AFTER else []
        runs += [before + [f"{point}=kill"], before + [f"{point}=kill@{draw.randint(2, LATEST_TIME)}"]]
    return runs


def pause_and_resume(fleet, job, deadline):
    """A person's part in it: until each is acknowledged."""
    for command in ("pause", "resume"):
        while time.monotonic() < deadline:
            done = fleet.run(command, job)
            if done.returncode == 0 or "has ended" in done.stderr:
                break
            time.sleep(0.2)


def run_job(binaries, folder, actions):
    """Runs the job with these actions: {"problems", "outcome", "deaths", "reached", "steps", "seconds", "logs"}."""
    start = time.monotonic()
    deadline = start + DEADLINE
    job_file = fault_fleet.prepare_job(binaries, os.path.join(folder, "files"))
    fleet = FaultFleet(binaries, os.path.join(folder, "state"), ",".join(actions))
    out = {"problems": fleet.problems, "outcome": None, "deaths": fleet.deaths, "actions": actions}
    submit = None
    try:
        fleet.await_serving(deadline)
        submit = fleet.submit(job_file, SMALL_JOB)
        job = json.loads(submit.stdout.readline() or "{}").get("job")
        if job:
            pause_and_resume(fleet, job, deadline)
        while submit.poll() is None and time.monotonic() < deadline and not fleet.problems:
            time.sleep(0.02)
        if submit.poll() is None and not fleet.problems:
            fleet.problems.append(f"the job has not ended after {DEADLINE} s: {fleet.run('jobs').stdout}")
        elif submit.returncode != 0:
            fleet.problems.append(f"submit ended with {submit.returncode}: {submit.stderr.read()[-500:]}")
    finally:
        if submit is not None and submit.poll() is None:
            submit.kill()
            submit.wait()
        fleet.stop()
    if job and not fleet.problems:
        store = Store(fleet.state)
        out["outcome"] = store.outcome(job)
        fleet.problems += check_store(store, job, out["outcome"], SMALL_JOB["stop.steps"])
        store.database.close()
    out.update({"reached": fleet.reached(), "steps": fleet.step_times(), "logs": fleet.logs() if fleet.problems else "",
                "seconds": time.monotonic() - start})
    fault_fleet.remove(folder)
    return out


def check_store(store, job, outcome, steps):
    """The account of a job that has ended."""
    problems = []
    ledger = dict(outcome["ledger"])
    issued = ledger.pop("issued", 0)
    if issued == 0 or issued != sum(ledger.values()) or ledger.get("in_flight", 0) != 0:
        problems.append(f"the ledger does not sum: {outcome['ledger']}")
    counted = dict(store.rows("SELECT ledger, COUNT(*) FROM samples WHERE job = ? GROUP BY 1", job))
    if counted != ledger:
        problems.append(f"the samples are {counted}, the ledger says {ledger}")
    draws = [draw for _, _, draw in outcome["batches"]]
    if len(draws) != len(set(draws)):
        problems.append("a draw is in two batches")
    if outcome["step"] != steps:
        problems.append(f"{outcome['step']} steps instead of {steps}")
    return problems


def recoveries(runs):
    """By role: seconds from the kill until the process serves again, and until the next step is committed or the job over."""
    roles = {}
    for run in runs:
        for death in run["deaths"]:
            role = death.get("process", "?").split("-")[0]
            times = roles.setdefault(role, {"kills": 0, "serves": [], "next_step": []})
            times["kills"] += 1
            if "served" in death:
                times["serves"].append(max(0.0, death["served"] - death["time"]))
            after = [t for t in run["steps"] if t > death["time"]]
            if after:
                times["next_step"].append(after[0] - death["time"])
    for times in roles.values():
        for name in ("serves", "next_step"):
            values = times[name]
            times[name] = {"median": round(statistics.median(values), 2), "worst": round(max(values), 2)} if values else None
    return roles


def table(roles):
    def cell(times):
        return f"{times['median']:.2f} | {times['worst']:.2f}" if times else "- | -"
    lines = ["| process | kills | serves again: median s | worst s | next step: median s | worst s |", "|---|---|---|---|---|---|"]
    lines += [f"| {role} | {t['kills']} | {cell(t['serves'])} | {cell(t['next_step'])} |" for role, t in sorted(roles.items())]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("source")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--points", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", default="")
    arguments = parser.parse_args()
    points = arguments.points.split(",") if arguments.points else fault_fleet.fail_points(arguments.source)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        reference = run_job(arguments.binaries, os.path.join(folder, "undisturbed"), [])
        if reference["problems"]:
            print("\n".join(reference["problems"]) + "\n" + reference["logs"])
            return 1
        print(f"undisturbed: {reference['seconds']:.1f} s, {len(reference['reached'])} points reached", flush=True)
        wanted = single_runs(points, arguments.seed) if arguments.all or arguments.points else bundles_of(points)

        def sweep(number_and_actions):
            number, actions = number_and_actions
            run = run_job(arguments.binaries, os.path.join(folder, str(number)), actions)
            if run["outcome"] is not None:
                run["problems"] += fault_fleet.differences(reference["outcome"], run["outcome"])
            return run

        runs = []
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            for run in pool.map(sweep, enumerate(wanted)):
                runs.append(run)
                died = {death["point"] for death in run["deaths"]}
                print(f"{len(died)} killed in {run['seconds']:.1f} s: {' '.join(sorted(died))}", flush=True)
                if run["problems"]:
                    failures.append(" ".join(run["actions"]))
                    print("FAILED: " + ",".join(run["actions"]) + "\n" + "\n".join(run["problems"][:40]) + "\n" + run["logs"], flush=True)
    died = {death["point"] for run in runs for death in run["deaths"]}
    missed = sorted(set(points) - died)
    if missed:
        failures.append("never hit: " + " ".join(missed))
    roles = recoveries(runs)
    print(f"\n{len(died)} of {len(points)} fail points killed a process, in {len(runs)} runs\n\n{table(roles)}")
    if arguments.report:
        with open(arguments.report, "w", encoding="utf-8") as f:
            json.dump({"points": sorted(died), "runs": len(runs), "roles": roles}, f, indent=1)
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
