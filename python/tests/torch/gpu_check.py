"""Checks and measurements of the operators on a GPU: run it where torch has CUDA. One JSON object a line.

    python python/tests/torch/gpu_check.py [--quick] [--only SECTION] [--out FILE]

Sections: results, delays, layouts, capture, compile, streams, host, throughput, memory. The last line counts failures, which is also
the exit status. SpikingJelly is measured beside where it is installed.
"""

import argparse
import json
import sys
import time
import traceback

import torch

import spikelet.torch as st

NAMES = sorted(n for n in st.__all__ if isinstance(getattr(st, n), type) and issubclass(getattr(st, n), st.Neuron) and n != "Neuron")
GPU = torch.device("cuda")
failed = passed = 0
out = sys.stdout


def report(section, name, ok=None, **values):
    global failed, passed
    if ok is not None:
        passed, failed = passed + bool(ok), failed + (not ok)
    print(json.dumps({"section": section, "name": name, **({} if ok is None else {"ok": bool(ok)}), **values}), file=out, flush=True)


def attempt(section, name, run):
    try:
        values = run() or {}
        report(section, name, values.pop("ok", True), **values)
    except Exception as error:  # noqa: BLE001: every failure is a line
        report(section, name, False, error=f"{type(error).__name__}: {error}"[:2000], at=traceback.format_exc(limit=-3)[-1200:])


def make(name, shape, **constants):
    torch.manual_seed(1)
    layer = getattr(st, name)(shape=shape, **constants)
    layer._random = ()
    return layer


def both(layer, x, state=None, grad=None):
    """Output, last state and gradients on a device."""
    x = x.detach().requires_grad_()
    layer.zero_grad()
    y, last = layer(x, state)
    torch.manual_seed(3)
    weight = torch.randn(y.shape).to(y.device)
    loss = (y.float() * weight).sum() + sum(s.sum() for s in last)
    loss.backward()
    # Clones: moving a module moves the gradients of its parameters.
    return y.detach(), list(last), x.grad, [zeros(p) if p.grad is None else p.grad.clone() for p in layer.parameters()]


def zeros(like):
    return torch.zeros_like(like.detach())


def relative(a, b):
    """The largest difference of two tensors relative to the largest value of one of them; infinite where only one is finite."""
    a, b = a.double().cpu(), b.double().cpu()
    finite = a.isfinite()
    if not torch.equal(finite, b.isfinite()):
        return float("inf")
    a, b = a[finite], b[finite]
    if not a.numel():
        return 0.0
    return float((a - b).abs().max() / max(1.0, float(a.abs().max())))


def compare(layer, x, tolerance):
    cpu = both(layer, x)
    gpu_layer = layer.to(GPU)
    gpu = both(gpu_layer, x.to(GPU))
    layer.to("cpu")
    same = lambda a, b: torch.equal(a, b.cpu())
    outputs = same(cpu[0], gpu[0])
    states = all(same(a, b) for a, b in zip(cpu[1], gpu[1]))
    difference = relative(cpu[2], gpu[2])
    of_params = max([relative(a, b) for a, b in zip(cpu[3], gpu[3])], default=0.0)
    grads, params = difference <= tolerance, of_params <= 1e-3
    return {"ok": outputs and states and grads and params, "outputs": outputs, "states": states, "grads": grads, "params": params,
            "difference": difference, "difference_of_params": of_params}


def delays(quick):
    layers = {
        "Dcls1d": (lambda: st.Dcls1d(70, 33, 25), (20, 8, 70)),
        "Dcls1d max": (lambda: st.Dcls1d(70, 33, 24, version="max", width=3.0, kernel_count=2, bias=True), (20, 8, 70)),
        "Dcls1d v1": (lambda: st.Dcls1d(70, 33, 25, version="v1"), (20, 8, 70)),
        "DelayedLinear": (lambda: st.DelayedLinear(70, 33, 10, bias=True), (20, 8, 70)),
        "AxonalDelay": (lambda: st.AxonalDelay(16, 30), (20, 8, 16)),
        "AxonalDelay images": (lambda: st.AxonalDelay(16, 10, sigma=2.0), (20, 4, 16, 5, 5)),
        "Recurrent with delays": (lambda: st.Recurrent(st.LeakyIntegrator(), 32, max_delay=5, width=2.0), (20, 8, 32)),
        "Recurrent synaptic": (lambda: st.Recurrent(st.LeakyIntegrator(), 32, max_delay=5, width=1.0, synaptic=True), (20, 8, 32)),
    }
    for name, (make_layer, shape) in layers.items():
        for training in (True, False):
            for dtype in (torch.float32, torch.bfloat16):
                def run():
                    torch.manual_seed(1)
                    layer, x = make_layer().train(training), torch.randn(shape).to(dtype)
                    cpu = both(layer, x)
                    gpu = both(layer.to(GPU), x.to(GPU))
                    pairs = [(cpu[0], gpu[0]), *zip(cpu[1], gpu[1]), (cpu[2], gpu[2]), *zip(cpu[3], gpu[3])]
                    worst = [relative(a, b) for a, b in pairs]
                    return {"ok": max(worst) <= (1e-4 if dtype == torch.float32 else 3e-2), "differences": worst}
                attempt("delays", f"{name} training={training} {dtype}", run)

