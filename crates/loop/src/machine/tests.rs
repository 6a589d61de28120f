use std::time::Duration;

use cerberus_agents::meter::{Certainty, MeterReading};
use cerberus_agents::stream::Fault;
use cerberus_record::session::LoopEnd;
use proptest::prelude::*;

use super::*;
use crate::failure::ProgramExit;
use crate::settings::Layer;
use crate::totals::SpentIteration;

fn at(secs: u64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000).plus(Duration::from_secs(secs))
}

fn settings(text: &str) -> Settings {
    let layer: Layer = toml::from_str(text).unwrap();
    let standard: Layer = toml::from_str("agent = \"claude-code\"\nagent_args = [\"x\"]\nmin_interval = 0").unwrap();
    Settings::new(layer.over(standard)).unwrap()
}

fn reading(percent: f64) -> MeterReading {
    let tokens = Some((percent * 1_000.0) as u64);
    MeterReading { tokens, window: Some(100_000), percent: Some(percent), certainty: Certainty::Direct }
}

fn output(event: StreamEvent, percent: f64) -> Input {
    Input::Output { event, reading: reading(percent), tokens: 100, cost_usd: Some(0.5) }
}

fn text(percent: f64) -> Input {
    output(StreamEvent::Text("working".to_string()), percent)
}

fn done() -> Input {
    output(StreamEvent::Finished(Finish::Done { words: String::new() }), 10.0)
}

fn failed(kind: &str, http_status: Option<u16>, words: &str) -> Input {
    let fault = Fault { kind: kind.to_string(), http_status, words: words.to_string() };
    output(StreamEvent::Finished(Finish::Failed(fault)), 10.0)
}

fn gone() -> Input {
    Input::Exited { exit: ProgramExit::Code(0), words: String::new() }
}

fn measured(progress: LoopProgress) -> Input {
    Input::Measured { checked: None, progress, claimed: false }
}

/// Drives a machine and collects its effects as text.
struct Drive<'a> {
    machine: Machine<'a>,
    state: MachineState,
    wanted: Vec<String>,
}

impl<'a> Drive<'a> {
    fn new(settings: &'a Settings) -> Drive<'a> {
        let machine = Machine::new(settings);
        let state = machine.start(Totals::new(at(0)), at(0));
        Drive { machine, state, wanted: Vec::new() }
    }

    fn feed(&mut self, secs: u64, input: Input) -> &mut Drive<'a> {
        let (state, effects) = self.machine.step(self.state.clone(), input, at(secs));
        self.state = state;
        for effect in effects {
            self.wanted.push(match &effect {
                Effect::Begin => "begin".to_string(),
                Effect::Acknowledged => "acknowledged".to_string(),
                Effect::AskHook(how) => format!("hook {}", how.word()),
                Effect::AskHandoff => "ask".to_string(),
                Effect::GiveTask => "task".to_string(),
                Effect::CloseInput => "close".to_string(),
                Effect::StopGroup => "stop".to_string(),
                Effect::Measure => "measure".to_string(),
                Effect::Record(ended) => format!("ended {} {:?}", ended.how.word(), ended.counts),
                Effect::Tell(words) => format!("tell {words}"),
                Effect::SwitchAgent { .. } => "switch".to_string(),
                Effect::Finish(stop) => format!("finish {}", stop.class().word()),
            });
        }
        self
    }

    /// A whole successful iteration.
    fn iteration(&mut self, secs: u64, progress: LoopProgress) -> &mut Drive<'a> {
        self.feed(secs, Input::Tick).feed(secs, Input::HookAgreed).feed(secs, text(10.0));
        self.feed(secs, done()).feed(secs, gone()).feed(secs, measured(progress))
    }

    fn wanted(&mut self) -> String {
        std::mem::take(&mut self.wanted).join(", ")
    }

    fn stop(&self) -> Option<&StopReason> {
        match &self.state.phase {
            Phase::Stopped(stop) => Some(stop),
            _ => None,
        }
    }
}

#[test]
fn a_context_works_and_the_next_one_follows() {
    let settings = settings("max_iterations = 2");
    let mut drive = Drive::new(&settings);
    drive.iteration(0, LoopProgress::Made);
    assert_eq!(drive.wanted(), "begin, acknowledged, close, measure, ended iteration-end Spent");
    drive.iteration(5, LoopProgress::Made);
    let second = "hook iteration-end, begin, acknowledged, close, measure, ended iteration-end Spent, finish limit";
    assert_eq!(drive.wanted(), second);
    assert_eq!(drive.state.totals.spent, 2);
}

