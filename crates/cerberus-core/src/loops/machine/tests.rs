use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::agents::stream::Fault;
use crate::loops::failure::Exit;
use crate::loops::meter::{Certainty, Reading};
use crate::loops::settings::Layer;
use crate::loops::totals::Counts;
use crate::model::session::LoopEnd;

fn at(secs: u64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000).plus(Duration::from_secs(secs))
}

fn settings(text: &str) -> Settings {
    let layer: Layer = toml::from_str(text).unwrap();
    let standard: Layer = toml::from_str("agent = \"claude-code\"\nagent_args = [\"x\"]\nmin_interval = 0").unwrap();
    Settings::new(layer.over(standard)).unwrap()
}

fn reading(percent: f64) -> Reading {
    let tokens = Some((percent * 1_000.0) as u64);
    Reading { tokens, window: Some(100_000), percent: Some(percent), certainty: Certainty::Direct }
}

fn heard(said: Said, percent: f64) -> Input {
    Input::Heard { said, reading: reading(percent), tokens: 100, cost_usd: Some(0.5) }
}

fn text(percent: f64) -> Input {
    heard(Said::Text("working".to_string()), percent)
}

fn done() -> Input {
    heard(Said::Finished(Finish::Done { words: String::new() }), 10.0)
}

fn failed(kind: &str, http_status: Option<u16>, words: &str) -> Input {
    let fault = Fault { kind: kind.to_string(), http_status, words: words.to_string() };
    heard(Said::Finished(Finish::Failed(fault)), 10.0)
}

fn gone() -> Input {
    Input::Exited { exit: Exit::Code(0), words: String::new() }
}

fn measured(progress: Progress) -> Input {
    Input::Measured { checked: None, progress, claimed: false }
}

/// Drives a machine, and keeps in words what it wanted.
struct Drive<'a> {
    machine: Machine<'a>,
    state: State,
    wanted: Vec<String>,
}

impl<'a> Drive<'a> {
    fn new(settings: &'a Settings) -> Drive<'a> {
        let machine = Machine::new(settings);
        let state = machine.start(Totals::new(at(0)), at(0));
        Drive { machine, state, wanted: Vec::new() }
    }

    fn tell(&mut self, secs: u64, input: Input) -> &mut Drive<'a> {
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
                Effect::Finish(stop) => format!("finish {}", stop.class().word()),
            });
        }
        self
    }

    /// A whole iteration that went well.
    fn iteration(&mut self, secs: u64, progress: Progress) -> &mut Drive<'a> {
        self.tell(secs, Input::Tick).tell(secs, Input::HookAgreed).tell(secs, text(10.0));
        self.tell(secs, done()).tell(secs, gone()).tell(secs, measured(progress))
    }

    fn wanted(&mut self) -> String {
        std::mem::take(&mut self.wanted).join(", ")
    }

    fn stop(&self) -> Option<&Stop> {
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
    drive.iteration(0, Progress::Made);
    assert_eq!(drive.wanted(), "begin, acknowledged, close, measure, ended iteration-end Spent");
    drive.iteration(5, Progress::Made);
    let second = "hook iteration-end, begin, acknowledged, close, measure, ended iteration-end Spent, finish limit";
    assert_eq!(drive.wanted(), second);
    assert_eq!(drive.state.totals.spent, 2);
}

#[test]
fn the_soft_redline_asks_and_the_hard_one_stops() {
    let settings = settings("");
    let mut drive = Drive::new(&settings);
    drive.tell(0, Input::Tick).tell(1, text(69.0)).wanted();
    drive.tell(2, text(71.0)).tell(2, Input::HookAgreed);
    assert_eq!(drive.wanted(), "hook soft-redline, ask");
    // The turn that was going on ends first; the handoff follows.
    drive.tell(3, done());
    assert_eq!(drive.wanted(), "");
    drive.tell(4, Input::HandedOver).tell(4, done()).tell(5, gone()).tell(5, measured(Progress::Made));
    assert_eq!(drive.wanted(), "close, measure, ended soft-redline Spent");
    drive.tell(6, Input::Tick).tell(7, text(86.0)).tell(7, Input::HookAgreed);
    assert_eq!(drive.wanted(), "begin, acknowledged, hook hard-redline, stop", "the hook agreed before");
    drive.tell(8, gone()).tell(8, measured(Progress::Made));
    assert_eq!(drive.wanted(), "measure, ended hard-redline Spent");
}

