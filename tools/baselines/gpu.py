#!/usr/bin/env python3
"""SpikingJelly, snnTorch, Norse and Spyx on a GPU: the benchmarks of `spikelet bench`.

    gpu.py neuron        LIF (tau 2, ATan, hard reset), 2^20 neurons: SpikingJelly
    gpu.py linear-lif    Linear(N -> N) + LIF (tau 5), 500 steps, batch 16: all four
    gpu.py mnist-fc      a training step of 784 -> 196 -> 10, 50 steps, batch 256: SpikingJelly
    gpu.py csnn          a training step of the Fashion-MNIST network, 4 steps, batch 128: SpikingJelly
    gpu.py cifar10-net   a training step of the CIFAR-10 network, 8 and 50 steps, batch 32: SpikingJelly
    gpu.py mnist-curve --mnist DIR --epochs E
                         that network trained on the four IDX files in DIR: SpikingJelly

The default is the first three. It prints one JSON object per line; a measurement that fails, or is
skipped because of the time limit, has the key "error". Each library runs in a separate process.

ms is the median of at least 20 groups of runs (of at least 5 where they are slow) after warm-up. As in
`spikelet bench`, a group lasts a millisecond or more and the device is synchronized once per group, which
hides its latency; timed by CUDA events for PyTorch, by the clock for JAX. peak_mib is the peak of
allocated device memory, including inputs and parameters; for JAX the plan of its compiler.
"""

import argparse
import contextlib
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import convolutional

# What measures what, and for how many seconds a process may start new measurements.
SECTIONS = {
    "neuron": {"spikingjelly": 70},
    "linear-lif": {"spikingjelly": 45, "spyx": 30, "norse": 30, "snntorch": 30},
    "mnist-fc": {"spikingjelly": 30},
    "csnn": {"spikingjelly": 80},
    "cifar10-net": {"spikingjelly": 60},
    "mnist-curve": {"spikingjelly": 600},
}
DEFAULT = ["neuron", "linear-lif", "mnist-fc"]
# Runs are timed in groups of at least this many milliseconds, as spikelet's are.
GROUP_MS = 1.0
# A measurement that hangs is ended this many seconds after its process should have come to an end.
GRACE = 60

# The libraries are imported by the process that measures, never by the one that starts it.


class Bench:
    """Measures and prints rows for one library in one section."""

    def __init__(self, options):
        self.section, self.library = options.sections[0], options.only
        self.gpu, self.budget = options.device == "cuda", options.budget
        self.ends = options.started + (options.limit or SECTIONS[self.section][self.library])
        try:
            self.version = importlib.metadata.version(self.library)
        except importlib.metadata.PackageNotFoundError:
            self.version = None

    def print(self, **values):
        print(json.dumps({"section": self.section, "library": self.library, "version": self.version} | values), flush=True)

    def row(self, make, least=20, **names):
        """A row for what `make()` returns: a function that does the work once (and then its peak in bytes)."""
        if time.time() > self.ends:
            return self.print(**names, error="left out: no time left")
        try:
            self.print(**names, **self.measure(make, least))
        except Exception as error:
            self.print(**names, error=f"{type(error).__name__}: {error}".replace("\n", " ")[:300])
        finally:
            self.clean_up()

    def measure(self, make, least):
        if self.library == "spyx":
            import jax

            run, peak = make()
            times, runs = self.times(run, lambda run, n: self.by_the_clock(run, n, jax.block_until_ready), least)
        else:
            import torch

            if self.gpu:
                torch.cuda.synchronize()
                torch.cuda.reset_peak_memory_stats()
            run = make()
            times, runs = self.times(run, self.by_events if self.gpu else self.by_the_clock, least)
            peak = torch.cuda.max_memory_allocated() if self.gpu else None
        mib = None if peak is None else round(peak / 2**20, 1)
        return {"ms": round(statistics.median(times), 4), "repeats": len(times), "runs": runs, "peak_mib": mib}

    def times(self, run, group, least):
        """Milliseconds of a run in each of `least` groups, or as many as the budget allows; and the runs in a group."""
        start = time.perf_counter()
        for _ in range(5 if least >= 20 else 2):
            group(run, 1)
            if time.perf_counter() - start > self.budget / 2:
                break
        runs = 1
        while group(run, runs) < GROUP_MS:
            runs *= 2
        start, times = time.perf_counter(), []
        while len(times) < least:
            times.append(group(run, runs) / runs)
            if time.perf_counter() - start > self.budget and len(times) >= min(least, 5):
                break
        return times, runs

    @staticmethod
    def by_the_clock(run, runs, wait=lambda result: None):
        start = time.perf_counter()
        for _ in range(runs):
            result = run()
        wait(result)
        return 1e3 * (time.perf_counter() - start)

    @staticmethod
    def by_events(run, runs):
        import torch

        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(runs):
            run()
        end.record()
        end.synchronize()
        return start.elapsed_time(end)

    def clean_up(self):
        import gc

        gc.collect()
        if self.library != "spyx" and self.gpu:
            import torch

            with contextlib.suppress(RuntimeError):
                torch.cuda.synchronize()
                torch.cuda.empty_cache()


