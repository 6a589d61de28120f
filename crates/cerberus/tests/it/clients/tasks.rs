//! The harness of `cerberus-bench tasks`, with the real Claude Code and a scripted model: it scores what the model does,
//! which depends on what it is told. A model that does the opposite of what it is told must make Cerberus lose.

use cerberus_testkit::tasks::agents::Player;
use cerberus_testkit::tasks::play::{Table, TaskModel, TaskResult, play};
use cerberus_testkit::tasks::scripted::Mind;
use cerberus_testkit::tasks::{self, Arm};

fn played(name: &str, arm: Arm, mind: Mind) -> TaskResult {
    let player = Player::find("claude").unwrap();
    let agent = player.client().pin().locate().unwrap();
    let players =
        Table { player, agent, cerberus: env!("CARGO_BIN_EXE_cerberus").into(), model: TaskModel::Scripted(mind) };
    let task = tasks::all().into_iter().find(|task| task.name == name).unwrap();
    play(&players, &task, arm).unwrap()
}

/// Whether it was passed, and whether what was corrected was done again.
fn score(result: &TaskResult) -> (bool, bool) {
    (result.passed, result.repeats > 0)
}

#[test]
fn a_model_that_heeds_what_it_is_told_needs_to_be_told() {
    let results = Arm::ALL.map(|arm| played("slug", arm, Mind::Heeds));
    assert_eq!(results.each_ref().map(score), [(false, true), (true, false), (true, false)], "{results:?}");
    let [nothing, files, ours] = results;
    assert_eq!((nothing.tool_calls, files.tool_calls, ours.tool_calls), (3, 5, 3), "two notes are tool calls");
    assert_eq!((nothing.later_sessions, nothing.repeats), (1, 1));
    assert!(ours.tokens > nothing.tokens, "a brief costs tokens: {} and {}", ours.tokens, nothing.tokens);
    assert!(ours.cost_usd > nothing.cost_usd && nothing.cost_usd > Some(0.0), "{:?}", nothing.cost_usd);
}

#[test]
fn a_model_that_does_the_opposite_makes_memory_lose() {
    let results = [Arm::Nothing, Arm::Cerberus].map(|arm| played("slug", arm, Mind::Defies));
    assert_eq!(results.each_ref().map(score), [(true, false), (false, true)], "{results:?}");
}

#[test]
fn a_conversation_that_is_compacted_goes_on_and_is_told_what_it_lost() {
    let results = [Arm::Nothing, Arm::Cerberus].map(|arm| played("retry", arm, Mind::Heeds));
    assert_eq!(results.each_ref().map(score), [(false, true), (true, false)], "{results:?}");
}
