"""The addresses of this machine."""

from pathlib import Path

from bascule.sandbox.egress.proxy import own_addresses

FIB_TRIE = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 0.0.0.0
        /0 universe UNICAST
     +-- 203.0.113.0/24 2 0 2
        |-- 203.0.113.0
           /24 link UNICAST
        |-- 203.0.113.7
           /32 host LOCAL
        |-- 203.0.113.255
           /32 link BROADCAST
     +-- 127.0.0.0/8 2 0 2
        |-- 127.0.0.1
           /32 host LOCAL
"""

IF_INET6 = """00000000000000000000000000000001 01 80 10 80       lo
20010db8000000000000000000000001 02 40 00 80      out
"""


def test_both_versions_of_all_interfaces(tmp_path: Path):
    (tmp_path / "fib_trie").write_text(FIB_TRIE)
    (tmp_path / "if_inet6").write_text(IF_INET6)

    assert own_addresses(tmp_path) == {"203.0.113.7", "127.0.0.1", "::1", "2001:db8::1"}


def test_nothing_where_the_kernel_does_not_tell(tmp_path: Path):
    assert own_addresses(tmp_path) == frozenset()


def test_this_machine_has_a_loopback():
    assert "127.0.0.1" in own_addresses()
