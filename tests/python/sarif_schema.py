"""The part of SARIF 2.1.0 that reports use, as a JSON schema: stricter than that of the standard,
which allows all that it does not know in property bags alone.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0, chapter 3.
"""

from typing import Any


def _object(required: list[str] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _list(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


def _one_of(*values: str) -> dict[str, Any]:
    return {"enum": list(values)}


TEXT: dict[str, Any] = {"type": "string", "minLength": 1}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 1}
NUMBER: dict[str, Any] = {"type": "integer", "minimum": 0}
BAG: dict[str, Any] = {"type": "object"}  # 3.8: anything
LEVEL = _one_of("none", "note", "warning", "error")
MESSAGE = _object(["text"], text=TEXT, markdown=TEXT)  # 3.11, 3.12
URI: dict[str, Any] = {"type": "string", "pattern": r"^(?:[a-z]+://[^ ]*|[^/:? #][^:? #]*)$"}

REGION = _object(  # 3.30
    ["startLine"],
    startLine=COUNT,
    startColumn=COUNT,
    snippet=_object(["text"], text={"type": "string"}),
)
LOCATION = _object(  # 3.28
    id=NUMBER,
    physicalLocation=_object(  # 3.29
        ["artifactLocation", "region"],
        artifactLocation=_object(["uri"], uri=URI, uriBaseId=TEXT),
        region=REGION,
    ),
    logicalLocations=_list(_object(["name", "kind"], name=TEXT, kind=_one_of("function")), 1),
    message=MESSAGE,
)
STEP = _object(  # 3.38
    ["location"],
    location=LOCATION,
    nestingLevel=NUMBER,
    executionOrder=COUNT,
    importance=_one_of("important", "essential", "unimportant"),
)
RESULT = _object(  # 3.27
    ["ruleId", "ruleIndex", "level", "message", "locations"],
    ruleId=TEXT,
    ruleIndex=NUMBER,
    level=LEVEL,
    message=MESSAGE,
    locations=_list(LOCATION, 1),
    relatedLocations=_list({**LOCATION, "required": ["id", "message"]}, 1),
    codeFlows=_list(
        _object(
            ["threadFlows"],
            threadFlows=_list(_object(["locations"], id=TEXT, locations=_list(STEP, 1)), 1),
        ),
        1,
    ),
    stacks=_list(_object(["frames"], frames=_list(_object(["location"], location=LOCATION), 2)), 1),
    occurrenceCount=COUNT,
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    suppressions=_list(
        _object(["kind"], kind=_one_of("inSource", "external"), justification=TEXT), 1
    ),
    properties=BAG,
)  # fmt: skip
RULE = _object(  # 3.49
    ["id", "shortDescription", "fullDescription", "help"],
    id=TEXT,
    name=TEXT,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=MESSAGE,
    defaultConfiguration=_object(["level"], level=LEVEL),
    properties=BAG,
)
VERSION: dict[str, Any] = {"type": "string", "pattern": r"^\d+\.\d+\.\d+"}
RUN = _object(  # 3.14
    ["tool", "results"],
    tool=_object(
        ["driver"],
        driver=_object(
            ["name", "rules"],
            name=TEXT,
            version=VERSION,
            semanticVersion=VERSION,
            rules=_list(RULE),
        ),
    ),
    invocations=_list(
        _object(
            ["executionSuccessful"],
            executionSuccessful={"type": "boolean"},
            exitCode={"type": "integer"},
            toolExecutionNotifications=_list(_object(["message"], level=LEVEL, message=MESSAGE)),
        )
    ),
    originalUriBaseIds={
        "type": "object",
        "additionalProperties": _object(
            ["uri"], uri={"type": "string", "pattern": r"^file:///.*/$"}
        ),
    },
    columnKind=_one_of("unicodeCodePoints"),
    results=_list(RESULT),
)
LOG = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **_object(
        ["version", "runs"],
        **{"$schema": URI, "version": _one_of("2.1.0"), "runs": _list(RUN, 1)},
    ),
}
