#!/usr/bin/env python3
"""A TCP proxy on all addresses of the loopback interface that adds a round-trip time.

    delay_proxy.py LISTEN_PORT SERVER_PORT RTT_MS

Delays every byte by RTT_MS / 2 in each direction. The client's first bytes are delayed by up to RTT_MS more, because on
a real connection they would wait for the handshake. The rate is not limited. Prints `ready` when it listens.
"""
import asyncio
import sys
import time


async def carry(reader, writer, delay, not_before):
    """Copies bytes from `reader` to `writer`, in order and `delay` seconds late.

    Bytes read before `not_before` (time.monotonic()) are treated as if read at that time.
    """
    queue = asyncio.Queue(maxsize=4096)

    async def read():
        while True:
            data = await reader.read(65536)
            await queue.put((max(time.monotonic(), not_before) + delay, data))
            if not data:
                return

    async def write():
        while True:
            due, data = await queue.get()
            pause = due - time.monotonic()
            if pause > 0:
                await asyncio.sleep(pause)
            if not data:
                writer.write_eof()
                return
            writer.write(data)
            await writer.drain()

    await asyncio.gather(read(), write())


async def main(listen, server, rtt):
    async def serve(reader, writer):
        handshake = time.monotonic() + rtt
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", server)
        except OSError:
            writer.close()
            return
        ways = [asyncio.ensure_future(carry(reader, far_writer, rtt / 2, handshake)),
                asyncio.ensure_future(carry(far_reader, writer, rtt / 2, 0))]
        # If one direction fails, the other is cancelled: its bytes would not arrive.
        done, left = await asyncio.wait(ways, return_when=asyncio.FIRST_EXCEPTION)
        for way in left:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for end in [writer, far_writer]:
            end.close()

    async def serve_loopback(reader, writer):
        if writer.get_extra_info("peername")[0].startswith("127."):
            await serve(reader, writer)
        else:
            writer.close()

    proxy = await asyncio.start_server(serve_loopback, "0.0.0.0", listen)
    print("ready", flush=True)
    async with proxy:
        await proxy.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000))
