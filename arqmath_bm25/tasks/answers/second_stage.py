"""The second stage of Task 1: the best answers of the first ranked anew by four kinds of evidence.

A score s comes to be, step by step:

1. formulas: s + w · (MaxSim of the answer's body + of its question's title and body + of its
   question's title) for the formulas of the topic (`formula_similarity`): all distinct ones of its
   title, twice, and the three of its body that tell most; each weighs the sum of its terms' idf;
2. links: s + w · (the best score of an answer to a linked question, if that is above 0), and
   + w · ln(1 + number of the question's links);
3. threads: s + w · (the best score in the thread);
4. opinion: s + w · ln(1 + votes), if these are above 0, and + w for the answer that was accepted.
   Both are as the posts say; lab's collections and dumps have them, subsets may not.

No weight is below 0, so that what was ranked anew stays before what was not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from pydantic import Field

from arqmath_bm25.analysis.formula_similarity import FormulaQuery
from arqmath_bm25.analysis.html import read_body, read_title
from arqmath_bm25.analysis.signatures import signatures
from arqmath_bm25.collection.links import PostLinks
from arqmath_bm25.core.records import Hit
from arqmath_bm25.core.settings import Settings, Weight
from arqmath_bm25.tasks.answers.post_signatures import SIGNATURES, PostSignatures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from arqmath_bm25.analysis.analyzer import Analyzer
    from arqmath_bm25.analysis.html import Content
    from arqmath_bm25.analysis.signatures import Signature
    from arqmath_bm25.collection.posts import PostTable
    from arqmath_bm25.core.records import Topic

    Gain = NDArray[np.float64]  # of each hit

LINKS: Final = "links.npy"  # under this name an index keeps the links of its posts
_OF_BODY: Final = 3  # formulas of a topic's body that count


class StageSettings(Settings):
    """Weights of the evidence, and how many answers are ranked anew."""

    formulas: Weight = 0
    linked: Weight = 0
    links: Weight = 0
    thread: Weight = 0
    votes: Weight = 0
    accepted: Weight = 0
    depth: Annotated[int, Field(ge=1)] = 100


class SecondStage:
    """Ranks answers anew by what lies beside their index. Serves all threads."""

    def __init__(self, directory: Path, posts: PostTable, analyzer: Analyzer) -> None:
        self._posts = posts
        self._analyzer = analyzer
        self._signatures = PostSignatures(directory / SIGNATURES)
        self._links = PostLinks.load(directory / LINKS)

    def __call__(self, topic: Topic, hits: list[Hit], settings: StageSettings) -> list[Hit]:
        """Rank the first hits of a topic anew; the others stay behind them as they are."""
        hits, rest = hits[: settings.depth], hits[settings.depth :]
        if not hits:
            return []
        first = np.array([hit.score for hit in hits], float)
        found = sum(self.gains(topic, hits, settings).values(), first).astype(np.float32)
        ids = np.array([hit.doc_id for hit in hits])
        order = np.lexsort((ids, found))[::-1]
        return [Hit(str(ids[at]), float(found[at])) for at in order] + rest

    def gains(self, topic: Topic, hits: list[Hit], settings: StageSettings) -> dict[str, Gain]:
        """Return what each kind of evidence, as the settings name it, adds to the scores of hits.

        These are the first hits, as many as the settings say, and at least one.
        """
        found_ids = [hit.doc_id for hit in hits]
        questions = self._posts.threads_of(found_ids)
        scores = np.array([hit.score for hit in hits], float)
        gains = {}
        if settings.formulas:
            answers = self._posts.numbers(found_ids)
            gains["formulas"] = settings.formulas * self.maxsim(topic, answers, questions)
            scores += gains["formulas"]
        threads, thread = np.unique(questions, return_inverse=True)
        own = set(map(str, self._posts.numbers([topic.own_thread] if topic.own_thread else [])))
        links = [
            [one for one in self._links.of(str(question)) if one not in own] for question in threads
        ]
        if settings.linked:
            best = dict(zip(map(str, threads), _best(scores, thread), strict=True))
            near = [max((best.get(one, 0.0) for one in of), default=0.0) for of in links]
            gains["linked"] = settings.linked * np.maximum(near, 0)[thread]
            scores += gains["linked"]
        gains["links"] = settings.links * np.log1p(list(map(len, links)))[thread]
        scores += gains["links"]
        gains["thread"] = settings.thread * _best(scores, thread)[thread]
        if settings.votes or settings.accepted:
            gains["votes"] = self._opinion(found_ids, settings)
        return gains

    def maxsim(
        self, topic: Topic, answers: NDArray[np.int64], questions: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return MaxSim of the answers of some questions."""
        rows, context = self._posts.find(answers), self._posts.find(questions)
        context[context == rows] = -1  # an answer whose question is not known
        documents, starts = self._signatures.of(np.concatenate((rows, context)), context)
        query = FormulaQuery(self._query(topic), self._signatures.idf)
        total: NDArray[np.float64] = query.maxsim(documents, starts).reshape(3, -1).sum(axis=0)
        return total

    def _opinion(self, answers: Sequence[str], settings: StageSettings) -> NDArray[np.float64]:
        posts = [self._posts.read(post_id) for post_id in answers]
        votes = [max(post.score or 0, 0) if post else 0 for post in posts]
        parents = {post.parent_id for post in posts if post and post.parent_id}
        questions = filter(None, map(self._posts.read, parents))
        accepted = {question.accepted_answer_id for question in questions}
        chosen = [post_id in accepted for post_id in answers]
        total: NDArray[np.float64] = settings.votes * np.log1p(votes)
        return total + settings.accepted * np.array(chosen)

    def _query(self, topic: Topic) -> list[tuple[Signature, float]]:
        """Return the formulas of a topic that count, with their weights."""

        def specific(terms: Signature) -> float:
            return float(self._signatures.idf(terms).sum())

        title, body = self._of(read_title(topic.title)), self._of(read_body(topic.question))
        others = [body[key] for key in body if key not in title]
        others.sort(key=specific, reverse=True)
        return [
            *((terms, 2 * specific(terms)) for terms in title.values()),
            *((terms, specific(terms)) for terms in others[:_OF_BODY]),
        ]

    def _of(self, content: Content) -> dict[bytes, Signature]:
        """Return the distinct signatures of formulas, by their bytes."""
        terms, ends = signatures(self._analyzer(content).trees)
        return {one.tobytes(): one for one in np.split(terms, ends[:-1]) if len(one)}


def _best(scores: NDArray[np.float64], thread: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the best score of each thread."""
    best = np.full(thread.max() + 1, -np.inf)
    np.maximum.at(best, thread, scores)
    return best
