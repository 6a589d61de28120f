//! A connection to PostgreSQL: TLS, login, and statements sent together in one turn.
//!
//! The messages and the login are those of `postgres-protocol`; this adds a socket, without an asynchronous runtime.
//! Everything that waits has a deadline, and every answer a largest size.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{DataRowBody, ErrorResponseBody, Message};
use postgres_protocol::message::frontend;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::super::TimeLimit;

/// The largest row: a batch has at most one mebibyte.
const MESSAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The largest answer to statements sent together.
const ANSWER_BYTES_MAX: usize = 256 * 1024 * 1024;

/// How to reach and enter the database.
pub struct Login {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Option<String>,
    pub database: String,
    /// `None`: without TLS, on this machine only.
    pub tls: Option<Arc<ClientConfig>>,
    pub time: TimeLimit,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}:{}/{}", self.user, self.host, self.port, self.database)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// TLS or the login failed: trying again does not help.
    #[error("{0}")]
    Login(String),
    #[error("{message} ({code})")]
    Refused { code: String, message: String },
    #[error("the answer is {0}")]
    Answer(&'static str),
}

/// A statement with its parameters, in PostgreSQL's binary form.
#[derive(Debug, Clone)]
pub struct Statement {
    pub sql: &'static str,
    pub parameters: Vec<Option<Vec<u8>>>,
}

impl Statement {
    pub fn new(sql: &'static str, parameters: Vec<Option<Vec<u8>>>) -> Statement {
        Statement { sql, parameters }
    }
}

/// A row's values, in PostgreSQL's binary form.
pub type Row = Vec<Option<Vec<u8>>>;

enum Wire {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Wire {
    fn socket(&self) -> &TcpStream {
        match self {
            Wire::Plain(socket) => socket,
            Wire::Tls(stream) => &stream.sock,
        }
    }

    fn read(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        match self {
            Wire::Plain(socket) => socket.read(chunk),
            Wire::Tls(stream) => stream.read(chunk),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Wire::Plain(socket) => socket.write_all(bytes),
            Wire::Tls(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
        }
    }
}

pub struct Connection {
    wire: Wire,
    received: BytesMut,
    received_bytes: usize,
    time: TimeLimit,
    deadline: Instant,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connection")
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut goodbye = BytesMut::new();
        frontend::terminate(&mut goodbye);
        let _ = self.wire.write(&goodbye);
    }
}

impl Connection {
    pub fn open(login: &Login) -> Result<Connection, DatabaseError> {
        let deadline = Instant::now() + login.time.left();
        let socket = connect(login, deadline)?;
        socket.set_nodelay(true)?;
        let left = left(deadline)?;
        socket.set_read_timeout(Some(left))?;
        socket.set_write_timeout(Some(left))?;
        let wire = match &login.tls {
            None => Wire::Plain(socket),
            Some(config) => secure(socket, config, &login.host)?,
        };
        let (received, time) = (BytesMut::new(), login.time);
        let mut connection = Connection { wire, received, received_bytes: 0, time, deadline };
        connection.enter(login)?;
        Ok(connection)
    }

    /// Logs in. The password itself is sent over TLS alone.
    fn enter(&mut self, login: &Login) -> Result<(), DatabaseError> {
        let mut out = BytesMut::new();
        let parameters = [
            ("user", login.user.as_str()),
            ("database", &login.database),
            ("client_encoding", "UTF8"),
            ("application_name", "cerberus"),
        ];
        frontend::startup_message(parameters, &mut out)?;
        self.wire.write(&out)?;
        let password = || {
            login.password.as_ref().map(String::as_bytes).ok_or_else(|| {
                DatabaseError::Login("it asks for a password: write USER:PASSWORD@, or set PGPASSWORD".to_string())
            })
        };
        let mut scram = None;
        loop {
            let mut out = BytesMut::new();
            match self.message()? {
                Message::AuthenticationSasl(offered) => {
                    let mut mechanisms = offered.mechanisms();
                    let mut is_known = false;
                    while let Some(mechanism) = mechanisms.next()? {
                        is_known |= mechanism == SCRAM_SHA_256;
                    }
                    if !is_known {
                        return Err(DatabaseError::Login("it does not offer SCRAM-SHA-256".to_string()));
                    }
                    let begun = ScramSha256::new(password()?, ChannelBinding::unsupported());
                    frontend::sasl_initial_response(SCRAM_SHA_256, begun.message(), &mut out)?;
                    scram = Some(begun);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let scram = scram.as_mut().ok_or(DatabaseError::Answer("out of order"))?;
                    scram.update(body.data()).map_err(|error| DatabaseError::Login(error.to_string()))?;
                    frontend::sasl_response(scram.message(), &mut out)?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    let scram = scram.as_mut().ok_or(DatabaseError::Answer("out of order"))?;
                    scram.finish(body.data()).map_err(|error| DatabaseError::Login(error.to_string()))?;
                }
                Message::AuthenticationCleartextPassword if login.tls.is_some() => {
                    frontend::password_message(password()?, &mut out)?;
                }
                Message::AuthenticationOk
                | Message::ParameterStatus(_)
                | Message::BackendKeyData(_)
                | Message::NoticeResponse(_) => {}
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ErrorResponse(body) => return Err(refusal(&body)),
                _ => {
                    let reason = "it asks for a login that is not safe: use scram-sha-256 in pg_hba.conf";
                    return Err(DatabaseError::Login(reason.to_string()));
                }
            }
            if !out.is_empty() {
                self.wire.write(&out)?;
            }
        }
    }

