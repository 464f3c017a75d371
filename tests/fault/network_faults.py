#!/usr/bin/env python3
"""Spoiled links between the processes of a fleet: network_faults.py BIN [--all] [--seconds N] [--only LINK:FAULT]

Each link goes through a proxy of its own (tcp_proxy.py). A deterministic job runs; after its second step the link is spoiled
for a while. The job must end without a person in the same weights, learning metrics, batches and ledger as one whose links
were whole. By default a few pairs for 3 seconds; with --all every link with every fault, for 10 seconds or --seconds.

Links: register (reward and learner to coordinator), rollout (its stream to the coordinator), reward, learner (coordinator to
each), weights (rollout to learner), client. Faults: cut, delay (500 ms each way), throttle, half-open (nothing passes, nothing closes), one-way (answers are
lost), strand (the connections there are never work again, new ones do).
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import fault_fleet
from fault_fleet import SMALL_JOB, Store, read_json
from tcp_proxy import TcpProxy

DEADLINE = 300  # seconds for one job; a hang is a failure
LEASE = 3
STEPS = 12
LINKS = ("register", "rollout", "reward", "learner", "weights", "client")
FAULTS = {
    "cut": lambda link: link.cut(),
    "delay": lambda link: link.set(delay=0.5),
    "throttle": lambda link: link.set(bytes_per_second=20000),
    "half-open": lambda link: link.freeze(),
    "one-way": lambda link: link.freeze(only="back"),
    "strand": lambda link: link.strand(),
}
NEEDED, SILENCING = ("rollout", "reward", "learner", "weights"), ("cut", "half-open", "one-way")  # no job goes on without
SHORT = [("register", "cut"), ("rollout", "cut"), ("reward", "half-open"), ("learner", "cut"), ("learner", "half-open"),
         ("weights", "throttle"), ("weights", "one-way"), ("client", "cut"), ("rollout", "delay"), (None, "strand")]


class WiredFleet:
    """One process of each role, started by hand so that every link has its proxy."""

    def __init__(self, binaries, state):
        self.binaries, self.state = binaries, os.path.abspath(state)
        os.makedirs(os.path.join(self.state, "logs"))
        self.processes, self.links = {}, {}

    def __enter__(self):
        coordinator = self.start("coordinator", "coordinator", "--lease-seconds", str(LEASE))
        self.links["client"] = TcpProxy(coordinator)
        self.links["register"] = TcpProxy(coordinator)
        self.links["rollout"] = TcpProxy(coordinator)
        for link in ("reward", "learner", "weights"):
            self.links[link] = TcpProxy(None)
        # Two links end at the learner: told apart by who connects.
        pid = self.processes["coordinator"].pid
        self.fork = TcpProxy(lambda client: self.links["learner" if client == pid else "weights"].address)
        learner = self.start("learner", "learner-0", advertise=self.fork)
        self.links["learner"].target = self.links["weights"].target = learner
        self.links["reward"].target = self.start("reward", "reward-0", advertise=self.links["reward"])
        self.start("rollout", "rollout-0")
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
            process.wait()
        for link in [self.fork, *self.links.values()]:
            link.__exit__()

    def start(self, role, name, *arguments, advertise=None):
        """Its address."""
        file = os.path.join(self.state, name + ".json")
        command = [os.path.join(self.binaries, "sluice-" + role), "--name", name, "--address-file", file, "--state",
                   os.path.join(self.state, "coordinator" if role == "coordinator" else name), *arguments]
        if role != "coordinator":
            command += ["--coordinator", self.links["rollout" if role == "rollout" else "register"].address]
        if advertise:
            command += ["--advertise", advertise.address]
        if role in ("rollout", "learner"):
            command += ["--threads", "1"]
        with open(os.path.join(self.state, "logs", name + ".log"), "a", encoding="utf-8") as log:
            self.processes[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while (address := read_json(file)) is None:
            assert time.monotonic() < deadline and self.processes[name].poll() is None, f"{name} does not serve\n" + self.logs()
            time.sleep(0.02)
        return address["grpc"]

    def sluice(self, *arguments, timeout=DEADLINE):
        command = [os.path.join(self.binaries, "sluice"), *arguments, "--coordinator", self.links["client"].address]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout)

    def job(self, name):
        shown = self.sluice("jobs", "--json")
        jobs = json.loads(shown.stdout).get("jobs", []) if shown.returncode == 0 and shown.stdout.strip() else []
        return next((job for job in jobs if job["job"] == name), None)

    def await_job(self, name, condition):
        deadline = time.monotonic() + DEADLINE
        while True:
            job = self.job(name)
            if job and condition(job):
                return job
            for process, handle in self.processes.items():
                assert handle.poll() is None, f"{process} ended with {handle.returncode}"
            assert time.monotonic() < deadline, f"not over after {DEADLINE} s: {json.dumps(job)}"
            time.sleep(0.02)

    def logs(self):
        text, folder = "", os.path.join(self.state, "logs")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                text += f"--- {name}\n" + "".join(f.readlines()[-25:])
        return text

    def submit(self, file, request_id):
        """Until it is acknowledged, each time under the same name."""
        settings = dict(SMALL_JOB, **{"stop.steps": STEPS})
        options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            done = self.sluice("submit", file, *options, "--request-id", request_id)
            if done.returncode == 0:
                return json.loads(done.stdout)["job"]
            assert done.returncode == 3, f"submit ended with {done.returncode}: {done.stderr}"
        raise AssertionError("no job was acknowledged")


def has_ended(job):
    return job is not None and job["state"] in ("SUCCEEDED", "FAILED", "CANCELLED")


def heal(links):
    for link in links:
        link.heal()


def run(fleet, file, number, link, fault, seconds):
    """One job with a spoiled link: (its name, what is wrong, seconds it took)."""
    start, problems = time.monotonic(), []
    spoiled = [] if fault is None else [fleet.links[link]] if link else list(fleet.links.values())
    if link == "client":  # it meets the submission
        FAULTS[fault](spoiled[0])
        healing = threading.Timer(seconds, heal, [spoiled])
        healing.start()
    name = fleet.submit(file, f"request-{number}")
    if spoiled and link != "client":
        if has_ended(fleet.await_job(name, lambda job: has_ended(job) or int(job["step"]) >= 2)):
            problems.append("the job was over before the link was spoiled")
        for one in spoiled:
            FAULTS[fault](one)
        time.sleep(seconds)
        if link in NEEDED and fault in SILENCING and has_ended(fleet.job(name)):
            problems.append("the job did without the link: nothing was shown")
        heal(spoiled)
    job = fleet.await_job(name, has_ended)
    if link == "client":
        healing.join()
    if job["state"] != "SUCCEEDED":
        problems.append(f"the job ended {job['state']}: {job.get('error')}")
    return name, problems, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--only", default="", help="LINK:FAULT, or LINK: for every fault of a link")
    arguments = parser.parse_args()
    pairs = [(link, fault) for link in LINKS for fault in FAULTS] if arguments.all else SHORT
    if arguments.only:
        link, _, only = arguments.only.partition(":")
        pairs = [(link, fault) for fault in FAULTS if only in ("", fault)]
    seconds = arguments.seconds or (10 if arguments.all else 3)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        file = fault_fleet.prepare_job(arguments.binaries, os.path.join(folder, "files"))
        names = []
        with WiredFleet(arguments.binaries, os.path.join(folder, "state")) as fleet:
            for number, (link, fault) in enumerate([(None, None)] + pairs):
                label = f"{link or 'all links'}: {fault}" if fault else "whole links"
                try:
                    name, problems, took = run(fleet, file, number, link, fault, seconds)
                except AssertionError as error:
                    name, problems, took = None, [str(error)], 0
                names.append((label, name))
                print(f"{label}: {'; '.join(problems) or 'ok'} ({took:.1f} s)", flush=True)
                if problems:
                    print(fleet.logs())
                    failed += 1
                    break
        store = Store(fleet.state)
        outcomes = {name: store.outcome(name) for _, name in names if name}
        whole = outcomes.get(names[0][1])
        for label, name in names[1:]:
            different = fault_fleet.differences(whole, outcomes.get(name))
            if different:
                failed += 1
                print(f"FAILED: {label}: " + "\n".join(different[:20]))
        violations = fault_fleet.ledger_problems(fleet.state)
        failed += len(violations)
        print("\n".join(violations))
        submitted = store.rows("SELECT COUNT(*) FROM jobs")[0][0]
        if submitted != len(names):
            failed += 1
            print(f"FAILED: {submitted} jobs in the store, {len(names)} were acknowledged")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
