"""What is kept of a change of a level."""

import msgspec

from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity

RECEIPT = Receipt(
    7,
    "raise",
    Principal("alice", "s-1"),
    1.5,
    DataSensitivity.PUBLIC,
    DataSensitivity.SECRET,
    1,
    Cause("label", "notes"),
)


def test_a_receipt_can_be_sent_and_read_again():
    assert msgspec.json.decode(msgspec.json.encode(RECEIPT), type=Receipt) == RECEIPT


def test_a_receipt_is_made_before_anything_is_done_about_the_change():
    assert (RECEIPT.closed, RECEIPT.twins, RECEIPT.fence) == ((), {}, "")
