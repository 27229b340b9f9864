"""Models in shards, and layers that are computed again: nothing that can be seen from outside changes."""

import multiprocessing
import os
import shutil
import traceback
import warnings

import pytest
import torch
from test_objective import KINDS, ranks
from torch import distributed, nn

from tested_transformer.book.cost import n_bytes, saved_tensors
from tested_transformer.config import TINY
from tested_transformer.decoding.greedy import greedy
from tested_transformer.decoding.recompute import Uncached, passed_by
from tested_transformer.model.transformer import Transformer
from tested_transformer.training import checkpoint
from tested_transformer.training.distributed import World, join
from tested_transformer.training.events import EpochMean, Step, Validation
from tested_transformer.training.memory import checkpoint_activations, class_of, gathered, layers
from tested_transformer.training.options import Options
from tested_transformer.training.train import Trainer

HOW = {"batch_tokens": 40, "warmup": 4, "rate_scale": 0.5, "accumulate": 2, "keep": 2, "ema": 0.9}
HOW |= {"clip": 0.5, "weight_decay": 0.1, "epochs": 2, "save_every": 3}  # the last time amid the second epoch
QUICK = ("translator", "pre-training", "pictures")
TABLE = [
    pytest.param("both" if k in QUICK else "others", k, marks=[] if k in QUICK else pytest.mark.slow) for k in KINDS
]
SINGLE = {"dtype": torch.float32, "epochs": 1}
SOURCE = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0], [9, 9, 2, 0]])


def trainer(kind, folder, world=None, dropout=0.0, dtype=torch.float64, again=False, halfway=None, **options):
    """A run of this kind, and what it tells. Into halfway comes what was on the disk after step 3."""
    objective, examples = ranks(kind)
    objective.to(dtype)
    for module in objective.modules():
        if isinstance(module, nn.Dropout):
            module.p = dropout
    if again:
        checkpoint_activations(objective.model)
    if world and world.rank:  # what others begin with does not count
        nn.init.zeros_(next(objective.parameters()))
    seen = []

    def report(event):
        seen.append(event)
        if halfway and isinstance(event, Step) and event.step == 4:
            shutil.copytree(folder, halfway)

    t = Trainer(objective, Options(**HOW | options), examples[4:], examples[:4], folder, world or World(), report)
    return t, seen


def told(seen):
    """Losses and accuracies of steps, validations and the mean of epoch ends."""
    return [[e.loss, getattr(e, "accuracy", 0)] for e in seen if isinstance(e, (Step, Validation, EpochMean))]


def run(*given, resume=False, **how):
    t, seen = trainer(*given, **how)
    if resume:
        t.resume()
    t.run()
    return t, told(seen)


# Two processes, each with its shards


