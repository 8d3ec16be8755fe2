//! Settings of training on the command line.

use super::named::{member_over, named, names_of};
use super::preset::own_preset;
use super::{count, words};
use crate::failure::Failure;
use clap::builder::PossibleValue;
use serde_json::{Map, Value};
use spikelet::MemoryBudget;
use spikelet::encoder::Encoder;
use spikelet::loss::LOSSES;
use spikelet::module::{Precision, Propagation};
use spikelet::network::Network;
use spikelet::optim::{OPTIMIZERS, Optimizer};
use spikelet::schema::to_json;
use spikelet::train::Settings;
use std::sync::Arc;
use std::sync::LazyLock;

/// Settings of a training step; settings that are not given keep their value. Commands that always
/// start from the preset take `SettingsArgs<true>`, whose help prints the preset's values as
/// defaults.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Training")]
pub struct SettingsArgs<const PRESET: bool = false> {
    #[arg(help = "Number of time steps", long_help = described_from::<PRESET>("Number of time steps", |s| s.time_steps.to_string()), long, short = 'T', value_name = "T", value_parser = count)]
    time_steps: Option<usize>,

    #[arg(help = "Number of images per batch", long_help = described_from::<PRESET>("Number of images per batch", |s| s.batch_size.to_string()), long, short, value_name = "N", value_parser = count)]
    batch_size: Option<usize>,

    #[arg(help = "Spike encoder, as in poisson or 'latency code=log'", long_help = described_from::<PRESET>(&encoders(), |s| s.encoder.name().to_string()), long, value_name = "NAME", value_parser = named::<dyn Encoder>)]
    encoder: Option<Map<String, Value>>,

    #[arg(help = "Optimizer, as in adamw or 'sgd momentum=0.9'", long_help = described_from::<PRESET>(&optimizers(), |s| s.optimizer.name().to_string()), long, value_name = "NAME", value_parser = named::<dyn Optimizer>)]
    optimizer: Option<Map<String, Value>>,

    #[arg(help = "Loss", long_help = described_from::<PRESET>("Loss", loss_name), long, value_name = "NAME", value_parser = losses())]
    loss: Option<String>,

    #[arg(hide_short_help = true, help = described_from::<PRESET>("Label smoothing of the losses cross-entropy and tet", label_smoothing), long, value_name = "X", value_parser = share, allow_negative_numbers = true)]
    label_smoothing: Option<f64>,

    /// Execution order of layers and time steps [default: layer-by-layer]
    #[arg(hide_short_help = true, long, value_name = "ORDER", value_parser = words::<Propagation>())]
    propagation: Option<Propagation>,

    /// Momentum of SGD, RMSprop or Muon [default: of SGD 0.9, or that of a network trained by SGD; of
    /// Muon 0.95]
    #[arg(hide_short_help = true, long, value_name = "X", value_parser = share, allow_negative_numbers = true)]
    momentum: Option<f64>,

    #[arg(hide_short_help = true, help = described_from::<PRESET>("Weight decay: the fraction of each weight that is added to its gradient", weight_decay), long, value_name = "X", value_parser = not_negative, allow_negative_numbers = true)]
    weight_decay: Option<f64>,

    #[arg(hide_short_help = true, help = described_from::<PRESET>("Apply weight decay to biases, normalization and constants of neurons too", |s| s.bias_decay.to_string()), long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    bias_decay: Option<bool>,

    /// Multiply the learning rate of each layer by X against that of the layer after it [default: 1]
    #[arg(hide_short_help = true, long, value_name = "X", value_parser = factor, allow_negative_numbers = true)]
    layer_decay: Option<f64>,

    /// Use Nesterov momentum (SGD; Muon always does)
    #[arg(hide_short_help = true, long)]
    nesterov: bool,

    /// Number format of matrix products and sequences [default: f32]
    #[arg(long, value_name = "TYPE", value_parser = words::<Precision>())]
    precision: Option<Precision>,

    /// Mixed precision: the same as --precision bf16
    #[arg(hide_short_help = true, long, conflicts_with = "precision")]
    amp: bool,

