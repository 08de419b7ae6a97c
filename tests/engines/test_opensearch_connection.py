"""The login to a cluster, and what is said when it fails; a server of this process answers."""

from __future__ import annotations

import base64
import json
import shutil
import socket
import subprocess
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from cluster_proxy import Answer, Asked, Proxy, certificates, proxy, tls

from arqmath_bm25.core.errors import InputError, InterruptedWorkError
from arqmath_bm25.engines.engine import chosen_engine
from arqmath_bm25.engines.opensearch import connection
from arqmath_bm25.engines.opensearch.connection import connect, patiently

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytest.importorskip("opensearchpy", reason="arqmath-bm25[opensearch] is not installed")

NOWHERE = "http://127.0.0.1:1"
VARIABLE = "ARQMATH_OPENSEARCH_"
HELLO = Answer(200, b'{"version": {"distribution": "opensearch", "number": "3.4.0"}}')


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates")
    place = tmp_path_factory.mktemp("keys")
    certificates(place)
    return place


@contextmanager
def answering(
    answer: Callable[[Asked], Answer], tls_context: ssl.SSLContext | None = None
) -> Iterator[Proxy]:
    """Run a server that gives an answer to each request."""
    with proxy(NOWHERE, tls_context) as running:
        running.fault = answer
        yield running


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (["http://bob:sekret@127.0.0.1:1"], "hosts: a URL must not hold a user or password"),
        (["bob:sekret@127.0.0.1:1"], "hosts: a URL must not hold a user or password"),
        (["https://a:9200", " "], "hosts: ' ': expected https://HOST:9200"),
        (["ftp://a:9200"], "hosts: 'ftp://a:9200': expected https://HOST:9200"),
        (["https://a:port"], "hosts: 'https://a:port': expected https://HOST:9200"),
        (["https://a:0"], "hosts: 'https://a:0': expected https://HOST:9200"),
        (["https://a:65536"], "hosts: 'https://a:65536': expected https://HOST:9200"),
        ([NOWHERE], r"Connection refused.*; see whether it runs, and to the port$"),
    ],
)
def test_hosts_that_are_none(hosts: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        connect(hosts)
    assert "sekret" not in str(refused.value)


def test_hosts_may_be_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{VARIABLE}HOSTS", "https://a:9200,https://b:9200")
    assert chosen_engine("opensearch").hosts == ("https://a:9200", "https://b:9200")
    assert chosen_engine("opensearch", "https://c:9200").hosts == ("https://c:9200",)
    assert chosen_engine("flat").hosts == ()
    monkeypatch.delenv(f"{VARIABLE}HOSTS")
    with pytest.raises(InputError, match=f"or {VARIABLE}HOSTS with them"):
        chosen_engine("opensearch")


@pytest.mark.parametrize("name", ["USER", "API_KEY", "TOKEN", "TOKEN_FILE"])
def test_a_password_is_sent_over_tls_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret\n")
    variable = f"{VARIABLE}{name}"
    monkeypatch.setenv(variable, str(secret) if name.endswith("FILE") else "s3cret")
    with pytest.raises(InputError, match="https:// hosts only"):
        connect([NOWHERE])


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"USER": "alice", "TOKEN": "x"}, f"set one of {VARIABLE}USER"),
        ({"API_KEY": "x", "TOKEN": "x"}, f"set one of {VARIABLE}USER"),
        ({"TOKEN": "two words"}, "expected one word of ASCII"),
    ],
)
def test_credentials_that_do_not_fit(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], message: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(VARIABLE + name, value)
    with pytest.raises(InputError, match=message):
        connect(["https://127.0.0.1:1"])


