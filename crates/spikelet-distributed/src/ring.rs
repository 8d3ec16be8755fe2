//! Sums and broadcasts between neighbors in a ring.
//!
//! Values are cut into as many segments as there are ranks. A segment goes once around and gathers
//! everybody's share, then once more and brings the sum:
//!
//! ```text
//! reduce-scatter   step s: rank r sends segment r − s,     adds what comes to segment r − s − 1
//! all-gather       step s: rank r sends segment r + 1 − s, takes what comes as segment r − s
//! ```
//!
//! So a segment is added up in one order, by whoever comes first after its own rank, and all ranks
//! have the bits that the last one found. Segments travel in pieces: a piece is sent on as soon as
//! it has come. Sending has a thread of its own, so that no rank waits to be read while it should
//! read.

use super::exchange_error;
use super::handshake::{Bounds, Client, Greeter, Purpose, greet};
use super::rendezvous::{Met, Peer};
use super::wire::{self, is_timeout, until};
use spikelet_core::{Error, Result};
use spikelet_graph::ProcessGroup;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a greeting of the rank before this one may take.
const GREETING: Duration = Duration::from_secs(5);

/// Connections whose greeting is not complete.
const PENDING: usize = 16;

/// Between two looks at whether somebody has come.
const PAUSE: Duration = Duration::from_millis(2);

/// Values of a piece.
const PIECE: usize = 1 << 16;

/// What two neighbors compare before they exchange values.
const HEADER: usize = 17;

const SUM: u8 = 1;
const BROADCAST: u8 = 2;

/// The connections to both neighbors.
struct Link {
    previous: TcpStream,
    /// Pieces on their way to the next rank.
    outgoing: Option<Sender<Vec<u8>>>,
    /// Their memory, when they are gone.
    spare: Receiver<Vec<u8>>,
    /// Memory of pieces that went no further.
    idle: Vec<Vec<u8>>,
    sender: Option<JoinHandle<io::Result<()>>>,
    /// Exchanges so far: neighbors that disagree have lost each other.
    count: u64,
    /// Why nothing can be exchanged any more.
    lost: Option<String>,
    /// Whether a neighbor has gone: for a reason that is not known here.
    deserted: bool,
}

/// Ranks in a ring.
pub(super) struct Ring {
    rank: usize,
    hosts: Vec<String>,
    link: Option<Mutex<Link>>,
    /// The same connections, to be cut by somebody who does not wait for the link.
    cut: Vec<TcpStream>,
}

impl Ring {
    /// Connects with both neighbors.
    ///
    /// # Errors
    /// When a neighbor cannot be reached or does not come within the limit `meeting`.
    pub(super) fn connect(
        rank: usize,
        met: &Met,
        meeting: Duration,
        patience: Duration,
    ) -> Result<Self> {
        let size = met.peers.len();
        let hosts = met.peers.iter().map(|peer| peer.host.clone()).collect();
        if size == 1 {
            return Ok(Self {
                rank,
                hosts,
                link: None,
                cut: vec![],
            });
        }
        let deadline = Instant::now() + meeting;
        let (after, before) = ((rank + 1) % size, (rank + size - 1) % size);
        let failed = |other: usize, e: io::Error| {
            Error::invalid(
                "rendezvous",
                format!(
                    "rank {rank} and its neighbor, rank {other} on {}, have not met: {e}",
                    met.peers[other].host
                ),
                "the hosts of all ranks must reach each other, at any port above 1023",
            )
        };
        let met_both = meet_both(met, rank, [after, before], deadline);
        let [next, previous] = met_both.map_err(|(other, e)| failed(other, e))?;
        let opened = || {
            for stream in [&next, &previous] {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))?;
            }
            Ok(vec![next.try_clone()?, previous.try_clone()?])
        };
        let cut = opened().map_err(|e| failed(after, e))?;
        let (outgoing, pieces) = mpsc::channel::<Vec<u8>>();
        let (done, spare) = mpsc::channel();
        let sender = thread::Builder::new().spawn(move || send_all(next, &pieces, &done));
        let sender = sender.map_err(|e| failed(after, e))?;
        let link = Link {
            previous,
            outgoing: Some(outgoing),
            spare,
            idle: vec![],
            sender: Some(sender),
            count: 0,
            lost: None,
            deserted: false,
        };
        Ok(Self {
            rank,
            hosts,
            link: Some(Mutex::new(link)),
            cut,
        })
    }

    /// The hosts of all ranks.
    pub(super) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Ends all exchanges, also one that is under way.
    pub(super) fn cut(&self) {
        for stream in &self.cut {
            // One that is closed already is what is wanted.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Whether an exchange has failed because a neighbor has gone.
    pub(super) fn is_deserted(&self) -> bool {
        let link = self.link.as_ref();
        link.is_some_and(|link| {
            let link = link.lock().unwrap_or_else(PoisonError::into_inner);
            link.deserted
        })
    }

    fn exchange(
        &self,
        act: impl FnOnce(&mut Link) -> io::Result<()>,
    ) -> spikelet_graph::Result<()> {
        let Some(link) = &self.link else {
            return Ok(());
        };
        // A panic in an exchange is a bug of this file; what is lost then is noted nowhere.
        let mut link = link.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lost) = &link.lost {
            return Err(exchange_error(lost.clone()));
        }
        act(&mut link).map_err(|e| {
            let e = link.cause(e);
            let size = self.hosts.len();
            let before = (self.rank + size - 1) % size;
            let after = (self.rank + 1) % size;
            let disagree = e.kind() == ErrorKind::InvalidData;
            let problem = if disagree {
                format!(
                    "rank {} and the one before it, rank {before} on {}, do different things: {e}",
                    self.rank, self.hosts[before]
                )
            } else if is_timeout(&e) {
                format!(
                    "rank {} waits for its neighbors, rank {before} on {} and rank {after} on {}, in vain",
                    self.rank, self.hosts[before], self.hosts[after]
                )
            } else {
                format!(
                    "rank {} lost its neighbor, rank {before} on {} or rank {after} on {}: {e}",
                    self.rank, self.hosts[before], self.hosts[after]
                )
            };
            link.lost = Some(problem.clone());
            link.deserted = !is_timeout(&e) && !disagree;
            self.cut();
            exchange_error(problem)
        })
    }
}

