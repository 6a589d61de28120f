//! A slow line: a proxy on loopback that adds half of a round trip in each direction.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Ends when dropped; connections end with their peers.
#[derive(Debug)]
pub struct Delay {
    address: SocketAddr,
    has_ended: Arc<AtomicBool>,
    connections: Arc<AtomicU64>,
    is_held: Arc<AtomicBool>,
}

impl Delay {
    /// A line to a port of this machine that carries only so many bytes to it, over all connections, and then nothing more.
    pub fn holding(port: u16, bytes: u64) -> Delay {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        Delay::start(listener, port, Duration::ZERO, bytes)
    }

    /// Whether there was more to carry than is allowed.
    pub fn is_held(&self) -> bool {
        self.is_held.load(Ordering::SeqCst)
    }

    /// A line to a port of this machine with this round trip.
    pub fn new(port: u16, round_trip: Duration) -> Delay {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        Delay::on(listener, port, round_trip)
    }

    /// The same behind a listener that exists already, perhaps in another network namespace.
    pub fn on(listener: TcpListener, port: u16, round_trip: Duration) -> Delay {
        Delay::start(listener, port, round_trip, u64::MAX)
    }

    fn start(listener: TcpListener, port: u16, round_trip: Duration, bytes_max: u64) -> Delay {
        let address = listener.local_addr().expect("it has an address");
        let (has_ended, connections) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (room, is_held) = (Arc::new(Mutex::new(bytes_max)), Arc::new(AtomicBool::new(false)));
        let delay =
            Delay { address, has_ended: has_ended.clone(), connections: connections.clone(), is_held: is_held.clone() };
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                if has_ended.load(Ordering::SeqCst) {
                    break;
                }
                connections.fetch_add(1, Ordering::SeqCst);
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { continue };
                for socket in [&near, &far] {
                    let _ = socket.set_nodelay(true);
                }
                if let (Ok(near_copy), Ok(far_copy)) = (near.try_clone(), far.try_clone()) {
                    carry(near_copy, far_copy, round_trip / 2, Some((room.clone(), is_held.clone())));
                    carry(far, near, round_trip / 2, None);
                }
            }
        });
        delay
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many connections were made through it.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Delay {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

/// Carries bytes one way. What is sent later may overtake nothing, and waits no longer because of what came before.
fn carry(mut from: TcpStream, mut to: TcpStream, after: Duration, limit: Option<(Arc<Mutex<u64>>, Arc<AtomicBool>)>) {
    let (sender, receiver) = channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut chunk = [0; 64 * 1024];
        while let Ok(mut count @ 1..) = from.read(&mut chunk) {
            if let Some((room, is_held)) = &limit {
                let mut room = room.lock().unwrap_or_else(PoisonError::into_inner);
                if (count as u64) > *room {
                    is_held.store(true, Ordering::SeqCst);
                }
                count = count.min(usize::try_from(*room).unwrap_or(usize::MAX));
                *room -= count as u64;
            }
            if sender.send((Instant::now() + after, chunk[..count].to_vec())).is_err() {
                break;
            }
        }
    });
    std::thread::spawn(move || {
        for (due, bytes) in receiver {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
