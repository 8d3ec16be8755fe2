"""Reference values and gradients of losses in f64, from PyTorch: crates/spikelet-nn/tests/losses/reference.json.

    python tools/baselines/losses.py            # needs torch (CPU)
"""

import json
import pathlib

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
torch.manual_seed(7)
TARGET = pathlib.Path(__file__).parents[2] / "crates/spikelet-nn/tests/losses/reference.json"
cases = {}


def case(name, build, inputs, labels=None):
    """Adds a case: `inputs` are tensors with gradients, `build` computes the loss from them and the labels."""
    given = [x.detach().clone().requires_grad_() for x in inputs]
    loss = build(*given, *([] if labels is None else [labels]))
    grads = torch.autograd.grad(loss, given, allow_unused=True)
    cases[name] = {
        "inputs": [{"shape": list(x.shape), "values": x.detach().flatten().tolist()} for x in given],
        "labels": [] if labels is None else labels.tolist(),
        "loss": loss.item(),
        "grads": [[0.0] * x.numel() if g is None else g.flatten().tolist() for x, g in zip(given, grads)],
    }


scores = 2 * torch.randn(4, 5)
labels = torch.tensor([3, 0, 4, 3])
weights = torch.tensor([1.0, 0.5, 0.5, 2.0, 0.0])
probabilities = torch.rand(4, 5)
probabilities /= probabilities.sum(1, keepdim=True)
case("cross_entropy", F.cross_entropy, [scores], labels)
case("smoothed", lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1), [scores], labels)
case("weighted", lambda x, y: F.cross_entropy(x, y, weight=weights, label_smoothing=0.2), [scores], labels)
case("soft", F.cross_entropy, [scores, probabilities])
case("soft_weighted", lambda x, q: F.cross_entropy(x, q, weight=weights, label_smoothing=0.2), [scores, probabilities])
case("mse_labels", lambda x, y: F.mse_loss(x, F.one_hot(y, 5).double()), [scores], labels)

# Large logits, one of them 0.
logits = torch.tensor([[0.0, 40.0, -40.0, 0.3], [1.5, -2.0, 800.0, -800.0]])
decisions = torch.tensor([[1.0, 0.25, 1.0, 0.0], [0.5, 1.0, 0.0, 0.0]])
case("binary", F.binary_cross_entropy_with_logits, [logits, decisions])
case(
    "binary_weighted",
    lambda x, t: F.binary_cross_entropy_with_logits(x, t, pos_weight=torch.tensor(3.0)),
    [logits, decisions],
)

teacher = 2 * torch.randn(4, 5)


def distillation(x, t):
    p, q = F.log_softmax(t.detach() / 3, 1), F.log_softmax(x / 3, 1)
    return 9 * F.kl_div(q, p, log_target=True, reduction="batchmean")


case("kl", distillation, [scores, teacher])

values, targets = 2 * torch.randn(3, 4), torch.randn(3, 4)
case("squared", F.mse_loss, [values, targets])
case("l1", F.l1_loss, [values, targets])
case("huber", lambda a, b: F.huber_loss(a, b, delta=0.7), [values, targets])
case("smooth_l1", lambda a, b: F.smooth_l1_loss(a, b, beta=0.7), [values, targets])

T = 6
v_seq = 2 * torch.randn(T, 4, 5)


def each_step(x, y, **options):
    return torch.stack([F.cross_entropy(step, y, **options) for step in x]).mean()


case("tet", lambda x, y: each_step(x, y, label_smoothing=0.1), [v_seq], labels)
case("tet_weighted", lambda x, y: each_step(x, y, weight=weights), [v_seq], labels)
case(
    "tet_regularized",
    lambda x, y: 0.95 * each_step(x, y) + 0.05 * F.mse_loss(x, torch.ones_like(x)),
    [v_seq],
    labels,
)
case("tet_soft", lambda x, q: each_step(x, q), [v_seq, probabilities])
case("last", lambda x, y: F.cross_entropy(x[-1], y), [v_seq], labels)
case("max", lambda x, y: F.cross_entropy(x.max(0).values, y), [v_seq], labels)
case("mean", lambda x, y: F.cross_entropy(x.mean(0), y), [v_seq], labels)
case("softmax_sum", lambda x, y: F.cross_entropy(x.softmax(2).sum(0), y), [v_seq], labels)

# Spikes, some neurons silent; gradients are those of real values at these places.
spikes = (torch.rand(T, 4, 5) < 0.3).double()
spikes[:, 1, 2] = 0
desired = (torch.rand(T, 4, 5) < 0.3).double()
hot = F.one_hot(labels, 5).double()
case("rate", lambda s, y: F.mse_loss(s.mean(0), 0.8 * hot + 0.05 * (1 - hot)), [spikes], labels)
case("count", lambda s, y: F.mse_loss(s.sum(0), 4 * hot + 1 * (1 - hot)), [spikes], labels)
case("count_entropy", lambda s, y: F.cross_entropy(s.sum(0), y), [spikes], labels)


def first(s):
    return torch.cumprod(1 - s, 0).sum(0)


# torch.cumprod has no gradient at several zeros; a small shift gives every product a gradient.
soft_spikes = 0.05 + 0.8 * spikes
case("first_entropy", lambda s, y: F.cross_entropy(-first(s), y), [soft_spikes], labels)
case("first_mse", lambda s, y: F.mse_loss(first(s) / T, (1 * hot + 5 * (1 - hot)) / T), [soft_spikes], labels)


def van_rossum(s, d):
    tau, f, total = 2.5, 0, 0
    for a, b in zip(s, d):
        f = f * torch.exp(torch.tensor(-1 / tau)) + a - b
        total = total + (f**2).mean()
    return total / tau


case("van_rossum", van_rossum, [spikes, desired])

case("rate_target", lambda s: (s.mean() - 0.1) ** 2, [spikes])


def bounds(s):
    rate = s.mean((0, 1))
    return (F.relu(0.2 - rate) ** 2 + F.relu(rate - 0.25) ** 2).mean()


case("rate_bounds", bounds, [spikes])


def limits(s):
    rate = s.mean((0, 1))
    return (F.relu(0.27 - rate) + F.relu(rate - 0.28)).sum()


case("rate_limits", limits, [spikes])
# reg_l1 and reg_l2 of the Braille letters of the NIR paper.
case("spike_count", lambda s: torch.mean(torch.sum(s, 0)), [spikes])
case("spike_count_squared", lambda s: torch.mean(torch.sum(torch.sum(s, 0), 1) ** 2), [spikes])
case("operations", lambda s: s.sum((0, 2)).mean() * 72, [spikes])

TARGET.write_text(json.dumps(cases, separators=(",", ":"), indent=None) + "\n")
print(f"{len(cases)} cases in {TARGET}")
