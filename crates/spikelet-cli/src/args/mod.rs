//! Arguments that several commands share.

mod arch;
mod augment;
mod checkpoint;
mod data;
mod data_name;
mod device;
mod evaluation;
mod experiment;
mod named;
mod names;
mod network;
mod neuron;
mod parallel;
mod picture;
mod pipeline;
mod preset;
mod schedule;
mod settings;
pub mod value;
mod words;

pub use arch::capability;
pub use augment::{AugmentArgs, normalization_of};
pub use checkpoint::CheckpointPath;
pub use data::{DATA_VARIABLE, DataArgs, TrainingDataArgs, data_text, with_classes_of_data};
pub use data_name::{DataName, data_name, sample_of};
pub use device::{DeviceArgs, open_device};
pub use evaluation::EvaluationArgs;
pub use experiment::ExperimentArgs;
pub use names::{data_names, neuron_names, surrogate_names};
pub use network::{NetworkArgs, NetworkName};
pub use neuron::{NeuronArgs, defaults, overlay, surrogate_constants};
pub use parallel::ParallelArgs;
pub use picture::svg_path;
pub use pipeline::PipelineArgs;
pub use preset::PresetArgs;
pub use schedule::ScheduleArgs;
pub use settings::{
    SettingsArgs, described, given_twice, not_negative, per_network, positive, share,
};
use std::ops::Range;
pub use value::Setting;
pub use words::words;

/// A variable of the environment, if it is set to something.
pub fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?;
    Some(value.to_string_lossy().into_owned()).filter(|v| !v.is_empty())
}

/// An integer of at least 1.
pub fn count(text: &str) -> Result<usize, String> {
    up_to(u32::MAX as usize, text)
}

/// An integer from 1 to `most`.
pub fn up_to(most: usize, text: &str) -> Result<usize, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(0) => Err("use at least 1".to_string()),
        Ok(n) if n <= most => Ok(n),
        Ok(_) => Err(format!("use at most {most}")),
        // Too many digits for the type.
        Err(_) if digits => Err(format!("use at most {most}")),
        Err(_) => Err("give an integer".to_string()),
    }
}

/// `START..END`, without END: Rust's range.
pub fn range(text: &str) -> Result<Range<usize>, String> {
    let wrong = || "write START..END, such as 0..100".to_string();
    let (start, end) = text.split_once("..").ok_or_else(wrong)?;
    let number = |text: &str, otherwise: usize| match text.trim() {
        "" => Ok(otherwise),
        text => text.parse().map_err(|_| wrong()),
    };
    // An open end has no meaning before the number of images is known.
    let (start, end) = (number(start, 0)?, number(end, 0)?);
    if start < end {
        Ok(start..end)
    } else {
        Err(format!("{start}..{end} is empty: {}", wrong()))
    }
}

#[cfg(test)]
mod tests {
    use super::{range, up_to};

    #[test]
    fn a_range_is_that_of_rust() {
        assert_eq!(range("0..100"), Ok(0..100));
        assert_eq!(range("..7"), Ok(0..7));
        for text in ["", "7", "7..", "5..5", "9..2", "a..b", "-1..2", "0..=3"] {
            assert!(range(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_that_is_too_large_is_answered_with_the_largest() {
        assert_eq!(up_to(10, "10"), Ok(10));
        for large in ["11", "999999999999", "99999999999999999999999999"] {
            assert_eq!(up_to(10, large), Err("use at most 10".to_string()));
        }
        for text in ["", "-1", "1.5", "ten"] {
            assert_eq!(up_to(10, text), Err("give an integer".to_string()));
        }
    }
}
