//! The two lengths of a command's help: `-h` prints the common options and the first examples,
//! `--help` prints all of them.

use clap::{Command, Parser};

/// Number of examples in `-h`.
const SHORT: usize = 3;

/// The command and its subcommands with a shorter list of examples for `-h`, which ends with the way
/// to the complete help where options or examples are left out.
pub fn with_short_help(command: Command) -> Command {
    below(command, "")
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
            // A variable of the environment may come before the command.
            let words = example
                .split_whitespace()
                .skip_while(|word| word.contains("GEMM="));
            C::try_parse_from(words).map_err(|error| format!("`{example}`: {error}"))?;
        }
    }
    Ok(())
}

fn below(command: Command, parent: &str) -> Command {
    let path = format!("{parent}{}", command.get_name());
    let command = command.mut_subcommands(|subcommand| below(subcommand, &format!("{path} ")));
    let Some(all) = command.get_after_help().map(|help| help.ansi().to_string()) else {
        return command;
    };
    // A heading, then two lines an example: the command and its purpose.
    let short: Vec<&str> = all.lines().take(1 + 2 * SHORT).collect();
    let hidden = command
        .get_arguments()
        .any(|arg| arg.is_hide_short_help_set());
    if !hidden && short.len() == all.lines().count() {
        return command;
    }
    let more = format!("All options and examples: \x1b[1m{path} --help\x1b[0m");
    let short = format!("{}\n\n{more}", short.join("\n"));
    command.after_help(short).after_long_help(all)
}