def captured(run):
    """`run` as a CUDA graph: all its kernels, started at once."""
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def passes(forward, leaves, grad):
    """The forward pass alone, and both passes from the gradient of the output to those of `leaves`."""
    import torch

    def forward_alone():
        with torch.no_grad():
            forward()

    def both():
        for leaf in leaves:
            leaf.grad = None
        forward().backward(grad)

    return {"forward": forward_alone, "forward_backward": both}


def allow_tf32(allowed):
    import torch

    torch.set_float32_matmul_precision("high" if allowed else "highest")


def neuron(bench, options):
    """SpikingJelly's multi-step LIF."""
    import torch
    from spikingjelly.activation_based import functional, neuron, surrogate

    node = neuron.LIFNode(tau=2.0, surrogate_function=surrogate.ATan(), step_mode="m")
    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}

    def forward(setting, x):
        """As a module; or as a function whose state is of another type than the module gives it."""
        if setting == "module":
            node.reset()
            return node(x)
        storage = x.dtype if setting == "half storage" else None
        v = torch.zeros(x.shape[1:], device=x.device)
        return functional.lif_multi_step(x, v, surrogate_function=node.surrogate_function, neuron_storage=storage)[0]

    def make(setting, time_steps, dtype, direction, graph):
        shape, where = (time_steps, options.neurons), {"device": options.device, "dtype": dtypes[dtype]}
        x, grad = torch.rand(shape, **where), torch.rand(shape, **where)
        run = passes(lambda: forward(setting, x.requires_grad_()), [x], grad)[direction]
        return captured(run) if graph else run

    def rows(dtype, time_steps):
        # In half precision the module keeps its state in half precision too, for which it has no
        # fused kernel; the other two settings have one, on a GPU.
        for setting in ["module"] if dtype == "f32" else ["half storage", "f32 state", "module"]:
            fused = dtype == "f32" or setting != "module"
            for graph in [False, True] if bench.gpu and fused else [False]:
                for direction in ["forward", "forward_backward"]:
                    bench.row(
                        lambda: make(setting, time_steps, dtype, direction, graph),
                        least=20 if fused else 5,
                        setting=setting + (", CUDA graph" if graph else ""),
                        n=options.neurons, time_steps=time_steps, dtype=dtype, direction=direction,
                    )

    # What takes long to compile comes last.
    for some in [[d for d in options.dtype if d == "f32"], [d for d in options.dtype if d != "f32"]]:
        for time_steps in options.time_steps or [8, 16, 32, 64, 128]:
            for dtype in some:
                rows(dtype, time_steps)


# Linear + LIF: one function a library, which returns the forward pass of a layer of `n` features and
# the layer's weights. LIF has tau 5 and, in SpikingJelly and Norse, the same equations and the same
# hard reset; snnTorch takes X whole and resets a step later, Spyx likewise and by subtraction. The
# surrogate gradient is the arc tangent, in Norse, which has none, its own SuperSpike.


def spikingjelly_layer(n, compiled):
    import torch
    from spikingjelly.activation_based import functional, layer, neuron, surrogate

    lif = neuron.LIFNode(tau=5.0, surrogate_function=surrogate.ATan())
    net = torch.nn.Sequential(layer.Linear(n, n, bias=False), lif)
    functional.set_step_mode(net, "m")

    def make(x):
        net.to(x.device)
        call = torch.compile(net) if compiled else net

        def forward():
            functional.reset_net(net)
            return call(x)

        return forward, net[0].weight

    return make


def by_steps(n, step, first):
    """One matrix product over all steps, then a loop over the steps."""
    import torch

    linear = torch.nn.Linear(n, n, bias=False)

    def make(x):
        linear.to(x.device)

        def forward():
            currents, state, spikes = linear(x), first(x), []
            for current in currents.unbind():
                spike, state = step(current, state)
                spikes.append(spike)
            return torch.stack(spikes)

        return forward, linear.weight

    return make


