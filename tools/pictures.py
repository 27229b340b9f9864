"""How far two pictures are apart, for all who compare what a cell draws with what is stored."""

import base64
import io

import matplotlib.image
import numpy as np

BLOCK = 16  # pixels: about the size of a digit
PICTURE_LIMIT = 16.0  # root mean square distance in one block, on the scale 0 to 255


def pictures(outputs):
    """The PNG pictures among a cell's outputs, as arrays of 0 to 255, in order."""
    codes = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    return [matplotlib.image.imread(io.BytesIO(base64.b64decode(code)), "png") * 255 for code in codes]


def distance(a, b):
    """How far two pictures are apart where they differ most: in the whole, a changed digit would not be seen."""
    square = np.mean((a - b)[..., :3] ** 2, axis=2)
    square = np.pad(square, [(0, -side % BLOCK) for side in square.shape])
    rows, columns = square.shape[0] // BLOCK, square.shape[1] // BLOCK
    return float(np.sqrt(square.reshape(rows, BLOCK, columns, BLOCK).mean(axis=(1, 3)).max()))


def picture_difference(new, stored):
    """What differs between two lists of pictures, in words; an empty string where nothing does."""
    if len(new) != len(stored):
        return f"{len(stored)} stored pictures, {len(new)} new ones"
    for i, (a, b) in enumerate(zip(new, stored, strict=True), start=1):
        if a.shape != b.shape:
            return f"picture {i} is {b.shape} in the notebook, {a.shape} now"
        if distance(a, b) > PICTURE_LIMIT:
            return f"picture {i} differs somewhere by {distance(a, b):.1f} of 255; {PICTURE_LIMIT} is the limit"
    return ""
