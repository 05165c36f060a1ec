import asyncio

from bascule.transports.outbox import AtOnce, Outbox, Outgoing


class Leave:
    """A permit that can be taken away."""

    def __init__(self) -> None:
        self.given = True
        self.asked = 0

    def valid(self) -> bool:
        self.asked += 1
        return self.given


class Noted(Outgoing):
    """A message that notes its refusal."""

    refused: bool = False

    def refuse(self) -> None:
        self.refused = True


async def next_step() -> None:
    await asyncio.sleep(0)


def fill(outbox: Outbox, *texts: bytes) -> list[Outgoing]:
    messages = [Outgoing(text) for text in texts]
    for message in messages:
        outbox.put(message)
    return messages


async def test_a_lone_message_is_written_at_once():
    written: list[bytes] = []
    (message,) = fill(Outbox(written.append), b"a")

    assert written == [b"a"]
    assert message.sent


async def test_messages_of_the_same_step_leave_together_in_the_next():
    written: list[bytes] = []
    messages = fill(Outbox(written.append), b"a", b"b", b"c")
    assert [message.sent for message in messages] == [True, False, False]

    await next_step()

    assert written == [b"a", b"bc"]
    assert all(message.sent for message in messages)


async def test_a_message_of_a_later_step_is_written_at_once_again():
    written: list[bytes] = []
    outbox = Outbox(written.append)
    fill(outbox, b"a")
    await next_step()
    fill(outbox, b"b")

    assert written == [b"a", b"b"]


async def test_while_there_are_many_the_first_leaves_with_the_others():
    written: list[bytes] = []
    outbox = Outbox(written.append)
    fill(outbox, b"1", b"2", b"3")
    await next_step()
    fill(outbox, b"4", b"5")
    assert written == [b"1", b"23"]

    await next_step()
    assert written == [b"1", b"23", b"45"]

    fill(outbox, b"6")
    await next_step()
    fill(outbox, b"7")
    assert written[3:] == [b"6", b"7"]


async def test_nothing_is_written_while_paused():
    written: list[bytes] = []
    outbox = Outbox(written.append)
    outbox.pause()
    fill(outbox, b"a", b"b")
    await next_step()
    assert written == []

    outbox.resume()

    assert written == [b"ab"]


async def test_a_pause_holds_what_was_being_gathered():
    written: list[bytes] = []
    outbox = Outbox(written.append)
    fill(outbox, b"a", b"b")
    outbox.pause()
    await next_step()
    assert written == [b"a"]

    outbox.resume()

    assert written == [b"a", b"b"]


async def test_a_pause_and_a_resume_within_a_step_keep_the_order():
    written: list[bytes] = []
    outbox = Outbox(written.append)
    fill(outbox, b"a", b"b")
    outbox.pause()
    outbox.resume()
    fill(outbox, b"c")
    await next_step()

    assert b"".join(written) == b"abc"


async def test_a_write_that_fills_the_pipe_holds_the_rest():
    written: list[bytes] = []

    def write(data: bytes) -> None:
        written.append(data)
        outbox.pause()

    outbox = Outbox(write)
    fill(outbox, b"a", b"b")
    await next_step()

    assert written == [b"a"]


async def test_a_permit_lost_while_waiting_keeps_the_message_back():
    written: list[bytes] = []
    outbox, leave = Outbox(written.append), Leave()
    fill(outbox, b"a")
    message = Noted(b"secret", leave)
    outbox.put(message)
    fill(outbox, b"b")

    leave.given = False
    await next_step()

    assert written == [b"a", b"b"]
    assert message.refused
    assert not message.sent


async def test_a_permit_lost_while_the_pipe_is_full_keeps_the_message_back():
    written: list[bytes] = []
    outbox, leave = Outbox(written.append), Leave()
    outbox.pause()
    outbox.put(Outgoing(b"secret", leave))
    await next_step()
    assert leave.asked == 0

    leave.given = False
    outbox.resume()

    assert written == []
    assert leave.asked == 1


async def test_a_permit_is_asked_in_the_very_step_of_the_write():
    order: list[str] = []

    class Noting(Leave):
        def valid(self) -> bool:
            order.append("asked")
            return True

    Outbox(lambda _: order.append("written")).put(Outgoing(b"a", Noting()))

    assert order == ["asked", "written"]


async def test_a_dropped_message_is_neither_written_nor_asked_for():
    written: list[bytes] = []
    outbox, leave = Outbox(written.append), Leave()
    outbox.pause()
    message = Outgoing(b"a", leave)
    outbox.put(message)
    message.dropped = True

    outbox.resume()

    assert written == []
    assert leave.asked == 0


async def test_without_leave_for_the_connection_nothing_is_written_and_all_are_refused():
    written: list[bytes] = []
    leave = Leave()
    outbox = Outbox(written.append, leave)
    fill(outbox, b"a")
    await next_step()
    leave.given = False
    messages = [Noted(b"b"), Noted(b"c", Leave())]
    for message in messages:
        outbox.put(message)
    await next_step()
    assert [message.refused for message in messages] == [True, True]
    leave.given = True
    await next_step()
    fill(outbox, b"d")

    assert written == [b"a", b"d"]


async def test_leave_for_the_connection_is_asked_once_for_each_write():
    leave = Leave()
    outbox = Outbox(lambda _: None, leave)
    fill(outbox, b"a", b"b", b"c")
    await next_step()

    assert leave.asked == 2


async def test_to_a_server_in_this_process_each_message_is_handed_over_in_the_step_of_who_sends_it():
    written: list[bytes] = []
    outbox = AtOnce(written.append)
    permit = Leave()
    permit.given = False
    for message in (Outgoing(b"a"), Outgoing(b"b", permit), Outgoing(b"c")):
        outbox.put(message)
    assert written == [b"a", b"c"]


async def test_what_was_cleared_never_leaves():
    written: list[bytes] = []
    outbox = Outbox(written.append)
    outbox.pause()
    fill(outbox, b"a")
    outbox.clear()
    outbox.resume()

    assert written == []


async def test_a_full_pipe_is_spoilt_by_what_filled_it_once_its_permit_is_gone():
    leave, other = Leave(), Leave()

    def fill_up(_data: bytes) -> None:
        outbox.pause()

    outbox = Outbox(fill_up)
    outbox.put(Outgoing(b"a", leave))
    assert not outbox.spoilt
    leave.given = False
    assert outbox.spoilt

    outbox.resume()
    assert not outbox.spoilt
    await next_step()
    other.given = False
    outbox.put(Outgoing(b"b"))
    outbox.put(Outgoing(b"c", other))
    assert not outbox.spoilt
