"""The command `cluster`: lists the indexes of this program in a cluster, and removes some."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from arqmath_bm25.cli.shared.options import out, results
from arqmath_bm25.engines.engine import chosen_engine


def cluster(
    hosts: Annotated[str, typer.Option(metavar="URL,...", help="An OpenSearch cluster's nodes.")],
    remove: Annotated[
        list[str] | None, typer.Option(help="The name of an index to remove; repeatable.")
    ] = None,
) -> None:
    """List the indexes that this program made in a cluster, whoever called it; remove those named.

    Nothing else is ever removed. An index that is not complete is being loaded, or its load was
    interrupted: `index` goes on with it.

    Example: arqmath-bm25 cluster --hosts https://HOST:9200
    """
    from arqmath_bm25.engines.opensearch import connect, remove_index, stored_indexes

    with closing(connect(chosen_engine("opensearch", hosts).hosts)) as client:
        for name in remove or ():
            remove_index(client, name)
            out.print(f"{name}: removed")
        for index in () if remove else stored_indexes(client):
            state = "" if index.documents == index.expected else f" of {index.expected:,}"
            results.print(
                f"{index.name}: {index.documents:,}{state} documents, {index.size / 1e6:,.1f} MB, "
                f"by {index.made_by}"
            )