#[test]
fn a_session_that_does_not_hand_over_is_stopped() {
    for (tells, name) in [(vec![(200, Input::Tick)], "in time"), (vec![(3, text(86.0))], "before the hard line")] {
        let settings = settings("");
        let mut drive = Drive::new(&settings);
        drive.tell(0, Input::Tick).tell(1, text(75.0)).tell(1, Input::HookAgreed).wanted();
        for (secs, input) in tells {
            drive.tell(secs, input);
        }
        assert_eq!(drive.wanted(), "stop", "{name}");
    }
}

#[test]
fn every_trigger_leads_to_a_fresh_context() {
    let usage = || Said::Usage { message: None, context: 1, output: 1, own: Speaker::Main };
    for (text, said, secs, wanted) in [
        ("reboot_after_turns = 1", usage(), 1, "hook turns, ask"),
        ("reboot_after_tool_failures = 1", Said::ToolFailed, 1, "hook failure-streak, ask"),
        ("reboot_on_output = \"lost\"", Said::Text("I am lost here".into()), 1, "hook output-pattern, ask"),
        ("agent = \"command\"\nreboot_on_output = \"lost\"", Said::Text("lost".into()), 1, "hook output-pattern, stop"),
        ("", Said::Text("lost".into()), 1, ""),
    ] {
        let settings = settings(text);
        let mut drive = Drive::new(&settings);
        drive.tell(0, Input::Tick).tell(0, heard(Said::Text("x".into()), 1.0)).wanted();
        drive.tell(secs, heard(said, 1.0)).tell(secs, Input::HookAgreed);
        assert_eq!(drive.wanted(), wanted, "{text}");
    }
    let old = settings("reboot_after = 60");
    let mut drive = Drive::new(&old);
    drive.tell(0, Input::Tick).tell(59, heard(Said::Text("x".into()), 1.0)).tell(60, Input::Tick);
    assert_eq!(drive.wanted(), "begin, acknowledged, hook duration");
}

#[test]
fn a_hook_that_refuses_keeps_the_context_and_at_its_end_stops_the_loop() {
    let settings = settings("");
    let mut drive = Drive::new(&settings);
    let refused = || Input::HookRefused { words: "busy".to_string() };
    drive.tell(0, Input::Tick).tell(1, text(71.0)).tell(1, refused()).tell(2, text(90.0));
    let told = "tell the pre_reboot hook refused a fresh context; this one continues: busy";
    assert_eq!(drive.wanted(), format!("begin, acknowledged, hook soft-redline, {told}"));
    drive.tell(3, done()).tell(4, gone()).tell(4, measured(Progress::Made)).tell(5, Input::Tick).tell(5, refused());
    assert_eq!(drive.wanted(), "close, measure, ended iteration-end Spent, hook iteration-end, finish failed");
}

#[test]
fn failures_lead_where_their_kind_says() {
    for (input, until, wanted) in [
        (failed("success", Some(529), ""), Some(61), "ended limited Again"),
        (failed("success", Some(401), "no key"), None, "ended failure Spent, finish needs mending"),
        (failed("error_during_execution", None, "boom"), Some(6), "ended failure Spent"),
        (failed("error_max_turns", None, ""), Some(1), "ended iteration-end Spent"),
        (failed("success", None, "prompt is too long"), Some(1), "ended hard-redline Spent"),
    ] {
        let settings = settings("");
        let mut drive = Drive::new(&settings);
        drive.tell(0, Input::Tick).tell(0, text(10.0)).tell(1, input).tell(1, gone()).wanted();
        drive.tell(1, measured(Progress::Made));
        assert_eq!(drive.wanted(), wanted);
        let resting = match &drive.state.phase {
            Phase::Resting { until, .. } => Some(*until),
            _ => None,
        };
        assert_eq!(resting, until.map(at), "{wanted}");
    }
}

#[test]
fn a_limit_is_waited_for_until_the_time_that_was_told() {
    let settings = settings("");
    let mut drive = Drive::new(&settings);
    let waiting = Said::Waiting { wait: Wait::Until(at(5_000)), fault: Fault::default() };
    drive.tell(0, Input::Tick).tell(1, heard(waiting, 1.0)).tell(2, failed("success", Some(429), "")).tell(2, gone());
    drive.tell(2, measured(Progress::None)).wanted();
    drive.tell(4_999, Input::Tick);
    assert_eq!(drive.wanted(), "");
    drive.tell(5_000, Input::Tick).tell(5_000, Input::HookAgreed);
    assert_eq!(drive.wanted(), "hook limited, begin");
    assert_eq!((drive.state.totals.spent, drive.state.totals.failures), (0, 0));
}

