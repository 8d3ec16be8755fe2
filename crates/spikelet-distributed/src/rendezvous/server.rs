//! Rank 0's side of the rendezvous.

use super::super::handshake::{Bounds, Client, Greeter, Purpose};
use super::super::secret::random;
use super::super::wire::{self, printable};
use super::super::world::World;
use super::{
    Answer, Control, Fingerprint, GREETING, Hello, LONGEST_HELLO, LONGEST_HOST, Met, PAUSE,
    PENDING, Peer, broken, failed, open_at, resolve,
};
use spikelet_core::{Error, Result};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Where rank 0 receives the others.
pub(super) struct RendezvousServer<'a> {
    world: &'a World,
    greeter: Greeter,
    address: SocketAddr,
    pending: BTreeMap<usize, (Hello, TcpStream)>,
}

impl<'a> RendezvousServer<'a> {
    /// Listens with a socket that is given, or opens one at the address of rank 0.
    pub(super) fn open(world: &'a World, listener: Option<TcpListener>) -> Result<Self> {
        let address = resolve(world)?;
        let listener = match listener {
            Some(listener) => listener,
            None if world.listener_on_stdin => on_stdin()?,
            None => bind(world, address)?,
        };
        let bounds = Bounds {
            time: GREETING,
            pending: PENDING + world.size,
            message: LONGEST_HELLO,
        };
        let greeter = Greeter::new(listener, world.key(), Purpose::Rendezvous, bounds)
            .map_err(|e| broken("rank 0 cannot listen", &e))?;
        Ok(Self {
            world,
            greeter,
            address,
            pending: BTreeMap::new(),
        })
    }

    pub(super) fn receive_all(
        mut self,
        fingerprint: &Fingerprint,
        limit: Duration,
        deadline: Instant,
    ) -> Result<Met> {
        while self.pending.len() + 1 < self.world.size {
            for client in self.greeter.poll() {
                self.hear(client, fingerprint)?;
            }
            if Instant::now() >= deadline {
                return Err(self.too_late(limit));
            }
            thread::sleep(PAUSE);
        }
        self.welcome()
    }

    /// Hears who somebody is who has proved the secret.
    fn hear(&mut self, client: Client, ours: &Fingerprint) -> Result<()> {
        let Ok(mut hello) = serde_json::from_slice::<Hello>(&client.said) else {
            self.greeter.note_unknown(client.from);
            return Ok(());
        };
        hello.host = hello.host.chars().take(LONGEST_HOST).collect();
        hello.host = printable(&hello.host);
        if client.stream.set_write_timeout(Some(GREETING)).is_err() {
            self.greeter.note_unknown(client.from);
            return Ok(());
        }
        self.register(hello, client.stream, ours)
    }

    fn register(&mut self, hello: Hello, stream: TcpStream, ours: &Fingerprint) -> Result<()> {
        match self.objection(&hello, ours) {
            None => {
                self.pending.insert(hello.rank, (hello, stream));
                Ok(())
            }
            Some((reason, help)) => {
                self.refuse(&stream, &reason);
                Err(self.give_up(reason, help))
            }
        }
    }

    fn objection(&self, hello: &Hello, ours: &Fingerprint) -> Option<(String, &'static str)> {
        let Hello {
            rank, size, host, ..
        } = hello;
        let here = (self.world.size, &self.world.host);
        if *size != here.0 {
            let reason = format!(
                "rank {rank} on {host} was started as one of {size} ranks, rank 0 on {} as one of {}",
                here.1, here.0
            );
            return Some((reason, "start all ranks with the same number of ranks"));
        }
        if rank >= size {
            let reason = format!("rank {rank} on {host} came, and there are {size} ranks");
            return Some((reason, "ranks count from 0 to one less than there are"));
        }
        let other = match (*rank, self.pending.get(rank)) {
            (0, _) => Some(here.1),
            (_, Some((other, _))) => Some(&other.host),
            _ => None,
        };
        if let Some(other) = other {
            let reason = format!("two processes are rank {rank}: one on {other}, one on {host}");
            return Some((reason, "give each process a rank of its own"));
        }
        let difference = ours.difference(&hello.fingerprint)?;
        let reason = format!("rank 0 and rank {rank} on {host} mean different runs: {difference}");
        Some((
            reason,
            "start all ranks with the same arguments and the same program",
        ))
    }

