//! The diagrams of a run: loss, metrics and firing rates of epochs and steps.

use spikelet::train::EpochRecord;
use spikelet::train::metric::MetricValues;
use std::collections::BTreeMap;

/// Returns the values of one of the data sets of an epoch.
type SetOf = fn(&EpochRecord) -> Option<&MetricValues>;

/// A curve: its name and its points.
pub struct Curve {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// Curves in one diagram.
pub struct Page {
    pub title: String,
    /// The name of the horizontal axis.
    pub axis: &'static str,
    /// Whether the values are fractions that are shown in percent.
    pub percent: bool,
    pub curves: Vec<Curve>,
}

impl Page {
    fn new(quantity: &str, axis: &'static str, curves: Vec<Curve>) -> Self {
        let of_layers = match quantity {
            "rate" => "firing rates",
            quantity => quantity,
        };
        Self {
            title: match axis {
                "step" => format!("{of_layers} of steps"),
                _ => of_layers.to_string(),
            },
            axis,
            percent: quantity == "accuracy",
            curves,
        }
    }
}

/// A metric of a layer as in `fc.2.rate`: the path of the layer, and the quantity.
fn of_layer(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once('.')
}

/// The pages of a run: loss, metrics and firing rates of the epochs, those of the steps, other values of layers.
pub fn pages(history: &[EpochRecord], scalars: BTreeMap<String, Vec<(u64, f32)>>) -> Vec<Page> {
    let (mut pages, others) = of_epochs(history);
    pages.extend(of_steps(scalars));
    pages.extend(others);
    pages.retain(|page| !page.curves.is_empty());
    pages
}

/// Metrics and firing rates, and other values of layers.
fn of_epochs(history: &[EpochRecord]) -> (Vec<Page>, Vec<Page>) {
    let mut metrics: Vec<&str> = vec![];
    let mut quantities: Vec<&str> = vec!["rate"];
    let mut layers: Vec<&str> = vec![];
    let add = |names: &mut Vec<_>, name| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    let all = history.iter().flat_map(|record| {
        let sets = [
            Some(&record.train),
            record.validation.as_ref(),
            record.test.as_ref(),
        ];
        sets.into_iter().flatten()
    });
    for (name, _) in all.flat_map(MetricValues::iter) {
        match of_layer(name) {
            None => add(&mut metrics, name),
            Some((layer, quantity)) => {
                add(&mut layers, layer);
                add(&mut quantities, quantity);
            }
        }
    }
    let of_metric = metrics.iter().map(|name| {
        let sets: [(&str, SetOf); 3] = [
            ("train", |record| Some(&record.train)),
            ("validation", |record| record.validation.as_ref()),
            ("test", |record| record.test.as_ref()),
        ];
        let curves =
            sets.map(|(label, set)| curve(label, history, |record| set(record)?.get(name)));
        Page::new(name, "epoch", present(curves))
    });
    let mut of_quantity = quantities.iter().map(|quantity| {
        let curves = layers.iter().map(|layer| {
            let name = format!("{layer}.{quantity}");
            curve(layer, history, |record| of_evaluation(record, &name))
        });
        Page::new(quantity, "epoch", present(curves))
    });
    let mut pages: Vec<Page> = of_metric.collect();
    pages.extend(of_quantity.next());
    (pages, of_quantity.collect())
}

/// A value of the validation set, else of the test set, else of the training batches.
fn of_evaluation(record: &EpochRecord, name: &str) -> Option<f64> {
    let sets = [record.validation.as_ref(), record.test.as_ref()];
    let sets = sets.into_iter().flatten().chain([&record.train]);
    sets.into_iter().find_map(|set| set.get(name))
}

/// The scalars of steps: loss, metrics, values of layers by their quantity.
fn of_steps(scalars: BTreeMap<String, Vec<(u64, f32)>>) -> Vec<Page> {
    let mut pages = BTreeMap::<(bool, String), Vec<Curve>>::new();
    for (tag, points) in scalars {
        let Some(name) = tag.strip_prefix("step/") else {
            continue;
        };
        let points = points.into_iter();
        let points = points.map(|(step, value)| (step as f64, f64::from(value)));
        let points = points.filter(|(_, value)| value.is_finite());
        let (is_of_layer, quantity, label) = match of_layer(name) {
            Some((layer, quantity)) => (true, quantity, layer),
            None => (false, name, "train"),
        };
        let page = pages
            .entry((is_of_layer, quantity.to_string()))
            .or_default();
        page.push(Curve {
            name: label.to_string(),
            points: points.collect(),
        });
    }
    let mut pages: Vec<_> = pages.into_iter().collect();
    // The loss first, as in the records of epochs.
    pages.sort_by_key(|((is_of_layer, quantity), _)| (*is_of_layer, quantity != "loss"));
    let pages = pages.into_iter();
    let pages = pages.map(|((_, quantity), curves)| Page::new(&quantity, "step", present(curves)));
    pages.collect()
}

/// The curves with points.
fn present(curves: impl IntoIterator<Item = Curve>) -> Vec<Curve> {
    let curves = curves.into_iter();
    curves.filter(|curve| !curve.points.is_empty()).collect()
}

fn curve(
    name: &str,
    history: &[EpochRecord],
    value: impl Fn(&EpochRecord) -> Option<f64>,
) -> Curve {
    let points = history.iter().filter_map(|record| {
        let value = value(record).filter(|value| value.is_finite())?;
        Some((record.epoch as f64, value))
    });
    Curve {
        name: name.to_string(),
        points: points.collect(),
    }
}
