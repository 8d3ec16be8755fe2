//! Every operation's text compiles, for an old and a new GPU; no GPU is needed for that.

use super::*;
use crate::compiler;
use crate::kernel_source::{small_source, source, wide_source};
use crate::offline::OfflineTarget;
use spikelet_expr::Expr;
use spikelet_graph::Precision;
use spikelet_graph::op::{
    Conv, EventFrames, EventSlicing, Feedback, Pack, Pooling, Recurrence, Scan, ScanGrad, Window,
};
use spikelet_graph::{
    InPlaceUpdates, Plan, RandomAxes, SchedulingPolicy, SpikeStorage, Target, Tracer, Var,
    WorkspaceQuery,
};
use std::collections::BTreeSet;
use std::sync::Arc;

struct NoGpu;

impl WorkspaceQuery for NoGpu {
    fn workspace(&self, _: &Graph, _: &Node) -> usize {
        0
    }
}

impl SpikeStorage for NoGpu {
    fn reads_bits(&self, op: &Op, inputs: &[TensorType], operand: usize) -> bool {
        offline().reads_bits(op, inputs, operand)
    }

    fn writes_bits(&self, op: &Op, inputs: &[TensorType], result: usize) -> bool {
        offline().writes_bits(op, inputs, result)
    }
}

impl SchedulingPolicy for NoGpu {
    fn sums_channels(&self, graph: &Graph, node: &Node) -> bool {
        offline().sums_channels(graph, node)
    }

    fn scan_checkpoint(&self, graph: &Graph, node: &Node) -> Option<usize> {
        offline().scan_checkpoint(graph, node)
    }
}

impl InPlaceUpdates for NoGpu {}

impl Target for NoGpu {}

fn offline() -> OfflineTarget {
    OfflineTarget::new(properties((9, 0)))
}

fn properties(capability: (i32, i32)) -> Properties {
    Properties {
        capability,
        multiprocessors: 132,
        l2_bytes: 50 << 20,
        shared_bytes: Properties::large(capability).shared_bytes,
        memory_bytes: 80 << 30,
    }
}

/// The sources of a plan's kernels, with a workspace of which each uses no more than it asks for.
fn sources(plan: &Plan, gpu: &Properties) -> Vec<(String, String)> {
    let target = OfflineTarget::new(*gpu);
    let mut sources = vec![];
    let mut small = vec![];
    for kernel in &plan.kernels {
        let cx = LoweringContext::of_kernel(&target, plan, kernel, &HashMap::new());
        let lowered = cx.lower().expect("the operation has code");
        let workspace = lowered.workspace;
        let kernels = lowered.sources().expect("the operation has code");
        let used = kernels.iter().map(KernelSource::workspace).max();
        assert!(used.unwrap_or(0) <= workspace, "{}", cx.name());
        for kernel in kernels {
            sources.push((kernel.name.clone(), source(&kernel)));
            if kernel.is_small() {
                small.push(kernel);
            }
        }
    }
    let wide: Vec<KernelSource> = small
        .iter()
        .filter(|p| p.before.is_empty())
        .cloned()
        .collect();
    let items = |p: &KernelSource| matches!(p.geometry, crate::kernel_source::Geometry::Items(_));
    let wide: Vec<KernelSource> = wide.into_iter().filter(items).collect();
    if !wide.is_empty() {
        sources.push((
            "wide".to_string(),
            wide_source(&wide, "wide").expect("they are small").0,
        ));
    }
    if !small.is_empty() {
        sources.push(("small".to_string(), small_source(&small, "small")));
    }
    sources
}

fn compile(trace: impl Fn(&Tracer)) {
    let tracer = Tracer::new(DType::F32);
    trace(&tracer);
    let graph = tracer.finish().expect("the trace is in order");
    compile_plan(&Plan::new(graph, &NoGpu));
}

fn compile_plan(plan: &Plan) {
    for capability in [(8, 0), (9, 0)] {
        for (name, text) in sources(plan, &properties(capability)) {
            if let Ok(folder) = std::env::var("SPIKELET_DUMP_KERNELS") {
                std::fs::write(format!("{folder}/{name}.cu"), &text)
                    .expect("the folder is writable");
            }
            if let Err(error) = compiler::compile(&text, &name, capability) {
                panic!("{name}: {error}\n{text}");
            }
        }
    }
}

