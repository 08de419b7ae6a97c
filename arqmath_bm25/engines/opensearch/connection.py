"""A client of an OpenSearch cluster: addresses, credentials, retries, and errors in words.

Version 2 multiplies scores by k1 + 1, so it is refused. Environment variables hold the credentials
(docs/USAGE.md), which are sent over TLS only; certificates are verified.
"""

import base64
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from arqmath_bm25.core.errors import InputError, InterruptedWorkError, shown
from arqmath_bm25.core.progress import tell
from arqmath_bm25.core.reading import read_text
from arqmath_bm25.core.system import needed_by

_PATIENCE = 120.0  # seconds, for a cluster that lost a node
# Statuses worth another try; a search during which a node died ends with 500.
_PASSING = (429, 500, 502, 503, 504, "N/A", "TIMEOUT")
_CLAUSES = "too_many|maxClauseCount"
# Errors that recur at every try.
_LASTING = f"{_CLAUSES}|CERTIFICATE_|BAD_CERTIFICATE|WRONG_VERSION"
_VARIABLES = "ARQMATH_OPENSEARCH_"


def connect(hosts: Sequence[str], patience: float | None = 0) -> Any:
    """Return a client of a cluster, whose hosts are URLs, by default of https.

    Raises InputError if the cluster cannot be reached for `patience` seconds (None: as long as
    other requests are tried), or is not OpenSearch 3 or later.
    """
    with needed_by("the engine opensearch", "opensearch"):
        from opensearchpy import OpenSearch

    urls = [_url(host) for host in hosts]
    header = _authorization()
    certificate = _file("CERTIFICATE")
    plain = [url for url in urls if url.startswith("http:")]
    if plain and (header or certificate):
        raise InputError(f"{plain[0]}: a password is sent to https:// hosts only")
    authority = _file("CA")
    if authority:
        import ssl

        try:
            ssl.create_default_context(cafile=authority)
        except (ssl.SSLError, UnicodeDecodeError):
            raise InputError(
                f"{_VARIABLES}CA: {authority}: expected a certificate in PEM form, which begins "
                "with -----BEGIN CERTIFICATE-----"
            ) from None

    client = OpenSearch(
        urls,
        headers=header,
        ca_certs=authority,
        client_cert=certificate,
        client_key=_file("KEY"),
        max_retries=len(urls),
        retry_on_timeout=True,
        timeout=60,
    )
    answer = patiently(client.info, patience=patience)
    server = "another server"
    if isinstance(answer, dict) and isinstance(answer.get("version"), dict):
        version = answer["version"]
        server = f"{version.get('distribution', server)} {version.get('number', '')}".strip()
    if not re.match(r"opensearch ([3-9]|\d\d)\.", server):
        raise InputError(
            f"{urls[0]}: expected OpenSearch 3 or later, which scores as Lucene does; what answers "
            f"there is {server}: check host and port"
        )
    return client


def _url(host: str) -> str:
    """Return the URL of a host; InputError, which does not repeat it, if it holds a password."""
    if "@" in host:
        raise InputError(
            "hosts: a URL must not hold a user or password; set "
            f"{_VARIABLES}USER and {_VARIABLES}PASSWORD"
        )
    url = host.strip()
    if "://" not in url:
        url = f"https://{url}"
    parts = re.fullmatch(r"https?://([^/:\s[\]]+|\[[\da-fA-F:.]+\])(?::(\d{1,5}))?(/\S*)?", url)
    if not parts or not 0 < int(parts[2] or 443) < 1 << 16:
        raise InputError(f"hosts: {shown(host)}: expected https://HOST:9200, with commas between")
    return url


