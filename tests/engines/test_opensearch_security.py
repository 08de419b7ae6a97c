"""The roles of docs/USAGE.md, on a node with OpenSearch's own security plugin."""

from __future__ import annotations

import json
import re
import shutil
import ssl
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

import pytest
from loading import described, load
from opensearch_nodes import Nodes, started

from arqmath_bm25.core.errors import InputError
from arqmath_bm25.engines.opensearch.cluster_index import (
    add_replicas,
    check_rights,
    is_loaded,
    load_documents,
    remove_index,
    stored_indexes,
)
from arqmath_bm25.engines.opensearch.cluster_search import OpenSearchSearcher
from arqmath_bm25.engines.opensearch.connection import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.slow
USAGE = Path(__file__).parents[2] / "docs" / "USAGE.md"
VARIABLE = "ARQMATH_OPENSEARCH_"
PASSWORD = "Bauxit-73!xyzq"  # noqa: S105
INDEX = described("secured", 3)

Role = dict[str, Any]


def roles() -> dict[str, Role]:
    """Return the roles that the guide lists."""
    block = USAGE.read_text(encoding="utf-8").partition("```json\n[{")[2]
    operations = json.loads("[{" + block.partition("```")[0])
    assert {operation["op"] for operation in operations} == {"add"}
    return {operation["path"].removeprefix("/"): operation["value"] for operation in operations}


@pytest.fixture(scope="module")
def secured() -> Iterator[Nodes]:
    with started(1, secured="1") as nodes:
        yield nodes


