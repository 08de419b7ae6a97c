"""What users of the library get of an evaluation: numbers by the names of measures."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.core.guesses import no_attribute
from arqmath_bm25.evaluation.evaluator import ScoredRun
from arqmath_bm25.evaluation.measures import full_name, named_measures


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Mapping[str, float]):
    """Averages over all judged topics, by the full names that ir_measures has for measures.

    Other spellings find their values as well: `P@10` is P(rel=2)@10 where grade 2 is relevant, and
    `ndcg_prime` nDCG(judged_only=True).
    """

    averages: Mapping[str, float]  # measure -> value
    keys_of_tables: Mapping[str, str]  # key in tables -> measure
    relevant: int  # the lowest grade that counts as relevant
    topics: tuple[str, ...]  # the judged topics
    counts: Mapping[str, int]  # numbers of topics and rows
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, scored: ScoredRun, keys: Iterable[str] | None) -> Self:
        """Return the scores of a run, of all measures or of those with some keys."""
        score = scored.score
        names = {key: score.names[key] for key in keys or score.keys}
        averages = score.averages()
        counts = {}
        for key, value in score.to_json().items():
            if isinstance(value, int) and key != "relevant":
                counts[key] = value
        return cls(
            averages={name: averages[key] for key, name in names.items()},
            keys_of_tables=names,
            relevant=score.relevant,
            topics=tuple(score.values),
            counts=counts,
            warnings=score.warnings,
        )

    def __getitem__(self, measure: object) -> float:
        name = str(measure)
        if name in self.averages:
            return self.averages[name]
        if name in self.keys_of_tables:
            return self.averages[self.keys_of_tables[name]]

        try:
            named = named_measures(name)
        except InputError as error:
            raise KeyError(str(error)) from None
        for each in named:
            return self.averages[full_name(each.at(self.relevant))]
        raise KeyError(name)

    def __getattr__(self, name: str) -> Any:
        raise no_attribute("'Evaluation'", name, dir(type(self)))

    def __iter__(self) -> Iterator[str]:
        return iter(self.averages)

    def __len__(self) -> int:
        return len(self.averages)

    def __repr__(self) -> str:
        width = max(map(len, self.averages))
        lines = [f"{name:{width}}  {value:.4f}" for name, value in self.averages.items()]
        lines.append(f"topics: {len(self.topics)}, relevant: grade {self.relevant} or more")
        return "\n".join(lines)
