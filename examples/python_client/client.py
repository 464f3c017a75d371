#!/usr/bin/python3
"""A client in Python: submits a job to a coordinator and watches it until it ends.

    client.py 127.0.0.1:5000 job.textproto [--request-id NAME]

Exit codes: 0 the job succeeded, 1 it failed or was cancelled, 2 wrong usage or input, 3 the coordinator cannot be reached.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import grpc
from google.protobuf import text_format

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto")


def load_job_messages():
    """Generates and imports sluice/v1/job_pb2 with protoc."""
    with tempfile.TemporaryDirectory(prefix="sluice-proto-") as out:
        files = [os.path.join(PROTO, "sluice", "v1", f"{name}.proto") for name in ("types", "job")]
        try:
            subprocess.run(["protoc", "-I", PROTO, "--python_out", out, *files], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            sys.exit(f"client.py: protoc (package protobuf-compiler) is needed: {error}")
        sys.path.insert(0, out)
        return __import__("sluice.v1.job_pb2", fromlist=["x"])


job_pb2 = load_job_messages()


class JobService:
    """The calls of sluice.v1.JobService that this client needs."""

    def __init__(self, channel):
        path = "/sluice.v1.JobService/"
        self.submit = channel.unary_unary(path + "SubmitJob", job_pb2.SubmitJobRequest.SerializeToString,
                                          job_pb2.SubmitJobResponse.FromString)
        self.watch = channel.unary_stream(path + "WatchJob", job_pb2.WatchJobRequest.SerializeToString,
                                          job_pb2.WatchJobResponse.FromString)


def fail(code, message):
    """One line on standard error, and the end."""
    print(f"client.py: {message}", file=sys.stderr)
    sys.exit(code)


def read_job(path):
    """The JobSpec of a file, its relative paths made absolute: to the coordinator they would mean something else."""
    try:
        with open(path, encoding="utf-8") as text:
            spec = text_format.Parse(text.read(), job_pb2.JobSpec())
    except OSError as error:
        fail(2, f"{path}: {error.strerror}")
    except (text_format.ParseError, UnicodeDecodeError) as error:
        fail(2, f"{path}:{error}")  # a ParseError begins with line:column
    folder = os.path.dirname(os.path.abspath(path))
    for field, name in ((spec.model, "path"), (spec.prompts, "file"), (spec.evaluation, "file"), (spec.warm_start, "file")):
        if getattr(field, name):
            setattr(field, name, os.path.join(folder, getattr(field, name)))
    return spec


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("coordinator", help="host:port")
    parser.add_argument("job", help="a sluice.v1.JobSpec as textproto")
    parser.add_argument("--request-id", default="", help="sending the same one twice makes one job")
    args = parser.parse_args()

    spec = read_job(args.job)
    service = JobService(grpc.insecure_channel(args.coordinator))
    try:
        job = service.submit(job_pb2.SubmitJobRequest(spec=spec, request_id=args.request_id), timeout=30).job
        print(f"submitted {job}", flush=True)
        state = job_pb2.JOB_STATE_UNSPECIFIED
        for update in service.watch(job_pb2.WatchJobRequest(job=job), timeout=24 * 3600):
            state = update.job.state
            metrics = update.job.last_step.metrics
            reward = f" reward {metrics['reward']:.3f}" if "reward" in metrics else ""
            print(f"{job_pb2.JobState.Name(state).lower()} step {update.job.step}{reward} {update.job.waiting_for}".rstrip(),
                  flush=True)
        return 0 if state == job_pb2.SUCCEEDED else 1
    except grpc.RpcError as error:
        away = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
        refused = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND, grpc.StatusCode.FAILED_PRECONDITION,
                   grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.RESOURCE_EXHAUSTED)
        if error.code() in away:
            fail(3, f"the coordinator at {args.coordinator} cannot be reached: {error.code().name}: {error.details()}")
        fail(2 if error.code() in refused else 1, f"{error.code().name}: {error.details()}")
    except KeyboardInterrupt:
        fail(1, "stopped watching; the job goes on")


if __name__ == "__main__":
    sys.exit(main())
