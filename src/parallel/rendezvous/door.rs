//! Rank 0's side of the rendezvous.

use super::super::wire::{self, MAGIC};
use super::super::world::World;
use super::{
    Answer, Control, Fingerprint, GREETING, Hello, Met, PAUSE, Peer, broken, failed, open_at,
    resolve,
};
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Where rank 0 receives the others.
pub(super) struct Door<'a> {
    world: &'a World,
    listener: TcpListener,
    address: SocketAddr,
    guests: BTreeMap<usize, (Hello, TcpStream)>,
    /// Those that came and did not speak as ranks do.
    strangers: Vec<SocketAddr>,
}

type Greeted = std::result::Result<(Hello, TcpStream), SocketAddr>;

impl<'a> Door<'a> {
    pub(super) fn open(world: &'a World) -> Result<Self> {
        let address = resolve(world)?;
        let listener = TcpListener::bind((open_at(world, address.ip()), address.port())).map_err(|e| {
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
        })?;
        listener
            .set_nonblocking(true)
            .map_err(|e| broken("rank 0 cannot listen", &e))?;
        Ok(Self {
            world,
            listener,
            address,
            guests: BTreeMap::new(),
            strangers: vec![],
        })
    }

    pub(super) fn receive_all(
        mut self,
        fingerprint: &Fingerprint,
        limit: Duration,
        deadline: Instant,
    ) -> Result<Met> {
        let (sender, greeted) = mpsc::channel::<Greeted>();
        while self.guests.len() + 1 < self.world.size {
            self.accept(&sender);
            match greeted.recv_timeout(PAUSE) {
                Ok(Ok((hello, stream))) => self.seat(hello, stream, fingerprint)?,
                Ok(Err(stranger)) => self.strangers.push(stranger),
                Err(_) if Instant::now() >= deadline => return Err(self.too_late(limit)),
                Err(_) => {}
            }
        }
        self.welcome()
    }

    /// Lets everybody in who is at the door; each is greeted on a thread, since somebody may be
    /// silent.
    fn accept(&self, greeted: &Sender<Greeted>) {
        while let Ok((stream, from)) = self.listener.accept() {
            let greeted = greeted.clone();
            thread::spawn(move || {
                let hello = greet(&stream);
                // Nobody listens any more when all have met.
                let _ = greeted.send(hello.map(|hello| (hello, stream)).map_err(|_| from));
            });
        }
    }

    fn seat(&mut self, hello: Hello, stream: TcpStream, ours: &Fingerprint) -> Result<()> {
        match self.objection(&hello, ours) {
            None => {
                self.guests.insert(hello.rank, (hello, stream));
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
        let other = match (*rank, self.guests.get(rank)) {
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
        for (_, stream) in self.guests.values() {
            self.refuse(stream, &reason);
        }
        failed(reason, help)
    }

    fn too_late(&self, limit: Duration) -> Error {
        let missing: Vec<String> = (1..self.world.size)
            .filter(|rank| !self.guests.contains_key(rank))
            .map(|rank| rank.to_string())
            .collect();
        let strangers = match &self.strangers[..] {
            [] => String::new(),
            [.., last] => format!(
                "; {} others came that are no ranks of spikelet, the last from {last}",
                self.strangers.len()
            ),
        };
        self.give_up(
            format!(
                "after {} s these of {} ranks have not come to {}: {}{strangers}",
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
        for (rank, (hello, stream)) in self.guests {
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
        let token = RandomState::new().hash_one(std::process::id());
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

/// Hears who has come.
fn greet(mut stream: &TcpStream) -> io::Result<Hello> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(GREETING))?;
    stream.set_write_timeout(Some(GREETING))?;
    stream.write_all(&MAGIC)?;
    let mut magic = [0; MAGIC.len()];
    stream.read_exact(&mut magic)?;
    if magic != MAGIC {
        return Err(ErrorKind::InvalidData.into());
    }
    let hello = wire::receive(stream)?;
    stream.set_read_timeout(None)?;
    Ok(hello)
}