    /// Memory limit of training and evaluation: an amount (400MiB, 2GB), or a fraction of the
    /// memory that they need without a limit (0.5); activations are recomputed to keep it
    #[arg(hide_short_help = true, long, value_name = "MEMORY")]
    memory_budget: Option<MemoryBudget>,

    /// Batch size of evaluation; affects speed and memory only [default: the largest that fits into
    /// the memory of a training step, at most 500]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = count)]
    eval_batch_size: Option<usize>,

    /// Maximum norm of the gradients; larger gradients are scaled down to it
    #[arg(hide_short_help = true, long, value_name = "X", value_parser = positive, allow_negative_numbers = true)]
    clip_norm: Option<f64>,

    #[arg(hide_short_help = true, help = described_from::<PRESET>("Number of batches whose gradients are added before each update", |s| s.accumulate.to_string()), long, value_name = "N", value_parser = count)]
    accumulate: Option<usize>,

    /// Evaluate and keep an exponential moving average of the weights with this decay, such as 0.999
    #[arg(hide_short_help = true, long, value_name = "DECAY", value_parser = share, allow_negative_numbers = true)]
    ema: Option<f64>,
}

/// A network with its default settings, and those of its preset.
struct Defaults {
    network: Network,
    usual: Settings,
    preset: Settings,
}

/// The networks whose defaults a help names.
static DEFAULTS: LazyLock<Vec<Defaults>> = LazyLock::new(|| {
    let of = |name: &&str| {
        let network = Network::find(name).ok()?;
        Some(Defaults {
            usual: Settings::of_network(&network),
            preset: own_preset(network.clone()).ok()?.settings,
            network,
        })
    };
    Network::SMALL.iter().filter_map(of).collect()
});

/// The help of a setting with its defaults, of all networks or of each, and those of their presets.
pub fn described(what: &str, value: impl Fn(&Settings) -> String) -> String {
    let own = of_all(|of| value(&of.usual));
    let differs = |of: &&Defaults| value(&of.usual) != value(&of.preset);
    let other = DEFAULTS.iter().filter(differs);
    let other: Vec<(&str, String)> = other
        .map(|of| (of.network.name(), value(&of.preset)))
        .collect();
    match other.is_empty() {
        true => format!("{what} [default: {own}]"),
        false => format!("{what} [default: {own}; preset: {}]", by_value(&other)),
    }
}

/// The same, or with the values of the presets only.
fn described_from<const PRESET: bool>(what: &str, value: impl Fn(&Settings) -> String) -> String {
    match PRESET {
        false => described(what, value),
        true => format!("{what} [default: {}]", of_all(|of| value(&of.preset))),
    }
}

/// One value where all networks agree, else each network's.
fn of_all(value: impl Fn(&Defaults) -> String) -> String {
    let all = DEFAULTS.iter().map(|of| (of.network.name(), value(of)));
    let all: Vec<(&str, String)> = all.collect();
    match &all[..] {
        [(_, first), rest @ ..] if rest.iter().all(|(_, value)| value == first) => first.clone(),
        _ => by_value(&all),
    }
}

/// The help of an option that some networks have, with the default of each.
pub fn per_network(what: &str, value: impl Fn(&Network) -> Option<String>) -> String {
    let own = DEFAULTS.iter().map(|of| &of.network);
    let own = own.filter_map(|n| Some((n.name(), value(n)?)));
    format!("{what} [default: {}]", by_value(&own.collect::<Vec<_>>()))
}

/// `mnist-fc 8, csnn/cifar10-net 4`
fn by_value(values: &[(&str, String)]) -> String {
    let mut groups: Vec<(String, &str)> = vec![];
    for (name, value) in values {
        match groups.iter_mut().find(|(_, known)| known == value) {
            Some((names, _)) => *names = format!("{names}/{name}"),
            None => groups.push(((*name).to_string(), value)),
        }
    }
    let each = groups
        .iter()
        .map(|(names, value)| format!("{names} {value}"));
    each.collect::<Vec<_>>().join(", ")
}

/// The help of `--encoder`.
fn encoders() -> String {
    let names = names_of::<dyn Encoder>();
    format!("Spike encoder: {names}; with constants as in 'latency code=log'")
}

