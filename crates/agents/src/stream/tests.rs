use proptest::prelude::*;

use super::*;
use crate::{claude_code, codex, gemini, opencode};

fn check(reader: fn(&[u8]) -> Vec<StreamEvent>, line: &str, events: &[StreamEvent]) {
    let read = read(reader, line.as_bytes()).into_iter().filter(|event| !matches!(event, StreamEvent::Billed(_)));
    assert_eq!(read.collect::<Vec<_>>(), events, "{line}");
}

#[test]
fn tokens_are_billed_by_price_class() {
    let bill = |reader: fn(&[u8]) -> Vec<StreamEvent>, line: &str| {
        let mut bills = read(reader, line.as_bytes()).into_iter().filter_map(|event| match event {
            StreamEvent::Billed(bill) => Some(bill),
            _ => None,
        });
        bills.next().unwrap_or_default()
    };
    let said = bill(
        claude_code::stream::read,
        r#"{"type":"assistant","message":{"id":"m1","model":"claude-x","content":[{"type":"thinking","thinking":"12345678"},
            {"type":"tool_use","name":"Write","input":{"path":"12345678901234"}}],"usage":{"input_tokens":3,
            "cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":7}}}"#,
    );
    let tokens = TokenUsage { input: 3, cache_read: 100, cache_write: 20, output: 7, ..TokenUsage::default() };
    let (message, model) = (Some("m1".to_string()), Some("claude-x".to_string()));
    assert_eq!(said, Bill { message, model, tokens, written: 6, cost_usd: None });
    let line = r#"{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":900,
        "cached_input_tokens":700,"output_tokens":50,"total_tokens":950}}}}"#;
    let tokens = TokenUsage { input: 200, cache_read: 700, output: 50, ..TokenUsage::default() };
    assert_eq!(bill(codex::rollout::read, line), Bill { tokens, ..Bill::default() });
    let line = r#"{"type":"turn_context","payload":{"model":"gpt-x","cwd":"/p"}}"#;
    assert_eq!(read(codex::rollout::read, line.as_bytes()), [StreamEvent::Model("gpt-x".into())]);
}

fn done(words: &str) -> StreamEvent {
    StreamEvent::Finished(Finish::Done { words: words.into() })
}

fn failed(kind: &str, http_status: Option<u16>, words: &str) -> StreamEvent {
    StreamEvent::Finished(Finish::Failed(Fault { kind: kind.into(), http_status, words: words.into() }))
}

fn waiting(wait: Wait, kind: &str, http_status: Option<u16>, words: &str) -> StreamEvent {
    StreamEvent::Waiting { wait, fault: Fault { kind: kind.into(), http_status, words: words.into() } }
}

fn usage(message: &str, context: u64, output: u64, own: Speaker) -> StreamEvent {
    StreamEvent::Usage { message: Some(message.into()), context, output, own }
}

fn tool(name: &str, what: &str) -> StreamEvent {
    StreamEvent::Tool { name: name.into(), what: what.into() }
}

fn window(model: &str, tokens: u64) -> StreamEvent {
    StreamEvent::Window { model: model.into(), tokens }
}

