//! Constants have domains, which are checked in files, by name and in code.

use serde_json::{Map, Value, json};
use spikelet::document::DocumentProblem;
use spikelet::encoder::{self, Delta, ENCODERS};
use spikelet::layer::StepLoop;
use spikelet::neuron::{self, MaskedPsn, NEURONS, Param, Psn, SlidingPsn};
use spikelet::optim::Sgd;
use spikelet::optim::schedule::{Cosine, Step};
use spikelet::prelude::*;
use spikelet::schema::member_to_json;
use spikelet::surrogate::{self, SURROGATES};
use spikelet::{Constant, DefinitionError, LayerError, LayerProblem};

/// The definition that a trace is refused for, as it prints.
#[track_caller]
fn refused(module: &dyn Module, shape: &[usize]) -> String {
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x", DType::F32, shape);
    let error = cx
        .trace(module, x)
        .map(|_| ())
        .expect_err("it was accepted");
    match error.downcast::<LayerError>() {
        Ok(LayerError {
            problem: LayerProblem::Definition(error),
            ..
        }) => error.to_string(),
        Ok(other) => panic!("another error: {other}"),
        Err(other) => panic!("another error: {other}"),
    }
}

/// Constant and owner of an error about a constant outside its domain or of another type.
#[track_caller]
fn constant_of(error: &DefinitionError) -> (&str, &str) {
    match error {
        DefinitionError::Field { owner, problem } => match &**problem {
            DocumentProblem::WrongValue { key, .. } => (key, owner),
            other => panic!("another problem: {other}"),
        },
        other => panic!("another error: {other}"),
    }
}

/// Values around all limits.
const AROUND: [f64; 10] = [-1e300, -1.0, -0.1, 0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 1e300];

/// Builds a member of a family from constants, and drops it.
type Build<'a> = dyn Fn(&Map<String, Value>) -> Result<(), DefinitionError> + 'a;

/// Gives each constant values outside its domain; they are refused with its name.
/// Returns how many were refused.
fn check_each(
    name: &str,
    defaults: &Map<String, Value>,
    domains: &[Constant],
    build: &Build<'_>,
) -> usize {
    let mut count = 0;
    assert!(build(&Map::new()).is_ok(), "the defaults of {name}");
    let in_files = |c: &&Constant| defaults.contains_key(c.name);
    for constant in domains.iter().filter(in_files) {
        for value in AROUND.into_iter().filter(|v| !constant.domain.contains(*v)) {
            let whole = defaults[constant.name].is_u64() && (0.0..1e18).contains(&value);
            let value = match whole && value.fract() == 0.0 {
                true => json!(value as u64),
                false => json!(value),
            };
            let given = Map::from_iter([(constant.name.to_string(), value.clone())]);
            let error = build(&given).expect_err("it is outside the domain");
            assert_eq!(
                constant_of(&error).0,
                constant.name,
                "{name}, {value}: {error}"
            );
            count += 1;
        }
    }
    count
}

#[test]
fn every_constant_outside_its_domain_is_refused_by_name() -> Result<()> {
    let mut count = 0;
    for name in NEURONS.names() {
        let made = neuron::from_spec(&json!(name))?;
        let build = |given: &Map<String, Value>| {
            let spec = json!({"neuron": name, "params": given});
            neuron::from_spec(&spec).map(|_| ())
        };
        count += check_each(
            name,
            &member_to_json(&*made),
            &neuron::domains(&*made),
            &build,
        );
    }
    assert!(count > 250, "{count} of neurons");
    let mut count = 0;
    for name in SURROGATES.names() {
        let made = surrogate::from_spec(&json!(name))?;
        let build = |given: &Map<String, Value>| {
            let mut spec = given.clone();
            spec.insert("name".to_string(), json!(name));
            surrogate::from_spec(&spec.into()).map(|_| ())
        };
        count += check_each(
            name,
            &member_to_json(&*made),
            &Constant::all(&*made),
            &build,
        );
    }
    assert!(count > 80, "{count} of surrogates");
    let mut count = 0;
    for name in ENCODERS.names() {
        let made = encoder::from_spec(&json!(name))?;
        let build = |given: &Map<String, Value>| {
            let mut spec = given.clone();
            spec.insert("name".to_string(), json!(name));
            encoder::from_spec(&spec.into()).map(|_| ())
        };
        count += check_each(
            name,
            &member_to_json(&*made),
            &Constant::all(&*made),
            &build,
        );
    }
    assert!(count > 10, "{count} of encoders");
    Ok(())
}