#[test]
fn silence_is_a_stall_unless_it_was_announced_and_a_hang_after_the_result_is_none() {
    let settings = settings("stall = 600\nlinger = 20");
    let mut drive = Drive::new(&settings);
    drive.tell(0, Input::Tick).tell(0, text(1.0)).tell(599, Input::Tick).wanted();
    drive.tell(600, Input::Tick).tell(601, gone()).tell(601, measured(Progress::None));
    assert_eq!(drive.wanted(), "stop, measure, ended stall Spent");
    let mut drive = Drive::new(&settings);
    let waiting = Said::Waiting { wait: Wait::For(Duration::from_secs(3_000)), fault: Fault::default() };
    drive.tell(0, Input::Tick).tell(0, text(1.0)).tell(0, heard(waiting, 1.0)).tell(3_000, Input::Tick).wanted();
    drive.tell(3_600, Input::Tick);
    assert_eq!(drive.wanted(), "stop");
    let mut drive = Drive::new(&settings);
    drive.tell(0, Input::Tick).tell(0, text(1.0)).tell(0, done()).tell(19, Input::Tick).wanted();
    drive.tell(20, Input::Tick).tell(21, gone()).tell(21, measured(Progress::Made));
    assert_eq!(drive.wanted(), "stop, measure, ended iteration-end Spent");
    assert_eq!(drive.state.totals.failures, 0);
}

#[test]
fn a_successor_that_cannot_start_is_tried_again_and_spends_nothing() {
    let settings = settings("same_failure = 2");
    let mut drive = Drive::new(&settings);
    let crash = || Input::Exited { exit: Exit::Code(1), words: "boom".to_string() };
    drive.tell(0, Input::Tick).tell(1, crash()).tell(1, measured(Progress::None));
    assert_eq!(drive.wanted(), "begin, measure, ended failure Again");
    drive.tell(6, Input::Tick).tell(6, Input::HookAgreed).tell(7, crash()).tell(7, measured(Progress::None));
    assert_eq!(drive.wanted(), "hook failure, begin, measure, ended failure Again, finish failed");
    assert_eq!(drive.state.totals.spent, 0);
}

#[test]
fn completion_is_a_claim_that_something_confirms() {
    let claim = |progress| Input::Measured { checked: None, progress, claimed: true };
    let checked = |checked| Input::Measured { checked: Some(checked), progress: Progress::Made, claimed: true };
    for (text, inputs, class) in [
        ("until = \"x\"", vec![checked(Checked::Passed)], Some(LoopEnd::Complete)),
        ("until = \"x\"", vec![checked(Checked::NoTests), checked(Checked::NoTests)], None),
        ("until = \"x\"\nmax_iterations = 1", vec![checked(Checked::Passed)], Some(LoopEnd::Complete)),
        ("completion_phrase = \"x\"", vec![claim(Progress::Made)], None),
        ("completion_phrase = \"x\"", vec![claim(Progress::Made), claim(Progress::None)], Some(LoopEnd::Complete)),
        ("completion_phrase = \"x\"", vec![claim(Progress::Made), claim(Progress::Made)], None),
        ("completion_phrase = \"x\"\nmax_iterations = 1", vec![claim(Progress::Made)], Some(LoopEnd::Limit)),
    ] {
        let settings = settings(text);
        let mut drive = Drive::new(&settings);
        for (n, input) in inputs.into_iter().enumerate() {
            let secs = n as u64;
            drive.tell(secs, Input::Tick).tell(secs, Input::HookAgreed).tell(secs, self::text(1.0));
            drive.tell(secs, done()).tell(secs, gone()).tell(secs, input);
        }
        assert_eq!(drive.stop().map(Stop::class), class, "{text}");
    }
}

