"""Measures by the names that they have elsewhere: ir_measures' and trec_eval's.

`nDCG(judged_only=True)@10`, `AP(rel=2,judged_only=True)`, `P(rel=2)@10`, `Bpref(rel=2)` and
`Judged@10` mean what they mean there. So a grade of 1 is relevant where `rel` is not given; the key
of such a measure says it. The names of the labs' own measures are in `measures`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.evaluation.measures import JUDGED, Measure, trec_measures


class _Family(NamedTuple):
    """A measure of ir_measures, with its names in trec_eval."""

    plain: str = ""  # without a cut-off; empty: it needs one
    at: str = ""  # with a cut-off; empty: it takes none
    rel: bool = True  # takes the least grade that is relevant
    judged_only: bool = True  # takes this parameter


_FAMILIES: Final = {
    "nDCG": _Family("ndcg", "ndcg_cut_{}", rel=False),
    "AP": _Family("map", "map_cut_{}"),
    "P": _Family(at="P_{}"),
    "R": _Family(at="recall_{}"),
    "RR": _Family("recip_rank"),
    "Rprec": _Family("Rprec"),
    "Bpref": _Family("bpref", judged_only=False),
    "infAP": _Family("infAP", judged_only=False),
    "IPrec": _Family(at="iprec_at_recall_{:.2f}"),
    "Success": _Family(at="success_{}"),
    "SetP": _Family("set_P"),
    "SetR": _Family("set_recall", judged_only=False),
    "SetF": _Family("set_F"),
    "SetAP": _Family("set_map"),
    "Judged": _Family(at=JUDGED + "{}", rel=False, judged_only=False),
}
_ALIASES: Final = {
    "NDCG": "nDCG", "MAP": "AP", "Precision": "P", "Recall": "R", "MRR": "RR", "RPrec": "Rprec",
    "BPref": "Bpref",
}  # fmt: skip
_TREC_TOO: Final = ("infAP", "Rprec")  # alone these mean trec_eval's, as the labs use it
_NAME: Final = re.compile(r"([A-Za-z]+)(?:\((.*)\))?(?:@([0-9]*\.?[0-9]+))?")


def named_measures(name: str) -> tuple[Measure, ...]:
    """Return the measure with a name of ir_measures, or the two with one of trec_eval.

    Raises InputError for any other name, and for parameters that are not understood.
    """
    match = _NAME.fullmatch(name.replace(" ", ""))
    family = _FAMILIES.get(_ALIASES.get(match[1], match[1])) if match else None
    if match is None or family is None or name in _TREC_TOO:
        return trec_measures(name)
    rel, judged_only = 1, False
    for parameter in filter(None, (match[2] or "").split(",")):
        key, _, value = parameter.partition("=")
        if key == "rel" and family.rel and re.fullmatch("[1-9]", value):
            rel = int(value)
        elif key == "judged_only" and family.judged_only and value in ("True", "False"):
            judged_only = value == "True"
        else:
            known = ["rel=1 … 9"] * family.rel + ["judged_only=True"] * family.judged_only
            raise InputError(
                f"--measure {name}: {parameter!r} is not understood; {match[1]} takes "
                f"{' and '.join(known) or 'no parameters'} here"
            )
    cutoff, recall = match[3], match[1] == "IPrec"  # IPrec is cut at a level of recall
    template = family.plain if cutoff is None else family.at
    if not template or (cutoff and not recall and not re.fullmatch("[1-9][0-9]*", cutoff)):
        example = f"{match[1]}@{0.1 if recall else 10}"
        wanted = f"needs a cut-off, as {example}" if family.at else "takes no cut-off"
        raise InputError(f"--measure {name}: {match[1]} {wanted} here")
    at = float(cutoff) if cutoff and recall else cutoff
    written = [*([f"rel={rel}"] if family.rel else []), *(["judged_only=True"] * judged_only)]
    key = (
        match[1] + (f"({','.join(written)})" if written else "") + (f"@{cutoff}" if cutoff else "")
    )
    return (Measure(key, template.format(at), judged_only, rel),)
