"""How the criteria may be called: the three forms, reductions, weights, empty batches, and what they refuse."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
import torch
from torch import Tensor

from likewise import KCL, MCL, kcl, mcl

torch.manual_seed(0)
LOGITS = torch.randn(9, 4) * 2
LABELS = torch.tensor([0, 1, 2, 0, 1, -1, 0, 2, -1])
BOTH = pytest.mark.parametrize("criterion", [mcl, kcl])


def as_matrix(labels: Tensor) -> Tensor:
    known = (labels >= 0)[:, None] & (labels >= 0)[None, :]
    return torch.where(known, (labels[:, None] == labels[None, :]).float(), torch.nan)


def as_pairs(labels: Tensor) -> tuple[Tensor, Tensor]:
    pairs = torch.combinations(torch.arange(len(labels)))
    pairs = pairs[(labels[pairs] >= 0).all(1)]
    return pairs, (labels[pairs[:, 0]] == labels[pairs[:, 1]]).float()


def value_and_gradient(loss_of, logits: Tensor = LOGITS) -> tuple[Tensor, Tensor]:  # type: ignore[no-untyped-def]
    leaf = logits.clone().requires_grad_()
    loss = loss_of(leaf)
    loss.backward()
    assert leaf.grad is not None
    return loss.detach(), leaf.grad


@BOTH
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_three_forms_agree(criterion, reduction: str) -> None:  # type: ignore[no-untyped-def]
    pairs, same = as_pairs(LABELS)
    calls = [
        lambda z: criterion(z, LABELS, reduction=reduction),
        lambda z: criterion(z, as_matrix(LABELS), reduction=reduction),
        lambda z: criterion(z, same, pairs=pairs, reduction=reduction),
        lambda z: criterion(z, same.bool(), pairs=pairs.int(), reduction=reduction),
    ]
    (loss, gradient), *others = [value_and_gradient(call) for call in calls]
    assert gradient[LABELS < 0].count_nonzero() == 0
    assert gradient[LABELS >= 0].abs().min() > 0
    for other_loss, other_gradient in others:
        assert torch.allclose(loss, other_loss, rtol=1e-5)
        assert torch.allclose(gradient, other_gradient, rtol=1e-4, atol=1e-6)


@BOTH
def test_none_gives_each_pair_once(criterion) -> None:  # type: ignore[no-untyped-def]
    pairs, same = as_pairs(LABELS)
    listed = criterion(LOGITS, same, pairs=pairs, reduction="none")
    for target in (LABELS, as_matrix(LABELS)):
        matrix = criterion(LOGITS, target, reduction="none")
        assert matrix.shape == (9, 9)
        assert torch.allclose(matrix[pairs[:, 0], pairs[:, 1]], listed, rtol=1e-5)
        assert torch.allclose(matrix.sum(), criterion(LOGITS, target, reduction="sum"), rtol=1e-5)
        assert matrix.tril().count_nonzero() == 0


@BOTH
def test_none_has_the_gradient_of_each_pair(criterion) -> None:  # type: ignore[no-untyped-def]
    pairs, same = as_pairs(LABELS)
    share = torch.rand(len(pairs))
    _, weighted = value_and_gradient(lambda z: criterion(z, same, pairs=pairs, weight=share, reduction="sum"))
    _, listed = value_and_gradient(lambda z: (share * criterion(z, same, pairs=pairs, reduction="none")).sum())
    assert torch.allclose(listed, weighted, atol=1e-6)
    for target in (LABELS, as_matrix(LABELS)):

        def each(z: Tensor, target: Tensor = target) -> Tensor:
            return (share * criterion(z, target, reduction="none")[pairs[:, 0], pairs[:, 1]]).sum()  # type: ignore[no-any-return]

        assert torch.allclose(value_and_gradient(each)[1], weighted, atol=1e-6)


@BOTH
def test_a_weight_of_two_is_an_answer_given_twice(criterion) -> None:  # type: ignore[no-untyped-def]
    pairs, same = torch.tensor([[0, 1], [2, 3], [4, 5]]), torch.tensor([1.0, 0.2, 0.0])
    weight = torch.tensor([2.0, 1.0, 0.0])
    twice = torch.tensor([0, 0, 1])
    once = value_and_gradient(lambda z: criterion(z, same, pairs=pairs, weight=weight))
    repeated = value_and_gradient(lambda z: criterion(z, same[twice], pairs=pairs[twice]))
    matrix, weights = torch.full((9, 9), torch.nan), torch.zeros(9, 9)
    for (i, j), s, w in zip(pairs.tolist(), same, weight, strict=True):
        matrix[i, j] = matrix[j, i] = s
        weights[i, j] = weights[j, i] = w
    dense = value_and_gradient(lambda z: criterion(z, matrix, weight=weights))
    for other in (repeated, dense):
        assert torch.allclose(once[0], other[0], rtol=1e-5)
        assert torch.allclose(once[1], other[1], atol=1e-6)


@BOTH
def test_labels_may_be_any_whole_numbers(criterion) -> None:  # type: ignore[no-untyped-def]
    """2^24 + 1 and 2^53 + 1 are not floats; they must not be taken for their neighbours."""
    for huge in (2**24, 2**53):
        labels = huge + torch.arange(9) // 3
        assert torch.equal(criterion(LOGITS, labels), criterion(LOGITS, torch.arange(9) // 3))


@BOTH
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [torch.int8, torch.int64])
def test_torchs_ignore_index_is_unknown_too(criterion, reduction: str, dtype: torch.dtype) -> None:  # type: ignore[no-untyped-def]
    """nn.CrossEntropyLoss ignores -100; both may stand beside each other."""
    ignored = LABELS.masked_fill(LABELS < 0, -100).to(dtype)
    mixed = ignored.clone()
    mixed[5] = -1
    expected = criterion(LOGITS, LABELS, reduction=reduction)
    assert float(expected.sum()) > 0
    for labels in (ignored, mixed):
        assert torch.equal(criterion(LOGITS, labels, reduction=reduction), expected)


@BOTH
def test_labels_with_weights(criterion) -> None:  # type: ignore[no-untyped-def]
    weights = torch.rand(9, 9)
    weights = weights + weights.T
    from_labels = value_and_gradient(lambda z: criterion(z, LABELS, weight=weights))
    from_matrix = value_and_gradient(lambda z: criterion(z, as_matrix(LABELS), weight=weights))
    assert torch.allclose(from_labels[0], from_matrix[0], rtol=1e-5)
    assert torch.allclose(from_labels[1], from_matrix[1], atol=1e-6)


@BOTH
def test_two_answers_about_one_pair_are_averaged(criterion) -> None:  # type: ignore[no-untyped-def]
    one_way = torch.full((9, 9), torch.nan)
    one_way[0, 1], one_way[1, 0], one_way[2, 3] = 1.0, 0.5, 0.0
    pairs = torch.tensor([[0, 1], [2, 3]])
    listed = criterion(LOGITS, torch.tensor([0.75, 0.0]), pairs=pairs, weight=torch.tensor([1.0, 0.5]))
    assert torch.allclose(criterion(LOGITS, one_way), listed, rtol=1e-5)


def test_self_pairs_make_the_mean_over_all_ordered_pairs() -> None:
    labels = torch.arange(9) % 3
    p = torch.softmax(LOGITS, 1)
    same = (labels[:, None] == labels[None, :]).float()
    naive = -(same * (p @ p.T).log() + (1 - same) * (1 - p @ p.T).log()).mean()
    assert torch.allclose(MCL(self_pairs=True)(LOGITS, labels), naive, rtol=1e-5)
    assert torch.allclose(MCL(self_pairs=True)(LOGITS, same), naive, rtol=1e-5)
    everything = torch.cartesian_prod(torch.arange(9), torch.arange(9))
    listed = MCL(self_pairs=True)(LOGITS, same.flatten(), pairs=everything)
    assert torch.allclose(listed, naive, rtol=1e-5)
    assert MCL()(LOGITS, labels) < naive  # a pair of one item with itself is not yet certain


@BOTH
@pytest.mark.parametrize(
    ("logits", "target", "pairs"),
    [
        (torch.zeros(0, 3), torch.zeros(0, dtype=torch.long), None),
        (torch.zeros(1, 3), torch.zeros(1, dtype=torch.long), None),
        (torch.zeros(4, 3), torch.full((4,), -1), None),
        (torch.zeros(4, 3), torch.full((4, 4), torch.nan), None),
        (torch.zeros(0, 3), torch.zeros(0, 0), None),
        (torch.zeros(4, 3), torch.zeros(0), torch.zeros(0, 2, dtype=torch.long)),
        (torch.zeros(4, 3), torch.tensor([torch.nan]), torch.tensor([[0, 1]])),
        (torch.zeros(4, 3), torch.tensor([1.0]), torch.tensor([[2, 2]])),
    ],
)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_nothing_to_learn_is_a_zero_that_can_be_differentiated(criterion, logits, target, pairs, reduction) -> None:  # type: ignore[no-untyped-def]
    leaf = logits.clone().requires_grad_()
    loss = criterion(leaf, target, pairs=pairs, reduction=reduction)
    loss.sum().backward()
    assert loss.sum().item() == 0
    assert leaf.grad is not None
    assert leaf.grad.count_nonzero() == 0


PAIRS = torch.tensor([[0, 1], [1, 2]])


@BOTH
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (((torch.zeros(3), LABELS[:3]), {}), r"logits must be floats of shape \(b, K\), got float32 \(3,\)"),
        (((torch.zeros(3, 4).int(), LABELS[:3]), {}), "logits must be floats"),
        (((torch.zeros(3, 1), LABELS[:3]), {}), "at least two outputs"),
        (((torch.zeros(3, 4), LABELS), {}), r"integer labels \(3,\)"),
        (((torch.zeros(3, 4), torch.zeros(3)), {}), "integer labels"),
        (((torch.zeros(3, 4), torch.tensor([0, 1, -2])), {}), "got -2"),
        (((torch.zeros(3, 4), torch.tensor([0, -7, -100])), {}), "-1 or -100 where unknown, got -7"),
        (((torch.zeros(3, 4), torch.zeros(3, 4)), {}), r"same must have shape \(3, 3\)"),
        (((torch.zeros(3, 4), torch.full((3, 3), 1.5)), {}), "between 0 .* got 1.5"),
        (((torch.zeros(3, 4), torch.full((3, 3), -1)), {}), "between 0 .* got -1"),
        (((torch.zeros(3, 4), LABELS[:3]), {"weight": torch.ones(3)}), r"weight must have shape \(3, 3\)"),
        (((torch.zeros(3, 4), LABELS[:3]), {"weight": -torch.ones(3, 3)}), "finite and not negative"),
        (((torch.zeros(3, 4), torch.ones(2)), {"pairs": PAIRS.float()}), r"integers of shape \(P, 2\)"),
        (((torch.zeros(3, 4), torch.ones(2)), {"pairs": PAIRS[:, :1]}), r"integers of shape \(P, 2\)"),
        (((torch.zeros(3, 4), torch.ones(3)), {"pairs": PAIRS}), r"same must have shape \(2,\)"),
        (((torch.zeros(2, 4), torch.ones(2)), {"pairs": PAIRS}), "rows 0 to 1, got 0 to 2"),
        (
            ((torch.zeros(3, 4), torch.ones(2)), {"pairs": PAIRS, "weight": torch.ones(3)}),
            r"weight must have shape \(2,\)",
        ),
        (((torch.zeros(3, 4), LABELS[:3]), {"reduction": "average"}), "'mean', 'sum' or 'none'"),
    ],
)
def test_a_wrong_call_is_one_sentence(criterion, call, message: str) -> None:  # type: ignore[no-untyped-def]
    (arguments, options) = call
    with pytest.raises(ValueError, match=message) as error:
        criterion(*arguments, **options)
    assert "\n" not in str(error.value)


def test_the_margin_must_be_positive() -> None:
    with pytest.raises(ValueError, match="margin must be more than 0"):
        KCL(margin=0)(LOGITS, LABELS)


@BOTH
def test_autocast_changes_nothing(criterion) -> None:  # type: ignore[no-untyped-def]
    plain = value_and_gradient(lambda z: criterion(z, LABELS))
    with torch.autocast("cpu", torch.bfloat16):
        cast = value_and_gradient(lambda z: criterion(z, LABELS))
    assert torch.equal(plain[0], cast[0])
    assert torch.equal(plain[1], cast[1])


@BOTH
def test_a_second_derivative_is_refused_clearly(criterion) -> None:  # type: ignore[no-untyped-def]
    for reduction in ("mean", "none"):
        leaf = LOGITS.clone().requires_grad_()
        loss = criterion(leaf, LABELS, reduction=reduction).sum()
        (gradient,) = torch.autograd.grad(loss, leaf, create_graph=True)
        with pytest.raises(RuntimeError, match="no second derivative"):
            gradient.square().sum().backward()


@BOTH
def test_without_grad_the_value_is_the_same(criterion) -> None:  # type: ignore[no-untyped-def]
    loss, _ = value_and_gradient(lambda z: criterion(z, LABELS))
    with torch.no_grad():
        assert torch.equal(criterion(LOGITS, LABELS), loss)


def test_modules_hand_on_all_they_were_told() -> None:
    labels, inputs = torch.arange(9) % 3, {"margin": 1.5, "constant_target": True, "self_pairs": True}
    assert torch.equal(KCL(**inputs)(LOGITS, labels), kcl(LOGITS, labels, **inputs))  # type: ignore[arg-type]
    assert KCL(self_pairs=True)(LOGITS, labels) < KCL()(LOGITS, labels)  # nine pairs that cost nothing
    assert MCL(self_pairs=True)(LOGITS, labels) != MCL()(LOGITS, labels)
    for module, function in ((KCL, kcl), (MCL, mcl)):
        each = module(reduction="none")(LOGITS, labels)
        assert torch.equal(each, function(LOGITS, labels, reduction="none"))
        weight = torch.rand(3)
        listed = module()(LOGITS, torch.rand(3), pairs=torch.tensor([[0, 1], [2, 3], [4, 5]]), weight=weight)
        assert listed.shape == ()


def test_modules_say_what_they_are() -> None:
    assert repr(MCL()) == "MCL(reduction='mean', self_pairs=False)"
    assert "margin=1.5, constant_target=True" in repr(KCL(margin=1.5, constant_target=True))
    assert torch.equal(KCL(margin=1.5)(LOGITS, LABELS), kcl(LOGITS, LABELS, margin=1.5))


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
def test_memory_grows_with_b_times_k() -> None:
    """16,384 items: the matrix of their pairs alone would be 1 GiB."""
    script = """
        import resource, torch
        from likewise import MCL
        torch.set_num_threads(1)
        def step(b):
            logits = torch.randn(b, 100, requires_grad=True)
            MCL()(logits, torch.arange(b) % 100).backward()
        step(512)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        step(16384)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 100 * 1024
