//! `spikelet neuron show`

use crate::args::{NeuronArgs, defaults, neuron_names, value};
use crate::command::{examples, say_table};
use crate::equation::{Step, pretty};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::{Map, Value, json};
use spikelet::Constant;
use spikelet::DefinitionError;
use spikelet::expr::Expr;
use spikelet::log::{Console, Output};
use spikelet::neuron::{
    self, Bound, Granularity, NEURONS, Neuron, derive, is_parallel, trainables,
};
use spikelet::surrogate::Surrogate;
use std::process::ExitCode;

/// Print a neuron's equations, forward and backward, and its constants
///
/// The backward step is derived from the equations. ∂Y stands for the derivative of the loss
/// with respect to Y; lower-case v is the potential before the step, V the one after it. Numbers
/// are printed with six digits; `--json` prints them in full.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet neuron show lif --surrogate atan" => "leaky integrate-and-fire with the arc tangent",
    "spikelet neuron show lif --set tau=100 --set v_reset=null --reset-grad detach"
        => "a soft reset without gradient",
    "spikelet neuron show if --surrogate sigmoid --set surrogate.alpha=1" => "with a constant of the surrogate",
    "spikelet neuron show lif --set trainable.tau=channel" => "a trainable time constant for each channel",
])]
pub struct Show {
    /// Neuron model
    #[arg(value_name = "NEURON", value_parser = neuron_names())]
    name: String,

    #[command(flatten)]
    neuron: NeuronArgs,
}