def norse_layer(n, compiled):
    import torch
    from norse.torch.functional.lif_box import LIFBoxFeedForwardState, LIFBoxParameters, lif_box_feed_forward_step

    # A step is a millisecond, so tau is 5 ms.
    parameters = LIFBoxParameters(tau_mem_inv=torch.tensor(200.0))

    def step(current, v):
        spike, state = lif_box_feed_forward_step(current, LIFBoxFeedForwardState(v), parameters, 0.001)
        return spike, state.v

    return by_steps(n, torch.compile(step) if compiled else step, lambda x: torch.zeros_like(x[0]))


def snntorch_layer(n, compiled):
    import snntorch
    import torch
    from snntorch import surrogate

    leaky = snntorch.Leaky(beta=0.8, spike_grad=surrogate.atan(), reset_mechanism="zero")
    step = torch.compile(leaky) if compiled else leaky

    def first(x):
        leaky.to(x.device)
        return torch.zeros_like(x[0])

    return by_steps(n, step, first)


def linear_lif_in_torch(bench, options):
    import torch

    layer = {"spikingjelly": spikingjelly_layer, "norse": norse_layer, "snntorch": snntorch_layer}[bench.library]
    time_steps = (options.time_steps or [500])[0]
    shape = (time_steps, options.batch_size)

    def make(n, direction, compiled, graph):
        to_input = direction != "forward_backward_weights"
        x = torch.rand(*shape, n, device=options.device, requires_grad=to_input)
        grad = torch.rand(*shape, n, device=options.device)
        forward, weight = layer(n, compiled)(x)
        leaves = [x, weight] if to_input else [weight]
        run = passes(forward, leaves, grad)["forward" if direction == "forward" else "forward_backward"]
        return captured(run) if graph else run

    directions = ["forward", "forward_backward"]
    if bench.library == "spikingjelly":
        # As in a network's first layer: no gradient of the input.
        directions.append("forward_backward_weights")

    def rows(precision, n, settings):
        allow_tf32(precision == "tf32")
        for compiled, graph in settings:
            torch._dynamo.reset()
            for direction in directions:
                bench.row(
                    lambda: make(n, direction, compiled, graph),
                    least=20 if bench.library == "spikingjelly" or graph else 5,
                    setting=("compiled" if compiled else "eager") + (", CUDA graph" if graph else ""),
                    n=n, time_steps=time_steps, batch=options.batch_size, dtype=precision, direction=direction,
                )

    # What takes long to compile comes last. What compiler and graph save is the same for both precisions.
    graph_too = [False, True] if bench.gpu else [False]
    for precision, settings in [
        ("tf32", [(False, graph) for graph in graph_too]),
        ("f32", [(False, False)]),
        ("tf32", [(True, graph) for graph in graph_too]),
    ]:
        for n in options.features:
            rows(precision, n, settings)


def linear_lif_in_jax(bench, options):
    import jax
    import spyx
    from flax import nnx

    time_steps = (options.time_steps or [500])[0]

    def make(n, direction, precision):
        rngs = nnx.Rngs(0)
        graph, weights = nnx.split(nnx.Linear(n, n, use_bias=False, rngs=rngs))
        cell = spyx.nn.LIF((n,), beta=0.8, activation=spyx.axn.arctan(), rngs=rngs)
        keys = jax.random.split(jax.random.PRNGKey(0))
        x, grad = (jax.random.uniform(key, (time_steps, options.batch_size, n)) for key in keys)

        def forward(weights, x):
            return spyx.nn.run(cell, nnx.merge(graph, weights)(x))[0]

        def both(weights, x, grad):
            spikes, back = jax.vjp(forward, weights, x)
            return spikes, back(grad)

        work, inputs = (forward, (weights, x)) if direction == "forward" else (both, (weights, x, grad))
        with jax.default_matmul_precision(precision):
            program = jax.jit(work).lower(*inputs).compile()
        plan = program.memory_analysis()
        sizes = ["argument_size_in_bytes", "output_size_in_bytes", "temp_size_in_bytes"]
        peak = sum(getattr(plan, name) for name in sizes) if plan else None
        return lambda: program(*inputs), peak

    for dtype, precision in {"tf32": "tensorfloat32", "f32": "highest"}.items():
        for n in options.features:
            for direction in ["forward", "forward_backward"]:
                bench.row(
                    lambda: make(n, direction, precision),
                    setting="jit",
                    n=n, time_steps=time_steps, batch=options.batch_size, dtype=dtype, direction=direction,
                )