def _authorization() -> dict[str, str]:
    """Return the header with the credentials: a user, an API key or a bearer token."""
    user = _secret("USER")
    key = _secret("API_KEY")
    token = _secret("TOKEN")
    if bool(user) + bool(key) + bool(token) > 1:
        raise InputError(f"set one of {_VARIABLES}USER, {_VARIABLES}API_KEY and {_VARIABLES}TOKEN")

    if user:
        pair = f"{user}:{_secret('PASSWORD')}"
        return {"authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
    if not re.fullmatch(r"[!-~]*", key + token):
        raise InputError(f"{_VARIABLES}API_KEY and {_VARIABLES}TOKEN: expected one word of ASCII")
    if key:
        return {"authorization": f"ApiKey {key}"}
    if token:
        return {"authorization": f"Bearer {token}"}
    return {}


def _secret(name: str) -> str:
    """Return a secret from its variable, or from the file that the variable with _FILE names."""
    path = _file(f"{name}_FILE")
    if path:
        return read_text(Path(path)).strip()
    return os.environ.get(_VARIABLES + name, "")


def _file(name: str) -> str | None:
    path = os.environ.get(_VARIABLES + name)
    if path and not Path(path).is_file():
        raise InputError(f"{_VARIABLES}{name}: {path}: no such file")
    return path or None


def search_all(client: Any, name: str, body: object, how: str = "query_then_fetch") -> Any:
    """Search every shard of an index; fail rather than leave one out."""
    return patiently(
        client.search, index=name, body=body, search_type=how, allow_partial_search_results=False
    )


def patiently(call: Callable[..., Any], *, patience: float | None = None, **arguments: Any) -> Any:
    """Call the cluster; try again while it may recover.

    Raises InterruptedWorkError if the cluster does not recover, InputError for a lasting error.
    """
    from opensearchpy import exceptions

    if patience is None:
        patience = _PATIENCE
    end = time.monotonic() + patience
    attempt = 0
    while True:
        try:
            return call(**arguments)
        except exceptions.TransportError as error:
            sentence = _sentence(error)
            if error.status_code not in _PASSING or re.search(_LASTING, sentence):
                raise InputError(sentence) from None
            if patience == 0:
                raise InterruptedWorkError(sentence) from None
            if time.monotonic() > end:
                raise InterruptedWorkError(f"{sentence}; the same command goes on later") from None
        except (exceptions.ImproperlyConfigured, exceptions.SerializationError) as error:
            raise InputError(f"OpenSearch: what answered is not OpenSearch ({error})") from None

        if attempt == 3:
            tell(f"{sentence}; trying again")
        time.sleep(min(0.1 * 2**attempt, 5))
        attempt += 1


_RAISE_CLAUSES = (
    "raise the limit of the cluster: curl -X PUT HOST/_cluster/settings -H 'content-type: "
    'application/json\' -d \'{"persistent": {"indices.query.bool.max_clause_count": 16384}}\''
)
# A pattern in the words of an error → the cure. The first pattern that matches counts.
_CURES = {
    "mismatch, certificate": "the certificate there is for other names; write one of them in hosts",
    "certificate has expired": "whoever runs the cluster must renew its certificate",
    "CERTIFICATE_VERIFY_FAILED": f"{_VARIABLES}CA names a file with the authority that signs here",
    "CERTIFICATE_REQUIRED": f"set {_VARIABLES}CERTIFICATE and _KEY to yours",
    "WRONG_VERSION_NUMBER": "no TLS is spoken there; see to the port",
    # A container takes connections half a minute before the node in it does, and closes them.
    "violation of protocol": "if the cluster is just starting, wait half a minute; if it asks for "
    f"a certificate, set {_VARIABLES}CERTIFICATE and _KEY to yours",
    "Remote end closed|Connection reset": "if the cluster is just starting, wait half a minute; if "
    "TLS is spoken there, write https:// in hosts",
    "not initialized": "if the cluster is just starting, wait half a minute",
    "401": f"set {_VARIABLES}USER and _PASSWORD, or {_VARIABLES}API_KEY or _TOKEN, to who may",
    "FORBIDDEN/1[02]|REQUESTS/12": "its nodes lack disk; make room",
    "blocked by": "somebody set this block; PUT NAME/_settings lifts it",
    "index_closed": "POST NAME/_open opens it, or `arqmath-bm25 cluster` removes it",
    "no write index": "others use the name NAME.load; rename theirs, or take another cluster",
    "not an alias|no such index": "somebody removed it meanwhile; `arqmath-bm25 index` loads it",
    "search_phase_execution": "a shard may be on no node: `arqmath-bm25 cluster` tells",
    "routing is required": "a template of the cluster for arqmath-* asks for it; change that",
    "Result window": "somebody lowered index.max_result_window; PUT NAME/_settings sets it to "
    "2147483647 again",
    "403": "this user lacks a right; docs/USAGE.md lists those that are needed",
    "413": "a proxy before the cluster must let larger requests pass",
    _CLAUSES: _RAISE_CLAUSES,
    "Connection refused": "see whether it runs, and to the port",
}


def _sentence(error: Any) -> str:
    """Return the cluster's error as one sentence, with a cure if one is known."""
    cause = None
    if isinstance(error.info, dict):
        cause = error.info.get("error")
    if isinstance(cause, dict):
        roots = cause.get("root_cause") or [cause]
        words = f"{roots[0].get('reason')} ({error.status_code}, {roots[0].get('type')})"
    else:
        text = " ".join(str(cause or error.error).split())
        words = f"{text[:300]} ({error.status_code})"

    for sign, cure in _CURES.items():
        if re.search(sign, words):
            return f"OpenSearch: {words}; {cure}"
    return f"OpenSearch: {words}"
