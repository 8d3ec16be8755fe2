"""NIR graphs that are stated here, and networks that spikelet trains and exports."""

import nir
import numpy as np


def neurons(framework, kind, shape, random):
    """Neurons with parameters that the framework takes; those that may differ from neuron to neuron do."""
    one, dt = np.ones(shape, np.float32), {"snntorch": 1e-4, "norse": 1e-3, "sinabs": 1.0}[framework]
    if kind == "if":
        return nir.IF(r=one / dt, v_threshold=one * 1.5)
    steps = random.uniform(3, 12, shape)
    if kind == "lif":
        tau = steps * dt
        if framework == "snntorch":
            return nir.LIF(tau=tau, r=tau / dt, v_leak=one * 0, v_threshold=one)
        if framework == "sinabs":
            return nir.LIF(tau=tau, r=-1 / np.expm1(-1 / tau), v_leak=one * 0, v_threshold=one)
        v_leak, v_threshold = random.uniform(-0.2, 0.2, shape), random.uniform(0.4, 0.8, shape)
        return nir.LIF(tau=tau, r=one, v_leak=v_leak, v_threshold=v_threshold)
    tau_syn, tau_mem = random.uniform(2, 6, shape) * dt, steps * dt
    if framework == "snntorch":
        return nir.CubaLIF(tau_syn, tau_mem, r=tau_mem / dt, v_leak=one * 0, v_threshold=one * 2, w_in=tau_syn / dt)
    r, w_in = random.uniform(1, 3, shape), random.uniform(1, 3, shape)
    return nir.CubaLIF(tau_syn, tau_mem, r=r, v_leak=one * 0, v_threshold=random.uniform(0.4, 0.8, shape), w_in=w_in)


def stated(framework, kind):
    """Graphs of one kind of neurons: dense, convolutional and recurrent."""
    random = np.random.default_rng(1)

    def weight(*shape, scale=1.0):
        if framework == "sinabs":
            # With inputs from 0 to 1 no neuron fires twice in a step, and no potential becomes negative.
            value = random.uniform(0, 1, shape)
            value *= {"if": 1.4, "lif": 0.9}[kind] * scale / value.sum(tuple(range(1, len(shape))), keepdims=True)
        else:
            value = random.uniform(-0.5, 1, shape) * 2 / np.sqrt(np.prod(shape[1:]))
        return value.astype(np.float32)

    def bias(out):
        return random.uniform(0, 0.05, out).astype(np.float32)

    def affine(out, inputs, scale=1.0):
        return nir.Affine(weight(out, inputs, scale=scale), bias(out))

    def conv(out, inputs, size, scale=1.0):
        filters = weight(out, inputs, 3, 3, scale=scale)
        return nir.Conv2d(size, filters, stride=1, padding=1, dilation=1, groups=1, bias=bias(out))

    def layer(*shape):
        return neurons(framework, kind, shape, random)

    def chain(**nodes):
        names = list(nodes)
        return nodes, list(zip(names, names[1:]))

    def graph(nodes, edges):
        return nir.NIRGraph(nodes, edges)

    pool = nir.AvgPool2d if framework == "snntorch" else nir.SumPool2d
    pool = pool(kernel_size=np.array([2, 2]), stride=np.array([2, 2]), padding=np.array([0, 0]))
    yield "mlp", graph(*chain(
        input=nir.Input(np.array([20])),
        fc1=affine(32, 20), n1=layer(32), fc2=affine(24, 32), n2=layer(24), fc3=affine(10, 24), n3=layer(10),
        output=nir.Output(np.array([10])),
    ))
    if framework != "sinabs":
        yield "linear", graph(*chain(
            input=nir.Input(np.array([20])),
            fc1=nir.Linear(weight(24, 20)), n1=layer(24), fc2=nir.Linear(weight(24, 24)), n2=layer(24),
            output=nir.Output(np.array([24])),
        ))
    yield "conv", graph(*chain(
        input=nir.Input(np.array([2, 10, 10])),
        conv1=conv(6, 2, (10, 10)), n1=layer(6, 10, 10), pool=pool, conv2=conv(8, 6, (5, 5), 0.5), n2=layer(8, 5, 5),
        flatten=nir.Flatten({"input": np.array([8, 5, 5])}, 0, -1), fc=affine(10, 200), n3=layer(10),
        output=nir.Output(np.array([10])),
    ))
    for rec_kind in ("Affine", "Linear"):
        rec = affine(16, 16, 0.3) if rec_kind == "Affine" else nir.Linear(weight(16, 16, scale=0.3))
        nodes, edges = chain(
            input=nir.Input(np.array([12])), fc1=affine(16, 12, 0.6), **{"lif1.lif": layer(16)}, fc2=affine(6, 16),
            n2=layer(6), output=nir.Output(np.array([6])),
        )
        nodes["lif1.w_rec"] = rec
        edges += [("lif1.lif", "lif1.w_rec"), ("lif1.w_rec", "lif1.lif")]
        yield f"recurrent-{rec_kind.lower()}", graph(nodes, edges)


