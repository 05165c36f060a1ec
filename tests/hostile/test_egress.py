"""Who is reached from a proxied box, and who is not, by all ways to name them. Everything is asked of the very Envoy that
is in use, told just as it is in use; only the internet around it is the tests' own."""

import json
import socket
import ssl
from pathlib import Path

import pytest

from support.asking import Answer, ask, calling, connect, get
from support.internet import ALLOWED, ALLOWED_SIX, CLOSED, DENIED, WILD
from support.pages import every_block
from support.way_out import ALLOW, WayOut


def opened(path: str, target: str) -> tuple[int, str]:
    """What is answered who asks for a tunnel."""
    answer = connect(path, target)
    return (answer.status, answer.refused) if answer else (0, "closed")


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("allowed.test", ALLOWED), ("ALLOWED.TEST", ALLOWED), ("Allowed.Test:80", ALLOWED), ("six.allowed.test", ALLOWED_SIX),
        ("a.wild.test", WILD), ("A.b.WILD.test", WILD),
    ],
)  # fmt: skip
@pytest.mark.long
def test_who_is_listed_is_reached(out: WayOut, host: str, address: str):
    with out.reaching(address) as asked:
        answer = get(out.path, f"http://{host}/page?q=1")

    assert answer is not None
    assert (answer.status, answer.refused) == (200, "")
    assert [each["at"] for each in asked] == [address]
    assert asked[0]["head"][0] == "GET /page?q=1 HTTP/1.1"


@pytest.mark.parametrize("target", ["allowed.test:443", "ALLOWED.test:443", "a.wild.test:443", "allowed.test:80"])
def test_a_tunnel_to_who_is_listed_opens(out: WayOut, target: str):
    with out.reaching(ALLOWED, WILD) as asked, calling(out.path) as caller:
        caller.say(f"CONNECT {target} HTTP/1.1", f"Host: {target}")
        answer = caller.answer()
        assert answer is not None
        assert answer.status == 200
        caller.say("POST /in/the/tunnel HTTP/1.1", "Host: whatever", "content-length: 5", body=b"words")
        within = caller.answer()

    assert within is not None
    assert (within.status, within.json["body"]) == (200, "words")
    assert [each["head"][0] for each in asked] == ["POST /in/the/tunnel HTTP/1.1"]


@pytest.mark.parametrize("header", [[], ["Host: allowed.test:443"], ["Host: allowed.test"]])
def test_one_who_asks_for_a_tunnel_as_in_older_days_gets_it(out: WayOut, header: list[str]):
    with out.reaching(ALLOWED), calling(out.path) as caller:
        caller.say("CONNECT allowed.test:80 HTTP/1.0", *header)
        answer = caller.answer()
        assert answer is not None
        assert answer.status == 200
        caller.say("GET /within HTTP/1.1")
        assert caller.answer()


OTHERS = [
    "denied.test", "DENIED.test", "wild.test", "evilwild.test", "evilallowed.test", "allowed.test.denied.test", "x.allowed.test",
    "allowed.test.", "a.wild.test.", ".wild.test", "a..wild.test", "allowed.tes", "llowed.test", "allowedxtest",
    "allowed.test%2edenied.test", "allowed.test%00.denied.test", "denied.test%23.wild.test", "denied.test;.wild.test",
    "denied.test,a.wild.test", "denied.test&a.wild.test", "denied.test~.wild.test", "denied.test'.wild.test",
    "allowed-test", "allowed", "test", "*.wild.test", "localhost", "localhost.localdomain", "ip6-localhost", "metadata",
    "metadata.google.internal", "xn--denied.test", "allowed.test.\u3002denied.test", "allowed。test", "ⓐⓛⓛⓞⓦⓔⓓ.test",
    "allowed.test\x00.denied.test", "allowed.test\tdenied.test", "a.wild.test\x0b",
]  # fmt: skip


@pytest.mark.parametrize("host", OTHERS)
def test_no_other_name_is_reached_or_looked_up(out: WayOut, host: str):
    name = host.encode()
    before = set(out.net.looked_up())
    with out.reaching():
        answers = [
            ask(out.path, b"GET http://" + name + b"/ HTTP/1.1", b"Host: " + name),
            ask(out.path, b"GET / HTTP/1.1", b"Host: " + name),
            ask(out.path, b"CONNECT " + name + b":443 HTTP/1.1", b"Host: " + name + b":443"),
        ]

    assert all(answer is None or 400 <= answer.status < 500 for answer in answers), answers
    assert all(answer is None or answer.refused in {"host", "malformed"} for answer in answers), answers
    assert out.net.looked_up() <= before | {"allowed.test"}