    fn refuse(&self, stream: &TcpStream, reason: &str) {
        let reason = reason.to_string();
        // Whoever is gone need not be told.
        let _ = wire::send(stream, &Answer::Refused { reason });
    }

    /// Tells all that have come, and ends.
    fn give_up(&self, reason: String, help: impl Into<String>) -> Error {
        for (_, stream) in self.pending.values() {
            self.refuse(stream, &reason);
        }
        failed(reason, help)
    }

    fn too_late(&self, limit: Duration) -> Error {
        let missing: Vec<String> = (1..self.world.size)
            .filter(|rank| !self.pending.contains_key(rank))
            .map(|rank| rank.to_string())
            .collect();
        let unknown_clients = match self.greeter.last_unknown {
            None => String::new(),
            Some(last) => format!(
                "; {} others came that did not prove the secret of this run, the last from {last}",
                self.greeter.unknown
            ),
        };
        self.give_up(
            format!(
                "after {} s these of {} ranks have not come to {}: {}{unknown_clients}",
                limit.as_secs_f64(),
                self.world.size,
                self.world.master,
                missing.join(", "),
            ),
            "start all ranks at about the same time, and see that their hosts can reach this one; --rendezvous-timeout gives more time",
        )
    }

    fn welcome(self) -> Result<Met> {
        let unreachable = |e| broken("a port for the next rank cannot be opened", &e);
        let ring =
            TcpListener::bind((open_at(self.world, self.address.ip()), 0)).map_err(unreachable)?;
        let own = Peer {
            host: self.world.host.clone(),
            ip: None,
            port: ring.local_addr().map_err(unreachable)?.port(),
        };
        let (mut peers, mut streams) = (vec![own], vec![]);
        for (rank, (hello, stream)) in self.pending {
            let gone = |e| broken(&format!("rank {rank} on {} is gone", hello.host), &e);
            let ip = stream.peer_addr().map_err(gone)?.ip().to_canonical();
            let here = ip.is_loopback() || ip == self.address.ip();
            peers.push(Peer {
                host: hello.host,
                ip: (!here).then_some(ip),
                port: hello.port,
            });
            streams.push(stream);
        }
        let token = random()?;
        let answer = Answer::Welcome {
            token,
            peers: peers.clone(),
        };
        for (stream, peer) in streams.iter().zip(&peers[1..]) {
            let gone = |e| broken(&format!("a rank on {} is gone", peer.host), &e);
            wire::send(stream, &answer).map_err(gone)?;
        }
        Ok(Met {
            peers,
            token,
            control: Control::Root(streams),
            listener: ring,
            root: self.address.ip(),
        })
    }
}

fn bind(world: &World, address: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind((open_at(world, address.ip()), address.port())).map_err(|e| {
        let port = address.port();
        if e.kind() == ErrorKind::AddrInUse {
            failed(
                format!(
                    "port {port} of {} is in use by another program or run",
                    world.host
                ),
                "choose another with MASTER_PORT or --master HOST:PORT, the same for all ranks",
            )
        } else {
            failed(
                format!("rank 0 cannot listen at {}: {e}", world.master),
                "give an address of the host that rank 0 runs on, and a port above 1023",
            )
        }
    })
}

/// The socket that whoever has started this process has opened for it.
#[cfg(unix)]
fn on_stdin() -> Result<TcpListener> {
    use std::os::fd::AsFd;
    let own = std::io::stdin().as_fd().try_clone_to_owned();
    let listener = own.map(TcpListener::from);
    let opened = listener.and_then(|listener| listener.local_addr().map(|_| listener));
    opened.map_err(|e| {
        failed(
            format!("standard input is no socket to listen with: {e}"),
            "unset SPIKELET_RENDEZVOUS_LISTENER",
        )
    })
}

#[cfg(not(unix))]
fn on_stdin() -> Result<TcpListener> {
    Err(failed(
        "standard input cannot be a socket on this system",
        "unset SPIKELET_RENDEZVOUS_LISTENER",
    ))
}
