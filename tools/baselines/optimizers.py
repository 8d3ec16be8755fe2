#!/usr/bin/env python3
"""Reference tensors of the optimizers and learning rate schedules.

Usage: optimizers.py MUON [FOLDER]

Writes optimizers.safetensors and schedules.json to FOLDER, by default to crates/spikelet-train/tests/data. MUON is a
checkout of https://github.com/KellerJordan/Muon. Needs torch, timm (pip install timm --no-deps), numpy and safetensors.

optimizers.safetensors: the parameters NAME before the first step, ten gradients `NAME.grad` [10, ...], the learning
rates `lr` [10], and for each case the parameters after each step, `CASE.NAME` [10, ...]. `cases` in the
metadata has the constants of each case. All steps are computed in f64.
"""

import importlib.util
import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

STEPS = 10
SHAPES = {"wide": (4, 6), "tall": (7, 3), "kernel": (12, 1, 3, 3), "bias": (5,)}


def muon_of(folder):
    """The author's program, without the rounding to bf16."""
    spec = importlib.util.spec_from_file_location("muon", Path(folder) / "muon.py")
    muon = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(muon)
    torch.Tensor.bfloat16 = torch.Tensor.double
    return muon


class Lion(torch.optim.Optimizer):
    """Program 1 of Chen et al., Symbolic Discovery of Optimization Algorithms, 2023."""

    def __init__(self, params, lr, beta1, beta2, weight_decay):
        super().__init__(params, dict(lr=lr, beta1=beta1, beta2=beta2, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        interp = lambda x, y, a: (1 - a) * x + a * y
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                m = state.setdefault("m", torch.zeros_like(p))
                update = torch.sign(interp(p.grad, m, group["beta1"]))
                state["m"] = interp(p.grad, m, group["beta2"])
                p -= group["lr"] * (update + p * group["weight_decay"])


def optimizers(muon):
    """Case, learning rate, constants as in spikelet, and the reference for a dictionary of parameters."""
    from timm.optim.lamb import Lamb

    optim = torch.optim

    def sgd(momentum=0.0, nesterov=False, weight_decay=0.0):
        constants = dict(name="sgd", momentum=momentum, nesterov=nesterov, weight_decay=weight_decay)
        return 0.1, constants, lambda ps, lr: optim.SGD(
            ps.values(), lr=lr, momentum=momentum, nesterov=nesterov, weight_decay=weight_decay
        )

    def adam(decoupled=False, weight_decay=0.0, betas=(0.9, 0.999)):
        constants = dict(
            name="adam", beta1=betas[0], beta2=betas[1], weight_decay=weight_decay, decoupled=decoupled
        )
        make = optim.AdamW if decoupled else optim.Adam
        return 0.02, constants, lambda ps, lr: make(ps.values(), lr=lr, betas=betas, weight_decay=weight_decay)

    def adafactor(beta2_decay=-0.8, d=1.0, weight_decay=0.0):
        constants = dict(beta2_decay=beta2_decay, d=d, weight_decay=weight_decay)
        # The precision of f32, although the steps are computed in f64.
        return 0.05, dict(name="adafactor", **constants), lambda ps, lr: optim.Adafactor(
            ps.values(), lr=lr, eps=(2.0**-23, 1e-3), **constants
        )

    def rmsprop(alpha=0.99, centered=False, momentum=0.0, weight_decay=0.0):
        constants = dict(
            name="rmsprop", alpha=alpha, centered=centered, momentum=momentum, weight_decay=weight_decay
        )
        return 0.01, constants, lambda ps, lr: optim.RMSprop(
            ps.values(), lr=lr, alpha=alpha, centered=centered, momentum=momentum, weight_decay=weight_decay
        )

    def lion(beta1=0.9, beta2=0.99, weight_decay=0.0):
        constants = dict(beta1=beta1, beta2=beta2, weight_decay=weight_decay)
        return 0.01, dict(name="lion", **constants), lambda ps, lr: Lion(ps.values(), lr, **constants)

    def lamb(weight_decay=0.01, always_adapt=False, trust_clip=False):
        constants = dict(weight_decay=weight_decay, always_adapt=always_adapt, trust_clip=trust_clip)
        return 0.02, dict(name="lamb", **constants), lambda ps, lr: Lamb(
            ps.values(), lr=lr, max_grad_norm=None, **constants
        )

    def muon_case(momentum=0.95, weight_decay=0.0, factor=0.015):
        constants = dict(name="muon", momentum=momentum, weight_decay=weight_decay, adam_factor=factor)

        def make(ps, lr):
            matrices = [p for p in ps.values() if p.ndim >= 2]
            rest = [p for p in ps.values() if p.ndim < 2]
            return muon.SingleDeviceMuonWithAuxAdam([
                dict(params=matrices, lr=lr, momentum=momentum, weight_decay=weight_decay, use_muon=True),
                dict(params=rest, lr=lr * factor, weight_decay=weight_decay, use_muon=False),
            ])

        return 0.02, constants, make

    return {
        "sgd": sgd(),
        "sgd-momentum": sgd(momentum=0.9, weight_decay=0.05),
        "sgd-nesterov": sgd(momentum=0.8, nesterov=True, weight_decay=0.01),
        "adam": adam(),
        "adam-decay": adam(weight_decay=0.1, betas=(0.8, 0.95)),
        "adamw": adam(decoupled=True, weight_decay=0.1),
        "adafactor": adafactor(),
        "adafactor-decay": adafactor(beta2_decay=-0.5, d=1.2, weight_decay=0.1),
        "rmsprop": rmsprop(),
        "rmsprop-centered": rmsprop(alpha=0.9, centered=True, momentum=0.7, weight_decay=0.02),
        "lion": lion(),
        "lion-decay": lion(beta1=0.95, beta2=0.98, weight_decay=0.3),
        "lamb": lamb(),
        "lamb-no-decay": lamb(weight_decay=0.0),
        "lamb-adapt": lamb(weight_decay=0.0, always_adapt=True),
        "lamb-clip": lamb(weight_decay=0.1, trust_clip=True),
        "muon": muon_case(),
        "muon-decay": muon_case(momentum=0.8, weight_decay=0.5, factor=0.2),
    }


def write_optimizers(muon, path):
    random = np.random.default_rng(17)
    draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
    tensors = {name: draw(*shape) for name, shape in SHAPES.items()}
    # With zeros: there the trust ratio of LAMB is 1.
    tensors["bias"][:] = 0.0
    for name, shape in SHAPES.items():
        tensors[f"{name}.grad"] = draw(STEPS, *shape)
    factors = [1 - k / 20 for k in range(STEPS)]
    cases = {}
    for case, (rate, constants, make) in optimizers(muon).items():
        parameters = {
            name: torch.nn.Parameter(torch.from_numpy(tensors[name]).double()) for name in SHAPES
        }
        optimizer = make(parameters, rate)
        initial = [group["lr"] for group in optimizer.param_groups]
        after = {name: [] for name in SHAPES}
        for k, factor in enumerate(factors):
            for group, lr in zip(optimizer.param_groups, initial):
                group["lr"] = lr * factor
            for name, p in parameters.items():
                p.grad = torch.from_numpy(tensors[f"{name}.grad"][k]).double()
            optimizer.step()
            for name, p in parameters.items():
                after[name].append(p.detach().numpy().astype(np.float32))
        for name in SHAPES:
            tensors[f"{case}.{name}"] = np.stack(after[name])
        cases[case] = dict(learning_rate=rate, **constants)
    tensors["factor"] = np.array(factors, dtype=np.float64)
    save_file(tensors, path, {"cases": json.dumps(cases)})
    path.chmod(0o644)


def factors_of(make, steps, metrics=None):
    """The learning rates of a PyTorch schedule in `steps` steps, for a rate of 1."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = make(optimizer)
    found = []
    for k in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step(*([metrics[k]] if metrics else []))
    return found


def write_schedules(path):
    """Each case: the schedule as in spikelet's settings, the number of epochs, steps in an epoch, the factor of each
    step. The schedules of PyTorch are called once a step, or once an epoch (`per_epoch`)."""
    lr = torch.optim.lr_scheduler
    epochs, each = 12, 5
    steps = epochs * each

    def step(gamma, size):
        return lambda o: lr.StepLR(o, step_size=size, gamma=gamma)

    def warm_up(then, length):
        def make(o):
            first = lr.LinearLR(o, start_factor=1e-12, total_iters=length)
            return lr.SequentialLR(o, [first, then(o)], milestones=[length])

        return make

    cosine = lambda length, least: lambda o: lr.CosineAnnealingLR(o, T_max=length, eta_min=least)
    exponential = lambda gamma: lambda o: lr.ExponentialLR(o, gamma)
    multi_step = lambda marks, gamma: lambda o: lr.MultiStepLR(o, marks, gamma)
    polynomial = lambda length, power: lambda o: lr.PolynomialLR(o, length, power)

    def one_cycle(warm_up, **more):
        # PyTorch's phases end at step pct_start * total_steps - 1 and total_steps - 1, spikelet's at the end of the
        # warm-up and of the last step.
        total = steps + 1
        pct_start = (warm_up * steps + 1) / total
        return lambda o: lr.OneCycleLR(o, max_lr=1.0, total_steps=total, pct_start=pct_start, **more)

    each_epoch = lambda then: dict(name="per_epoch", then=then)
    per_step = {
        "constant": (dict(name="constant"), lambda o: lr.ConstantLR(o, 1.0)),
        "step": (dict(name="step", epochs=3.0, gamma=0.5), step(0.5, 3 * each)),
        "multi-step": (
            dict(name="multi_step", milestones=[2.0, 7.0, 9.4], gamma=0.3),
            multi_step([2 * each, 7 * each, 47], 0.3),
        ),
        "exponential": (dict(name="exponential", gamma=0.8), exponential(0.8 ** (1 / each))),
        "cosine": (dict(name="cosine", min_factor=0.1), cosine(steps, 0.1)),
        "polynomial": (dict(name="polynomial", power=2.0, min_factor=0.0), polynomial(steps, 2.0)),
        "warm-up": (
            dict(name="warm_up", epochs=2.0, then=dict(name="cosine", min_factor=0.0)),
            warm_up(cosine(steps - 2 * each, 0.0), 2 * each),
        ),
        "one-cycle": (dict(name="one_cycle"), one_cycle(0.3)),
        "one-cycle-constants": (
            dict(name="one_cycle", pct_start=0.4, div_factor=10.0, final_div_factor=100.0),
            one_cycle(0.4, div_factor=10.0, final_div_factor=100.0),
        ),
    }
    per_epoch = {
        "step": (dict(name="step", epochs=3.0, gamma=0.5), step(0.5, 3)),
        "exponential": (dict(name="exponential", gamma=0.8), exponential(0.8)),
        "cosine": (dict(name="cosine", min_factor=0.1), cosine(epochs, 0.1)),
        "cosine-over": (dict(name="cosine_over", epochs=12.0, min_factor=0.0), cosine(12, 0.0)),
        "polynomial": (dict(name="polynomial", power=0.5, min_factor=0.0), polynomial(epochs, 0.5)),
        "warm-up": (
            dict(name="warm_up", epochs=3.0, then=dict(name="step", epochs=4.0, gamma=0.1)),
            warm_up(step(0.1, 4), 3),
        ),
    }
    cases = []
    for name, (schedule, make) in per_step.items():
        cases.append(dict(case=name, schedule=schedule, factors=factors_of(make, steps)))
    for name, (schedule, make) in per_epoch.items():
        factors = [factor for factor in factors_of(make, epochs) for _ in range(each)]
        cases.append(dict(case=f"{name}, per epoch", schedule=each_epoch(schedule), factors=factors))

    random = np.random.default_rng(3)
    falling = [round(2.0 * math.exp(-k / 9) + 0.15 * random.standard_normal(), 6) for k in range(40)]
    flat = [1.0 - 4e-5 * k for k in range(40)]
    plateaus = []
    for monitored, metrics, constants in [
        ("falling", falling, dict(patience=2, gamma=0.5)),
        ("cooldown", falling, dict(patience=1, cooldown=3, gamma=0.2, min_factor=0.01)),
        ("threshold", flat, dict(patience=4)),
        ("absolute", flat, dict(patience=4, threshold=1e-3, relative=False)),
        ("rising", [-m for m in falling], dict(patience=0, maximize=True, relative=False, threshold=0.0)),
        ("not finite", [1.0, 0.5, math.nan, math.nan, 0.4, 0.3], dict(patience=1, gamma=0.5)),
    ]:
        theirs = dict(
            mode="max" if constants.get("maximize") else "min",
            factor=constants.get("gamma", 0.1),
            patience=constants.get("patience", 10),
            threshold=constants.get("threshold", 1e-4),
            threshold_mode="rel" if constants.get("relative", True) else "abs",
            cooldown=constants.get("cooldown", 0),
            min_lr=constants.get("min_factor", 0.0),
            eps=0.0,
        )
        factors = factors_of(lambda o: lr.ReduceLROnPlateau(o, **theirs), len(metrics), metrics)
        metrics = [None if math.isnan(m) else m for m in metrics]
        schedule = dict(name="plateau", **constants)
        plateaus.append(dict(case=monitored, schedule=schedule, metrics=metrics, factors=factors))
    found = dict(epochs=epochs, steps_per_epoch=each, cases=cases, plateaus=plateaus)
    path.write_text(json.dumps(found, indent=None).replace('{"case"', '\n{"case"') + "\n")


def main():
    folder = Path(__file__).parents[2] / "crates/spikelet-train/tests/data"
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = Path(sys.argv[2]) if len(sys.argv) == 3 else folder
    folder.mkdir(parents=True, exist_ok=True)
    write_schedules(folder / "schedules.json")
    write_optimizers(muon_of(sys.argv[1]), folder / "optimizers.safetensors")


if __name__ == "__main__":
    main()