#[test]
fn the_soft_redline_asks_and_the_hard_one_stops() {
    let settings = settings("");
    let mut drive = Drive::new(&settings);
    drive.feed(0, Input::Tick).feed(1, text(69.0)).wanted();
    drive.feed(2, text(71.0)).feed(2, Input::HookAgreed);
    assert_eq!(drive.wanted(), "hook soft-redline, ask");
    // The current turn ends first; the handoff follows.
    drive.feed(3, done());
    assert_eq!(drive.wanted(), "");
    drive.feed(4, Input::HandedOver).feed(4, done()).feed(5, gone()).feed(5, measured(LoopProgress::Made));
    assert_eq!(drive.wanted(), "close, measure, ended soft-redline Spent");
    drive.feed(6, Input::Tick).feed(7, text(86.0)).feed(7, Input::HookAgreed);
    assert_eq!(drive.wanted(), "begin, acknowledged, hook hard-redline, stop", "the hook agreed before");
    drive.feed(8, gone()).feed(8, measured(LoopProgress::Made));
    assert_eq!(drive.wanted(), "measure, ended hard-redline Spent");
}

#[test]
fn a_session_that_does_not_hand_over_is_stopped() {
    for (inputs, name) in [(vec![(200, Input::Tick)], "in time"), (vec![(3, text(86.0))], "before the hard line")] {
        let settings = settings("");
        let mut drive = Drive::new(&settings);
        drive.feed(0, Input::Tick).feed(1, text(75.0)).feed(1, Input::HookAgreed).wanted();
        for (secs, input) in inputs {
            drive.feed(secs, input);
        }
        assert_eq!(drive.wanted(), "stop", "{name}");
    }
}

#[test]
fn every_trigger_leads_to_a_fresh_context() {
    let usage = || StreamEvent::Usage { message: None, context: 1, output: 1, own: Speaker::Main };
    for (text, event, secs, wanted) in [
        ("reboot_after_turns = 1", usage(), 1, "hook turns, ask"),
        ("reboot_after_tool_failures = 1", StreamEvent::ToolFailed, 1, "hook failure-streak, ask"),
        ("reboot_on_output = \"lost\"", StreamEvent::Text("I am lost here".into()), 1, "hook output-pattern, ask"),
        (
            "agent = \"command\"\nreboot_on_output = \"lost\"",
            StreamEvent::Text("lost".into()),
            1,
            "hook output-pattern, stop",
        ),
        ("", StreamEvent::Text("lost".into()), 1, ""),
    ] {
        let settings = settings(text);
        let mut drive = Drive::new(&settings);
        drive.feed(0, Input::Tick).feed(0, output(StreamEvent::Text("x".into()), 1.0)).wanted();
        drive.feed(secs, output(event, 1.0)).feed(secs, Input::HookAgreed);
        assert_eq!(drive.wanted(), wanted, "{text}");
    }
    let old = settings("reboot_after = 60");
    let mut drive = Drive::new(&old);
    drive.feed(0, Input::Tick).feed(59, output(StreamEvent::Text("x".into()), 1.0)).feed(60, Input::Tick);
    assert_eq!(drive.wanted(), "begin, acknowledged, hook duration");
}

#[test]
fn a_hook_that_refuses_keeps_the_context_and_at_its_end_stops_the_loop() {
    let settings = settings("");
    let mut drive = Drive::new(&settings);
    let refused = || Input::HookRefused { words: "busy".to_string() };
    drive.feed(0, Input::Tick).feed(1, text(71.0)).feed(1, refused()).feed(2, text(90.0));
    let notice = "tell the pre_reboot hook refused a fresh context; this one continues: busy";
    assert_eq!(drive.wanted(), format!("begin, acknowledged, hook soft-redline, {notice}"));
    drive.feed(3, done()).feed(4, gone()).feed(4, measured(LoopProgress::Made)).feed(5, Input::Tick).feed(5, refused());
    assert_eq!(drive.wanted(), "close, measure, ended iteration-end Spent, hook iteration-end, finish failed");
}

