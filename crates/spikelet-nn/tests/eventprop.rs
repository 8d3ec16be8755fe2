//! EventProp on a grid: the reference case, and the exact gradient as the limit of small steps.

use spikelet_cpu::Cpu;
use spikelet_eventprop as exact;
use spikelet_nn::layer::{EventPropLif, EventPropReadout, EventPropTime, FirstSpikeTime};
use spikelet_nn::prelude::*;
use spikelet_nn::runtime::host;
use spikelet_nn::tensors::TensorFile;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

type Tensors = BTreeMap<String, Tensor>;

const TIME: EventPropTime = EventPropTime {
    tau_m: 20.0,
    tau_s: 5.0,
    dt: 0.1,
};

fn case() -> Tensors {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/eventprop_grid.safetensors");
    TensorFile::read(path).expect("the case").tensors
}

/// Runs two layers in f64: results `s`, `out` and `loss`, and the gradient of each parameter.
fn run(
    layers: [&dyn Module; 2],
    loss: impl Fn(&Var, &Var) -> (Var, Var),
    parameters: &[(&str, &Tensor)],
    x: &Tensor,
    label: &Tensor,
) -> Tensors {
    let cx = Context::new(Mode::TRAIN, DType::F64);
    let input = cx.tracer().input("x", DType::F64, x.shape.clone());
    let labels = cx.tracer().input("label", DType::I64, label.shape.clone());
    let s = cx
        .child("hidden", |cx| layers[0].forward(cx, &input))
        .expect("traced");
    let y = cx
        .child("out", |cx| layers[1].forward(cx, &s))
        .expect("traced");
    let (out, loss) = loss(&y, &labels);
    let mut store = VarStore::new(Arc::new(Cpu::new(1).expect("a CPU")));
    let mut weights = vec![];
    for (name, value) in parameters {
        weights.push(cx.tracer().find_input(name).expect("a parameter"));
        store.insert(name, value).expect("stored");
    }
    let grads = cx
        .tracer()
        .gradients(&loss, &weights.iter().collect::<Vec<_>>());
    let s = s.cast(DType::F64);
    let mut names = vec!["s".to_string(), "out".to_string(), "loss".to_string()];
    names.extend(parameters.iter().map(|(name, _)| format!("grad.{name}")));
    for (name, value) in names
        .iter()
        .zip([&s, &out, &loss].into_iter().chain(&grads))
    {
        cx.tracer().output(name, value);
    }
    let mut program = cx.compile(&mut store, 0).expect("compiled");
    program
        .run_with([("x", host(x)), ("label", host(label))])
        .expect("it runs");
    let result = |name: &String| (name.clone(), program.get(name).expect("a result"));
    names.iter().map(result).collect()
}

fn distance(found: &Tensor, expected: &[f64]) -> f64 {
    let largest = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let pairs = found.to_f64().into_iter().zip(expected);
    pairs.fold(0.0_f64, |most, (a, b)| most.max((a - b).abs())) / largest
}

#[test]
fn the_reference_case_has_the_same_spikes_and_gradients() {
    let case = case();
    let readout = EventPropReadout::new(4, 3, TIME);
    let hidden = EventPropLif::new(5, 4, TIME)
        .recurrent(true)
        .self_connections(true);
    let parameters = [
        ("hidden.weight", &case["param.w_in"]),
        ("hidden.feedback.weight", &case["param.w_rec"]),
        ("out.weight", &case["param.w_out"]),
    ];
    let mean = |v: &Var, labels: &Var| {
        let mean = v.mean(&[0]);
        (mean.clone(), loss::cross_entropy(&mean, labels))
    };
    let made = run(
        [&hidden, &readout],
        mean,
        &parameters,
        &case["in.x"],
        &case["in.label"],
    );
    assert_eq!(made["s"].to_f64(), case["out.s"].to_f64());
    for (found, expected) in [
        ("out", "out.mean_v"),
        ("loss", "out.loss"),
        ("grad.hidden.weight", "grad.w_in"),
        ("grad.hidden.feedback.weight", "grad.w_rec"),
        ("grad.out.weight", "grad.w_out"),
    ] {
        let difference = distance(&made[found], &case[expected].to_f64());
        assert!(difference < 1e-10, "{expected}: {difference}");
    }

    // Without self connections only the diagonal of the gradient is another: 0.
    let hidden = hidden.self_connections(false);
    let masked = run(
        [&hidden, &readout],
        mean,
        &parameters,
        &case["in.x"],
        &case["in.label"],
    );
    let name = "grad.hidden.feedback.weight";
    let mut expected = made[name].to_f64();
    expected.iter_mut().step_by(5).for_each(|grad| *grad = 0.0);
    assert_eq!(masked[name].to_f64(), expected);
}

