"""What the operator of a server can set, from ADDNORM_* variables; must not know any request."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MODELS = "ADDNORM_MODELS"
DEFAULT_MODELS = "~/.addnorm/models"


def _cores() -> int:
    """Cores this process may use, which in a container is fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


class SettingError(ValueError):
    """A variable whose value cannot be used; `name` and `value` say which."""

    def __init__(self, name: str, value: str) -> None:
        super().__init__(f"{name}={value!r}")
        self.name = name
        self.value = value


@dataclass(frozen=True)
class Settings:
    """One frozen object, passed whole.

    Attributes:
        hosts: names beside localhost and IP addresses under which the server may be reached
            (ADDNORM_HOSTS, separated by commas).
        models_dir: folder of checkpoints (ADDNORM_MODELS), by default ~/.addnorm/models, which
            need not exist; null for a server without any.
        threads_per_run: torch threads of one run (ADDNORM_THREADS_PER_RUN). Fixed and never
            by load: other thread counts add in another order and give other last bits.
        workers: runs computed at the same time (ADDNORM_WORKERS); by default one for each core.
        queue: runs that may wait for a worker (ADDNORM_QUEUE); more are refused as `busy`.
    """

    hosts: tuple[str, ...] = ()
    models_dir: Path | None = None
    threads_per_run: int = 1
    workers: int = 1
    queue: int = 64

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Read the settings.

        Raises:
            SettingError: a number that is not one, or is out of range.
        """
        models_dir = environment.get(MODELS, "").strip() or DEFAULT_MODELS
        hosts = environment.get("ADDNORM_HOSTS", "").split(",")
        return cls(
            hosts=tuple(host.strip().lower() for host in hosts if host.strip()),
            models_dir=Path(models_dir).expanduser(),
            threads_per_run=_whole(environment, "ADDNORM_THREADS_PER_RUN", 1, 1, 64),
            workers=_whole(environment, "ADDNORM_WORKERS", _cores(), 1, 256),
            queue=_whole(environment, "ADDNORM_QUEUE", 64, 0, 10_000),
        )


def _whole(environment: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = environment.get(name, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and low <= int(text) <= high):
        raise SettingError(name, text)
    return int(text)
