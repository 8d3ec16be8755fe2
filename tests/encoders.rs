//! Encoders: the reference cases, and the same spikes however a network runs.

use crate::golden;
use crate::gpu;

use golden::golden;
use gpu::gpu;
use spikelet::device;
use spikelet::encoder::*;
use spikelet::prelude::*;
use spikelet::runtime::host;
use spikelet::tensors::TensorFile;
use std::sync::Arc;

/// A network that does nothing.
struct Nothing;

impl Module for Nothing {
    fn forward(&self, _: &Context, x: &Var) -> Result<Var> {
        Ok(x.clone())
    }
}

fn encoded(
    encoder: &dyn Encoder,
    x: &Tensor,
    time_steps: usize,
    propagation: Propagation,
    backend: Arc<dyn Backend>,
) -> Result<Tensor> {
    let cx = Context::new(Mode::EVAL, DType::F32).propagation(propagation);
    let var = cx.tracer().input("x", DType::F32, x.shape.clone());
    let made = cx.trace_encoded(&Nothing, encoder, &var, time_steps)?;
    cx.tracer().output("y", &made.join());
    let mut store = VarStore::new(backend);
    store.initialize(&cx.traced(), DType::F32, 0)?;
    let mut program = Program::new(cx.tracer().finish()?, &mut store)?;
    program.set("x", host(x))?;
    if program.has_input("generator") {
        program.set("generator", &[3, 1, 0, 0])?;
    }
    program.run()?;
    program.get("y")
}

