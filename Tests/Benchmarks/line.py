#!/usr/bin/env python3
"""A line between two network namespaces that delays, drops and rate-limits packets, without the kernel's netem.

    line.py CLIENT SERVER HOSTS

Creates the namespaces CLIENT, with the address 10.77.0.1, and SERVER, with 10.78.0.1 up to 10.78.0.HOSTS, and forwards
packets between their TUN devices. Prints `ready`, then reads commands from standard input:

    set RTT_MS LOSS RATE_MBIT   LOSS is the fraction of packets dropped in each direction; a RATE_MBIT of 0 is no limit
    down                        drops all new packets
    up                          forwards packets again

At the end of its input it removes both namespaces and exits. Needs root.
"""
import fcntl
import heapq
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
QUEUE = 0.2  # The longest wait at a limited rate, in seconds. Later packets are dropped, as by a router.


def device(name, namespace, commands):
    """Creates the namespace and its TUN device, runs the `ip` commands in it, and returns the device's descriptor."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    subprocess.run(["ip", "netns", "add", namespace], check=True)
    subprocess.run(["ip", "link", "set", name, "netns", namespace], check=True)
    for command in ["link set lo up", *commands, f"link set {name} up mtu 1500 txqueuelen 2000"]:
        subprocess.run(["ip", "-n", namespace, *command.split()], check=True)
    return descriptor


class Line:
    def __init__(self, ends):
        self.ends = ends
        self.delay, self.loss, self.rate, self.is_up = 0.0, 0.0, 0.0, True
        self.free = [0.0, 0.0]  # The time at which each direction has sent all its packets.
        self.due, self.number = [], 0

    def command(self, words):
        if words[0] == "set":
            self.delay, self.loss, self.rate = float(words[1]) / 2000, float(words[2]), float(words[3]) * 1e6
        else:
            self.is_up = words[0] == "up"

    def take(self, direction):
        for _ in range(64):  # At most one batch, so that due packets are sent in between.
            try:
                packet = os.read(self.ends[direction], 65536)
            except BlockingIOError:
                return
            if not self.is_up or self.loss and random.random() < self.loss:
                continue
            now = time.monotonic()
            start = max(now, self.free[direction])
            if self.rate:
                if start - now > QUEUE:
                    continue
                start += len(packet) * 8 / self.rate
                self.free[direction] = start
            self.number += 1
            heapq.heappush(self.due, (start + self.delay, self.number, 1 - direction, packet))

    def give(self):
        """Delivers all packets that are due; returns the milliseconds until the next is due, or None if none is."""
        now = time.monotonic()
        while self.due and self.due[0][0] <= now:
            _, _, end, packet = heapq.heappop(self.due)
            try:
                os.write(self.ends[end], packet)
            except OSError:
                pass  # The device is down, or its queue is full.
        return max(0, (self.due[0][0] - time.monotonic()) * 1000) if self.due else None

    def run(self):
        poll = select.epoll()
        for descriptor in [*self.ends, 0]:
            poll.register(descriptor, select.EPOLLIN | select.EPOLLHUP)
        while True:
            wait = self.give()
            for descriptor, _ in poll.poll(wait / 1000 if wait is not None else None):
                if descriptor:
                    self.take(self.ends.index(descriptor))
                    continue
                text = os.read(0, 4096).decode()
                if not text:
                    return
                for line in text.splitlines():
                    self.command(line.split())


def main(client, server, hosts):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    try:
        mine, theirs = f"ln{os.getpid() % 99999}c", f"ln{os.getpid() % 99999}s"
        ends = [
            device(mine, client, [f"addr add 10.77.0.1 peer 10.77.0.2 dev {mine}"]),
            device(theirs, server, [f"addr add 10.77.0.2 peer 10.77.0.1 dev {theirs}"]
                   + [f"addr add 10.78.0.{host}/32 dev lo" for host in range(1, hosts + 1)])]
        subprocess.run(["ip", "-n", client, "route", "add", "default", "dev", mine], check=True)
        print("ready", flush=True)
        Line(ends).run()
    finally:
        for namespace in [client, server]:
            subprocess.run(["ip", "netns", "del", namespace], stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
