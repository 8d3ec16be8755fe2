//! The results of an epoch.

use super::error::CheckpointProblem;
use super::range::number;
use crate::metric::{LOSS, MetricValues};
use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// The results of an epoch.
///
/// As JSON it is one flat object: `train_loss`, `train_accuracy` and so on for each metric, `validation_…` and
/// `test_…`, which are null if there is no such data set. A value that is not finite is null as well.
#[derive(Clone, Debug, PartialEq)]
pub struct EpochRecord {
    /// Counted from 1.
    pub epoch: usize,
    /// The training batches, measured while the weights changed.
    pub train: MetricValues,
    /// The validation set, if there is one.
    pub validation: Option<MetricValues>,
    /// The test set, if there is one.
    pub test: Option<MetricValues>,
    /// The metric that selects the best epoch.
    pub monitor: String,
    /// Its best value on the validation set so far, if there is one.
    pub best: Option<f64>,
    /// Training samples per second.
    pub samples_per_second: f64,
    /// Seconds of this epoch, evaluation included.
    pub seconds: f64,
}

/// The prefixes of the values of the data sets.
const TRAIN: &str = "train_";
const VALIDATION: &str = "validation_";
const TEST: &str = "test_";
/// The prefix of the best value of the monitored metric.
const BEST: &str = "best_validation_";

impl EpochRecord {
    /// The accuracy on the test set; NaN without a test set or without the metric `accuracy`.
    pub fn test_accuracy(&self) -> f64 {
        self.test.as_ref().map_or(f64::NAN, MetricValues::accuracy)
    }

    /// The mean loss on the test set; NaN without one.
    pub fn test_loss(&self) -> f64 {
        self.test.as_ref().map_or(f64::NAN, |test| test.loss)
    }

    /// The accuracy on the validation set, if there is one and the step has the metric `accuracy`.
    pub fn validation_accuracy(&self) -> Option<f64> {
        self.validation.as_ref()?.get("accuracy")
    }

    /// The values of all data sets by their names in JSON, `None` for a data set that does not exist.
    pub(crate) fn values(&self) -> Vec<(String, Option<f64>)> {
        let train = Some(&self.train);
        let sets = [
            (TRAIN, train),
            (VALIDATION, self.validation.as_ref()),
            (TEST, self.test.as_ref()),
        ];
        let mut values = vec![];
        for (prefix, set) in sets {
            // A data set that does not exist has no values of the metrics of training.
            let (of, exists) = match set {
                Some(set) => (set, true),
                None => (&self.train, false),
            };
            let own = of.iter();
            values.extend(
                own.map(|(name, value)| (format!("{prefix}{name}"), exists.then_some(value))),
            );
        }
        values
    }

    pub(super) fn check(&self) -> Result<(), CheckpointProblem> {
        let field = |name: &str| format!("{name} of epoch {}", self.epoch);
        let loss = self.train.loss;
        number(&field("train_loss"), loss, f64::MIN, f64::MAX)?;
        let accuracies = [
            ("train_accuracy", self.train.get("accuracy")),
            (
                "test_accuracy",
                self.test.as_ref().and_then(|set| set.get("accuracy")),
            ),
            ("validation_accuracy", self.validation_accuracy()),
        ];
        for (name, share) in accuracies {
            if let Some(share) = share {
                number(&field(name), share, 0.0, 1.0)?;
            }
        }
        Ok(())
    }
}

/// A number that is null in JSON if it is not finite.
fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

