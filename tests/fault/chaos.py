#!/usr/bin/env python3
"""Random kills over one longer job: chaos.py BIN [--kills N] [--seed N] [--report FILE]

A deterministic job runs undisturbed; then again while random processes of the fleet, its supervisor among them, are killed
with kill -9 at random moments, and a client submits small jobs (some of them again, under the same request id), pauses and
resumes them, and notes what was acknowledged. In the end the long job must have the same weights, learning metrics, batches
and ledger as the undisturbed one, and all that was acknowledged must be there, once.
"""
import argparse
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time

import fault_fleet
from fault_fleet import SMALL_JOB, FaultFleet, Store
from kill_sweep import check_store, recoveries, table

SECONDS_PER_KILL = (0.2, 2.5)
STEPS_PER_KILL = 15
STEPS_WITHOUT_KILL = 8  # then one comes however soon it is: on a fast machine too the last comes before the job's end
PATIENCE, PATIENCE_PER_STEP = 180, 0.3  # seconds without a kill until all jobs have ended; a hang is a failure
ENDED = ("SUCCEEDED", "FAILED", "CANCELLED")
CLIENT_JOB = dict(SMALL_JOB, **{"stop.steps": 1, "warm_start.steps": 1})


class Client:
    """Submits, pauses and resumes, and keeps what was acknowledged."""

    def __init__(self, fleet, job_file, seed):
        self.fleet, self.job_file, self.random = fleet, job_file, random.Random(f"{seed} client")
        self.jobs, self.problems, self.calls, self.refused = {}, [], 0, 0  # request id -> job
        self.paused, self.looks = {}, 0  # job -> what was acknowledged last; unknown after a call without an answer
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _call(self, *arguments):
        """Its output when it was acknowledged."""
        self.calls += 1
        done = self.fleet.run(*arguments, timeout=120)
        if done.returncode == 0:
            return done.stdout
        self.refused += 1
        if done.returncode != 3 and "has ended" not in done.stderr:
            self.problems.append(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}")
        return None

    def _submit(self, request_id):
        options = [part for name, value in CLIENT_JOB.items() for part in ("--set", f"{name}={value}")]
        answer = self._call("submit", self.job_file, *options, "--request-id", request_id)
        if answer is None:
            return
        job = json.loads(answer)["job"]
        if self.jobs.setdefault(request_id, job) != job:
            self.problems.append(f"{request_id} was {self.jobs[request_id]} and is {job} now")

    def _control(self, command, job):
        self.paused.pop(job, None)
        if self._call(command, job) is not None:
            self.paused[job] = command == "pause"

    def _look(self):
        """Jobs are as it was acknowledged, whoever died since."""
        states = job_states(self.fleet)
        for job, paused in self.paused.items():
            state = states.get(job)
            self.looks += state is not None
            if state is not None and state not in ENDED and (state == "PAUSED") != paused:
                self.problems.append(f"{job} is {state}; {'pause' if paused else 'resume'} was acknowledged")

    def _run(self):
        while not self.stopping.is_set():
            if not self.jobs or self.random.random() < 0.3:
                self._submit(f"request-{self.random.randrange(8)}")
            else:
                self._control(self.random.choice(["pause", "resume"]), self.random.choice(sorted(self.jobs.values())))
            self._look()
            self.stopping.wait(self.random.uniform(0.1, 1.0))

    def finish(self, deadline):
        """Lets all that it paused go on."""
        self.stopping.set()
        self.thread.join()
        for job in set(self.jobs.values()):
            while time.monotonic() < deadline:
                done = self.fleet.run("resume", job)
                if done.returncode == 0 or "has ended" in done.stderr:
                    break
                time.sleep(0.2)


def listed_jobs(fleet):
    listed = fleet.run("jobs", "--json")
    return json.loads(listed.stdout).get("jobs", []) if listed.returncode == 0 and listed.stdout.strip() else []


def job_states(fleet):
    return {job["job"]: job["state"] for job in listed_jobs(fleet)}


def job_step(fleet, name):
    """0 while nobody answers."""
    return next((int(job.get("step", 0)) for job in listed_jobs(fleet) if job["job"] == name), 0)


def await_jobs(fleet, names, deadline):
    while time.monotonic() < deadline and not fleet.problems:
        states = job_states(fleet)
        if all(states.get(name) in ENDED for name in names):
            return
        time.sleep(0.2)
    fleet.problems.append(f"not all jobs have ended: {job_states(fleet)}")