#[test]
fn every_number_of_a_surrogate_has_a_domain() -> Result<()> {
    for name in SURROGATES.names() {
        let made = surrogate::from_spec(&json!(name))?;
        let domains = Constant::all(&*made);
        for (key, value) in member_to_json(&*made) {
            let declared = domains.iter().any(|c| c.name == key);
            assert_eq!(declared, value.is_number(), "{key} of {name}");
        }
    }
    Ok(())
}

#[test]
fn neurons_that_were_built_in_code_are_checked_when_they_are_traced() {
    let shape = [4, 2, 3];
    for tau in [0.0, 1.0, -3.0, f64::NAN, f64::INFINITY] {
        let expected = format!("`tau` of neuron `lif` is {tau}; it must be a number above 1");
        assert_eq!(refused(&Lif::new(tau), &shape), expected);
    }
    let flat = Lif::new(2.0).surrogate(Sigmoid { alpha: 0.0 });
    let expected = "`alpha` of surrogate `sigmoid` is 0; it must be a number above 0";
    assert_eq!(refused(&flat, &shape), expected);
    let nan = neuron::Qif {
        v_c: f64::NAN,
        ..neuron::Qif::default()
    };
    let expected = "`v_c` of neuron `qif` is NaN; it must be a finite number";
    assert_eq!(refused(&nan, &shape), expected);
    let start = If::new().fires(false).v_reset(f64::NAN);
    let expected = "the state `v` of neuron `if` starts from NaN; it must be a finite number";
    assert_eq!(refused(&start, &shape), expected);
    assert!(If::new().v_reset(f64::NAN).run(&[[1.0]]).is_err());
}

#[test]
fn the_threshold_of_a_soft_reset_is_above_0() -> Result<()> {
    let threshold = |problem: String| problem.starts_with("`v_threshold` of neuron");
    let shape = [4, 2, 3];
    for v in [0.0, -1.0, f64::NAN] {
        assert!(
            threshold(refused(&If::new().v_reset(None).v_threshold(v), &shape)),
            "{v}"
        );
    }
    assert!(threshold(refused(&If::new().v_threshold(f64::NAN), &shape)));
    // Potentials in millivolts.
    let cell = Lif::new(2.0).v_reset(-70.0).v_threshold(-50.0);
    assert_eq!(cell.run(&[[30.0], [60.0]])?, [[0.0], [1.0]]);
    // Neurons without a threshold do not ask.
    let read_out = If::new().fires(false).v_reset(2.0);
    assert_eq!(read_out.run(&[[0.5]])?, [[2.5]]);
    let cx = Context::new(Mode::EVAL, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [4, 2, 3]);
    cx.trace(&Psn::default().v_threshold(0.0), x).map(|_| ())
}

/// The neuron of SpikingFlow's tutorial: τ = 100, threshold 1, reset 5.
#[test]
fn a_reset_above_the_threshold_fires_until_the_input_stops_it() -> Result<()> {
    let never_rests = Lif::new(100.0).v_threshold(1.0).v_reset(5.0);
    assert_eq!(never_rests.run(&[[0.0]; 4])?, [[1.0]; 4]);
    // From 5, H = 5 − 450/100 = 0.5 does not fire. Then 0.5 + 4.5/100 = 0.545; with the input 100, 1.59 fires.
    let x = [[-450.0], [0.0], [100.0], [0.0]];
    assert_eq!(never_rests.run(&x)?, [[0.0], [0.0], [1.0], [1.0]]);

    let warning = "neuron `lif` fires at every time step without input: v_reset 5 is not below v_threshold 1; choose a \
                   lower v_reset if it should rest";
    assert_eq!(neuron::warning(&never_rests).as_deref(), Some(warning));
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x", DType::F32, [4, 2, 3]);
    let net = Sequential::new()
        .add(Linear::new(3, 5).bias(false))
        .add(never_rests.clone());
    cx.trace(&net, x)?;
    assert_eq!(cx.traced().warnings, [format!("layer `1`: {warning}")]);
    Ok(())
}

#[test]
fn only_neurons_that_never_rest_are_warned_of() -> Result<()> {
    assert!(neuron::warning(&If::new().v_threshold(-1.0)).is_some());
    assert!(neuron::warning(&If::new().v_reset(1.0)).is_some());
    // A strict threshold at the reset is not passed, and a neuron without a state has no reset.
    assert!(neuron::warning(&If::new().v_reset(1.0).strict(true)).is_none());
    assert!(neuron::warning(&Psn::default().v_threshold(0.0)).is_none());
    for name in NEURONS.names() {
        let made = neuron::from_spec(&json!(name))?;
        assert_eq!(neuron::warning(&*made), None, "{name}");
    }
    Ok(())
}

