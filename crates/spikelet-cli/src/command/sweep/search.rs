//! The combinations of values that a sweep trains.

use super::file::{Axis, MOST_RUNS, Search, SweepFile, Values, too_many};
use serde_json::{Map, Number, Value};
use spikelet::document::Located;
use spikelet_random::{Generator, Stream};

/// The draws for each random combination until all are different.
const DRAWS: usize = 100;

/// The combinations of a sweep, each with a value for each of its settings.
///
/// # Errors
/// When there are more combinations than a sweep may have, or fewer than the random ones that are asked for.
pub fn combinations(sweep: &SweepFile) -> Result<Vec<Map<String, Value>>, Located> {
    match sweep.search {
        Search::Grid => grid(&sweep.axes),
        Search::Random { runs, seed } => random(&sweep.axes, runs, seed),
    }
}

/// All combinations; the last setting varies fastest.
fn grid(axes: &[Axis]) -> Result<Vec<Map<String, Value>>, Located> {
    let lists: Vec<(&str, &[Value])> = (axes.iter())
        .filter_map(|axis| match &axis.values {
            Values::List(values) => Some((axis.key.as_str(), &values[..])),
            Values::Range { .. } => None,
        })
        .collect();
    let product = (lists.iter()).fold(1u128, |n, (_, list)| n.saturating_mul(list.len() as u128));
    if product > MOST_RUNS as u128 {
        return Err(too_many(product));
    }
    let mut all = vec![Map::new()];
    for (key, values) in lists {
        let longer = all.iter().flat_map(|known| {
            values.iter().map(|value| {
                let mut known = known.clone();
                known.insert(key.to_string(), value.clone());
                known
            })
        });
        all = longer.collect();
    }
    Ok(all)
}

/// Different random combinations. A combination is determined by the seed and its number.
fn random(axes: &[Axis], runs: usize, seed: u64) -> Result<Vec<Map<String, Value>>, Located> {
    let mut all: Vec<Map<String, Value>> = vec![];
    for k in 0..runs {
        let step = u32::try_from(k).unwrap_or(u32::MAX);
        let mut generator = Generator::new(Stream { seed, id: 0, step });
        let mut draws = std::iter::repeat_with(|| {
            let values = axes.iter();
            let values = values.map(|axis| (axis.key.clone(), draw(&axis.values, &mut generator)));
            values.collect::<Map<_, _>>()
        });
        let Some(found) = draws
            .by_ref()
            .take(DRAWS)
            .find(|drawn| !all.contains(drawn))
        else {
            let problem =
                format!("there are hardly more than {k} different combinations of these values");
            return Err(Located::other(
                problem,
                "set `runs` to fewer, or search = \"grid\"",
            ));
        };
        all.push(found);
    }
    Ok(all)
}

fn draw(values: &Values, generator: &mut Generator) -> Value {
    match *values {
        Values::List(ref values) => {
            let k = generator.below(values.len() as u64) as usize;
            values[k].clone()
        }
        // Each integer is as likely as the others, also the bounds.
        Values::Range {
            min,
            max,
            integer: true,
            log: false,
        } => {
            let width = (max - min) as u64 + 1;
            Value::from(min as i64 + generator.below(width) as i64)
        }
        Values::Range {
            min,
            max,
            integer,
            log,
        } => {
            let u = generator.next_u64() as f64 / u64::MAX as f64;
            let x = match log {
                true => (min.ln() + u * (max.ln() - min.ln())).exp(),
                false => min + u * (max - min),
            };
            match integer {
                true => Value::from(x.round().clamp(min, max) as i64),
                false => number(x, min, max),
            }
        }
    }
}

/// A number with four significant digits between two bounds.
fn number(x: f64, min: f64, max: f64) -> Value {
    let rounded: f64 = format!("{x:.3e}").parse().unwrap_or(x);
    let value = Number::from_f64(rounded.clamp(min, max));
    value.map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn axis(key: &str, values: Values) -> Axis {
        Axis {
            key: key.to_string(),
            values,
        }
    }

    fn list(values: &[i64]) -> Values {
        Values::List(values.iter().map(|x| json!(x)).collect())
    }

    fn range(min: f64, max: f64, integer: bool, log: bool) -> Values {
        Values::Range {
            min,
            max,
            integer,
            log,
        }
    }

    #[test]
    fn a_grid_has_all_combinations() {
        let all = grid(&[axis("a", list(&[1, 2])), axis("b", list(&[3, 4]))]).expect("few");
        let all: Vec<Value> = all.into_iter().map(Value::Object).collect();
        assert_eq!(
            all,
            [
                json!({"a": 1, "b": 3}),
                json!({"a": 1, "b": 4}),
                json!({"a": 2, "b": 3}),
                json!({"a": 2, "b": 4}),
            ]
        );
        let wide: Vec<i64> = (0..200).collect();
        let problem = grid(&[axis("a", list(&wide)), axis("b", list(&wide))]);
        let problem = problem.expect_err("40,000").problem.to_string();
        assert!(problem.contains("a grid of 40000 runs"), "{problem}");
    }

    #[test]
    fn random_values_are_within_their_bounds_and_of_their_scale() {
        let axes = [
            axis("lr", range(1e-4, 1e-2, false, true)),
            axis("batch", range(32.0, 256.0, true, true)),
            axis("hidden", range(1.0, 3.0, true, false)),
            axis("beta", range(0.8, 0.9, false, false)),
            axis("tau", list(&[2, 4])),
        ];
        let all = random(&axes, 1000, 3).expect("many");
        let of = |key: &str| -> Vec<f64> {
            all.iter()
                .map(|run| run[key].as_f64().expect("a number"))
                .collect()
        };
        let share =
            |key: &str, below: f64| of(key).iter().filter(|x| **x < below).count() as f64 / 1000.0;
        for (key, [min, max]) in [
            ("lr", [1e-4, 1e-2]),
            ("batch", [32.0, 256.0]),
            ("hidden", [1.0, 3.0]),
            ("beta", [0.8, 0.9]),
        ] {
            assert!(of(key).iter().all(|x| (min..=max).contains(x)), "{key}");
        }
        // Half of the logarithms are below the middle one: 1e-3, √(32 · 256).
        for (key, middle) in [("lr", 1e-3), ("batch", 90.5), ("beta", 0.85), ("tau", 3.0)] {
            assert!(
                (share(key, middle) - 0.5).abs() < 0.06,
                "{key}: {}",
                share(key, middle)
            );
        }
        assert!((share("hidden", 2.0) - 1.0 / 3.0).abs() < 0.06);
        assert!(all[0]["batch"].is_i64());
        assert_eq!(random(&axes, 5, 3).expect("few"), all[..5]);
        assert_ne!(random(&axes, 5, 4).expect("few"), all[..5]);
    }

    #[test]
    fn random_combinations_are_different() {
        let axes = [axis("a", list(&[1, 2, 3]))];
        assert_eq!(random(&axes, 3, 0).expect("three").len(), 3);
        let problem = random(&axes, 4, 0).expect_err("three").problem.to_string();
        assert!(problem.contains("3 different combinations"), "{problem}");
    }

    #[test]
    fn numbers_have_four_significant_digits() {
        assert_eq!(number(0.001_234_56, 0.0, 1.0), json!(0.001_235));
        assert_eq!(number(0.999_99, 0.0, 0.999_95), json!(0.999_95));
    }
}
