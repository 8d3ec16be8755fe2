//! Training on several ranks.

use super::{DeviceArgs, count, positive, variable};
use crate::failure::Failure;
use crate::program;
use spikelet::device::{check_devices, device_of};
use spikelet::distributed::{
    Address, Fingerprint, Launcher, RankGroup, Role, Secret, Timeouts, World,
};
use spikelet::network::Network;
use spikelet::train::Settings;
use spikelet::train::experiment::Experiment;
use std::ffi::OsString;
use std::io::{Write, stderr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// The ranks and their rendezvous.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Several devices")]
pub struct ParallelArgs {
    /// Train on N GPUs of this host
    ///
    /// With --device cpu, in N processes. Each takes --batch-size images per step. Not needed under
    /// torchrun, srun or mpirun, which set environment variables.
    #[arg(long, value_name = "N", value_parser = count)]
    data_parallel: Option<usize>,

    /// Compute the mean and variance of batch norm over all ranks
    #[arg(hide_short_help = true, long)]
    sync_batch_norm: bool,

    /// Address on which rank 0 listens, the same for all ranks [default: $MASTER_ADDR:$MASTER_PORT,
    /// or the address from srun; with --data-parallel alone a free port]
    #[arg(hide_short_help = true, long, value_name = "HOST:PORT")]
    master: Option<Address>,

    /// File with the shared secret of the run, the same for all ranks, readable by its owner only
    /// [default: $SPIKELET_RENDEZVOUS_SECRET; --data-parallel generates one]
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    rendezvous_secret_file: Option<PathBuf>,

    /// Connect without a secret although other hosts can reach rank 0: any process there can join
    /// the run or end it
    #[arg(
        hide_short_help = true,
        long,
        conflicts_with = "rendezvous_secret_file"
    )]
    insecure_rendezvous: bool,

    /// Time limit for all ranks to connect, in seconds
    #[arg(hide_short_help = true, long, value_name = "S", default_value_t = 60.0, value_parser = positive)]
    rendezvous_timeout: f64,

    /// Time without a heartbeat after which a rank ends the run, in seconds
    #[arg(hide_short_help = true, long, value_name = "S", default_value_t = 20.0, value_parser = positive)]
    rank_timeout: f64,

    /// The arguments of the command, if they are not those of the process: a run of a series.
    #[arg(skip)]
    arguments: Option<Vec<String>>,
}

fn seconds(given: f64) -> Duration {
    Duration::from_secs_f64(given.min(1e9))
}

impl ParallelArgs {
    /// The role of this process.
    ///
    /// # Errors
    /// When a launcher's variables contradict each other or the arguments, or a secret is missing.
    pub fn role(&self) -> Result<Role, Failure> {
        let found = Role::from_variables(self.data_parallel, self.master.as_ref(), &variable);
        let mut role = found.map_err(|error| Failure::wrong(&error))?;
        if let Role::Rank(world) = &mut role {
            self.secure(world).map_err(|error| Failure::wrong(&error))?;
        }
        Ok(role)
    }

    /// The role in an experiment, whose file may have several ranks. A launcher's variables come before them.
    pub fn launched(&self, role: Role, experiment: &Experiment) -> Role {
        match (role, experiment.device.data_parallel) {
            (Role::Single, ranks) if ranks > 1 => Role::Launch(ranks),
            (role, _) => role,
        }
    }

    fn secure(&self, world: &mut World) -> spikelet::Result<()> {
        if let Some(file) = &self.rendezvous_secret_file {
            world.secret = Some(Secret::read(file)?);
        }
        world.insecure = self.insecure_rendezvous;
        world.check_secret()
    }

    /// Sets the given options in an experiment.
    pub fn put(&self, experiment: &mut Experiment) {
        experiment.settings.sync_batch_norm |= self.sync_batch_norm;
        let ranks = &mut experiment.device.data_parallel;
        *ranks = self.data_parallel.unwrap_or(*ranks);
    }

    /// Sets the arguments of `spikelet train` that ranks are started with, instead of those of this process.
    pub fn start_with(&mut self, arguments: Vec<String>) {
        self.arguments = Some(arguments);
    }

    /// Starts this number of ranks as processes of this program.
    ///
    /// # Errors
    /// When there are too few GPUs, or a process cannot be started.
    pub fn launch(&self, ranks: usize, device: &DeviceArgs) -> Result<ExitCode, Failure> {
        check_devices(device.name(), ranks).map_err(|error| Failure::wrong(&error))?;
        let (program, words) = program::start().map_err(|e| {
            Failure::other(
                format!("the path of this program is unknown: {e}"),
                "start it by its absolute path",
            )
        })?;
        let arguments: Vec<OsString> = match &self.arguments {
            Some(words) => ["train"]
                .into_iter()
                .chain(words.iter().map(String::as_str))
                .map(OsString::from)
                .collect(),
            None => program::arguments(),
        };
        let arguments = [words, arguments].concat();
        let launcher = Launcher::new(program, arguments, ranks)
            .master(self.master.clone())
            .on_stderr_line(|rank, line| {
                // A closed standard error has no reader.
                let _ = writeln!(stderr(), "[rank {rank}] {line}");
            });
        let Some(failure) = launcher.run()? else {
            return Ok(ExitCode::SUCCESS);
        };
        if !failure.is_reported() {
            // As above.
            let _ = writeln!(stderr(), "error: {failure}");
        }
        Ok(ExitCode::from(failure.exit_code()))
    }

    /// Connects to the other ranks; returns the group and this rank's device.
    ///
    /// # Errors
    /// When they do not connect in time, or their run is a different one.
    pub fn meet(
        &self,
        world: World,
        device: &DeviceArgs,
        network: &Network,
        settings: &Settings,
        data: &str,
    ) -> Result<(Arc<RankGroup>, String), Failure> {
        let name = device_of(&world, device.name()).map_err(|error| Failure::wrong(&error))?;
        let kind = name.split(':').next().unwrap_or_default();
        let run = Fingerprint::new()
            .with_fields(settings)
            .with("network", serde_json::json!(network))
            .with("data set", data)
            .with("kind of device", kind)
            .with("version of spikelet", env!("CARGO_PKG_VERSION"));
        let timeouts = Timeouts {
            rendezvous: seconds(self.rendezvous_timeout),
            heartbeat: seconds(self.rank_timeout),
            ..Timeouts::default()
        };
        let group = RankGroup::connect(world, &run, timeouts)?;
        group.on_overdue(Box::new(|error| {
            // This process waits for a device that waits for the other ranks.
            let failure = Failure::from(spikelet::Error::from(error.clone()));
            failure.say();
            std::process::exit(i32::from(failure.code()));
        }));
        Ok((group, name))
    }
}
