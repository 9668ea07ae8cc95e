"""Joint MCL: the likelihood of all answers of a batch together, where MCL takes them pair by pair.

    P(S) = sum over k of prod_i f(x_i)_k(g(i))     g(i) the group of item i: the items known to be the same as it;
                                                   k one output for each group, another one for each other group

This is the paper's likelihood before section 3 approximates it pair by pair. Its largest term is found by the
Hungarian algorithm on the sums of log f over the items of each group, and the loss is

    - 1/m sum_i log f(x_i)_k*(g(i))

with the gradient f(x_i) - [k = k*(g(i))], which is that of cross-entropy and does not vanish where all outputs are
alike. MCL's does: d s_hat / d z_ik = f_ik (f_jk - s_hat). There it stays for long, the longer the more classes there
are; and where it has merged two classes, it is told so by few pairs only.

The more items a group has, the surer its output. With many classes a batch has only one or two items of each: then
`memory` adds what the network said of items in the batches before.
"""

from __future__ import annotations

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch.nn.functional import nll_loss

from likewise.criteria.groups import Groups, groups_of
from likewise.criteria.tables import PairTable
from likewise.criteria.targets import read_call

UNMATCHED = -1


def joint_mcl(
    logits: Tensor,
    same: Tensor | PairTable,
    *,
    pairs: Tensor | None = None,
    memory: Tensor | None = None,
    least: int = 1,
) -> Tensor:
    """Joint MCL of a batch, called in the same three forms as `MCL`; the mean over the items that have a target.

    `memory` are the logits (n, K) of items seen before, which get no gradient. `same` then speaks of n + b items, those
    of the memory first.

    Where only some pairs are known, only groups that are all known to differ from one another can be matched: the
    largest first, as long as they do, and no more than there are outputs. The other items count for nothing here: their
    pairs are left to MCL, as `likewise.supervision.joint_objective` does. With no two such groups the loss is 0. Groups
    of fewer than `least` items, with those of the memory, are not matched: they would learn their own guess.

    >>> logits = torch.zeros(4, 2, requires_grad=True)  # all alike: the gradient of MCL is zero here
    >>> joint_mcl(logits, torch.tensor([0, 0, 1, 1])).backward()
    >>> logits.grad
    tensor([[-0.1250,  0.1250],
            [-0.1250,  0.1250],
            [ 0.1250, -0.1250],
            [ 0.1250, -0.1250]])
    """
    outputs = joint_targets(logits, same, pairs=pairs, memory=memory, least=least)
    log_p = logits.to(_wide(logits)).log_softmax(1)
    return nll_loss(log_p, outputs, ignore_index=UNMATCHED, reduction="sum") / (outputs >= 0).sum().clamp_min(1)


def joint_targets(
    logits: Tensor,
    same: Tensor | PairTable,
    *,
    pairs: Tensor | None = None,
    memory: Tensor | None = None,
    least: int = 1,
) -> Tensor:
    """The output that each item of the batch should have, int64 (b,), -1 where nothing says so; see `joint_mcl`.

    >>> logits = torch.tensor([[0.1, 0.0], [0.2, 0.0], [0.0, 0.1]])  # hardly trained
    >>> joint_targets(logits, torch.tensor([5, 5, 7]))
    tensor([0, 0, 1])
    """
    before = 0 if memory is None else len(memory)
    everything = logits.detach() if memory is None else torch.cat([memory.detach().to(logits), logits.detach()])
    taking_part, target, rows = read_call(everything, same, pairs, None, self_pairs=False)
    log_p = taking_part.to(_wide(logits)).log_softmax(1)
    outputs = matched_outputs(log_p, groups_of(target, len(taking_part)), least)
    if rows is not None:  # items without a label took no part
        outputs = outputs.new_full((len(everything),), UNMATCHED).index_copy_(0, rows, outputs)
    return outputs[before:]


def matched_outputs(log_p: Tensor, groups: Groups, least: int = 1) -> Tensor:
    """The output of each item in the likeliest one-to-one matching of groups with outputs, int64 (b,); -1: none.

    >>> log_p = torch.tensor([[0.6, 0.4], [0.1, 0.9], [0.3, 0.7]]).log()
    >>> matched_outputs(log_p, Groups(torch.tensor([0, 0, 1]), torch.tensor([[False, True], [True, False]])))
    tensor([1, 1, 0])
    """
    place, different = groups
    known = place >= 0
    evidence = log_p.new_zeros(len(different), log_p.shape[1], dtype=torch.float64)
    evidence.index_add_(0, place[known], log_p[known].double())  # (G, K)
    sizes = torch.bincount(place[known], minlength=len(different))
    chosen = _mutually_different(sizes.masked_fill(sizes < least, 0), different, log_p.shape[1])
    outputs = torch.full((len(different) + 1,), UNMATCHED, device=place.device)  # one more, for a place of -1
    if len(chosen) > 1:
        group, output = linear_sum_assignment(evidence[chosen].cpu().numpy(), maximize=True)
        outputs[chosen[torch.from_numpy(group)]] = torch.from_numpy(output).to(outputs)
    return outputs[place]


def _wide(logits: Tensor) -> torch.dtype:
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def _mutually_different(sizes: Tensor, different: Tensor, most: int) -> Tensor:
    """Groups that all differ from one another: of those that differ from all before, always the largest."""
    known = different.cpu().numpy()
    size = sizes.cpu().numpy() * known.any(1)  # a group that differs from none has nothing to be matched against
    chosen: list[int] = []
    while len(chosen) < most and size.any():
        chosen.append(int(size.argmax()))
        size = size * known[chosen[-1]]
    return torch.tensor(chosen, dtype=torch.int64)