#[test]
fn each_kind_of_failure_has_its_own_consequence() {
    for (input, until, wanted) in [
        (failed("success", Some(529), ""), Some(61), "ended limited Again"),
        (failed("success", Some(401), "no key"), None, "ended failure Spent, finish needs attention"),
        (failed("error_during_execution", None, "boom"), Some(6), "ended failure Spent"),
        (failed("error_max_turns", None, ""), Some(1), "ended iteration-end Spent"),
        (failed("success", None, "prompt is too long"), Some(1), "ended hard-redline Spent"),
    ] {
        let settings = settings("");
        let mut drive = Drive::new(&settings);
        drive.feed(0, Input::Tick).feed(0, text(10.0)).feed(1, input).feed(1, gone()).wanted();
        drive.feed(1, measured(LoopProgress::Made));
        assert_eq!(drive.wanted(), wanted);
        let resting = match &drive.state.phase {
            Phase::Resting { until, .. } => Some(*until),
            _ => None,
        };
        assert_eq!(resting, until.map(at), "{wanted}");
    }
}

#[test]
fn a_limit_is_waited_out_until_the_reported_time() {
    let settings = settings("");
    let mut drive = Drive::new(&settings);
    let waiting = StreamEvent::Waiting { wait: Wait::Until(at(5_000)), fault: Fault::default() };
    drive.feed(0, Input::Tick).feed(1, output(waiting, 1.0)).feed(2, failed("success", Some(429), "")).feed(2, gone());
    drive.feed(2, measured(LoopProgress::None)).wanted();
    drive.feed(4_999, Input::Tick);
    assert_eq!(drive.wanted(), "");
    drive.feed(5_000, Input::Tick).feed(5_000, Input::HookAgreed);
    assert_eq!(drive.wanted(), "hook limited, begin");
    assert_eq!((drive.state.totals.spent, drive.state.totals.failures), (0, 0));
}

#[test]
fn silence_is_a_stall_unless_a_wait_was_announced_or_the_result_is_there() {
    let settings = settings("stall = 600\nlinger = 20");
    let mut drive = Drive::new(&settings);
    drive.feed(0, Input::Tick).feed(0, text(1.0)).feed(599, Input::Tick).wanted();
    drive.feed(600, Input::Tick).feed(601, gone()).feed(601, measured(LoopProgress::None));
    assert_eq!(drive.wanted(), "stop, measure, ended stall Spent");
    let mut drive = Drive::new(&settings);
    let waiting = StreamEvent::Waiting { wait: Wait::For(Duration::from_secs(3_000)), fault: Fault::default() };
    drive.feed(0, Input::Tick).feed(0, text(1.0)).feed(0, output(waiting, 1.0)).feed(3_000, Input::Tick).wanted();
    drive.feed(3_600, Input::Tick);
    assert_eq!(drive.wanted(), "stop");
    let mut drive = Drive::new(&settings);
    drive.feed(0, Input::Tick).feed(0, text(1.0)).feed(0, done()).feed(19, Input::Tick).wanted();
    drive.feed(20, Input::Tick).feed(21, gone()).feed(21, measured(LoopProgress::Made));
    assert_eq!(drive.wanted(), "stop, measure, ended iteration-end Spent");
    assert_eq!(drive.state.totals.failures, 0);
}

#[test]
fn a_limit_that_says_when_it_ends_is_waited_for() {
    let settings = settings("max_duration = \"30d\"");
    // At 22:13:20 UTC, which is 23:13:20 here.
    let machine = Machine::new(&settings).in_zone(UtcOffset { seconds: 3_600 });
    let mut drive = Drive { state: machine.start(Totals::new(at(0)), at(0)), machine, wanted: Vec::new() };
    let limit = failed("turn.failed", None, "You've hit your usage limit. Try again at 4:00 AM.");
    drive.feed(0, Input::Tick).feed(0, text(1.0)).feed(0, limit).feed(0, gone()).feed(0, measured(LoopProgress::Made));
    let (until, _) = match &drive.state.phase {
        Phase::Resting { until, hook, .. } => (*until, *hook),
        other => panic!("{other:?}"),
    };
    assert_eq!(until.to_string(), "2023-11-15T03:00:30Z");
    assert_eq!((drive.state.totals.spent, drive.state.totals.failures), (0, 0));
}

#[test]
fn another_agent_takes_over_unless_the_limit_ends_soon() {
    let settings = settings("agent = \"codex\"\nfallback = \"claude-code\"\nbackoff_max = 1");
    for (words, wanted) in [
        ("You've hit your usage limit.", "ended limited Again, switch"),
        ("You've hit your usage limit. Try again in 2 hours.", "ended limited Again, switch"),
        ("You've hit your usage limit. Try again in 20 seconds.", "ended limited Again"),
    ] {
        let mut drive = Drive::new(&settings);
        let limit = failed("turn.failed", None, words);
        drive.feed(0, Input::Tick).feed(0, text(1.0)).feed(0, limit).feed(0, gone()).wanted();
        drive.feed(0, measured(LoopProgress::None));
        assert_eq!(drive.wanted(), wanted, "{words}");
    }
}