def linear_lif(bench, options):
    (linear_lif_in_jax if bench.library == "spyx" else linear_lif_in_torch)(bench, options)


class Mnist:
    """784 -> 196 -> 10 in SpikingJelly, LIF (tau 100, sigmoid alpha 1), with Adam; gives firing rates."""

    def __init__(self, options, mode="m", compiled=False, **adam):
        import torch
        from spikingjelly.activation_based import functional, layer, neuron, surrogate

        def lif():
            return neuron.LIFNode(tau=100.0, surrogate_function=surrogate.Sigmoid(alpha=1.0))

        layers = [layer.Flatten(), layer.Linear(784, 196, bias=False), lif(), layer.Linear(196, 10, bias=False), lif()]
        network = torch.nn.Sequential(*layers).to(options.device)
        functional.set_step_mode(network, mode)
        self.mode, self.time_steps = mode, (options.time_steps or [50])[0]
        self.call = torch.compile(network) if compiled else network
        self.reset = lambda: functional.reset_net(network)
        self.optimizer = torch.optim.Adam(network.parameters(), lr=1e-2, **adam)

    def firing_rate(self, images):
        """Firing rates [N, 10] for intensities [N, 1, 28, 28], each pixel a Poisson spike train."""
        import torch

        self.reset()
        if self.mode == "m":
            draws = torch.rand(self.time_steps, *images.shape, device=images.device)
            return self.call((draws <= images).float()).mean(0)
        return sum(self.call((torch.rand_like(images) <= images).float()) for _ in range(self.time_steps)) / self.time_steps

    def step(self, images, labels):
        import torch.nn.functional as F

        self.optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(self.firing_rate(images), labels).backward()
        self.optimizer.step()


def mnist_fc(bench, options):
    import torch

    allow_tf32(True)
    images = (torch.rand(options.images, 1, 28, 28, device=options.device) - 0.8).clamp(min=0) * 3.2
    labels = torch.randint(0, 10, (options.images,), device=options.device)

    def make(mode, compiled, fused, graph):
        # A graph's optimiser keeps its count of steps on the device.
        adam = {"fused": True, "capturable": graph} if fused else {}
        network = Mnist(options, mode, compiled, **adam)
        run = lambda: network.step(images, labels)
        return captured(run) if graph else run

    settings = {"layer by layer": ("m", False, False, False), "layer by layer, compiled": ("m", True, False, False)}
    if bench.gpu:
        settings |= {
            "layer by layer, fused Adam": ("m", False, True, False),
            "layer by layer, fused Adam, CUDA graph": ("m", False, True, True),
            "layer by layer, compiled, fused Adam, CUDA graph": ("m", True, True, True),
        }
    settings["step by step"] = ("s", False, False, False)
    for name, setting in settings.items():
        torch._dynamo.reset()
        bench.row(
            lambda: make(*setting),
            setting=name,
            time_steps=(options.time_steps or [50])[0], batch=options.images, dtype="tf32", direction="training_step",
        )


def read_idx(path, dimensions):
    """An IDX file of bytes as a tensor; the magic number must announce `dimensions` dimensions."""
    import numpy
    import torch

    data = path.read_bytes()
    if data[:4] != bytes([0, 0, 8, dimensions]):
        raise ValueError(f"{path} is not an IDX file of bytes with {dimensions} dimensions; unpack it if it is compressed")
    shape = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(dimensions)]
    return torch.from_numpy(numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * dimensions).reshape(shape).copy())


def mnist_curve(bench, options):
    """Test accuracy after each epoch; the seconds are those since the data are on the device."""
    import torch

    allow_tf32(True)
    torch.manual_seed(options.seed)

    def load(part):
        images = read_idx(options.mnist / f"{part}-images-idx3-ubyte", 3)[: options.limit_images]
        labels = read_idx(options.mnist / f"{part}-labels-idx1-ubyte", 1)[: options.limit_images]
        return images.to(options.device).unsqueeze(1).float() / 255, labels.to(options.device).long()

    (images, labels), (test_images, test_labels) = load("train"), load("t10k")
    network, best, train_seconds = Mnist(options), 0.0, 0.0
    synchronize = torch.cuda.synchronize if bench.gpu else lambda: None
    started = time.perf_counter()
    for epoch in range(1, options.epochs + 1):
        epoch_started = time.perf_counter()
        order = torch.randperm(len(images), device=options.device)
        for batch in order.split(options.images):
            if len(batch) == options.images:
                network.step(images[batch], labels[batch])
        synchronize()
        train_seconds += time.perf_counter() - epoch_started
        with torch.no_grad():
            pieces = zip(test_images.split(500), test_labels.split(500))
            correct = sum((network.firing_rate(x).argmax(1) == y).sum() for x, y in pieces).item()
        accuracy = correct / len(test_images)
        best = max(best, accuracy)
        seconds = {"seconds": round(time.perf_counter() - started, 2), "train_seconds": round(train_seconds, 2)}
        bench.print(setting="layer by layer", epoch=epoch, test_accuracy=accuracy, best_accuracy=best, **seconds)
        if time.time() > bench.ends:
            return bench.print(epoch=epoch, error="ended early: no time left")


