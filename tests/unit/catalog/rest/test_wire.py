"""HTTP as servers, gateways and broken lines speak it: a whole answer, or an error."""

from __future__ import annotations

import datetime as dt
import gzip
import ipaddress
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from iceberg_spark.catalog.rest import wire
from iceberg_spark.catalog.rest.answers import LostAnswerError, NotSentError
from iceberg_spark.catalog.rest.settings import rest_settings
from iceberg_spark.catalog.rest.transport import Request, Transport
from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.io.limits import Limits

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
SOON = {"rest.client.connection-timeout-ms": "200"}
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@dataclass
class Scripted:
    """A server that answers the n-th request with the n-th bytes; None hangs, b"" hangs up.

    After `hangs_up` answers it closes the line, as servers do with lines that nobody uses.
    """

    answers: list[bytes | None]
    hangs_up: int | None = None
    heard: list[bytes] = field(default_factory=list)
    lines: int = 0
    closed: threading.Event = field(default_factory=threading.Event)
    _listening: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._listening.accept()
            except OSError:
                return
            self.lines += 1
            threading.Thread(target=self._talk, args=(line,), daemon=True).start()

    def _talk(self, line: socket.socket) -> None:
        with line:
            said = 0
            while request := _request(line):
                self.heard.append(request)
                answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if answer is None:
                    line.recv(1)
                    return
                line.sendall(answer)
                said += 1
                if not answer or self.hangs_up == said or b"Connection: close" in answer:
                    break
        self.closed.set()

    def close(self) -> None:
        self._listening.close()


def _request(line: socket.socket) -> bytes:
    heard = b""
    while b"\r\n\r\n" not in heard:
        part = line.recv(65536)
        if not part:
            return b""
        heard += part
    head, _, body = heard.partition(b"\r\n\r\n")
    sizes = [one for one in head.split(b"\r\n") if one.lower().startswith(b"content-length:")]
    wanted = int(sizes[0].partition(b":")[2]) if sizes else 0
    while len(body) < wanted:
        body += line.recv(65536)
    return head + b"\r\n\r\n" + body


Serving = Callable[..., Scripted]


@pytest.fixture
def serving() -> Iterator[Serving]:
    made: list[Scripted] = []

    def serve(*answers: bytes | None, **more: int) -> Scripted:
        made.append(Scripted(list(answers), **more))
        return made[-1]

    yield serve
    for each in made:
        each.close()


def transport(uri: str, **properties: str) -> Transport:
    return Transport(rest_settings("c", {"uri": uri, **properties}))


def asked(server: Scripted, path: str = "v1/config", **properties: str) -> bytes:
    line = transport(server.uri, **properties)
    return line.send(line.complete(Request("GET", path))).body


def test_a_line_is_used_again(serving: Serving):
    server = serving(OK)
    line = transport(server.uri)
    for _ in range(3):
        assert line.send(line.complete(Request("GET", "a"))).body == b"ok"
    assert server.lines == 1


def test_a_line_that_the_server_closed_meanwhile_is_not_used_again(serving: Serving):
    """A commit sent into it would be an answer that got lost."""
    server = serving(OK, hangs_up=1)
    line = transport(server.uri)
    for _ in range(3):
        server.closed.clear()
        assert line.send(line.complete(Request("POST", "a", body=b"{}"))).body == b"ok"
        assert server.closed.wait(10)
    assert server.lines == 3


def test_a_line_is_not_used_again_after_a_while(serving: Serving, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wire, "_KEPT_S", 0.0)
    server = serving(OK)
    line = transport(server.uri)
    for _ in range(2):
        line.send(line.complete(Request("GET", "a")))
    assert server.lines == 2


def test_threads_have_lines_of_their_own(serving: Serving):
    server = serving(OK)
    line = transport(server.uri)
    with ThreadPoolExecutor(8) as pool:
        every = pool.map(lambda n: line.send(line.complete(Request("GET", f"{n}"))).body, range(64))
        assert set(every) == {b"ok"}
    assert len({one.split(b" ")[1] for one in server.heard}) == 64