/// The names of the losses, and those that are refused with what to write.
fn losses() -> Vec<PossibleValue> {
    let own = LOSSES.all_names().into_iter().map(PossibleValue::new);
    let mistaken = LOSSES.mistaken.iter();
    let mistaken = mistaken.map(|(name, _)| PossibleValue::new(*name).hide(true));
    own.chain(mistaken).collect()
}

/// A number above 0.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x.is_finite() => Ok(x),
        _ => Err("give a number above 0".to_string()),
    }
}

/// A number that is 0 or more.
pub fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x >= 0.0 && x.is_finite() => Ok(x),
        _ => Err("give a number that is not negative".to_string()),
    }
}

/// A fraction from 0 to below 1.
pub fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if (0.0..1.0).contains(&x) => Ok(x),
        _ => Err("give a number from 0 to below 1, such as 0.1".to_string()),
    }
}

/// A factor that makes smaller, or leaves as it is.
fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x > 0.0 && x <= 1.0 => Ok(x),
        _ => Err("give a number above 0 and at most 1, such as 0.75".to_string()),
    }
}

impl<const PRESET: bool> SettingsArgs<PRESET> {
    /// The settings with the given options.
    ///
    /// # Errors
    /// When an option belongs to another optimizer.
    pub fn build(&self, start: Settings) -> Result<Settings, Failure> {
        let mut settings = start;
        settings.time_steps = self.time_steps.unwrap_or(settings.time_steps);
        settings.batch_size = self.batch_size.unwrap_or(settings.batch_size);
        if let Some(fields) = &self.encoder {
            settings.encoder = member_over(&*settings.encoder, fields.clone())?.into();
        }
        settings.optimizer = self.optimizer(&*settings.optimizer)?.into();
        let of_loss = [
            ("name", self.loss.as_deref().map(Value::from)),
            ("label_smoothing", self.label_smoothing.map(Value::from)),
        ];
        let of_loss = of_loss
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_string(), value?)));
        settings.loss = member_over(&*settings.loss, of_loss.collect())?.into();
        settings.bias_decay = self.bias_decay.unwrap_or(settings.bias_decay);
        settings.layer_decay = self.layer_decay.or(settings.layer_decay);
        settings.propagation = self.propagation.unwrap_or(settings.propagation);
        settings.memory_budget = self.memory_budget.or(settings.memory_budget);
        settings.evaluation_batch = self.eval_batch_size.or(settings.evaluation_batch);
        settings.precision = match self.amp {
            true => Precision::Bf16,
            false => self.precision.unwrap_or(settings.precision),
        };
        settings.clip_norm = self.clip_norm.or(settings.clip_norm);
        settings.accumulate = self.accumulate.unwrap_or(settings.accumulate);
        settings.ema = self.ema.or(settings.ema);
        Ok(settings)
    }

    /// Whether `--optimizer` gives a learning rate.
    pub fn names_lr(&self) -> bool {
        let given = self.optimizer.as_ref();
        given.is_some_and(|fields| fields.contains_key("lr"))
    }

    /// The optimizer. If the one named is the network's own, its other constants are kept.
    fn optimizer(&self, own: &(dyn Optimizer + 'static)) -> Result<Arc<dyn Optimizer>, Failure> {
        let mut given = self.optimizer.clone().unwrap_or_default();
        let named = given.get("name").and_then(Value::as_str);
        let other = named
            .and_then(|name| OPTIMIZERS.find(name).ok())
            .map(|entry| (entry.default)());
        let start = match &other {
            Some(other) if other.name() != own.name() => &**other,
            _ => own,
        };
        if start.name() == "sgd" && own.name() != "sgd" {
            given.entry("momentum").or_insert(Value::from(MOMENTUM));
        }
        let options = [
            ("momentum", self.momentum.map(Value::from)),
            ("weight_decay", self.weight_decay.map(Value::from)),
            ("nesterov", self.nesterov.then_some(Value::from(true))),
        ];
        for (key, value) in options {
            let Some(value) = value else { continue };
            let option = format!("--{}", key.replace('_', "-"));
            if !start.constants().contains_key(key) {
                let all = OPTIMIZERS.declarations().into_iter();
                let others = all.filter(|other| other.fields.iter().any(|field| field.key == key));
                let others: Vec<&str> = others.map(|other| other.name).collect();
                let others = others.join(" or ");
                return Err(Failure::argument(
                    format!(
                        "{option} belongs to {others}, the optimizer is {}",
                        start.name()
                    ),
                    format!("write --optimizer {others}, or leave {option} out"),
                ));
            }
            let with_name = self.optimizer.as_ref();
            if with_name.is_some_and(|fields| fields.contains_key(key)) {
                return Err(given_twice(key, &option));
            }
            given.insert(key.to_string(), value);
        }
        let optimizer = member_over(own, given)?;
        let constants = optimizer.constants();
        if constants.get("nesterov") == Some(&Value::from(true))
            && constants.get("momentum").and_then(Value::as_f64) == Some(0.0)
        {
            return Err(Failure::argument(
                "Nesterov's rule needs momentum, which is 0",
                "write --momentum 0.9, or leave --nesterov out",
            ));
        }
        Ok(optimizer)
    }
}

