"""What a trial with random answers found and how it was made, one JSON file a trial."""

from __future__ import annotations

from dataclasses import dataclass, field

from likewise.paper.answers_trials import trial_name


@dataclass(frozen=True)
class AnswersRecord:
    """Accuracies are in %: of the test set, after the outputs were matched with the classes on the training set.

    No date: a repeated trial writes the same record, apart from the times.
    """

    table: str
    dataset: str
    network: str  # its name; "default" where the classifier chose it
    answers: int
    noise: float  # the probability that an answer was flipped
    model: str  # of wrong answers: none (nothing is set by hand), given (the rate is known), learned; see ABLATION
    seed: int
    epochs: int | None  # of each stage; None: the classifier chose
    settings: dict[str, object]  # everything that training was told
    first_accuracy: float  # answers only: after the first stage
    accuracy: float  # of the classifier: after the second stage, where that was kept
    unlabelled_kept: bool  # whether it was
    starts: int  # runs of the first stage
    flipped: int  # answers that are wrong
    rate: float  # of wrong answers, as the classifier had it in the end
    held_out: int  # answers that were not trained on
    held_out_accuracy: float | None  # of the classifier on them, as they were given; None where there are none
    twin_accuracy: float | None  # of the same network, given class labels; None where the recipe has no twin
    twin_labels: int  # as many as answers, at most all training items; none is wrong
    seconds: float  # of the fit, without the twin and the rivals
    cpu_seconds: float
    twin_cpu_seconds: float
    command: str
    likewise: str  # versions
    torch: str
    cpu: str
    threads: int
    steps: int | None = None  # of all stages together
    test_matched_accuracy: float | None = None  # of the classifier, its outputs matched on the test set
    rivals: dict[str, dict[str, float]] = field(default_factory=dict)  # name -> accuracy (test set), train_accuracy
    train_accuracy: float | None = None  # of the classifier on the training set
    panel: str = ""  # who answered
    experts: int = 0  # how many did, with soft answers
    expert_accuracies: list[float] = field(default_factory=list)  # of each, on the training set
    replaced: int = 0  # answers of experts in whose place there are random numbers
    wrong_auroc: float | None = (
        None  # the area under the ROC curve of P(wrong): are wrong answers told from right ones?
    )
    rates: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # annotator -> rate -> see annotator_rates

    @property
    def name(self) -> str:
        return trial_name(
            self.dataset, self.answers, self.noise, self.model, self.seed, self.epochs, self.panel, self.experts
        )