def results(quick):
    shapes = [(5, 3, 4, 2, 2), (33, 2, 7, 3, 3)] if quick else [(1, 3, 4, 2, 2), (5, 3, 4, 2, 2), (33, 2, 7, 3, 3), (130, 2, 8, 4, 4), (8, 64, 16, 32, 32)]
    for name in NAMES:
        for shape in shapes:
            torch.manual_seed(0)
            x = torch.randn(shape) + 0.5
            if name in ("Qif", "Eif", "Izhikevich", "AdEx"):
                x = x * 0.3
            kinds = (torch.float32,) if shape[0] != 5 else (torch.float32, torch.float16, torch.bfloat16)
            for dtype in kinds:
                attempt("results", f"{name} {list(shape)} {dtype}",
                        lambda: compare(make(name, shape), x.to(dtype), 1e-5 if dtype == torch.float32 else 1e-2))
    for soft in (False, True):
        for grad in ("surrogate", "detach"):
            for surrogate in st.surrogate.__all__:
                if surrogate in ("Surrogate", "Scaled", "PoissonPass"):
                    continue
                layer = st.Lif(2.0, v_reset=None if soft else 0.0, reset_grad=grad, surrogate=getattr(st.surrogate, surrogate)())
                attempt("results", f"Lif {surrogate} soft={soft} {grad}", lambda: compare(layer, torch.randn(6, 4, 33) + 0.5, 1e-5))
    learned = st.Lif(3.0, trainable={"tau": st.Trainable("channel", above=1.0), "v_threshold": "layer", "v_start": "neuron"}, shape=(8, 4, 6, 5, 5))
    attempt("results", "learned constants", lambda: compare(learned, torch.randn(8, 4, 6, 5, 5) + 0.5, 1e-5))


def layouts(quick):
    lif = st.Lif(2.0).to(GPU)
    x = torch.randn(4, 2, 8, 6, 6, device=GPU)
    y, state = lif(x, None)
    last = x.flatten(0, 1).to(memory_format=torch.channels_last).unflatten(0, (4, 2))
    shifted = torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape)
    for name, other in {"channels last": last, "offset": shifted, "strided": torch.stack([x, x], -1)[..., 0],
                        "transposed": x.transpose(0, 1).contiguous().transpose(0, 1)}.items():
        def run():
            s, after = lif(other, None)
            return {"ok": torch.equal(s, y) and torch.equal(after.v, state.v), "strides": list(s.stride())}
        attempt("layouts", name, run)
    still = torch.rand(1, 2, 8, device=GPU)
    attempt("layouts", "repeated input", lambda: {"ok": torch.equal(
        st.Lif()(still, time_steps=6), st.Lif()(still.expand(6, 2, 8)))})
    attempt("layouts", "empty batch", lambda: {"ok": lif(x[:, :0]).shape == (4, 0, 8, 6, 6)})
    for dtype in (torch.float32, torch.bfloat16):
        attempt("layouts", f"opcheck {dtype}", lambda: torch.library.opcheck(
            st._operators.operators(1, 0).forward, (x.to(dtype).requires_grad_(), None, lif.definition, 0)) and None)