#[test]
fn no_progress_budgets_and_denials_stop_the_loop() {
    let idle = settings("no_progress = 2");
    let mut drive = Drive::new(&idle);
    drive.iteration(0, Progress::None).iteration(1, Progress::Made).iteration(2, Progress::None);
    assert_eq!(drive.stop(), None);
    drive.iteration(3, Progress::None);
    assert_eq!(drive.stop().map(Stop::class), Some(LoopEnd::NoProgress));
    for (text, word) in
        [("max_tokens = 150", "tokens"), ("max_cost_usd = 0.9", "cost"), ("max_duration = 2", "duration")]
    {
        let settings = settings(text);
        let mut drive = Drive::new(&settings);
        drive.iteration(0, Progress::Made).tell(1, Input::Tick).tell(1, Input::HookAgreed).tell(2, self::text(1.0));
        drive.tell(2, gone()).tell(2, measured(Progress::Made));
        assert_eq!(drive.stop().map(Stop::words), Some(format!("the limit of {word} is reached")), "{text}");
    }
    let denied = settings("");
    let mut drive = Drive::new(&denied);
    drive.tell(0, Input::Tick).tell(0, heard(Said::Denied { tool: "Bash".into() }, 1.0)).tell(0, text(1.0));
    drive.tell(0, done()).tell(0, gone()).tell(0, measured(Progress::None));
    assert_eq!(drive.stop().map(Stop::class), Some(LoopEnd::NeedsMending));
}

#[test]
fn being_asked_once_finishes_the_iteration_and_twice_does_not() {
    let settings = settings("");
    let mut drive = Drive::new(&settings);
    drive.tell(0, Input::Tick).tell(0, text(1.0)).tell(1, Input::Asked).wanted();
    drive.tell(2, text(2.0)).tell(3, done()).tell(3, gone()).tell(3, measured(Progress::Made));
    assert_eq!(drive.wanted(), "close, measure, ended iteration-end Spent, finish interrupted");
    let mut drive = Drive::new(&settings);
    drive.tell(0, Input::Tick).tell(0, text(1.0)).tell(1, Input::Asked).tell(1, Input::AskedNow).wanted();
    drive.tell(2, gone()).tell(2, measured(Progress::Unknown));
    assert_eq!(drive.wanted(), "measure, ended interrupted Spent, finish interrupted");
    let mut drive = Drive::new(&settings);
    drive.iteration(0, Progress::Made).tell(0, Input::Asked);
    assert_eq!(drive.stop(), Some(&Stop::Asked), "between two contexts there is nothing to finish");
}

#[test]
fn a_warm_up_comes_before_the_task() {
    let settings = settings("warm_up = \"look around\"\nwarm_up_delay = 5");
    let mut drive = Drive::new(&settings);
    drive.tell(0, Input::Tick).tell(1, text(1.0)).tell(2, done()).tell(6, Input::Tick);
    assert_eq!(drive.wanted(), "begin, acknowledged");
    drive.tell(7, Input::Tick).tell(8, done());
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
        1 => Just(Input::Exited { exit: Exit::Signal(9), words: String::new() }),
        2 => Just(Input::HookAgreed),
        1 => Just(Input::HookRefused { words: words() }),
        1 => Just(Input::HandedOver),
        2 => Just(measured(Progress::Made)),
        1 => Just(measured(Progress::None)),
        1 => Just(Input::Asked),
    ]
}

proptest! {
    /// Whatever happens in whatever order: an attempt that begins is recorded once, before the next begins; nothing
    /// follows the end; and time alone, with an agent that can be stopped, always leads on.
    #[test]
    fn every_attempt_is_recorded_once_and_no_path_is_stuck(
        inputs in proptest::collection::vec((any_input(), 0u64..400), 0..80),
        agent in prop_oneof![Just("claude-code"), Just("codex"), Just("command")],
    ) {
        let settings = settings(&format!("agent = \"{agent}\"\nmax_iterations = 5"));
        let machine = Machine::new(&settings);
        let mut state = machine.start(Totals::new(at(0)), at(0));
        let (mut now, mut open, mut recorded) = (0, false, 0u32);
        let mut follow = |state: &mut State, input: Input, now: u64| -> Result<Vec<Effect>, TestCaseError> {
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
                        recorded += u32::from(ended.counts == Counts::Spent);
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
        // From here on the agent says nothing, leaves when it is stopped, and everything is measured.
        for _ in 0..400 {
            now += 300;
            let input = match &state.phase {
                Phase::Stopped(_) => break,
                Phase::Resting { hook: Hook::Asked, .. } => Input::HookAgreed,
                Phase::Working(attempt) | Phase::Starting(attempt) if matches!(attempt.wanted, Wanted::Asking(_)) => Input::HookAgreed,
                Phase::Settling { .. } => measured(Progress::None),
                Phase::Leaving { .. } => gone(),
                _ => Input::Tick,
            };
            follow(&mut state, input, now)?;
        }
        prop_assert!(matches!(state.phase, Phase::Stopped(_)), "{:?}", state.phase);
    }
}
