//! A model server that answers from a script, so that real agents run without a model or a network.
//!
//! The script is a list of replies that are used in order, one for each *main* request (the protocol's file defines
//! what is main); a reply with an addressee waits for its request. Side requests get [`SIDE_TEXT`] and do not use up
//! the script. After the end of the script, every main request gets [`DONE_TEXT`]. Request bodies are kept; headers are
//! not, because they contain keys. The server listens on 127.0.0.1 on a port that the system picks. Dropping it closes
//! every connection and joins every thread. `http` transfers bytes; one file per protocol interprets them and does no
//! I/O.

mod anthropic;
mod gemini;
mod http;
mod openai;
mod protocol;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufReader};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use self::http::{After, Request, Response};
use self::protocol::{Ask, Block, Protocol, Words};

pub use protocol::request_text;

/// The answer to every side request.
pub const SIDE_TEXT: &str = "Scripted side answer";
/// The answer to every main request after the end of the script.
pub const DONE_TEXT: &str = "done";

/// One turn of the scripted model.
#[derive(Clone, Debug)]
pub struct Reply {
    turn: Turn,
    /// Only for requests that contain this text.
    addressee: Option<String>,
}

#[derive(Clone, Debug)]
enum Turn {
    Say(Words),
    Fail(u16),
    Limit,
    Hang,
}

impl Reply {
    fn new(turn: Turn) -> Self {
        Self { turn, addressee: None }
    }

    /// Sends this text and ends the turn.
    pub fn text(text: impl Into<String>) -> Self {
        Self::say(Block::Text(text.into()))
    }

    /// Calls one tool.
    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::say(Block::Tool { name: name.into(), input })
    }

    fn say(block: Block) -> Self {
        Self::new(Turn::Say(Words { blocks: vec![block], read_tokens: None }))
    }

    /// Reports this many input tokens regardless of the request, so that the context seems that full.
    pub fn reading(self, read_tokens: usize) -> Self {
        match self.turn {
            Turn::Say(words) => Self { turn: Turn::Say(Words { read_tokens: Some(read_tokens), ..words }), ..self },
            Turn::Fail(_) | Turn::Limit | Turn::Hang => panic!("a reply that fails or hangs reads nothing"),
        }
    }

    /// Refuses the request with this HTTP status.
    pub fn fail(status: u16) -> Self {
        Self::new(Turn::Fail(status))
    }

    /// Refuses the request because the user's limit is reached, for a long time.
    pub fn usage_limit() -> Self {
        Self::new(Turn::Limit)
    }

    /// Accepts the request and never answers it; the connection closes when the server stops.
    pub fn hang() -> Self {
        Self::new(Turn::Hang)
    }

    /// Adds this text to the reply.
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.and(Block::Text(text.into()))
    }

    /// Adds a call of this tool to the reply.
    pub fn and_tool(self, name: impl Into<String>, input: Value) -> Self {
        self.and(Block::Tool { name: name.into(), input })
    }

    /// Reserves the reply for requests that contain this text, for concurrent conversations; other requests get the
    /// replies after it.
    pub fn to(self, addressee: impl Into<String>) -> Self {
        Self { addressee: Some(addressee.into()), ..self }
    }

    fn and(self, block: Block) -> Self {
        match self.turn {
            Turn::Say(mut words) => {
                words.blocks.push(block);
                Self { turn: Turn::Say(words), ..self }
            }
            Turn::Fail(_) | Turn::Limit | Turn::Hang => {
                panic!("a reply that fails or hangs says nothing: {block:?} cannot be added to it")
            }
        }
    }
}

/// The first one rejects unknown paths.
const PROTOCOLS: [&dyn Protocol; 3] = [&anthropic::Anthropic, &openai::Responses, &gemini::Gemini];

/// Whether a kept request took a reply from the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Main,
    Side,
    /// Token counts, and everything else that does not request a message.
    Other,
}

/// One received request.
#[derive(Clone, Debug)]
pub struct Received {
    pub kind: Kind,
    pub method: String,
    pub path: String,
    /// A string if it is not JSON; `Null` if there was no body.
    pub body: Value,
}

/// A running server; it stops when dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    script: VecDeque<Reply>,
    received: Vec<Received>,
    stopping: bool,
    /// Open connections, so that stopping can close them while they are read.
    open: HashMap<u64, TcpStream>,
    workers: Vec<JoinHandle<()>>,
}

