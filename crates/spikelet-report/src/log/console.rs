//! Output to a terminal, as text or JSON.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use spikelet_core::human::{duration, percent, thousands};
use spikelet_core::terminal;
use std::fmt::{self, Display};
use std::io::{self, ErrorKind, IsTerminal, Write, stderr, stdout};
use std::sync::Mutex;

/// The kind of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// Text, with a progress bar in a terminal.
    #[default]
    Text,
    /// JSON lines on standard output without a progress bar.
    Json,
    /// Errors only.
    Quiet,
    /// Errors, and a progress bar in a terminal: for one of several runs.
    Bar,
}

/// The first error of standard output, shared by all consoles of the process.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

/// Standard output and standard error, and their properties.
#[derive(Clone, Copy, Debug)]
pub struct Console {
    output: Output,
    bar: bool,
    color: bool,
    /// The columns of standard output, if it is a terminal.
    width: Option<usize>,
}

/// The columns below which there is no place for a bar beside the loss and the speed.
const NARROW: usize = 60;

/// The codes of colors, and their end.
const CODES: [&str; 6] = [
    "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m",
];

impl Console {
    /// Checks whether the streams are terminals, and the variables `NO_COLOR` and `TERM` (`dumb`).
    pub fn new(output: Output) -> Self {
        let is = |name, test: fn(&str) -> bool| {
            std::env::var_os(name).is_some_and(|value| test(&value.to_string_lossy()))
        };
        Self::with(
            output,
            [stdout().is_terminal(), stderr().is_terminal()],
            is("NO_COLOR", |value| !value.is_empty()),
            is("TERM", |value| value == "dumb"),
        )
    }

    fn with(
        output: Output,
        [stdout, stderr]: [bool; 2],
        no_color: bool,
        dumb_terminal: bool,
    ) -> Self {
        Self {
            output,
            bar: matches!(output, Output::Text | Output::Bar) && stderr && !dumb_terminal,
            color: output == Output::Text && stdout && !no_color && !dumb_terminal,
            width: terminal::width(),
        }
    }

    /// The kind of output.
    pub fn output(&self) -> Output {
        self.output
    }

    /// Prints a line on standard output if the output is text; see [`Console::printed`]. Control characters are
    /// printed as text: names come from files.
    pub fn say(&self, line: impl Display) {
        if self.output == Output::Text {
            print(&self.safe(line));
        }
    }

    /// The same for words: on a terminal, lines are broken at spaces to fit its width.
    pub fn say_wrapped(&self, text: impl Display) {
        if self.output == Output::Text {
            let text = self.safe(text);
            match self.width {
                Some(width) => print(&terminal::wrapped(&text, width)),
                None => print(&text),
            }
        }
    }

    /// The text, of which a terminal obeys colors only.
    fn safe(&self, text: impl Display) -> String {
        let codes = if self.color { &CODES[..] } else { &[] };
        terminal::escaped_but(&text.to_string(), codes)
    }

    /// Prints one object as a line on standard output if the output is JSON.
    pub fn say_json(&self, object: &impl serde::Serialize) {
        if self.output == Output::Json
            && let Ok(line) = serde_json::to_string(object)
        {
            print(&line);
        }
    }

    /// Returns the first error of standard output of any console. A program checks it before it ends, since such an
    /// error does not stop a run. A closed pipe (`spikelet train | head`) is not an error.
    ///
    /// # Errors
    /// The first error of standard output, such as a full disk.
    pub fn printed() -> io::Result<()> {
        keep(stdout().flush());
        let mut failed = FAILED.lock().unwrap_or_else(|e| e.into_inner());
        failed.take().map_or(Ok(()), Err)
    }

    /// `text` in bold if colors are enabled.
    pub fn bold(&self, text: impl Display) -> String {
        self.paint("1", text)
    }

    /// `text` in gray if colors are enabled.
    pub fn dim(&self, text: impl Display) -> String {
        self.paint("2", text)
    }

    /// `text` in green if colors are enabled.
    pub fn green(&self, text: impl Display) -> String {
        self.paint("32", text)
    }

    /// `text` in yellow if colors are enabled.
    pub fn yellow(&self, text: impl Display) -> String {
        self.paint("33", text)
    }

    /// `text` in red if colors are enabled.
    pub fn red(&self, text: impl Display) -> String {
        self.paint("31", text)
    }

