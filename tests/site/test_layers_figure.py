"""What the cell with the layers of a chat model puts out: every number of the record, in a form that is short."""

import json

import pytest
from guards import BOOK
from helpers import layered

from tested_transformer.book import figures
from tested_transformer.book.figures.layers import layer_name, shown
from tested_transformer.book.logit_lens import takes_over
from tested_transformer.files import read_json

RECORD = layered()


def unpacked(data):
    """The steps of each question, as the record has them, from what the page gets."""
    words = data["words"]

    def numbers(text, unit=1000):
        return [round(float(n or 0) / unit, 4) for n in text.split(",")]

    for prompt in data["prompts"]:
        steps = []
        for step in prompt["steps"]:
            best = [[words[int(i)], p] for i, p in zip(step["words"].split(","), numbers(step["p"]), strict=True)]
            steps.append(
                {
                    "token": words[step["token"]],
                    "output": [[words[i], p] for i, p in step["output"]],
                    "layers": [best[n : n + 3] for n in range(0, len(best), 3)],
                    "written": numbers(step["written"]),
                    "ranks": [*map(int, numbers(step["ranks"], 1))],
                }
            )
        read = [words[i] for i in prompt["read"]]
        yield {"text": prompt["text"], "prompt": read, "ended": prompt["ended"], "steps": steps}


@pytest.mark.parametrize(
    "record", [RECORD, read_json(BOOK / "results" / "layers.json", "record")], ids=["made", "kept"]
)
def test_the_page_gets_every_number_of_the_record(record):
    found = json.loads(json.dumps(figures.layers.said(record).data))
    assert [*unpacked(found)] == [
        {name: prompt[name] for name in ("text", "prompt", "ended", "steps")} for prompt in record["prompts"]
    ]
    assert found["vocabulary"] == record["tokens"]


def test_without_a_script_the_first_state_is_there_as_tables():
    figure = figures.layers.said(RECORD, (1, 2))
    steps = RECORD["prompts"][1]["steps"]
    answer, before = figure.words.values()
    assert [row[::2] for row in answer[1]] == [(shown(s["token"]), layer_name(takes_over(s))) for s in steps]
    assert [row[0] for row in before[1]] == ["the start", "layer 1", "layer 2", "layer 3", "layer 4"]
    assert [row[1] for row in before[1]] == [shown(row[0][0]) for row in steps[2]["layers"]]
    html = figure._repr_html_()
    assert html.count("</script>") == 1
    assert "<caption>The answer to: Two &lt;b&gt;?</caption>" in html


def test_what_the_page_gets_is_no_more_than_120_kilobytes():
    record = read_json(BOOK / "results" / "layers.json", "record")
    assert len(figures.layers.said(record)._repr_html_().encode()) < 120_000


def test_a_record_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"first \(2, 0\) must be one of 2 questions and a token of its answer"):
        figures.layers.said(RECORD, (2, 0))
    broken = json.loads(json.dumps(RECORD))
    broken["prompts"][0]["steps"][0]["ranks"].pop()
    with pytest.raises(ValueError, match="4 layers and the start, a row each"):
        figures.layers.said(broken)
    broken = json.loads(json.dumps(RECORD))
    broken["prompts"][0]["steps"][0]["token"] = "of"
    with pytest.raises(ValueError, match="the last layer must say what is written, 'of'"):
        figures.layers.said(broken)