/// The connections to the rank after this one and from the one before, or which of them failed. Both
/// are made at once: the next rank answers while it waits for an answer itself.
fn meet_both(
    met: &Met,
    rank: usize,
    [after, before]: [usize; 2],
    deadline: Instant,
) -> std::result::Result<[TcpStream; 2], (usize, io::Error)> {
    let bounds = Bounds {
        time: GREETING,
        pending: PENDING,
        message: 32,
    };
    let listener = met.listener.try_clone().map_err(|e| (before, e))?;
    let mut greeter =
        Greeter::new(listener, &met.token, Purpose::Ring, bounds).map_err(|e| (before, e))?;
    thread::scope(|scope| {
        let call = || call(&met.peers[after], met, rank, deadline);
        let calling = thread::Builder::new().spawn_scoped(scope, call);
        let mut calling = Some(calling.map_err(|e| (after, e))?);
        let (mut next, mut previous) = (None, None);
        loop {
            if let Some(called) = calling.take_if(|calling| calling.is_finished()) {
                let called = called
                    .join()
                    .unwrap_or_else(|_| Err(ErrorKind::Other.into()));
                next = Some(called.map_err(|e| (after, e))?);
            }
            let said = before.to_string().into_bytes();
            let expected = |client: &Client| client.said == said;
            previous = previous.or_else(|| greeter.poll().into_iter().find(expected));
            match (next.take(), previous.take()) {
                (Some(next), Some(previous)) => return Ok([next, previous.stream]),
                (_, None) if Instant::now() >= deadline => {
                    return Err((before, ErrorKind::TimedOut.into()));
                }
                found => (next, previous) = found,
            }
            thread::sleep(PAUSE);
        }
    })
}

/// Connects to the next rank.
fn call(peer: &Peer, met: &Met, rank: usize, deadline: Instant) -> io::Result<TcpStream> {
    let address = SocketAddr::new(peer.ip.unwrap_or(met.root), peer.port);
    let stream = TcpStream::connect_timeout(&address, until(deadline))?;
    greet(&stream, &met.token, Purpose::Ring, deadline)?;
    wire::send(&stream, &rank)?;
    Ok(stream)
}

/// The sending thread's whole life.
fn send_all(
    mut next: TcpStream,
    pieces: &Receiver<Vec<u8>>,
    done: &Sender<Vec<u8>>,
) -> io::Result<()> {
    for piece in pieces {
        next.write_all(&piece)?;
        // Whoever does not take it back needs it no more.
        let _ = done.send(piece);
    }
    Ok(())
}

impl Link {
    /// Why the link failed: the sending thread knows it where only the piece for it was lost.
    fn cause(&mut self, seen: io::Error) -> io::Error {
        self.outgoing = None;
        if seen.kind() != ErrorKind::BrokenPipe {
            return seen;
        }
        match self.sender.take().map(JoinHandle::join) {
            Some(Ok(Err(e))) => e,
            _ => seen,
        }
    }

    fn piece(&mut self) -> Vec<u8> {
        let idle = self.idle.pop().or_else(|| self.spare.try_recv().ok());
        let mut piece = idle.unwrap_or_default();
        piece.clear();
        piece
    }

    fn send(&self, piece: Vec<u8>) -> io::Result<()> {
        let sent = self.outgoing.as_ref().map(|outgoing| outgoing.send(piece));
        match sent {
            Some(Ok(())) => Ok(()),
            _ => Err(ErrorKind::BrokenPipe.into()),
        }
    }

    fn send_values(&mut self, values: &[f32]) -> io::Result<()> {
        let mut piece = self.piece();
        piece.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        self.send(piece)
    }