    fn paint(&self, code: &str, text: impl Display) -> String {
        if self.color {
            let text = terminal::escaped_but(&text.to_string(), &[]);
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }

    /// A progress bar on standard error for an epoch of `batches` batches. It is hidden if standard error is not a
    /// terminal or the output is not text.
    pub fn epoch_bar(&self, epoch: usize, epochs: usize, batches: usize) -> EpochBar {
        let target = if self.bar {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(batches as u64), target);
        let template = match self.width {
            Some(width) if width < NARROW => "{prefix} {percent:>3} %  {wide_msg}",
            _ => "{prefix}  {wide_bar} {percent:>3} %  {msg}  {eta:>4} left",
        };
        bar.set_style(
            ProgressStyle::with_template(template)
                .expect("the template is valid")
                .progress_chars("━╸─"),
        );
        bar.set_prefix(epoch_of(epoch, epochs));
        EpochBar { bar }
    }
}

fn print(line: &impl Display) {
    keep(writeln!(stdout(), "{line}"));
}

/// Keeps the first error of standard output, except for a closed pipe.
fn keep(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        let mut failed = FAILED.lock().unwrap_or_else(|e| e.into_inner());
        failed.get_or_insert(error);
    }
}

/// The progress bar of an epoch. It is removed when it is dropped.
#[derive(Debug)]
pub struct EpochBar {
    bar: ProgressBar,
}

impl EpochBar {
    /// Sets the number of completed batches.
    pub fn start_at(&self, batches: usize) {
        self.bar.set_position(batches as u64);
    }

    /// Adds a completed batch.
    pub fn advance(&self) {
        self.bar.inc(1);
    }

    /// Shows the loss and the speed in a unit such as `img/s` after the bar.
    pub fn show(&self, loss: f64, per_second: f64, unit: &str) {
        if !self.bar.is_hidden() {
            let speed = speed(per_second, unit);
            self.bar
                .set_message(format!("loss {}  {speed}", digits(loss)));
        }
    }
}

impl Drop for EpochBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The summary line of an epoch, which fits a terminal of 80 columns.
///
/// ```
/// # use spikelet_report::log::EpochLine;
/// let line = EpochLine {
///     epoch: 1,
///     epochs: 8,
///     metric: "accuracy",
///     loss: 0.412,
///     train: Some(0.913),
///     validation: Some(0.949),
///     test: Some(0.951),
///     seconds: 6.1,
/// };
/// assert_eq!(
///     line.to_string(),
///     "epoch  1/8  loss 0.412   train 91.3 %  val 94.9 %  test 95.1 %   6.1 s"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpochLine<'a> {
    /// The epoch, counted from 1.
    pub epoch: usize,
    /// The number of epochs.
    pub epochs: usize,
    /// The name of the metric. An `accuracy` is printed in percent without its name; a training `loss` is not printed
    /// twice.
    pub metric: &'a str,
    /// Mean training loss.
    pub loss: f64,
    /// The metric in training.
    pub train: Option<f64>,
    /// The metric on the validation set, if there is one.
    pub validation: Option<f64>,
    /// The metric on the test set, if it was measured.
    pub test: Option<f64>,
    /// Time for the epoch, test included, in seconds.
    pub seconds: f64,
}

impl EpochLine<'_> {
    /// The metric as text, with its name unless it is an accuracy.
    fn value(&self, value: f64) -> String {
        match self.metric {
            "accuracy" => percent(value),
            metric => format!("{metric} {}", digits(value)),
        }
    }
}

impl Display for EpochLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let epoch = epoch_of(self.epoch, self.epochs);
        write!(f, "{epoch}  loss {:<6}", digits(self.loss))?;
        let train = self.train.filter(|_| self.metric != "loss");
        let sets = [
            ("train", train),
            ("val", self.validation),
            ("test", self.test),
        ];
        for (name, value) in sets {
            if let Some(value) = value {
                write!(f, "  {name} {}", self.value(value))?;
            }
        }
        write!(f, "  {:>6}", duration(self.seconds))
    }
}

/// A loss as `0.412`, or as `2.5e-4` if three decimals are not enough.
fn digits(loss: f64) -> String {
    if loss.abs() < 0.01 && loss != 0.0 {
        format!("{loss:.1e}")
    } else {
        format!("{loss:.3}")
    }
}

/// `epoch  3/8`, with the same width for all epochs.
fn epoch_of(epoch: usize, epochs: usize) -> String {
    let width = epochs.to_string().len().max(2);
    format!("epoch {epoch:>width$}/{epochs}")
}

