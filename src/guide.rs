//! The programs of the README and of the guide, compiled and run as documentation tests.

macro_rules! pages {
    ($($name:ident = $file:literal,)*) => {
        $(#[doc = include_str!(concat!("../", $file))] mod $name {})*
    };
}

pages! {
    readme = "README.md",
    contents = "docs/guide/README.md",
    conversion = "docs/guide/conversion.md",
    convolution = "docs/guide/convolution.md",
    custom_operations = "docs/guide/custom-operations.md",
    data_parallel = "docs/guide/data-parallel.md",
    data = "docs/guide/data.md",
    delays = "docs/guide/delays.md",
    energy = "docs/guide/energy.md",
    event_data = "docs/guide/event-data.md",
    event_training = "docs/guide/event-training.md",
    streams = "docs/guide/streams.md",
    eventprop = "docs/guide/eventprop.md",
    experiments = "docs/guide/experiments.md",
    files_and_logs = "docs/guide/files-and-logs.md",
    monitors = "docs/guide/monitors.md",
    deep_networks = "docs/guide/deep-networks.md",
    fine_tuning = "docs/guide/fine-tuning.md",
    from_spikingjelly = "docs/guide/from-spikingjelly.md",
    from_snntorch = "docs/guide/from-snntorch.md",
    from_norse = "docs/guide/from-norse.md",
    from_sparch = "docs/guide/from-sparch.md",
    getting_started = "docs/guide/getting-started.md",
    glossary = "docs/guide/glossary.md",
    gpu = "docs/guide/gpu.md",
    json = "docs/guide/json.md",
    kernels = "docs/guide/kernels.md",
    learning_rules = "docs/guide/learning-rules.md",
    limits = "docs/guide/limits.md",
    losses_and_metrics = "docs/guide/losses-and-metrics.md",
    networks = "docs/guide/networks.md",
    neurons = "docs/guide/neurons.md",
    pipeline = "docs/guide/pipeline.md",
    plans = "docs/guide/plans.md",
    recurrent = "docs/guide/recurrent.md",
    regression = "docs/guide/regression.md",
    sequences = "docs/guide/sequences.md",
    state_and_time = "docs/guide/state-and-time.md",
    surrogates = "docs/guide/surrogates.md",
    sweeps = "docs/guide/sweeps.md",
    training = "docs/guide/training.md",
    training_loop = "docs/guide/training-loop.md",
    two_networks = "docs/guide/two-networks.md",
    troubleshooting = "docs/guide/troubleshooting.md",
    weights = "docs/guide/weights.md",
    your_own_data = "docs/guide/your-own-data.md",
    your_own_neuron = "docs/guide/your-own-neuron.md",
}

#[cfg(feature = "nir")]
pages! {
    diff = "docs/guide/diff.md",
    nir = "docs/guide/nir.md",
}

#[cfg(feature = "auto-cuda")]
pages! {
    auto_cuda = "docs/guide/auto-cuda.md",
}