#[test]
fn windows_of_parallel_neurons_are_bounded_and_may_reach_before_the_sequence() -> Result<()> {
    for k in [1_u64 << 30, (1 << 62) + 1, 0] {
        for neuron in ["sliding_psn", "masked_psn"] {
            let spec = json!({"neuron": neuron, "params": {"k": k}});
            let error = neuron::from_spec(&spec).expect_err("outside");
            assert_eq!(constant_of(&error).0, "k", "{error}");
        }
        let k = k as usize;
        assert!(refused(&SlidingPsn::new(k), &[2, 1, 1]).starts_with("`k` of neuron"));
        assert!(refused(&MaskedPsn::new(k), &[2, 1, 1]).starts_with("`k` of neuron"));
    }
    let x = [[0.6], [0.8], [0.4]];
    let far = SlidingPsn::new(65536).run(&x)?;
    assert_eq!(far, SlidingPsn::new(3).run(&x)?);
    Ok(())
}

#[test]
fn a_constant_of_another_kind_is_refused_with_the_kind_that_is_wanted() {
    let cases = [
        (
            json!({"tau": "nan"}),
            "`tau` of neuron `lif` is \"nan\"; it must be a number above 1",
        ),
        (
            json!({"tau": null}),
            "`tau` of neuron `lif` is null; it must be a number above 1",
        ),
        (
            json!({"decay_input": 1}),
            "`decay_input` of neuron `lif` is 1; it must be true or false",
        ),
        (
            json!({"v_reset": "low"}),
            "`v_reset` of neuron `lif` is \"low\"; it must be a finite number or \"none\"",
        ),
    ];
    for (params, expected) in cases {
        let error = neuron::from_spec(&json!({"neuron": "lif", "params": params}));
        assert_eq!(error.expect_err("refused").to_string(), expected);
    }
    let soft = json!({"neuron": "alif", "params": {"v_reset": "low"}});
    let expected = "`v_reset` of neuron `alif` is \"low\"; it must be a finite number or \"none\"";
    let error = neuron::from_spec(&soft).expect_err("refused");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_network_and_a_step_refuse_what_a_file_may_hold() -> Result<()> {
    use spikelet::network::Network;
    use spikelet::train::{BatchShape, Step};
    let spec = json!({"neuron": "lif", "params": {"tau": 0}});
    let network = Network::model("mnist-fc", [("neuron", spec)])?;
    let error = network.module().map(|_| ()).expect_err("it was accepted");
    let error = error.downcast_ref().expect("a definition");
    assert_eq!(constant_of(error), ("tau", "neuron `lif`"));
    let settings = Settings {
        optimizer: Sgd {
            momentum: 2.0,
            ..Sgd::default()
        }
        .into(),
        ..Settings::default()
    };
    let shape = BatchShape {
        batch: 2,
        image: [1, 28, 28],
    };
    let module = Network::find("mnist-fc")?.module()?;
    let mut store = VarStore::new(spikelet::device::cpu()?);
    let refused = Step::classifier(&*module, &settings, shape)
        .and_then(|step| step.compile(&mut store))
        .err();
    assert!(matches!(refused, Some(Error::Invalid { what, .. }) if what == "settings"));
    Ok(())
}

#[derive(Clone, Debug, Schema)]
struct Idle {
    #[schema(flatten)]
    common: neuron::Common,
}

impl Neuron for Idle {
    fn params(&self) -> Vec<Param> {
        vec![Param::new("p", 1.0, Granularity::Layer)]
    }
    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.state("v") + x
    }
}

#[test]
fn a_parameter_that_no_equation_uses_is_refused() {
    let problem = refused(&Idle::default(), &[4, 2, 3]);
    let expected = "neuron `idle` declares the parameter `p`, which its equations do not use";
    assert_eq!(problem, expected);
}

#[test]
fn layers_check_their_own_constants_and_empty_sequences() {
    let shape = [4, 2, 7];
    let cases: [(Box<dyn Module>, &str); 5] = [
        (
            Box::new(Linear::new(7, 0).bias(false)),
            "`outputs` of linear is 0",
        ),
        (Box::new(Dropout::new(1.0)), "`p` of dropout is 1"),
        (
            Box::new(BatchNorm1d::new(7).epsilon(0.0)),
            "`epsilon` of batch norm is 0",
        ),
        (
            Box::new(BatchNorm1d::new(7).momentum(1.5)),
            "`momentum` of batch norm is 1.5",
        ),
        (
            Box::new(Delta {
                threshold: f64::NAN,
                ..Delta::default()
            }),
            "`threshold` of delta is NaN",
        ),
    ];
    for (module, expected) in cases {
        let problem = refused(&*module, &shape);
        assert!(problem.starts_with(expected), "{problem}");
    }
    let layers: [Box<dyn Module>; 3] = [
        Box::new(Lif::new(2.0)),
        Box::new(Linear::new(7, 3).bias(false)),
        Box::new(StepLoop(Linear::new(7, 3).bias(false))),
    ];
    for layer in layers {
        assert_eq!(empty_axis(&*layer, &[0, 2, 7]), 0);
        assert_eq!(empty_axis(&*layer, &[4, 0, 7]), 1);
    }
}

