"""For the tests of faults: a fleet of `sluice up` whose processes die, on a job that takes seconds, and what it leaves."""
import calendar
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

SHAPE = ["--rollout", "2", "--reward", "1", "--learner-ranks", "2", "--threads", "1"]
# A job of the demonstration's model that is over in seconds and comes to everything: warm start, evaluation, checkpoints
# that are pruned, versions that are pruned.
SMALL_JOB = {"warm_start.steps": 2, "warm_start.batch_size": 4, "stop.steps": 8, "batch.groups_per_step": 4,
             "sampling.group_size": 4, "evaluation.every_steps": 4, "checkpoint.every_steps": 2, "checkpoint.keep": 1,
             "checkpoint.progress_tokens": 2, "deterministic": "true"}
HELD_OUT_ROWS = 4
POINT = re.compile(r'SLUICE_FAIL_POINT\("([a-z_.]+)"\)')


def fail_points(source):
    """The names of all fail points, from the sources of the product."""
    names = set()
    for folder in ("core", "coordinator", "rollout", "reward", "learner", "services"):
        for path, _, files in os.walk(os.path.join(source, folder)):
            for name in files:
                if name.endswith((".cc", ".h")) and not name.endswith("_test.cc") and name != "fail_point.h":
                    with open(os.path.join(path, name), encoding="utf-8") as f:
                        names.update(POINT.findall(f.read()))
    return sorted(names)


def read_json(path):
    """None while it is not there, or not whole."""
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def modified(path):
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None


def prepare_job(binaries, folder):
    """The demonstration's model and prompts; the path of the job."""
    subprocess.run([os.path.join(binaries, "sluice"), "demo", "--prepare", folder], check=True, capture_output=True,
                   timeout=60)
    held_out = os.path.join(folder, "held_out.jsonl")
    with open(held_out, encoding="utf-8") as f:
        rows = f.readlines()[:HELD_OUT_ROWS]
    with open(held_out, "w", encoding="utf-8") as f:
        f.writelines(rows)
    return os.path.join(folder, "job.textproto")


def processes_of(state):
    """pid -> command line, of every process that names this state directory."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if state + "/" in line + "/" and "/sluice" in line.split(" ")[0]:
            found[int(pid)] = line
    return found


class FaultFleet:
    """A fleet. Its supervisor is started again when it is killed, as systemd would. Deaths are noted as they happen."""

    def __init__(self, binaries, state, points="", shape=SHAPE):
        self.binaries, self.state, self.shape = binaries, os.path.abspath(state), shape
        self.marks = os.path.join(self.state, "marks")
        os.makedirs(self.marks)
        os.makedirs(os.path.join(self.state, "logs"))
        self.deadly = {action.split("=")[0] for action in points.split(",") if "=kill" in action}
        self.environment = dict(os.environ, SLUICE_FAIL_POINTS=points, SLUICE_FAIL_POINT_DIR=self.marks)
        self.problems, self.deaths, self.names = [], [], {}
        self.stopping = False
        self.up = self._start()
        self.watcher = threading.Thread(target=self._watch, daemon=True)
        self.watcher.start()

    def sluice(self, *arguments):
        return [os.path.join(self.binaries, "sluice"), *arguments, "--state", self.state]

    def run(self, *arguments, timeout=60):
        return subprocess.run(self.sluice(*arguments), capture_output=True, text=True, timeout=timeout)

    def _start(self):
        with open(os.path.join(self.state, "logs", "up.log"), "a", encoding="utf-8") as log:
            up = subprocess.Popen(self.sluice("up", *self.shape), env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=log, stderr=log, start_new_session=True)
        self.names[up.pid] = "supervisor"
        return up

    def _watch(self):
        seen = set()
        while not self.stopping:
            self._learn_names()
            for name in os.listdir(self.marks):
                if name.endswith(".done") and name not in seen:
                    if self._note_mark(name):
                        seen.add(name)
            self._note_recoveries()
            ended = self.up.poll()
            if ended == -signal.SIGKILL:
                self.up = self._start()
            elif ended is not None and not self.stopping:
                self.problems.append(f"`sluice up` ended with {ended}")
                return
            time.sleep(0.01)

    def _learn_names(self):
        record = read_json(os.path.join(self.state, "run", "supervisor.json")) or {}
        for process in record.get("processes", []):
            self.names[process["pid"]] = process["name"]

    def _note_mark(self, name):
        path, point = os.path.join(self.marks, name), name.removesuffix(".done")
        if point not in self.deadly:
            return True
        with open(path, encoding="utf-8") as f:
            pid = f.read().strip()
        if not pid:
            return False  # made, not yet written
        self.deaths.append({"point": point, "pid": int(pid), "time": modified(path)})
        return True

    def note_kill(self, name, pid):
        """A process that the test itself killed."""
        self.names[pid] = name
        self.deaths.append({"point": "", "pid": pid, "time": time.time()})

    def _note_recoveries(self):
        for death in self.deaths:
            name = death.setdefault("process", self.names.get(death["pid"]))
            if name is None:
                del death["process"]
                continue
            if "served" in death:
                continue
            if name == "supervisor":
                record = read_json(os.path.join(self.state, "run", "supervisor.json")) or {}
                serves = record.get("supervisor_pid") not in (death["pid"], None)
                death.update({"served": time.time()} if serves else {})
            else:
                path = os.path.join(self.state, "run", name + ".json")
                address = read_json(path)
                if address and address.get("pid") != death["pid"]:
                    death["served"] = modified(path) or time.time()

    def pids(self):
        """name -> pid of what the supervisor runs, and its own."""
        record = read_json(os.path.join(self.state, "run", "supervisor.json")) or {}
        return {p["name"]: p["pid"] for p in record.get("processes", [])} | {"supervisor": self.up.pid}

    def await_serving(self, deadline):
        while read_json(os.path.join(self.state, "cluster.json")) is None and time.monotonic() < deadline:
            if self.problems:
                return
            time.sleep(0.02)

    def submit(self, job, settings):
        """`sluice submit --wait`, as a process that runs until the job has ended."""
        options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        return subprocess.Popen(self.sluice("submit", job, *options, "--wait"), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def stop(self):
        """Stops everything; whatever is left of the fleet after an orderly stop is a problem."""
        self.stopping = True
        self.watcher.join()
        if self.up.poll() is None:
            self.up.terminate()
            try:
                self.up.wait(60)
            except subprocess.TimeoutExpired:
                self.problems.append("`sluice up` does not stop")
                self.up.kill()
                self.up.wait()
        with open(os.path.join(self.state, "logs", "up.log"), encoding="utf-8", errors="replace") as f:
            self.problems += [line.strip() for line in f if "did not stop in time" in line]
        left = processes_of(self.state)
        for pid, line in left.items():
            self.problems.append(f"left over after the stop: {pid} {line}")
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def logs(self, lines=25):
        text, folder = "", os.path.join(self.state, "logs")
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                text += f"--- {name}\n" + "".join(f.readlines()[-lines:])
        return text

    def reached(self):
        return {name.removesuffix(".reached") for name in os.listdir(self.marks) if name.endswith(".reached")}

    def step_times(self):
        """When steps were committed and jobs ended, in seconds since 1970, by the coordinator's log."""
        times = []
        with open(os.path.join(self.state, "logs", "coordinator.log"), encoding="utf-8", errors="replace") as f:
            for line in f:
                if " step_committed " in line or " to=SUCCEEDED" in line:
                    stamp = line.split(" ", 1)[0].rstrip("Z")
                    whole, _, part = stamp.partition(".")
                    times.append(calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + (part or "0")))
        return sorted(times)


