//! kill -9 at any instant: what was acknowledged is there, once.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::env;

/// A small generator with a fixed seed, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[test]
fn a_thousand_hooks_killed_at_random_lose_nothing_acknowledged() {
    let env = env();
    env.start("s1", "startup");
    let mut dice = Dice(7);
    let mut acknowledged = Vec::new();
    for round in 0..1000 {
        let path = env.project().join(format!("f{round}.rs"));
        let extra = json!({"tool_name": "Write", "tool_use_id": format!("t{round}"),
            "tool_input": {"file_path": path, "content": "fn x() {}\n".repeat(400)}});
        let payload = env.payload("s1", "PostToolUse", extra);
        let mut command = env.command();
        command.args(["hook", "claude-code"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let _ = stdin.write_all(&payload);
        drop(stdin);
        // The instant of the kill is what is random here; nothing waits for time to pass.
        std::thread::sleep(Duration::from_micros(dice.below(6_000)));
        let _ = child.kill();
        if child.wait().unwrap().success() {
            acknowledged.push(format!("impl:f{round}.rs"));
        }
        // A start in between folds while others die.
        if round % 250 == 0 {
            env.start("s2", "startup");
        }
    }
    let sessions = env.sessions();
    let session = sessions.iter().find(|session| session["agent_session_id"] == "s1").unwrap();
    let stored: std::collections::HashSet<&str> =
        session["facts"].as_array().unwrap().iter().filter_map(|fact| fact["code"].as_str()).collect();
    let lost: Vec<_> = acknowledged.iter().filter(|code| !stored.contains(code.as_str())).collect();
    assert!(lost.is_empty(), "{} of {} lost: {lost:?}", lost.len(), acknowledged.len());
    let tools = session["tools_used"]["Write"].as_u64().unwrap() as usize;
    assert!(tools >= acknowledged.len() && tools <= 1000);
    assert!((50..950).contains(&acknowledged.len()), "{} acknowledged: the kills missed", acknowledged.len());
    assert_eq!(env.json(&["doctor"])["checks"][2]["ok"], true);
}
