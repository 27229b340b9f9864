"""How long the pages of the built book take to come to rest, and what they weigh: a line for each page, in a table.

A page is at rest when its last long task has ended, or when it has loaded, whichever comes later: the median of five.
The numbers tell of this machine, which is why no test asserts a time.
"""

import functools
import gzip
import http.server
import statistics
import sys
import threading
from urllib.parse import urlsplit

import browser
import build

WITH_MATHJAX = {"book/attention.html": 1310}  # ms, measured like this when MathJax set the formulas in the browser
REST = """() => new Promise(done => {
  let last = performance.timing.loadEventEnd - performance.timing.navigationStart;
  const tasks = list => list.getEntries().forEach(task => last = Math.max(last, task.startTime + task.duration));
  new PerformanceObserver(tasks).observe({type: 'longtask', buffered: true});
  const wait = () => performance.now() > last + 1000 ? done(last) : setTimeout(wait, 100);
  setTimeout(wait, 100);
})"""
SHIFT = """() => new Promise(done => {
  let sum = 0;
  new PerformanceObserver(list => list.getEntries().forEach(shift => sum += shift.hadRecentInput ? 0 : shift.value))
      .observe({type: 'layout-shift', buffered: true});
  setTimeout(() => done(sum), 300);
})"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *said):
        """Nothing."""


def serve(folder):
    """The address at which a folder is served for as long as this runs."""
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def packed(path):
    """The bytes that travel: text is packed by servers, pictures and fonts are packed already."""
    data = path.read_bytes()
    return len(data) if path.suffix in (".png", ".woff", ".woff2") else len(gzip.compress(data, 6))


def measured(chromium, address, folder, name, times=5):
    """Milliseconds to rest, elements, bytes packed, requests, layout shift of one page at a first visit."""
    rests = []
    for _ in range(times):
        page = chromium.new_page(viewport={"width": 1280, "height": 900})
        loaded = set()
        page.on("requestfinished", lambda request, loaded=loaded: loaded.add(urlsplit(request.url).path))
        page.goto(f"{address}/{name}", wait_until="load")
        rests.append(page.evaluate(REST))
        elements = page.evaluate("document.querySelectorAll('*').length")
        shift = page.evaluate(SHIFT)
        page.close()
    files = [folder / path.lstrip("/") for path in loaded]
    weight = sum(packed(path) for path in files if path.is_file())
    return statistics.median(rests), elements, weight, len(loaded), shift


def main(names, folder=build.HTML):
    """Print a line for each page; without names, for the page on attention."""
    sys.path.insert(0, str(browser.DRIVER))
    from playwright.sync_api import sync_playwright

    address = serve(folder)
    print(f"{'page':32} {'to rest':>10} {'(MathJax)':>10} {'elements':>9} {'packed':>9} {'requests':>8} {'shift':>6}")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser.browser(), args=["--no-sandbox", "--disable-gpu"])
        for name in names or WITH_MATHJAX:
            rest, elements, weight, requests, shift = measured(chromium, address, folder, name)
            before = WITH_MATHJAX.get(name, "")
            print(
                f"{name:32} {rest:7.0f} ms {before:>10} {elements:9} {weight / 1000:6.0f} kB {requests:8} {shift:6.3f}"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