impl ModelServer {
    /// Starts a server with this script.
    pub fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("binds a port on 127.0.0.1");
        let address = listener.local_addr().expect("a bound listener has an address");
        let state = State { script: script.into_iter().collect(), ..State::default() };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let for_acceptor = Arc::clone(&shared);
        let acceptor = std::thread::spawn(move || accept(&listener, &for_acceptor));
        Self { address, shared, acceptor: Some(acceptor) }
    }

    /// The base address for the client, without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Every request so far that had a body, in order of arrival.
    pub fn requests(&self) -> Vec<Value> {
        bodies(&self.received(), |received| !received.body.is_null())
    }

    /// The requests that got a reply from the script, in its order.
    pub fn main_requests(&self) -> Vec<Value> {
        bodies(&self.received(), |received| received.kind == Kind::Main)
    }

    /// All received requests, with path and kind.
    pub fn received(&self) -> Vec<Received> {
        self.shared.lock().received.clone()
    }

    /// Waits for at least `count` requests with a body and returns them. Fails with a list of what was received.
    pub fn wait_for_requests(&self, count: usize, limit: Duration) -> Result<Vec<Value>, String> {
        self.wait_for(count, limit, |received| !received.body.is_null())
    }

    /// Like `wait_for_requests`, for main requests only.
    pub fn wait_for_main_requests(&self, count: usize, limit: Duration) -> Result<Vec<Value>, String> {
        self.wait_for(count, limit, |received| received.kind == Kind::Main)
    }

    fn wait_for(
        &self,
        count: usize,
        limit: Duration,
        wanted: impl Fn(&Received) -> bool,
    ) -> Result<Vec<Value>, String> {
        let too_few = |state: &mut State| state.received.iter().filter(|one| wanted(one)).count() < count;
        let (state, _) = self
            .shared
            .changed
            .wait_timeout_while(self.shared.lock(), limit, too_few)
            .unwrap_or_else(PoisonError::into_inner);
        let found = bodies(&state.received, &wanted);
        if found.len() >= count {
            return Ok(found);
        }
        let came: Vec<String> =
            state.received.iter().map(|one| format!("{:?} {} {}", one.kind, one.method, one.path)).collect();
        Err(format!("{} of {count} requests came within {limit:?}; all that came: {came:?}", found.len()))
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.lock().stopping = true;
        self.shared.changed.notify_all();
        // The acceptor blocks in `accept`; one last connection wakes it.
        let woken = TcpStream::connect(self.address).is_ok();
        let Some(acceptor) = self.acceptor.take().filter(|_| woken) else {
            return;
        };
        let _ = acceptor.join();
        let (open, workers) = {
            let mut state = self.shared.lock();
            (std::mem::take(&mut state.open), std::mem::take(&mut state.workers))
        };
        for stream in open.values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for worker in workers {
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores the request and takes its reply in one step, so that both have the same order.
    fn receive(&self, received: Received) -> Turn {
        let (kind, text) = (received.kind, request_text(&received.body));
        let mut state = self.lock();
        state.received.push(received);
        self.changed.notify_all();
        let reply = match kind {
            Kind::Main => next_reply(&mut state.script, &text).unwrap_or_else(|| Reply::text(DONE_TEXT)),
            Kind::Side | Kind::Other => Reply::text(SIDE_TEXT),
        };
        reply.turn
    }

    /// Blocks until the server stops.
    fn hang(&self) {
        let _stopped =
            self.changed.wait_while(self.lock(), |state| !state.stopping).unwrap_or_else(PoisonError::into_inner);
    }

    /// The response, or `None` if the script says to hang and the server has since stopped.
    fn respond(&self, request: &Request) -> Option<Response> {
        let body = parse_body(&request.body);
        let asked = PROTOCOLS.iter().find_map(|one| one.ask(request, &body).map(|ask| (*one, ask)));
        let kind = match &asked {
            Some((_, Ask::Main)) => Kind::Main,
            Some((_, Ask::Side)) => Kind::Side,
            Some((_, Ask::Fixed(_))) | None => Kind::Other,
        };
        let (method, path) = (request.method.clone(), request.path.clone());
        let turn = self.receive(Received { kind, method, path, body: body.clone() });
        match (asked, turn) {
            (None, _) => Some(PROTOCOLS[0].error(404, &format!("no such path: {}", request.path))),
            (Some((_, Ask::Fixed(response))), _) => Some(response),
            (Some((protocol, _)), Turn::Say(words)) => Some(protocol.answer(request, &body, &words)),
            (Some((protocol, _)), Turn::Fail(status)) => Some(protocol.error(status, "the script says so")),
            (Some((protocol, _)), Turn::Limit) => Some(protocol.usage_limit()),
            (Some(_), Turn::Hang) => {
                self.hang();
                None
            }
        }
    }
}

/// The first reply of the script that is for this request.
fn next_reply(script: &mut VecDeque<Reply>, text: &str) -> Option<Reply> {
    let is_for_it = |reply: &Reply| reply.addressee.as_ref().is_none_or(|addressee| text.contains(addressee));
    let at = script.iter().position(is_for_it)?;
    script.remove(at)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for (id, stream) in (0_u64..).zip(listener.incoming()) {
        let mut state = shared.lock();
        if state.stopping {
            return;
        }
        let Some((stream, kept)) = stream.ok().and_then(|one| one.try_clone().ok().map(|two| (one, two))) else {
            continue;
        };
        state.open.insert(id, kept);
        let for_worker = Arc::clone(shared);
        state.workers.push(std::thread::spawn(move || {
            // A client may disconnect at any time; its requests are kept.
            let _ = serve(&stream, &for_worker);
            for_worker.lock().open.remove(&id);
        }));
    }
}

fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut writer = io::BufWriter::new(stream);
    while let Some(request) = http::read_request(&mut reader, &mut writer)? {
        let Some(response) = shared.respond(&request) else {
            break;
        };
        http::write_response(&mut writer, &request, &response)?;
        if request.after == After::Close {
            break;
        }
    }
    Ok(())
}

fn parse_body(bytes: &[u8]) -> Value {
    if bytes.is_empty() {
        return Value::Null;
    }
    serde_json::from_slice(bytes).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}

fn bodies(received: &[Received], wanted: impl Fn(&Received) -> bool) -> Vec<Value> {
    received.iter().filter(|one| wanted(one)).map(|one| one.body.clone()).collect()
}
