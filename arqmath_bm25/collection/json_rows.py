"""Schemas of JSON rows, checked by pydantic: documents, queries, premises, statements.

Readers import this module when they need it, since pydantic takes a tenth of a second to load.
"""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BaseModel, Field, TypeAdapter

from arqmath_bm25.analysis.kinds import Kind
from arqmath_bm25.collection.row_names import DOC_IDS, GRADES, IDS, QUERY_IDS, TEXTS

_PREMISE_ID = re.compile(r"[0-9]+|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def _check(premise_id: str) -> str:
    if not _PREMISE_ID.fullmatch(premise_id):
        raise ValueError("expected an integer, in digits alone, or a UUID")
    return premise_id


def _only(kind: type) -> AfterValidator:
    """Return what replaces other values: rows of other programs may have any of our names."""
    return AfterValidator(lambda value: value if isinstance(value, kind) else kind())


_Name = Annotated[str, Field(coerce_numbers_to_str=True)]
_SourceName = Annotated[Any, _only(str)]
_PremiseId = Annotated[str, AfterValidator(_check)]
_Text = Annotated[str, Field(pattern=r"\S")]


class DocumentRow(BaseModel):
    """A document, or a query, by the fields of `UserDocument`."""

    doc_id: _Name = Field(validation_alias=AliasChoices(*IDS))
    text: str = Field(validation_alias=AliasChoices(*TEXTS))
    title: str | None = None
    tags: tuple[_Name, ...] | None = None
    excluded: tuple[_Name, ...] | None = Field(None, validation_alias="excluded_ids")
    kind: Kind | None = None
    url: str | None = None
    references: tuple[_Name, ...] | None = None
    as_post: _SourceName = ""
    type: _SourceName = ""
    file: _SourceName = ""
    line: Annotated[Any, _only(int)] = 0
    label_ids: Annotated[Any, _only(dict)] = {}


class JudgmentRow(BaseModel):
    """The judgment of a document for a query."""

    query_id: _Name = Field(validation_alias=AliasChoices(*QUERY_IDS))
    doc_id: _Name = Field(validation_alias=AliasChoices(*DOC_IDS))
    score: _Name = Field(validation_alias=AliasChoices(*GRADES))


class StatementRow(BaseModel):
    """A statement as it is in the file."""

    text: _Text
    premises: list[_PremiseId]


PREMISES = TypeAdapter(dict[_PremiseId, _Text])
STATEMENTS = TypeAdapter(dict[_PremiseId, StatementRow])
