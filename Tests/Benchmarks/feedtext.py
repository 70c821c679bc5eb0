"""Generated feeds and OPML lists for the benchmarks."""

FEED_HEAD = "<rss version='2.0'><channel><title>{}</title>"
FEED_ITEM = ("<item><title>Episode {n}</title><guid>{n}</guid><pubDate>{day} Jan 2026 {h:02}:{m:02}:{s:02} +0000</pubDate>"
             "<enclosure type='audio/mpeg' length='{length}' url='http://127.0.0.1:{port}/{name}?n={n}'/></item>")


def feed(title, count, port, name, length):
    items = "".join(
        FEED_ITEM.format(n=n, day=n % 28 + 1, h=n // 3600 % 24, m=n // 60 % 60, s=n % 60, length=length, port=port, name=name)
        for n in range(1, count + 1))
    return FEED_HEAD.format(title) + items + "</channel></rss>"


def addresses(port, count, folder="", hosts=1):
    """Returns the URLs of the feeds 1.xml to `count`.xml in `folder`, distributed over `hosts` loopback addresses."""
    return [f"http://127.0.0.{n % hosts + 1}:{port}/{folder}{n}.xml" for n in range(1, count + 1)]


def outlines(*arguments, **options):
    """Returns an OPML list of the URLs that `addresses` returns for these arguments."""
    body = "".join(
        f"<outline type='rss' text='Show {n}' xmlUrl='{url}'/>"
        for n, url in enumerate(addresses(*arguments, **options), 1))
    return f"<opml version='2.0'><body>{body}</body></opml>"


def rich_feed(count, size):
    """Yields the parts of a realistic feed of about `size` bytes.

    It has elements of three XML namespaces besides RSS, and each item has its show notes twice: as `description` and as
    `content:encoded`.
    """
    sentence = "In this episode we talk about things &amp; people, with <a href=\"https://example.com/{n}\">links</a>. "
    times = max(1, int((size / count - 900) / 2 / len(sentence)))
    yield ("<?xml version='1.0' encoding='UTF-8'?>\n"
           "<rss version='2.0' xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd' "
           "xmlns:content='http://purl.org/rss/1.0/modules/content/' xmlns:podcast='https://podcastindex.org/namespace/1.0'>"
           "<channel><title>Bench</title><link>https://example.com/</link><description>A show</description>\n")
    for n in range(1, count + 1):
        notes = sentence.replace("{n}", str(n)) * times
        escaped = notes.replace("&", "&amp;").replace("<", "&lt;")
        yield (f"<item><title>Episode {n}: a title &amp; more</title><guid isPermaLink='false'>urn:episode:{n}</guid>"
               f"<pubDate>Mon, {n % 28 + 1:02} Jun 2020 {n % 24:02}:00:00 +0000</pubDate><link>https://example.com/{n}</link>"
               f"<description>{escaped}</description><content:encoded><![CDATA[{notes}]]></content:encoded>"
               f"<itunes:duration>01:{n % 60:02}:00</itunes:duration><itunes:episode>{n}</itunes:episode>"
               f"<itunes:season>1</itunes:season><itunes:explicit>false</itunes:explicit>"
               f"<itunes:image href='https://example.com/{n}.jpg'/>"
               f"<enclosure url='https://media.example.com/{n}.mp3?a=1&amp;b=2' length='{n + 1000000}' type='audio/mpeg'/>"
               f"<podcast:transcript url='https://example.com/{n}.vtt' type='text/vtt'/></item>\n")
    yield "</channel></rss>\n"
