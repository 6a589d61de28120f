//! The minimum of HTTP/1.1 that the agents' clients need, on a plain socket.
//!
//! Request bodies have a `Content-Length` or are chunked; responses are JSON with a length, or chunked server-sent
//! events; connections are kept alive. Headers are read and dropped, because they contain keys. This module does not
//! interpret bodies and never opens a connection.

use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

const HEAD_MAX_BYTES: u64 = 64 * 1024;
const BODY_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// One request; the path comes without its query.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) body: Vec<u8>,
    pub(super) after: After,
}

/// What happens to the connection after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Keep,
    Close,
}

#[derive(Debug)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: Body,
}

#[derive(Debug)]
pub(super) enum Body {
    Json(Value),
    Events(Vec<Event>),
}

/// One server-sent event; not every protocol names its events.
#[derive(Debug)]
pub(super) struct Event {
    name: Option<&'static str>,
    data: Value,
}

impl Event {
    pub(super) fn named(name: &'static str, data: Value) -> Event {
        Event { name: Some(name), data }
    }

    pub(super) fn unnamed(data: Value) -> Event {
        Event { name: None, data }
    }
}

#[derive(Clone, Copy)]
enum Framing {
    Length(u64),
    Chunked,
}

/// What the headers say about the body and the connection.
struct Head {
    framing: Framing,
    after: After,
    expects_continue: bool,
}

/// The next request on a connection, or `None` if the client closed it between requests.
pub(super) fn read_request(reader: &mut impl BufRead, writer: &mut impl Write) -> io::Result<Option<Request>> {
    let mut head_reader = reader.by_ref().take(HEAD_MAX_BYTES);
    let Some(start) = read_line(&mut head_reader)? else {
        return Ok(None);
    };
    let mut words = start.split(' ');
    let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next()) else {
        return Err(malformed("the request line has not three words"));
    };
    let head = read_head(&mut head_reader, version)?;
    if head.expects_continue {
        writer.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        writer.flush()?;
    }
    let body = match head.framing {
        Framing::Length(length) => read_exactly(reader, length)?,
        Framing::Chunked => read_chunks(reader)?,
    };
    let path = target.split('?').next().unwrap_or(target);
    Ok(Some(Request { method: method.to_owned(), path: path.to_owned(), body, after: head.after }))
}

fn read_head(reader: &mut impl BufRead, version: &str) -> io::Result<Head> {
    let mut head = Head {
        framing: Framing::Length(0),
        after: if version == "HTTP/1.1" { After::Keep } else { After::Close },
        expects_continue: false,
    };
    loop {
        let line = read_line(reader)?.ok_or_else(|| malformed("the head ends early"))?;
        if line.is_empty() {
            return Ok(head);
        }
        let (name, value) = line.split_once(':').ok_or_else(|| malformed("a header has no colon"))?;
        let value = value.trim().to_ascii_lowercase();
        match name.to_ascii_lowercase().as_str() {
            "content-length" if matches!(head.framing, Framing::Length(_)) => {
                let length = value.parse().map_err(|_| malformed("content-length is no number"))?;
                head.framing = Framing::Length(length);
            }
            "transfer-encoding" if value == "chunked" => head.framing = Framing::Chunked,
            "transfer-encoding" | "content-encoding" => {
                return Err(malformed("only plain and chunked bodies are read here"));
            }
            "connection" if value == "close" => head.after = After::Close,
            "expect" => head.expects_continue = value == "100-continue",
            _ => {}
        }
    }
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line =
            read_line(&mut reader.by_ref().take(HEAD_MAX_BYTES))?.ok_or_else(|| malformed("a chunk is missing"))?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16).map_err(|_| malformed("a chunk has no size"))?;
        if size == 0 {
            break;
        }
        let room = BODY_MAX_BYTES.saturating_sub(body.len() as u64);
        if size > room {
            return Err(malformed("the body is too large"));
        }
        body.extend(read_exactly(reader, size)?);
        read_line(&mut reader.by_ref().take(2))?;
    }
    // Trailers, up to the empty line that ends them.
    let mut trailers = reader.by_ref().take(HEAD_MAX_BYTES);
    while read_line(&mut trailers)?.is_some_and(|line| !line.is_empty()) {}
    Ok(body)
}

fn read_exactly(reader: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    if length > BODY_MAX_BYTES {
        return Err(malformed("the body is too large"));
    }
    let mut body = Vec::new();
    reader.take(length).read_to_end(&mut body)?;
    if (body.len() as u64) < length {
        return Err(malformed("the body ends early"));
    }
    Ok(body)
}

/// One line without its line break, or `None` at the end of the stream.
fn read_line(reader: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    if !line.ends_with('\n') {
        return Err(malformed("a line is cut off or too long"));
    }
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Ok(Some(line))
}

/// Writes a complete response. Each event is sent in its own chunk.
pub(super) fn write_response(writer: &mut impl Write, request: &Request, response: &Response) -> io::Result<()> {
    let (status, reason) = (response.status, reason(response.status));
    let connection = match request.after {
        After::Keep => "keep-alive",
        After::Close => "close",
    };
    write!(writer, "HTTP/1.1 {status} {reason}\r\nconnection: {connection}\r\n")?;
    match &response.body {
        Body::Json(value) => {
            let text = value.to_string();
            let length = text.len();
            write!(writer, "content-type: application/json\r\ncontent-length: {length}\r\n\r\n")?;
            if request.method != "HEAD" {
                writer.write_all(text.as_bytes())?;
            }
        }
        Body::Events(events) => {
            writer.write_all(
                b"content-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n",
            )?;
            for event in events {
                let name = event.name.map(|name| format!("event: {name}\n")).unwrap_or_default();
                let text = format!("{name}data: {}\n\n", event.data);
                write!(writer, "{:x}\r\n{text}\r\n", text.len())?;
                writer.flush()?;
            }
            writer.write_all(b"0\r\n\r\n")?;
        }
    }
    writer.flush()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        500 => "Internal Server Error",
        _ => "Status",
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
