//! A bar chart of the times of a neuron's passes.

use crate::failure::Failure;
use spikelet::files::write_atomically;
use spikelet::module::Propagation;
use spikelet::report::{BarPanel, Bars};
use std::path::Path;

/// The measured times: a panel per pass, a group of bars per number of time steps, a bar per
/// execution order.
#[derive(Default)]
pub struct Chart {
    times: Vec<Time>,
}

struct Time {
    panel: String,
    time_steps: u32,
    propagation: Propagation,
    ms: f64,
}

impl Chart {
    /// Adds the time of a pass, if it ran.
    pub fn add(&mut self, panel: &str, time_steps: u32, propagation: Propagation, ms: Option<f64>) {
        self.times.extend(ms.map(|ms| Time {
            panel: panel.to_string(),
            time_steps,
            propagation,
            ms,
        }));
    }

    /// Writes the chart.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn save(&self, title: &str, subtitle: &str, path: &Path) -> Result<(), Failure> {
        let svg = self.bars(title, subtitle).to_svg();
        write_atomically(path, svg.as_bytes()).map_err(|e| spikelet::Error::from(e).into())
    }

    fn bars(&self, title: &str, subtitle: &str) -> Bars {
        let series = distinct(self.times.iter().map(|time| time.propagation));
        let panels = distinct(self.times.iter().map(|time| time.panel.clone()));
        let panels = panels.into_iter().map(|panel| {
            let of_panel = || self.times.iter().filter(|time| time.panel == panel);
            let groups = distinct(of_panel().map(|time| time.time_steps));
            let bar = |time_steps: u32, propagation: Propagation| {
                let mut found = of_panel();
                let found =
                    found.find(|t| (t.time_steps, t.propagation) == (time_steps, propagation));
                found.map(|time| time.ms)
            };
            let group = |t: u32| {
                let bars = series.iter().map(|propagation| bar(t, *propagation));
                (format!("T = {t}"), bars.collect())
            };
            BarPanel {
                groups: groups.into_iter().map(group).collect(),
                title: format!("{panel}, ms"),
            }
        });
        Bars {
            title: title.to_string(),
            subtitle: subtitle.to_string(),
            panels: panels.collect(),
            series: series.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The distinct values in order of their first occurrence.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.fold(vec![], |mut known, value| {
        if !known.contains(&value) {
            known.push(value);
        }
        known
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_has_its_place() {
        let mut chart = Chart::default();
        for (k, t) in [8, 16].into_iter().enumerate() {
            for (j, propagation) in Propagation::ALL.into_iter().enumerate() {
                let ms = (10 * k + j) as f64;
                chart.add("forward, f32", t, propagation, (ms != 11.0).then_some(ms));
                chart.add("forward + backward, f32", t, propagation, Some(2.0 * ms));
            }
        }
        let bars = chart.bars("lif", "cpu");
        assert_eq!((bars.series.len(), bars.panels.len()), (3, 2));
        let groups = &bars.panels[0].groups;
        assert_eq!(
            groups[0],
            ("T = 8".to_string(), vec![Some(0.0), Some(1.0), Some(2.0)])
        );
        assert_eq!(groups[1].1, [Some(10.0), None, Some(12.0)]);
        assert_eq!(
            bars.panels[1].groups[1].1,
            [Some(20.0), Some(22.0), Some(24.0)]
        );
    }
}
