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
use spikelet::train::run::{RunInfo, RunState};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use view::View;

/// Watch a run in the terminal: curves, firing rates, speed, memory and remaining time
///
/// Shows a run in progress or one that is over, and reads its folder again every second. The arrow keys select the
/// diagrams, `q` ends the command; the run is not affected. In a folder of runs, the next run is
/// shown when one is over. Without a terminal a summary is printed once.
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

/// The number of readings between two searches for another run, which read all runs.
const SEARCH: usize = 3;

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
        let ended = watch(&mut terminal, view, &self.run, color);
        ratatui::restore();
        ended?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The run to watch: in a folder of runs a running one, otherwise the one that was written last.
fn newest(path: &Path) -> Result<PathBuf, Failure> {
    let is_run = RunInfo::read(path).is_ok_and(|run| run.folder == path);
    if is_run || !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let rank = |run: &RunInfo| {
        let files = ["epochs.jsonl", ".lock"].into_iter();
        let times = files.filter_map(|name| run.folder.join(name).metadata().ok()?.modified().ok());
        (matches!(run.state, RunState::Running { .. }), times.max())
    };
    let runs = spikelet::train::run::find_runs(path)?.runs;
    let newest = runs.into_iter().max_by_key(rank);
    Ok(newest.map_or(path.to_path_buf(), |run| run.folder))
}

/// Shows the run until a key ends the command. When it is over, the next run in the folder `path` is shown, such as that
/// of the next seed.
fn watch(
    terminal: &mut ratatui::DefaultTerminal,
    mut view: View,
    path: &Path,
    color: bool,
) -> std::io::Result<()> {
    let mut read = Instant::now();
    let mut readings = 0;
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
            let is_running = matches!(view.run.state, RunState::Running { .. });
            if !is_running
                && readings % SEARCH == 0
                && let Ok(folder) = newest(path)
                && folder != view.run.folder
            {
                view.run.folder = folder;
                view.refresh();
            }
            readings += 1;
            read = Instant::now();
        }
    }
}
