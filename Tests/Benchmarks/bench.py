#!/usr/bin/env python3
"""Benchmarks of podfs beside curl, the disk and the rivals, measured in turns within one run.

    bench.py PODFS all|ROW… [--rounds N] [--size MIB] [--rivals] [--install] [--json FILE] [--update FILE]
             [--svg FILE] [--readme FILE]

Prints medians and ratios. PODFS is the program, built with `-c release`. Needs nginx, curl and permission to mount. The
rows listing, cached, start and growth need root to drop the kernel's caches, and the rows network-… need root to create
network namespaces. Nothing else may be running. --rivals also measures the other programs that are installed; the cell
of a missing program stays blank. Less is better in every row. Between runs, compare only the ratios.
"""
import argparse
import os
import sys
import time

sys.dont_write_bytecode = True  # Leaves no __pycache__ in the source folder.

import feeds
import growth
import latency
import machine
import mounting
import network
import plot
import processes
import queues
import rivals
import transfers
import waiting
from contest import Contest
from installation import Installation
from results import Table

# The groups of rows by name: the function that measures them, and the size of its file in MiB.
COMMANDS = {
    **latency.COMMANDS, **transfers.COMMANDS, **mounting.COMMANDS, **processes.COMMANDS, **feeds.COMMANDS, **growth.COMMANDS,
    **waiting.COMMANDS, **queues.COMMANDS, **network.COMMANDS,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("podfs")
    parser.add_argument("rows", nargs="+", metavar="ROW", choices=["all", *COMMANDS],
                        help="all, or one of " + ", ".join(COMMANDS))
    parser.add_argument("--size", type=float, help="MiB of the file, where a row has one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rivals", action="store_true", help="measure the rivals that are installed as well")
    parser.add_argument("--install", action="store_true", help="install the rivals by apt-get first; needs root")
    parser.add_argument("--json", metavar="FILE", help="write all values, and the machine")
    parser.add_argument("--update", metavar="FILE", help="replace the rows in a file that --json has written")
    parser.add_argument("--svg", metavar="FILE", help="write a plot of the ratios")
    parser.add_argument("--readme", metavar="FILE", help="put the table between the marks of this file")
    arguments = parser.parse_args()
    podfs = os.path.abspath(arguments.podfs)
    if arguments.install:
        rivals.install()
    described = machine.describe(podfs)
    print(machine.sentence(described), flush=True)
    failed = []
    rows = list(COMMANDS) if "all" in arguments.rows else list(dict.fromkeys(arguments.rows))
    table = Table()
    if arguments.update:
        _, table = Table.load(arguments.update)
        table.rows = [row for row in table.rows if row.group not in rows]
        arguments.json = arguments.json or arguments.update
    for name in rows:
        run, size = COMMANDS[name]
        table.group = name
        print(f"\n{name} (load {os.getloadavg()[0]:.1f})", flush=True)
        begin = time.monotonic()
        try:
            with Installation(podfs) as place:
                run(Contest(place, int((arguments.size or size) * 1048576), arguments.rounds, table, arguments.rivals))
        except (Exception, SystemExit) as error:
            # A failure must not prevent the measurement of the other rows.
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            failed.append(name)
        print(f"({time.monotonic() - begin:.0f} s)", flush=True)
        if arguments.json:
            table.write(arguments.json, described)
        if arguments.svg:
            with open(arguments.svg, "w") as file:
                file.write(plot.svg(table, machine.sentence(described)))
        if arguments.readme:
            table.write_readme(arguments.readme, machine.sentence(described))
    print("\n" + table.text())
    if failed:
        sys.exit("not measured: " + ", ".join(failed))


if __name__ == "__main__":
    main()
