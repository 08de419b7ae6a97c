"""Measures by the names that they have elsewhere: ir_measures' and trec_eval's.

`nDCG(judged_only=True)@10`, `AP(rel=2,judged_only=True)`, `P(rel=2)@10`, `SetF(beta=0.5)` and
`Judged@10` mean what they mean in ir_measures, which reads them: a grade of 1 is relevant where
`rel` is not given. `infAP` and `Rprec` alone are trec_eval's, with the labs' relevant grades. The
names of the labs' own measures are in `measures`.
"""

from __future__ import annotations

from typing import Final

import ir_measures

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation import answers, measures, nlps
from arqmath_bm25.evaluation.measures import JUDGED, Measure, trec_measures

_TREC_TOO: Final = ("infAP", "Rprec")

OF_DOCUMENTS: Final = ("nDCG@10", "R@100")  # what BEIR reports


def named_measures(name: str) -> tuple[Measure, ...]:
    """Return the measure with a name of ir_measures, or the two with one of trec_eval.

    Raises InputError for any other name, and for parameters that are not understood.
    """
    if name in _TREC_TOO:
        return trec_measures(name)
    if name == "xinfAP":
        raise InputError(
            "--measure xinfAP: it comes by itself with judgments of a sampled pool, as `pool "
            "--sampled` and `judge --sampled` write them"
        )
    try:
        parsed = ir_measures.parse_measure(name)
        known = ir_measures.pytrec_eval.supports(parsed)
    except NameError:
        return trec_measures(name)
    except (ValueError, TypeError, AssertionError, SyntaxError) as error:
        reason = str(error).partition("=<object")[0]
        raise InputError(
            f"--measure {name}: ir_measures does not understand it ({reason}); expected a name "
            "such as P(rel=2)@10, nDCG(judged_only=True) or IPrec@0.1"
        ) from None
    key = str(parsed)
    if parsed.NAME == "Judged" and parsed.params.get("cutoff"):
        return (Measure(key, f"{JUDGED}{parsed['cutoff']}", primed=False),)
    if not known:
        raise InputError(
            f"--measure {name}: of the measures of ir_measures, those of trec_eval are computed "
            f"here; {parsed.NAME} with these parameters is none of them"
        )
    return (Measure(key, "", primed=False, parsed=parsed),)


def further_measures(name: str | None) -> tuple[Measure, ...]:
    """Return what must be measured beyond the usual, for runs to be compared by a measure."""
    if name is None or name in (*measures.KEYS, *answers.KEYS, *nlps.KEYS):
        return ()
    return named_measures(name.removesuffix("_prime"))
