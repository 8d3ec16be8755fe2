"""The importers of snnTorch, Norse and sinabs for NIR graphs, and what of a graph they leave out or get wrong."""

import keyword

import nir
import numpy as np
import torch

# Time steps of a proof.
T = 64
NEURONS = (nir.IF, nir.LIF, nir.CubaLIF)


# Graphs


def flat(graph, prefix=""):
    """All nodes of a graph and of the graphs in it, by their paths."""
    found = {}
    for name, node in graph.nodes.items():
        if isinstance(node, nir.NIRGraph):
            found |= flat(node, f"{prefix}{name}/")
        else:
            found[prefix + name] = node
    return found


def in_order(graph, prefix=""):
    """The paths of neurons in the order of the edges from the input."""
    order, queue = [], [name for name, node in graph.nodes.items() if isinstance(node, nir.Input)]
    seen = set(queue)
    while queue:
        name = queue.pop(0)
        node = graph.nodes[name]
        if isinstance(node, nir.NIRGraph):
            order += in_order(node, f"{prefix}{name}/")
        elif isinstance(node, NEURONS):
            order.append(prefix + name)
        for source, target in graph.edges:
            if source == name and target not in seen:
                seen.add(target)
                queue.append(target)
    return order


def left_out(graph, modules):
    """A fault: importers of nirtorch.load leave out what they have no module for, without an error."""
    known = (nir.Input, nir.Output, *modules)
    unknown = next(((path, node) for path, node in flat(graph).items() if not isinstance(node, known)), None)
    if unknown:
        yield f"{type(unknown[1]).__name__} `{unknown[0]}` has no module and is left out"


def has_cycle(graph):
    if any(has_cycle(node) for node in graph.nodes.values() if isinstance(node, nir.NIRGraph)):
        return True
    left = set(graph.nodes)
    while ends := {name for name in left if not any(s == name and t in left for s, t in graph.edges)}:
        left -= ends
    return bool(left)


def same(a, b):
    """Whether two graphs have the same nodes, parameters and edges."""
    if type(a) is not type(b):
        return False
    if isinstance(a, nir.NIRGraph):
        edges = sorted(a.edges) == sorted(b.edges)
        return edges and a.nodes.keys() == b.nodes.keys() and all(same(a.nodes[k], b.nodes[k]) for k in a.nodes)
    skip = ("metadata", "input_type", "output_type")
    return all(np.array_equal(value, getattr(b, key)) for key, value in vars(a).items() if key not in skip)


# Frameworks


class Framework:
    """The importer of a framework, and how its network runs."""

    def __init__(self, graph, dt):
        self.graph, self.dt = graph, dt
        # The importers of snnTorch and Norse keep the axes of Flatten, which count without the batch.
        self.batched = not any(isinstance(node, nir.Flatten) for node in flat(graph).values())

    @staticmethod
    def module_name(path):
        return ".".join(part.replace(".", "_") for part in path.split("/"))

    def run(self, x, paths):
        """The spikes [T, N, …] of neurons. x is [T, N, …]."""
        if not self.batched:
            each = [self.once(x[:, k], paths) for k in range(x.shape[1])]
            return {path: np.stack([spikes[path] for spikes in each], 1) for path in paths}
        return self.once(x, paths)

    def once(self, x, paths):
        net, calls = self.load(), {path: [] for path in paths}
        net = net.double() if x.dtype == np.float64 else net
        for path in paths:
            def record(_, __, output, calls=calls[path]):
                calls.append((output[0] if isinstance(output, tuple) else output).detach().clone())

            net.get_submodule(self.module_name(path)).register_forward_hook(record)
        with torch.no_grad():
            self.steps(net, torch.from_numpy(x))
        return {path: self.sequence(torch.stack(values)) for path, values in calls.items()}

    def steps(self, net, x):
        state = None
        for x_t in x:
            _, state = net(x_t) if state is None else net(x_t, state)

    def sequence(self, values):
        return values.numpy()