/// The axis without elements that a sequence is refused for.
#[track_caller]
fn empty_axis(module: &dyn Module, shape: &[usize]) -> usize {
    let cx = Context::new(Mode::TRAIN, DType::F32);
    let x = cx.tracer().input("x", DType::F32, shape);
    let error = cx.trace(module, x).map(|_| ()).expect_err("no elements");
    let error: LayerError = error.downcast().expect("a layer's error");
    match error.problem {
        LayerProblem::EmptyAxis { axis, .. } => axis,
        other => panic!("another problem: {other}"),
    }
}

#[test]
fn settings_of_training_are_checked() {
    let adam = |adam: Adam| Settings {
        optimizer: adam.into(),
        ..Settings::default()
    };
    let sgd = |sgd: Sgd| Settings {
        optimizer: sgd.into(),
        ..Settings::default()
    };
    let schedule = |schedule: LrSchedule| Settings {
        schedule,
        ..Settings::default()
    };
    let clip = |norm| Settings {
        clip_norm: Some(norm),
        ..Settings::default()
    };
    let cases = [
        (
            adam(Adam {
                beta1: 1.0,
                ..Adam::default()
            }),
            "`beta1` is 1",
        ),
        (
            adam(Adam {
                epsilon: 0.0,
                ..Adam::default()
            }),
            "`epsilon` is 0",
        ),
        (
            sgd(Sgd {
                momentum: 1.0,
                ..Sgd::default()
            }),
            "`momentum` is 1",
        ),
        (
            sgd(Sgd {
                weight_decay: -1.0,
                ..Sgd::default()
            }),
            "`weight_decay` is -1",
        ),
        (
            schedule(LrSchedule::from(Cosine {
                min_factor: 2.0,
                ..Cosine::default()
            })),
            "`min_factor` is 2",
        ),
        (
            schedule(
                LrSchedule::from(Step {
                    epochs: 0.0,
                    gamma: 0.1,
                })
                .warm_up(1.0),
            ),
            "`epochs` is 0",
        ),
        (clip(f64::NAN), "`clip_norm` is NaN"),
        (clip(0.0), "`clip_norm` is 0"),
    ];
    assert!(Settings::default().check().is_ok());
    for (settings, expected) in cases {
        match settings.check() {
            Err(Error::Invalid { problem, .. }) => {
                assert!(problem.starts_with(expected), "{problem}");
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
}

/// H = V·b + X with a trained b.
#[derive(Clone, Debug, Schema)]
struct Kept {
    #[schema(skip, default = Param::new("b", 0.5, Granularity::Layer))]
    b: Param,
    #[schema(flatten)]
    common: neuron::Common,
}

impl Neuron for Kept {
    fn params(&self) -> Vec<Param> {
        vec![self.b.clone()]
    }
    fn charge(&self, n: &Scope, x: Expr) -> Expr {
        n.state("v") * n.param("b") + x
    }
}

#[test]
fn a_parameter_of_a_neuron_keeps_its_bound() {
    let kept = |b: Param| Kept {
        b,
        common: neuron::Common::default(),
    };
    let new = || Param::new("b", 0.2, Granularity::Layer);
    let input = [[0.5], [0.5]];
    let free = kept(new()).run(&input).expect("it runs");
    for (bounded, limits) in [
        (new().above(0.0), None),
        (new().between(0.0, 1.0), None),
        (new().project(0.0, 1.0), Some([0.0, 1.0])),
    ] {
        let neuron = kept(bounded);
        let trained = neuron::trainables(&neuron).expect("a parameter");
        assert_eq!(trained[0].bound.limits(), limits);
        // The stored value stands for the initial one, and no value leads outside.
        assert!((trained[0].bound.value(trained[0].init) - 0.2).abs() < 1e-12);
        if limits.is_none() {
            assert!(trained[0].bound.value(-40.0) >= 0.0);
        }
        assert_eq!(neuron.run(&input).expect("it runs"), free);
    }
    let problem = refused(&kept(new().above(1.0)), &[4, 2, 3]);
    assert!(
        problem.contains("`b`") && problem.contains("0.2"),
        "{problem}"
    );
}
