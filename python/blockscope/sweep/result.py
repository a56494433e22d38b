"""What came of a point, as it is kept and as it travels."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

#: ``passed``; ``found``: checks have findings; ``failed``: the launch raised an error;
#: ``late``: it took longer than a point may; ``lost``: its process ended twice.
STATES = ("passed", "found", "failed", "late", "lost")


@dataclass
class Result:
    """``findings`` as the data of reports; ``failure`` is the kind of error and its text,
    ``launches`` how many were checked."""

    index: int
    point: dict[str, Any]
    state: str
    findings: list[dict[str, Any]] = field(default_factory=list)
    failure: str = ""
    seconds: float = 0.0
    launches: int = 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_json(cls, data: Any) -> Result:
        """Errors: ValueError for what is no result."""
        kinds: dict[str, Any] = {
            "index": int, "point": dict, "state": str, "findings": list, "failure": str,
            "seconds": (int, float), "launches": int,
        }  # fmt: skip
        if not isinstance(data, dict) or not all(
            isinstance(data.get(name), kind) for name, kind in kinds.items()
        ):
            raise ValueError("it is no result of a point")
        if data["state"] not in STATES:
            raise ValueError(f"its state is {data['state']!r}, expected {', '.join(STATES)}")
        return cls(**{name: data[name] for name in kinds})

    @property
    def is_error(self) -> bool:
        """Whether it fails a run, as an error in a report does."""
        return self.state in ("late", "lost") or any(
            each.get("severity") == "error" for each in self.findings
        )
