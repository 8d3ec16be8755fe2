//! The role of a process: one of several ranks, their launcher, or neither.

use super::address::Address;
use super::environment;
use super::world::World;
use super::world_error::WorldError;
use spikelet_core::Result;

/// The role of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Train without other ranks.
    Single,
    /// Train as one of several ranks.
    Rank(World),
    /// Start this many ranks and wait for them.
    Launch(usize),
}

impl Role {
    /// The role of this process by the environment variables of a launcher, or else by the `requested`
    /// number of ranks. `master` replaces the address of the variables.
    ///
    /// A launcher that has started a single process is ignored: the process may launch ranks itself.
    ///
    /// # Errors
    /// [`WorldError`] when a variable is missing, cannot be parsed, or contradicts another one or the
    /// requested number of ranks.
    ///
    /// ```
    /// use spikelet_distributed::Role;
    /// let none = |_: &str| None;
    /// assert_eq!(Role::from_variables(None, None, &none)?, Role::Single);
    /// assert_eq!(Role::from_variables(Some(4), None, &none)?, Role::Launch(4));
    /// # Ok::<(), spikelet_core::Error>(())
    /// ```
    pub fn from_variables(
        requested: Option<usize>,
        master: Option<&Address>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let found = environment::world(master, variable)?;
        match (found, requested) {
            (Some((world, variables)), Some(requested)) if requested != world.size => {
                let size = world.size;
                Err(WorldError::OtherSize {
                    requested,
                    variables,
                    size,
                }
                .into())
            }
            (Some((world, _)), _) => Ok(Self::Rank(world)),
            (None, Some(ranks)) if ranks > 1 => Ok(Self::Launch(ranks)),
            (None, _) => Ok(Self::Single),
        }
    }
}