#[test]
fn claude_code_reports_session_text_tools_and_usage() {
    let at = |secs: i64| Wait::Until(Timestamp::from_millis(secs * 1_000));
    for (line, events) in [
        (
            r#"{"type":"system","subtype":"init","cwd":"/r","session_id":"s1","model":"claude-x","tools":["Bash"]}"#,
            vec![StreamEvent::Started { session: "s1".into(), model: Some("claude-x".into()) }],
        ),
        (r#"{"type":"system","subtype":"init"}"#, vec![StreamEvent::Unknown]),
        (r#"{"type":"system","subtype":"task_started","task_id":"b"}"#, vec![StreamEvent::Unknown]),
        (
            r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":160000}}"#,
            vec![StreamEvent::Compacted],
        ),
        (
            r#"{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":580,"error_status":529,"error":"overloaded"}"#,
            vec![waiting(Wait::For(Duration::from_millis(580)), "overloaded", Some(529), "")],
        ),
        (
            r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1769083200}}"#,
            vec![waiting(at(1_769_083_200), "rate_limit", None, "the usage limit is reached")],
        ),
        (
            r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1769083200}}"#,
            vec![StreamEvent::Unknown],
        ),
        (
            r#"{"type":"assistant","message":{"id":"m1","model":"claude-x","content":[{"type":"text","text":"I look."},
                {"type":"tool_use","id":"t","name":"Bash","input":{"description":"list","command":"ls -l\nwc"}}],
                "usage":{"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":7}},
                "parent_tool_use_id":null,"session_id":"s1"}"#,
            vec![StreamEvent::Text("I look.".into()), tool("Bash", "ls -l wc"), usage("m1", 123, 7, Speaker::Main)],
        ),
        (
            r#"{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"found"}],
                "usage":{"input_tokens":900}},"parent_tool_use_id":"toolu_1"}"#,
            vec![usage("m2", 900, 0, Speaker::Subagent)],
        ),
        (
            r#"{"type":"assistant","message":{"id":"m3","content":[{"type":"thinking","thinking":"hm"}],"usage":{}}}"#,
            vec![StreamEvent::Unknown],
        ),
        (
            r#"{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}],
                "usage":{"input_tokens":0}},"error":"overloaded"}"#,
            vec![StreamEvent::Unknown],
        ),
        (
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"hi"}]}}"#,
            vec![StreamEvent::ToolDone],
        ),
        (
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","is_error":true,"content":"x"}]}}"#,
            vec![StreamEvent::ToolFailed],
        ),
        (
            r#"{"type":"user","parent_tool_use_id":"t","message":{"content":[{"type":"tool_result","is_error":true}]}}"#,
            vec![StreamEvent::Unknown],
        ),
        (
            r#"{"type":"control_response","response":{"subtype":"success","request_id":"r","response":
                {"totalTokens":3064,"maxTokens":1000000,"model":"claude-x"}}}"#,
            vec![window("claude-x", 1_000_000)],
        ),
        (
            r#"{"type":"control_response","response":{"subtype":"error","error":"no such request"}}"#,
            vec![StreamEvent::Unknown],
        ),
    ] {
        check(claude_code::stream::read, line, &events);
    }
}

