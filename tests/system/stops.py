#!/usr/bin/env python3
"""Orderly stops and hung processes of a running job: stops.py BIN_DIR PART

rollout      SIGTERM to a rollout worker: it exits 0, its samples go on elsewhere at once, nobody waits for a lease.
coordinator  SIGTERM to the coordinator: it exits 0, the job goes on when it is started again.
fleet        SIGTERM to `sluice up` during a step: all end in order within the time, the learner with a checkpoint; the next
             `sluice up` goes on from there without redoing a step.
interrupt    two SIGINT to `sluice up`: all are gone at once, exit code 130; the next `sluice up` goes on.
stopped_rank SIGSTOP of one rank of the learner: the ranks notice, start again, and the job goes on without a person.
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from fleet import LIMIT, check_ledger

JOB = """
name: "stops" seed: 3
model {{ path: "{folder}/arithmetic/model" dtype: BF16 }}
prompts {{ file: "{folder}/arithmetic/train.jsonl" max_tokens: 64 }}
sampling {{ group_size: 4 max_new_tokens: 12 }}
reward {{ component {{ name: "answer" weight: 1 math {{}} }} }}
algorithm {{ grpo {{}} }}
optimizer {{ adamw {{ learning_rate: 1e-4 }} }}
batch {{ groups_per_step: 4 }}
checkpoint {{ every_steps: 1000 }}
stop {{ steps: 100000 }}
"""


class Up:
    """`sluice up` in the foreground of a process of its own."""

    def __init__(self, binaries, folder, *options):
        self.binaries, self.state, self.options = binaries, os.path.join(folder, "state"), options
        self.log = os.path.join(folder, "up.log")
        self.start()

    def start(self):
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([os.path.join(self.binaries, "sluice"), "up", "--state", self.state,
                                             *self.options], stdout=log, stderr=log)
        self.wait_until(lambda: self.said().count("serving at") >= self.said().count("stopping, within") + 1, "the fleet to serve")

    def said(self):
        with open(self.log, encoding="utf-8") as f:
            return f.read()

    def wait_until(self, done, what, limit=LIMIT):
        deadline = time.monotonic() + limit
        while not done():
            assert time.monotonic() < deadline, f"waited {limit} s for {what}\n{self.said()}"
            assert self.process.poll() is None, f"`sluice up` ended\n{self.said()}"
            time.sleep(0.02)

    def sluice(self, command, *arguments):
        return subprocess.run([os.path.join(self.binaries, "sluice"), command, "--state", self.state, *arguments],
                              capture_output=True, text=True, timeout=LIMIT)

    def processes(self):
        with open(os.path.join(self.state, "cluster.json"), encoding="utf-8") as f:
            return {f"{p['role']}-{p['index']}": p["pid"] for p in json.load(f)["processes"]}

    def service_log(self, name):
        with open(os.path.join(self.state, "logs", name + ".log"), encoding="utf-8") as f:
            return f.read()

    def job(self, name):
        shown = self.sluice("show", "--json", name)
        return json.loads(shown.stdout) if shown.returncode == 0 else {"step": -1}

    def await_step(self, name, step, limit=LIMIT):
        self.wait_until(lambda: int(self.job(name)["step"]) >= step, f"step {step}", limit)

    def submit(self, folder):
        made = subprocess.run([os.path.join(self.binaries, "sluice"), "demo", "--prepare",
                               os.path.join(folder, "arithmetic")], capture_output=True, text=True, timeout=LIMIT)
        assert made.returncode == 0, made.stderr
        file = os.path.join(folder, "job.textproto")
        with open(file, "w", encoding="utf-8") as f:
            f.write(JOB.format(folder=folder))
        submitted = self.sluice("submit", file)
        assert submitted.returncode == 0, submitted.stderr
        return json.loads(submitted.stdout)["job"]

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.sluice("down")


def alive(pid):
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


def goes_on(up, job):
    """Two more steps, and the account of the samples is right."""
    before = max(0, int(up.job(job)["step"]))
    up.await_step(job, before + 2)
    assert check_ledger(up.job(job)["ledger"])
    return before


def rollout(up, job):
    pid = up.processes()["rollout-0"]
    os.kill(pid, signal.SIGTERM)
    up.wait_until(lambda: up.processes().get("rollout-0") not in (pid, None), "another rollout-0")
    goes_on(up, job)
    assert re.search(r"rollout-0 \(pid \d+\) died: exit code 0", up.said()), up.said()
    coordinator = up.service_log("coordinator")
    assert "worker_left worker=rollout-0" in coordinator and "lease_expired" not in coordinator, coordinator[-3000:]


def coordinator(up, job):
    pid = up.processes()["coordinator-0"]
    os.kill(pid, signal.SIGTERM)
    up.wait_until(lambda: up.processes().get("coordinator-0") not in (pid, None), "another coordinator")
    goes_on(up, job)
    assert re.search(r"coordinator \(pid \d+\) died: exit code 0", up.said()), up.said()


def fleet(up, job):
    pids = up.processes()
    begin = time.monotonic()
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(LIMIT) == 0, up.said()
    took = time.monotonic() - begin
    assert took < 30 and "in time" not in up.said(), f"{took} s\n{up.said()}"
    assert not any(alive(pid) for pid in pids.values())
    learner = up.service_log("learner-0")
    assert re.search(rf"last_checkpoint job={job} status=OK", learner), learner[-2000:]
    for name in ("coordinator", "rollout-0", "rollout-1", "reward-0", "learner-0", "learner-1"):
        assert "stop_timed_out" not in up.service_log(name) and "rank_left_behind" not in up.service_log(name), name
    order = [m for m in re.findall(r"^(\S+) INFO \S+ stopped$", up.service_log("coordinator"), re.M)]
    assert order and order[-1] >= re.findall(r"^(\S+) INFO \S+ stopped$", learner, re.M)[-1], "the coordinator was not last"
    up.start()
    goes_on(up, job)
    redone = [e["text"] for e in up.job(job)["events"] if "redone" in e["text"] or "redid" in e["text"]]
    assert not redone, redone
    print(f"all stopped in {took:.1f} s", flush=True)


def interrupt(up, job):
    pids = up.processes()
    up.process.send_signal(signal.SIGINT)
    while up.said().count("stopping, within") == 0:
        time.sleep(0.005)
    up.process.send_signal(signal.SIGINT)
    code = up.process.wait(LIMIT)
    assert not any(alive(pid) for pid in pids.values())
    assert code == 130, f"exit code {code}\n{up.said()}"
    up.start()
    goes_on(up, job)


def stopped_rank(up, job):
    before = up.processes()
    os.kill(before["learner-1"], signal.SIGSTOP)
    up.wait_until(lambda: all(up.processes().get(name) not in (before[name], None) for name in ("learner-0", "learner-1")),
                  "the ranks to start again")
    assert "rank 1 of 2 was not heard of" in up.service_log("learner-0"), up.service_log("learner-0")[-2000:]
    goes_on(up, job)
    assert all(up.processes()[name] == before[name] for name in ("coordinator-0", "rollout-0", "rollout-1"))


def main():
    binaries, part = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        up = Up(binaries, folder, "--rollout", "2", "--learner-ranks", "2")
        try:
            job = up.submit(folder)
            up.await_step(job, 2)
            globals()[part](up, job)
            print("passed")
        finally:
            up.end()


main()