fn lif() -> Arc<Recurrence> {
    let (v, x, w) = (Expr::symbol("v"), Expr::symbol("x"), Expr::symbol("w"));
    let h = &v + (x - &v) * w.sigmoid();
    let u = &h - 1.0;
    let spike = Expr::with_gradient_of(u.ge(0.0), &u, 1.0 / (1.0 + &u * &u));
    let next = &h * (1.0 - &spike);
    let step = Recurrence::new("lif", ["x"], ["v"])
        .output("s", spike, true)
        .params(["w"])
        .next(vec![next]);
    Arc::new(step)
}

fn scan(tracer: &Tracer, time: usize, step: &[usize]) {
    let shape = [&[time], step].concat();
    let x = tracer.input("x", DType::F32, shape);
    let v = tracer.state("v", step.to_vec());
    let w = tracer.parameter("w", []);
    let kernels = Var::scan(&lif(), time, &[&x], &[&v], &[&w]);
    let loss = kernels[0].sum_all() + kernels[2].sum_all();
    let grads = tracer.gradients(&loss, &[&x, &v, &w]);
    tracer.output("spikes", &kernels[0]);
    tracer.output("v_seq", &kernels[2]);
    tracer.update(&v, &kernels[1]);
    for (name, grad) in ["x", "v", "w"].iter().zip(&grads) {
        tracer.output(&format!("grad_{name}"), grad);
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn scans_over_many_neurons_compile() {
    compile(|tracer| scan(tracer, 19, &[64, 4096]));
}

#[test]
#[ignore = "needs NVRTC"]
fn scans_over_few_neurons_and_many_steps_compile() {
    compile(|tracer| scan(tracer, 500, &[16, 33]));
}

/// The kernels of a scan or its backward pass that is applied directly, with the results that are read.
fn applied(op: Op, inputs: &[TensorType], is_read: impl Fn(Port) -> bool) -> Vec<KernelSource> {
    let (target, results) = (offline(), op.ports().expect("a scan").results());
    let node = Node {
        op,
        inputs: vec![],
        outputs: vec![],
        layer: "".into(),
        backward: false,
        notes: spikelet_graph::Notes::default(),
    };
    let cx = LoweringContext {
        device: &target,
        gpu: Device::properties(&target),
        node: &node,
        inputs: inputs.to_vec(),
        outputs: node.op.infer(inputs).expect("operands that fit"),
        wanted: results.into_iter().map(is_read).collect(),
        constants: vec![None; inputs.len()],
    };
    let lowered = cx.lower().expect("the operation has code");
    let workspace = lowered.workspace;
    let kernels = lowered.sources().expect("the operation has code");
    assert!(kernels.iter().all(|kernel| kernel.workspace() <= workspace));
    kernels
}

/// A kernel has the arguments that its text names, and no others.
fn check_arguments(kernel: &KernelSource) {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = kernel.body.split(|c| !is_part(c));
    let number = |word: &str| {
        word.trim_start_matches(|c: char| !c.is_ascii_digit())
            .to_string()
    };
    let is_argument = |word: &&str| {
        let kind = word.strip_suffix(&*number(word)).unwrap_or_default();
        let kinds = [
            "x_seq", "v_init", "param", "g_seq", "gv_seq", "d_last", "more", "start", "y",
        ];
        kinds.contains(&kind) && !number(word).is_empty()
    };
    let named: BTreeSet<&str> = words.filter(is_argument).collect();
    let declared = kernel.arguments.iter().map(|a| a.name.as_str());
    let declared: BTreeSet<&str> = declared.filter(|name| *name != "partial").collect();
    assert_eq!(named, declared, "{}", kernel.body);
}

fn types(shapes: &[&[usize]]) -> Vec<TensorType> {
    let ty = |shape: &&[usize]| TensorType::new(DType::F32, *shape);
    shapes.iter().map(ty).collect()
}

/// A scan over images with every combination of a pool and checkpoints.
fn image_scans(time: usize) -> impl Iterator<Item = Scan> {
    let pools = [None, Some([2, 2]), Some([3, 3])];
    let scans = pools.map(|pool| [None, Some(4)].map(|checkpoint| (pool, checkpoint)));
    scans
        .into_iter()
        .flatten()
        .map(move |(pool, checkpoint)| Scan {
            pool,
            checkpoint,
            ..Scan::new(lif(), time)
        })
}

/// The kernels of [`image_scans`] with any one result or all.
fn image_kernels() -> Vec<KernelSource> {
    let mut kernels = vec![];
    for scan in image_scans(8) {
        let inputs = types(&[&[8, 2, 6, 6, 4], &[4], &[]]);
        for one in scan.results().into_iter().map(Some).chain([None]) {
            let op = scan.clone().into();
            kernels.extend(applied(op, &inputs, |port| {
                one.is_none_or(|one| one == port)
            }));
        }
    }
    kernels
}

#[test]
fn a_scan_stores_the_results_that_are_read_and_no_others() {
    image_kernels().iter().for_each(check_arguments);
}

/// The backward passes of [`image_scans`] with gradients of all results that have one.
fn image_grads() -> Vec<(Option<[usize; 2]>, KernelSource)> {
    let mut kernels = vec![];
    for scan in image_scans(8) {
        let mut grads = scan.results().into_iter().filter_map(Port::grad).collect();
        let (pool, [h, w]) = (scan.pool, scan.pool.unwrap_or([1, 1]));
        for channel_sums in [false, true] {
            let mut op = ScanGrad::new(scan.clone(), grads);
            op.channel_sums = channel_sums;
            op.accumulates = if channel_sums { vec![] } else { vec![0] };
            let (step, pooled) = ([2, 6, 6, 4], [8, 2, 6 / h, 6 / w, 4]);
            let sequence = [8, 2, 6, 6, 4];
            let shape = |port: Port| match port {
                Port::OutputGrad(_) => &pooled[..],
                Port::Checkpoint(_) => &[1, 2, 6, 6, 4],
                Port::Initial(_) | Port::Param(_) => &step[3..],
                port if port.is_sequence() => &sequence,
                _ => &step,
            };
            let shapes: Vec<&[usize]> = op.operands().into_iter().map(shape).collect();
            kernels.extend(
                applied(op.clone().into(), &types(&shapes), |_| true)
                    .into_iter()
                    .map(|kernel| (pool, kernel)),
            );
            grads = op.present;
        }
    }
    kernels
}

#[test]
fn a_backward_scan_reads_the_gradients_of_pooled_spikes_by_blocks() {
    for (pool, kernel) in image_grads() {
        if kernel.name.contains("channel_sums") {
            continue;
        }
        check_arguments(&kernel);
        let [h, w] = pool.unwrap_or([1, 1]);
        let element = match kernel.name.contains("block") {
            true => "m",
            false => "n",
        };
        let read = format!(
            "(g_seq0 + (t0 + k) * {}u + {element});",
            2 * (6 / h) * (6 / w) * 4
        );
        assert!(kernel.body.contains(&read), "{read} in {}", kernel.body);
        assert_eq!(kernel.body.contains("first0[k][j] == at"), pool.is_some());
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn scans_that_are_applied_directly_compile() {
    let grads = image_grads().into_iter().map(|(_, kernel)| kernel);
    for kernel in image_kernels().into_iter().chain(grads) {
        let text = source(&kernel);
        if let Err(error) = compiler::compile(&text, &kernel.name, (9, 0)) {
            panic!("{}: {error}\n{text}", kernel.name);
        }
    }
}

/// A neuron whose spikes are a state, which its charge reads too.
fn feedback() -> Arc<Recurrence> {
    let [v, z, x, w] = ["v", "z", "x", "w"].map(Expr::symbol);
    let h = (&v - &z) * &w + (1.0 - &w) * x;
    let u = &h - 1.0;
    let spike = Expr::with_gradient_of(u.ge(0.0), &u, 1.0 / (1.0 + &u * &u));
    let step = Recurrence::new("feedback", ["x"], ["v", "z"])
        .output("s", spike.clone(), true)
        .params(["w"])
        .next(vec![h, spike]);
    Arc::new(step)
}

fn recurrent_scan(
    tracer: &Tracer,
    [time, batch, features]: [usize; 3],
    precision: Precision,
    continues: bool,
) {
    let x = tracer.input("x", DType::F32, [time, batch, features]);
    let [v, z] = ["v", "z"].map(|name| tracer.state(name, [batch, features]));
    let w = tracer.parameter("w", [features]);
    let weight = tracer.parameter("weight", [features, features]);
    let op = Scan::new(feedback(), time).feed_back(Feedback {
        continues,
        ..Feedback::of(1)
    });
    let made = Var::recurrent_scan(op, &[&x], &[&v, &z], &[&w], &weight);
    tracer.set_precision(precision);
    let loss = made[0]
        .linear(&tracer.parameter("out", [10, features]))
        .sum_all();
    let grads = tracer.gradients(&loss, &[&x, &v, &w, &weight]);
    tracer.update(&v, &made[1]);
    for (name, grad) in ["x", "v", "w", "weight"].iter().zip(&grads) {
        tracer.output(&format!("grad_{name}"), grad);
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn recurrent_scans_of_any_size_compile() {
    for (batch, features) in [(1, 5), (256, 512)] {
        for precision in [Precision::F32, Precision::Bf16] {
            for continues in [false, true] {
                let sizes = [250, batch, features];
                compile(|tracer| recurrent_scan(tracer, sizes, precision, continues));
            }
        }
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn time_chunks_of_recurrent_scans_compile() {
    let graph = || {
        let tracer = Tracer::new(DType::F32);
        let x = tracer.input("x", DType::F32, [60, 24, 8]);
        let zeros = tracer.fill(DType::F32, [24, 64], 0.0);
        let shapes = [
            ("in", vec![64, 8]),
            ("w", vec![64]),
            ("weight", vec![64, 64]),
            ("out", vec![10, 64]),
        ];
        let learned = shapes.map(|(name, shape)| tracer.parameter(name, shape));
        let [into, w, weight, out] = &learned;
        let op = Scan::new(feedback(), 60).feed_back(Feedback::of(1));
        let made = Var::recurrent_scan(op, &[&x.linear(into)], &[&zeros, &zeros], &[w], weight);
        let loss = made[0].linear(out).mean(&[0]).square().sum_all();
        let grads = tracer.gradients(&loss, &learned.each_ref());
        for (k, grad) in grads.iter().enumerate() {
            tracer.output(&format!("grad {k}"), grad);
        }
        tracer.finish().expect("the trace is in order")
    };
    let natural = Plan::new(graph(), &NoGpu);
    let within = |share| Plan::within(graph(), &NoGpu, natural.peak_bytes() * share / 100).ok();
    let plan = (50..100).find_map(within).expect("less memory is enough");
    assert!(plan.to_string().contains("time chunks"), "{plan}");
    plan.check_target(&NoGpu).expect("it fits the target");
    compile_plan(&plan);
}

#[test]
#[ignore = "needs NVRTC"]
fn maps_reductions_labels_and_draws_compile() {
    compile(|tracer| {
        let x = tracer.input("x", DType::F32, [50, 256, 12]);
        let bias = tracer.parameter("b", [12]);
        let label = tracer.input("label", DType::I64, [256]);
        let generator = tracer.input("generator", DType::I64, [4]);
        let y = x.clone() + bias.clone();
        let drawn = y.bernoulli(&generator, RandomAxes::Time);
        let noise = generator.uniform([50, 256, 12], RandomAxes::TimeAndBatch);
        // Images of three: none but the first starts at a whole group of the generator.
        let odd = [
            y.slice(2, 0..3)
                .bernoulli(&generator, RandomAxes::TimeAndBatch),
            generator.normal([256, 3], RandomAxes::Batch),
        ];
        let scores = (&y * &noise + drawn).mean(&[0]);
        tracer.output("odd", &(&odd[0] + &odd[1]));
        let loss = cross_entropy(&scores, &label);
        let grads = tracer.gradients(&loss, &[&bias, &x]);
        tracer.output("loss", &loss);
        tracer.output("grad", &grads[0]);
        tracer.output("grad_x", &grads[1]);
        tracer.output("max", &y.max(&[1]));
        tracer.output("slice", &y.slice(0, 3..7));
        tracer.output("permuted", &y.permute(&[2, 0, 1]));
        tracer.output("joined", &Var::concat(&[&y, &noise], 1));
        tracer.output("hit", &scores.argmax().equals(&label));
    });
}

#[test]
#[ignore = "needs NVRTC"]
fn products_with_spikes_compile() {
    compile(|tracer| {
        let p = tracer.input("p", DType::F32, [256, 784]);
        let w = tracer.parameter("w", [196, 784]);
        let generator = tracer.input("generator", DType::I64, [4]);
        let spikes = p
            .repeat_over_time(50)
            .bernoulli(&generator, RandomAxes::Time);
        let y = spikes.linear(&w);
        let grads = tracer.gradients(&y.square().sum_all(), &[&w]);
        tracer.output("y", &y);
        tracer.output("grad", &grads[0]);
    });
}

/// Normalization before and pooling behind a neuron over images, with all gradients.
fn image_step(tracer: &Tracer, time: usize, step: [usize; 4], pool: usize) {
    let [n, h, w, c] = step;
    let x = tracer.input("x", DType::F32, [time, n, h, w, c]);
    let gamma = tracer.parameter("gamma", [c]);
    let [mean, variance] = x.mean_var();
    let scale = Var::map(&[&gamma, &variance], |v| &v[0] / (&v[1] + 1e-5).sqrt());
    let y = Var::map(&[&x, &mean, &scale], |v| (&v[0] - &v[1]) * &v[2]);
    let v = tracer.fill(DType::F32, [], 0.0);
    let gain = tracer.parameter("w", [c]);
    let spikes = Var::scan(&lif(), time, &[&y], &[&v], &[&gain]).swap_remove(0);
    let pooled = spikes.pool(Pooling::Max, [Window::blocks(pool); 2]);
    let grads = tracer.gradients(&pooled.sum_all(), &[&x, &gamma, &gain]);
    tracer.output("pooled", &pooled);
    for (name, grad) in ["x", "gamma", "w"].iter().zip(&grads) {
        tracer.output(&format!("grad_{name}"), grad);
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn neurons_by_blocks_and_channels_compile() {
    for precision in [Precision::F32, Precision::Bf16, Precision::F16] {
        compile(|tracer| {
            tracer.set_precision(precision);
            image_step(tracer, 4, [8, 28, 28, 128], 2);
        });
    }
    compile(|tracer| image_step(tracer, 1, [2, 6, 3, 5], 3));
    compile(|tracer| image_step(tracer, 16, [2, 6, 3, 5], 3));
    compile(|tracer| image_step(tracer, 16, [2, 6, 4, 64], 1));
}

#[test]
#[ignore = "needs NVRTC"]
fn pooling_convolutions_of_few_channels_and_packed_spikes_compile() {
    compile(|tracer| {
        let x = tracer.input("x", DType::F32, [4, 14, 14, 1]);
        let w = tracer.parameter("w", [32, 3, 3, 1]);
        let y = x.conv(&w, Conv::new(2));
        let overlapping = Window::Sliding {
            kernel: 3,
            stride: 2,
            padding: 1,
            dilation: 1,
            ceil: true,
        };
        let windows = [overlapping, Window::Adaptive { outputs: 5 }];
        let most = y.pool(Pooling::Max, windows);
        let mean = y.pool(
            Pooling::Average {
                count_padding: false,
            },
            windows,
        );
        let blocks = y.pool(Pooling::Max, [Window::blocks(2); 2]);
        let loss = most.sum_all() + mean.sum_all() + blocks.sum_all();
        let grads = tracer.gradients(&loss, &[&w]);
        tracer.output("grad", &grads[0]);
        let turned = y.permute(&[0, 3, 1, 2]);
        tracer.output("turned", &turned);
        let bits = y.map1(|y| y.gt(0.0)).cast(DType::BF16);
        let packed = tracer.apply1(Pack { to: DType::Bits }, &[&bits]);
        tracer.output(
            "unpacked",
            &tracer.apply1(Pack { to: DType::F16 }, &[&packed]),
        );
    });
}

#[test]
#[ignore = "needs NVRTC"]
fn functions_statistics_and_moved_elements_compile() {
    compile(|tracer| {
        let x = tracer.input("x", DType::F32, [20, 64, 33]);
        let y = tracer.parameter("y", [33]);
        let functions = x.softplus() + x.gelu() + x.exp_m1() + x.ln_1p() + x.sin() + x.cos();
        let pairs = x.pow(&y) + x.clamp(-1.0, &y) + x.gt(&y).where_(&x, 0.5) + x.logical_xor(&y);
        let moved = x.flip(0) + x.flip(2) + x.roll(1, 5) + x.pad(1, 1, 0, 0.0).slice(1, 1..65);
        let sums = x.var(&[0, 1], 1) + x.log_sum_exp(&[0, 1]) + x.norm(&[0, 1]);
        let loss = (functions + pairs + moved + x.cumsum(0) + x.cumprod(1) + sums).sum_all();
        let grads = tracer.gradients(&loss, &[&x, &y]);
        tracer.output("loss", &loss);
        tracer.output("grad_x", &grads[0]);
        tracer.output("grad_y", &grads[1]);
        let labels = tracer.input("labels", DType::I64, [20, 64]);
        tracer.output("flipped", &labels.flip(1));
        tracer.output("hits", &x.argmin().equals(&labels));
    });
}

#[test]
#[ignore = "needs NVRTC"]
fn products_with_a_lag_for_each_weight_compile() {
    for [lags, steps, inputs, outputs] in [[0, 1, 1, 1], [24, 124, 256, 256], [5000, 70, 300, 129]]
    {
        compile(|tracer| {
            let x = tracer.input("x", DType::F32, [lags + steps, 3, inputs]);
            let weight = tracer.parameter("weight", [inputs, outputs]);
            let lag = tracer.input("lag", DType::F32, [inputs, outputs]);
            tracer.output("y", &x.delayed_matmul(&weight, &lag, lags));
        });
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn selections_by_indices_and_largest_elements_compile() {
    for precision in [Precision::F32, Precision::Bf16, Precision::F16] {
        compile(|tracer| {
            tracer.set_precision(precision);
            let table = tracer.parameter("table", [300, 64]);
            let tokens = tracer.input("tokens", DType::I64, [20, 8]);
            let labels = tracer.input("labels", DType::I64, [20, 8, 1]);
            let few = tracer.input("few", DType::I64, [3]);
            let w = tracer.parameter("w", [10, 64]);
            let x = tokens.embedding(&table);
            let scores = x.linear(&w);
            let picked = scores.gather(2, &labels);
            let [most, best] = scores.topk(3);
            let middle = scores.index_select(1, &few);
            let halves = x
                .linear(&tracer.parameter("v", [64, 64]))
                .index_select(0, &few);
            let sums = [&picked, &most, &middle, &halves].map(|y| y.square().sum_all());
            let loss = sums.into_iter().reduce(|a, b| a + b).unwrap();
            let grads = tracer.gradients(&loss, &[&table, &w]);
            tracer.output("loss", &loss);
            tracer.output("best", &best);
            tracer.output("grad_table", &grads[0]);
            tracer.output("grad_w", &grads[1]);
        });
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn updates_by_outer_products_compile() {
    for (dtype, bounds) in [
        (DType::F32, Some([-0.1, 1.0])),
        (DType::F32, None),
        (DType::BF16, Some([0.0, 1.0])),
    ] {
        compile(|tracer| {
            let w = tracer.input("w", dtype, [400, 784]);
            let [post, pre] = [("post", 400), ("pre", 784)]
                .map(|(name, n)| tracer.input(name, DType::F32, [1, 16, n]));
            let next = w.rank_update(&[[&post, &pre], [&(&post * 0.5), &pre]], bounds);
            tracer.output("next", &next);
        });
    }
}

#[test]
#[ignore = "needs NVRTC"]
fn frames_of_events_compile() {
    for slicing in [
        EventSlicing::Number,
        EventSlicing::Time,
        EventSlicing::Duration(50_000),
    ] {
        compile(|tracer| {
            let events = tracer.input("events", DType::I64, [3, 1000]);
            let lengths = tracer.input("events_length", DType::I64, [3]);
            let frames = EventFrames {
                slicing,
                frames: 5,
                sensor: [34, 40],
                size: [17, 40],
            };
            tracer.output("x", &events.event_frames(&lengths, frames));
        });
    }
}

fn cross_entropy(scores: &Var, labels: &Var) -> Var {
    let hot = labels.one_hot(scores.dim(1));
    -(scores.log_softmax() * hot).sum_all()
}

/// The source of the contract's custom operations, whose kernels are taken one by one.
const CUSTOM: &str = include_str!("../../tests/contract/custom.cu");

#[test]
#[ignore = "needs NVRTC"]
fn the_kernels_of_the_contracts_custom_operations_compile() {
    for capability in [(8, 0), (9, 0)] {
        if let Err(error) = compiler::compile(CUSTOM, "custom", capability) {
            panic!("{error}");
        }
    }
}

#[test]
fn draws_of_bits_are_counted_with_what_pads_their_rows() {
    let tracer = Tracer::new(DType::F32);
    // 2²⁷ rows of four elements are as many words, of sixteen threads each.
    let p = tracer.input("p", DType::F32, [1 << 27, 4]);
    let w = tracer.parameter("w", [8, 4]);
    let generator = tracer.input("generator", DType::I64, [4]);
    tracer.output(
        "y",
        &p.bernoulli(&generator, RandomAxes::Nothing).linear(&w),
    );
    let plan = Plan::new(tracer.finish().unwrap(), &NoGpu);
    let draws = |node: &&Node| matches!(node.op, Op::Draw(_));
    let node = plan.graph.nodes.iter().find(draws).unwrap();
    let gpu = offline();
    let cx = LoweringContext::new(&gpu, &plan.graph, node);
    assert_eq!(cx.outputs[0].dtype, DType::Bits);
    assert!(cx.lower().unwrap().sources().unwrap()[0].launch().is_err());
}

#[test]
#[ignore = "needs NVRTC"]
fn the_kernels_of_a_loop_compile() {
    let tracer = Tracer::new(DType::F32);
    let x = tracer.input("x", DType::F32, [5, 3, 7]);
    let start = tracer.fill(DType::F32, [1, 3, 7], 0.0);
    let generator = tracer.input("generator", DType::I64, [4]);
    let made = tracer.scan_loop(5, &[&start], &[&x], |h, x| {
        let noise = generator.uniform([1, 3, 7], RandomAxes::TimeAndBatch);
        let next = &h[0] + &x[0] * &noise;
        Ok((vec![next.clone()], vec![next]))
    });
    tracer.output("y", &made.expect("a loop").stacked[0]);
    let plan = Plan::new(tracer.finish().expect("a graph"), &NoGpu);
    let (op, body) = (plan.kernels.iter())
        .find_map(|kernel| match &plan.graph.nodes[kernel.node].op {
            Op::Loop(op) => Some((op.clone(), kernel.body.as_ref()?)),
            _ => None,
        })
        .expect("a loop");
    let memory = loops::LoopMemory::new(&op, body.arena_bytes);
    assert_eq!(memory.counter % 256, 0);
    let node = Node {
        op: op.clone().into(),
        ..plan.graph.nodes[0].clone()
    };
    let own = offline().workspace(&plan.graph, &node);
    assert_eq!(memory.end, memory.counter + own);
    let types = [[1, 3, 8], [1, 3, 7], [1, 1, 1]].map(|shape| TensorType::new(DType::F32, shape));
    let halves = TensorType::new(DType::F16, [1, 3]);
    let pieces = [
        loops::Piece::Whole,
        loops::Piece::Load,
        loops::Piece::LoadNext,
        loops::Piece::Store,
    ];
    let copies = (types.iter().chain([&halves]).zip(pieces)).map(|(ty, piece)| loops::PieceCopy {
        from: 256,
        to: 512,
        ty: ty.clone(),
        piece,
    });
    let copies: Vec<loops::PieceCopy> = copies.collect();
    for reverse in [false, true] {
        let op = spikelet_graph::op::Loop {
            reverse,
            ..op.clone()
        };
        let mut kernels = loops::copy_kernels(&op, 0, &copies);
        assert_eq!(kernels.len(), 1);
        kernels.push(loops::advance(0));
        for (kernel, addresses) in kernels {
            assert_eq!(kernel.arguments.len(), addresses.len());
            let (name, text) = (kernel.name.clone(), source(&kernel));
            for capability in [(8, 0), (9, 0)] {
                if let Err(error) = compiler::compile(&text, &name, capability) {
                    panic!("{name}: {error}\n{text}");
                }
            }
        }
    }
}
