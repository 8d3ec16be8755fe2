//! `spikelet watch`

mod draw;
mod pages;
#[cfg(test)]
mod tests;
mod view;

use super::examples;
use super::runs::run_json;
use crate::failure::Failure;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use spikelet::log::Console;
use spikelet::train::RunInfo;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use view::View;

/// Watch a run in the terminal: curves, firing rates, speed, memory and remaining time
///
/// Shows a run in progress or one that is over, and reads its folder again every second. The arrow keys select the
/// diagrams, `q` ends the command; the run is not affected. Without a terminal a summary is printed once.
#[derive(clap::Args)]
#[command(after_help = examples![
    "spikelet watch" => "the latest run in the folder `runs`",
    "spikelet watch runs/mnist-fc" => "the latest run of a network",
    "spikelet watch runs/mnist-fc/latest --json" => "its results so far, as JSON",
])]
pub struct Watch {
    /// Folder of a run, a checkpoint in it, or a folder of runs: its latest run
    #[arg(value_name = "RUN", default_value = "runs")]
    run: PathBuf,
}

/// The time between two readings of the folder.
const INTERVAL: Duration = Duration::from_secs(1);

impl Watch {
    pub fn run(self, console: &Console) -> Result<ExitCode, Failure> {
        let folder = RunInfo::read(newest(&self.run)?)?.folder;
        let view = View::read(&folder)?;
        let is_text = console.output() == spikelet::log::Output::Text;
        if !is_text || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            console.say_json(&run_json(&view.run, &[], 0));
            view.summary().iter().for_each(|line| console.say(line));
            return Ok(ExitCode::SUCCESS);
        }
        let color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        // Restores the terminal at a panic too.
        let mut terminal = ratatui::try_init()?;
        let ended = watch(&mut terminal, view, color);
        ratatui::restore();
        ended?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The run to watch: in a folder of folders of runs, the one that was written last.
fn newest(path: &Path) -> Result<PathBuf, Failure> {
    if RunInfo::read(path).is_ok() || !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let written = |run: &RunInfo| {
        let files = ["epochs.jsonl", ".lock"].into_iter();
        let times = files.filter_map(|name| run.folder.join(name).metadata().ok()?.modified().ok());
        times.max()
    };
    let runs = spikelet::train::find_runs(path)?.runs;
    let newest = runs.into_iter().max_by_key(written);
    Ok(newest.map_or(path.to_path_buf(), |run| run.folder))
}

/// Shows the run until a key ends the command.
fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    mut view: View,
    color: bool,
) -> std::io::Result<()> {
    let mut read = Instant::now();
    loop {
        terminal.draw(|frame| draw::draw(frame, &view, color))?;
        if event::poll(INTERVAL.saturating_sub(read.elapsed()))?
            && let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
        {
            match key.code {
                KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                    return Ok(());
                }
                KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
                KeyCode::Right | KeyCode::Down | KeyCode::Tab => view.select(1),
                KeyCode::Left | KeyCode::Up | KeyCode::BackTab => view.select(-1),
                _ => {}
            }
        }
        if read.elapsed() >= INTERVAL {
            // A file that is being replaced is read the next time.
            view.refresh();
            read = Instant::now();
        }
    }
}