def one_of_two(rank, folder, kinds, found):
    """One of two processes: all that needs both, one thing after the other, since a start is slow."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    meet = f"file://{folder / 'meet'}"
    try:
        distributed.init_process_group("gloo", init_method=meet, rank=rank, world_size=2)
        answers = dict(learn(rank, folder, kinds))
        answers |= dict(work(rank, folder)) if kinds is QUICK else {}
        distributed.destroy_process_group()
        torch.save(answers, folder / f"{rank}.pt")
        found.put((rank, ""))
    except BaseException:
        found.put((rank, traceback.format_exc()))


def learn(rank, folder, kinds):
    """Each kind learns in shards, and goes on with what one process began."""
    shards = World(rank, 2, shard=True)
    for kind in kinds:
        left = None if rank else folder / "two, then one" / kind
        t, losses = run(kind, folder / "sharded" / kind, shards, halfway=left)
        yield (kind, "losses"), losses
        yield (kind, "holds"), {n: (p.to_local().numel(), p.numel()) for n, p in t.model.named_parameters()}
        yield (kind, "cut by itself"), [name for name, m in t.model.named_modules() if hasattr(m, "unshard")]
        yield (kind, "ends"), gathered(t.model.state_dict())
        yield (kind, "unsharded"), checkpoint.unsharded(t.model).state_dict()
        yield (kind, "goes on"), run(kind, folder / "one, then two" / kind, shards, resume=True)[1]


def work(rank, folder):
    """What is tried with one kind only."""
    shards, copies = World(rank, 2, shard=True), World(rank, 2)
    short = {"epochs": None, "steps": 2, "keep": 0}
    t, _ = trainer("translator", folder / "new", shards, **short)
    for when in ("at first", "in the end"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows = [greedy(model, SOURCE) for model in (t.model, checkpoint.unsharded(t.model))]
        yield ("written", when), (rows, [w.category for w in caught])
        if when == "at first":
            t.run()  # a search before the first step is in nobody's way
    yield "kept", [*gathered(t.model.state_dict(), keep=not rank)]
    yield "single", run("GPT", folder / "single", shards, **SINGLE)[1]
    dropped = {"dropout": 0.2, "ema": 0.0} | short
    yield "dropout", [run("GPT", folder / f"drop {w.shard}", w, **dropped)[1] for w in (shards, copies)]
    yield "again", run("GPT", folder / "again", shards, again=True, **dropped)[1]
    half = {"precision": "bfloat16", "dtype": torch.float32} | short
    yield "half", [run("GPT", folder / f"half {w.shard}", w, **half)[1] for w in (shards, copies)]
    for refused in (checkpoint.save, checkpoint.unsharded):
        try:
            refused(*([folder / "none"] if refused is checkpoint.save else []), t.model)
        except TypeError as error:
            yield ("refused", refused.__name__), str(error)
        t.model.encoder.layers[0].feed_forward = nn.Identity()


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """The folder of the runs, what one process tells alone, and what each of two found."""
    return together(tmp_path_factory, QUICK)


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """The same for the other kinds."""
    return together(tmp_path_factory, [kind for kind in KINDS if kind not in QUICK])


def together(tmp_path_factory, kinds):
    folder = tmp_path_factory.mktemp("both")
    alone = {k: run(k, folder / "alone" / k, halfway=folder / "one, then two" / k) for k in kinds}
    import torch._dynamo  # what FSDP2 loads: once here, not in each process
    import torch.distributed.fsdp

    context = multiprocessing.get_context("fork")
    found = context.Queue()
    processes = [context.Process(target=one_of_two, args=(rank, folder, kinds, found)) for rank in (0, 1)]
    for process in processes:
        process.start()
    for _ in processes:
        _, failed = found.get(timeout=300)
        assert not failed, failed
    for process in processes:
        process.join()
    return folder, alone, [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in (0, 1)]


def near(found, wanted, atol=1e-12):
    found, wanted = (torch.as_tensor(x, dtype=torch.float64) for x in (found, wanted))
    torch.testing.assert_close(found, wanted, rtol=0, atol=atol)


def same(found, wanted, atol=1e-9):
    """Adam divides by small numbers, so weights are not as near as losses."""
    assert found.keys() == wanted.keys()
    for name, tensor in wanted.items():
        near(found[name], tensor, atol)


@pytest.mark.parametrize(("group", "kind"), TABLE)
def test_two_with_shards_learn_as_one_does(request, group, kind):
    folder, alone, answers = request.getfixturevalue(group)
    t, losses = alone[kind]
    for found in answers:
        near(found[kind, "losses"], losses)
        same(found[kind, "ends"], t.model.state_dict())
        same(found[kind, "unsharded"], t.model.state_dict())
    best, _ = checkpoint.load(folder / "sharded" / kind, "cpu", type(t.model))
    state, about = checkpoint.read_tensors(folder / "sharded" / kind / "last.safetensors")
    same(best.state_dict(), t.model.state_dict())
    wanted, about_alone = checkpoint.read_tensors(folder / "alone" / kind / "last.safetensors")
    same(state, wanted)
    for of in (about["progress"], about_alone["progress"]):
        of.pop("seconds")
        of["best"] = pytest.approx(of["best"], abs=1e-12)
    assert about == about_alone


@pytest.mark.parametrize(("group", "kind"), TABLE)
def test_each_holds_about_half_of_all_parameters_and_a_shared_table_once(request, group, kind):
    _, alone, answers = request.getfixturevalue(group)
    one, other = (found[kind, "holds"] for found in answers)
    assert one.keys() == other.keys() == dict(alone[kind][0].model.named_parameters()).keys()
    for name, (mine, whole) in one.items():
        assert mine + other[name][0] == whole
    model = alone[kind][0].model
    wanted = [name for name, m in model.named_modules() if m is model or m in layers(model)]
    assert answers[0][kind, "cut by itself"] == wanted  # so only one layer at a time is whole
    held = sum(mine for mine, _ in one.values())
    assert 0.5 <= held / sum(whole for _, whole in one.values()) < 0.52


@pytest.mark.parametrize(("group", "kind"), TABLE)
def test_a_run_of_two_goes_on_with_one_and_the_other_way_round(request, group, kind):
    folder, alone, answers = request.getfixturevalue(group)
    wanted, (t, rest) = alone[kind][1], run(kind, folder / "two, then one" / kind, resume=True)
    assert len(rest) < len(wanted)
    for found in (rest, *(found[kind, "goes on"] for found in answers)):
        near(found, wanted[-len(rest) :])
    same(t.model.state_dict(), alone[kind][0].model.state_dict())


def test_a_search_works_on_shards_and_with_a_cache_on_a_plain_copy(both, tmp_path):
    *_, answers = both
    for found in answers:
        for when in ("at first", "in the end"):
            (one, other), caught = found["written", when]
            assert caught == [Uncached]  # by the shards alone: the copy uses its cache
            assert torch.equal(one, other)
    rows, _ = found["written", "in the end"]
    assert torch.equal(rows[0], greedy(run("translator", tmp_path, epochs=None, steps=2, keep=0)[0].model, SOURCE))


def test_only_rank_0_keeps_what_is_gathered(both):
    _, alone, (first, second) = both
    assert first["kept"] == [*alone["translator"][0].model.state_dict()]
    assert second["kept"] == []


def test_shards_learn_as_copies_do_with_dropout_with_less_precision_and_with_layers_computed_again(both):
    folder, _, answers = both
    single = run("GPT", folder / "single alone", **SINGLE)[1]
    for found in answers:
        near(*found["dropout"])
        near(found["again"], found["dropout"][0], atol=0)
        near(*found["half"], atol=1e-6)
        near(found["single"], single, atol=1e-6)


def test_shards_are_not_saved_and_modules_of_ones_own_not_copied(both):
    rule = "the model (Transformer) has modules of its own: save it, and give a new one to load_into"
    for found in both[2]:
        assert found["refused", "save"] == "embedding.weight is in shards: save what `unsharded` gives"
        assert found["refused", "unsharded"] == rule


def test_one_process_alone_has_nobody_to_share_with(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(ValueError, match=r"nobody to share .* or leave --shard out"), join("cpu", shard=True):
        pass


# Layers that are computed again


@pytest.mark.parametrize("kind", KINDS)
def test_layers_that_are_computed_again_change_no_bit(kind, tmp_path):
    how = {"dropout": 0.3, "dtype": torch.float32, "epochs": 1}
    (t, first), (other, second) = (run(kind, tmp_path / str(again), again=again, **how) for again in (False, True))
    assert first == second
    assert all(torch.equal(a, b) for a, b in zip(t.model.parameters(), other.model.parameters(), strict=True))
    found, _ = checkpoint.load(tmp_path / "True", "cpu", type(t.model))  # the file knows nothing of it
    assert all(torch.equal(w, found.state_dict()[name]) for name, w in t.model.state_dict().items())


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_that_is_computed_again_keeps_its_input_only(kind):
    kept = []
    for again in (False, True):
        objective, examples = ranks(kind)
        batch = objective.tensors(examples[:8], (0,))
        if again:
            checkpoint_activations(objective.model)
        kept.append(n_bytes(saved_tensors(objective, *batch)))
    assert kept[1] < 0.5 * kept[0]


def test_a_model_whose_layers_are_computed_again_is_what_it_was_for_a_search():
    torch.manual_seed(0)
    model = Transformer(TINY).eval()
    wanted = greedy(model, SOURCE)
    checkpoint_activations(model)
    assert len(layers(model)) == 2 * TINY.n_layers
    assert passed_by(model) is None
    assert torch.equal(greedy(model, SOURCE), wanted)
    assert class_of(model) is Transformer
    assert checkpoint.describe(model) == checkpoint.describe(Transformer(TINY))