def capture(quick):
    for name, shape in {"Lif": (8, 16, 1024), "Plif": (8, 16, 1024), "CubaLif": (40, 16, 128)}.items():
        def run():
            layer = make(name, shape).to(GPU)
            x = torch.randn(shape, device=GPU, requires_grad=True)
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    layer.zero_grad(set_to_none=True)
                    x.grad = None
                    layer(x).sum().backward()
            torch.cuda.current_stream().wait_stream(side)
            layer.zero_grad(set_to_none=True)
            x.grad = None
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = layer(x)
                y.sum().backward()
            ok = True
            for seed in range(3):
                torch.manual_seed(seed)
                fresh = torch.randn(shape, device=GPU)
                with torch.no_grad():
                    x.copy_(fresh)
                graph.replay()
                expected, _, grad, params = both_sum(layer, fresh)
                ok &= torch.equal(y, expected) and torch.equal(x.grad, grad)
                ok &= all(torch.equal(p.grad, g) for p, g in zip(layer.parameters(), params))
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(200):
                graph.replay()
            torch.cuda.synchronize()
            return {"ok": ok, "replay_us": 1e6 * (time.perf_counter() - begin) / 200}
        attempt("capture", name, run)
    def graphed():
        net = torch.nn.Sequential(torch.nn.Linear(64, 64), st.Lif(2.0), torch.nn.Linear(64, 10)).to(GPU)
        x = torch.randn(4, 32, 64, device=GPU)
        with torch.no_grad():
            expected = net(x)
        made = torch.cuda.make_graphed_callables(net, (torch.randn(4, 32, 64, device=GPU),))
        return {"ok": torch.allclose(made(x), expected, rtol=1e-4, atol=1e-4)}
    attempt("capture", "make_graphed_callables", graphed)


def both_sum(layer, x):
    x = x.detach().requires_grad_()
    saved = [p.grad for p in layer.parameters()]
    for p in layer.parameters():
        p.grad = None
    y = layer(x)
    y.sum().backward()
    params = [p.grad for p in layer.parameters()]
    for p, grad in zip(layer.parameters(), saved):
        p.grad = grad
    return y.detach(), None, x.grad, params


def compile_(quick):
    for mode in ("default", "reduce-overhead"):
        def run():
            torch._dynamo.reset()
            from torch._inductor import cudagraph_trees
            net = torch.nn.Sequential(torch.nn.Linear(64, 64), st.Lif(2.0), torch.nn.Linear(64, 64), st.Plif()).to(GPU)
            compiled = torch.compile(net, fullgraph=True, mode=None if mode == "default" else mode)
            x = torch.randn(8, 32, 64, device=GPU)
            recorded = [0]
            original = cudagraph_trees.CUDAGraphTreeManager.record_function
            def counted(self, *args, **kwargs):
                recorded[0] += 1
                return original(self, *args, **kwargs)
            cudagraph_trees.CUDAGraphTreeManager.record_function = counted
            try:
                times, counts = [], []
                for step in range(30):
                    torch.compiler.cudagraph_mark_step_begin()
                    torch.cuda.synchronize()
                    begin = time.perf_counter()
                    net.zero_grad(set_to_none=True)
                    compiled(x).sum().backward()
                    torch.cuda.synchronize()
                    times.append(time.perf_counter() - begin)
                    counts.append(recorded[0])
            finally:
                cudagraph_trees.CUDAGraphTreeManager.record_function = original
            with torch.no_grad():
                torch.compiler.cudagraph_mark_step_begin()
                ok = torch.allclose(compiled(x), net(x), rtol=1e-4, atol=1e-4)
            late = sorted(times[15:])
            return {"ok": ok and counts[-1] == counts[10], "ms": 1e3 * late[len(late) // 2], "recorded": counts[-1], "recorded_by_10": counts[10]}
        attempt("compile", mode, run)


def streams(quick):
    def run():
        lif, x = st.Lif(2.0).to(GPU), torch.randn(32, 1 << 16, device=GPU)
        expected = lif(x)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)
            late = x * 1.0
            y = lif(late)
        torch.cuda.current_stream().wait_stream(side)
        return {"ok": torch.equal(y, expected)}
    attempt("streams", "side stream", run)
    if torch.cuda.device_count() > 1:
        def other():
            x = torch.randn(4, 1000)
            return {"ok": torch.equal(st.Lif(2.0)(x.to("cuda:1")).cpu(), st.Lif(2.0)(x)) and torch.cuda.current_device() == 0}
        attempt("streams", "second GPU", other)


def timed(run, repeat=20):
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    best = 1e9
    for _ in range(5):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(repeat):
            run()
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) / repeat)
    return best


