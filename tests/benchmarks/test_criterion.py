"""The contenders compute the same thing; the cases, the bars, the table. Memory is made up: no process starts."""

from __future__ import annotations

import io
import json

import pytest
import torch
from rich.console import Console
from torch import Tensor
from torch.nn.functional import softmax

from likewise.benchmarks import criterion
from likewise.benchmarks.criterion import (
    CONTENDERS,
    EPSILON,
    LOSSES,
    MARGIN,
    Bar,
    Case,
    contender,
    judge,
    measure_cases,
    naive_bytes,
    naive_kcl,
    naive_mcl,
    print_report,
    products,
    record,
)
from likewise.benchmarks.measure import MEBIBYTE, mebibytes_alone
from likewise.criteria import kcl, mcl
from likewise.storage.records import as_json


def case(name: str, b: int, outputs: int, naive: float | None, bare: float, entropy: float, ours: float) -> Case:
    times = dict(zip(CONTENDERS, (naive, bare, entropy, ours), strict=True))
    memory = dict.fromkeys(CONTENDERS, 1.25) | ({"naive": None} if naive is None else {})
    return Case(name, b, outputs, dict.fromkeys(CONTENDERS, 3), times, times, memory, 25.0)


CASES = [
    case("mcl", 100, 10, 1.0, 0.1, 0.1, 0.5),
    case("mcl", 1000, 100, 2999.0, 20.0, 1.0, 30.0),
    case("mcl", 4096, 100, None, 200.0, 2.0, 302.0),
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The contenders whose memory was measured, in order."""
    names: list[str] = []

    def memory(module: str, name: str, b: str, outputs: str, threads: str) -> float:
        names.append(name)
        return 100.0 * len(names)

    monkeypatch.setattr(criterion, "mebibytes_alone", memory)
    return names


def test_each_case_has_every_contender(asked: list[str]) -> None:
    mcl, kcl = measure_cases([(6, 3)], repeats=2)
    assert (mcl.criterion, mcl.b, mcl.outputs) == ("mcl", 6, 3)
    assert (kcl.criterion, kcl.b, kcl.outputs) == ("kcl", 6, 3)
    assert mcl.repeats == kcl.repeats == dict.fromkeys(CONTENDERS, 2)
    assert asked == ["naive-mcl", "products", "cross-entropy", "mcl", "naive-kcl", "kcl"]  # shared ones once
    assert list(mcl.mebibytes.values()) == [100, 200, 300, 400]
    assert list(kcl.mebibytes.values()) == [500, 200, 300, 600]
    for name in CONTENDERS:
        median, fastest = mcl.milliseconds[name], mcl.fastest_milliseconds[name]
        assert median is not None
        assert fastest is not None
        assert median >= fastest > 0


def test_naive_is_not_run_where_it_does_not_fit(asked: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    needed = 4 * 6 * 6 * 3 * 4  # MCL's; KCL needs more
    monkeypatch.setattr(criterion, "available_bytes", lambda: needed)
    mcl, kcl = measure_cases([(6, 3)], repeats=1)
    assert "naive-kcl" not in asked
    assert mcl.milliseconds["naive"] is not None
    assert kcl.milliseconds["naive"] is kcl.mebibytes["naive"] is kcl.ratios()["naive/ours"] is None
    assert kcl.repeats["naive"] == 0
    assert kcl.repeats["ours"] == 1


def test_naive_is_not_timed_where_the_system_killed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(criterion, "mebibytes_alone", lambda _, name, *rest: None if name == "naive-mcl" else 1.0)
    mcl, kcl = measure_cases([(6, 3)], repeats=1)
    assert mcl.repeats == {"naive": 0, "products": 1, "cross-entropy": 1, "ours": 1}
    assert mcl.milliseconds["naive"] is None
    assert kcl.repeats["naive"] == 1


@pytest.mark.parametrize(
    ("slowest", "naive", "repeats", "expected"),
    [
        (0.0001, 0.0001, None, (300, 300)),
        (0.5, 4.0, None, (10, 3)),
        (0.1, 0.5, None, (50, 10)),
        (0.5, 4.0, 2, (2, 2)),
        (0.5, 4.0, 20, (20, 3)),
    ],
)
def test_repeats_follow_from_the_time_a_call_takes(
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    slowest: float,
    naive: float,
    repeats: int | None,
    expected: tuple[int, int],
) -> None:
    warm = iter([naive, 0.0, 0.0, slowest])
    monkeypatch.setattr(criterion, "warm_up", lambda call: next(warm))
    first = next(measure_cases([(6, 3)], repeats))
    assert (first.repeats["ours"], first.repeats["naive"]) == expected


def test_ratios_are_of_the_times() -> None:
    assert CASES[0].ratios() == {"naive/ours": 2.0, "ours/products": 5.0, "ours/cross-entropy": 5.0}
    assert CASES[2].ratios() == {"naive/ours": None, "ours/products": 1.51, "ours/cross-entropy": 151.0}


def test_bars_are_those_promised_and_judged_by_their_own_case() -> None:
    verdicts = {str(bar): (measured, verdict) for bar, measured, verdict in judge(CASES)}
    assert verdicts == {
        "MCL (1000, 100) naive/ours at least 100": (99.967, "miss"),
        "MCL (100, 10) naive/ours at least 2": (2.0, "pass"),
        "MCL (4096, 100) ours/products at most 1.5": (1.51, "miss"),
        "KCL (1000, 100) naive/ours at least 50": (None, "not measured"),
    }
    assert Bar("mcl", 1, 1, "ours/products", at_most=1.5).verdict(1.5) == "pass"


def test_the_report_in_plain_text() -> None:
    text = io.StringIO()
    print_report(CASES, Console(file=text, width=120))
    lines = [line.split() for line in text.getvalue().splitlines()]
    assert ["MCL", "1000", "100", "ms", "2999", "20.0", "1.00", "30.0", "100.0", "1.50", "30.0"] in lines
    assert ["MCL", "4096", "100", "ms", "-", "200", "2.00", "302", "-", "1.51", "151"] in lines
    assert ["MiB", "1.25", "1.25", "1.25", "1.25"] in lines
    assert ["MiB", "needs", "25", "GiB", "1.25", "1.25", "1.25"] in lines
    assert "miss         MCL (4096, 100) ours/products at most 1.5: 1.51\n" in text.getvalue()
    assert text.getvalue().endswith("\n2 of 4 bars missed.\n")
    assert text.getvalue().isascii()


def test_the_record_is_json_with_the_machine() -> None:
    written = json.loads(json.dumps(as_json(record(CASES)), allow_nan=False))
    assert {"likewise", "torch", "cpu", "threads"} <= set(written)
    assert written["cases"][2]["milliseconds"] == {"naive": None, "products": 200, "cross-entropy": 2, "ours": 302}
    assert written["cases"][2]["ratios"]["ours/products"] == 1.51
    assert [bar["verdict"] for bar in written["bars"]] == ["miss", "pass", "miss", "not measured"]
    assert written["bars"][0]["measured"] == 99.967


LABELS = torch.tensor([0, 1, 0, 2, 1, 1])


@pytest.fixture
def logits() -> Tensor:
    return torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3)).requires_grad_()


def value_and_gradient(loss: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
    return loss.detach(), torch.autograd.grad(loss, logits)[0]


def test_naive_mcl_is_our_mcl_with_self_pairs(logits: Tensor) -> None:
    naive = value_and_gradient(naive_mcl(logits, LABELS), logits)
    ours = value_and_gradient(mcl(logits, LABELS, self_pairs=True), logits)
    torch.testing.assert_close(naive, ours, rtol=20 * EPSILON, atol=EPSILON)


def test_naive_kcl_is_half_our_kcl_with_self_pairs(logits: Tensor) -> None:
    naive = value_and_gradient(2 * naive_kcl(logits, LABELS), logits)
    ours = value_and_gradient(kcl(logits, LABELS, margin=MARGIN, self_pairs=True), logits)
    torch.testing.assert_close(naive, ours, rtol=20 * EPSILON, atol=EPSILON)


@pytest.mark.parametrize("name", LOSSES)
def test_a_contender_gives_the_gradient_of_its_loss_on_the_one_batch(name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    batch = torch.randn(5, 4, generator=generator).requires_grad_()
    labels = torch.randint(4, (5,), generator=generator)
    call = contender(name, 5, 4)
    expected = torch.autograd.grad(LOSSES[name](batch, labels), batch)[0]
    assert expected.abs().sum() > 0
    assert torch.equal(call(), expected)
    assert torch.equal(call(), expected)  # nothing is carried from one call to the next


def test_products_have_the_sizes_of_the_criterion() -> None:
    p, slope = contender("products", 5, 4).args  # type: ignore[attr-defined]
    assert slope.shape == (5, 5)
    torch.testing.assert_close(p.sum(1), torch.ones(5))
    torch.testing.assert_close(products(p, slope), torch.einsum("ij,jk->ik", slope, p))
    same_batch = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(p, softmax(same_batch, 1))


@pytest.mark.parametrize("name", ["naive-mcl", "naive-kcl"])
def test_naive_memory_is_what_was_estimated_whatever_the_parent_had(name: str) -> None:
    large_parent = b"x" * (300 * MEBIBYTE)  # a child's ru_maxrss would start from here, and show no growth
    measured = mebibytes_alone("likewise.benchmarks.criterion", name, "200", "100", "1")
    assert large_parent[-1:] == b"x"
    assert measured == pytest.approx(naive_bytes(name, 200, 100) / MEBIBYTE, rel=0.25)
