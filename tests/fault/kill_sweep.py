#!/usr/bin/env python3
"""kill -9 at every fail point: kill_sweep.py BIN SOURCE [--all] [--bundles] [--points A,B] [--seed N] [--report FILE]

BIN has binaries with fail points (build/fault/bin). A small deterministic job runs undisturbed once. Then, for each fail point
in the sources of SOURCE, it runs again and the process that comes there first is killed: the job must end without a person, in
the same weights, learning metrics, batches and ledger, and a marker must prove that the process died there.

--all       for each point a second run, killed at a later time that it comes there (drawn from the seed)
--bundles   about ten points in each of a few runs instead: deaths among recoveries
--points    only these
--report    writes the times of recovery as JSON
--side-by-side  runs at a time (default 4; 1 for times that mean something)
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

# Versions are tried and promoted, and it goes back when the policy has gone far enough: on every kernel path measured the KL of step 7
# is 0.134 to 0.138, that of every other step at most 0.119. Where it is not, the sweep says which points were never hit.
JOB = dict(SMALL_JOB, **{"stop.steps": 9, "evaluation.gate.max_drop": 1, "evaluation.canary.prompts": 1,
                        "evaluation.canary.max_drop": 1, "guard.max_kl": 0.126, "guard.steps": 1})
DEADLINE = 240  # seconds for one run of the job; a hang is a failure
BUNDLES = 8
LATEST_TIME = 4
# Points that the undisturbed job does not come to, with what must happen for it.
NEEDS = {
    "supervisor.child_adopting": "supervisor.death_seen=kill",
    "supervisor.death_seen": "rollout.load_begun=kill",
    "supervisor.gang_draining": "learner.step_trained=kill",
    "learner.resumed": "learner.step_published=kill",
    "coordinator.lease_renewed": "learner.step_trained=delay:5000",
    "worker.lease_kept": "learner.step_trained=delay:5000",
    "coordinator.segment_opened": "coordinator.batch_recording=kill",
}


def actions_for(point, at=1):
    """Of one run: what it needs, what that needs, and the point."""
    actions, cause = [f"{point}=kill@{at}"], NEEDS.get(point)
    while cause:
        actions.insert(0, cause)
        cause = NEEDS.get(cause.split("=")[0])
    return actions


def bundles_of(points):
    """The points spread over a few runs, neighbours in the code apart."""
    bundles = [[] for _ in range(BUNDLES)]
    for i, point in enumerate(points):
        bundle = bundles[i % BUNDLES]
        bundle += [action for action in actions_for(point) if action not in bundle]
    for bundle in bundles:  # one action for a point
        seen = set()
        bundle[:] = [a for a in bundle if not (a.split("=")[0] in seen or seen.add(a.split("=")[0]))]
    return [bundle for bundle in bundles if bundle]


def single_runs(points, later, seed):
    draw = random.Random(seed)
    return [actions_for(point, at) for point in points for at in ([1, draw.randint(2, LATEST_TIME)] if later else [1])]


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
        submit = fleet.submit(job_file, JOB)
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
        fleet.problems += check_store(store, out["outcome"], JOB["stop.steps"])
        store.database.close()
    out.update({"reached": fleet.reached(), "steps": fleet.step_times(), "logs": fleet.logs() if fleet.problems else "",
                "seconds": time.monotonic() - start})
    fault_fleet.remove(folder)
    return out


def check_store(store, outcome, steps):
    """A job that has ended well, in an account without a violation."""
    problems = fault_fleet.ledger_problems(store.state)
    # A rollback of the last step is one more.
    if outcome["step"] not in (steps, steps + 1) or outcome["ledger"].get("in_flight", 0) != 0:
        problems.append(f"step {outcome['step']} instead of {steps}, ledger {outcome['ledger']}")
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
    lines = ["| process | kills | serves again: median s | worst s | next step: median s | worst s |",
             "|---|---|---|---|---|---|"]
    lines += [f"| {role} | {t['kills']} | {cell(t['serves'])} | {cell(t['next_step'])} |" for role, t in sorted(roles.items())]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("source")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--bundles", action="store_true")
    parser.add_argument("--points", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", default="")
    parser.add_argument("--side-by-side", type=int, default=4)
    arguments = parser.parse_args()
    points = arguments.points.split(",") if arguments.points else fault_fleet.fail_points(arguments.source)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        reference = run_job(arguments.binaries, os.path.join(folder, "undisturbed"), [])
        if reference["problems"]:
            print("\n".join(reference["problems"]) + "\n" + reference["logs"])
            return 1
        print(f"undisturbed: {reference['seconds']:.1f} s, {len(reference['reached'])} points reached", flush=True)
        wanted = bundles_of(points) if arguments.bundles else single_runs(points, arguments.all, arguments.seed)

        def sweep(number_and_actions):
            number, actions = number_and_actions
            run = run_job(arguments.binaries, os.path.join(folder, str(number)), actions)
            if run["outcome"] is not None:
                run["problems"] += fault_fleet.differences(reference["outcome"], run["outcome"])
            return run

        runs = []
        with ThreadPoolExecutor(arguments.side_by_side) as pool:
            for run in pool.map(sweep, enumerate(wanted)):
                runs.append(run)
                died = {death["point"] for death in run["deaths"]}
                print(f"{len(died)} killed in {run['seconds']:.1f} s: {' '.join(sorted(died))}", flush=True)
                if run["problems"]:
                    failures.append(" ".join(run["actions"]))
                    print("\n".join(["FAILED: " + ",".join(run["actions"]), *run["problems"][:40], run["logs"]]), flush=True)
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
