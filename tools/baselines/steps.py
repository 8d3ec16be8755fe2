"""Training steps in PyTorch for the tables of recurrent_gpu.py and delays_gpu.py.

Each network and way of running it is a process of its own. All processes are prepared at once, and measured one after
the other.
"""
import json
import select
import statistics
import subprocess
import sys
import time

INPUTS, CLASSES = 140, 35


def spikes(torch, size, device):
    """Spikes of 2 % density [T, N, 140] and labels [N]; `size` begins with T and N."""
    x = (torch.rand(size[0], size[1], INPUTS, device=device) < 0.02).float()
    return x, torch.randint(0, CLASSES, (size[1],), device=device)


def spike(torch, above, derivative):
    """A spike, at 0 or above, with the derivative of its surrogate."""

    class Spike(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return (x > 0 if above else x >= 0).to(x.dtype)

        @staticmethod
        def backward(ctx, g):
            return g * derivative(*ctx.saved_tensors)

    return Spike.apply


class Step:
    """A training step: loss, gradients, Adam, and what follows an update; or an evaluation, if nothing is trained."""

    def __init__(self, network, loss, device, after=None, trains=True):
        import torch

        self.torch, self.loss, self.device = torch, loss, device
        self.after, self.trains = after, trains
        if trains:
            self.adam = torch.optim.Adam(network.parameters(), lr=1e-3, capturable=device == "cuda")

    def run(self):
        if not self.trains:
            with self.torch.no_grad():
                return self.loss()
        self.adam.zero_grad(set_to_none=True)
        self.loss().backward()
        self.adam.step()
        if self.after:
            with self.torch.no_grad():
                self.after()

    def synchronize(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def record(self):
        torch = self.torch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.run()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.run()
        return graph.replay

    def release(self):
        """Gives memory back while other processes are measured."""
        if self.trains:
            self.adam.zero_grad(set_to_none=True)
        if self.device == "cuda":
            self.torch.cuda.empty_cache()
            self.torch.cuda.reset_peak_memory_stats()

    def measure(self, run):
        """The median milliseconds of a step, and the largest allocated memory in MiB."""
        torch, times = self.torch, []
        run()
        self.synchronize()
        while len(times) < 3 or sum(times) < 1e3 and len(times) < 30:
            if self.device != "cuda":
                start = time.perf_counter()
                run()
                times.append(1e3 * (time.perf_counter() - start))
                continue
            before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            before.record()
            run()
            after.record()
            after.synchronize()
            times.append(before.elapsed_time(after))
        memory = torch.cuda.max_memory_allocated() / 2**20 if self.device == "cuda" else 0
        return statistics.median(times), memory


def job(make, records):
    """The process of a step that `make` returns: prints a JSON line."""
    start = time.perf_counter()
    step = make()
    step.run()
    step.synchronize()
    first = time.perf_counter() - start
    step.release()
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    run = step.record() if records and step.device == "cuda" else step.run
    first += time.perf_counter() - start
    ms, memory = step.measure(run)
    print(json.dumps({"ms": ms, "MiB": memory, "first": first}), flush=True)


def peers(script, jobs, limit):
    """The results of jobs by their keys; the words of a job are the argument `--job` of the script."""
    running = {}
    for key, words in jobs.items():
        words = [sys.executable, script, "--job", json.dumps(words)]
        pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
        running[key] = subprocess.Popen(words, text=True, **pipes)
    deadline = time.time() + limit
    while time.time() < deadline and any(p.poll() is None and not waits(p) for p in running.values()):
        time.sleep(0.2)
    found = {}
    for key, process in running.items():
        if process.poll() is None and not waits(process):
            process.kill()
            found[key] = {"error": "took too long"}
            continue
        try:
            out, trouble = process.communicate("go\n" if waits(process) else None, timeout=60)
            line = [line for line in out.splitlines() if line.startswith("{")]
            found[key] = json.loads(line[-1]) if line else {"error": trouble.strip()[-300:]}
        except subprocess.TimeoutExpired:
            process.kill()
            found[key] = {"error": "took too long"}
    return found


def waits(process):
    """Whether the process said that it is ready."""
    if not getattr(process, "is_ready", False) and select.select([process.stdout], [], [], 0)[0]:
        process.is_ready = process.stdout.readline().strip() == "ready"
    return getattr(process, "is_ready", False)


def table(columns, rows):
    """Prints a Markdown table; a cell is a result or None."""
    print(f"| | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(map(cell, cells))} |", flush=True)
    print()


def cell(found):
    if found is None:
        return "–"
    if "error" in found:
        return found["error"].replace("\n", " ").replace("|", "/")
    first = f"; {found['first']:.1f}" if "first" in found else ""
    return f"{found['ms']:.2f} ({found['MiB']:.0f}{first})"
