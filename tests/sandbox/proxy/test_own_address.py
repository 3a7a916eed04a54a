"""S-L6: a public address of this machine counts as this machine."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket

import pytest

from indwell.sandbox.proxy.hosts import allowed
from indwell.sandbox.proxy.service import Proxy, is_own

PUBLIC = ipaddress.ip_address("93.184.216.34")


def own_addresses() -> list[str]:
    """Return the address of the outgoing interface, if there is one."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((str(PUBLIC), 9))
        return [probe.getsockname()[0]]
    return []


@pytest.mark.parametrize("address", ["127.0.0.1", *own_addresses()])
def test_addresses_that_reach_this_machine_count_as_its_own(address: str) -> None:
    assert is_own(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", [str(PUBLIC), "2606:4700::1111"])
def test_addresses_of_other_machines_do_not_count_as_this_machine(address: str) -> None:
    assert not is_own(ipaddress.ip_address(address))


@pytest.mark.parametrize(("host", "own", "status"), [
    ("name.example", True, b"403"),
    ("name.example", False, b"200"),
    (str(PUBLIC), True, b"200"),  # an address that was named is allowed
])  # fmt: skip
async def test_no_host_name_leads_to_a_service_on_this_machine(
    host: str,
    own: bool,  # noqa: FBT001
    status: bytes,
) -> None:
    async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    upstream = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = upstream.sockets[0].getsockname()[1]

    async def resolve(_place):
        return [PUBLIC]

    async def reach(_address, _port):
        return await asyncio.open_connection("127.0.0.1", port)

    proxy = Proxy(allowed([host]), resolve=resolve, reach=reach, is_own=lambda _address: own)
    door = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*door.sockets[0].getsockname())
    writer.write(f"CONNECT {host}:443 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    assert (await reader.readline()).split()[1] == status
    writer.close()
    await proxy.close()
    door.close()
    upstream.close()
