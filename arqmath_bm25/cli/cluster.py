"""The command `cluster`: lists the indexes of this program in a cluster, and removes some."""

from contextlib import closing

from arqmath_bm25.cli.shared.command import command
from arqmath_bm25.cli.shared.options import out, results
from arqmath_bm25.engines.engine import chosen_engine


@command
def cluster(hosts: str, remove: list[str] | None = None) -> None:
    """List the indexes that this program built in a cluster, or remove some by name.

    Nothing else is ever removed. An incomplete index is being loaded, or its load was interrupted;
    `index` resumes it.

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
