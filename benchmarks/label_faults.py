"""The labelling server is killed, and no answer is lost or doubled: `python -m benchmarks.label_faults`.

Twenty simulated people give one answer per second on a server of `likewise label`, on this machine alone. It is
killed (SIGKILL) five times while answers are under way and started again with the same command. As the page does, a
person who gets no acknowledgement sends the same answers again until there is one. One answer in ten is taken back.
In the end the store must hold every event that was sent exactly once, as it was sent, and one answer in force for each
person and pair at most.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from benchmarks.postgres import running_postgres

from likewise.pairs.store import in_force, open_store
from likewise.storage.records import machine, write_json

PEOPLE, SECONDS, KILLS, SEED = 20, 600, 5, 0
ITEMS, CLASSES = 200, 5
UNDONE = 0.1  # the share of answers that is taken back
ASKED = 0.2  # the share of answers to questions of the server; the others are about pairs that people choose
PATIENCE = 300.0  # seconds to wait for a server that starts
RETRY = 0.25  # seconds until an answer is sent again


@dataclass
class Trial:
    """What people sent, and what the store holds after the kills."""

    store: str
    people: int
    kills: int
    seconds: float
    sent: int = 0  # events, with those that take an answer back
    acknowledged: int = 0
    retries: int = 0  # messages that were sent again, because no acknowledgement came
    in_store: int = 0
    lost: int = 0  # acknowledged, and not in the store
    doubled: int = 0  # in the store twice, or two answers of one person about one pair
    changed: int = 0  # in the store, but not as they were sent
    unknown: int = 0  # in the store, and never sent

    @property
    def sound(self) -> bool:
        return self.sent == self.acknowledged == self.in_store and not (
            self.lost or self.doubled or self.changed or self.unknown
        )


@dataclass
class Sent:
    """All events that were sent and acknowledged, by their ids; people are threads."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    events: dict[str, tuple[str, str]] = field(default_factory=dict)  # who, and what
    acknowledged: list[str] = field(default_factory=list)
    retries: int = 0
    wrong: list[str] = field(default_factory=list)  # what ended a person early


