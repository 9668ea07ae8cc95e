"""Settings accept what makes sense and refuse the rest in one sentence that names the argument."""

from __future__ import annotations

import math
from dataclasses import asdict

import pytest

from likewise.errors import InputError
from likewise.training import Settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0),
        ("epochs", 2.5),
        ("epochs", True),
        ("batch_size", 1),
        ("learning_rate", 0.0),
        ("learning_rate", math.nan),
        ("learning_rate", math.inf),
        ("momentum", 1.0),
        ("momentum", -0.1),
        ("weight_decay", -1e-4),
        ("weight_decay", math.nan),
        ("optimizer", "rmsprop"),
        ("schedule", "cosine"),
        ("precision", "float16"),
        ("device", "tpu"),
        ("device", "cuda:x"),
        ("seed", -1),
        ("seed", 2**63),
        ("drops", (0,)),
        ("drops", (30,)),
        ("drops", (20, 10)),
        ("drops", (10, 10)),
    ],
)
def test_what_cannot_be_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(InputError, match=rf"^{name} must be .*, got .*\.$") as caught:
        Settings(**{name: value})  # type: ignore[arg-type]
    assert repr(value) in str(caught.value)


def test_drops_without_the_step_schedule_are_refused() -> None:
    with pytest.raises(InputError, match="drops must be empty unless schedule is step"):
        Settings(schedule="one-cycle", drops=(10,))


def test_the_limits_themselves_are_accepted() -> None:
    settings = Settings(
        epochs=3, batch_size=2, drops=(1, 2), momentum=0.0, weight_decay=0.0, seed=2**63 - 1, device="cuda:1"
    )
    assert Settings(**asdict(settings)) == settings


def test_drops_from_json_equal_those_from_python() -> None:
    assert Settings(drops=[15, 25]) == Settings(drops=(15, 25))  # type: ignore[arg-type]
