#!/usr/bin/env python3
"""A TCP proxy on the loopback interface that makes the way long.

    delay_proxy.py LISTEN_PORT SERVER_PORT RTT_MS

Every byte arrives half a round trip late in each direction; the first bytes of a connection wait for one round trip more,
as those of a real connection wait for its handshake. The rate is not limited. Prints `ready` when it listens.
"""
import asyncio
import sys
import time


async def carry(reader, writer, delay, not_before):
    """Copies one direction: what was read is written `delay` seconds later, in order."""
    queue = asyncio.Queue(maxsize=4096)

    async def write():
        while True:
            due, data = await queue.get()
            pause = due - time.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
            if data is None:
                writer.write_eof()
                return
            writer.write(data)
            await writer.drain()

    task = asyncio.create_task(write())
    try:
        while True:
            data = await reader.read(65536)
            await queue.put((max(time.monotonic(), not_before) + delay, data or None))
            if not data:
                break
        await task
    except (ConnectionError, OSError):
        task.cancel()


async def main(listen, server, rtt):
    async def serve(reader, writer):
        handshake = time.monotonic() + rtt
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", server)
        except OSError:
            writer.close()
            return
        try:
            await asyncio.gather(
                carry(reader, far_writer, rtt / 2, handshake), carry(far_reader, writer, rtt / 2, 0))
        finally:
            writer.close()
            far_writer.close()

    proxy = await asyncio.start_server(serve, "127.0.0.1", listen)
    print("ready", flush=True)
    async with proxy:
        await proxy.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000))
