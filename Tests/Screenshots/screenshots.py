#!/usr/bin/env python3
"""Takes the pictures of README: the page of all shows and the page of a show, light and dark.

Subscribes six invented shows, whose servers a proxy on loopback plays, in a temporary installation. Downloads and begins
some episodes, mounts, and waits until all covers are there. Chromium then opens the pages as files, and a picture is
taken once every image in the window is complete. Look at the pictures before you commit them.

    Tests/Screenshots/screenshots.py .build/debug/podfs

Needs chromium and chromium-driver.
"""

import argparse
import base64
import datetime
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from xml.sax.saxutils import escape

TARGET = pathlib.Path(__file__).resolve().parents[2] / "Sources/podfs/Documentation.docc"
PAGES = {"shelf": ("index.html", 980, 1400), "show": ("Night Trains/index.html", 980, 900)}
MEDIA = b"ID3\x04\x00\x00\x00\x00\x00\x00" + bytes(8_000_000 - 10)
# The day of the newest episodes. A fixed one, so that the pictures change only with the pages.
TODAY = datetime.date(2026, 11, 22)


def svg(ground, *shapes):
    """A cover of 600 x 600."""
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 600" width="600" height="600">'
            f'<rect width="600" height="600" fill="{ground}"/>{"".join(shapes)}</svg>')


def words(text, x, y, size, fill, face="sans-serif"):
    return (f'<text x="{x}" y="{y}" font-family="{face}" font-weight="bold" font-size="{size}" fill="{fill}" '
            f'text-anchor="middle">{escape(text)}</text>')


SHOWS = {
    "Night Trains": dict(
        author="Ada Lindqvist", minutes=49, episodes=40, season=True, played=1,
        about="Slow journeys through Europe after dark: the sleepers, the stations and the people who keep them "
        "running.",
        titles=["The last sleeper to Vienna", "Gauge break", "The dining car", "A ferry for trains"],
        notes="<p>From the platform to the mountains: a night on the oldest sleeper still running, with the "
        '<a href="https://nighttrains.example/stops">stops</a> as they came. The conductor sings at 12:20.</p>'
        "<h2>Stops</h2><ul><li>Zürich HB</li><li>Buchs</li><li>Innsbruck</li><li>Wien</li></ul>",
        chapters=[("0:00", "Departure"), ("10:00", "The corridor"), ("17:30", "Morning")],
        cover=svg("#14213d", '<circle cx="420" cy="150" r="75" fill="#f6ead3"/><circle cx="455" cy="128" r="70" '
                  'fill="#14213d"/><rect y="330" width="600" height="110" fill="#e76f51"/>',
                  *[f'<rect x="{x}" y="355" width="55" height="45" rx="6" fill="#f4d58d"/>' for x in range(20, 600, 85)],
                  words("NIGHT TRAINS", 300, 545, 66, "#f6ead3"))),
    "The Owl Hour": dict(
        author="Marta Rocha", minutes=55, episodes=25, about="What flies at night.",
        titles=["Under the Alps", "Bats of the old mill", "Feathers that make no sound"],
        cover=svg("#2b2d42", '<path d="M120 170 230 250H370L480 170V480Q480 560 300 560T120 480Z" fill="#8d6a9f"/>',
                  *[f'<circle cx="{x}" cy="310" r="80" fill="#fbf3dd"/><circle cx="{x}" cy="310" r="38" '
                    'fill="#2b2d42"/>' for x in (220, 380)], '<path d="M280 385H320L300 430Z" fill="#ffb703"/>',
                  words("the owl hour", 300, 105, 64, "#fbf3dd", "serif"))),
    "Bread & Salt": dict(
        author="Jonas Weiß", minutes=20, episodes=25, about="Bakers and what they know.",
        titles=["Rye", "The oven of the village", "A starter of 1911"],
        cover=svg("#f4e3c1", '<path d="M90 330Q90 180 300 180T510 330V430H90Z" fill="#b5651d"/>',
                  *[f'<path d="M{x} 240 {x + 60} 360" stroke="#f4e3c1" stroke-width="16" stroke-linecap="round"/>'
                    for x in (170, 270, 370)], words("bread & salt", 300, 540, 76, "#5c2e0e", "serif"))),
    "Tide Tables": dict(
        author="Mairi MacLeod", minutes=35, episodes=25, about="Twice a day the sea goes away.",
        titles=["The pilot boat", "Sand that walks", "The bell under water"],
        cover=svg("#0b3c5d", *[
            f'<path d="M-20 {y}Q80 {y - 70} 180 {y}T380 {y}T580 {y}T780 {y}" fill="none" stroke="{c}" stroke-width="34"/>'
            for y, c in ((260, "#328cc1"), (350, "#7cc4e8"), (440, "#d9ecf5"))],
            words("TIDE TABLES", 300, 150, 72, "#d9ecf5"))),
    "Maps That Lied": dict(
        author="Tomas Novak", minutes=42, episodes=25, about="Islands, mountains and roads that never were.",
        titles=["Sandy Island", "The Mountains of Kong", "A town of two draughtsmen"],
        cover=svg("#e9dcc3", '<path d="M60 420 180 180 300 330 420 130 540 420Z" fill="none" stroke="#7a5c3e" '
                  'stroke-width="14" stroke-dasharray="34 18"/><path d="M400 450l60 60m0-60-60 60" stroke="#c1272d" '
                  'stroke-width="22"/>', words("Maps That Lied", 300, 95, 58, "#4a3624", "serif"))),
    "Small Hours": dict(
        author="Lucia Ferri", minutes=28, episodes=25, about="Those who work while others sleep.",
        titles=["The baker", "The lighthouse", "The ward"],
        cover=svg("#3d405b", '<circle cx="300" cy="330" r="170" fill="#f2cc8f"/><path d="M300 330V215M300 330 375 375" '
                  'stroke="#3d405b" stroke-width="22" stroke-linecap="round"/>',
                  words("small hours", 300, 105, 76, "#f4f1de"))),
}