WHOLE = {
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n",
    "closed at the end": b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok",
    "an older HTTP": b"HTTP/1.0 200 OK\r\nConnection: close\r\n\r\nok",
    "after 100 Continue": b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
    "compressed": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s"
    % (len(gzip.compress(b"ok")), gzip.compress(b"ok")),
}


@pytest.mark.parametrize("answer", WHOLE)
def test_a_whole_answer_in_each_form_of_http(serving: Serving, answer: str):
    assert asked(serving(WHOLE[answer])) == b"ok"


ZIPPED = gzip.compress(b"ok" * 100)
ZIP = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
BROKEN = {
    "nothing": b"",
    "no HTTP": b"SSH-2.0-OpenSSH_9\r\n\r\n",
    "half a status": b"HTTP/1.",
    "half of the headers": b"HTTP/1.1 200 OK\r\nContent-Le",
    "half a body": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\nok",
    "no body": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 10\r\n\r\n",
    "half of the chunks": b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked"
    b"\r\n\r\n2\r\nok\r\n",
    "a chunk without a size": b"HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked"
    b"\r\n\r\nx\r\nok\r\n0\r\n\r\n",
    "a header without end": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
    "too many headers": b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 200 + b"\r\n",
    "half of what is compressed": ZIP % (len(ZIPPED) - 9) + ZIPPED[:-9],
    "compressed by what was not asked for": ZIP.replace(b"gzip", b"br") % 2 + b"ok",
    "not compressed as it says": ZIP % 2 + b"ok",
    "early hints": b"HTTP/1.1 103 Early Hints\r\nConnection: close\r\n\r\n",
}


@pytest.mark.parametrize("answer", BROKEN)
def test_an_incomplete_response_is_a_lost_response(serving: Serving, answer: str):
    server = serving(BROKEN[answer])
    server.hangs_up = 1
    with pytest.raises(LostAnswerError):
        asked(server)


def test_an_answer_does_not_grow_without_end(serving: Serving, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(wire, "DEFAULT_LIMITS", Limits(decompressed_bytes=199))
    with pytest.raises(LostAnswerError, match="199"):
        asked(serving(ZIP % len(ZIPPED) + ZIPPED))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3E8\r\n" + b"x" * 1000 + b"\r\n",
    ],
    ids=["announced", "chunked"],
)
def test_an_answer_of_more_bytes_than_any_server_means_is_not_read(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, answer: bytes
):
    monkeypatch.setattr(wire, "_MOST_BYTES", 500)
    line = transport(serving(answer).uri)
    with pytest.raises(LostAnswerError, match="more than 500 bytes"):
        line.send(line.complete(Request("GET", "a")))


def test_a_missing_response_times_out(serving: Serving):
    with pytest.raises(LostAnswerError, match="in time"):
        asked(serving(None), **{"rest.client.socket-timeout-ms": "100"})


def test_an_endless_response_times_out(serving: Serving, monkeypatch: pytest.MonkeyPatch):
    """Though each of its bytes comes in time."""
    monkeypatch.setattr("iceberg_spark.catalog.rest.transport._LONGEST_ANSWER_S", 0.0)
    with pytest.raises(LostAnswerError, match="does not end"):
        asked(serving(OK))


def test_a_line_whose_answer_was_cut_is_not_used_again(serving: Serving):
    server = serving(ZIP % 2 + b"xx", OK)
    line = transport(server.uri)
    with pytest.raises(LostAnswerError):
        line.send(line.complete(Request("GET", "a")))
    assert line.send(line.complete(Request("GET", "a"))).body == b"ok"
    assert server.lines == 2


