use super::*;
use crate::compiler;
use spikelet_graph::op::ScanGrad;

fn lif() -> Recurrence {
    let (v, x, w) = (Expr::symbol("v"), Expr::symbol("x"), Expr::symbol("w"));
    let h = &v + (x - &v) * w.sigmoid();
    let u = &h - 1.0;
    let spike = Expr::with_gradient_of(u.ge(0.0), &u, 1.0 / (1.0 + &u * &u));
    let next = &h * (1.0 - &spike);
    Recurrence::new("lif", ["x"], ["v"])
        .output("s", spike, true)
        .params(["w"])
        .next(vec![next])
}

fn large() -> Properties {
    Properties::large((9, 0))
}

fn parameters(source: &ScanSource) -> Vec<String> {
    let parameters = source.parameters.iter();
    parameters
        .map(|p| {
            let tensor = p
                .tensor
                .as_ref()
                .map_or("-".to_string(), ToString::to_string);
            format!("{} {}: {}, {tensor}", p.ctype, p.cname, p.what)
        })
        .collect()
}

#[test]
fn a_short_layer_reads_inputs_and_gradients_and_writes_the_same() {
    let scan = NeuronScan::new(lif(), 4, 100_000);
    let forward = scan.source(Direction::Forward, &large()).unwrap();
    assert_eq!(
        parameters(&forward),
        [
            "const float* x_seq0: x, f32[4, 100000]",
            "const float* param0: w, f32[]",
            "float* y0: s, f32[4, 100000]",
        ]
    );
    let backward = scan.source(Direction::Backward, &large()).unwrap();
    assert_eq!(
        parameters(&backward),
        [
            "const float* x_seq0: x, f32[4, 100000]",
            "const float* param0: w, f32[]",
            "const float* g_seq0: dL/ds, f32[4, 100000]",
            "float* y0: dL/dx, f32[4, 100000]",
            "float* y2: dL/dw, f32[100000]",
        ]
    );
    assert_eq!(backward.name, "spk_lif_bptt");
    assert!(
        backward
            .full_codes()
            .contains("__launch_bounds__(128) spk_lif_bptt(")
    );
    assert!(forward.block as usize * forward.grid[0] as usize >= 100_000 / 4);
}

#[test]
fn a_long_layer_writes_checkpoints_for_its_backward_pass() {
    let scan = NeuronScan {
        states: vec![ValueSource::PerNeuron],
        params: vec![ValueSource::Literal(0.25)],
        dtype: DType::BF16,
        ..NeuronScan::new(lif(), 50, 4096)
    };
    let forward = scan.source(Direction::Forward, &large()).unwrap();
    let backward = scan.source(Direction::Backward, &large()).unwrap();
    assert_eq!(
        parameters(&forward),
        [
            "const spk_bf16* x_seq0: x, bf16[50, 4096]",
            "const float* v_init0: v before the first step, f32[4096]",
            "spk_bf16* y0: s, bf16[50, 4096]",
            "float* y3: v after every 8 steps but the last, f32[6, 4096]",
        ]
    );
    assert_eq!(
        parameters(&backward)[3..],
        [
            "const float* start0: v after every 8 steps but the last, f32[6, 4096]",
            "spk_bf16* y0: dL/dx, bf16[50, 4096]",
        ]
    );
}

#[test]
fn the_text_equals_that_of_a_networks_plan() {
    let scan = NeuronScan::new(lif(), 19, 1 << 17);
    let gpu = large();
    let tracer = Tracer::new(DType::F32);
    let x = tracer.input("x", DType::F32, [19, 1 << 17]);
    let start = tracer.fill(DType::F32, [], 0.0);
    let w = tracer.parameter("w", []);
    let results = Var::scan(&scan.recurrence, 19, &[&x], &[&start], &[&w]);
    let loss = results[0].square().mean_all();
    let grads = tracer.gradients(&loss, &[&x, &w]);
    tracer.output("loss", &loss);
    tracer.output("grad_x", &grads[0]);
    tracer.output("grad_w", &grads[1]);
    let target = OfflineTarget::new(gpu);
    let plan = Plan::new(tracer.finish().unwrap(), &target);
    let fills = op::fills(&plan.graph);
    let mut compared = 0;
    for kernel in &plan.kernels {
        let pass = match &plan.graph.nodes[kernel.node].op {
            Op::Scan(_) => Direction::Forward,
            Op::ScanGrad(ScanGrad { .. }) => Direction::Backward,
            _ => continue,
        };
        let cx = LoweringContext::of_kernel(&target, &plan, kernel, &fills);
        let theirs = cx.lower().unwrap().sources().unwrap();
        let theirs = kernel_source::source(&theirs[0]);
        assert_eq!(scan.source(pass, &gpu).unwrap().full_codes(), theirs);
        compared += 1;
    }
    assert_eq!(compared, 2);
}

#[test]
#[ignore = "needs NVRTC"]
fn every_kind_of_layer_compiles() {
    let old = Properties::large((7, 5));
    let layers = [
        (DType::F32, ValueSource::Literal(0.5)),
        (DType::F32, ValueSource::Shared),
        (DType::F16, ValueSource::PerNeuron),
        (DType::BF16, ValueSource::Shared),
    ];
    for (time_steps, neurons) in [(1, 1), (4, 100_000), (50, 4096), (33, 1 << 18)] {
        for (dtype, uniform) in layers {
            let scan = NeuronScan {
                dtype,
                states: vec![uniform],
                params: vec![uniform],
                ..NeuronScan::new(lif(), time_steps, neurons)
            };
            for pass in [Direction::Forward, Direction::Backward] {
                let gpu = if neurons == 1 { old } else { large() };
                let source = scan.source(pass, &gpu).unwrap();
                match compiler::compile(&source.full_codes(), &source.name, gpu.capability) {
                    Ok(code) => assert!(!code.is_empty()),
                    Err(error) => panic!("{scan:?}: {error}"),
                }
            }
        }
    }
}

#[test]
fn invalid_layers_are_errors() {
    let refused = |scan: NeuronScan| {
        let error = scan.source(Direction::Backward, &large()).unwrap_err();
        error.to_string()
    };
    let layer = || NeuronScan::new(lif(), 4, 64);
    for (time_steps, neurons) in [(0, 4), (4, 0), (1 << 16, 1 << 16), (usize::MAX, 2)] {
        let message = refused(NeuronScan::new(lif(), time_steps, neurons));
        assert!(message.contains("2³¹ − 1"), "{message}");
    }
    let f64 = NeuronScan {
        dtype: DType::F64,
        ..layer()
    };
    assert!(refused(f64).contains("use f32, f16 or bf16"));
    let few = NeuronScan {
        states: vec![],
        ..layer()
    };
    assert!(refused(few).contains("1 states and 1 parameters, 0 and 1"));
    let mut unknown = lif();
    unknown.next = vec![Expr::symbol("u")];
    assert!(refused(NeuronScan::new(unknown, 4, 64)).contains("`u`"));
    let v = Expr::symbol("v");
    let blind = Recurrence::new("blind", ["x"], ["v"])
        .output("s", v.ge(1.0), true)
        .next(vec![v]);
    let message = refused(NeuronScan::new(blind.clone(), 4, 64));
    assert!(message.contains("no gradient"), "{message}");
    let forward = NeuronScan::new(blind, 4, 64).source(Direction::Forward, &large());
    assert!(forward.is_ok());
    let silent = Recurrence::new("silent", [], ["v"]).next(vec![Expr::constant(0.0)]);
    assert!(refused(NeuronScan::new(silent, 4, 64)).contains("no input sequence"));
}
