#!/usr/bin/env python3
"""Memory soak of the daemon and the mount.

Runs both processes on a temporary installation, against a server on loopback. Rounds of work (refreshes of a feed of
100,000 items that changes each time, refreshes of small feeds, subscribes and unsubscribes, reads of large generated
pages, listings, reads of episodes) alternate with rests. At the end of each rest, the resident set of both processes is
recorded.

Passes if the resident set of each process is within its limit after the last rest, and if no value of the second half
of the rests exceeds the first value of that half by more than 10 % + 2 MB.
"""

import argparse
import http.server
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

DAEMON_LIMIT_MB, MOUNT_LIMIT_MB = 60, 45
MEDIA = bytes(random.Random(1).randbytes(300_000))


class Feeds:
    """Feeds that have one more item at each request."""

    def __init__(self, large_items):
        self.lock = threading.Lock()
        self.counts = {"large": large_items}

    def document(self, name, origin):
        with self.lock:
            count = self.counts.setdefault(name, 40)
            self.counts[name] = count + 1
        padding = "What this episode is about, in a sentence of a usual length. " * (1 if name == "large" else 20)
        yield (f'<?xml version="1.0"?><rss version="2.0"><channel><title>Show {name}</title>'
               f"<description>{padding}</description>")
        for number in range(count, 0, -1):
            yield (f"<item><title>Episode {number} of {name}</title><guid>{name}-{number}</guid>"
                   f'<enclosure url="{origin}/media/{name}/{number}.mp3" length="{len(MEDIA)}" type="audio/mpeg"/>'
                   f"<description>{padding}</description></item>")
        yield "</channel></rss>"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        origin = f"http://127.0.0.1:{self.server.server_port}"
        name = self.path.strip("/").split("/")
        if name[0] == "feed":
            body = "".join(self.server.feeds.document(name[1], origin)).encode()
            kind = "application/rss+xml"
        else:
            body, kind = b"ID3\x04\x00\x00\x00\x00\x00\x00" + MEDIA[10:], "audio/mpeg"
        status, total = 200, len(body)
        asked = self.headers.get("Range")
        if asked and name[0] != "feed":
            first, _, last = asked.removeprefix("bytes=").partition("-")
            first, last = int(first), min(int(last or total - 1), total - 1)
            body, status = body[first:last + 1], 206
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{self.path}-{total}"')
        if status == 206:
            self.send_header("Content-Range", f"bytes {first}-{last}/{total}")
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *_):
        pass


class Installation:
    def __init__(self, program):
        self.program = program
        self.folder = tempfile.mkdtemp(prefix="podfs-soak-")
        self.mount = self.folder + "/mnt"
        self.environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": self.folder}
        for key, name in [("DATA_HOME", "data"), ("CACHE_HOME", "cache"), ("CONFIG_HOME", "config"),
                          ("STATE_HOME", "state"), ("RUNTIME_DIR", "run")]:
            path = f"{self.folder}/{name}"
            os.makedirs(path, mode=0o700)
            self.environment[f"XDG_{key}"] = path
        for name, value in os.environ.items():
            if name.startswith("MALLOC_") or name == "GLIBC_TUNABLES":
                self.environment[name] = value
        os.makedirs(self.mount)
        os.makedirs(self.folder + "/config/podfs")
        with open(self.folder + "/config/podfs/config.toml", "w") as file:
            file.write('[daemon]\nidle_exit = "1 h"\n[cache]\nlimit = "100 MB"\nkeep_free = "1 MB"\n')

    def run(self, *arguments, allows_failure=False):
        done = subprocess.run([self.program, *arguments], env=self.environment, capture_output=True, text=True,
                              timeout=300)
        if done.returncode != 0 and not allows_failure:
            raise RuntimeError(f"podfs {' '.join(arguments)}: {done.stderr.strip()}")
        return done

    def daemon(self):
        with open(self.folder + "/run/podfs/daemon.pid") as file:
            return int(file.read())

    def mounter(self):
        return int(os.getxattr(self.mount, "user.podfs.mount.pid"))

    def end(self):
        self.run("unmount", "--force", self.mount, allows_failure=True)
        try:
            os.kill(self.daemon(), signal.SIGTERM)
        except (OSError, ValueError):
            pass
        time.sleep(1)
        shutil.rmtree(self.folder, ignore_errors=True)


