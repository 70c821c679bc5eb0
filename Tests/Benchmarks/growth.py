"""Benchmarks of podfs with libraries of a thousand to a million episodes."""
import os
import sqlite3
import time

from feedtext import feed
from installation import resident_memory
from mounting import drop_caches

SIZES = [1_000, 10_000, 100_000, 1_000_000]
PER_SHOW = 1_000


def columns(database, table):
    return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]


def multiply(path, port, shows):
    """Copies the library's first show with SQLite, without podfs, until the library has `shows` shows.

    Each copy has its own URL, name and ids.
    """
    database = sqlite3.connect(path)
    copied = {
        "podcast": [name for name in columns(database, "podcast") if name not in ["id", "name", "folded", "url", "title"]],
        "episode": [name for name in columns(database, "episode") if name not in ["id", "podcast"]],
    }
    template = database.execute("SELECT min(id) FROM podcast").fetchone()[0]
    have = database.execute("SELECT count(*) FROM podcast").fetchone()[0]
    with database:
        for number in range(have + 1, shows + 1):
            names = ", ".join(copied["podcast"])
            row = database.execute(
                f"INSERT INTO podcast (name, folded, url, title, {names}) "
                f"SELECT ?, ?, ?, ?, {names} FROM podcast WHERE id = ?",
                (f"Show {number}", f"show {number}", f"http://127.0.0.1:{port}/{number}.xml", f"Show {number}",
                 template)).lastrowid
            names = ", ".join(copied["episode"])
            database.execute(
                f"INSERT INTO episode (podcast, {names}) SELECT ?, {names} FROM episode WHERE podcast = ?", (row, template))
            database.execute("""
                INSERT INTO detail SELECT copy.id, detail.extras, detail.notes FROM detail
                JOIN episode AS original ON original.id = detail.episode AND original.podcast = ?
                JOIN episode AS copy ON copy.podcast = ? AND copy.folded = original.folded""", (template, row))
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def growth(contest):
    """Measures start, listing, lookup, refresh and memory with libraries of four sizes, in shows of 1,000 episodes."""
    place, table = contest.place, contest.table
    port = place.start_nginx()

    def publish(number, extra):
        (place.www / f"{number}.xml").write_text(feed(f"Show {number}", PER_SHOW + extra, port, "x.mp3", 1_000_000))

    publish(1, 0)
    place.run("subscribe", f"http://127.0.0.1:{port}/1.xml")
    library = place.folder / "data_home" / "podfs" / "library.sqlite"
    results = {}

    def note(what, unit, name, value):
        results.setdefault((what, unit), {}).setdefault(name, []).append(value)

    def clock(what, name, run):
        begin = time.monotonic()
        run()
        note(what, "ms", name, (time.monotonic() - begin) * 1000)

    for size in SIZES:
        place.kill_daemon(15)
        shows = size // PER_SHOW
        multiply(library, port, shows)
        name = f"{size:,}"
        for round_number in range(1, contest.rounds + 1):
            place.kill_daemon(15)
            clock("daemon ready", name, lambda: place.run("daemon"))
            clock("mounted", name, place.mount)
            note("mount process ready", "MB", name, resident_memory(place.mount_process))
            drop_caches(2)
            show = place.mount_point / f"Show {shows}"
            path = show / f"2026-01-{PER_SHOW // 2 % 28 + 1:02} Episode {PER_SHOW // 2}.mp3"
            clock("look-up of one episode", name, lambda: os.stat(path))
            drop_caches(2)
            clock("names and attributes of one show", name, lambda: [entry.stat() for entry in os.scandir(show)])
            clock("names of all shows", name, lambda: os.listdir(place.mount_point))
            publish(shows, round_number)
            clock("refresh of one feed, one new episode", name, lambda: place.run("refresh", f"Show {shows}"))
            note("daemon", "MB", name, resident_memory(place.daemon))
            place.run("unmount", str(place.mount_point))
            place.mounted = False
        note("library on disk", "MB", name, library.stat().st_size / 1e6)
    smallest, largest = f"{SIZES[0]:,}", f"{SIZES[-1]:,}"
    for (what, unit), values in results.items():
        # The largest library is in podfs's column, and podfs is compared with the smallest: the ratio is the growth.
        cells = {"podfs": values.get(largest, []), **values}
        cells.pop(largest, None)
        table.add(f"{largest} episodes: {what}", unit, cells, against=smallest,
                  limit={"mounted": 200, "names of all shows": 5}.get(what))


COMMANDS = {"growth": (growth, 0)}
