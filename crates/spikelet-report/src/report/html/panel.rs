//! Curves, and the thinning of long ones.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// A figure with curves: lines, or rows of a heat map if there are many.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Panel {
    pub id: String,
    /// The section of the page.
    pub group: &'static str,
    pub title: String,
    pub xlabel: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub unit: &'static str,
    /// Whether a value of 1 is 100 %.
    pub percent: bool,
    /// Whether the axis is logarithmic at first.
    pub log: bool,
    /// Whether a logarithmic axis can be chosen.
    pub can_log: bool,
    /// A value that the axis contains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The x of the best epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Panels with the same x.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub sync: &'static str,
    /// `lines` or `heat`.
    pub kind: Kind,
    #[serde(flatten, serialize_with = "columns")]
    pub series: Vec<Series>,
}

/// How the curves of a panel are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    #[default]
    Lines,
    Heat,
}

/// A curve.
#[derive(Clone, Debug, Default)]
pub struct Series {
    pub name: String,
    /// The index of the color, and of the dashes; by default those of the place in the panel.
    pub color: Option<usize>,
    pub dash: Option<usize>,
    /// The points, in the order of x. Values that are not finite are gaps.
    pub points: Vec<(f64, f64)>,
}

/// The largest number of curves that are drawn as lines.
const MOST_LINES: usize = 8;
/// The largest number of rows of a heat map.
const MOST_ROWS: usize = 400;

impl Panel {
    /// Sets the curves: those with a finite value.
    pub fn with(mut self, series: impl IntoIterator<Item = Series>) -> Self {
        let series = series.into_iter();
        let any = |one: &Series| one.points.iter().any(|(_, y)| y.is_finite());
        self.series = series.filter(any).collect();
        let count = self.series.len();
        if count > MOST_LINES {
            self.kind = Kind::Heat;
        }
        if count > MOST_ROWS {
            let every = count.div_ceil(MOST_ROWS);
            self.series = self.series.into_iter().step_by(every).collect();
            self.note = Some(format!("{} of {count} rows.", self.series.len()));
        }
        self
    }

    /// Thins each curve to at most `most` points.
    pub(super) fn thin(&mut self, most: usize) {
        for one in &mut self.series {
            let kept = kept(&one.points, most);
            one.points = kept.into_iter().map(|k| one.points[k]).collect();
        }
    }
}

/// The indices of the points that are kept of a curve: the first and the last one, and the minimum and the maximum of
/// each of equally long parts between them.
fn kept(points: &[(f64, f64)], most: usize) -> Vec<usize> {
    let finite: Vec<usize> = (0..points.len())
        .filter(|&k| points[k].1.is_finite())
        .collect();
    let most = most.max(4);
    if finite.len() <= most {
        return finite;
    }
    let (first, last) = (finite[0], finite[finite.len() - 1]);
    let inner = &finite[1..finite.len() - 1];
    let parts = (most - 2) / 2;
    let mut kept = vec![first];
    for part in 0..parts {
        let bound = |part: usize| part * inner.len() / parts;
        let part = &inner[bound(part)..bound(part + 1)];
        let by_value = |a: &&usize, b: &&usize| points[**a].1.total_cmp(&points[**b].1);
        let ends = part
            .iter()
            .min_by(by_value)
            .zip(part.iter().max_by(by_value));
        let Some((&low, &high)) = ends else {
            continue;
        };
        kept.push(low.min(high));
        if low != high {
            kept.push(low.max(high));
        }
    }
    kept.push(last);
    kept
}

/// A number with five digits; `None`, null in JSON, if it is not finite.
pub fn rounded(value: f64) -> Option<f64> {
    value
        .is_finite()
        .then(|| format!("{value:.4e}").parse().unwrap_or(value))
}

/// The x that curves of a panel share, and each curve with its own x if it differs.
fn columns<S: Serializer>(series: &[Series], to: S) -> Result<S::Ok, S::Error> {
    let x_of =
        |one: &Series| -> Vec<Number> { one.points.iter().map(|(x, _)| Number(*x)).collect() };
    let longest = series.iter().max_by_key(|one| one.points.len());
    let shared = longest.map(x_of).unwrap_or_default();
    let curves: Vec<Curve<'_>> = (series.iter())
        .map(|one| {
            let x = x_of(one);
            Curve {
                name: &one.name,
                color: one.color,
                dash: one.dash,
                x: (x != shared).then_some(x),
                y: one.points.iter().map(|(_, y)| rounded(*y)).collect(),
            }
        })
        .collect();
    let mut map = to.serialize_map(Some(2))?;
    map.serialize_entry("x", &shared)?;
    map.serialize_entry("series", &curves)?;
    map.end()
}

/// A number that is written without a fraction if it has none.
#[derive(PartialEq)]
struct Number(f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.0.fract() == 0.0 && self.0.abs() < 1e15 {
            true => to.serialize_i64(self.0 as i64),
            false => to.serialize_f64(rounded(self.0).unwrap_or_default()),
        }
    }
}

#[derive(Serialize)]
struct Curve<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    color: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dash: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    x: Option<Vec<Number>>,
    y: Vec<Option<f64>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
        values.enumerate().map(|(x, y)| (x as f64, y)).collect()
    }

    #[test]
    fn thinning_keeps_the_ends_and_every_extreme() {
        let spikes = [313, 700, 1501];
        let points = curve((0..2000).map(|k| match spikes.contains(&k) {
            true => 100.0 + k as f64,
            false => (k % 7) as f64,
        }));
        let kept = kept(&points, 100);
        assert!(kept.len() <= 100);
        assert!(kept.is_sorted_by(|a, b| a < b));
        assert_eq!((kept.first(), kept.last()), (Some(&0), Some(&1999)));
        assert!(spikes.iter().all(|spike| kept.contains(spike)));
    }

    #[test]
    fn short_curves_and_gaps_are_kept_as_they_are() {
        let points = curve([1.0, f64::NAN, 3.0, f64::INFINITY, 5.0].into_iter());
        assert_eq!(kept(&points, 40), [0, 2, 4]);
        assert_eq!(kept(&[], 40), [0; 0]);
    }

    #[test]
    fn curves_share_their_x_if_it_is_the_same() {
        let series = |points: &[(f64, f64)]| Series {
            name: "a".to_string(),
            points: points.to_vec(),
            ..Series::default()
        };
        let panel = Panel::default().with([
            series(&[(1.0, 0.123_456_789), (2.0, 1e-9)]),
            series(&[(1.0, 3.0), (2.0, 4.0)]),
            series(&[(1.5, 3.0)]),
            series(&[(1.0, f64::NAN)]),
        ]);
        let json = serde_json::to_value(&panel).expect("plain data");
        assert_eq!(json["x"], serde_json::json!([1, 2]));
        let curves = json["series"].as_array().expect("curves");
        assert_eq!(curves.len(), 3, "a curve without a value is left out");
        assert_eq!(curves[0]["y"], serde_json::json!([0.12346, 1e-9]));
        assert_eq!(curves[1].get("x"), None);
        assert_eq!(curves[2]["x"], serde_json::json!([1.5]));
    }

    #[test]
    fn many_layers_are_a_heat_map() {
        let many = |count| {
            let one = |k: usize| Series {
                name: k.to_string(),
                points: vec![(1.0, 0.5)],
                ..Series::default()
            };
            Panel::default().with((0..count).map(one))
        };
        assert_eq!((many(8).kind, many(9).kind), (Kind::Lines, Kind::Heat));
        let most = many(5000);
        assert!(most.series.len() <= MOST_ROWS && most.note.is_some());
    }
}
