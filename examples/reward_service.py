"""What a reward service in Python needs besides its judgement: messages, a gRPC server, a place in a fleet.

A service of one's own is a function from (component, items) to one Judgement for each item:

    def judge(component, items, deadline):
        return [Judgement.right(1.0) if "42" in item.completion else Judgement.wrong() for item in items]

    reward_service.main(judge, name="reward-mine", version="1")

`component` is a RewardComponent (proto/sluice/v1/job.proto), each item a ScoreItem (proto/sluice/v1/reward.proto): prompt,
completion and the other fields of the row. `deadline` is a time.monotonic() by which the answer must be there. Message classes
are generated at start with protoc, so that nothing generated has to be kept.
"""
import argparse
import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent import futures
from dataclasses import dataclass, field

try:
    import google.protobuf  # noqa: F401  what protoc generates needs it
    import grpc
except ImportError as missing:
    sys.exit(f"{os.path.basename(sys.argv[0])}: {missing}: apt install python3-grpcio python3-protobuf (and run it with "
             "/usr/bin/python3), or pip install 'grpcio>=1.51' 'protobuf>=4.21,<6'")

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "proto")
MAX_MESSAGE_BYTES = 64 << 20


def load_messages(*names):
    """Generates and imports the message modules of sluice/v1/NAME.proto."""
    out = tempfile.TemporaryDirectory(prefix="sluice-proto-")
    files = [os.path.join(folder, f) for folder, _, here in os.walk(PROTO) for f in here if f.endswith(".proto")]
    try:
        subprocess.run(["protoc", "-I", PROTO, "--python_out", out.name, *files], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"{os.path.basename(sys.argv[0])}: protoc (package protobuf-compiler) is needed: {error}")
    sys.path.insert(0, out.name)
    modules = [__import__(f"sluice.v1.{name}_pb2", fromlist=["x"]) for name in names]
    out.cleanup()  # imported modules no longer need their files
    return modules


types_pb2, job_pb2, reward_pb2, fleet_pb2 = load_messages("types", "job", "reward", "fleet")


class Unsupported(Exception):
    """The spec asks for what this service does not have: the whole call is refused, not an item."""


@dataclass
class Judgement:
    """What one component says of one completion. UNDECIDED and INFRASTRUCTURE are never counted as a zero."""
    kind: int
    value: float = 0.0
    detail: str = ""  # a line for people
    outcome: str = ""  # the typed class, for metrics and filters
    steps: list = field(default_factory=list)  # of a process reward: (end offset in bytes of the completion, score)

    @staticmethod
    def right(detail="", outcome="right"):
        return Judgement(types_pb2.CORRECT, 1.0, detail, outcome)

    @staticmethod
    def wrong(detail="", outcome="wrong"):
        return Judgement(types_pb2.WRONG, 0.0, detail, outcome)

    @staticmethod
    def graded(value, detail="", outcome="graded", steps=()):
        return Judgement(types_pb2.GRADED, float(value), detail, outcome, list(steps))

    @staticmethod
    def undecided(detail, outcome="undecided"):
        return Judgement(types_pb2.UNDECIDED, 0.0, detail, outcome)

    @staticmethod
    def infrastructure(detail):
        return Judgement(types_pb2.INFRASTRUCTURE, 0.0, detail, "infrastructure")


def judge_safely(judge, component, items, deadline):
    """A checker that fails is not the model's failure."""
    try:
        judgements = judge(component, items, deadline)
        if len(judgements) == len(items):
            return judgements
        return [Judgement.infrastructure(f"{len(judgements)} judgements for {len(items)} items")] * len(items)
    except Unsupported:
        raise
    except Exception as error:
        return [Judgement.infrastructure(repr(error)[:200])] * len(items)


def combine(verdict):
    """Detail, kind and weighted sum of a verdict's components, as sluice-reward makes them."""
    kinds = {c.kind for c in verdict.components}
    verdict.detail = "; ".join(f"{c.name}: {c.detail}" for c in verdict.components if c.detail)
    for kind in (types_pb2.INFRASTRUCTURE, types_pb2.UNDECIDED):
        if kind in kinds:
            verdict.kind, verdict.value = kind, 0.0
            return
    verdict.value = sum(c.weight * c.value for c in verdict.components)
    verdict.kind = kinds.pop() if len(kinds) == 1 else types_pb2.GRADED


class RewardServer:
    """sluice.v1.RewardService over a judge function. Method handlers are written by hand, because the distribution's
    grpc_tools cannot read these protos."""

    def __init__(self, judge, version, threads=8):
        self.judge, self.version = judge, version
        self.server = grpc.server(futures.ThreadPoolExecutor(threads),
                                  options=[("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
                                           ("grpc.max_send_message_length", MAX_MESSAGE_BYTES)])
        handler = grpc.unary_unary_rpc_method_handler(
            self.score, reward_pb2.ScoreRequest.FromString, reward_pb2.ScoreResponse.SerializeToString)
        self.server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("sluice.v1.RewardService", {"Score": handler})])

    def score(self, request, context):
        """One verdict for each item, in order; all items of a call go to the judge at once, for batching."""
        begin = time.monotonic()
        remaining = context.time_remaining()
        deadline = begin + (3600 if remaining is None else remaining)
        verdicts = [types_pb2.Verdict() for _ in request.items]
        try:
            for component in request.spec.component:
                weight = component.weight if component.HasField("weight") else 1.0
                judgements = judge_safely(self.judge, component, list(request.items), deadline)
                for verdict, j in zip(verdicts, judgements):
                    part = verdict.components.add(name=component.name, kind=j.kind, value=j.value, weight=weight,
                                                  detail=j.detail, outcome=j.outcome, stamps=[f"version={self.version}"])
                    for end, value in j.steps:
                        part.steps.add(end_offset=end, score=value)
        except Unsupported as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        for verdict in verdicts:
            combine(verdict)
            verdict.seconds = (time.monotonic() - begin) / len(verdicts)
        return reward_pb2.ScoreResponse(verdicts=verdicts)


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


def add_flags(parser, name):
    """The flags of every service, as sluice-reward has them."""
    parser.add_argument("--listen", default="127.0.0.1:0",
                        help="host:port to serve at; port 0: a free one, printed at start (default: %(default)s)")
    parser.add_argument("--address-file", help="written when serving, as sluice-reward does")
    parser.add_argument("--coordinator", metavar="HOST:PORT", help="joins this coordinator's fleet")
    parser.add_argument("--name", default=name, help="this service's name in the fleet, unique there (default: %(default)s)")


def serve(args, judge, version):
    """Until SIGTERM or SIGINT."""
    program = os.path.basename(sys.argv[0])
    service = RewardServer(judge, version)
    try:
        port = service.server.add_insecure_port(args.listen)
    except (RuntimeError, ValueError) as error:
        sys.exit(f"{program}: --listen {args.listen}: {error}")
    if port == 0:
        sys.exit(f"{program}: --listen {args.listen}: this address cannot be taken")
    service.server.start()
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
    service.server.stop(grace=2).wait()


def main(judge, name, version, description=""):
    """The whole program of a service without flags of its own."""
    parser = argparse.ArgumentParser(description=description)
    add_flags(parser, name)
    serve(parser.parse_args(), judge, version)