#[test]
fn a_successor_that_cannot_start_is_tried_again_and_spends_nothing() {
    let settings = settings("same_failure = 2");
    let mut drive = Drive::new(&settings);
    let crash = || Input::Exited { exit: ProgramExit::Code(1), words: "boom".to_string() };
    drive.feed(0, Input::Tick).feed(1, crash()).feed(1, measured(LoopProgress::None));
    assert_eq!(drive.wanted(), "begin, measure, ended failure Again");
    drive.feed(6, Input::Tick).feed(6, Input::HookAgreed).feed(7, crash()).feed(7, measured(LoopProgress::None));
    assert_eq!(drive.wanted(), "hook failure, begin, measure, ended failure Again, finish failed");
    assert_eq!(drive.state.totals.spent, 0);
}

#[test]
fn completion_is_a_claim_that_something_confirms() {
    let claim = |progress| Input::Measured { checked: None, progress, claimed: true };
    let checked = |checked| Input::Measured { checked: Some(checked), progress: LoopProgress::Made, claimed: true };
    for (text, inputs, class) in [
        ("until = \"x\"", vec![checked(CompletionCheck::Passed)], Some(LoopEnd::Complete)),
        ("until = \"x\"", vec![checked(CompletionCheck::NoTests), checked(CompletionCheck::NoTests)], None),
        ("until = \"x\"\nmax_iterations = 1", vec![checked(CompletionCheck::Passed)], Some(LoopEnd::Complete)),
        ("completion_phrase = \"x\"", vec![claim(LoopProgress::Made)], None),
        (
            "completion_phrase = \"x\"",
            vec![claim(LoopProgress::Made), claim(LoopProgress::None)],
            Some(LoopEnd::Complete),
        ),
        ("completion_phrase = \"x\"", vec![claim(LoopProgress::Made), claim(LoopProgress::Made)], None),
        ("completion_phrase = \"x\"\nmax_iterations = 1", vec![claim(LoopProgress::Made)], Some(LoopEnd::Limit)),
    ] {
        let settings = settings(text);
        let mut drive = Drive::new(&settings);
        for (n, input) in inputs.into_iter().enumerate() {
            let secs = n as u64;
            drive.feed(secs, Input::Tick).feed(secs, Input::HookAgreed).feed(secs, self::text(1.0));
            drive.feed(secs, done()).feed(secs, gone()).feed(secs, input);
        }
        assert_eq!(drive.stop().map(StopReason::class), class, "{text}");
    }
}

#[test]
fn no_progress_budgets_and_denials_stop_the_loop() {
    let idle = settings("no_progress = 2");
    let mut drive = Drive::new(&idle);
    drive.iteration(0, LoopProgress::None).iteration(1, LoopProgress::Made).iteration(2, LoopProgress::None);
    assert_eq!(drive.stop(), None);
    drive.iteration(3, LoopProgress::None);
    assert_eq!(drive.stop().map(StopReason::class), Some(LoopEnd::NoProgress));
    for (text, word) in
        [("max_tokens = 150", "tokens"), ("max_cost_usd = 0.9", "cost"), ("max_duration = 2", "duration")]
    {
        let settings = settings(text);
        let mut drive = Drive::new(&settings);
        drive.iteration(0, LoopProgress::Made).feed(1, Input::Tick).feed(1, Input::HookAgreed).feed(2, self::text(1.0));
        drive.feed(2, gone()).feed(2, measured(LoopProgress::Made));
        assert_eq!(drive.stop().map(StopReason::words), Some(format!("the limit of {word} is reached")), "{text}");
    }
    let denied = settings("");
    let mut drive = Drive::new(&denied);
    drive.feed(0, Input::Tick).feed(0, output(StreamEvent::Denied { tool: "Bash".into() }, 1.0)).feed(0, text(1.0));
    drive.feed(0, done()).feed(0, gone()).feed(0, measured(LoopProgress::None));
    assert_eq!(drive.stop().map(StopReason::class), Some(LoopEnd::NeedsUser));
}

