"""Threads: questions with their answers, links, and the rows of the formula TSVs.

Threads are made in batches. Formula ids count through a batch thread by thread (title, question,
its comments, each answer and its comments), as in the labs' files; posts are written in the order
of their ids, in which an answer follows its question at some distance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from scipy.special import ndtr

from generation.formulas import Formulas, in_xml, latex
from generation.measured import (
    ANSWERS,
    BLANK_LATEX,
    COMMENT_FORMULAS,
    CORRECTED_VISUAL_ID,
    CORRELATION,
    DELETED_COMMENTS,
    FORMULAS,
    NO_VISUAL_ID,
    TAG_SHARES,
    TAGS,
    TITLE_FORMULAS,
    UNESCAPED_POSTS,
    WITHOUT_ID,
    WORDS,
    quantile_draw,
    rank_draw,
)
from generation.prose import VOCABULARY, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from generation.measured import Integers

_SPAN: Final = "&lt;span class=&quot;math-container&quot; id=&quot;{}&quot;&gt;{}&lt;/span&gt;"
_TITLE, _BODY, _COMMENTS = range(3)
_ID_GAP: Final = 0.24  # ids up to 3.06 million for 2.47 million posts
_DISTANCE: Final = 0.05  # of an answer from its question, in batches, on average
_FIRST_DAY: Final = np.datetime64("2010-07-20T19:00:00.000", "ms")
_MILLISECONDS_PER_POST: Final = 266_558_000_000 // 2_466_080  # 2010-07-20 to 2018-12-31


class FormulaRows(NamedTuple):
    """The formulas of a batch in order of their ids, column by column."""

    formula_id: list[int]
    post_id: list[int]
    thread_id: list[int]
    type: list[str]
    comment_id: list[str]
    old_visual_id: list[str]
    visual_id: list[str]
    issue: list[str]
    latex: list[str]
    number: Integers  # of the formula in the grammar


class Question(NamedTuple):
    """A question in the form of the XML file."""

    title: str
    body: str
    tags: tuple[str, ...]


class Batch(NamedTuple):
    """Some threads."""

    posts: list[str]  # rows of the XML file, in order of their ids
    links: list[tuple[int, int]]  # questions
    questions: list[Question]
    formulas: FormulaRows


class Threads:
    """Makes one batch of threads after the other."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._formulas = Formulas()
        self._next_post = self._next_formula = self._next_comment = 1

    def batch(self, threads: int) -> Batch:
        """Return the next `threads` threads."""
        random = self._random
        answers = random.choice(len(ANSWERS), size=threads, p=ANSWERS)
        is_question = np.zeros(threads + answers.sum(), dtype=bool)
        starts = np.r_[0, np.cumsum(answers + 1)[:-1]]
        is_question[starts] = True
        thread = np.cumsum(is_question) - 1
        post_ids = self._post_ids(is_question, thread)
        words, counts = self._lengths(is_question)
        rows, deleted_shapes = self._rows(post_ids, post_ids[starts][thread], counts)
        spans = self._spans(rows, counts, deleted_shapes)
        part = np.repeat(np.tile(np.arange(3), len(post_ids)), counts.ravel())
        bodies = texts(random, words[:, _BODY], counts[:, _BODY], _of(spans, part == _BODY),
                       plain=False)  # fmt: skip
        titles = texts(random, words[starts, _TITLE], counts[starts, _TITLE],
                       _of(spans, part == _TITLE), plain=True)  # fmt: skip
        for index in np.flatnonzero(random.random(len(bodies)) < UNESCAPED_POSTS).tolist():
            bodies[index] = bodies[index].replace("&amp;", "&")
        questions = [
            Question(title, f"&lt;p&gt;{bodies[start]}&lt;/p&gt;", tags)
            for title, start, tags in zip(titles, starts.tolist(), self._tags(threads), strict=True)
        ]
        posts = self._posts(post_ids, is_question, thread, answers, bodies, questions)
        order = np.argsort(post_ids)
        return Batch(
            [posts[index] for index in order.tolist()],
            self._links(post_ids[starts]),
            questions,
            rows,
        )

    def _post_ids(self, is_question: NDArray[np.bool_], thread: Integers) -> Integers:
        time = self._random.random(is_question.sum())[thread]
        later = self._random.exponential(_DISTANCE, len(thread)) + 1e-9
        order = np.argsort(time + np.where(is_question, 0, later), kind="stable")
        ids = np.empty(len(order), dtype=np.int64)
        steps = 1 + (self._random.random(len(order)) < _ID_GAP)
        ids[order] = self._next_post - 1 + np.cumsum(steps)
        self._next_post = int(ids.max()) + 1
        return ids

    def _lengths(self, is_question: NDArray[np.bool_]) -> tuple[Integers, Integers]:
        """Return the words and the formulas of title, body and comments of every post."""
        random, size = self._random, len(is_question)
        words, formulas = np.zeros((2, size, 3), dtype=np.int64)
        for kind, here in (("question", is_question), ("answer", ~is_question)):
            rho = CORRELATION[kind]
            one, other = random.standard_normal((2, here.sum()))
            words[here, _BODY] = quantile_draw(WORDS[kind], ndtr(one))
            both = rho * one + np.sqrt(1 - rho**2) * other
            formulas[here, _BODY] = quantile_draw(FORMULAS[kind], ndtr(both))
        asked = is_question.sum()
        words[is_question, _TITLE] = quantile_draw(WORDS["title"], random.random(asked))
        formulas[is_question, _TITLE] = random.choice(
            len(TITLE_FORMULAS), size=asked, p=TITLE_FORMULAS
        )
        formulas[:, _COMMENTS] = random.geometric(1 / (1 + COMMENT_FORMULAS), size) - 1
        # A title needs a word or a formula.
        words[is_question & (words[:, _TITLE] + formulas[:, _TITLE] == 0), _TITLE] = 1
        return words, formulas

    def _rows(
        self, post_ids: Integers, thread_ids: Integers, counts: Integers
    ) -> tuple[FormulaRows, Integers]:
        """Return the formula rows, and for each the shape in WITHOUT_ID that it has, or -1."""
        random = self._random
        per_post = counts.sum(axis=1)
        number = int(per_post.sum())
        part = np.repeat(np.tile(np.arange(3), len(post_ids)), counts.ravel())
        post = np.repeat(np.arange(len(post_ids)), per_post)
        shape = self._shapes(post, len(post_ids), part)
        types = np.where(post_ids == thread_ids, "question", "answer").astype(object)[post]
        types[part == _TITLE] = "title"
        types[part == _COMMENTS] = "comment"
        in_comment = part == _COMMENTS
        comment_ids = np.full(number, "", dtype=object)
        comment_ids[in_comment] = (self._next_comment + np.arange(in_comment.sum())).astype(str)
        self._next_comment += int(in_comment.sum())
        deleted = (shape >= 0) | (in_comment & (random.random(number) < DELETED_COMMENTS))
        corrected = random.random(number) < CORRECTED_VISUAL_ID
        issues = np.where(deleted, "d", "").astype(object) + np.where(corrected, "v", "")
        drawn = self._formulas.draw(random, number)
        visual = (drawn + 1).astype(str).astype(object)
        visual[random.random(number) < NO_VISUAL_ID] = ""
        old = visual.copy()
        old[corrected] = (drawn[corrected] + 2).astype(str)
        strings = latex(drawn)
        for index in np.flatnonzero(random.random(number) < BLANK_LATEX).tolist():
            strings[index] = ""
        first = self._next_formula
        self._next_formula += number
        rows = FormulaRows(
            list(range(first, first + number)),
            post_ids[post].tolist(),
            thread_ids[post].tolist(),
            types.tolist(),
            comment_ids.tolist(),
            old.tolist(),
            visual.tolist(),
            issues.tolist(),
            strings,
            drawn,
        )
        return rows, shape

    def _shapes(self, post: Integers, posts: int, part: Integers) -> Integers:
        shape = np.full(len(post), -1)
        bounds = np.cumsum([share for share, _, _ in WITHOUT_ID])
        kind = np.searchsorted(bounds, self._random.random(posts))[post]
        chance = self._random.random(len(post))
        for number, (_, share, _) in enumerate(WITHOUT_ID):
            shape[(kind == number) & (chance < share) & (part == _BODY)] = number
        return shape

    def _spans(self, rows: FormulaRows, counts: Integers, shape: Integers) -> list[str]:
        """Return every formula in the form of the file, with or without its id."""
        spans = [
            _SPAN.format(formula_id, in_xml(formula))
            for formula_id, formula in zip(rows.formula_id, rows.latex, strict=True)
        ]
        for index in np.flatnonzero(shape >= 0).tolist():
            spans[index] = WITHOUT_ID[shape[index]][2] % in_xml(rows.latex[index])
        return spans

    def _tags(self, threads: int) -> list[tuple[str, ...]]:
        random = self._random
        numbers = random.choice(len(TAGS), size=threads, p=TAGS).tolist()
        drawn = rank_draw(TAG_SHARES, random.random(sum(numbers)))
        names = [f"{VOCABULARY[200 + n]}-{VOCABULARY[1000 + n]}" for n in drawn.tolist()]
        return [tuple(dict.fromkeys(names.pop() for _ in range(number))) for number in numbers]

    def _posts(
        self,
        ids: Integers,
        is_question: NDArray[np.bool_],
        thread: Integers,
        answers: Integers,
        bodies: Sequence[str],
        questions: Sequence[Question],
    ) -> list[str]:
        random = self._random
        dates = np.datetime_as_string(_FIRST_DAY + ids * _MILLISECONDS_PER_POST).tolist()
        scores = (random.geometric(0.25, len(ids)) - 2).tolist()
        users = random.integers(1, 600_000, len(ids)).tolist()
        question_ids = ids[is_question].tolist()
        posts = []
        for post, asked, number, date, score, user, body in zip(
            ids.tolist(), is_question.tolist(), thread.tolist(), dates, scores, users, bodies,
            strict=True,
        ):  # fmt: skip
            common = f'CreationDate="{date}" Score="{score}" CommentCount="2" OwnerUserId="{user}"'
            if asked:
                question = questions[number]
                tags = "".join(f"&lt;{tag}&gt;" for tag in question.tags)
                posts.append(
                    f'   <row Id="{post}" PostTypeId="1" {common} ViewCount="{20 * user % 9973}" '
                    f'Title="{question.title}" Body="{question.body}" '
                    f'AnswerCount="{answers[number]}" Tags="{tags}"/>\n'
                )
            else:
                posts.append(
                    f'   <row Id="{post}" PostTypeId="2" {common} Body="&lt;p&gt;{body}&lt;/p&gt;" '
                    f'ParentId="{question_ids[number]}"/>\n'
                )
        return posts

    def _links(self, question_ids: Integers) -> list[tuple[int, int]]:
        """Link questions of this batch with earlier ones; the collection has 0.25 a question."""
        number = len(question_ids) // 4
        ends = self._random.choice(question_ids, size=(2, number)).tolist()
        return [(one, other) for one, other in zip(*ends, strict=True) if one != other]


def _of(spans: Sequence[str], chosen: NDArray[np.bool_]) -> list[str]:
    return [spans[index] for index in np.flatnonzero(chosen).tolist()]
