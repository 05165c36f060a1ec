"""A dashboard at a port of its own."""

import aiohttp

from bascule.cli.serve.dashboard import alone
from bascule.dashboard.standalone import listen_alone
from support.dashboards import office, shown


def test_where_the_port_is_taken_it_is_another_one():
    with listen_alone(0) as first:
        port = first.getsockname()[1]
        with listen_alone(port) as second:
            assert second.getsockname()[1] not in {0, port}


async def test_it_is_served_while_its_block_lasts():
    async with shown(*office()) as found, aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as http:
        async with alone(found.runtime, found.feed, 0) as address:
            async with http.get(address.opening) as answer:
                assert answer.status == 200
                assert "notes" in await answer.text()
            async with http.get(address.plain, headers={"host": "evil.example"}) as answer:
                assert answer.status == 421
            watching = await http.get(f"{address.plain}/events")
            assert watching.status == 200
        # Who watches does not hold it up.
        watching.close()
