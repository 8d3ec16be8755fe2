//! Logs of a training run: TensorBoard, JSON lines, the terminal.

pub mod console;
pub mod jsonl;
pub mod tensorboard;

pub use console::{Console, EpochBar, EpochLine, Output};
pub use jsonl::JsonLines;
pub use tensorboard::SummaryWriter;
