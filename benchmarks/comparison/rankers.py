"""Peers as one would use them: each indexes texts with its own analysis, and ranks for texts.

    python -m comparison.rankers terrier|bm25s|tantivy|anserini DOCUMENTS QUERIES WORK [FURTHER]

DOCUMENTS is a directory of JSON lines with `id` and `contents`, QUERIES rows `id TAB text`. Writes
WORK/SYSTEM.trec for every system, with 1,000 hits a query, and prints seconds of the CPU as JSON,
indexing and ranking together. FURTHER is Anserini's jar, or of bm25s the directory of PyStemmer,
which .venv-bench lacks.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

VENV: Final = Path(__file__).parents[2] / ".venv-bench"
TERRIER: Final = {"TERRIER_VERSION": "5.11", "TERRIER_HELPER_VERSION": "0.0.8"}
DEPTH: Final = 1000
BUFFER_MB: Final = 512  # of documents in memory before a segment is written, as in ours
HEAP_MB: Final = 2048  # of a JVM, as in ours
_WORDS: Final = re.compile("[^A-Za-z0-9]+")  # Terrier's query language has a meaning for the others


def read_documents(directory: Path) -> Iterator[tuple[str, str]]:
    """Yield id and text of every document."""
    for path in sorted(directory.glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            for line in file:
                document = json.loads(line)
                yield document["id"], document["contents"]


def terrier(documents: Path, queries: list[tuple[str, str]], work: Path) -> None:
    """Rank by PyTerrier with its default analysis (stop words, Porter stems)."""
    import pandas as pd
    import pyterrier

    pyterrier.java.set_memory_limit(HEAP_MB)
    pyterrier.java.init()  # the first time, it fetches the jars of Terrier from Maven Central
    indexer = pyterrier.IterDictIndexer(str((work / "terrier").resolve()))
    made = indexer.index({"docno": d, "text": text} for d, text in read_documents(documents))
    index = pyterrier.IndexFactory.of(made)
    asked = pd.DataFrame(
        [(topic, _WORDS.sub(" ", text)) for topic, text in queries], columns=["qid", "query"]
    )
    models = {
        f"terrier-{model.lower().replace('_', '')}": pyterrier.terrier.Retriever(
            index, wmodel=model, num_results=DEPTH
        )
        for model in ("DPH", "TF_IDF", "BM25")
    }
    expansion = pyterrier.rewrite.Bo1QueryExpansion(index)
    models["terrier-dph-bo1"] = models["terrier-dph"] >> expansion >> models["terrier-dph"]
    for name, model in models.items():
        found = model.transform(asked)
        _write(work, name, zip(found["qid"], found["docno"], found["score"], strict=True))


def bm25s(documents: Path, queries: list[tuple[str, str]], work: Path, stemmers: Path) -> None:
    """Rank by bm25s with its English stop words and Snowball stems, and its default k1 and b."""
    sys.path.append(str(stemmers))
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")
    ids, texts = zip(*read_documents(documents), strict=True)

    def tokens(of: Iterable[str]) -> object:
        return bm25s.tokenize(list(of), stopwords="en", stemmer=stemmer, show_progress=False)

    engine = bm25s.BM25()
    engine.index(tokens(texts), show_progress=False)
    found = engine.retrieve(
        tokens(t for _, t in queries), k=min(DEPTH, len(ids)), show_progress=False
    )
    rows = (
        (topic, ids[place], score)
        for (topic, _), places, scores in zip(queries, *found, strict=True)
        for place, score in zip(places.tolist(), scores.tolist(), strict=True)
    )
    _write(work, "bm25s", rows)


def tantivy(documents: Path, queries: list[tuple[str, str]], work: Path) -> None:
    """Rank by Tantivy with its English stems, in one thread."""
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw")
    schema.add_text_field("contents", tokenizer_name="en_stem", index_option="freq")
    place = work / "tantivy"
    place.mkdir()
    index = tantivy.Index(schema.build(), str(place))
    writer = index.writer(heap_size=BUFFER_MB << 20, num_threads=1)
    for doc_id, text in read_documents(documents):
        writer.add_document(tantivy.Document(id=doc_id, contents=text))
    writer.commit()
    writer.wait_merging_threads()

    index.reload()
    searcher = index.searcher()
    rows = []
    for topic, text in queries:
        query = index.parse_query(_WORDS.sub(" ", text), ["contents"])
        for score, address in searcher.search(query, DEPTH).hits:
            rows.append((topic, searcher.doc(address)["id"][0], score))
    _write(work, "tantivy", rows)


def anserini(documents: Path, queries: list[tuple[str, str]], work: Path, jar: Path) -> None:
    """Rank by Anserini with its defaults: English analyzer, k1 = 0.9, b = 0.4.

    Its IndexCollection and SimpleSearcher, because SearchCollection asks the network for a list of
    ready-made indexes.
    """
    import jnius_config

    jnius_config.add_classpath(str(jar))
    from jnius import autoclass

    index = str(work / "index")
    arguments = ["-collection", "JsonCollection", "-input", str(documents), "-index", index]
    autoclass("io.anserini.index.IndexCollection").main([*arguments, "-threads", "1"])
    searcher = autoclass("io.anserini.search.SimpleSearcher")(index)
    rows = (
        (topic, hit.docid, hit.score)
        for topic, text in queries
        for hit in searcher.search(text, DEPTH)
    )
    _write(work, "anserini", rows)


def _write(work: Path, name: str, rows: Iterable[tuple[str, str, float]]) -> None:
    with (work / f"{name}.trec").open("w", encoding="utf-8") as file:
        file.writelines(f"{topic} Q0 {doc} 0 {score} {name}\n" for topic, doc, score in rows)


def main() -> None:
    """Do what the command line says."""
    system, documents, queries, work, *further = sys.argv[1:]
    asked = [
        (topic, text)
        for topic, _, text in (
            line.partition("\t") for line in Path(queries).read_text("utf-8").splitlines()
        )
    ]
    talk = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Java's loggers write there
    match system:
        case "terrier":
            terrier(Path(documents), asked, Path(work))
        case "bm25s":
            bm25s(Path(documents), asked, Path(work), Path(further[0]))
        case "tantivy":
            tantivy(Path(documents), asked, Path(work))
        case _:
            anserini(Path(documents), asked, Path(work), Path(further[0]))
    used = os.times()
    print(json.dumps({"cpu": used.user + used.system + used[2] + used[3]}), file=talk)


if __name__ == "__main__":
    main()
