"""What tests of a cluster share: a client, whatever node or stub the hosts of a module are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from arqmath_bm25.engines.opensearch.connection import connect

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def client(hosts: list[str]) -> Iterator[Any]:
    connected = connect(hosts)
    yield connected
    connected.close()