def origin(title):
    return f"http://{re.sub('[^a-z]', '', title.lower())}.example"


def feed(title, show):
    slug, host = urllib.parse.quote(title), origin(title)
    yield ('<rss version="2.0" xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" '
           'xmlns:psc="http://podlove.org/simple-chapters"><channel>'
           f"<title>{escape(title)}</title><link>{host}/</link><itunes:author>{show['author']}"
           f"</itunes:author><description>{show['about']}</description>"
           f'<itunes:image href="{host}/{slug}.png"/>')
    newest = TODAY - datetime.timedelta(days=list(SHOWS).index(title))
    for index in range(show["episodes"]):
        name = show["titles"][index] if index < len(show["titles"]) else f"Number {show['episodes'] - index}"
        day = newest - datetime.timedelta(days=7 * index)
        yield (f"<item><title>{escape(name)}</title><guid>{slug}-{index}</guid>"
               f"<pubDate>{day:%a, %d %b %Y} 06:00:00 +0000</pubDate>"
               f"<itunes:duration>{show['minutes'] * 60}</itunes:duration>"
               f'<enclosure url="{host}/{index}.mp3" length="{len(MEDIA)}" type="audio/mpeg"/>')
        if show.get("season"):
            yield f"<itunes:season>{2 if index < 12 else 1}</itunes:season>"
        if index == 0 and "notes" in show:
            yield f"<description>{escape(show['notes'])}</description><psc:chapters>"
            yield "".join(f'<psc:chapter start="{start}" title="{text}"/>' for start, text in show["chapters"])
            yield "</psc:chapters>"
        yield "</item>"
    yield "</channel></rss>"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        # The daemon's proxy: the address in the request is a whole one.
        address = urllib.parse.urlsplit(self.path)
        title = next(title for title in SHOWS if origin(title).endswith("//" + address.netloc))
        if address.path == "/feed.xml":
            body, mime = "".join(feed(title, SHOWS[title])).encode(), "application/rss+xml"
        elif address.path.endswith(".png"):
            body, mime = self.server.covers[title], "image/png"
        else:
            body, mime = MEDIA, "audio/mpeg"
        self.send_response(200)
        self.send_header("Content-Type", mime)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