@pytest.mark.parametrize(
    ("variables", "header"),
    [
        ({"USER": "alice", "PASSWORD": "pässwörd"}, "Basic"),
        ({"API_KEY": "c2VjcmV0"}, "ApiKey c2VjcmV0"),
        ({"TOKEN": "ey.token"}, "Bearer ey.token"),
        ({"TOKEN_FILE": "token"}, "Bearer of-a-file"),
    ],
)
def test_who_asks_is_said_over_tls(
    keys: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], header: str
) -> None:
    (keys / "token").write_text("of-a-file\n")
    if header == "Basic":
        header += " " + base64.b64encode("alice:pässwörd".encode()).decode()
    monkeypatch.chdir(keys)
    for name, value in variables.items():
        monkeypatch.setenv(VARIABLE + name, value)

    def guard(asked: Asked) -> Answer:
        if asked.authorization == header:
            return HELLO
        return Answer(401, b"Unauthorized", "text/plain")

    with answering(guard, tls(keys)) as running:
        with pytest.raises(InputError, match=f"{VARIABLE}CA names a file with the authority"):
            connect([running.url])
        monkeypatch.setenv(f"{VARIABLE}CA", "ca.pem")
        connect([running.url]).close()
        connect([running.url.removeprefix("https://")]).close()  # https is the default
        for name in variables:
            monkeypatch.delenv(VARIABLE + name)
        with pytest.raises(InputError, match=f"401.*; set {VARIABLE}USER and _PASSWORD") as refused:
            connect([running.url])
        assert "\n" not in str(refused.value)