def stated_files(framework, spikelet):
    for kind in ("if", "lif", "cuba"):
        if (framework, kind) == ("sinabs", "cuba"):
            continue
        for name, graph in stated(framework, kind):
            path = spikelet.folder / f"{framework}-{kind}-{name}.nir"
            nir.write(path, graph)
            dt = {"norse": 1e-3}.get(framework)
            yield f"stated {framework} {kind}-{name}", path, dt


# Networks that are trained here

TRAINED = {
    "lif-mlp": """
        layers = [
          "flatten",
          { linear = 64, bias = true },
          { neuron = { name = "lif", tau = 3.0 } },
          { linear = 32 },
          { neuron = { name = "plif", init_tau = 4.0 } },
          { linear = 10, bias = true },
          { neuron = { name = "lif", tau = 2.0, trainable = { tau = { granularity = "neuron", bound = { above = { low = 1.0 } } } } } },
        ]""",
    "lif-undivided-input": """
        layers = [
          "flatten",
          { linear = 64, bias = true },
          { neuron = { name = "lif", tau = 3.0, decay_input = false } },
          { linear = 10, bias = true },
          { neuron = { name = "lif", tau = 4.0, decay_input = false } },
        ]""",
    "if-mlp": """
        layers = [
          "flatten",
          { linear = 64, bias = true },
          { neuron = { name = "if" } },
          { linear = 10, bias = true },
          { neuron = { name = "if" } },
        ]""",
    "if-conv": """
        layers = [
          { conv = 6, kernel = 3, stride = 2, bias = true },
          "batch-norm",
          { neuron = { name = "if" } },
          "flatten",
          { linear = 10, bias = true },
          { neuron = { name = "if" } },
        ]""",
    "lif-conv": """
        layers = [
          { conv = 6, kernel = 3, padding = 1, stride = 2, bias = true },
          "batch-norm",
          { neuron = { name = "lif", tau = 2.0 } },
          { conv = 8, kernel = 3, stride = 2 },
          "batch-norm",
          { neuron = { name = "lif", tau = 2.0 } },
          "flatten",
          { linear = 10, bias = true },
          { neuron = { name = "lif", tau = 2.0 } },
        ]""",
    "lif-conv-pool": """
        layers = [
          { conv = 6, kernel = 3, padding = 1, bias = true },
          "batch-norm",
          { neuron = { name = "lif", tau = 2.0 } },
          { avg-pool = 2 },
          { conv = 8, kernel = 3 },
          { neuron = { name = "lif", tau = 2.0 } },
          { avg-pool = 2 },
          "flatten",
          { linear = 10, bias = true },
          { neuron = { name = "lif", tau = 2.0 } },
        ]""",
    "cuba-mlp": """
        layers = [
          "flatten",
          { linear = 64, bias = true },
          { neuron = { name = "cuba_lif", c_decay = 0.5, v_decay = 0.75 } },
          { linear = 10, bias = true },
          { neuron = { name = "cuba_lif", c_decay = 0.6, v_decay = 0.8 } },
        ]""",
    "norse-lif-mlp": """
        layers = [
          "flatten",
          { linear = 64, bias = true },
          { neuron = { name = "norse_lif", v_threshold = 0.3 } },
          { linear = 10, bias = true },
          { neuron = { name = "norse_lif", v_threshold = 0.3 } },
        ]""",
    "lif-recurrent": """
        layers = [
          "flatten",
          { linear = 40, bias = true },
          { recurrent = { name = "lif", tau = 3.0 } },
          { linear = 10, bias = true },
          { neuron = { name = "lif", tau = 2.0 } },
        ]""",
    "cuba-recurrent": """
        layers = [
          "flatten",
          { rnn = 40, cell = { name = "cuba_lif" }, bias = true },
          { linear = 10, bias = true },
          { neuron = { name = "cuba_lif" } },
        ]""",
}
TRAIN = ("--epochs", 1, "--train-images", 1024, "--test-images", 100, "--validation", 0, "--device", "cpu", "--quiet")


def trained_files(spikelet, only):
    """Networks after an epoch on generated digits, and the Braille network after one on generated letters."""
    networks = {name: (f"{name}.toml", "synthetic", ("-T", 8, "-b", 64, "--encoder", "direct")) for name in TRAINED}
    networks["braille-rsnn"] = ("braille-rsnn", "synthetic-braille", ("-b", 64))
    for name, (network, dataset, settings) in networks.items():
        label = f"trained {name}"
        if only not in label:
            continue
        if name in TRAINED:
            (spikelet.folder / network).write_text(f"[network]\ninput = [1, 28, 28]{TRAINED[name]}\n")
        spikelet("train", network, "--dataset", dataset, *settings, *TRAIN, "--force", "--out", f"runs/{name}")
        for dt in (1e-3, 1e-4):
            yield f"{label} dt {dt:g}", spikelet.folder / f"runs/{name}/last.safetensors", dt