def wait_for_next_kill(fleet, job, seconds, step):
    """Until the time has passed or the job went far enough from `step`; says where it is."""
    until, now = time.monotonic() + seconds, step
    while time.monotonic() < until and now < step + STEPS_WITHOUT_KILL:
        time.sleep(0.05)
        now = max(now, job_step(fleet, job))
    return now


def kill_at_random(fleet, job, kills, seed):
    draw, step = random.Random(seed), 0
    while len(fleet.deaths) < kills and not fleet.problems:
        step = wait_for_next_kill(fleet, job, draw.uniform(*SECONDS_PER_KILL), step)
        running = sorted(fleet.pids().items())
        name, pid = draw.choice(running)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue  # it is being started again
        fleet.note_kill(name, pid)


def run(binaries, folder, kills, seed):
    """{"problems", "outcome", "deaths", "steps", "logs"} of one run; without kills the undisturbed one."""
    settings = dict(SMALL_JOB, **{"stop.steps": STEPS})
    job_file = fault_fleet.prepare_job(binaries, os.path.join(folder, "files"))
    fleet = FaultFleet(binaries, os.path.join(folder, "state"))
    out = {"problems": fleet.problems, "deaths": fleet.deaths, "outcome": None, "client": None}
    try:
        fleet.await_serving(time.monotonic() + 60)
        options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        job = json.loads(fleet.run("submit", job_file, *options).stdout)["job"]
        client = Client(fleet, job_file, seed) if kills else None
        kill_at_random(fleet, job, kills, seed)
        if kills and job_states(fleet).get(job) in ENDED:
            fleet.problems.append("the long job was over before the last kill: give it more steps for each")
        deadline = time.monotonic() + PATIENCE + PATIENCE_PER_STEP * STEPS
        if client:
            client.finish(deadline)
        await_jobs(fleet, [job, *(client.jobs.values() if client else [])], deadline)
    finally:
        fleet.stop()
    if not fleet.problems:
        store = Store(fleet.state)
        out["outcome"] = store.outcome(job)
        fleet.problems += check_store(store, out["outcome"], STEPS)
        if client:
            fleet.problems += client.problems + check_acknowledged(store, client, job)
            print(f"the client: {client.calls} calls, {client.refused} without an answer, {len(client.jobs)} jobs, "
                  f"{client.looks} looks at one that was paused or resumed")
    out.update({"steps": fleet.step_times(), "logs": fleet.logs() if fleet.problems else ""})
    return out


def check_acknowledged(store, client, long_job):
    problems = []
    requests = dict(store.rows("SELECT request_id, job FROM request_ids"))
    jobs = {job for job, in store.rows("SELECT job FROM jobs")}
    for request_id, job in client.jobs.items():
        if requests.get(request_id) != job:
            problems.append(f"{request_id} was acknowledged as {job}; the store has {requests.get(request_id)}")
        if job not in jobs:
            problems.append(f"{job} is lost")
        elif store.outcome(job)["step"] != 1:
            problems.append(f"{job} did not come to its end: {store.outcome(job)}")
    # Submissions whose answer was lost may be there, each once.
    named = [job for request_id, job in requests.items() if request_id.startswith("request-")]
    if jobs - set(named) != {long_job} or len(named) != len(set(named)):
        problems.append(f"jobs nobody asked for, or one for two requests: {sorted(jobs)}, requests {requests}")
    return problems


def main():
    global STEPS
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", default="")
    arguments = parser.parse_args()
    STEPS = STEPS_PER_KILL * arguments.kills
    with tempfile.TemporaryDirectory() as folder:
        undisturbed = run(arguments.binaries, os.path.join(folder, "undisturbed"), 0, arguments.seed)
        disturbed = run(arguments.binaries, os.path.join(folder, "disturbed"), arguments.kills, arguments.seed)
    problems = undisturbed["problems"] + disturbed["problems"]
    if not problems:
        problems = fault_fleet.differences(undisturbed["outcome"], disturbed["outcome"])
    roles = recoveries([disturbed])
    print(f"{len(disturbed['deaths'])} kills with seed {arguments.seed} over {STEPS} steps\n\n{table(roles)}")
    if arguments.report:
        with open(arguments.report, "w", encoding="utf-8") as f:
            json.dump({"kills": len(disturbed["deaths"]), "seed": arguments.seed, "steps": STEPS, "roles": roles}, f, indent=1)
    return fault_fleet.verdict(problems, undisturbed["logs"] + disturbed["logs"])


if __name__ == "__main__":
    sys.exit(main())