class SnnTorch(Framework):
    """`import_from_nir`."""

    @staticmethod
    def step_length(_graph, _dt):
        """snnTorch's is 1e-4."""
        return None

    @staticmethod
    def module_name(path):
        parts = [part.replace(".", "_") for part in path.split("/")]
        return ".".join(f"nir_node_{part}" if keyword.iskeyword(part) else part for part in parts)

    def load(self):
        from snntorch.import_nir import import_from_nir

        return import_from_nir(self.graph)

    @staticmethod
    def faults(graph, _dt):
        """What the importer takes without an error, but computes differently."""
        if has_cycle(graph):
            yield "the input of a recurrent layer is connected to its recurrent weights (_create_rnn_subgraph)"
        for path, node in flat(graph).items():
            if isinstance(node, nir.IF):
                yield f"IF `{path}` becomes a LIF with beta = 0.9 (snnTorch #416)"
            times = [getattr(node, name) for name in ("tau", "tau_syn", "tau_mem") if hasattr(node, name)]
            if any(np.any(tau < 1e-4) for tau in times):
                yield f"`{path}`: a time constant is below the step of 1e-4, and 1 - dt/τ is clamped at 0"
            if isinstance(node, nir.LIF):
                scale = node.r * 1e-4 / node.tau
                if not np.allclose(scale, scale.flat[0]):
                    yield f"LIF `{path}`: r dt/τ is not that of all neurons; the threshold is divided by the smallest"
            if isinstance(node, (nir.LIF, nir.CubaLIF)) and np.any(node.v_reset):
                yield f"`{path}`: v_reset is ignored, the reset is to 0"
            if isinstance(node, nir.SumPool2d) and np.any(node.padding):
                yield f"SumPool2d `{path}`: the padding is ignored (NIRTorch)"


class Norse(Framework):
    """`from_nir`."""

    @staticmethod
    def step_length(graph, dt):
        """1/r of IF neurons, which are integrated without dt; otherwise that of the file, or Norse's default."""
        rates = [node.r.flat[0] for node in flat(graph).values() if isinstance(node, nir.IF)]
        return float(1 / rates[0]) if rates else dt

    def load(self):
        import norse.torch

        step = {} if self.dt is None else {"dt": self.dt}
        return norse.torch.from_nir(self.graph, ignore_warnings=True, **step)

    @staticmethod
    def faults(graph, dt):
        yield from left_out(graph, (nir.Affine, nir.Linear, nir.Conv2d, nir.SumPool2d, nir.Flatten, *NEURONS))
        for path, node in flat(graph).items():
            if isinstance(node, nir.LIF) and not np.allclose(node.r, 1):
                yield f"LIF `{path}`: r is ignored"
            if isinstance(node, nir.IF) and not np.allclose(node.r * (dt or 1e-3), 1):
                yield f"IF `{path}`: r and dt are ignored, and r dt is not 1"
            if isinstance(node, NEURONS) and np.any(node.v_reset):
                yield f"`{path}`: v_reset is ignored, the reset is to 0"
            if isinstance(node, nir.CubaLIF) and np.any(node.v_leak):
                yield f"CubaLIF `{path}`: the current leaks to v_leak as well"
            if isinstance(node, nir.SumPool2d) and np.any(node.padding):
                yield f"SumPool2d `{path}`: the padding is ignored"


class Sinabs(Framework):
    """`from_nir`; its layers take sequences."""

    def __init__(self, graph, dt):
        super().__init__(graph, dt)
        self.batched = True
        self.cycle = has_cycle(graph)

    @staticmethod
    def step_length(graph, _dt):
        """1, as time constants are in steps; 1/r if there are only IF neurons, which are integrated without dt."""
        only_if = not any(isinstance(node, nir.LIF) for node in flat(graph).values())
        return Norse.step_length(graph, None) if only_if else None

    def load(self):
        import sinabs

        return sinabs.from_nir(self.graph, batch_size=self.samples, num_timesteps=1 if self.cycle else T)

    def once(self, x, paths):
        self.samples = x.shape[1]
        return super().once(x, paths)

    def steps(self, net, x):
        """Layers take all steps, with the samples' axis first; in a cycle they take one step after the other."""
        if self.cycle:
            super().steps(net, x)
        else:
            net(x.transpose(0, 1).flatten(0, 1))

    def sequence(self, values):
        if self.cycle:
            return values.numpy()
        return values[0].unflatten(0, (-1, T)).transpose(0, 1).numpy()

    @staticmethod
    def faults(graph, dt):
        yield from left_out(graph, (nir.Affine, nir.Conv1d, nir.Conv2d, nir.SumPool2d, nir.Flatten, nir.IF, nir.LIF, nir.LI))
        for path, node in flat(graph).items():
            if isinstance(node, nir.LIF) and not np.allclose(node.r * -np.expm1(-1 / node.tau), 1, rtol=1e-5):
                yield f"LIF `{path}`: u = αv + x whatever r is (norm_input=False), and r is not 1/(1 − α)"
            if isinstance(node, nir.IF) and not np.allclose(node.r * (dt or 1), 1):
                yield f"IF `{path}`: r and dt are ignored, and r dt is not 1"
            if isinstance(node, nir.SumPool2d) and np.any(node.padding):
                yield f"SumPool2d `{path}`: the padding is ignored"


FRAMEWORKS = {"snntorch": SnnTorch, "norse": Norse, "sinabs": Sinabs}