impl Serialize for EpochRecord {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("epoch", &self.epoch)?;
        for (name, value) in self.values() {
            map.serialize_entry(&name, &value.and_then(finite))?;
        }
        let best = format!("{BEST}{}", self.monitor);
        map.serialize_entry(&best, &self.best.and_then(finite))?;
        map.serialize_entry("samples_per_second", &self.samples_per_second)?;
        map.serialize_entry("seconds", &self.seconds)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for EpochRecord {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut fields: BTreeMap<String, Value> = BTreeMap::deserialize(from)?;
        let mut take = |name: &'static str| {
            let value = fields.remove(name);
            value.ok_or_else(|| D::Error::missing_field(name))
        };
        let (epoch, speed, seconds) = (
            take("epoch")?,
            take("samples_per_second")?,
            take("seconds")?,
        );
        let wrong = |name: &str, value: &Value| {
            D::Error::custom(format!("`{name}` is {value}, expected a number"))
        };
        let real = |name: &str, value: &Value| match value {
            Value::Null => Ok(None),
            value => match value.as_f64() {
                Some(number) => Ok(Some(number)),
                None => Err(wrong(name, value)),
            },
        };
        let set = |prefix: &str| -> Result<Option<MetricValues>, D::Error> {
            let (mut loss, mut metrics, mut exists) = (f64::NAN, vec![], false);
            for (name, value) in &fields {
                let Some(metric) = name.strip_prefix(prefix) else {
                    continue;
                };
                let value = real(name, value)?;
                exists |= value.is_some();
                let value = value.unwrap_or(f64::NAN);
                match metric {
                    LOSS => loss = value,
                    _ => metrics.push((metric, value)),
                }
            }
            Ok(exists.then(|| MetricValues::new(loss, metrics)))
        };
        let (monitor, best) = fields
            .iter()
            .find_map(|(name, value)| Some((name.strip_prefix(BEST)?, value)))
            .ok_or_else(|| D::Error::missing_field("best_validation_…"))?;
        let train = set(TRAIN)?.ok_or_else(|| D::Error::missing_field("train_loss"))?;
        let record = Self {
            epoch: epoch.as_u64().ok_or_else(|| wrong("epoch", &epoch))? as usize,
            train,
            validation: set(VALIDATION)?,
            test: set(TEST)?,
            monitor: monitor.to_string(),
            best: real(BEST, best)?,
            samples_per_second: speed
                .as_f64()
                .ok_or_else(|| wrong("samples_per_second", &speed))?,
            seconds: seconds.as_f64().ok_or_else(|| wrong("seconds", &seconds))?,
        };
        Ok(record)
    }
}

/// The first epoch with the best value of the monitored metric on the validation set.
pub(crate) fn best_of(history: &[EpochRecord]) -> Option<&EpochRecord> {
    let last = history.last()?;
    let best = last.best?;
    history.iter().find(|record| {
        let validation = record.validation.as_ref();
        validation.and_then(|set| set.get(&last.monitor)) == Some(best)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(loss: f64, r2: f64) -> MetricValues {
        MetricValues::new(loss, [("r2", r2)])
    }

    fn record() -> EpochRecord {
        EpochRecord {
            epoch: 3,
            train: values(0.5, 0.25),
            validation: Some(values(0.75, -1.0)),
            test: None,
            monitor: "r2".to_string(),
            best: Some(-0.5),
            samples_per_second: 100.0,
            seconds: 2.0,
        }
    }

    #[test]
    fn a_record_is_one_flat_object() {
        let text = serde_json::to_string(&record()).expect("plain data");
        assert_eq!(
            text,
            "{\"epoch\":3,\"train_loss\":0.5,\"train_r2\":0.25,\"validation_loss\":0.75,\"validation_r2\":-1.0,\
             \"test_loss\":null,\"test_r2\":null,\"best_validation_r2\":-0.5,\"samples_per_second\":100.0,\
             \"seconds\":2.0}"
        );
        assert_eq!(
            serde_json::from_str::<EpochRecord>(&text).ok(),
            Some(record())
        );
    }

    #[test]
    fn values_that_are_not_finite_are_null() {
        let record = EpochRecord {
            test: Some(values(f64::NAN, 0.5)),
            ..record()
        };
        let text = serde_json::to_string(&record).expect("plain data");
        let read: EpochRecord = serde_json::from_str(&text).expect("a record");
        let test = read.test.expect("its r2 is there");
        assert!(test.loss.is_nan());
        assert_eq!(test.get("r2"), Some(0.5));
    }

    #[test]
    fn what_is_not_a_number_is_refused() {
        let text = serde_json::to_string(&record()).expect("plain data");
        for (good, bad) in [
            ("0.75", "\"high\""),
            (":3,", ":3.5,"),
            ("\"seconds\"", "\"second\""),
        ] {
            let changed = text.replace(good, bad);
            assert!(
                serde_json::from_str::<EpochRecord>(&changed).is_err(),
                "{changed}"
            );
        }
    }
}