    fn receive(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        let mut piece = self.piece();
        piece.resize(bytes, 0);
        self.previous.read_exact(&mut piece)?;
        Ok(piece)
    }

    /// Both neighbors are at the same exchange, with as many values.
    fn agree(&mut self, kind: u8, length: usize) -> io::Result<()> {
        self.count += 1;
        let mut own = self.piece();
        own.push(kind);
        own.extend(self.count.to_le_bytes());
        own.extend((length as u64).to_le_bytes());
        let expected = own.clone();
        self.send(own)?;
        let found = self.receive(HEADER)?;
        if found == expected {
            return Ok(());
        }
        let problem = format!(
            "the first is at {}, the other at {}",
            exchange_in_words(&expected),
            exchange_in_words(&found)
        );
        Err(io::Error::new(ErrorKind::InvalidData, problem))
    }

    fn sum(&mut self, rank: usize, size: usize, values: &mut [f32]) -> io::Result<()> {
        let segment = |k: usize| {
            let at = |k: usize| k * values.len() / size;
            at(k % size)..at(k % size + 1)
        };
        let segments: Vec<Range<usize>> = (0..size).map(segment).collect();
        let of = |k: usize| pieces(&segments[k % size]);
        for piece in of(rank) {
            self.send_values(&values[piece])?;
        }
        let steps = 2 * (size - 1);
        for step in 0..steps {
            // The segment that comes is the one that is sent in the next step.
            let adds = step < size - 1;
            for piece in of(rank + 2 * size - step - 1) {
                let mut came = self.receive(4 * piece.len())?;
                for (own, came) in values[piece].iter_mut().zip(came.chunks_exact_mut(4)) {
                    let share = f32::from_le_bytes([came[0], came[1], came[2], came[3]]);
                    if adds {
                        *own += share;
                        came.copy_from_slice(&own.to_le_bytes());
                    } else {
                        *own = share;
                    }
                }
                match step + 1 < steps {
                    true => self.send(came)?,
                    false => self.idle.push(came),
                }
            }
        }
        Ok(())
    }

    fn broadcast(
        &mut self,
        rank: usize,
        size: usize,
        bytes: &mut Vec<u8>,
        root: usize,
    ) -> io::Result<()> {
        let last = (rank + 1) % size == root;
        if rank == root {
            let mut length = self.piece();
            length.extend((bytes.len() as u64).to_le_bytes());
            self.send(length)?;
            for part in bytes.chunks(4 * PIECE) {
                let mut piece = self.piece();
                piece.extend(part);
                self.send(piece)?;
            }
            return Ok(());
        }
        let length = self.receive(8)?;
        let mut left = u64::from_le_bytes(length[..].try_into().expect("a length has eight bytes"));
        if !last {
            self.send(length)?;
        }
        bytes.clear();
        while left > 0 {
            let part = self.receive(left.min(4 * PIECE as u64) as usize)?;
            left -= part.len() as u64;
            bytes.extend(&part);
            if !last {
                self.send(part)?;
            }
        }
        Ok(())
    }
}

/// What a header says.
fn exchange_in_words(header: &[u8]) -> String {
    let number = |at: usize| {
        let bytes = header[at..at + 8].try_into();
        u64::from_le_bytes(bytes.expect("a number has eight bytes"))
    };
    let (count, size) = (number(1), number(9));
    match header[0] {
        SUM => format!("exchange {count}, a sum of {size} values"),
        BROADCAST => format!("exchange {count}, bytes of rank {size}"),
        other => format!("exchange {count} of the unknown kind {other}"),
    }
}

/// A segment's pieces.
fn pieces(segment: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
    let end = segment.end;
    let starts = segment.clone().step_by(PIECE);
    starts.map(move |start| start..end.min(start + PIECE))
}

impl ProcessGroup for Ring {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.hosts.len()
    }

    fn all_reduce(&self, values: &mut [f32]) -> spikelet_graph::Result<()> {
        let (rank, size) = (self.rank, self.hosts.len());
        self.exchange(|link| {
            link.agree(SUM, values.len())?;
            link.sum(rank, size, values)
        })
    }

    fn broadcast(&self, bytes: &mut Vec<u8>, root: usize) -> spikelet_graph::Result<()> {
        let (rank, size) = (self.rank, self.hosts.len());
        if root >= size {
            return Err(exchange_error(format!(
                "there is no rank {root} among {size}"
            )));
        }
        self.exchange(|link| {
            link.agree(BROADCAST, root)?;
            link.broadcast(rank, size, bytes, root)
        })
    }

    fn barrier(&self) -> spikelet_graph::Result<()> {
        // A sum is known only after everybody has brought a share.
        self.all_reduce(&mut [1.0])
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let Some(link) = self.link.take() else {
            return;
        };
        let mut link = link.into_inner().unwrap_or_else(PoisonError::into_inner);
        link.outgoing = None;
        if let Some(sender) = link.sender.take() {
            // What could not be sent was noticed when it was.
            let _ = sender.join();
        }
    }
}
