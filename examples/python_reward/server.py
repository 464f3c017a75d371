#!/usr/bin/python3
"""A reward service in Python: implements sluice.v1.RewardService and takes the place of sluice-reward.

It judges the component kinds "math" (the last number of the completion, as a fraction) and "regex"; replace judge() with your
own. Message classes are generated at start with protoc, so that nothing generated has to be kept.

    server.py --listen 127.0.0.1:0 --address-file reward.address [--coordinator 127.0.0.1:5000 --name reward-py]
"""
import argparse
import fractions
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures

import grpc

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto")


def load_messages(*names):
    """Generates and imports the message modules of sluice/v1/NAME.proto."""
    out = tempfile.TemporaryDirectory(prefix="sluice-proto-")
    files = [os.path.join(folder, f) for folder, _, all_files in os.walk(PROTO) for f in all_files if f.endswith(".proto")]
    try:
        subprocess.run(["protoc", "-I", PROTO, "--python_out", out.name, *files], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"server.py: protoc (package protobuf-compiler) is needed: {error}")
    sys.path.insert(0, out.name)
    modules = [__import__(f"sluice.v1.{name}_pb2", fromlist=["x"]) for name in names]
    out.cleanup()  # imported modules no longer need their files
    return modules


types_pb2, job_pb2, reward_pb2, fleet_pb2 = load_messages("types", "job", "reward", "fleet")


def judge(component, item):
    """One component of one completion: (kind, value, detail)."""
    kind = component.WhichOneof("scorer")
    if kind == "regex":
        found = re.search(component.regex.pattern, item.completion, re.DOTALL) is not None
        return (types_pb2.CORRECT, 1.0, "found") if found else (types_pb2.WRONG, 0.0, "not found")
    if kind == "math":
        try:
            gold = fractions.Fraction(item.fields["answer"].replace(",", ""))
        except (ValueError, ZeroDivisionError):
            return types_pb2.UNDECIDED, 0.0, "the prompt's answer is not a number"
        numbers = re.findall(r"-?\d+(?:\.\d+)?", item.completion.replace(",", ""))
        right = bool(numbers) and fractions.Fraction(numbers[-1]) == gold
        return (types_pb2.CORRECT, 1.0, "python: right") if right else (types_pb2.WRONG, 0.0, "python: wrong")
    raise KeyError(f"this service has no scorer {kind!r}")


def verdict_of(spec, item):
    """All components of one completion, put together."""
    begin = time.monotonic()
    verdict = types_pb2.Verdict()
    for component in spec.component:
        weight = component.weight if component.HasField("weight") else 1.0
        try:
            kind, value, detail = judge(component, item)
        except KeyError:
            raise
        except Exception as error:  # a checker that fails is not the model's failure
            kind, value, detail = types_pb2.INFRASTRUCTURE, 0.0, repr(error)[:200]
        verdict.components.add(name=component.name, kind=kind, value=value, weight=weight, detail=detail)
        verdict.value += weight * value
    kinds = {c.kind for c in verdict.components}
    for kind in (types_pb2.INFRASTRUCTURE, types_pb2.UNDECIDED):
        if kind in kinds:
            verdict.kind, verdict.value = kind, 0.0
            break
    else:
        verdict.kind = kinds.pop() if len(kinds) == 1 else types_pb2.GRADED
    verdict.seconds = time.monotonic() - begin
    return verdict


def score(request, context):
    """sluice.v1.RewardService.Score: one verdict for each item, in order."""
    try:
        return reward_pb2.ScoreResponse(verdicts=[verdict_of(request.spec, item) for item in request.items])
    except (KeyError, re.error) as error:
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))


def stay_in_fleet(coordinator, name, address, stop):
    """Registers with the coordinator and renews the lease until told to stop. Says when it joins and when it is away."""
    channel = grpc.insecure_channel(coordinator)

    def call(method, request, response):
        path = f"/sluice.v1.FleetService/{method}"
        return channel.unary_unary(path, type(request).SerializeToString, response.FromString)(request, timeout=5)

    incarnation, epoch, wait, told = secrets.token_hex(8), 0, 0.2, False
    while not stop.wait(wait):
        try:
            if epoch == 0:
                reply = call("RegisterWorker", fleet_pb2.RegisterWorkerRequest(
                    name=name, role=fleet_pb2.REWARD, address=address, incarnation=incarnation),
                    fleet_pb2.RegisterWorkerResponse)
                epoch, told = reply.epoch, False
                print(f"joined the fleet of {coordinator} as {name}", flush=True)
            else:
                reply = call("RenewLease", fleet_pb2.RenewLeaseRequest(name=name, epoch=epoch), fleet_pb2.RenewLeaseResponse)
            wait = (reply.lease.seconds + reply.lease.nanos / 1e9) / 3
        except grpc.RpcError as error:
            if not told and not stop.is_set():
                print(f"the coordinator at {coordinator} does not take this service, trying again: {error.code().name}: "
                      f"{error.details()}", file=sys.stderr, flush=True)
            epoch, wait, told = 0, 0.5, True  # register again; one line for each time of being away


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listen", default="127.0.0.1:0",
                        help="host:port to serve at; port 0: a free one, printed at start (default: %(default)s)")
    parser.add_argument("--address-file", help="written when serving, as sluice-reward does")
    parser.add_argument("--coordinator", metavar="HOST:PORT", help="joins this coordinator's fleet")
    parser.add_argument("--name", default="reward-python",
                        help="this service's name in the fleet, unique there (default: %(default)s)")
    args = parser.parse_args()

    server = grpc.server(futures.ThreadPoolExecutor(8), options=[("grpc.max_receive_message_length", 64 << 20)])
    handler = grpc.unary_unary_rpc_method_handler(
        score, reward_pb2.ScoreRequest.FromString, reward_pb2.ScoreResponse.SerializeToString)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("sluice.v1.RewardService", {"Score": handler})])
    try:
        port = server.add_insecure_port(args.listen)
    except (RuntimeError, ValueError) as error:
        sys.exit(f"server.py: --listen {args.listen}: {error}")
    if port == 0:
        sys.exit(f"server.py: --listen {args.listen}: this address cannot be taken")
    server.start()
    address = f"{args.listen.rsplit(':', 1)[0]}:{port}"
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if args.address_file:
        with open(args.address_file + ".tmp", "w", encoding="utf-8") as out:
            json.dump({"role": "reward", "name": args.name, "pid": os.getpid(), "grpc": address, "metrics": ""}, out)
        os.rename(args.address_file + ".tmp", args.address_file)
    print(f"serving at {address}", flush=True)
    if args.coordinator:
        threading.Thread(target=stay_in_fleet, args=(args.coordinator, args.name, address, stop), daemon=True).start()
    stop.wait()
    server.stop(grace=2).wait()


if __name__ == "__main__":
    main()