#[test]
fn the_first_stop_request_finishes_the_iteration_and_the_second_does_not() {
    let settings = settings("");
    let mut drive = Drive::new(&settings);
    drive.feed(0, Input::Tick).feed(0, text(1.0)).feed(1, Input::Asked).wanted();
    drive.feed(2, text(2.0)).feed(3, done()).feed(3, gone()).feed(3, measured(LoopProgress::Made));
    assert_eq!(drive.wanted(), "close, measure, ended iteration-end Spent, finish interrupted");
    let mut drive = Drive::new(&settings);
    drive.feed(0, Input::Tick).feed(0, text(1.0)).feed(1, Input::Asked).feed(1, Input::AskedNow).wanted();
    drive.feed(2, gone()).feed(2, measured(LoopProgress::Unknown));
    assert_eq!(drive.wanted(), "measure, ended interrupted Spent, finish interrupted");
    let mut drive = Drive::new(&settings);
    drive.iteration(0, LoopProgress::Made).feed(0, Input::Asked);
    assert_eq!(drive.stop(), Some(&StopReason::Asked), "between two contexts there is nothing to finish");
}

#[test]
fn a_warm_up_comes_before_the_task() {
    let settings = settings("warm_up = \"look around\"\nwarm_up_delay = 5");
    let mut drive = Drive::new(&settings);
    drive.feed(0, Input::Tick).feed(1, text(1.0)).feed(2, done()).feed(6, Input::Tick);
    assert_eq!(drive.wanted(), "begin, acknowledged");
    drive.feed(7, Input::Tick).feed(8, done());
    assert_eq!(drive.wanted(), "task, close");
}

fn any_input() -> impl Strategy<Value = Input> {
    let words = || String::from("x");
    prop_oneof![
        4 => Just(Input::Tick),
        2 => (0.0f64..120.0).prop_map(text),
        1 => Just(done()),
        1 => Just(failed("success", Some(529), "")),
        1 => Just(failed("x", None, "boom")),
        1 => Just(failed("x", Some(401), "boom")),
        2 => Just(gone()),
        1 => Just(Input::Exited { exit: ProgramExit::Signal(9), words: String::new() }),
        2 => Just(Input::HookAgreed),
        1 => Just(Input::HookRefused { words: words() }),
        1 => Just(Input::HandedOver),
        2 => Just(measured(LoopProgress::Made)),
        1 => Just(measured(LoopProgress::None)),
        1 => Just(Input::Asked),
    ]
}

proptest! {
    /// Whatever happens, in any order: every attempt is recorded once, before the next starts; nothing follows the
    /// end; and with an agent that can be stopped, time alone always leads on.
    #[test]
    fn every_attempt_is_recorded_once_and_no_path_is_stuck(
        inputs in proptest::collection::vec((any_input(), 0u64..400), 0..80),
        agent in prop_oneof![Just("claude-code"), Just("codex"), Just("command")],
    ) {
        let settings = settings(&format!("agent = \"{agent}\"\nmax_iterations = 5"));
        let machine = Machine::new(&settings);
        let mut state = machine.start(Totals::new(at(0)), at(0));
        let (mut now, mut open, mut recorded) = (0, false, 0u32);
        let mut follow = |state: &mut MachineState, input: Input, now: u64| -> Result<Vec<Effect>, TestCaseError> {
            let was_over = matches!(state.phase, Phase::Stopped(_));
            let (next, effects) = machine.step(state.clone(), input, at(now));
            *state = next;
            prop_assert!(!was_over || effects.is_empty());
            for effect in &effects {
                match effect {
                    Effect::Begin => {
                        prop_assert!(!open);
                        open = true;
                    }
                    Effect::Record(ended) => {
                        prop_assert!(open);
                        open = false;
                        recorded += u32::from(ended.counts == SpentIteration::Spent);
                    }
                    Effect::Finish(_) => prop_assert!(!open),
                    _ => {}
                }
            }
            prop_assert_eq!(recorded, state.totals.spent);
            prop_assert!(recorded <= 5);
            Ok(effects)
        };
        for (input, later) in inputs {
            now += later;
            follow(&mut state, input, now)?;
        }
        // From here on the agent prints nothing, exits when stopped, and every result is measured.
        for _ in 0..400 {
            now += 300;
            let input = match &state.phase {
                Phase::Stopped(_) => break,
                Phase::Resting { hook: Hook::Asked, .. } => Input::HookAgreed,
                Phase::Working(attempt) | Phase::Starting(attempt) if matches!(attempt.wanted, WantedHandoff::Asking(_)) => Input::HookAgreed,
                Phase::Settling { .. } => measured(LoopProgress::None),
                Phase::Leaving { .. } => gone(),
                _ => Input::Tick,
            };
            follow(&mut state, input, now)?;
        }
        prop_assert!(matches!(state.phase, Phase::Stopped(_)), "{:?}", state.phase);
    }
}
