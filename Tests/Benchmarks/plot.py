"""A plot of a results table as SVG: for each row, the ratios of the contestants to podfs on a logarithmic scale."""
import math
from xml.sax.saxutils import escape

ROW, LEFT, RIGHT, TOP, WIDTH = 22, 560, 40, 104, 1240
COLOURS = {
    "podfs": "#0072b2", "curl": "#000000", "disk": "#666666", "rclone": "#d55e00", "httpdirfs": "#009e73",
    "newsboat": "#cc79a7", "podget": "#e69f00", "gpodder": "#56b4e9", "xmllint": "#000000", "feedparser": "#e69f00",
    "podcastparser": "#cc79a7", "podfs --json": "#8cc4ea", "1,000": "#cccccc", "10,000": "#aaaaaa", "100,000": "#888888",
}


def colour(name):
    return COLOURS.get(name, "#999999")


def svg(table, caption):
    """Returns the plot. Each row shows its values divided by podfs's: a mark right of 1 × is worse than podfs."""
    # Values of 0 are omitted, since they have no logarithm.
    rows = [row for row in table.rows if (row.of("podfs") or 0) > 0 and len(row.values) > 1]
    ratios = [row.of(name) / row.of("podfs") for row in rows for name in row.values if row.of(name) > 0]
    low = math.floor(math.log10(min(ratios, default=0.1)))
    high = max(math.ceil(math.log10(max(ratios, default=10))), low + 1)
    height = TOP + ROW * len(rows) + 30

    def x(ratio):
        return LEFT + (math.log10(ratio) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        *(f'<text x="10" y="{18 + 18 * number}">{escape(line)}</text>' for number, line in enumerate(caption.split("; ")))]
    names = sorted({name for row in rows for name in row.values}, key=lambda name: (name != "podfs", name))
    at, line = 10, 58
    for name in names:
        if at + 24 + 7 * len(name) > WIDTH:
            at, line = 10, line + 18
        parts.append(f'<circle cx="{at + 5}" cy="{line}" r="5" fill="{colour(name)}"/>'
                     f'<text x="{at + 14}" y="{line + 4}">{escape(name)}</text>')
        at += 24 + 7 * len(name)
    bottom = TOP + ROW * len(rows)
    for power in range(low, high + 1):
        parts.append(f'<line x1="{x(10 ** power):.1f}" y1="{TOP - 8}" x2="{x(10 ** power):.1f}" y2="{bottom}" '
                     f'stroke="{"#888888" if power == 0 else "#dddddd"}"/>'
                     f'<text x="{x(10 ** power):.1f}" y="{bottom + 18}" text-anchor="middle">{10 ** power:g} ×</text>')
    for number, row in enumerate(rows):
        middle = TOP + ROW * number + ROW / 2
        parts.append(f'<text x="{LEFT - 10}" y="{middle + 4:.1f}" text-anchor="end">{escape(row.cells()[0])}</text>')
        # podfs last, so that it lies on top.
        for name in sorted(row.values, key=lambda name: name == "podfs"):
            if row.of(name) > 0:
                title = f"{name}: {row.cells()[0]} {row.of(name):.4g}"
                parts.append(f'<circle cx="{x(row.of(name) / row.of("podfs")):.1f}" cy="{middle:.1f}" r="5" '
                             f'fill="{colour(name)}"><title>{escape(title)}</title></circle>')
    parts.append("</svg>")
    return "\n".join(parts) + "\n"