def measure(store: str, people: int, answers: int, kills: int, pace: float = 0.0) -> Trial:
    """Let people answer so many questions each, `pace` seconds apart, while the server is killed so often."""
    draw = random.Random(SEED)
    total = people * answers
    moments = sorted(draw.sample(range(total // 10, total * 9 // 10), kills))  # counted in acknowledgements
    sent, started = Sent(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), store, [f"person {number}" for number in range(people)])
        server.start()
        threads = [
            threading.Thread(
                target=answer_questions, args=(address, who, answers, pace, sent, SEED + number), daemon=True
            )
            for number, (who, address) in enumerate(server.addresses.items())
        ]
        for thread in threads:
            thread.start()
        for moment in moments:
            while len(sent.acknowledged) < moment and any(thread.is_alive() for thread in threads):
                threads[0].join(0.005)
            server.kill()
            server.start()
        for thread in threads:
            thread.join()
        server.kill()
        if sent.wrong:
            raise RuntimeError(sent.wrong[0])
        trial = Trial(store.partition(":")[0] if "://" in store else "sqlite", people, kills, 0.0)
        trial.seconds = round(time.monotonic() - started, 1)
        return compare(trial, sent, store)


def compare(trial: Trial, sent: Sent, store: str) -> Trial:
    """Count what is wrong with a store."""
    with open_store(store) as opened:
        events = opened.events()
    counts = Counter(event.id for event in events)
    current = Counter((event.annotator, event.pair) for event in in_force(events))
    trial.sent, trial.acknowledged, trial.retries = len(sent.events), len({*sent.acknowledged}), sent.retries
    trial.in_store = len(events)
    trial.lost = sum(each not in counts for each in {*sent.acknowledged})
    trial.doubled = sum(n - 1 for n in counts.values()) + sum(n - 1 for n in current.values())
    trial.changed = sum(
        event.id in sent.events and sent.events[event.id] != (event.annotator, event.answer) for event in events
    )
    trial.unknown = sum(event.id not in sent.events for event in events)
    return trial


class Server:
    """`likewise label` in a process of its own; every start is the same command."""

    def __init__(self, folder: Path, store: str, people: Sequence[str]) -> None:
        X = np.random.default_rng(SEED).normal(0, 0.3, (ITEMS, CLASSES))
        X[np.arange(ITEMS), np.arange(ITEMS) % CLASSES] += 3
        np.save(folder / "items.npy", X)
        (folder / "people.txt").write_text("\n".join(people), encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.command = [sys.executable, "-m", "likewise", "label", str(folder / "items.npy"), "--store", store]
        self.command += ["--annotators", str(folder / "people.txt"), "--port", str(port), "--no-browser"]
        self.environment = {**os.environ, "LIKEWISE_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}
        self.n_people, self.addresses = len(people), dict[str, str]()

    def start(self) -> None:
        """Start it, and wait for the addresses that it prints."""
        self.process = subprocess.Popen(
            self.command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        printed = ""
        while printed.count("token=") < self.n_people:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"The server ended before it said where it is: {printed}")
            printed += line
        self.addresses = dict(re.findall(r"^\s*(person \d+): (\S+)$", printed, re.M))

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def answer_questions(address: str, who: str, answers: int, pace: float, sent: Sent, seed: int) -> None:
    """What one person does."""
    draw, begin = random.Random(seed), time.monotonic()
    try:
        with httpx.Client(base_url=address.partition("?")[0], timeout=60) as client:
            ask(client, "GET", f"/?{address.partition('?')[2]}", sent)
            groups = ask(client, "GET", "/api/progress", sent)["groups"]
            items = [item["id"] for group in groups for item in group["items"]]
            for number in range(answers):
                wait = begin + number * pace - time.monotonic()
                if pace and wait > 0:
                    time.sleep(wait)
                answer(client, items, who, draw, sent)
    except Exception as error:
        sent.wrong.append(f"{who}: {error!r}")


def answer(client: httpx.Client, items: Sequence[str], who: str, draw: random.Random, sent: Sent) -> None:
    """Give one answer, and take one in ten back."""
    left, right = draw.sample(items, 2)
    event: dict[str, Any] = {"left": left, "right": right, "answer": draw.choice([1, 0, None]), "latency": 1.0}
    if draw.random() < ASKED:
        question = ask(client, "GET", "/api/question", sent)["question"]
        if question is not None:
            event |= {"question": question["id"], "kind": question["kind"] or None}
            event |= {side: question[side]["id"] for side in ("left", "right")}
    event["id"] = str(uuid.UUID(int=draw.getrandbits(128), version=4))
    save(client, event, who, sent)
    if draw.random() < UNDONE:
        number = str(uuid.UUID(int=draw.getrandbits(128), version=4))
        save(client, {**event, "id": number, "supersedes": event["id"], "withdraw": True}, who, sent)


def save(client: httpx.Client, event: dict[str, Any], who: str, sent: Sent) -> None:
    kept = {1: "same", 0: "different", None: "not sure"}[event["answer"]]
    with sent.lock:
        sent.events[event["id"]] = who, "withdrawn" if event.get("withdraw") else kept
    said = ask(client, "POST", "/api/answers", sent, {"answers": [event], "mode": None})
    assert said["saved"] == [event["id"]]
    with sent.lock:
        sent.acknowledged.append(event["id"])


def ask(client: httpx.Client, method: str, path: str, sent: Sent, body: Any = None) -> Any:
    """Send a request until it is answered."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            response = client.request(method, path, json=body)
            if response.status_code in (200, 303):
                return response.json() if response.status_code == 200 else None
            if response.status_code not in (429, 503):
                raise RuntimeError(f"{path} said {response.status_code}: {response.text}")
        except httpx.TransportError:
            pass
        if time.monotonic() > until:
            raise RuntimeError(f"{path} was not answered for {PATIENCE:g} seconds.")
        with sent.lock:
            sent.retries += 1
        time.sleep(RETRY)


@contextmanager
def places(kinds: Sequence[str]) -> Iterator[list[str]]:
    """An empty store of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        made = [str(Path(folder) / "answers.db")] if "sqlite" in kinds else []
        if "postgresql" in kinds:
            with running_postgres() as url:
                yield [*made, url]
        else:
            yield made


def in_words(trial: Trial) -> str:
    return (
        f"{trial.store}: {trial.people} people, {trial.kills} kills, {trial.seconds:g} s: {trial.sent:,} events sent, "
        f"{trial.acknowledged:,} acknowledged after {trial.retries:,} retries, {trial.in_store:,} in the store; "
        f"{trial.lost} lost, {trial.doubled} doubled, {trial.changed} changed, {trial.unknown} unknown"
    )


def record(trials: Sequence[Trial], pace: float) -> dict[str, object]:
    judged = [
        {
            "bar": f"{trial.store}: no acknowledged answer lost, none doubled, {trial.kills} kills",
            "measured": f"{trial.lost} lost, {trial.doubled} doubled of {trial.acknowledged:,}",
            "verdict": "pass" if trial.sound else "miss",
        }
        for trial in trials
    ]
    return {
        **machine(),
        "seconds_between_answers": pace,
        "items": ITEMS,
        "trials": [asdict(t) for t in trials],
        "bars": judged,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/label_faults.json"))
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--seconds", type=int, default=SECONDS, help="Answers of each person, one per second.")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--stores", nargs="+", choices=("sqlite", "postgresql"), default=["sqlite", "postgresql"])
    options = parser.parse_args()
    trials = []
    with places(options.stores) as stores:
        for store in stores:
            trials.append(measure(store, options.people, options.seconds, options.kills, pace=1.0))
            print(in_words(trials[-1]), flush=True)
    write_json(options.out, record(trials, 1.0))
    if not all(trial.sound for trial in trials):
        sys.exit(1)


if __name__ == "__main__":
    main()
