"""On a GPU the host waits wherever it asks for a value; how often it does so must not grow with the number of tiles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from likewise import kcl, mcl
from likewise.criteria import targets
from likewise.supervision import LabelKnowledge, pseudo_similarity

ASKS = {"_local_scalar_dense", "is_nonzero", "equal", "nonzero", "masked_select", "unique", "_unique2", "unique_dim"}
TO_THE_HOST = {"tolist", "numpy", "cpu"}


class Waits(TorchDispatchMode):
    """Counts what makes the host wait: values asked for, and results whose size depends on values."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        by_mask = name in ("index", "index_put", "index_put_") and any(
            place is not None and place.dtype in (torch.bool, torch.uint8) for place in args[1]
        )
        self.asked[name] += name in ASKS or by_mask
        return func(*args, **(kwargs or {}))


def waits(call: Callable[[], object]) -> int:
    with Waits() as values, pytest.MonkeyPatch.context() as patch:
        for name in TO_THE_HOST:  # on the CPU these read memory, and never come to the dispatcher
            patch.setattr(Tensor, name, counted(getattr(Tensor, name), values.asked))
        call()
    return values.asked.total()


def counted(method: Callable[..., Any], asked: Counter[str]) -> Callable[..., Any]:
    def call(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
        asked[method.__name__] += 1
        return method(tensor, *args, **kwargs)

    return call


ASKING = [Tensor.item, bool, float, Tensor.nonzero, lambda x: x.tolist(), lambda x: x.numpy(), lambda x: x[x > 0]]


@pytest.mark.parametrize("ask", ASKING)
def test_what_makes_the_host_wait_is_seen(ask: Callable[[Tensor], object]) -> None:
    one = torch.ones(1)
    assert waits(lambda: ask(one)) == 1
    assert waits(lambda: one + one) == 0


def calls(criterion: Callable[..., Tensor], b: int) -> dict[str, Callable[[Tensor], Tensor]]:
    draw = torch.Generator().manual_seed(0)
    labels = torch.randint(4, (b,), generator=draw)
    matrix = torch.rand(b, b, generator=draw)
    pairs, said = torch.randint(b, (40 * b, 2), generator=draw), torch.rand(40 * b, generator=draw)
    table = LabelKnowledge(labels.numpy()).among(range(b))
    views = pseudo_similarity(torch.randn(b, 4, generator=draw), torch.arange(b) // 2)
    return {
        "labels": lambda z: criterion(z, labels),
        "labels, some unknown": lambda z: criterion(z, torch.where(labels == 3, -100, labels)),
        "labels, weighted": lambda z: criterion(z, labels, weight=matrix),
        "labels, one by one": lambda z: criterion(z, labels, reduction="none").sum(),
        "matrix": lambda z: criterion(z, matrix, weight=matrix),
        "pairs": lambda z: criterion(z, said, pairs=pairs, weight=said),
        "table": lambda z: criterion(z, table),
        "pseudo-similarity": lambda z: criterion(z, views),
    }


# The values of a call are asked for once, and MCL asks how sure the network is, KCL whether a logit is -inf. Unknown
# labels have their rows looked for. Of each pair MCL asks again for the backward pass, for which it begins anew.
EXPECTED = {
    "labels": 2,
    "labels, some unknown": 4,
    "labels, weighted": 3,
    "labels, one by one": 3,
    "matrix": 2,
    "pairs": 2,
    "table": 1,
    "pseudo-similarity": 1,
}


@pytest.mark.parametrize("form", EXPECTED)
@pytest.mark.parametrize("criterion", [mcl, kcl])
@pytest.mark.parametrize("scale", [1.0, 8.0, 300.0])
def test_the_host_waits_as_often_however_many_tiles_there_are(
    criterion: Callable[..., Tensor], form: str, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the network is so sure that pairs have to be looked for and computed in log space: once more then."""
    monkeypatch.setattr(targets, "ROWS", 8)
    monkeypatch.setattr(targets, "COLUMNS", 16)
    targets.tiles_of.cache_clear()
    again = scale > 100 and criterion is mcl
    for b in (16, 120):
        logits = (scale * torch.randn(b, 4, generator=torch.Generator().manual_seed(1))).requires_grad_()
        call = calls(criterion, b)[form]
        found = waits(lambda call=call, logits=logits: call(logits).backward())
        assert found == EXPECTED[form] + (again * (2 if form == "labels, one by one" else 1)), b
    assert len(targets.tiles_of(120)) > 15 * len(targets.tiles_of(8))
    targets.tiles_of.cache_clear()
