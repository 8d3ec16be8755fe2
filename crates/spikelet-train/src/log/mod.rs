//! What a training run tells: to TensorBoard, to a file of JSON lines, to the terminal.

pub mod console;
pub mod jsonl;
pub mod tensorboard;

pub use console::{Console, EpochBar, EpochLine, Output};
pub use jsonl::JsonLines;
pub use tensorboard::SummaryWriter;