@pytest.fixture
def client_of(secured: Nodes, monkeypatch: pytest.MonkeyPatch) -> Callable[[Role], Any]:
    """Return a function that gives a user one role, and connects as this user."""
    keys = secured.directory / "keys"
    context = ssl.create_default_context(cafile=str(keys / "ca.pem"))
    context.load_cert_chain(keys / "admin.pem", keys / "admin.key")
    opener = build_opener(ProxyHandler({}), HTTPSHandler(context=context))

    def put(path: str, body: object) -> None:
        url = f"{secured.hosts[0]}/_plugins/_security/api/{path}"
        kind = {"content-type": "application/json"}
        opener.open(Request(url, json.dumps(body).encode(), kind, method="PUT")).close()  # noqa: S310

    def connected(role: Role) -> Any:
        put("internalusers/bob", {"password": PASSWORD})
        put("roles/tested", role)
        put("rolesmapping/tested", {"users": ["bob"]})
        monkeypatch.setenv("ARQMATH_OPENSEARCH_CA", str(keys / "ca.pem"))
        monkeypatch.setenv("ARQMATH_OPENSEARCH_USER", "bob")
        monkeypatch.setenv("ARQMATH_OPENSEARCH_PASSWORD", PASSWORD)
        return connect(secured.hosts)

    return connected


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    rows = [{"id": str(n), "contents": f"w{n} all"} for n in range(3)]
    (tmp_path / "part.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


def test_each_role_does_its_work_and_no_other(
    secured: Nodes,
    client_of: Callable[[Role], Any],
    documents: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    loader = client_of(roles()["arqmath_load"])
    check_rights(secured.hosts)
    load(secured.hosts, INDEX, documents)
    assert is_loaded(loader, INDEX)
    add_replicas(loader, INDEX, 1, patience=1)
    assert "1 copies of shards are missing" in caplog.text
    searcher = client_of(roles()["arqmath_search"])
    opened = OpenSearchSearcher(searcher, INDEX)
    hits = opened.search({"contents": {"all": 1.0, "w1": 1.0}}, 5)
    assert [hit.doc_id for hit in hits] == ["1", "2", "0"]
    assert opened.document_counts({"contents": ["all", "w1"]}) == {"contents": {"all": 3, "w1": 1}}
    for refused in (
        lambda: check_rights(secured.hosts),
        lambda: remove_index(searcher, INDEX.name),
    ):
        with pytest.raises(InputError, match=r"no permissions for \[indices:admin/"):
            refused()
    administrator = client_of(roles()["arqmath_cluster"])
    (stored,) = stored_indexes(administrator)
    assert (stored.name, stored.documents) == (INDEX.name, 3)
    assert stored.state.startswith("yellow: 1 copies")
    remove_index(administrator, INDEX.name)
    assert stored_indexes(administrator) == []


def test_the_role_that_loads_an_index_changes_it(
    secured: Nodes, client_of: Callable[[Role], Any], documents: Path, tmp_path: Path
) -> None:
    client_of(roles()["arqmath_load"])
    former, changed = described("former", 3), described("changed", 3)
    load(secured.hosts, former, documents)
    part = tmp_path / "new"
    part.write_text('{"id": "3", "contents": "w3 all"}\n')
    load_documents(secured.hosts, changed, [part], copied=former.name, gone=["0"])
    opened = OpenSearchSearcher(client_of(roles()["arqmath_search"]), changed)
    hits = opened.search({"contents": {"all": 1.0}}, 5)
    assert [hit.doc_id for hit in hits] == ["3", "2", "1"]
    assert opened.document_counts({"contents": ["all", "w0"]}) == {"contents": {"all": 3}}
    administrator = client_of(roles()["arqmath_cluster"])
    for index in (former, changed):
        remove_index(administrator, index.name)
    assert stored_indexes(administrator) == []


def test_the_right_that_is_missing_is_named_and_nothing_is_left(
    secured: Nodes,
    client_of: Callable[[Role], Any],
) -> None:
    whole = roles()["arqmath_load"]
    needed = [*whole["cluster_permissions"], *whole["index_permissions"][0]["allowed_actions"]]
    for missing in set(needed) - {"cluster:monitor/main"}:
        role = json.loads(json.dumps(whole))
        role["cluster_permissions"] = [a for a in whole["cluster_permissions"] if a != missing]
        actions = role["index_permissions"][0]["allowed_actions"]
        role["index_permissions"][0]["allowed_actions"] = [a for a in actions if a != missing]
        client_of(role)
        with pytest.raises(InputError) as refused:
            check_rights(secured.hosts, replicas=1)
        assert missing.rstrip("*") in str(refused.value), missing
        assert "docs/USAGE.md" in str(refused.value), missing
    assert stored_indexes(client_of(roles()["arqmath_cluster"])) == []


def test_a_user_without_a_role_is_told_so(client_of: Callable[[Role], Any]) -> None:
    nothing: Role = {"cluster_permissions": [], "index_permissions": []}
    with pytest.raises(InputError, match=r"no permissions for \[cluster:monitor/main\]"):
        client_of(nothing)


@pytest.mark.parametrize(
    ("address", "variables", "message"),
    [
        ("http://127.0.0.1", {"USER": None}, "; if TLS is spoken there, write https:// in hosts"),
        ("http://127.0.0.1", {}, "a password is sent to https:// hosts only"),
        ("https://localhost", {}, "the certificate there is for other names; write one of them"),
        ("https://127.0.0.1", {"CA": None}, f"; {VARIABLE}CA names a file with the authority"),
        ("https://127.0.0.1", {"CA": str(USAGE)}, f"{VARIABLE}CA: .*: expected a certificate in"),
        ("https://127.0.0.1", {"PASSWORD": None}, f"401.*; set {VARIABLE}USER and _PASSWORD"),
        ("https://127.0.0.1", {"PASSWORD": PASSWORD[:6]}, f"401.*; set {VARIABLE}USER and _PASS"),
    ],
)
def test_what_a_login_lacks_is_named_and_the_advice_helps(
    secured: Nodes,
    client_of: Callable[[Role], Any],
    monkeypatch: pytest.MonkeyPatch,
    address: str,
    variables: dict[str, str | None],
    message: str,
) -> None:
    client_of(roles()["arqmath_search"]).close()
    (host,) = secured.hosts
    with monkeypatch.context() as patched:
        for name, value in variables.items():
            if value is None:
                patched.delenv(VARIABLE + name)
            else:
                patched.setenv(VARIABLE + name, value)
        with pytest.raises(InputError, match=message) as refused:
            connect([host.replace("https://127.0.0.1", address)])
        assert PASSWORD[:6] not in str(refused.value)
    connect([host]).close()


@pytest.mark.slow
@pytest.mark.nightly
def test_the_guide_leads_from_stock_security_to_a_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = USAGE.read_text(encoding="utf-8")
    section = guide.partition("\n## From nothing to a cluster search")[2]
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    (of_roles,) = [text for kind, text in blocks if kind == "json"]
    searching, roles_by_curl = [text for kind, text in blocks if not kind]
    (password,) = re.findall("ARQMATH_OPENSEARCH_PASSWORD='(.*)'", searching)
    monkeypatch.setenv("OPENSEARCH_INITIAL_ADMIN_PASSWORD", password)
    (tmp_path / "roles.json").write_text(of_roles)

    def run(commands: str, host: str) -> str:
        """Run commands of the guide, without those that install the package or need Docker."""
        lines = [line for line in commands.splitlines() if not line.startswith(("pip", "docker"))]
        script = "\n".join(lines).replace("https://localhost:9200", host)
        script = script.replace("arqmath-bm25 ", f"{sys.executable} -m arqmath_bm25 ")
        script = script.replace("-u admin", f"-sSf -u 'admin:{password}'")
        done = subprocess.run(
            ["/bin/bash", "-euc", script], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with started(1, secured="stock") as nodes:
        host = nodes.hosts[0].replace("127.0.0.1", "localhost")
        shutil.copy(nodes.directory / "keys" / "ca.pem", tmp_path / "root-ca.pem")  # `docker cp`
        said = run(searching, host)
        assert "221 answers indexed" in said
        assert "answer 11401" in said
        assert re.search(r"arqmath-task1-\w{12}: arqmath-sample, 221 documents.*, complete", said)

        assert run(roles_by_curl, host).count('"status":') == 2
        (of_alice,) = re.findall('"password": "(.*?)"', roles_by_curl)
        as_alice = (
            searching.replace("USER=admin", "USER=alice")
            .replace(password, of_alice)
            .replace("arqmath-bm25 cluster ", "arqmath-bm25 cluster --remove $(cat name) ")
        )
        (name,) = re.findall(r"arqmath-task1-\w{12}", said)
        (tmp_path / "name").write_text(name)
        assert f"{name}: removed" in run(as_alice, host)