    /// Runs statements in one turn and one transaction: all or none. Returns the rows of each.
    pub fn run(&mut self, statements: &[Statement]) -> Result<Vec<Vec<Row>>, DatabaseError> {
        self.deadline = Instant::now() + self.time.left();
        self.received_bytes = 0;
        let mut out = BytesMut::new();
        for statement in statements {
            frontend::parse("", statement.sql, [], &mut out)?;
            let value = |value: &Option<Vec<u8>>, out: &mut BytesMut| match value {
                None => Ok(IsNull::Yes),
                Some(bytes) => {
                    out.extend_from_slice(bytes);
                    Ok(IsNull::No)
                }
            };
            frontend::bind("", "", [1], &statement.parameters, value, [1], &mut out)
                .map_err(|_| DatabaseError::Answer("impossible: a parameter is too long"))?;
            frontend::execute("", 0, &mut out)?;
        }
        frontend::sync(&mut out);
        self.wire.write(&out)?;
        let all = self.rows()?;
        if all.len() == statements.len() { Ok(all) } else { Err(DatabaseError::Answer("incomplete")) }
    }

    fn rows(&mut self) -> Result<Vec<Vec<Row>>, DatabaseError> {
        let (mut all, mut rows, mut refused) = (Vec::new(), Vec::new(), None);
        loop {
            match self.message()? {
                Message::DataRow(body) => rows.push(row(&body)?),
                Message::CommandComplete(_) | Message::EmptyQueryResponse => all.push(std::mem::take(&mut rows)),
                Message::ErrorResponse(body) => refused = refused.or(Some(refusal(&body))),
                Message::ReadyForQuery(_) => return refused.map_or(Ok(all), Err),
                _ => {}
            }
        }
    }

    fn message(&mut self) -> Result<Message, DatabaseError> {
        let mut chunk = [0; 64 * 1024];
        loop {
            if let Some(length) = self.received.get(1..5) {
                let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
                if length > MESSAGE_BYTES_MAX {
                    return Err(DatabaseError::Answer("too long"));
                }
            }
            if let Some(message) = Message::parse(&mut self.received)? {
                return Ok(message);
            }
            self.wire.socket().set_read_timeout(Some(left(self.deadline)?))?;
            let count = self.wire.read(&mut chunk).map_err(too_late)?;
            if count == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            self.received_bytes += count;
            if self.received_bytes > ANSWER_BYTES_MAX {
                return Err(DatabaseError::Answer("too long"));
            }
            self.received.extend_from_slice(&chunk[..count]);
        }
    }
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
    left.ok_or_else(|| io::ErrorKind::TimedOut.into())
}

fn connect(login: &Login, deadline: Instant) -> Result<TcpStream, DatabaseError> {
    let mut failed = io::Error::other("no such host");
    for address in (login.host.as_str(), login.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(deadline)?) {
            Ok(socket) => return Ok(socket),
            Err(error) => failed = error,
        }
    }
    Err(failed.into())
}

/// Begins TLS. The server's certificate must be valid for the host.
fn secure(mut socket: TcpStream, config: &Arc<ClientConfig>, host: &str) -> Result<Wire, DatabaseError> {
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    socket.write_all(&request)?;
    let mut answer = [0];
    socket.read_exact(&mut answer).map_err(too_late)?;
    if answer != *b"S" {
        return Err(DatabaseError::Login("it does not offer TLS".to_string()));
    }
    let name = rustls::pki_types::ServerName::try_from(host.to_string())
        .map_err(|_| DatabaseError::Login("its name cannot be in a certificate".to_string()))?;
    let client =
        ClientConnection::new(config.clone(), name).map_err(|error| DatabaseError::Login(error.to_string()))?;
    let mut stream = StreamOwned::new(client, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(|error| {
            let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
            of_tls.map(|error| DatabaseError::Login(error.to_string())).unwrap_or_else(|| too_late(error).into())
        })?;
    }
    Ok(Wire::Tls(Box::new(stream)))
}

/// A socket whose time is over says that it would block.
fn too_late(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::from(io::ErrorKind::TimedOut),
        _ => error,
    }
}

fn row(body: &DataRowBody) -> Result<Row, DatabaseError> {
    let (mut values, mut ranges) = (Vec::new(), body.ranges());
    while let Some(range) = ranges.next()? {
        values.push(range.and_then(|range| body.buffer().get(range)).map(<[u8]>::to_vec));
    }
    Ok(values)
}

fn refusal(body: &ErrorResponseBody) -> DatabaseError {
    let (mut code, mut message) = (String::new(), String::new());
    let mut fields = body.fields();
    while let Ok(Some(field)) = fields.next() {
        match field.type_() {
            b'C' => code = String::from_utf8_lossy(field.value_bytes()).into_owned(),
            b'M' => message = String::from_utf8_lossy(field.value_bytes()).into_owned(),
            _ => {}
        }
    }
    DatabaseError::Refused { code, message }
}
