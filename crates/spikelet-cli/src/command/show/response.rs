//! The response of a trained network to test images.

use super::Show;
use crate::command::trained::Trained;
use crate::command::{path_text, say_table};
use crate::failure::Failure;
use crate::table::Table;
use serde_json::json;
use spikelet::log::Console;
use spikelet::report::Activity;
use spikelet::terminal::escaped;
use spikelet::train::show_activity;

/// The largest number of images.
const MOST: usize = 64;

impl Show {
    pub(super) fn response(&self, console: &Console) -> Result<(), Failure> {
        if self.index.len() > MOST {
            return Err(Failure::argument(
                format!("{} images were requested", self.index.len()),
                format!("show at most {MOST} at a time"),
            ));
        }
        let mut trained = Trained::open(&self.file, &self.device)?;
        trained.image()?;
        let test = trained.test(&self.data, console)?;
        let images = test.images()?;
        let shown = show_activity(
            &*trained.network.module()?,
            trained.checkpoint.settings()?,
            images,
            &self.index,
            &mut trained.store,
        )?;
        let title = format!("{} on {}", trained.network.name(), test.name());
        if let Some(out) = &self.out {
            shown.save(&title, out)?;
        }
        for k in 0..shown.examples.len() {
            console.say_json(&self.line(&shown, k));
            say_image(console, &shown, k);
        }
        if let Some(out) = &self.out {
            console.say(format!("picture: {}", out.display()));
        }
        Ok(())
    }

    fn line(&self, shown: &Activity, k: usize) -> serde_json::Value {
        let example = &shown.examples[k];
        let layers = shown.layers.iter().map(|layer| {
            json!({
                "name": layer.name, "shape": layer.shape, "time_steps": layer.spikes.shape.first(),
                "rate": layer.rate_of(k),
            })
        });
        json!({
            "checkpoint": path_text(&self.file), "index": shown.indices[k],
            "label": example.label, "predicted": example.predicted, "scores": shown.scores[k],
            "classes": shown.classes, "layers": layers.collect::<Vec<_>>(), "picture": self.out.as_deref().map(path_text),
        })
    }
}

fn say_image(console: &Console, shown: &Activity, k: usize) {
    let example = &shown.examples[k];
    let class = |class: usize| {
        let name = shown.classes.get(class).cloned();
        escaped(&name.unwrap_or_else(|| class.to_string())).into_owned()
    };
    let result = match example.predicted {
        None => console.red("not recognized: no spikes of the output"),
        Some(predicted) => {
            let result = match example.label == Some(predicted) {
                true => console.green("recognized"),
                false => console.red(format!("taken for {}", class(predicted))),
            };
            format!("{result} with a score of {:.3}", shown.scores[k][predicted])
        }
    };
    let label = example.label.map(class).unwrap_or_default();
    console.say_wrapped(format!("image {}: {label}, {result}", shown.indices[k]));
    let mut table = Table::new(&["layer", "neurons", "firing rate"]).right(&[1, 2]);
    for layer in &shown.layers {
        let sizes: Vec<String> = layer.shape.iter().map(ToString::to_string).collect();
        let rate = format!("{:.4}", layer.rate_of(k));
        table.row([layer.name.clone(), sizes.join(" × "), rate]);
    }
    say_table(console, &table);
}