class Store:
    """What a fleet left in its folder, read when nothing runs."""

    def __init__(self, state):
        self.state = state
        self.database = sqlite3.connect(f"file:{state}/coordinator/sluice.db?mode=ro", uri=True)

    def rows(self, query, *values):
        return self.database.execute(query, values).fetchall()

    def tensors(self, job, version):
        """name -> hash; a manifest names its job, so manifests of two jobs differ."""
        manifest = read_json(f"{self.state}/learner/policies/{job}/versions/{version}/manifest.json") or {"tensors": []}
        return {tensor["name"]: tensor["sha256"] for tensor in manifest["tensors"]}

    def outcome(self, job):
        """What a deterministic job determines: all but times, attempts and names."""
        state, step = self.rows("SELECT state, step FROM jobs WHERE job = ?", job)[0]
        metrics = {}
        for version, text in self.rows("SELECT version, metrics FROM batches WHERE job = ? ORDER BY version", job):
            values = json.loads(text).get("metrics", {})
            metrics[version] = {n: v for n, v in values.items() if not n.endswith(("_seconds", "_per_second"))}
        return {"state": state, "step": step, "tensors": self.tensors(job, step), "metrics": metrics,
                "ledger": dict(self.rows("SELECT name, samples FROM ledger WHERE job = ? AND samples != 0", job)),
                "batches": self.rows("SELECT version, draws FROM batches WHERE job = ? ORDER BY version", job)}


def ledger_problems(state):
    """What the checker of the ledger says of a fleet's coordinator."""
    checker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ledger_check.py")
    checked = subprocess.run([sys.executable, checker, os.path.join(state, "coordinator")], capture_output=True, text=True,
                             timeout=900)  # millions of samples, at the lowest priority
    return [] if checked.returncode == 0 else (checked.stdout + checked.stderr).splitlines()


def verdict(problems, logs):
    """Says what went wrong; the exit code."""
    for problem in problems[:40]:
        print(f"FAILED: {problem}")
    if problems:
        print(logs)
    return 1 if problems else 0


def differences(expected, found, path=""):
    """Where two outcomes differ, in words."""
    if isinstance(expected, dict) and isinstance(found, dict):
        out = []
        for key in sorted(set(expected) | set(found), key=str):
            out += differences(expected.get(key), found.get(key), f"{path}.{key}" if path else str(key))
        return out
    same = expected == found or (expected != expected and found != found)
    return [] if same else [f"{path}: {found!r} instead of {expected!r}"]


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
