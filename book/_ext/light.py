"""Pictures of the built pages with 256 colours at most: a third of the bytes, and nothing that an eye would see.

The pictures in the notebooks stay as they are; a picture that would look otherwise keeps its colours.
"""

import io
import pathlib

import numpy as np
from PIL import Image

HEAVY = 60_000  # bytes; below this it is not worth the time
SEEN = 2.0  # root mean square of the difference, on the scale 0 to 255


def lighten_pictures(app, error):
    """Make each heavy picture of the pages light."""
    if error is None and app.builder.format == "html":
        for path in sorted(pathlib.Path(app.outdir, "_images").glob("*.png")):
            if path.stat().st_size > HEAVY:
                path.write_bytes(lightened(path.read_bytes()))


def lightened(png):
    """The same picture with a palette, or these bytes if that would be seen or is not smaller."""
    picture = Image.open(io.BytesIO(png))
    if picture.mode == "P":
        return png
    whole = picture.convert("RGB")
    few = whole.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    apart = np.asarray(whole, float) - np.asarray(few.convert("RGB"), float)
    made = io.BytesIO()
    few.save(made, "png", optimize=True)
    light = len(made.getvalue()) < len(png)
    return made.getvalue() if light and np.sqrt((apart**2).mean()) < SEEN else png