#[test]
fn input_for_claude_code_is_one_line() {
    let line = crate::claude_code::stream::prompt("first\nsecond \"third\"");
    assert_eq!(line.find('\n'), Some(line.len() - 1), "{line}");
    let read: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&read["type"], &read["message"]["content"]), (&"user".into(), &"first\nsecond \"third\"".into()));
    assert!(crate::claude_code::stream::ask_window("r1").contains(r#""subtype":"get_context_usage""#));
}

#[test]
fn claude_codes_result_has_the_totals_and_the_window() {
    let spent = |tokens, cost_usd| StreamEvent::Spent { tokens, cost_usd };
    for (line, events) in [
        (
            r#"{"type":"result","subtype":"success","is_error":false,"result":"Done.","total_cost_usd":0.5,"usage":{"input_tokens":2},
                "modelUsage":{"claude-x":{"inputTokens":10,"outputTokens":5,"cacheReadInputTokens":3,
                "cacheCreationInputTokens":2,"contextWindow":200000},"claude-y":{"inputTokens":1,"contextWindow":100000}}}"#,
            vec![window("claude-x", 200_000), window("claude-y", 100_000), spent(21, Some(0.5)), done("Done.")],
        ),
        (
            r#"{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"terminal_reason":"api_error",
                "result":"API Error: Request rejected (429)","modelUsage":{}}"#,
            vec![failed("api_error", Some(429), "API Error: Request rejected (429)")],
        ),
        (
            r#"{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529 {\"type\":\"error\"}"}"#,
            vec![failed("success", Some(529), "API Error: 529 {\"type\":\"error\"}")],
        ),
        (
            r#"{"type":"result","subtype":"error_max_turns","is_error":false,"usage":{"input_tokens":2,"output_tokens":1},
                "permission_denials":[{"tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"rm x"}}]}"#,
            vec![spent(3, None), StreamEvent::Denied { tool: "Bash".into() }, failed("error_max_turns", None, "")],
        ),
    ] {
        check(claude_code::stream::read, line, &events);
    }
}

#[test]
fn codex_reports_tools_text_and_the_threads_totals() {
    for (line, events) in [
        (
            r#"{"type":"thread.started","thread_id":"019d"}"#,
            vec![StreamEvent::Started { session: "019d".into(), model: None }],
        ),
        (r#"{"type":"turn.started"}"#, vec![StreamEvent::Unknown]),
        (
            r#"{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"bash -lc ls","status":"in_progress"}}"#,
            vec![tool("command", "bash -lc ls")],
        ),
        (
            r#"{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"bash -lc ls","exit_code":0}}"#,
            vec![StreamEvent::ToolDone],
        ),
        (
            r#"{"type":"item.completed","item":{"type":"command_execution","command":"ls","exit_code":1,"status":"failed"}}"#,
            vec![StreamEvent::ToolFailed],
        ),
        (
            r#"{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"/r/a.rs","kind":"add"},{"path":"/r/b.rs"}]}}"#,
            vec![tool("edit", "/r/a.rs /r/b.rs")],
        ),
        (
            r#"{"type":"item.started","item":{"type":"mcp_tool_call","server":"cerberus","tool":"session_record"}}"#,
            vec![tool("mcp", "cerberus session_record")],
        ),
        (
            r#"{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"It is done."}}"#,
            vec![StreamEvent::Text("It is done.".into())],
        ),
        (
            r#"{"type":"turn.completed","usage":{"input_tokens":24763,"cached_input_tokens":24448,"output_tokens":122}}"#,
            vec![StreamEvent::Spent { tokens: 24_885, cost_usd: None }, done("")],
        ),
        (
            r#"{"type":"error","message":"Reconnecting... 1/5 (unexpected status 503 Service Unavailable)"}"#,
            vec![waiting(
                Wait::Unknown,
                "error",
                Some(503),
                "Reconnecting... 1/5 (unexpected status 503 Service Unavailable)",
            )],
        ),
        (
            r#"{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: no key"}}"#,
            vec![failed("turn.failed", Some(401), "unexpected status 401 Unauthorized: no key")],
        ),
        (
            r#"{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}"#,
            vec![failed("turn.failed", Some(429), "exceeded retry limit, last status: 429 Too Many Requests")],
        ),
        (r#"{"type":"thread.renamed","name":"x"}"#, vec![StreamEvent::Unknown]),
    ] {
        check(codex::stream::read, line, &events);
    }
}

#[test]
fn codexs_session_file_has_the_size_of_the_context() {
    let main = |context, output| StreamEvent::Usage { message: None, context, output, own: Speaker::Main };
    for (line, events) in [
        (
            r#"{"timestamp":"2026-06-18T04:00:00Z","type":"event_msg","payload":{"type":"token_count","info":{
                "total_token_usage":{"input_tokens":9000,"output_tokens":500,"total_tokens":9500},
                "last_token_usage":{"input_tokens":4000,"output_tokens":90,"total_tokens":4090},
                "model_context_window":258400},"rate_limits":{"primary":{"used_percent":14.0,"resets_at":1781750650},
                "rate_limit_reached_type":null}}}"#,
            vec![window("", 258_400), main(4_090, 90), StreamEvent::Spent { tokens: 9_500, cost_usd: None }],
        ),
        (
            r#"{"type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":{"rate_limit_reached_type":
                "primary","primary":{"used_percent":100.0,"resets_at":1781750650},"secondary":{"used_percent":40.0,
                "resets_at":1782337450}}}}"#,
            vec![waiting(
                Wait::Until(Timestamp::from_millis(1_781_750_650_000)),
                "primary",
                None,
                "the usage limit is reached",
            )],
        ),
        (r#"{"type":"compacted","payload":{"message":"summary"}}"#, vec![StreamEvent::Compacted]),
        (r#"{"type":"event_msg","payload":{"type":"token_count","info":null}}"#, vec![]),
        (r#"{"type":"response_item","payload":{"type":"message"}}"#, vec![]),
        (r#"{"type":"event_msg","payload":{"type":"token_cou"#, vec![]),
    ] {
        check(codex::rollout::read, line, &events);
    }
}

#[test]
fn gemini_reports_its_tools_and_its_end_and_its_chat_the_rest() {
    let failed_by = |kind: &str, status, words: &str| failed(kind, status, words);
    for (line, events) in [
        (
            r#"{"type":"init","timestamp":"2026-11-16T10:13:21.014Z","session_id":"s1","model":"gemini-2.5-pro"}"#,
            vec![StreamEvent::Started { session: "s1".into(), model: Some("gemini-2.5-pro".into()) }],
        ),
        (r#"{"type":"message","role":"assistant","content":"All","delta":true}"#, vec![StreamEvent::Unknown]),
        (
            r#"{"type":"tool_use","tool_name":"write_file","tool_id":"t","parameters":{"content":"x","file_path":"/r/one.txt"}}"#,
            vec![tool("write_file", "/r/one.txt")],
        ),
        (r#"{"type":"tool_result","tool_id":"t","status":"success"}"#, vec![StreamEvent::ToolDone]),
        (r#"{"type":"tool_result","tool_id":"t","status":"error"}"#, vec![StreamEvent::ToolFailed]),
        (
            r#"{"type":"error","severity":"error","message":"quota"}"#,
            vec![waiting(Wait::Unknown, "error", None, "quota")],
        ),
        (r#"{"type":"error","severity":"warning","message":"loop"}"#, vec![StreamEvent::Unknown]),
        (
            r#"{"type":"result","status":"success","stats":{"total_tokens":18089,"input_tokens":18000,"cached":5000}}"#,
            vec![StreamEvent::Spent { tokens: 18_089, cost_usd: None }, done("")],
        ),
        (
            r#"{"type":"result","status":"error","error":{"type":"FatalAuth","message":"API Error: 401"},"stats":{}}"#,
            vec![failed_by("FatalAuth", Some(401), "API Error: 401")],
        ),
    ] {
        check(gemini::stream::read, line, &events);
    }
    let usage = |context| StreamEvent::Usage { message: Some("m".into()), context, output: 0, own: Speaker::Main };
    let said = r#"{"id":"m","type":"gemini","content":"All done.","thoughts":[],"tokens":{"input":7000,"output":12,"cached":2000,
        "thoughts":30,"tool":0,"total":7042},"model":"gemini-2.5-pro"}"#;
    let events = gemini::stream::chat(said.as_bytes());
    let tokens = TokenUsage { input: 5_000, cache_read: 2_000, output: 42, ..TokenUsage::default() };
    let (message, model) = (Some("m".to_string()), Some("gemini-2.5-pro".to_string()));
    let bill = StreamEvent::Billed(Bill { message, model, tokens, ..Bill::default() });
    assert_eq!(events, [StreamEvent::Text("All done.".into()), usage(7_042), bill]);
    let again = said.replace(r#""thoughts":[],"#, r#""toolCalls":[{"id":"x"}],"#);
    check(gemini::stream::chat, &again, &[usage(7_042)]);
    check(gemini::stream::chat, r#"{"id":"u","type":"user","content":[{"text":"go"}]}"#, &[]);
}

#[test]
fn opencode_reports_every_step() {
    let usage = |context| StreamEvent::Usage { message: Some("p1".into()), context, output: 0, own: Speaker::Main };
    for (line, events) in [
        (
            r#"{"type":"step_start","sessionID":"ses_1","part":{"id":"p","type":"step-start"}}"#,
            vec![StreamEvent::Started { session: "ses_1".into(), model: None }],
        ),
        (
            r#"{"type":"tool_use","sessionID":"ses_1","part":{"tool":"write","state":{"status":"completed","input":{"content":"x",
                "filePath":"/r/one.txt"}}}}"#,
            vec![tool("write", "/r/one.txt"), StreamEvent::ToolDone],
        ),
        (
            r#"{"type":"tool_use","part":{"tool":"bash","state":{"status":"error","input":{"command":"ls"}}}}"#,
            vec![tool("bash", "ls"), StreamEvent::ToolFailed],
        ),
        (r#"{"type":"text","part":{"text":"All done."}}"#, vec![StreamEvent::Text("All done.".into())]),
        (
            r#"{"type":"step_finish","part":{"id":"p1","reason":"tool-calls","tokens":{"total":5040,"input":5000,"output":40,
                "reasoning":5,"cache":{"write":100,"read":200}},"cost":0}}"#,
            vec![usage(5_345)],
        ),
        (r#"{"type":"step_finish","part":{"id":"p1","reason":"stop","tokens":{}}}"#, vec![done("")]),
        (
            r#"{"type":"error","error":{"name":"APIError","data":{"message":"Overloaded","statusCode":529}}}"#,
            vec![failed("APIError", Some(529), "Overloaded")],
        ),
    ] {
        check(opencode::stream::read, line, &events);
    }
    let line = r#"{"type":"step_finish","part":{"id":"p1","reason":"stop","tokens":{"input":9},"cost":0.25}}"#;
    let bills = opencode::stream::read(line.as_bytes());
    assert!(matches!(&bills[1], StreamEvent::Billed(bill) if bill.cost_usd == Some(0.25)), "{bills:?}");
}

#[test]
fn any_other_program_prints_text() {
    check(plain::read, "building…\r\n", &[StreamEvent::Text("building…".into())]);
    check(plain::read, "  \n", &[]);
    assert_eq!(plain::read(b"a\xffb"), [StreamEvent::Text("a\u{fffd}b".into())]);
}

#[test]
fn a_status_is_only_read_from_known_phrases() {
    for (words, status) in [
        ("API Error: 529 Overloaded", Some(529)),
        ("API Error (500 internal)", Some(500)),
        ("unexpected status 401 Unauthorized", Some(401)),
        ("port 429 is in use", None),
        ("API Error: connection refused", None),
        ("API Error: 99999999 things", None),
    ] {
        assert_eq!(http_status(words), status, "{words}");
    }
}

const SAMPLES: [&str; 4] = [
    r#"{"type":"result","subtype":"success","is_error":true,"total_cost_usd":1e400,"usage":{"input_tokens":-5,"output_tokens":1e30},"modelUsage":{"m":{"contextWindow":"big"}},"permission_denials":{"tool_name":1}}"#,
    r#"{"type":"assistant","message":{"id":7,"content":"words","usage":{"input_tokens":18446744073709551615,"cache_read_input_tokens":18446744073709551615}}}"#,
    r#"{"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"total_tokens":null}},"rate_limits":{"rate_limit_reached_type":"x","primary":{"used_percent":1e99,"resets_at":1e99}}}}"#,
    r#"{"type":"item.completed","item":{"type":"agent_message","text":"é日本"}}"#,
];

proptest! {
    #[test]
    fn no_line_is_an_error(line in proptest::collection::vec(any::<u8>(), 0..200), sample in 0usize..4, cut in 0usize..400) {
        let torn = &SAMPLES[sample].as_bytes()[..cut.min(SAMPLES[sample].len())];
        for bytes in [line.as_slice(), torn] {
            for reader in [claude_code::stream::read, codex::stream::read, plain::read] {
                let events = read(reader, bytes);
                prop_assert_eq!(events.is_empty(), bytes.trim_ascii().is_empty());
            }
            codex::rollout::read(bytes);
        }
    }
}