RUN = {
    "neuron": neuron,
    "linear-lif": linear_lif,
    "mnist-fc": mnist_fc,
    "csnn": convolutional.csnn,
    "cifar10-net": convolutional.cifar10_net,
    "mnist-curve": mnist_curve,
}


def measure(options):
    """The part of the process that measures."""
    bench = Bench(options)
    try:
        if bench.gpu and bench.library == "spyx":
            import jax

            if jax.default_backend() != "gpu":
                raise RuntimeError("JAX finds no GPU")
        RUN[bench.section](bench, options)
    except Exception as error:
        bench.print(error=f"{type(error).__name__}: {error}".replace("\n", " ")[:300])


def start(section, library, arguments, options):
    """Measures in a process of its own, whose lines are passed on as they come."""
    environment = dict(os.environ, LOGURU_LEVEL=os.environ.get("LOGURU_LEVEL", "WARNING"))
    # JAX would otherwise take most of the GPU's memory at once.
    environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    if options.device == "cpu":
        environment["JAX_PLATFORMS"] = "cpu"
    command = [sys.executable, __file__, section, "--only", library, *arguments]
    seconds = (options.limit or SECTIONS[section][library]) + GRACE
    try:
        status = subprocess.run(command, env=environment, timeout=seconds).returncode
        problem = f"its process ended with status {status}" if status else None
    except subprocess.TimeoutExpired:
        problem = f"its process was ended after {seconds:.0f} s"
    if problem:
        print(json.dumps({"section": section, "library": library, "error": problem}), flush=True)


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda", help="default: %(default)s")
    parser.add_argument("--library", action="append", help="only this library; may be repeated")
    parser.add_argument("--budget", type=float, default=6.0, metavar="SECONDS", help="for a row (default: %(default)s)")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="for a library in a section (default: 30 to 70; mnist-curve 600)")
    size = parser.add_argument_group("size")
    size.add_argument("--time-steps", type=numbers, metavar="T,…", help="several for neuron; otherwise the first counts")
    size.add_argument("--neurons", type=int, default=2**20, metavar="N", help="neuron (default: %(default)s)")
    size.add_argument("--dtype", type=lambda text: text.split(","), default=["f32", "bf16", "f16"], metavar="TYPE,…", help="neuron (default: f32,bf16,f16)")
    size.add_argument("--features", type=numbers, default=[512, 2048, 8192, 16384], metavar="N,…", help="linear-lif (default: 512,2048,8192,16384)")
    size.add_argument("--batch-size", type=int, default=16, metavar="N", help="linear-lif (default: %(default)s)")
    size.add_argument("--images", type=int, default=256, metavar="N", help="batch of the MNIST network (default: %(default)s)")
    curve = parser.add_argument_group("mnist-curve")
    curve.add_argument("--mnist", type=Path, metavar="DIR", help="folder of the four IDX files")
    curve.add_argument("--epochs", type=int, default=10, help="default: %(default)s")
    curve.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    curve.add_argument("--limit-images", type=int, metavar="N", help="use only the first images")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.started = time.time()
    options.sections = options.sections or DEFAULT
    libraries = {library for section in options.sections if section in SECTIONS for library in SECTIONS[section]}
    for name, known in [(s, SECTIONS) for s in options.sections] + [(l, libraries) for l in options.library or []]:
        if name not in known:
            parser.error(f"there is no {name!r} here; choose from {', '.join(known)}")
    if "mnist-curve" in options.sections and options.mnist is None:
        parser.error("mnist-curve needs --mnist DIR")

    if options.only:
        return measure(options)
    arguments = [word for word in sys.argv[1:] if word not in SECTIONS]
    for section in options.sections:
        for library in SECTIONS[section]:
            if library in (options.library or [library]):
                start(section, library, arguments, options)


if __name__ == "__main__":
    main()
