"""When a page has come to rest, how much of it has moved meanwhile, and what travels."""

import functools
import gzip
import http.server
import threading

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
