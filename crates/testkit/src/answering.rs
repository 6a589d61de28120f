//! A server with scripted answers: correct, late, wrong, endless or none.
//!
//! For testing programs that ask a model over HTTP and must cope with any answer. Unlike the model server, it knows no
//! protocol and keeps whole requests, including headers: only made-up keys may be sent to it. It listens on 127.0.0.1
//! on a port the system picks; dropping it closes every connection and joins every thread.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use serde_json::Value;

use crate::process::LIMIT;

/// What the server does with a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// This status and body.
    Say(u16, Vec<u8>),
    /// This status and body, once [`Answering::release`] is called.
    Late(u16, Vec<u8>),
    /// These bytes, which need not be HTTP.
    Raw(Vec<u8>),
    /// A redirect to this address.
    Elsewhere(String),
    /// Nothing, for as long as the client stays connected.
    Hang,
}

impl Answer {
    pub fn json(value: &Value) -> Answer {
        Answer::Say(200, value.to_string().into_bytes())
    }

    pub fn late(value: &Value) -> Answer {
        Answer::Late(200, value.to_string().into_bytes())
    }
}

/// A running server; it stops when dropped.
#[derive(Debug)]
pub struct Answering {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    answer: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// Used in order; the last one is repeated.
    answers: Vec<Answer>,
    requests: Vec<String>,
    answered: usize,
    /// Connections whose request is neither answered nor aborted.
    held: usize,
    released: bool,
    stopping: bool,
    open: Vec<TcpStream>,
}

impl Answering {
    /// Gives these answers in order, and the last one to all further requests.
    pub fn start(answers: impl IntoIterator<Item = Answer>) -> Answering {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("binds a port on 127.0.0.1");
        let address = listener.local_addr().expect("a bound listener has an address");
        let answers: Vec<Answer> = answers.into_iter().collect();
        assert!(!answers.is_empty(), "a server needs an answer");
        let state =
            State { answers, requests: vec![], answered: 0, held: 0, released: false, stopping: false, open: vec![] };
        let shared = Arc::new(Shared { answer: Mutex::new(state), changed: Condvar::new() });
        let for_acceptor = Arc::clone(&shared);
        let acceptor = std::thread::spawn(move || accept(&listener, &for_acceptor));
        Answering { address, shared, acceptor: Some(acceptor) }
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The raw requests so far, heads and bodies.
    pub fn requests(&self) -> Vec<String> {
        self.shared.lock().requests.clone()
    }

    /// How many requests have been answered.
    pub fn answered(&self) -> usize {
        self.shared.lock().answered
    }

    /// How many clients are waiting for an answer.
    pub fn held(&self) -> usize {
        self.shared.lock().held
    }

    /// Waits for this many requests.
    pub fn wait_for(&self, requests: usize) {
        let state = self.shared.lock();
        let (state, waited) = self
            .shared
            .changed
            .wait_timeout_while(state, LIMIT, |state| state.requests.len() < requests)
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "{} of {requests} requests came", state.requests.len());
    }

    /// Sends the delayed answers.
    pub fn release(&self) {
        self.shared.lock().released = true;
        self.shared.changed.notify_all();
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stopping = true;
        state.open.iter().for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
        drop(state);
        self.shared.changed.notify_all();
        // Wakes the acceptor, which is waiting for a connection.
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ = acceptor.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut workers = Vec::new();
    for stream in listener.incoming().flatten() {
        let mut state = shared.lock();
        if state.stopping {
            break;
        }
        state.open.extend(stream.try_clone());
        drop(state);
        let shared = Arc::clone(shared);
        workers.push(std::thread::spawn(move || drop(serve(stream, &shared))));
    }
    workers.into_iter().for_each(|worker| drop(worker.join()));
}

/// One request per connection.
fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let request = read_request(&mut BufReader::new(stream.try_clone()?))?;
    let mut state = shared.lock();
    let turn = state.requests.len().min(state.answers.len() - 1);
    let answer = state.answers[turn].clone();
    state.requests.push(request);
    state.held += 1;
    drop(state);
    shared.changed.notify_all();
    let given = give(&mut stream, answer, shared);
    shared.lock().held -= 1;
    given?;
    stream.shutdown(Shutdown::Both)
}

fn give(stream: &mut TcpStream, answer: Answer, shared: &Shared) -> io::Result<()> {
    match answer {
        Answer::Say(status, body) => stream.write_all(&response(status, "", &body))?,
        Answer::Raw(bytes) => stream.write_all(&bytes)?,
        Answer::Elsewhere(url) => stream.write_all(&response(307, &format!("location: {url}\r\n"), b""))?,
        Answer::Late(status, body) => {
            let wait = shared.changed.wait_while(shared.lock(), |state| !state.released && !state.stopping);
            drop(wait.unwrap_or_else(PoisonError::into_inner));
            stream.write_all(&response(status, "", &body))?;
        }
        Answer::Hang => {
            // Ends when the client disconnects or the server is dropped.
            let _ = stream.read(&mut [0]);
            return Ok(());
        }
    }
    shared.lock().answered += 1;
    Ok(())
}

fn response(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n");
    [head.as_bytes(), headers.as_bytes(), b"connection: close\r\n\r\n", body].concat()
}

/// The head and the body of a request with a `Content-Length`.
fn read_request(reader: &mut impl BufRead) -> io::Result<String> {
    let mut request = String::new();
    while !request.ends_with("\r\n\r\n") {
        if reader.read_line(&mut request)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let length = request.lines().filter_map(|line| line.split_once(':'));
    let length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.filter_map(|(_, value)| value.trim().parse().ok()).next().unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    request.push_str(&String::from_utf8_lossy(&body));
    Ok(request)
}
