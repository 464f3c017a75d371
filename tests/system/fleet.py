"""For the process tests: `sluice` and a fleet of real services on loopback in a folder of its own."""
import json
import os
import subprocess
import sys
import time

LIMIT = 120  # seconds for what takes a few at most; a hang is a failure


def skip(why):
    """Ends a test that cannot be had here, by name."""
    print(f"Skipped: {why}")
    sys.exit(77)


class Fleet:
    def __init__(self, binaries, state, *options):
        self.binaries, self.state = binaries, state
        up = self.run("up", "--detach", "--state", state, *options)
        assert up.returncode == 0, up.stderr

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print(self.logs())
        self.run("down", "--state", self.state)

    def binary(self, name):
        return os.path.join(self.binaries, name)

    def run(self, *arguments, binary="sluice"):
        return subprocess.run([self.binary(binary), *arguments], capture_output=True, text=True, errors="replace",
                              timeout=LIMIT)

    def call(self, command, *arguments):
        """A command that talks to this fleet's coordinator."""
        return self.run(command, "--state", self.state, *arguments)

    def jobs(self):
        listed = self.call("jobs", "--json")
        assert listed.returncode == 0, listed.stderr
        return json.loads(listed.stdout).get("jobs", [])

    def show(self, job):
        shown = self.call("show", "--json", job)
        assert shown.returncode == 0, shown.stderr
        return json.loads(shown.stdout)

    def submit(self, file, *arguments):
        submitted = self.call("submit", file, *arguments)
        assert submitted.returncode == 0, submitted.stderr
        return json.loads(submitted.stdout)["job"]

    def await_job(self, job, done, limit=LIMIT):
        deadline = time.monotonic() + limit
        while True:
            shown = self.show(job)
            if done(shown):
                return shown
            assert time.monotonic() < deadline, f"not in {limit} s: {json.dumps(shown, indent=1)}"
            time.sleep(0.1)

    def process(self, role):
        with open(os.path.join(self.state, "cluster.json"), encoding="utf-8") as f:
            return next(p for p in json.load(f)["processes"] if p["role"] == role)

    def logs(self):
        folder = os.path.join(self.state, "logs")
        text = ""
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                text += f"== {name}\n" + "".join(f.readlines()[-15:])
        return text


def check_ledger(ledger):
    columns = {name: int(value) for name, value in ledger.items()}
    issued = columns.pop("issued")
    assert issued == sum(columns.values()), ledger
    return {"issued": issued, **columns}