class Browser:
    """Headless Chromium, by WebDriver."""

    def __init__(self, folder, dark=False):
        self.process = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={"HOME": folder, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"})
        for line in self.process.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                self.address = f"http://127.0.0.1:{found[1]}/session"
                break
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     f"--user-data-dir={tempfile.mkdtemp(dir=folder)}"] + ["--force-dark-mode"] * dark
        options = {"binary": shutil.which("chromium"), "args": arguments}
        session = self.send("", {"capabilities": {"alwaysMatch": {"goog:chromeOptions": options}}})
        self.address += "/" + session["sessionId"]

    def send(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self.address + path, data), timeout=60) as answer:
            return json.load(answer)["value"]

    def value(self, script):
        return self.send("/execute/sync", {"script": script, "args": []})

    def picture(self, url, width, height):
        """A PNG of the page in a window of this size, once every image in it is complete."""
        command = {"cmd": "Emulation.setDeviceMetricsOverride",
                   "params": {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}}
        self.send("/goog/cdp/execute", command)
        self.send("/url", {"url": url})
        wait_until(lambda: self.value(
            "return [...document.images].filter(i=>{const r=i.getBoundingClientRect();"
            "return r.width&&r.top<innerHeight}).every(i=>i.complete&&i.naturalWidth)"), "the images")
        return base64.b64decode(self.send("/screenshot"))

    def close(self):
        with urllib.request.urlopen(urllib.request.Request(self.address, method="DELETE"), timeout=60):
            self.process.terminate()
        self.process.wait()


def wait_until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"gave up waiting for {what}")
        time.sleep(0.1)


def draw_covers(folder):
    """The covers as PNG, drawn by the browser."""
    browser = Browser(folder)
    covers = {}
    for title, show in SHOWS.items():
        path = pathlib.Path(folder, "cover.svg")
        path.write_text(show["cover"])
        covers[title] = browser.picture(path.as_uri(), 600, 600)
    browser.close()
    return covers


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("podfs", type=os.path.abspath)
    parser.add_argument("--target", default=TARGET, type=pathlib.Path, help="folder of the pictures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="podfs-pictures-") as folder:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.covers = draw_covers(folder)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        environment = os.environ | {"HOME": folder, "http_proxy": f"http://127.0.0.1:{server.server_port}"} | {
            f"XDG_{name}": f"{folder}/{name}" for name in
            ("DATA_HOME", "CACHE_HOME", "CONFIG_HOME", "STATE_HOME", "RUNTIME_DIR")}
        os.makedirs(f"{folder}/RUNTIME_DIR", mode=0o700)
        mount = pathlib.Path(folder, "Podcasts")
        mount.mkdir()

        def podfs(*arguments):
            return subprocess.run(
                [options.podfs, *arguments], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout

        podfs("subscribe", "--quiet", *[origin(title) + "/feed.xml" for title in SHOWS])
        podfs("mount", "--quiet", str(mount))
        try:
            def episode(title, index):
                return str(sorted(mount.joinpath(title).glob("20*.mp3"), reverse=True)[index])

            podfs("download", "--quiet", "--wait", *[episode("Night Trains", index) for index in range(4)])
            podfs("download", "--quiet", "--wait", episode("The Owl Hour", 0))
            podfs("set", "--quiet", episode("Night Trains", 2), "played=true")
            podfs("set", "--quiet", episode("Bread & Salt", 1), "position=6:30")
            podfs("set", "--quiet", episode("Night Trains", 1), "position=15:20")
            podfs("set", "--quiet", episode("The Owl Hour", 0), "position=14:05")
            wait_until(lambda: "covers" not in json.loads(podfs("status", "--json")), "the covers")
            for dark in (False, True):
                browser = Browser(folder, dark)
                for name, (page, width, height) in PAGES.items():
                    picture = browser.picture(mount.joinpath(page).as_uri(), width, height)
                    path = options.target / f"{name}{'~dark' * dark}.png"
                    path.write_bytes(picture)
                    print(f"{path}: {len(picture)} bytes")
                browser.close()
        finally:
            podfs("unmount", "--force", "--quiet", str(mount))
            stop_daemon(environment)


def stop_daemon(environment):
    for path in pathlib.Path(environment["XDG_RUNTIME_DIR"]).rglob("*.pid"):
        process = int(path.read_text().split()[0])
        os.kill(process, 15)
        wait_until(lambda: not os.path.exists(f"/proc/{process}"), "the daemon's exit")


if __name__ == "__main__":
    main()
