"""The schemas of JSON output in docs/schema."""

import json
from pathlib import Path

import jsonschema
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

SCHEMAS = Path(__file__).parents[1] / "docs" / "schema"


def validate(content, schema="table.json"):
    """Check JSON output by its schema; without one, that of a resolution table."""
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in SCHEMAS.glob("*.json")}
    registry = Registry().with_resources(
        (name, Resource.from_contents(content, default_specification=DRAFT202012)) for name, content in schemas.items()
    )
    jsonschema.Draft202012Validator(schemas[schema], registry=registry).validate(content)
