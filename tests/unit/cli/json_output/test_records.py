"""JSON shapes of receipts and logs."""

from bascule.cli.commands.logs import as_shape
from bascule.cli.json_output.records import LogLineShape, ReceiptShape
from bascule.cli.views.sessions import receipt_shape
from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.records.server_logs.file import LogLine
from support.shapes import misfit


def test_a_receipt_tells_the_level_before_and_after_in_the_words_of_a_config():
    before, after = DataSensitivity.PUBLIC, DataSensitivity.SECRET
    receipt = Receipt(1, "raise", Principal("ada", "s-1"), 7.0, before, after, 1, Cause("label"))
    shape = receipt_shape(receipt)
    assert misfit(shape, ReceiptShape) == ""
    assert (shape["from"], shape["to"]) == ("public", "secret")


def test_a_line_of_a_log_has_its_shape():
    assert misfit(as_shape(LogLine(7.0, "stderr", "ada", "s-1", "hi", 12), "files"), LogLineShape) == ""
