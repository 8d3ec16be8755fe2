//! `report.html`: the report of a run as one HTML file without references to other files.
//!
//! [`HtmlReport`] is the data, which the page has as JSON. Its figures are drawn in the browser by the scripts in
//! `assets` and by uPlot (`vendor/uplot`). A content security policy allows the scripts of the page only, by their
//! digests, and no connection: text from a network or a data set is never run, even if it were markup.

mod panel;
mod thumbnail;

pub use panel::{Panel, Series, rounded};
pub use thumbnail::thumbnail;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Serialize;
use sha2::{Digest, Sha256};
use spikelet_core::files::{self, FileError};
use std::path::Path;

/// The page, with places in double braces.
const PAGE: &str = include_str!("assets/page.html");
const STYLES: [&str; 2] = [
    include_str!("vendor/uplot/uPlot.min.css"),
    include_str!("assets/style.css"),
];
const SCRIPTS: [&str; 6] = [
    include_str!("vendor/uplot/uPlot.iife.min.js"),
    include_str!("assets/dom.js"),
    include_str!("assets/charts.js"),
    include_str!("assets/canvas.js"),
    include_str!("assets/samples.js"),
    include_str!("assets/page.js"),
];
const LICENSE: &str = include_str!("vendor/uplot/LICENSE");

/// The largest number of points of all curves together.
const MOST_POINTS: usize = 100_000;
/// The points of a curve if there are few curves, and if there are many.
const POINTS_OF_A_CURVE: [usize; 2] = [40, 2000];

/// The data of the page. Parts that a run does not have are absent.
#[derive(Clone, Debug, Default, Serialize)]
pub struct HtmlReport {
    pub title: String,
    pub subtitle: String,
    /// `finished`, `stopped early`, `interrupted` or `failed`.
    pub status: &'static str,
    /// The error of a run that failed, or the remedy for one that was interrupted.
    pub message: Option<String>,
    pub version: &'static str,
    /// The most important results.
    pub tiles: Vec<Tile>,
    /// Problems with advice.
    pub findings: Vec<Advice>,
    /// Why the run cannot be judged, if it is too short.
    pub too_short: Option<String>,
    pub panels: Vec<Panel>,
    /// What to do to see layers over training, if no monitor was on.
    pub no_monitors: Option<String>,
    pub layers: Vec<LayerRow>,
    pub layers_note: String,
    pub classes: Vec<String>,
    pub samples: Option<Samples>,
    pub confusion: Option<Confusion>,
    pub worst: Option<Worst>,
    pub command: Option<String>,
    /// The text of `experiment.toml`.
    pub experiment: Option<String>,
    pub configuration: Vec<Table>,
}

/// A result of the headline.
#[derive(Clone, Debug, Serialize)]
pub struct Tile {
    pub name: String,
    pub value: String,
    pub note: String,
}

/// A problem and its remedy.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    pub layer: Option<String>,
    pub sentence: String,
    pub advice: String,
}

/// The values of a layer after the last epoch.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LayerRow {
    pub name: String,
    /// Of one sample at one time step.
    pub shape: Option<Vec<usize>>,
    pub rate: Option<f64>,
    pub dead: Option<f64>,
    pub saturated: Option<f64>,
    pub potential: Option<f64>,
    pub potential_std: Option<f64>,
    pub distance: Option<f64>,
}

/// Some samples with the activity of neurons.
#[derive(Clone, Debug, Serialize)]
pub struct Samples {
    pub samples: Vec<Sample>,
    pub layers: Vec<SampledLayer>,
}

/// A sample, with label and scores if it is classified.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sample {
    /// In the test set.
    pub index: usize,
    pub label: Option<usize>,
    pub predicted: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// The image as a data URI.
    pub png: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scores: Option<Vec<Option<f64>>>,
}

/// The activity of some neurons of a layer.
#[derive(Clone, Debug, Serialize)]
pub struct SampledLayer {
    pub name: String,
    pub shape: Vec<usize>,
    /// The number of time steps, and of those that are shown.
    pub time_steps: usize,
    pub shown_steps: usize,
    /// The indices of the neurons.
    pub neurons: Vec<usize>,
    /// The threshold, if all of them have the same one.
    pub threshold: Option<f64>,
    pub samples: Vec<LayerSample>,
}

/// The activity of some neurons for a sample.
#[derive(Clone, Debug, Serialize)]
pub struct LayerSample {
    /// The number of spikes for each neuron of the layer and time step.
    pub rate: Option<f64>,
    /// The spikes of each neuron as bits in hexadecimal digits, the first time step first.
    pub spikes: Vec<String>,
    /// Which of them have potentials.
    pub chosen: Vec<usize>,
    /// The potentials of these.
    pub v: Option<Vec<Vec<Option<f64>>>>,
}

/// Counts by label and prediction.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Confusion {
    /// The number of samples, of those in the test set, and what they are.
    pub samples: usize,
    pub of: usize,
    pub unit: &'static str,
    /// What is counted.
    pub counted: &'static str,
    /// The number of samples whose output has no spike.
    pub silent: usize,
    /// A row for each label, unless there are too many classes.
    pub counts: Option<Vec<Vec<u32>>>,
    /// The most frequent errors: label, prediction, count.
    pub pairs: Vec<(usize, usize, u32)>,
}

/// The images with the highest losses.
#[derive(Clone, Debug, Serialize)]
pub struct Worst {
    pub note: String,
    pub images: Vec<Sample>,
}

/// Names with values.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    pub title: String,
    pub rows: Vec<(String, String)>,
}

impl HtmlReport {
    /// Thins the curves so that all of them have at most about 100,000 points.
    pub fn bound(&mut self) {
        let curves: usize = self.panels.iter().map(|panel| panel.series.len()).sum();
        let [least, most] = POINTS_OF_A_CURVE;
        let each = (MOST_POINTS / curves.max(1)).clamp(least, most);
        self.panels.iter_mut().for_each(|panel| panel.thin(each));
    }

    /// The page.
    pub fn to_html(&self) -> String {
        let style = STYLES.join("\n");
        let script = SCRIPTS.join("\n");
        let digest = BASE64_STANDARD.encode(Sha256::digest(script.as_bytes()));
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; \
             base-uri 'none'; form-action 'none'"
        );
        let data = serde_json::to_string(self).expect("names and numbers are JSON");
        let parts = [
            ("policy", policy),
            ("title", escaped(&self.title)),
            ("style", style),
            ("data", in_script(&data)),
            ("license", LICENSE.to_string()),
            ("script", script),
        ];
        // Each place is filled once, so that a text with braces in it is no place.
        let mut page = String::with_capacity(PAGE.len() + data.len() + 100_000);
        let mut rest = PAGE;
        for (name, text) in parts {
            let place = format!("{{{{{name}}}}}");
            let (before, after) = rest.split_once(&place).expect("the page has all places");
            page.push_str(before);
            page.push_str(&text);
            rest = after;
        }
        page.push_str(rest);
        page
    }

    /// Writes [`to_html`](Self::to_html) to a file.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        files::write_atomically(path, self.to_html().as_bytes())
    }
}

/// Text in an element or an attribute.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// JSON in a `script` element, which neither `</script>` nor `<!--` can end or begin. A `<` is in strings only.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests;
