"""What we serve with."""

from bascule.cli.doctor.network import gateway_checks
from bascule.config.model.gateway import GatewaySettings
from bascule.config.model.runtime_config import RuntimeConfig
from support.ports import free_port


async def test_a_gateway_without_keys_is_for_this_machine_alone():
    config = RuntimeConfig({}, gateway=GatewaySettings(port=free_port()))
    place, keys = await gateway_checks(config)

    assert (place.status, keys.status) == ("ok", "ok")
    assert "`bascule serve --dev` alone" in keys.message


async def test_one_that_others_can_reach_needs_keys():
    config = RuntimeConfig({}, gateway=GatewaySettings(host="0.0.0.0", port=free_port()))
    _, keys = await gateway_checks(config)

    assert keys.status == "fail"