@pytest.mark.parametrize(
    "uri", ["http://127.0.0.1:1", "http://no-such-host.invalid", f"http://{'a' * 70}.invalid"]
)
def test_a_server_that_can_not_be_reached_has_seen_nothing(uri: str):
    line = transport(uri)
    with pytest.raises(NotSentError, match="Can't reach GET"):
        line.send(line.complete(Request("GET", "v1/config")))


def test_a_server_that_does_not_speak_tls_has_seen_nothing(serving: Serving):
    line = transport(serving(OK).uri.replace("http:", "https:"), **SOON)
    with pytest.raises(NotSentError):
        line.send(line.complete(Request("GET", "v1/config")))


@pytest.mark.parametrize(
    "uri", ["http:///a", "http://a:b", "http://a:0", "http://[::1", "http://a b"]
)
def test_an_invalid_address_is_an_error_that_names_it(uri: str):
    line = transport(uri)
    with pytest.raises((InvalidInputError, NotSentError)):
        line.send(line.complete(Request("GET", "v1/config")))


@pytest.mark.parametrize("value", ["se\r\ncret", "se\ncret", "secr€t"])
def test_a_header_that_can_not_be_sent_is_not_shown(serving: Serving, value: str):
    server = serving(OK)
    with pytest.raises(InvalidInputError) as refused:
        asked(server, **{"header.X-Key": value})
    assert "cret" not in str(refused.value) and server.heard == []


def test_ones_own_headers_lie_over_ours(serving: Serving):
    server = serving(OK)
    asked(server, **{"header.user-agent": "mine", "header.Host": "elsewhere"})
    (heard,) = server.heard
    assert b"user-agent: mine" in heard and b"Host: elsewhere" in heard
    assert heard.lower().count(b"host:") == heard.lower().count(b"user-agent:") == 1


def test_a_change_without_a_body_has_content_length_zero(serving: Serving):
    server = serving(OK)
    line = transport(server.uri)
    line.send(line.complete(Request("POST", "a")))
    assert b"Content-Length: 0" in server.heard[0]


def test_the_environments_proxy_gets_the_whole_url(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
):
    proxy = serving(OK)
    monkeypatch.setenv("http_proxy", proxy.uri.replace("//", "//me:pw@"))
    line = transport("http://user@catalog.test:81")
    line.send(line.complete(Request("GET", "a", {"b": "c"})))
    assert proxy.heard[0].startswith(b"GET http://catalog.test:81/a?b=c HTTP/1.1")
    assert b"Proxy-Authorization: Basic bWU6cHc=" in proxy.heard[0]
    monkeypatch.setenv("no_proxy", "catalog.test")
    with pytest.raises(NotSentError):
        line.send(line.complete(Request("GET", "a")))


def test_a_servers_secrets_go_through_a_tunnel_and_the_proxys_not_to_the_server(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
):
    proxy = serving(b"HTTP/1.1 200 Connected\r\n\r\n")
    monkeypatch.setenv("HTTPS_PROXY", proxy.uri.replace("//", "//me:pw@"))
    line = transport("https://catalog.test", **SOON)
    with pytest.raises((NotSentError, LostAnswerError)):  # what follows is no TLS
        line.send(line.complete(Request("GET", "a", headers={"Authorization": "Bearer s"})))
    assert proxy.heard[0].startswith(b"CONNECT catalog.test:443")
    assert b"Proxy-Authorization" in proxy.heard[0] and b"Bearer" not in proxy.heard[0]


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "https://127.0.0.1:1"])
def test_another_kind_of_proxy_is_not_passed_over(monkeypatch: pytest.MonkeyPatch, proxy: str):
    monkeypatch.setenv("ALL_PROXY", proxy)
    line = transport("http://catalog.test")
    with pytest.raises(UnsupportedError, match="proxy"):
        line.send(line.complete(Request("GET", "a")))


