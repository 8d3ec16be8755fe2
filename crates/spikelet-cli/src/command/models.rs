//! `spikelet models`

use super::{examples, say_table};
use crate::args::NetworkName;
use crate::failure::Failure;
use crate::table::Table;
use serde_json::{Value, json};
use spikelet::human::thousands;
use spikelet::log::Console;
use spikelet::network::{Cost, Layers, Model, Network};
use spikelet::recipes::{self, Recipe};
use std::process::ExitCode;

/// List the named networks, or the layers of one network
///
/// Multiply-accumulates (MAC) are those of linear layers and convolutions on dense inputs, for one
/// image and one time step. Layers before the first neuron of some networks run once for an image;
/// theirs are told apart.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet models" => "a table of the named networks",
    "spikelet models resnet18" => "the layers of a network",
    "spikelet models net.toml" => "the layers of a network in a file",
    "spikelet models --json" => "as JSON, with all layers",
])]
pub struct Models {
    /// Network whose layers are listed [default: a table of all named networks]
    #[arg(value_name = "NETWORK", value_parser = NetworkName::parser())]
    network: Option<NetworkName>,
}

/// The time steps for which networks are traced; parameters of some neurons depend on them.
const TIME_STEPS: usize = 1;

impl Models {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        match &self.network {
            Some(name) => {
                let (layers, cost) = measured(&layers_of(name)?)?;
                console.say_json(&line(&layers, &cost));
                say_layers(console, &layers, &cost);
                if let NetworkName::Named(name) = name
                    && let Ok(model) = Model::find(name)
                {
                    say_options(console, &model);
                }
            }
            None => say_networks(console)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The list of layers of a network.
fn layers_of(name: &NetworkName) -> Result<Layers, Failure> {
    match (name, name.network()?) {
        (NetworkName::File(..) | NetworkName::Recipe(_), Network::Model(model)) => {
            Err(Failure::argument(
                format!("{} names the network {}", name.text(), model.name()),
                format!("write `spikelet models {}`", model.name()),
            ))
        }
        (_, network) => Ok(network.layers()?),
    }
}

fn measured(layers: &Layers) -> Result<(Layers, Cost), Failure> {
    Ok((layers.clone(), layers.cost(TIME_STEPS)?))
}

/// `1 × 28 × 28`
fn sizes(sizes: &[usize]) -> String {
    let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
    sizes.join(" × ")
}

fn say_networks(console: &Console) -> Result<(), Failure> {
    let mut table = Table::new(&[
        "name",
        "input",
        "parameters",
        "MAC/step",
        "MAC/image",
        "source",
    ])
    .right(&[2, 3, 4]);
    let named = Model::names().map(|name| NetworkName::Named(name.to_string()));
    // Recipes that only have settings for a named network are not networks of their own.
    let layers = |recipe: &&'static Recipe| {
        let experiment = recipe.experiment();
        experiment.is_ok_and(|own| matches!(own.network, Network::Layers(_)))
    };
    let recipes = recipes::all()
        .iter()
        .filter(layers)
        .map(NetworkName::Recipe);
    for name in named.chain(recipes) {
        let (layers, cost) = measured(&layers_of(&name)?)?;
        console.say_json(&line(&layers, &cost));
        table.row([
            name.text().to_string(),
            sizes(&layers.input),
            thousands(cost.parameters() as u64),
            thousands(cost.macs()),
            thousands(cost.macs_per_image()),
            layers.source,
        ]);
    }
    say_table(console, &table);
    console.say(console.dim("\nlayers of one: spikelet models NAME"));
    Ok(())
}

fn say_layers(console: &Console, layers: &Layers, cost: &Cost) {
    let head = [
        "layer",
        "kind",
        "output",
        "parameters",
        "MAC/step",
        "MAC/image",
    ];
    let mut table = Table::new(&head).right(&[3, 4, 5]);
    let count = |count: u64| match count {
        0 => String::new(),
        count => thousands(count),
    };
    table.row(["input".to_string(), String::new(), sizes(&cost.input)]);
    for row in &cost.rows {
        let (step, image) = match row.per_image {
            true => (0, row.macs),
            false => (row.macs, 0),
        };
        table.row([
            row.path.clone(),
            row.kind.clone(),
            sizes(&row.output),
            count(row.parameters as u64),
            count(step),
            count(image),
        ]);
    }
    let [total, blank] = ["total", ""].map(String::from);
    let blanks = [total, blank.clone(), blank];
    let sums = [cost.parameters() as u64, cost.macs(), cost.macs_per_image()];
    table.row(blanks.into_iter().chain(sums.map(thousands)));
    console.say(match layers.source.is_empty() {
        true => layers.name.clone(),
        false => format!("{}: {}", layers.name, layers.source),
    });
    say_table(console, &table);
}

/// The options of a model, with their defaults.
fn say_options(console: &Console, model: &Model) {
    let mut table = Table::new(&["option", "default", ""]);
    for option in model.options() {
        let value = match option.value {
            Value::Object(spec) => spec["neuron"].as_str().unwrap_or_default().to_string(),
            Value::String(text) => text,
            value => value.to_string(),
        };
        table.row([option.key, value, option.field.summary()]);
    }
    console.say("");
    say_table(console, &table);
    console.say(console.dim("\nto change one: --set network.OPTION=VALUE"));
}

fn line(layers: &Layers, cost: &Cost) -> serde_json::Value {
    let rows = cost.rows.iter().map(|row| {
        json!({
            "path": row.path, "kind": row.kind, "output": row.output, "parameters": row.parameters,
            "macs": row.macs, "per_image": row.per_image,
        })
    });
    json!({
        "name": layers.name, "source": layers.source, "input": cost.input, "parameters": cost.parameters(),
        "macs_per_step": cost.macs(), "macs_per_image": cost.macs_per_image(), "layers": rows.collect::<Vec<_>>(),
    })
}