ADDRESSES = [
    DENIED, ALLOWED, "3325256724", "0xc6336414", "0xC6336414", "0306.063.0144.024", "198.51.25620", "0xc6.0x33.0x64.0x14",
    "198.3368980", "[2001:db8::10]", "[::ffff:198.51.100.20]", "[::198.51.100.20]", "[64:ff9b::c633:6414]", "127.0.0.1", "127.1",
    "2130706433", "0x7f000001", "017700000001", "0", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[fe80::1%25lo]",
    "169.254.169.254", "10.9.9.9", "198.51.100.1", "[2001:db8::1]", "127.0.0.1.", "[::1", "::1", "1e3",
]  # fmt: skip


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_way_to_write_an_address_is_let_through(out: WayOut, address: str):
    """Not even that of a host that is listed: it would not be known who receives."""
    with out.reaching():
        answers = [
            get(out.path, f"http://{address}/"),
            get(out.path, f"http://{address}:443/"),
            ask(out.path, "GET / HTTP/1.1", f"Host: {address}"),
            connect(out.path, f"{address}:443"),
            connect(out.path, f"{address}:80"),
        ]

    assert all(answer is None or answer.refused in {"address", "host", "malformed"} for answer in answers), answers


@pytest.mark.parametrize(
    "port", ["22", "8080", "0", "65535", "65536", "80443", "0443", "-80", "+80", "", " 80", "443x", "443:80"]
)
def test_no_other_port_is_reached(out: WayOut, port: str):
    with out.reaching():
        answers = [connect(out.path, f"allowed.test:{port}"), connect(out.path, f"a.wild.test:{port}")]
        if port:
            answers.append(get(out.path, f"http://allowed.test:{port}/"))

    assert all(answer is None or answer.refused in {"port", "host", "malformed"} for answer in answers), answers
    assert all(answer is None or answer.status in {400, 403} for answer in answers), answers


def test_a_tunnel_without_a_port_does_not_open(out: WayOut):
    with out.reaching():
        assert opened(out.path, "allowed.test") == (400, "malformed")


@pytest.mark.parametrize("name", CLOSED)
def test_no_name_that_leads_to_this_machine_or_its_network_is_reached(out: WayOut, name: str):
    with out.reaching():
        answer = get(out.path, f"http://{name}.wild.test/")
        assert answer is not None
        assert (answer.status, answer.refused) == (403, "private")
        assert opened(out.path, f"{name}.wild.test:443") == (403, "private")


def test_of_a_name_with_several_addresses_only_those_of_the_internet_are_used(out: WayOut):
    with out.reaching(WILD) as asked:
        for _ in range(10):
            answer = get(out.path, "http://mixed.wild.test/")
            assert answer is not None
            assert answer.status == 200
            assert opened(out.path, "mixed.wild.test:443")[0] == 200

    assert {each["at"] for each in asked} == {WILD}


def test_where_the_address_of_the_internet_does_not_answer_no_other_is_tried(out: WayOut):
    with out.reaching():
        answer = get(out.path, "http://nobody.wild.test/")
        assert answer is not None
        assert (answer.status, answer.refused) == (503, "unreachable")


def test_a_name_that_leads_elsewhere_a_moment_later_does_not_lead_there(out: WayOut):
    name = "moving.wild.test"
    out.net.far.name({name: [WILD]})
    with out.reaching(WILD):
        answer = get(out.path, f"http://{name}/")
        assert answer is not None
        assert answer.status == 200
        out.net.far.name({name: ["10.9.9.9", "127.0.0.1"]})
        looked_up = sum(event["looked_up"] == name for event in out.net.far.told("looked_up"))
        # It is looked up again as long as somebody asks for it.
        out.until(lambda: sum(event["looked_up"] == name for event in out.net.far.told("looked_up")) > looked_up)
        for _ in range(20):
            get(out.path, f"http://{name}/")
            opened(out.path, f"{name}:443")


