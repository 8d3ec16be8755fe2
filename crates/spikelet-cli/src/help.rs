//! The three lengths of a command's help: `-h` prints the common options and the first examples,
//! `--help` the same options with their complete texts and all examples, `--help-all` all options.
//! The options with `hide_short_help` are those that `--help-all` adds.

use clap::{Arg, ArgAction, Command, Parser};

/// Number of examples in `-h`.
const SHORT: usize = 3;

/// The options that `--help` prints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Length {
    /// The common ones.
    Common,
    /// All: that of `--help-all`, manual pages and completions.
    All,
}

/// The command and its subcommands with `--help-all`, with a shorter list of examples for `-h`, and
/// with the way to the longer texts at the end of the shorter ones.
pub fn of_length(command: Command, length: Length) -> Command {
    below(command, "", length)
}

/// A command with all below it, but `help`.
pub fn all(command: &Command) -> Vec<Command> {
    let below = command
        .get_subcommands()
        .filter(|subcommand| subcommand.get_name() != "help")
        .flat_map(all);
    std::iter::once(command.clone()).chain(below).collect()
}

/// The command lines in the examples of a command's help.
pub fn examples(command: &Command) -> Vec<String> {
    let help = command.get_after_help().map(ToString::to_string);
    let help = help.unwrap_or_default();
    let lines = help
        .lines()
        .filter_map(|line| line.strip_prefix("  ").filter(|l| !l.starts_with(' ')));
    lines.map(String::from).collect()
}

/// Checks that every command has examples, and that all of them parse.
///
/// # Errors
/// Names the command without examples, or the example and the parser's message.
pub fn check_examples<C: Parser>() -> Result<(), String> {
    for command in all(&C::command()) {
        let examples = examples(&command);
        if examples.is_empty() {
            return Err(format!("{} has no examples", command.get_name()));
        }
        for example in examples {
            // A variable of the environment may come before the command, a file for its output
            // after it.
            let command = example.split(" > ").next().unwrap_or(&example);
            let words = command
                .split_whitespace()
                .skip_while(|word| word.contains("GEMM="));
            C::try_parse_from(words).map_err(|error| format!("`{example}`: {error}"))?;
        }
    }
    Ok(())
}

fn below(command: Command, parent: &str, length: Length) -> Command {
    let path = format!("{parent}{}", command.get_name());
    let command =
        command.mut_subcommands(|subcommand| below(subcommand, &format!("{path} "), length));
    // In scripts the last of several values counts.
    let command = command.args_override_self(true);
    let has_rare = command.get_arguments().any(Arg::is_hide_short_help_set);
    let command = command.arg(help_all(has_rare));
    let command = match length {
        Length::Common => command.mut_args(|arg| {
            let rare = arg.is_hide_short_help_set();
            arg.hide_long_help(rare)
        }),
        Length::All => command,
    };
    let Some(all) = command.get_after_help() else {
        return command;
    };
    let all = all.ansi().to_string();
    // A heading, then two lines an example: the command and its purpose.
    let short: Vec<&str> = all.lines().take(1 + 2 * SHORT).collect();
    let left_out = has_rare || short.len() < all.lines().count();
    let mut short = short.join("\n");
    if left_out {
        short += &format!("\n\nMore text and all examples: \x1b[1m{path} --help\x1b[0m");
    }
    let all_options = format!("All options: \x1b[1m{path} --help-all\x1b[0m");
    if !has_rare {
        return command.after_help(short).after_long_help(all);
    }
    short += &format!("\n{all_options}");
    let long = match length {
        Length::Common => format!("{all}\n\n{all_options}"),
        Length::All => all,
    };
    command.after_help(short).after_long_help(long)
}

/// The option `--help-all`. It is listed where it adds options, and accepted everywhere.
fn help_all(listed: bool) -> Arg {
    Arg::new("help-all")
        .long("help-all")
        .help("Print help with all options")
        .help_heading(None::<&str>)
        .action(ArgAction::HelpLong)
        .display_order(usize::MAX)
        .hide(!listed)
}