#[test]
fn every_reference_case_gives_the_same_spikes() -> Result<()> {
    check_reference_cases(&device::cpu()?)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn every_reference_case_gives_the_same_spikes_on_a_gpu() -> Result<()> {
    check_reference_cases(&gpu())
}

fn check_reference_cases(backend: &Arc<dyn Backend>) -> Result<()> {
    let latency = |time_steps, code| Latency {
        time_steps: Some(time_steps),
        code,
    };
    let cases: [(&str, Box<dyn Encoder>); 4] = [
        ("latency_linear", Box::new(latency(16, LatencyCode::Linear))),
        ("latency_log", Box::new(latency(12, LatencyCode::Log))),
        ("weighted_phase", Box::new(WeightedPhase { k: 8 })),
        ("periodic", Box::new(Periodic)),
    ];
    for (name, encoder) in cases {
        let case = TensorFile::read(golden(&format!("enc_{name}.safetensors")))?;
        let (x, expected) = (case.get("x")?, case.get("spike_seq")?);
        for propagation in [Propagation::LayerByLayer, Propagation::StepByStep] {
            let made = encoded(
                &*encoder,
                x,
                expected.shape[0],
                propagation,
                backend.clone(),
            )?;
            assert_eq!(&made, expected, "{name}, {propagation}");
        }
    }
    Ok(())
}

fn values(count: usize) -> Tensor {
    let values: Vec<f32> = (0..count).map(|k| (k * 37 % 101) as f32 / 101.0).collect();
    Tensor::f32([1, count], values)
}

#[test]
fn every_encoder_gives_the_same_spikes_step_by_step() -> Result<()> {
    check_propagations(&device::cpu()?)
}

#[test]
#[ignore = "needs an NVIDIA GPU"]
fn every_encoder_gives_the_spikes_of_the_cpu_on_a_gpu() -> Result<()> {
    check_propagations(&gpu())
}

fn check_propagations(backend: &Arc<dyn Backend>) -> Result<()> {
    for name in spikelet::encoder::ENCODERS.names() {
        let encoder = spikelet::encoder::parse(name)?;
        let run = |propagation, backend| encoded(&*encoder, &values(40), 9, propagation, backend);
        let expected = run(Propagation::LayerByLayer, device::cpu()?)?;
        let fired = expected.to_f64().iter().filter(|s| **s != 0.0).count();
        assert!(fired > 0, "{name}");
        for propagation in Propagation::ALL {
            let made = run(propagation, backend.clone())?;
            assert_eq!(made, expected, "{name}");
        }
    }
    Ok(())
}

#[test]
fn an_encoder_is_built_from_what_it_says_of_itself() -> Result<()> {
    for name in spikelet::encoder::ENCODERS.names() {
        let spec = spikelet::encoder::parse(name)?.spec();
        assert_eq!(spec["name"], name);
        let again = spikelet::encoder::from_spec(&spec).expect("as it was written");
        assert_eq!(again.spec(), spec);
    }
    let error = spikelet::encoder::parse("latency:codes=log")
        .map(|_| ())
        .expect_err("refused");
    assert!(
        matches!(&error, spikelet::DefinitionError::Field { .. })
            && error.to_string().contains("`codes`"),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_latency_has_one_spike_for_any_number_of_steps() -> Result<()> {
    for code in ["linear", "log"] {
        for time_steps in [1, 2, 50, 300] {
            let encoder = spikelet::encoder::parse(&format!("latency code={code}"))?;
            let layer_by_layer = Propagation::LayerByLayer;
            let x = Tensor::f32([1, 4], [0.0, 0.25, 0.75, 1.0]);
            let made = encoded(&*encoder, &x, time_steps, layer_by_layer, device::cpu()?)?;
            let spikes = made.to_f64();
            let first = |n: usize| (0..time_steps).find(|t| spikes[t * 4 + n] == 1.0);
            assert_eq!(spikes.iter().sum::<f64>(), 4.0, "{code}, {time_steps}");
            assert_eq!((first(3), first(0)), (Some(0), Some(time_steps - 1)));
            assert!(first(2) <= first(1), "{code}, {time_steps}");
        }
    }
    Ok(())
}

#[test]
fn a_seed_of_its_own_makes_an_encoder_independent_of_the_models() -> Result<()> {
    let run = |encoder: &dyn Encoder| {
        let layer_by_layer = Propagation::LayerByLayer;
        encoded(encoder, &values(200), 6, layer_by_layer, device::cpu()?)
    };
    // The generator's state that the test gives has the seed 3.
    assert_eq!(run(&Rate { seed: 3 })?, run(&Poisson)?);
    assert_ne!(run(&Rate { seed: 4 })?, run(&Poisson)?);
    Ok(())
}

#[test]
fn tuning_curves_respond_where_their_centers_are() -> Result<()> {
    let curves = Population {
        curves: 5,
        then: Arc::new(Direct),
        ..Population::default()
    };
    // Centres at −1/6, 1/6, 1/2, 5/6, 7/6.
    let x = Tensor::f32([1, 2], [0.5, 1.0 / 6.0]);
    let layer_by_layer = Propagation::LayerByLayer;
    let made = encoded(&curves, &x, 1, layer_by_layer, device::cpu()?)?;
    assert_eq!(made.shape, [1, 1, 10]);
    let r = made.to_f64();
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
    assert!(near(r[2], 1.0) && near(r[6], 1.0) && near(r[1], r[3]));
    assert!(near(r[1], (-1.125_f64).exp()), "{r:?}"); // β·Δ = 1.5 standard deviations away
    let few = Population {
        curves: 2,
        ..Population::default()
    };
    let error = encoded(&few, &x, 1, layer_by_layer, device::cpu()?).expect_err("refused");
    let expected = "`curves` of encoder `population` is 2; it must be a whole number from 3 to 256";
    assert!(error.to_string().contains(expected), "{error}");
    Ok(())
}

#[test]
fn delta_modulation_fires_where_a_sequence_changes() -> Result<()> {
    let x = Tensor::f32([6, 1], [1.0, 1.05, 1.5, 1.5, 0.9, 1.0]);
    let run = |delta: Delta, propagation| -> Result<Vec<f64>> {
        let cx = Context::new(Mode::EVAL, DType::F32).propagation(propagation);
        let var = cx.tracer().input("x", DType::F32, x.shape.clone());
        let made = cx.trace(&delta, var)?;
        cx.tracer().output("y", &made);
        let mut store = VarStore::new(device::cpu()?);
        let mut program = Program::new(cx.tracer().finish()?, &mut store)?;
        program.set("x", host(&x))?;
        program.run()?;
        Ok(program.get("y")?.to_f64())
    };
    let both = Delta {
        off_spikes: true,
        ..Delta::default()
    };
    let padded = Delta {
        from_zero: true,
        threshold: 0.2,
        ..Delta::default()
    };
    for propagation in Propagation::ALL {
        let plain = run(Delta::default(), propagation)?;
        assert_eq!(plain, [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        assert_eq!(run(both, propagation)?, [0.0, 0.0, 1.0, 0.0, -1.0, 1.0]);
        assert_eq!(run(padded, propagation)?, [1.0, 0.0, 1.0, 0.0, 0.0, 0.0]);
    }
    Ok(())
}