/// A constant that `--optimizer` and another option give.
pub fn given_twice(key: &str, option: &str) -> Failure {
    Failure::argument(
        format!("{key} is given twice: by --optimizer and by {option}"),
        format!("leave {option} out"),
    )
}

/// Momentum of an optimizer that replaces the network's own, as in PyTorch's examples.
const MOMENTUM: f64 = 0.9;

/// The help of `--optimizer`.
fn optimizers() -> String {
    let names = names_of::<dyn Optimizer>();
    format!("Optimizer: {names}; with constants as in adam:beta2=0.99")
}

fn weight_decay(settings: &Settings) -> String {
    settings.optimizer.weight_decay().to_string()
}

fn label_smoothing(settings: &Settings) -> String {
    let smoothing = to_json(&*settings.loss).remove("label_smoothing");
    smoothing
        .and_then(|value| value.as_f64())
        .unwrap_or(0.0)
        .to_string()
}

fn loss_name(settings: &Settings) -> String {
    settings.loss.name().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use spikelet::loss::CrossEntropy;
    use spikelet::optim::{Adam, AdamW, OPTIMIZERS, Sgd};

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        settings: SettingsArgs,
    }

    fn over(start: Settings, words: &[&str]) -> Result<Settings, Failure> {
        Words::parse_from([&["spikelet"], words].concat())
            .settings
            .build(start)
    }

    fn built(words: &[&str], start: Settings) -> Settings {
        over(start, words).expect("options that go together")
    }

    #[test]
    fn settings_that_are_not_given_keep_their_values() {
        assert_eq!(built(&[], Settings::default()), Settings::default());
        let changed = built(
            &["--time-steps", "3", "--loss", "cross-entropy"],
            Settings::default(),
        );
        assert_eq!(
            (changed.time_steps, changed.loss),
            (3, CrossEntropy::new().into())
        );
        assert_eq!(changed.batch_size, Settings::default().batch_size);
    }

    #[test]
    fn a_propagation_is_named_as_the_library_names_it() {
        for propagation in Propagation::ALL {
            let words = ["--propagation", propagation.name()];
            let settings = built(&words, Settings::default());
            assert_eq!(settings.propagation, propagation);
        }
    }

    #[test]
    fn amp_is_short_for_sixteen_bits_with_the_range_of_f32() {
        let settings = built(&["--amp"], Settings::default());
        assert_eq!(settings.precision, Precision::Bf16);
    }

    #[test]
    fn an_optimizer_that_is_the_networks_own_keeps_its_constants() {
        let sgd = |words: &[&str], start| {
            let optimizer = built(words, start).optimizer;
            let sgd: &Sgd = optimizer
                .as_type()
                .and_then(|it| it.downcast_ref())
                .expect("SGD");
            *sgd
        };
        let own = || Settings {
            optimizer: Sgd {
                momentum: 0.8,
                weight_decay: 5e-4,
                ..Sgd::default()
            }
            .into(),
            ..Settings::default()
        };
        let kept = sgd(&["--optimizer", "sgd"], own());
        assert_eq!((kept.momentum, kept.weight_decay), (0.8, 5e-4));
        let given = sgd(&["--weight-decay", "0", "--nesterov"], own());
        assert_eq!((given.weight_decay, given.nesterov), (0.0, true));
        let other = sgd(&["--optimizer", "sgd"], Settings::default());
        assert_eq!((other.momentum, other.weight_decay), (0.9, 0.0));
    }

    #[test]
    fn constants_are_given_with_the_optimizer() {
        let words = ["--optimizer", "adam:beta2=0.99,epsilon=1e-6"];
        let expected = Adam {
            beta2: 0.99,
            epsilon: 1e-6,
            ..Adam::default()
        };
        let found = built(&words, Settings::default()).optimizer;
        assert_eq!(found, expected.into());
        let twice = ["--optimizer", "sgd:momentum=0.5", "--momentum", "0.9"];
        assert!(over(Settings::default(), &twice).is_err());
        let unknown = ["--optimizer", "adam:beta3=0.5"];
        assert!(over(Settings::default(), &unknown).is_err());
        let unknown = ["spikelet", "--optimizer", "adagrad"];
        assert!(Words::try_parse_from(unknown).is_err());
    }

    #[test]
    fn every_optimizer_is_named_and_adamw_has_a_weight_decay() {
        for name in OPTIMIZERS.names() {
            let found = built(&["--optimizer", name], Settings::default()).optimizer;
            assert_eq!(found.name(), name);
        }
        let of = |words: &[&str]| built(words, Settings::default()).optimizer;
        let adamw = |weight_decay| AdamW {
            weight_decay,
            ..AdamW::default()
        };
        assert_eq!(of(&["--optimizer", "adamw"]), AdamW::default().into());
        let given = ["--optimizer", "adamw", "--weight-decay", "0.05"];
        assert_eq!(of(&given), adamw(0.05).into());
        let own = Settings {
            optimizer: adamw(0.2).into(),
            ..Settings::default()
        };
        let kept = built(&["--optimizer", "adamw:beta1=0.8"], own.clone()).optimizer;
        assert_eq!(
            (kept.weight_decay(), kept.constants()["beta1"].as_f64()),
            (0.2, Some(0.8))
        );
        assert_eq!(
            built(&["--optimizer", "adam"], own).optimizer,
            Adam::default().into()
        );
    }

    #[test]
    fn momentum_belongs_to_sgd() {
        for words in [&["--momentum", "0.5"][..], &["--nesterov"]] {
            let refused = over(Settings::default(), words).expect_err("adam has none");
            let refused = refused.to_string();
            assert!(refused.contains("sgd, the optimizer is adam"), "{refused}");
        }
        let plain = ["--optimizer", "sgd", "--momentum", "0", "--nesterov"];
        assert!(over(Settings::default(), &plain).is_err());
    }

    #[test]
    fn a_command_that_starts_from_the_preset_names_its_values() {
        let steps = |s: &Settings| s.time_steps.to_string();
        assert_eq!(
            described_from::<true>("Steps", steps),
            "Steps [default: mnist-fc/cifar10-net 50, csnn/resnet18 4, plif-net 8]"
        );
        assert_eq!(
            described_from::<false>("Steps", steps),
            described("Steps", steps)
        );
    }

    #[test]
    fn help_prints_the_weight_decay_that_networks_train_with() {
        let default = described("Decay", weight_decay);
        for of in &*DEFAULTS {
            for settings in [&of.usual, &of.preset] {
                let own = weight_decay(settings);
                assert!(default.contains(&own), "{default}");
            }
        }
        let expected = "Decay [default: mnist-fc/csnn/cifar10-net/plif-net 0, resnet18 0.0005]";
        assert_eq!(default, expected);
    }

    #[test]
    fn defaults_are_named_once_where_networks_agree() {
        assert_eq!(
            described("Seed", |s| s.seed.to_string()),
            "Seed [default: 0]"
        );
        assert_eq!(
            described("Steps", |s| s.time_steps.to_string()),
            "Steps [default: mnist-fc/plif-net 8, csnn/cifar10-net/resnet18 4; preset: mnist-fc/cifar10-net 50]"
        );
    }
}