def test_a_client_certificate(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{VARIABLE}CA", str(keys / "ca.pem"))
    with answering(lambda _: HELLO, tls(keys, wants_certificate=True)) as running:
        with pytest.raises(InputError, match=f"set {VARIABLE}CERTIFICATE and _KEY to yours"):
            connect([running.url])
        monkeypatch.setenv(f"{VARIABLE}CERTIFICATE", str(keys / "client.pem"))
        monkeypatch.setenv(f"{VARIABLE}KEY", str(keys / "client.key"))
        connect([running.url]).close()


def test_an_authority_that_is_missing_or_no_certificate(
    keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(keys)
    monkeypatch.setenv(f"{VARIABLE}CA", "nowhere.pem")
    with pytest.raises(InputError, match=r"CA: nowhere\.pem: no such file"):
        connect(["https://127.0.0.1:1"])
    monkeypatch.setenv(f"{VARIABLE}CA", "names")
    with pytest.raises(InputError, match=f"^{VARIABLE}CA: names: expected a certificate in PEM"):
        connect(["https://127.0.0.1:1"])


def test_a_certificate_for_other_names(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{VARIABLE}CA", str(keys / "ca.pem"))
    with answering(lambda _: HELLO, tls(keys)) as running:
        other = running.url.replace("127.0.0.1", "localhost")
        with pytest.raises(InputError, match="; the certificate there is for other names; write"):
            connect([other])
        connect([running.url]).close()


def test_a_certificate_that_has_expired(
    keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ca.pem", "ca.key", "server.csr", "server.key", "names"):
        shutil.copy(keys / name, tmp_path)
    command = "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days -1"
    subprocess.run(
        [*command.split(), "-out", "server.pem", "-extfile", "names"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    monkeypatch.setenv(f"{VARIABLE}CA", str(tmp_path / "ca.pem"))
    with (
        answering(lambda _: HELLO, tls(tmp_path)) as running,
        pytest.raises(InputError, match=r"has expired.*; whoever runs the cluster must renew"),
    ):
        connect([running.url])


def test_a_container_that_is_starting_asks_for_patience(
    keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It closes connections at first; then the node answers, without its users yet."""
    monkeypatch.setenv(f"{VARIABLE}CA", str(keys / "ca.pem"))
    with socket.create_server(("127.0.0.1", 0)) as port:

        def close_connections() -> None:
            with suppress(OSError):
                while True:
                    port.accept()[0].close()

        Thread(target=close_connections, daemon=True).start()
        url = f"https://127.0.0.1:{port.getsockname()[1]}"
        with pytest.raises(InterruptedWorkError, match="; if the cluster is just starting, wait"):
            connect([url])

    without_users = Answer(503, b"OpenSearch Security not initialized.", "text/plain")
    with answering(lambda _: without_users, tls(keys)) as running:
        with pytest.raises(InterruptedWorkError, match=r"\(503\); if the cluster is just starting"):
            connect([running.url])
        running.fault = lambda _: HELLO
        connect([running.url]).close()


def test_tls_is_neither_left_out_nor_spoken_where_there_is_none(keys: Path) -> None:
    with answering(lambda _: HELLO) as running:
        with pytest.raises(InputError, match="no TLS is spoken there"):
            connect([running.url.replace("http:", "https:")])
        connect([running.url]).close()
    with (
        answering(lambda _: HELLO, tls(keys)) as running,
        pytest.raises(InputError, match=r"; if TLS is spoken there, write https:// in hosts$"),
    ):
        connect([running.url.replace("https:", "http:")])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            Answer(200, b'{"service": "another"}'),
            "what answers there is another server: check host and port",
        ),
        (
            Answer(200, b'"a string"'),
            "what answers there is another server: check host and port",
        ),
        (
            Answer(200, b'{"version": "1"}'),
            "what answers there is another server: check host and port",
        ),
        (Answer(200, b"<html>", "text/html"), "not OpenSearch"),
        (Answer(404, b"<html>no</html>", "text/html"), "404"),
        (
            Answer(200, b'{"version": {"number": "8.1.0"}}'),
            "what answers there is another server 8.1.0: check",
        ),
        (
            Answer(200, b'{"version": {"number": "2.19.1", "distribution": "opensearch"}}'),
            "expected OpenSearch 3 or later.* answers there is opensearch 2.19.1: check",
        ),
    ],
)
def test_another_server(answer: Answer, message: str) -> None:
    with answering(lambda _: answer) as running:
        with pytest.raises(InputError, match=message) as refused:
            connect([running.url])
        assert "\n" not in str(refused.value)


def refusing(status: int, kind: str, reason: str) -> Answer:
    """Return an error whose cause is found at the root only, as of many shards."""
    cause = {"type": kind, "reason": reason}
    whole = {"type": "exception", "reason": "all shards failed"}
    error = {"error": {**whole, "root_cause": [cause]}, "status": status}
    return Answer(status, json.dumps(error).encode())


def rootless(status: int, kind: str, reason: str) -> Answer:
    """Return an error without a root, as where no shard could answer."""
    error = {"error": {"type": kind, "reason": reason, "root_cause": []}, "status": status}
    return Answer(status, json.dumps(error).encode())


@pytest.mark.parametrize(
    ("answer", "cure"),
    [
        (
            refusing(403, "cluster_block_exception", "blocked by: [FORBIDDEN/8/write (api)];"),
            "somebody set this block; PUT NAME/_settings lifts it",
        ),
        (
            refusing(400, "index_closed_exception", "index_closed"),
            "POST NAME/_open opens it, or `arqmath-bm25 cluster` removes it",
        ),
        (
            refusing(400, "illegal_argument_exception", "no write index is defined for alias [x]"),
            "others use the name NAME.load; rename theirs, or take another cluster",
        ),
        (
            refusing(400, "illegal_argument_exception", "Result window is too large"),
            "somebody lowered index.max_result_window; PUT NAME/_settings sets it to 2147483647 "
            "again",
        ),
        (
            refusing(400, "too_many_nested_clauses", "maxClauseCount is set to 1024"),
            "raise the limit of the cluster: curl -X PUT HOST/_cluster/settings",
        ),
        (
            rootless(400, "search_phase_execution_exception", "all shards failed"),
            "a shard may be on no node: `arqmath-bm25 cluster` tells",
        ),
        (refusing(403, "security_exception", "no permissions"), "this user lacks a right"),
        (Answer(413), "a proxy before the cluster must let larger requests pass"),
        (Answer(404), None),
    ],
)
def test_an_error_is_one_sentence_with_its_cure(answer: Answer, cure: str | None) -> None:
    with answering(lambda asked: HELLO if asked.path == "/" else answer) as running:
        client = connect([running.url])
        with pytest.raises(InputError) as refused:
            patiently(client.indices.get, index="x")
        client.close()
    said = str(refused.value)
    assert said.startswith("OpenSearch: ")
    assert "\n" not in said
    assert (f"; {cure}" in said) if cure else (";" not in said)


def test_a_cluster_that_does_not_answer_is_named_at_once() -> None:
    with answering(lambda _: Answer(503)) as running:
        with pytest.raises(InputError, match=r"\(503\)") as refused:
            connect([running.url])
        assert "goes on later" not in str(refused.value)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_what_may_pass_is_asked_again_and_what_cannot_is_not(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(connection, "_PATIENCE", 5.0)
    answers = [Answer(404), HELLO, HELLO, Answer(status), Answer(status)]
    with answering(lambda _: answers.pop()) as running:
        client = connect([running.url], patience=None)
        assert answers == [Answer(404), HELLO]
        assert patiently(client.info)
        with pytest.raises(InputError, match="404"):
            patiently(client.info)
        client.close()
    assert answers == []