def test_a_name_that_is_not_there_is_looked_up_as_it_is_and_with_no_domain_of_this_machine(out: WayOut):
    """The machine's own look-ups would try `gone.wild.test.denied.test` next."""
    with out.reaching():
        answer = get(out.path, "http://gone.wild.test/")
        assert answer is not None
        assert (answer.status, answer.refused) == (502, "unresolved")

    assert "gone.wild.test" in out.net.looked_up()
    assert not any(name.endswith("denied.test") for name in out.net.looked_up())


def refusal(path: str, url: str) -> Answer:
    answer = get(path, url)
    assert answer is not None
    return answer


def test_a_refusal_says_who_was_asked_for_and_why_and_what_an_operator_can_do(out: WayOut):
    answer = refusal(out.path, "http://denied.test/")

    assert answer.status == 403
    assert answer.headers["content-type"] == "application/json"
    (shown,) = (block for block in every_block() if block.page == "egress.md" and block.language == "json")
    assert answer.json == json.loads(shown.text)


@pytest.mark.parametrize(
    "url", ["http://denied.test/", "http://10.0.0.1/", "http://loopback.wild.test/", "http://gone.wild.test/"]
)
def test_no_answer_tells_what_is_on_the_list(out: WayOut, url: str):
    said = refusal(out.path, url).body.decode()

    assert not any(host.removeprefix("*.") in said for host in ALLOW if host.removeprefix("*.") not in url)


def test_who_is_fronted_inside_a_tunnel_cannot_be_seen(out: WayOut):
    """What the proxy cannot do: it sees who is connected to, and nothing of what is said there. A host that is listed
    receives all of it; whether it passes it on to another is up to that host."""
    context = ssl.create_default_context(cafile=str(out.net.certificate))
    with out.reaching(ALLOWED) as asked, calling(out.path) as caller:
        caller.say("CONNECT allowed.test:443 HTTP/1.1", "Host: allowed.test:443")
        answer = caller.answer()
        assert answer is not None
        assert answer.status == 200
        with context.wrap_socket(caller.socket, server_hostname="denied.test") as within:
            within.sendall(b"GET / HTTP/1.1\r\nHost: denied.test\r\n\r\n")
            assert within.recv(12) == b"HTTP/1.1 200"

    assert [(each["at"], each["sni"], each["head"][1]) for each in asked] == [
        (ALLOWED, "denied.test", "Host: denied.test")
    ]


def test_envoy_listens_on_no_port(out: WayOut):
    folder = Path(f"/proc/{out.proxy.pid}")
    links = {str(each.readlink()) for each in (folder / "fd").iterdir() if each.exists() or each.is_symlink()}
    rows = [
        line.split()
        for name in ("tcp", "tcp6", "udp", "udp6")
        for line in (folder / "net" / name).read_text().splitlines()[1:]
    ]
    listening = [row for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in links]

    assert any(link.startswith("socket:") for link in links)
    assert not listening


def test_another_box_is_another_record(out: WayOut):
    # Nobody else asks for this one: what is told late of an earlier test does not count.
    other, host = out.socket_for("another"), "recorded.denied.test"
    since = len(out.records)
    try:
        get(out.path, f"http://{host}/one")
        get(other, f"http://{host}/other")

        assert len(out.heard(since, box="tried", host=host, reason="host")) == 1
        assert len(out.heard(since, box="another", host=host, reason="host")) == 1
    finally:
        out.release("another")


def test_a_tunnel_is_recorded_when_it_opens_and_when_it_ends_with_what_went_through(out: WayOut):
    since = len(out.records)
    with calling(out.path) as caller:
        caller.say("CONNECT a.wild.test:443 HTTP/1.1", "Host: a.wild.test:443")
        assert caller.answer()
        [opening] = out.heard(since, phase="opened", host="a.wild.test")
        caller.say("POST / HTTP/1.1", "content-length: 10000", body=b"x" * 10_000)
        assert caller.answer()
        caller.socket.shutdown(socket.SHUT_WR)
    [ending] = out.heard(since, phase="ended", method="CONNECT", host="a.wild.test")

    assert (opening.box, opening.host, opening.port, opening.status) == ("tried", "a.wild.test", 443, 200)
    assert (ending.box, ending.host, ending.port, ending.reason) == ("tried", "a.wild.test", 443, "")
    assert ending.address == f"{WILD}:443"
    assert ending.sent >= 10_000
    assert ending.received >= 10_000
