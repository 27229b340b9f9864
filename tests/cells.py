"""Cells of small notebooks with a planted fault, and what they have put out."""


def markdown(*lines):
    return {"cell_type": "markdown", "metadata": {}, "source": "\n".join(lines)}


def code(source, *outputs, count=None, **metadata):
    """A code cell; without a count it gets the right one."""
    return {"cell_type": "code", "metadata": metadata, "source": source, "execution_count": count, "outputs": outputs}


def printed(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def displayed(**data):
    data = {mime.replace("_", "/").replace("svg", "svg+xml"): text for mime, text in data.items()}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def result(shown):
    """What a notebook stores for something shown."""
    data = {"text/plain": repr(shown), "text/latex": shown.latex, "text/markdown": shown.markdown}
    return {"output_type": "display_data", "data": {k: v for k, v in data.items() if v}, "metadata": {}}