def status(pid):
    with open(f"/proc/{pid}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    number = lambda key: int(fields[key].split()[0])
    return number("VmRSS") / 1024, number("RssAnon") / 1024, number("VmHWM") / 1024


def read_all(path):
    size = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 17):
            size += len(block)
    return size


class Work:
    """The work of all rounds: a sequence of steps chosen at random, with a fixed seed."""

    def __init__(self, podfs, origin):
        self.podfs, self.origin = podfs, origin
        self.dice = random.Random(7)
        self.small = [f"small{number}" for number in range(8)]
        self.extra = 0
        self.kept = []
        self.done = {}

    def count(self, what):
        self.done[what] = self.done.get(what, 0) + 1

    def begin(self):
        for name in ["large", *self.small]:
            self.podfs.run("subscribe", f"{self.origin}/feed/{name}")

    def read_pages(self, show):
        folder = f"{self.podfs.mount}/{show}"
        for name in ["index.html", "playlist.m3u8", ".feed.json", ".feed.xml.txt"]:
            read_all(f"{folder}/{name}")
            self.count("pages")

    def step(self):
        choice = self.dice.random()
        if choice < 0.08:
            self.podfs.run("refresh", "Show large")
            self.count("large refreshes")
        elif choice < 0.45:
            self.podfs.run("refresh", *[f"Show {name}" for name in self.small])
            self.count("small refreshes")
        elif choice < 0.60:
            self.extra += 1
            self.podfs.run("subscribe", f"{self.origin}/feed/extra{self.extra}")
            self.kept.append(f"Show extra{self.extra}")
            self.count("subscribes")
            if len(self.kept) > 10:
                self.podfs.run("unsubscribe", self.kept.pop(0), allows_failure=True)
        elif choice < 0.66:
            self.read_pages("Show large")
        elif choice < 0.80:
            self.read_pages(f"Show {self.dice.choice(self.small)}")
        elif choice < 0.85:
            names = os.listdir(f"{self.podfs.mount}/Show large")
            for name in names[:2_000]:
                os.stat(f"{self.podfs.mount}/Show large/{name}")
            self.count("listings")
        else:
            show = f"{self.podfs.mount}/Show {self.dice.choice(self.small)}"
            names = [name for name in os.listdir(show) if name.endswith(".mp3")]
            read_all(f"{show}/{self.dice.choice(names)}")
            self.count("episodes")

    def round(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--podfs", default=".build/release/podfs")
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--rest", type=float, default=60, help="seconds of each rest")
    parser.add_argument("--items", type=int, default=100_000, help="of the large feed")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.feeds = Feeds(options.items)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    podfs = Installation(os.path.abspath(options.podfs))
    rests = []
    try:
        work = Work(podfs, f"http://127.0.0.1:{server.server_port}")
        work.begin()
        podfs.run("mount", podfs.mount)
        processes = {"daemon": podfs.daemon(), "mount": podfs.mounter()}
        busy = options.minutes * 60 / options.rounds - options.rest
        for number in range(1, options.rounds + 1):
            work.round(busy)
            before = {name: status(pid)[0] for name, pid in processes.items()}
            time.sleep(options.rest)
            after = {name: status(pid) for name, pid in processes.items()}
            rests.append({name: value[0] for name, value in after.items()})
            for name, (resident, own, most) in after.items():
                print(f"round {number} {name}: {before[name]:.0f} MB at the end of the work, {resident:.1f} MB rested "
                      f"({own:.1f} MB of it anonymous), {most:.0f} MB at most", flush=True)
        print("work done: " + ", ".join(f"{count} {what}" for what, count in sorted(work.done.items())))
    finally:
        podfs.end()

    failures = []
    for name, limit in [("daemon", DAEMON_LIMIT_MB), ("mount", MOUNT_LIMIT_MB)]:
        curve = [rest[name] for rest in rests]
        if curve[-1] > limit:
            failures.append(f"{name}: {curve[-1]:.1f} MB after a rest, more than {limit}")
        half = curve[len(curve) // 2:]
        if max(half) > half[0] * 1.1 + 2:
            failures.append(f"{name}: grows in the second half: {', '.join(f'{value:.1f}' for value in half)} MB")
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
