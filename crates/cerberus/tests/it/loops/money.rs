//! Limits in dollars hold inside a context, and every context counts, however it ended.

use std::process::Stdio;

use cerberus_testkit::fake_agent::{Act, Tongue};
use cerberus_testkit::process::wait_until;

use super::{LIMIT, Stage, begins, with, works};

/// The fake agent's model is of no known price, so it is counted at the highest of its vendor: $15 per million.
const DOLLARS_PER_TOKEN: f64 = 15.0 / 1_000_000.0;

fn cost(stage: &Stage, row: usize) -> f64 {
    stage.history()[row]["cost_usd"].as_f64().unwrap_or_else(|| panic!("{:#?}", stage.history()))
}

#[test]
fn a_limit_in_dollars_holds_before_the_agent_reports_a_cost() {
    let hungry = with(&[&begins(), &[Act::Say("more", 40_000), Act::Say("and more", 60_000), Act::Hang]]);
    let stage = Stage::new(Tongue::ClaudeCode, &[hungry]);
    stage.run(&["--max-cost-usd", "1"]).ended(3, "the limit of cost is reached");
    assert_eq!(stage.history().len(), 1);
    let spent = cost(&stage, 0);
    assert!((spent - 105_000.0 * DOLLARS_PER_TOKEN).abs() < 0.01, "{spent}");
    // The model is in no table, and that is said wherever the cost is.
    for command in ["status", "history", "list"] {
        let text = stage.env.ok(&["loop", command]);
        let told = format!("at most ${spent:.2}: the price of claude-fake-1 is unknown (prices of 20");
        assert!(text.contains(&told), "{command}: {text}");
        let json = stage.env.json(&["loop", command]);
        assert!(json.to_string().contains("\"unknown\":[\"claude-fake-1\"]"), "{json}");
    }
}

#[test]
fn a_context_that_is_stopped_at_the_hard_redline_counts() {
    let full = with(&[&begins(), &[Act::Shell("date +%N >> a"), Act::Say("crowded", 90_000), Act::Hang]]);
    let stage = Stage::new(Tongue::ClaudeCode, &[full]);
    let ran = stage.run(&["--context-window", "100000", "--max-cost-usd", "4"]);
    ran.ended(3, "the limit of cost is reached");
    assert_eq!(stage.history().len(), 3, "three contexts of $1.43");
    let status = stage.env.json(&["loop", "status"]);
    let spent = status["cost_usd"].as_f64().unwrap();
    assert!((spent - 3.0 * 95_000.0 * DOLLARS_PER_TOKEN).abs() < 0.01, "{spent}");
}

#[test]
fn writing_the_handoff_costs_too() {
    let asked =
        [Act::Say("crowded", 75_000), Act::Await, Act::Say("more", 80_000), Act::Say("more", 81_000), Act::Hang];
    let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &[Act::Shell("date +%N >> a")], &asked])]);
    let ran = stage.run(&["--context-window", "100000", "--max-cost-usd", "2"]);
    ran.ended(3, "the limit of cost is reached");
    assert_eq!(stage.history().len(), 1);
}

#[test]
fn the_agent_gets_what_is_left_as_its_own_limit() {
    let stage = Stage::new(Tongue::ClaudeCode, &[works("date +%N >> a")]);
    stage.run(&["--max-cost-usd", "0.6", "--max-iterations", "2"]).ended(3, "iterations");
    assert!(stage.agent.arguments(1).contains("--max-budget-usd 0.6000"), "{}", stage.agent.arguments(1));
    assert!(stage.agent.arguments(2).contains("--max-budget-usd 0.3500"), "{}", stage.agent.arguments(2));
}

const MYSTERY: &str = r#"echo '{"type":"assistant","message":{"id":"z","model":"mystery-1","content":[],"usage":{"input_tokens":1000}}}'"#;

#[test]
fn a_model_of_unknown_price_is_refused_until_the_user_gives_one() {
    let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &[Act::Shell(MYSTERY), Act::Hang]])]);
    let ran = stage.run(&["--max-cost-usd", "5"]);
    ran.ended(5, "the price of mystery-1 is unknown").ended(5, "[prices] in config.toml");
    std::fs::write(stage.env.home().join("config.toml"), "[prices.mystery-1]\ninput = 5000.0\noutput = 0\n").unwrap();
    stage.run(&["--max-cost-usd", "5"]).ended(3, "the limit of cost is reached");
    assert!(cost(&stage, 0) >= 5.0);
    // Without a limit in dollars, nobody needs the price.
    let stage =
        Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &[Act::Shell(MYSTERY), Act::Done("x"), Act::Leave]])]);
    stage.run(&["--max-iterations", "1"]).ended(3, "iterations");
}

/// What Codex writes into its session file: its model, then its tokens so far.
const ROLLOUT: &str = r#"d="$HOME/.codex/sessions/2026/01/22"; mkdir -p "$d"; {
echo '{"type":"turn_context","payload":{"model":"gpt-5.5"}}'
echo '{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":200000,"cached_input_tokens":100000,"output_tokens":10000,"total_tokens":210000},"last_token_usage":{"total_tokens":5000},"model_context_window":258400}}}'
} > "$d/rollout-2026-01-22T00-00-00-$s.jsonl""#;

#[test]
fn an_agent_that_reports_no_cost_is_priced_by_its_tokens() {
    let acts = [Act::Start, Act::Say("I look around.", 0), Act::Shell(ROLLOUT), Act::Say("more", 0), Act::Hang];
    let stage = Stage::new(Tongue::Codex, &[acts.to_vec()]);
    stage.run(&["--max-cost-usd", "0.5"]).ended(3, "the limit of cost is reached");
    // 100,000 tokens at $5, as many cached ones at $0.50, and 10,000 of output at $30 per million.
    assert!((cost(&stage, 0) - 0.85).abs() < 0.001, "{}", cost(&stage, 0));
    let text = stage.env.ok(&["loop", "history"]);
    assert!(text.contains(", $0.85 by prices of 20"), "{text}");
}

#[test]
fn a_context_whose_runner_was_killed_counts() {
    let at_work = [Act::Say("more", 40_000), Act::Shell("echo x > at-work"), Act::Hang];
    let stage = Stage::new(Tongue::ClaudeCode, &[with(&[&begins(), &at_work]), works("true")]);
    let mut child = stage.command(&[]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let file = stage.env.project().join("at-work");
    wait_until("the agent to work", LIMIT, || file.exists().then_some(())).unwrap();
    let log = || stage.env.json(&["loop", "status"])["session_id"].is_string();
    wait_until("the session to be recorded", LIMIT, || log().then_some(())).unwrap();
    let is_written_down = || {
        let mut outputs = std::fs::read_dir(stage.env.home().join("loops")).unwrap().map(|dir| dir.unwrap().path());
        outputs
            .any(|dir| std::fs::read_to_string(dir.join("output-1-1-1.log")).is_ok_and(|said| said.contains("40000")))
    };
    wait_until("its output to be written down", LIMIT, || is_written_down().then_some(())).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    stage.resume(&["--max-iterations", "2"]).ended(3, "iterations");
    let row = &stage.history()[0];
    assert_eq!((row["ended_by"].as_str(), row["tokens"].as_u64()), (Some("runner-died"), Some(45_020)), "{row:#}");
    assert!((cost(&stage, 0) - 45_000.0 * DOLLARS_PER_TOKEN).abs() < 0.01, "{row:#}");
}
