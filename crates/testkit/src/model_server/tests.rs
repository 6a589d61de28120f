//! Tests of the server over a plain socket, without an agent.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::json;

use super::*;
use crate::process::LIMIT;

/// A connection with hand-written HTTP.
struct Client {
    reader: BufReader<TcpStream>,
}

/// The status, and the body with its chunks joined.
type Answer = (u16, String);

impl Client {
    fn connect(server: &ModelServer) -> Self {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Self { reader: BufReader::new(stream) }
    }

    fn send(&mut self, raw: &str) {
        self.reader.get_mut().write_all(raw.as_bytes()).unwrap();
    }

    fn post(&mut self, path: &str, body: &Value) -> Answer {
        let body = body.to_string();
        self.send(&format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        self.answer()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn bytes(&mut self, length: usize) -> String {
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn answer(&mut self) -> Answer {
        let status = self.line().split(' ').nth(1).unwrap().parse().unwrap();
        let mut length = None;
        loop {
            let line = self.line();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = Some(value.parse().unwrap());
            }
        }
        let body = match length {
            Some(length) => self.bytes(length),
            None => self.chunks(),
        };
        (status, body)
    }

    fn chunks(&mut self) -> String {
        let mut body = String::new();
        loop {
            let size = usize::from_str_radix(&self.line(), 16).unwrap();
            body += &self.bytes(size);
            self.line();
            if size == 0 {
                return body;
            }
        }
    }
}

/// A main request with this prompt.
fn main_request(prompt: &str) -> Value {
    json!({
        "model": "claude-opus-5-5",
        "system": [{ "type": "text", "text": "You act." }],
        "messages": [{ "role": "user", "content": prompt }],
        "tools": [{ "name": "Write", "input_schema": {} }],
    })
}

fn parse(answer: &Answer) -> Value {
    serde_json::from_str(&answer.1).unwrap()
}

/// The events of a stream. The name of each must match its data.
fn parse_events(stream: &str) -> Vec<Value> {
    let parse_one = |event: &str| {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name, format!("event: {}", data["type"].as_str().unwrap()));
        data
    };
    stream.split("\n\n").filter(|event| !event.is_empty()).map(parse_one).collect()
}

#[test]
fn gives_out_the_script_in_order_then_done() {
    let server = ModelServer::start([Reply::text("one"), Reply::tool("Write", json!({ "content": "x" }))]);
    let mut client = Client::connect(&server);
    let first = parse(&client.post("/v1/messages", &main_request("a")));
    assert_eq!((&first["content"][0]["text"], &first["stop_reason"]), (&json!("one"), &json!("end_turn")));
    let second = parse(&client.post("/v1/messages?beta=true", &main_request("b")));
    assert_eq!(second["content"][0]["input"], json!({ "content": "x" }));
    assert_eq!(second["stop_reason"], "tool_use");
    let third = parse(&client.post("/v1/messages", &main_request("c")));
    assert_eq!(third["content"][0]["text"], DONE_TEXT);
    assert_eq!(server.main_requests(), [main_request("a"), main_request("b"), main_request("c")]);
}

#[test]
fn streams_text_and_tools_as_events() {
    let input = json!({ "file_path": "/tmp/ä", "content": "größer\n" });
    let reply = Reply::text("zwölf").and_tool("Write", input.clone()).and_tool("Bash", json!({}));
    let server = ModelServer::start([reply]);
    let mut request = main_request("go");
    request["stream"] = json!(true);
    let (status, stream) = Client::connect(&server).post("/v1/messages", &request);
    assert_eq!(status, 200);
    let events = parse_events(&stream);
    let mut kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    kinds.dedup();
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    assert_eq!(kinds, [&["message_start"][..], &block, &block, &block, &["message_delta", "message_stop"]].concat());

    let joined = |index: u64, field: &str| -> String {
        events.iter().filter(|one| one["index"] == index).filter_map(|one| one["delta"][field].as_str()).collect()
    };
    assert_eq!(joined(0, "text"), "zwölf");
    assert_eq!(serde_json::from_str::<Value>(&joined(1, "partial_json")).unwrap(), input);
    assert_eq!(joined(2, "partial_json"), "{}");
    let closing = &events[events.len() - 2];
    assert_eq!(closing["delta"]["stop_reason"], "tool_use");
    assert!(closing["usage"]["output_tokens"].as_u64() > Some(1));
}

#[test]
fn side_requests_leave_the_script_alone() {
    let server = ModelServer::start([Reply::text("scripted")]);
    let mut client = Client::connect(&server);
    let (mut no_tools, mut small, mut search) = (main_request("t"), main_request("s"), main_request("w"));
    no_tools["tools"] = json!([]);
    small["model"] = json!("claude-haiku-5-5");
    search["tools"] = json!([{ "type": "web_search_20250305", "name": "web_search" }]);
    for side in [&no_tools, &small, &search] {
        assert_eq!(parse(&client.post("/v1/messages", side))["content"][0]["text"], SIDE_TEXT);
    }
    let counted = parse(&client.post("/v1/messages/count_tokens", &no_tools));
    assert!(counted["input_tokens"].as_u64() > Some(0));
    assert_eq!(parse(&client.post("/v1/messages", &main_request("m")))["content"][0]["text"], "scripted");
    assert_eq!((server.requests().len(), server.main_requests().len()), (5, 1));
}

#[test]
fn reads_chunked_bodies_and_goes_on_after_refusing_others() {
    let server = ModelServer::start([Reply::text("chunked")]);
    let mut client = Client::connect(&server);
    let body = main_request("ü").to_string();
    let (head, tail) = body.split_at(10);
    client.send("POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.line(), "HTTP/1.1 100 Continue");
    assert_eq!(client.line(), "");
    client.send(&format!("{:x};x=y\r\n{head}\r\n{:X}\r\n{tail}\r\n0\r\nTrailer: t\r\n\r\n", head.len(), tail.len()));
    assert_eq!(parse(&client.answer())["content"][0]["text"], "chunked");
    assert_eq!(server.main_requests(), [main_request("ü")]);

    client.send("HEAD /api/hello HTTP/1.1\r\n\r\n");
    assert_eq!(client.line(), "HTTP/1.1 404 Not Found");
    while !client.line().is_empty() {}
    assert_eq!(client.post("/v1/messages", &json!({ "tools": [] })).0, 400);
    assert_eq!(client.post("/v1/unknown", &json!({})).0, 404);
    client.send("POST /v1/messages HTTP/1.1\r\nContent-Length: 3\r\n\r\nhi!");
    assert_eq!(client.answer().0, 400);
    assert_eq!(server.requests().last(), Some(&json!("hi!")));
}

#[test]
fn a_hang_lasts_until_the_server_stops_and_frees_its_port() {
    let server = ModelServer::start([Reply::hang(), Reply::text("next")]);
    let (mut client, idle, address) = (Client::connect(&server), Client::connect(&server), server.address);
    let body = main_request("x").to_string();
    client.send(&format!("POST /v1/messages HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    server.wait_for_main_requests(1, LIMIT).unwrap();
    let other = Client::connect(&server).post("/v1/messages", &main_request("y"));
    assert_eq!(parse(&other)["content"][0]["text"], "next");
    drop(server);
    assert_eq!(client.line(), "", "the hanging request ends without an answer");
    drop((client, idle));
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn waiting_in_vain_tells_what_came() {
    let server = ModelServer::start([]);
    Client::connect(&server).post("/v1/messages/count_tokens", &main_request("x"));
    let told = server.wait_for_main_requests(1, Duration::ZERO).unwrap_err();
    assert!(told.contains("0 of 1") && told.contains("Other POST /v1/messages/count_tokens"), "{told}");
    assert_eq!(server.wait_for_requests(1, LIMIT).unwrap(), [main_request("x")]);
}

#[test]
fn ids_never_repeat_across_servers() {
    let mut seen = std::collections::HashSet::new();
    for _ in 0..3 {
        let server = ModelServer::start([Reply::tool("A", json!({})).and_tool("B", json!({}))]);
        let message = parse(&Client::connect(&server).post("/v1/messages", &main_request("x")));
        for id in [&message["id"], &message["content"][0]["id"], &message["content"][1]["id"]] {
            assert!(seen.insert(id.as_str().unwrap().to_owned()), "{id} came twice");
        }
    }
}

#[test]
fn request_text_holds_everything_the_model_reads() {
    let request = json!({
        "model": "not text",
        "system": [{ "type": "text", "text": "SYSTEM" }],
        "messages": [
            { "role": "user", "content": "PLAIN" },
            { "role": "assistant", "content": [{ "type": "tool_use", "id": "t1", "name": "Write",
                "input": { "type": "INPUT", "deep": ["NESTED"] } }] },
            { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "t1",
                "content": [{ "type": "text", "text": "RESULT" }] }] },
            { "role": "system", "content": "MIDWAY" },
        ],
    });
    assert_eq!(request_text(&request), "SYSTEM\nPLAIN\nNESTED\nINPUT\nWrite\nRESULT\nMIDWAY");
}

/// What a request of each protocol looks like, streamed: the path and the body.
fn streamed() -> [(&'static str, Value); 3] {
    let mut anthropic = main_request("go");
    anthropic["stream"] = json!(true);
    let openai = json!({
        "model": "gpt", "stream": true,
        "input": [{ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "go" }] }],
        "tools": [{ "type": "function", "name": "run" }, { "type": "custom", "name": "patch" }],
    });
    let gemini = json!({
        "contents": [{ "role": "user", "parts": [{ "text": "go" }] }],
        "tools": [{ "functionDeclarations": [{ "name": "run" }] }],
    });
    [
        ("/v1/messages", anthropic),
        ("/v1/responses", openai),
        ("/v1beta/models/gemini-2.5-pro:streamGenerateContent", gemini),
    ]
}

#[test]
fn every_protocol_takes_from_the_same_script() {
    for (path, request) in streamed() {
        let server = ModelServer::start([Reply::text("zwölf Zeichen"), Reply::fail(500)]);
        let mut client = Client::connect(&server);
        let (status, stream) = client.post(path, &request);
        assert_eq!((status, said(&stream).as_str()), (200, "zwölf Zeichen"), "{path}");
        assert_eq!(client.post(path, &request).0, 500, "{path}");
        let mut side = request.clone();
        side["tools"] = json!([]);
        assert_eq!(said(&client.post(path, &side).1), SIDE_TEXT, "{path}");
        assert_eq!(client.post(path, &json!({ "tools": [] })).0, 400, "{path}");
        assert_eq!(server.main_requests(), [request.clone(), request.clone()], "{path}");
        assert_eq!(request_text(&request).lines().last(), Some("go"), "{path}");
    }
}

/// The text of a stream of any protocol.
fn said(stream: &str) -> String {
    let piece = |line: &str| {
        let event: Value = serde_json::from_str(line.strip_prefix("data: ")?).unwrap();
        let (delta, gemini) = (&event["delta"], &event["candidates"][0]["content"]["parts"][0]["text"]);
        [&delta["text"], delta, gemini].into_iter().find_map(|text| text.as_str().map(str::to_string))
    };
    stream.lines().filter_map(piece).collect()
}

#[test]
fn tools_are_called_as_the_request_offers_them() {
    let called = || Reply::tool("run", json!({ "cmd": "ls" })).and_tool("patch", json!("*** Begin"));
    let reply = || called().and_tool("mcp__cerberus__brief", json!({}));
    let server = ModelServer::start([reply(), reply()]);
    let mut client = Client::connect(&server);
    let [_, (openai, mut request), (gemini, plain)] = streamed();
    request["stream"] = json!(false);
    let called = parse(&client.post(openai, &request))["output"].clone();
    assert_eq!((&called[0]["type"], &called[0]["arguments"]), (&json!("function_call"), &json!(r#"{"cmd":"ls"}"#)));
    assert_eq!((&called[1]["type"], &called[1]["input"]), (&json!("custom_tool_call"), &json!("*** Begin")));
    assert_eq!((&called[2]["namespace"], &called[2]["name"]), (&json!("mcp__cerberus"), &json!("brief")));
    let stream = client.post(gemini, &plain).1;
    let first: Value = serde_json::from_str(stream.lines().next().unwrap().strip_prefix("data: ").unwrap()).unwrap();
    let call = &first["candidates"][0]["content"]["parts"][0]["functionCall"];
    assert_eq!((&call["name"], &call["args"]), (&json!("run"), &json!({ "cmd": "ls" })));
    assert_eq!(first["candidates"][0]["finishReason"], Value::Null, "more comes");
    let counted = parse(&client.post("/v1beta/models/m:countTokens", &plain));
    assert!(counted["totalTokens"].as_u64() > Some(0));
}

#[test]
fn a_reply_waits_for_its_addressee() {
    let server = ModelServer::start([Reply::text("for a").to("AAA"), Reply::text("for any"), Reply::text("rest")]);
    let mut client = Client::connect(&server);
    let mut said = |prompt| parse(&client.post("/v1/messages", &main_request(prompt)))["content"][0]["text"].clone();
    assert_eq!(["BBB", "AAA", "AAA", "AAA"].map(&mut said), ["for any", "for a", "rest", DONE_TEXT]);
}
