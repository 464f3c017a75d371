#!/usr/bin/env python3
"""kill -9 of any one process during the demonstration: kill_one_process.py BIN_DIR [ROLE-INDEX...]

For each process (coordinator-0 rollout-0 reward-0 learner-0 learner-1) a short demonstration runs; once its second step is
committed the process is killed. The demonstration must end well with all its steps, a new process in the killed one's
place, and a ledger that sums.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

STEPS = 8
DEADLINE = 240  # seconds, for one demonstration; a hang is a failure


def show(binaries, state):
    jobs = subprocess.run([os.path.join(binaries, "sluice"), "jobs", "--state", state, "--json"], capture_output=True,
                          text=True, timeout=30)
    if jobs.returncode != 0 or not jobs.stdout.strip():
        return None
    listed = json.loads(jobs.stdout).get("jobs", [])
    return listed[0] if listed else None


def processes(state):
    with open(os.path.join(state, "cluster.json"), encoding="utf-8") as f:
        return {f"{p['role']}-{p['index']}": p["pid"] for p in json.load(f)["processes"]}


def wait_for_step(binaries, state, demo, step, deadline):
    while time.monotonic() < deadline and demo.poll() is None:
        job = show(binaries, state) if os.path.exists(os.path.join(state, "cluster.json")) else None
        if job and int(job.get("step", 0)) >= step:
            return True
        time.sleep(0.1)
    return False


def run(binaries, victim, folder):
    state = os.path.join(folder, "state")
    log = open(os.path.join(folder, "demo.log"), "w+", encoding="utf-8")
    demo = subprocess.Popen([os.path.join(binaries, "sluice"), "demo", "--state", state, "--steps", str(STEPS), "--json"],
                            stdout=subprocess.PIPE, stderr=log, text=True)
    deadline = time.monotonic() + DEADLINE
    try:
        if not wait_for_step(binaries, state, demo, 2, deadline):
            return "the second step was not reached"
        before = processes(state)[victim]
        os.kill(before, signal.SIGKILL)
        replaced = False
        while time.monotonic() < deadline and demo.poll() is None:
            replaced = replaced or processes(state).get(victim) not in (before, None)
            time.sleep(0.05)
        out, _ = demo.communicate(timeout=max(1, deadline - time.monotonic()))
        if demo.returncode != 0:
            return f"exit {demo.returncode}"
        summary = json.loads(out.strip().splitlines()[-1])
        ledger = dict(summary["ledger"])
        issued = ledger.pop("issued")
        if issued != sum(ledger.values()) or ledger["in_flight"] != 0:
            return f"the ledger does not sum: {summary['ledger']}"
        if summary["steps"] != STEPS:
            return f"{summary['steps']} steps instead of {STEPS}"
        if summary["exact_max_difference"] != 0 or summary["exact_compared"] == 0:
            return f"EXACT does not hold: {summary}"
        return "" if replaced else "no new process took its place"
    except subprocess.TimeoutExpired:
        return "it hangs"
    finally:
        if demo.poll() is None:
            demo.terminate()
            try:
                demo.wait(30)
            except subprocess.TimeoutExpired:
                demo.kill()
        log.close()


def main():
    binaries = sys.argv[1]
    victims = sys.argv[2:] or ["coordinator-0", "rollout-0", "reward-0", "learner-0", "learner-1"]
    failed = 0
    for victim in victims:
        with tempfile.TemporaryDirectory() as folder:
            problem = run(binaries, victim, folder)
            print(f"{victim}: {problem or 'ok'}", flush=True)
            if problem:
                failed += 1
                print(open(os.path.join(folder, "demo.log"), encoding="utf-8").read()[-4000:])
                logs = os.path.join(folder, "state", "logs")
                for name in sorted(os.listdir(logs)) if os.path.isdir(logs) else []:
                    print(f"--- {name}\n" + open(os.path.join(logs, name), encoding="utf-8").read()[-2000:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