def test_a_forked_process_has_lines_of_its_own(serving: Serving):
    server = serving(OK)
    line = transport(server.uri)
    line.send(line.complete(Request("GET", "a")))
    child = os.fork()
    if child == 0:
        body = line.send(line.complete(Request("GET", "b"))).body
        os._exit(0 if body == b"ok" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert line.send(line.complete(Request("GET", "c"))).body == b"ok"
    assert server.lines == 2


@dataclass(frozen=True)
class Certificates:
    """A server's and a client's certificate by an authority of one's own, as files."""

    authority: str
    server: tuple[str, str]
    client: tuple[str, str]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("tls")
    top = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
    now = dt.datetime.now(dt.UTC)

    def signed(end: str, subject: x509.Name, key: ec.EllipticCurvePrivateKey, ca: bool) -> str:
        host = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        made = (
            x509.CertificateBuilder(name, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([host]), critical=False)
            .sign(top, hashes.SHA256())
        )
        file = folder / f"{end}.pem"
        file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        return str(file)

    def pair(end: str) -> tuple[str, str]:
        key = ec.generate_private_key(ec.SECP256R1())
        file = folder / f"{end}.key"
        form = serialization.PrivateFormat.PKCS8
        plain = serialization.NoEncryption()
        file.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, end)])
        return signed(end, subject, key, False), str(file)

    return Certificates(signed("top", name, top, True), pair("server"), pair("client"))


@pytest.fixture
def over_tls(certificates: Certificates) -> Iterator[Callable[..., str]]:
    """Serve one answer to each line over TLS, only to a client with a certificate if so asked."""
    made: list[socket.socket] = []

    def serve(*, asks: bool = False) -> str:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificates.server)
        if asks:
            context.load_verify_locations(certificates.authority)
            context.verify_mode = ssl.CERT_REQUIRED
        listening = socket.create_server(("127.0.0.1", 0))
        made.append(listening)

        def answer() -> None:
            while True:
                try:
                    line, _ = listening.accept()
                except OSError:
                    return
                with suppress(OSError), context.wrap_socket(line, server_side=True) as safe:
                    if _request(safe):
                        safe.sendall(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))

        threading.Thread(target=answer, daemon=True).start()
        return f"https://127.0.0.1:{listening.getsockname()[1]}"

    yield serve
    for each in made:
        each.close()


def test_a_server_is_verified_by_the_configured_authority_only(
    over_tls: Callable[..., str], certificates: Certificates
):
    uri = over_tls()
    line = transport(uri, **{"ssl.cabundle": certificates.authority})
    assert line.send(line.complete(Request("GET", "a"))).body == b"ok"
    line = transport(uri)
    with pytest.raises(NotSentError, match=r"(?i)certificate"):
        line.send(line.complete(Request("GET", "a")))


def test_a_server_under_another_name_is_another(
    over_tls: Callable[..., str], certificates: Certificates
):
    uri = over_tls().replace("127.0.0.1", "localhost")
    line = transport(uri, **{"ssl.cabundle": certificates.authority})
    with pytest.raises(NotSentError):
        line.send(line.complete(Request("GET", "a")))


def test_a_server_that_requires_a_certificate_gets_the_configured_one(
    over_tls: Callable[..., str], certificates: Certificates
):
    certificate, key = certificates.client
    given = {"ssl.cabundle": certificates.authority}
    uri = over_tls(asks=True)
    line = transport(uri, **given, **{"ssl.client.cert": certificate, "ssl.client.key": key})
    assert line.send(line.complete(Request("GET", "a"))).body == b"ok"
    line = transport(uri, **given)
    with pytest.raises((NotSentError, LostAnswerError)):
        line.send(line.complete(Request("GET", "a")))


@pytest.mark.parametrize("name", ["ssl.cabundle", "ssl.client.cert"])
def test_a_missing_certificate_file_is_an_error_that_names_it(name: str):
    line = transport("https://127.0.0.1:1", **{name: "/nowhere/c.pem"})
    with pytest.raises(InvalidInputError, match=rf"{name}.*/nowhere/c\.pem"):
        line.send(line.complete(Request("GET", "a")))
