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

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch.nn.functional import nll_loss

from likewise.criteria.tables import known_pairs
from likewise.criteria.targets import Grid, LabelTable, Listing, PairTable, read_call


# Groups of a batch: items that are known to be the same, and which groups are known to be different.
#
# Same is transitive, so the groups are the components of the pairs that are the same. A group counts as different from
# another where one pair between them does.
class Groups(NamedTuple):
    """The groups of b items, numbered from 0."""

    place: Tensor  # int64 (b,): the group of each item; -1 where nothing is known of an item
    different: Tensor  # bool (G, G), symmetric: which groups are known to be different


@runtime_checkable
class Grouped(Protocol):
    """A table that knows its groups and need not be read pair by pair."""

    def groups(self) -> Groups: ...


def groups_of(target: Grid | Listing, b: int) -> Groups:
    """The groups of the b items of a checked call."""
    if isinstance(target, Listing):
        counted = target.weight > 0
        return _components(b, target.left[counted], target.right[counted], target.same[counted])
    return groups_of_table(target.table, b)


def groups_of_table(table: PairTable, b: int) -> Groups:
    """The groups of the b items that a table covers.

    >>> groups_of_table(LabelTable(torch.tensor([4.0, 4, 7])), 3)
    Groups(place=tensor([0, 0, 1]), different=tensor([[False,  True],
            [ True, False]]))
    """
    if isinstance(table, Grouped):
        return table.groups()
    if isinstance(table, LabelTable) and table.weight is None:
        known = torch.ones_like(table.labels) if table.item_weight is None else table.item_weight
        place = torch.full((b,), -1, device=table.labels.device)
        names, place[known > 0] = torch.unique(table.labels[known > 0], return_inverse=True)
        return Groups(place, ~torch.eye(len(names), dtype=torch.bool, device=place.device))
    pairs, same, _ = known_pairs(table, b)
    return _components(b, pairs[:, 0], pairs[:, 1], same)


def _components(b: int, left: Tensor, right: Tensor, same: Tensor) -> Groups:
    """From pairs one by one; a pair that is as likely same as different says nothing."""
    i, j, s = (each.cpu().numpy() for each in (left, right, same))
    alike, unlike = s > 0.5, s < 0.5
    graph = coo_array((np.ones(int(alike.sum())), (i[alike], j[alike])), shape=(b, b))
    n, component = connected_components(graph, directed=False)
    spoken_of = np.zeros(b, dtype=bool)
    spoken_of[i[s != 0.5]] = spoken_of[j[s != 0.5]] = True
    different = np.zeros((n, n), dtype=bool)
    different[component[i[unlike]], component[j[unlike]]] = True
    different |= different.T
    np.fill_diagonal(different, False)  # a chain of "same" has the last word, as in the closure of answers
    place = np.where(spoken_of, component, -1)
    return Groups(torch.from_numpy(place).long().to(left.device), torch.from_numpy(different).to(left.device))


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
