"""What a reader does without a mouse."""


def keys(page, names):
    """Press these keys, one after the other."""
    for name in names.split():
        page.keyboard.press(name)