def peers():
    """SpikingJelly's multi-step LIF of the same constants, if it is installed."""
    try:
        from spikingjelly.activation_based import neuron, surrogate
    except ImportError:
        return None
    def make():
        return neuron.LIFNode(2.0, surrogate_function=surrogate.ATan(), step_mode="m").to(GPU)
    return make


def reset(layer):
    if hasattr(layer, "reset"):
        layer.reset()


def host(quick):
    x = torch.randn(4, 1024, device=GPU)
    layers = {"spikelet": st.Lif(2.0, surrogate=st.surrogate.Atan())}
    if peers():
        layers["spikingjelly"] = peers()()
    for name, layer in layers.items():
        def cost(run, count=300):
            for _ in range(20):
                run()
            torch.cuda.synchronize()
            best = 1e9
            for _ in range(10):
                begin = time.perf_counter()
                for _ in range(count):
                    run()
                best = min(best, (time.perf_counter() - begin) / count)
                torch.cuda.synchronize()
            return 1e6 * best
        grad = x.clone().requires_grad_()
        def plain():
            reset(layer)
            layer(x)
        def forward():
            reset(layer)
            layer(grad)
        weight = torch.randn_like(x)
        def both_passes():
            reset(layer)
            torch.autograd.grad(layer(grad), grad, weight)
        with torch.no_grad():
            without = cost(plain)
        report("host", name, no_grad_us=without, forward_us=cost(forward), both_us=cost(both_passes, 100))


def throughput(quick):
    n = 1 << 20
    for dtype in (torch.float32, torch.bfloat16):
        for steps in (4, 8, 32) if not quick else (32,):
            x = torch.randn(steps, n, device=GPU).to(dtype)
            target, weight = torch.empty_like(x), torch.randn_like(x)
            copy = timed(lambda: target.copy_(x))
            grad = x.clone().requires_grad_()
            layers = {"spikelet": st.Lif(2.0, surrogate=st.surrogate.Atan())}
            if peers():
                layers["spikingjelly"] = peers()()
            for name, layer in layers.items():
                def plain():
                    reset(layer)
                    with torch.no_grad():
                        layer(x)
                def both_passes():
                    reset(layer)
                    torch.autograd.grad(layer(grad), grad, weight)
                def run():
                    forward, both = timed(plain), timed(both_passes)
                    bytes_ = x.numel() * x.element_size()
                    # Forward: x and spikes; backward: x, the gradient of the spikes, the gradient of x.
                    return {"T": steps, "copy_ms": copy, "forward_ms": forward, "both_ms": both,
                            "forward_of_copy": copy / forward, "both_of_copy": 2.5 * copy / both,
                            "forward_gb_s": 2 * bytes_ / forward / 1e6}
                attempt("throughput", f"{name} {dtype} T={steps}", run)


def memory(quick):
    n = 1 << 20
    for name, layer in {"spikelet": st.Lif(2.0), **({"spikingjelly": peers()()} if peers() else {})}.items():
        x = torch.randn(32, n, device=GPU, requires_grad=True)
        weight = torch.randn_like(x)
        reset(layer)
        torch.autograd.grad(layer(x), x, weight)
        reset(layer)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        torch.autograd.grad(layer(x), x, weight)
        report("memory", name, peak_mib=(torch.cuda.max_memory_allocated() - before) / 2**20)
        del x, weight
        torch.cuda.empty_cache()


def main():
    global out
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--out")
    given = parser.parse_args()
    out = open(given.out, "w") if given.out else sys.stdout
    report("setup", "versions", torch=torch.__version__, gpu=torch.cuda.get_device_name(), cuda=torch.version.cuda)
    sections = {"results": results, "delays": delays, "layouts": layouts, "capture": capture, "compile": compile_, "streams": streams,
                "host": host, "throughput": throughput, "memory": memory}
    for name, section in sections.items():
        if given.only in (None, name):
            begin = time.perf_counter()
            try:
                section(given.quick)
            except Exception as error:  # noqa: BLE001
                report(name, "section", False, error=repr(error), at=traceback.format_exc(limit=-4)[-1500:])
            report(name, "seconds", seconds=round(time.perf_counter() - begin, 1))
    report("summary", "all", failed == 0, passed=passed, failed=failed)
    return min(failed, 100)


if __name__ == "__main__":
    sys.exit(main())
