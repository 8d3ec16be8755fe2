//! The tests of training: steps, trainers, monitors, diagnoses.

mod callbacks;
mod conversion;
mod energy;
mod event_classifiers;
mod health;
mod interrupted;
mod metrics;
mod model_weights;
mod monitors;
mod operations;
mod optimizers;
mod pages;
mod recipes;
mod recording;
mod schedules;
mod sequence_classifiers;
mod step;
mod synaptic_operations;
mod trainer;
mod weights;
mod wrong_calls;
