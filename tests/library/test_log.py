"""What a run tells about itself: events, the numbers and the words that are kept of them, and the picture."""

import errno
import io

import pytest
from matplotlib.figure import Figure

from tested_transformer.training.curves import curves
from tested_transformer.training.events import EpochMean, Step, Validation, from_dict, to_dict
from tested_transformer.training.log import RunLog, in_words, read_metrics


def test_the_log_keeps_numbers_and_words_and_forgets_what_was_not_saved(tmp_path):
    log = RunLog(tmp_path, every=1)
    for step in (1, 2, 3):
        log(Step(step, 0, 1.0 / step, 0.5, 10, 0.1, 1.0))
    log(Validation(3, 1, 0.5, 0.25, True, 1.0))
    log.close()
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"event": "step", "step": 4, "lo')  # torn by a kill
    before = (tmp_path / "metrics.jsonl").read_bytes()
    again = RunLog(str(tmp_path), step=1, every=1)
    assert (tmp_path / "metrics.jsonl").read_bytes() == before, "nothing is taken out before something is told"
    again(Step(2, 0, 0.5, 0.5, 10, 0.1, 1.0))
    again.close()
    assert [event.step for event in read_metrics(str(tmp_path))] == [1, 2]
    assert (
        "step 3, epoch 1: validation loss 0.5000, tokens right 25.0%, the best so far"
        in (tmp_path / "log.txt").read_text()
    )
    assert in_words(EpochMean(7, 5, 1.0)) == "step 7, mean of 5 epochs: validation loss 1.0000"


def test_what_was_told_before_a_kill_is_not_there_twice(tmp_path):
    log = RunLog(tmp_path, every=1)
    for event in EVENTS:
        log(event)
    log.close()
    again = RunLog(tmp_path, step=3, every=1)
    for event in (*EVENTS, Validation(3, 2, 1.5, 0.5, True, 4.0)):
        again(event)
    again.close()
    assert [type(event) for event in read_metrics(tmp_path)] == [Step, Validation, EpochMean, Validation]
    assert again.events == read_metrics(tmp_path)


def test_the_bar_tells_the_tokens_of_a_second_since_it_last_did(tmp_path, monkeypatch):
    clock = iter([100.0, 101.0, 102.0, 103.0, 107.0])
    monkeypatch.setattr("tested_transformer.training.log.time.monotonic", lambda: next(clock))
    log, told = RunLog(tmp_path, every=2), []
    monkeypatch.setattr(log.bar, "set_postfix_str", told.append)
    for step, tokens in ((1, 10), (2, 30), (3, 2), (4, 48)):
        log(Step(step, 0, 1.0, 0.5, tokens, 0.1, 1.0))
    assert told == ["loss 1.000, 20 tokens/s", "loss 1.000, 10 tokens/s"]


def test_a_clock_that_stands_still_stops_no_run(tmp_path, monkeypatch):
    monkeypatch.setattr("tested_transformer.training.log.time.monotonic", lambda: 100.0)
    log = RunLog(tmp_path, every=1)
    log(Step(1, 0, 1.0, 0.5, 10, 0.1, 1.0))
    assert len(log.events) == 1


class Screen(io.StringIO):
    """One that a bar is drawn on."""

    def isatty(self):
        return True


def test_the_bar_stands_where_the_run_stands_and_the_log_has_its_events(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stderr", Screen())
    log = RunLog(tmp_path, step=5, steps=9, every=2)
    assert (log.bar.n, log.bar.total) == (5, 9)
    told = [Step(step, 0, 1.0, 0.5, 10, 0.1, 1.0) for step in (6, 7)]
    for event in told:
        log(event)
    assert log.bar.n == 7
    log.close()
    assert log.events == read_metrics(tmp_path) == told[:1]


def test_a_disk_without_room_is_told_with_the_name_of_the_file(tmp_path, monkeypatch):
    log = RunLog(tmp_path, every=1)

    def full(path, *more, **how):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("builtins.open", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*metrics\.jsonl'"):
        log(Step(1, 0, 1.0, 0.5, 10, 0.1, 1.0))


def test_curves_hold_training_and_validation_apart(monkeypatch):
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *args, **kwargs: drawn.append(figure))
    rows = (1, 3.0), (2, 2.0)
    told = [Step(step, 0, loss, 0.5, 10, 0.1, 1.0) for step, loss in rows]
    curves([*told, Validation(2, 1, 2.5, 0.25, True, 1.0), EpochMean(2, 2, 9.0)])
    ((axes,),) = (figure.axes for figure in drawn)
    train, valid = axes.lines
    assert (list(train.get_xdata()), list(train.get_ydata())) == ([1, 2], [3.0, 2.0])
    assert (list(valid.get_xdata()), list(valid.get_ydata())) == ([2], [2.5])
    assert (train.get_linestyle(), valid.get_marker()) == ("-", "o")


def test_curves_are_a_picture_that_is_the_same_each_time():
    events = [Step(step, 0, 1 / step, 0.5, 10, 0.1, 1.0) for step in (1, 2, 3)]
    assert curves(events).startswith(b"\x89PNG")
    assert curves(events) == curves(events)


def test_curves_of_a_run_that_has_told_nothing_yet_are_empty_axes(monkeypatch):
    drawn = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *args, **kwargs: drawn.append(figure.axes[0]))
    curves([])
    curves([EVENTS[1]])
    assert [(len(axes.lines), axes.get_legend() is None) for axes in drawn] == [(0, True), (1, False)]


EVENTS = [Step(1, 0, 2.5, 0.5, 10, 0.1, 3.0), Validation(2, 1, 2.5, 0.5, True, 3.0), EpochMean(3, 2, 2.5)]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_survives_the_way_through_a_dictionary(event):
    saved = to_dict(event)
    assert from_dict(saved | {"more": 1}) == event
    assert next(iter(saved)) == "event"


def test_a_line_of_metrics_that_is_no_event_is_named_and_nothing_is_lost(tmp_path):
    lines = '{"event": "step"}\n{"event": "epoch mean", "step": 1, "epochs": 2, "loss": 1.0}\n'
    (tmp_path / "metrics.jsonl").write_text(lines)
    with pytest.raises(ValueError, match=r"metrics\.jsonl, line 1 is no event"):
        RunLog(tmp_path)
    assert (tmp_path / "metrics.jsonl").read_text() == lines


def test_empty_lines_are_passed_over_and_only_a_line_without_its_end_is_torn(tmp_path):
    path, good = tmp_path / "metrics.jsonl", '{"event": "epoch mean", "step": 1, "epochs": 2, "loss": 1.0}'
    path.write_text(f"\n{good}\n\n{good[:30]}")
    assert read_metrics(tmp_path) == [EpochMean(1, 2, 1.0)]
    path.write_text(f"{good}\n{good[:30]}\n")
    with pytest.raises(ValueError, match=r"line 2 is no event: .*; take it out"):
        read_metrics(tmp_path)
    path.write_text(good.replace("1.0", "1") + "\n")
    assert read_metrics(tmp_path) == [EpochMean(1, 2, 1.0)], "a whole number may stand for any, but not the other way"
    path.write_text(good.replace("2", "2.5") + "\n")
    with pytest.raises(ValueError, match=r"line 1 is no event"):
        read_metrics(tmp_path)
    path.write_bytes(b"\xff\n")
    with pytest.raises(ValueError, match=r"metrics\.jsonl, line 1 is no event"):
        read_metrics(tmp_path)