impl Show {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let neuron = self.neuron.build(&self.name)?;
        let wrong = |error: DefinitionError| {
            Failure::argument(
                error.to_string(),
                "choose another surrogate, or --reset-grad surrogate",
            )
        };
        let step = Step::of(&*neuron).map_err(wrong)?;
        let present = self.neuron.present(&self.name, &*neuron)?;
        let defaults = defaults(&NEURONS, &self.name)?;
        if console.output() == Output::Json {
            console.say_json(&self.json(&*neuron, &step, &present).map_err(wrong)?);
            return Ok(ExitCode::SUCCESS);
        }
        let summary = neuron.declaration().summary();
        console.say(format!("{}  {summary}", console.bold(&self.name)));
        section(console, "forward, from x and the state before the step");
        if is_parallel(&*neuron) {
            console.say("  x is computed from the complete input sequence first:");
            let doc = neuron.declaration().doc;
            let lines = doc.lines().skip(1).filter(|line| !line.is_empty());
            lines.for_each(|line| console.say(format!("  {}", console.dim(line))));
        }
        for (name, value) in step.forward() {
            console.say(format!("  {name} = {}", pretty(value)));
        }
        let surrogate = &*neuron.common().surrogate;
        section(
            console,
            &format!("surrogate {}", value::text(&surrogate.spec())),
        );
        say_surrogate(console, surrogate);
        section(console, "backward, from ∂S and ∂V");
        for (name, value) in step.backward() {
            console.say(format!("  {name} {}", pretty(value)));
        }
        let domains = neuron::domains(&*neuron);
        let mut table = Table::new(&["constant", "value", "default", "domain"]);
        for (key, value) in present.iter().filter(|(key, _)| *key != "trainable") {
            let default = defaults.get(key).map(value::text).unwrap_or_default();
            let domain = domains.iter().find(|constant| constant.name == key);
            let domain = domain.map_or_else(String::new, |c| c.domain.to_string());
            table.row([key.clone(), value::text(value), default, domain]);
        }
        console.say("");
        say_table(console, &table);
        for learned in trainables(&*neuron).map_err(wrong)? {
            let share = match learned.granularity {
                Granularity::Layer => "one per layer",
                Granularity::Channel => "one per channel",
                Granularity::Neuron => "one per neuron",
                Granularity::Step => "one per time step",
                Granularity::StepChannel => "one per time step and channel",
            };
            // −0 is printed as 0.
            let init = pretty(&Expr::constant(learned.init + 0.0));
            let stands_for = match learned.bound {
                Bound::None => String::new(),
                bound => {
                    let p = Expr::symbol("p");
                    let value = pretty(&Expr::constant(bound.value(learned.init)));
                    format!(
                        ": p, which stands for {}, {value} at first",
                        pretty(&bound.apply(&p))
                    )
                }
            };
            console.say(format!(
                "\ntrainable: {}, {share}, starts at {init}{stands_for}",
                console.bold(&learned.name)
            ));
        }
        if let Some(warning) = neuron::warning(&*neuron) {
            console.say(format!("\nwarning: {warning}"));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn json(
        &self,
        neuron: &dyn Neuron,
        step: &Step,
        constants: &Map<String, Value>,
    ) -> Result<Value, DefinitionError> {
        let text = |(name, value): (String, &Expr)| (name, Value::from(value.to_string()));
        let forward: Map<String, Value> = step.forward().into_iter().map(text).collect();
        let gradients = step
            .gradients
            .iter()
            .map(|(name, value)| text((name.clone(), value)));
        let derived = derive(neuron)?;
        let wrt = [&derived.inputs, &derived.states, &derived.params]
            .into_iter()
            .flatten();
        let whole = wrt.cloned().zip(derived.step_gradients());
        Ok(json!({
            "name": self.name,
            "constants": constants,
            "domains": domains_json(&neuron::domains(neuron)),
            "warnings": neuron::warning(neuron).into_iter().collect::<Vec<_>>(),
            "states": neuron.states().iter().map(|s| json!({"name": s.name, "reset": s.reset})).collect::<Vec<_>>(),
            "trainable": trainables(neuron)?.iter()
                .map(|l| json!({"name": l.name, "init": l.init, "granularity": l.granularity, "bound": l.bound}))
                .collect::<Vec<_>>(),
            "output_kind": neuron.output_kind(),
            "step": forward,
            "surrogate": surrogate_json(&*neuron.common().surrogate),
            "surrogate_arguments": step.arguments.iter().map(Expr::to_string).collect::<Vec<_>>(),
            "backward": {
                "spike_feedback": step.spike_feedback.to_string(),
                "h": step.d_h.to_string(),
                "gradients": gradients.collect::<Map<_, _>>(),
            },
            "step_gradients": whole.map(|(name, value)| text((name, &value))).collect::<Map<_, _>>(),
        }))
    }
}

fn section(console: &Console, title: &str) {
    console.say(format!("\n{}", console.bold(title)));
}

/// Domains by the names of their constants.
fn domains_json(domains: &[Constant]) -> Map<String, Value> {
    let each = domains.iter();
    each.map(|c| (c.name.to_string(), Value::from(c.domain.to_string())))
        .collect()
}

/// Prints a surrogate: derivative, primitive, and the forward function if it is not the step.
pub fn say_surrogate(console: &Console, surrogate: &dyn Surrogate) {
    let (x, noise) = (Expr::symbol("x"), Expr::symbol("u"));
    let fires = surrogate.forward(&x, &noise);
    if fires.to_string() != x.ge(0.0).to_string() {
        console.say(format!("  S(x) = {}", pretty(&fires)));
    }
    if surrogate.needs_noise() {
        console.say("  u is uniform on (0, 1], fresh at every step");
    }
    console.say(format!("  g′(x) = {}", pretty(&surrogate.derivative(&x))));
    if let Some(primitive) = surrogate.primitive(&x) {
        console.say(format!("  g(x)  = {}", pretty(&primitive)));
    }
    for constant in Constant::all(surrogate) {
        console.say(format!("  {constant}"));
    }
}

/// The same as JSON.
pub fn surrogate_json(surrogate: &dyn Surrogate) -> Value {
    let (x, noise) = (Expr::symbol("x"), Expr::symbol("u"));
    json!({
        "spec": surrogate.spec(),
        "domains": domains_json(&Constant::all(surrogate)),
        "summary": surrogate.declaration().summary(),
        "forward": surrogate.forward(&x, &noise).to_string(),
        "derivative": surrogate.derivative(&x).to_string(),
        "primitive": surrogate.primitive(&x).map(|g| g.to_string()),
        "binary": surrogate.is_binary(),
        "needs_noise": surrogate.needs_noise(),
    })
}
