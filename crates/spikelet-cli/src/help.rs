//! The two lengths of a command's help: `-h` prints the common options and the first examples,
//! `--help` prints all of them.

use clap::Command;

/// Number of examples in `-h`.
const SHORT: usize = 3;

/// The command and its subcommands with a shorter list of examples for `-h`, which ends with the way
/// to the complete help where options or examples are left out.
pub fn with_short_help(command: Command) -> Command {
    below(command, "")
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