/// `9,830 img/s`.
fn speed(per_second: f64, unit: &str) -> String {
    if per_second.is_finite() && per_second >= 0.0 {
        format!("{} {unit}", thousands(per_second.round() as u64))
    } else {
        format!("– {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> EpochLine<'static> {
        EpochLine {
            epoch: 8,
            epochs: 8,
            metric: "accuracy",
            loss: 0.061,
            train: Some(0.984),
            validation: Some(0.975),
            test: Some(0.979),
            seconds: 6.04,
        }
    }

    #[test]
    fn an_epoch_of_a_regression_names_its_metric() {
        let regression = EpochLine {
            metric: "r2",
            test: None,
            ..line()
        };
        assert_eq!(
            regression.to_string(),
            "epoch  8/8  loss 0.061   train r2 0.984  val r2 0.975   6.0 s"
        );
        let loss = EpochLine {
            metric: "loss",
            ..regression
        };
        assert_eq!(
            loss.to_string(),
            "epoch  8/8  loss 0.061   val loss 0.975   6.0 s"
        );
    }

    #[test]
    fn an_epoch_is_one_line_of_a_terminal() {
        assert_eq!(
            line().to_string(),
            "epoch  8/8  loss 0.061   train 98.4 %  val 97.5 %  test 97.9 %   6.0 s"
        );
        let long = EpochLine {
            epochs: 1000,
            loss: 0.000_25,
            train: Some(1.0),
            seconds: 599.0,
            ..line()
        };
        assert!(long.to_string().chars().count() <= 80, "{long}");
        let without_test = EpochLine {
            epochs: 100,
            test: None,
            validation: None,
            loss: f64::NAN,
            ..line()
        };
        assert_eq!(
            without_test.to_string(),
            "epoch   8/100  loss NaN     train 98.4 %   6.0 s"
        );
    }

    #[test]
    fn columns_stay_where_they_are_as_the_run_goes_on() {
        let later = EpochLine {
            epoch: 1,
            train: Some(0.092),
            loss: 0.000_25,
            seconds: 16.0,
            ..line()
        };
        let width = |line: EpochLine| line.to_string().chars().count();
        assert_eq!(width(line()), width(later));
    }

    #[test]
    fn a_small_loss_keeps_two_digits() {
        let shown = [2.31, 0.061, 0.01, 0.009_96, 0.000_25, 0.0, -0.004].map(digits);
        assert_eq!(
            shown,
            [
                "2.310", "0.061", "0.010", "1.0e-2", "2.5e-4", "0.000", "-4.0e-3"
            ]
        );
    }

    #[test]
    fn color_and_bar_need_a_terminal_and_leave() {
        let console = |output, terminals, no_color, dumb| {
            let console = Console::with(output, terminals, no_color, dumb);
            (console.bar, console.color)
        };
        use Output::*;
        assert_eq!(console(Text, [true, true], false, false), (true, true));
        assert_eq!(console(Text, [true, true], true, false), (true, false));
        assert_eq!(console(Text, [true, true], false, true), (false, false));
        assert_eq!(console(Text, [false, true], false, false), (true, false));
        assert_eq!(console(Text, [true, false], false, false), (false, true));
        assert_eq!(console(Json, [true, true], false, false), (false, false));
        assert_eq!(console(Quiet, [true, true], false, false), (false, false));
    }

    #[test]
    fn painted_text_is_plain_without_color() {
        let plain = Console::with(Output::Text, [false, false], false, false);
        let colored = Console::with(Output::Text, [true, true], false, false);
        assert_eq!(plain.green("best"), "best");
        assert_eq!(colored.green("best"), "\x1b[32mbest\x1b[0m");
    }

    #[test]
    fn names_of_files_do_not_control_the_terminal() {
        let hostile = "\x1b]0;owned\x07\x1b[8m";
        let shown = r"\u{1b}]0;owned\u{7}\u{1b}[8m";
        for terminal in [false, true] {
            let console = Console::with(Output::Text, [terminal, terminal], false, false);
            assert_eq!(console.safe(hostile), shown);
            let expected = console.green("ok").replace("ok", shown);
            assert_eq!(console.safe(console.green(hostile)), expected);
        }
    }

    #[test]
    fn a_bar_is_hidden_where_nobody_looks() {
        let console = Console::with(Output::Json, [true, true], false, false);
        let bar = console.epoch_bar(1, 8, 10);
        bar.start_at(usize::MAX >> 1);
        bar.advance();
        bar.show(0.5, 100.0, "img/s");
        assert!(bar.bar.is_hidden());
        assert_eq!(bar.bar.position(), (u64::MAX >> 2) + (1 << 62) + 1);
    }
}
