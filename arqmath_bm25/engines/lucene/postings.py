"""The postings of a whole Lucene index as plain files, for engines that are made from it.

A call from Python for each of millions of postings would take minutes. So the loop over them is
put together from Lucene's own methods as one method handle (java.lang.invoke), which Java compiles
and runs by itself, 0.1 µs a posting; nothing has to be compiled beforehand or shipped as a binary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.engines.lucene.ids import open_directory, open_reader
from arqmath_bm25.engines.lucene.jvm import java_cast, java_class

if TYPE_CHECKING:
    from pathlib import Path

_LUCENE: Final = "org.apache.lucene"
_FREQS: Final = 8  # PostingsEnum.FREQS


class FieldPostings(NamedTuple):
    """A field that terms are looked for in, with the statistics that BM25 needs."""

    name: str
    documents: int  # that have the field
    tokens: int
    terms: int  # of this field and those before it


def write_postings(index: Path, place: Path) -> list[FieldPostings]:
    """Write all postings of a Lucene index to the directory `place`; return its fields, in order.

    `terms`: an empty line, then one for each term, in UTF-8, field by field, in the order of their
    bytes. The others hold little-endian 32-bit integers: `lengths` the number of postings of each
    term; `docs` and `freqs`, for each posting, Lucene's number of the document, ascending, and how
    often it holds the term. Raises InputError if Java cannot write.
    """
    reader = open_reader(index)  # starts the JVM, which the import would do its own way
    from jnius import JavaException

    directory = open_directory(place)
    context = java_class(f"{_LUCENE}.store.IOContext").DEFAULT
    files = [
        directory.createOutput(name, context) for name in ("terms", "lengths", "docs", "freqs")
    ]
    try:
        return _write(reader, *files)
    except JavaException as error:
        raise InputError(
            f"{place}: the postings of {index} could not be written ({error}); check that the disk "
            "has room"
        ) from None
    finally:
        for file in files:
            file.close()
        directory.close()
        reader.close()


def _write(reader: Any, terms: Any, lengths: Any, docs: Any, freqs: Any) -> list[FieldPostings]:
    write_field = _field_writer(terms, lengths, docs, freqs)
    base = java_cast(f"{_LUCENE}.index.IndexReader", reader)
    found = []
    terms.writeByte(10)
    for info in java_class(f"{_LUCENE}.index.FieldInfos").getMergedFieldInfos(base).iterator():
        if not info.hasNorms():  # the ids
            continue
        of_field = java_class(f"{_LUCENE}.index.MultiTerms").getTerms(base, info.name)
        if of_field is None:
            continue
        each_term = java_cast(f"{_LUCENE}.index.TermsEnum", of_field.iterator())
        write_field.invokeWithArguments(java_class("java.util.Arrays").asList(each_term))
        documents, tokens = of_field.getDocCount(), of_field.getSumTotalTermFreq()
        found.append(FieldPostings(info.name, documents, tokens, lengths.getFilePointer() // 4))
    return found


def _field_writer(terms: Any, lengths: Any, docs: Any, freqs: Any) -> Any:
    """Return the method handle (TermsEnum) that writes all terms of a field to the four files."""
    handles = java_class("java.lang.invoke.MethodHandles")
    method_type = java_class("java.lang.invoke.MethodType").methodType
    class_of = java_class("java.lang.Class").forName
    void, integer, byte, boolean = (
        java_class(f"java.lang.{name}").TYPE for name in ("Void", "Integer", "Byte", "Boolean")
    )
    octets = class_of("[B")
    each_term, each_posting = (
        class_of(f"{_LUCENE}.index.{name}") for name in ("TermsEnum", "PostingsEnum")
    )
    output, text = class_of(f"{_LUCENE}.store.DataOutput"), class_of(f"{_LUCENE}.util.BytesRef")
    public = handles.publicLookup()

    def method(owner: Any, name: str, returned: Any, *taken: Any) -> Any:
        return public.findVirtual(owner, name, method_type(returned, *taken))

    def of(function: Any, *arguments: Any) -> Any:  # x, … ↦ function(argument(x), …)
        return handles.filterArguments(function, 0, *arguments)

    def then(first: Any, second: Any) -> Any:  # x ↦ first(x), second(x)
        return handles.foldArguments(second, first)

    def write_to(file: Any, value: Any) -> Any:
        return of(method(output, "writeInt", void, integer).bindTo(file), value)

    posting = then(
        write_to(docs, method(each_posting, "nextDoc", integer)),
        write_to(freqs, method(each_posting, "freq", integer)),
    )
    length = method(each_term, "docFreq", integer)
    postings = of(
        handles.countedLoop(
            handles.dropArguments(handles.identity(integer), 1, each_posting),
            None,
            handles.dropArguments(posting, 0, integer, integer),
        ),
        length,
        handles.insertArguments(
            method(each_term, "postings", each_posting, each_posting, integer),
            1,
            None,
            java_class("java.lang.Integer")(_FREQS),
        ),
    )
    postings = handles.permuteArguments(postings, method_type(void, each_term), 0, 0)
    spelled = handles.permuteArguments(
        of(
            method(output, "writeBytes", void, octets, integer, integer).bindTo(terms),
            public.findGetter(text, "bytes", octets),
            public.findGetter(text, "offset", integer),
            public.findGetter(text, "length", integer),
        ),
        method_type(void, text),
        *(0, 0, 0),
    )
    end_line = handles.insertArguments(
        method(output, "writeByte", void, byte).bindTo(terms), 0, java_class("java.lang.Byte")(10)
    )
    term = then(
        handles.dropArguments(
            then(spelled, handles.dropArguments(end_line, 0, text)), 1, each_term
        ),
        handles.dropArguments(then(write_to(lengths, length), postings), 0, text),
    )
    following = method(each_term, "next", text)
    is_term = public.findStatic(
        class_of("java.util.Objects"), "nonNull", method_type(boolean, class_of("java.lang.Object"))
    )
    return handles.whileLoop(
        following,
        is_term.asType(method_type(boolean, text)),
        then(term, handles.dropArguments(following, 0, text)),
    )