#[test]
fn without_feedback_the_scan_and_the_loop_agree() {
    let case = case();
    let zeros = Tensor::f64([4, 4], vec![0.0; 16]);
    let readout = EventPropReadout::new(4, 3, TIME);
    let last = |v: &Var, labels: &Var| {
        let steps = v.dim(0);
        let last = v.slice(0, steps - 1..steps).reshape(&v.shape()[1..]);
        (last.clone(), loss::cross_entropy(&last, labels))
    };
    let mut parameters = vec![
        ("hidden.weight", &case["param.w_in"]),
        ("out.weight", &case["param.w_out"]),
    ];
    let scan = EventPropLif::new(5, 4, TIME);
    let scanned = run(
        [&scan, &readout],
        last,
        &parameters,
        &case["in.x"],
        &case["in.label"],
    );
    parameters.push(("hidden.feedback.weight", &zeros));
    let steps = scan.recurrent(true);
    let looped = run(
        [&steps, &readout],
        last,
        &parameters,
        &case["in.x"],
        &case["in.label"],
    );
    assert_eq!(scanned["s"].to_f64(), looped["s"].to_f64());
    for name in ["out", "loss", "grad.hidden.weight", "grad.out.weight"] {
        assert!(
            distance(&scanned[name], &looped[name].to_f64()) < 1e-13,
            "{name}"
        );
    }
}

#[test]
fn first_spikes_tend_to_the_exact_gradient_with_small_steps() {
    // Two layers that fire; the loss is the sum of the first spikes' times.
    let (w_in, w_out) = ([9.0, 2.0, 4.0, 7.5], [6.0, 3.0, 4.0, 5.5]);
    let spikes = [(2.0, 0), (5.0, 1), (9.0, 0)];
    let tau = exact::TimeConstants {
        tau_m: 20.0,
        tau_s: 5.0,
    };
    let layer = |w: &[f64]| {
        exact::LifLayer::new(
            tau,
            1.0,
            exact::Weights::from_rows(2, 2, w).expect("a matrix"),
        )
        .expect("valid")
    };
    let network = exact::Network::new(40.0, vec![layer(&w_in), layer(&w_out)]).expect("valid");
    let samples = [exact::SpikeTrain::new(spikes)];
    let traces = network.forward(&samples).expect("spikes");
    let gradients = network
        .gradient(&samples, &traces, &SumOfTimes, &exact::Rules::default())
        .expect("gradients");

    let at = |dt: f64| {
        let steps = (40.0 / dt).round() as usize;
        let mut x = vec![0.0; steps * 2];
        for (time, unit) in spikes {
            x[(time / dt).round() as usize * 2 + unit] = 1.0;
        }
        let time = EventPropTime {
            tau_m: 20.0,
            tau_s: 5.0,
            dt,
        };
        let first = |s: &Var, _: &Var| {
            let cx = Context::new(Mode::TRAIN, DType::F64);
            let times = FirstSpikeTime { dt }.forward(&cx, s).expect("traced");
            (times.reshape([2]), times.sum_all())
        };
        let layer = EventPropLif::new(2, 2, time);
        let (a, b) = (
            Tensor::f64([2, 2], w_in.to_vec()),
            Tensor::f64([2, 2], w_out.to_vec()),
        );
        let parameters = [("hidden.weight", &a), ("out.weight", &b)];
        let made = run(
            [&layer, &layer],
            first,
            &parameters,
            &Tensor::f64([steps, 1, 2], x),
            &Tensor::i64([1], vec![0]),
        );
        let times = distance(&made["out"], traces[0].outputs());
        let of = |name: &str, layer: usize| {
            distance(&made[name], &gradients.layers[layer].input.to_rows())
        };
        (times, of("grad.hidden.weight", 0), of("grad.out.weight", 1))
    };
    let (coarse, fine) = (at(0.1), at(0.005));
    assert!(fine.0 < 2e-3 && fine.1 < 0.02 && fine.2 < 0.02, "{fine:?}");
    assert!(
        fine.1 < 0.3 * coarse.1 && fine.2 < 0.3 * coarse.2,
        "{coarse:?} {fine:?}"
    );
}

#[derive(Debug)]
struct SumOfTimes;

impl exact::Loss for SumOfTimes {
    fn reads(&self) -> exact::OutputKind {
        exact::OutputKind::FirstSpike
    }

    fn sample(&self, _: usize, outputs: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.fill(1.0);
        outputs.iter().sum()
    }
}

#[test]
fn wrong_constants_are_named() {
    let error = |layer: &dyn Module| {
        let cx = Context::new(Mode::TRAIN, DType::F32);
        let x = cx.tracer().input("x", DType::F32, [8, 2, 5]);
        layer
            .forward(&cx, &x)
            .expect_err("it is refused")
            .to_string()
    };
    let wrong = |tau_m, tau_s, dt| EventPropTime { tau_m, tau_s, dt };
    assert!(error(&EventPropLif::new(5, 4, wrong(0.0, 5.0, 0.1))).contains("tau_m"));
    assert!(error(&EventPropReadout::new(5, 4, wrong(20.0, f64::NAN, 0.1))).contains("tau_s"));
    assert!(error(&EventPropLif::new(5, 4, wrong(20.0, 5.0, -1.0))).contains("dt"));
    assert!(error(&EventPropLif::new(5, 4, TIME).v_threshold(0.0)).contains("v_threshold"));
    assert!(error(&EventPropLif::new(6, 4, TIME)).contains("6 input features"));
}
