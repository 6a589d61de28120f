//! One attempt at an iteration: the agent's process, its output, and how full its context is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cerberus_agents::install::{Profile, SessionFile};
use cerberus_agents::meter::price::Prices;
use cerberus_agents::meter::{Measure, Meter, Windows};
use cerberus_agents::stream::StreamEvent;
use cerberus_os::clock;
use cerberus_record::clean::text::clip_front;
use cerberus_record::time::Timestamp;

use super::child::{Child, ChildEvent, ChildProgram, GuardLauncher, STOP_GRACE};
use super::guard::GuardNote;
use super::ledger::{AttemptNumber, LoopLedger};
use super::output::AgentOutput;
use super::tail::Tail;
use crate::failure::ProgramExit;
use crate::handoff::messages::AgentMessages;
use crate::invoke::{Invocation, OpeningPrompts, StaysOpen};
use crate::machine::Input;
use crate::progress::Snapshot;
use crate::settings::{Settings, Worker};

/// How much of the agent's text and error output is kept; the end counts.
const WORDS_BYTES_MAX: usize = 64 * 1024;
/// How many messages are handled before the clock is checked again, and how long they may be together.
const EVENTS_MAX: usize = 256;
const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// An agent that has printed more does nothing useful any more.
pub const PRINTED_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The id of our request, by which its answer is recognized.
const WINDOW_REQUEST: &str = "cerberus-window";

#[derive(Debug)]
pub struct Attempt {
    pub number: AttemptNumber,
    pub began: Timestamp,
    pub opening: OpeningPrompts,
    pub handoff: Option<String>,
    pub session: Option<String>,
    pub meter: Meter,
    pub last_words: String,
    pub heard: AgentMessages,
    /// When it finished writing its handoff.
    pub handed_over: Option<Timestamp>,
    pub before: Snapshot,
    child: Child,
    has_started: bool,
    worker: Worker,
    /// The file that says how full the context is, if the output does not, and the folder it is in.
    session_file: Option<(SessionFile, PathBuf)>,
    tail: Option<Tail>,
    output: AgentOutput,
    error_words: String,
    printed_bytes: u64,
}

/// Where and how the agent is started.
pub struct AgentLaunch<'a> {
    pub settings: &'a Settings,
    pub guards: &'a GuardLauncher,
    pub cwd: &'a Path,
    pub ledger: &'a LoopLedger,
    pub agent_dir: Option<&'a Path>,
    pub prices: &'a Prices,
    pub has_handoff: bool,
}

/// Something that came in, for the machine and for the audience.
pub enum Incoming {
    Said(StreamEvent),
    Error(String),
    /// It has printed more than anybody can use.
    Flooded,
    Exited(ProgramExit),
}

impl Incoming {
    fn is_end(&self) -> bool {
        matches!(self, Incoming::Said(StreamEvent::Spent { .. } | StreamEvent::Finished(_)) | Incoming::Exited(_))
    }

    /// The session that begins.
    fn session(&self) -> Option<&String> {
        match self {
            Incoming::Said(StreamEvent::Started { session, .. }) => Some(session),
            _ => None,
        }
    }
}

impl Attempt {
    /// Starts the guard, then the agent, then sends the task.
    pub fn start(
        launch: &AgentLaunch,
        number: AttemptNumber,
        invocation: &Invocation,
        opening: OpeningPrompts,
        windows: &Windows,
        before: Snapshot,
    ) -> std::io::Result<Attempt> {
        let note = GuardNote { ledger: launch.ledger.clone(), number };
        let child = launched(launch, invocation, Some(&note))?;
        let worker = launch.settings.worker;
        let measure = if worker.headless().is_some() { Measure::Usage } else { Measure::Output };
        let session_file = Profile::of(worker.agent()).and_then(|profile| profile.session_file);
        let headless = worker.headless();
        let model = headless.and_then(|headless| headless.model(&launch.settings.agent_args)).map(str::to_string);
        let mut meter = Meter::new(measure, windows.clone(), launch.settings.context_window)
            .with_prices(launch.prices.clone())
            .with_model(model);
        meter.wrote(invocation.input.len());
        Ok(Attempt {
            number,
            began: clock::steady(),
            opening,
            handoff: None,
            session: None,
            meter,
            last_words: String::new(),
            heard: AgentMessages::default(),
            handed_over: None,
            before,
            child,
            has_started: false,
            session_file: session_file.zip(launch.agent_dir.map(Path::to_path_buf)),
            tail: None,
            worker,
            output: AgentOutput::create(launch.ledger.home(), &launch.ledger.output_path(number), launch.cwd),
            error_words: String::new(),
            printed_bytes: 0,
        })
    }

    /// Everything that came in, after waiting at most `wait_max` for the first message.
    pub fn receive(&mut self, wait_max: Duration) -> Vec<Incoming> {
        let mut heard = Vec::new();
        let (mut wait_max, mut bytes) = (wait_max, 0);
        for _ in 0..EVENTS_MAX {
            if bytes >= EVENT_BYTES_MAX {
                break;
            }
            let Some(news) = self.child.next(wait_max) else { break };
            wait_max = Duration::ZERO;
            if let ChildEvent::Line(line) | ChildEvent::ErrorLine(line) = &news {
                bytes += line.len();
                let before = self.printed_bytes;
                self.printed_bytes += line.len() as u64;
                heard.extend((before..self.printed_bytes).contains(&PRINTED_BYTES_MAX).then_some(Incoming::Flooded));
            }
            match news {
                ChildEvent::Line(line) => {
                    self.output.keep(&line);
                    let said = self.worker.read(&line);
                    heard.extend(said.into_iter().map(Incoming::Said));
                }
                ChildEvent::ErrorLine(line) => {
                    self.output.keep(&line);
                    let text = String::from_utf8_lossy(&line).trim_end().to_string();
                    keep_end(&mut self.error_words, &text);
                    heard.push(Incoming::Error(text));
                }
                ChildEvent::Ended(exit) => {
                    heard.push(Incoming::Exited(exit));
                    break;
                }
            }
        }
        // What the file says comes before the sums at the end of the output, which include it.
        let from_file: Vec<Incoming> = self.read_session_file(&heard).into_iter().map(Incoming::Said).collect();
        let end = heard.iter().position(Incoming::is_end).unwrap_or(heard.len());
        heard.splice(end..end, from_file);
        heard
    }

    /// Reads the session's own file, for agents whose output says too little.
    fn read_session_file(&mut self, heard: &[Incoming]) -> Vec<StreamEvent> {
        let started = || heard.iter().find_map(Incoming::session);
        let session = self.session.as_ref().or_else(started);
        if let (None, Some((file, dir)), Some(session)) = (&self.tail, &self.session_file, session) {
            self.tail = (file.find)(dir, session).map(|path| Tail::new(path, file.read));
        }
        self.tail.as_mut().map(Tail::read_new).unwrap_or_default()
    }

    /// Translates output into an input of the machine.
    pub fn input(&mut self, said: StreamEvent) -> Input {
        self.meter.observe(&said);
        self.heard.add(self.output.cleaner(), &said);
        self.heard.follow(self.output.cleaner(), &said, Some(clock::steady()));
        match &said {
            StreamEvent::Text(text) => {
                // A program that only prints lines has no other last words than its last lines.
                match self.worker.headless() {
                    None => keep_end(&mut self.last_words, text),
                    Some(_) => self.last_words = text.clone(),
                }
            }
            // A session that is resumed for its handoff may report another id; it is the same session.
            StreamEvent::Started { session, model } if !self.has_started => {
                self.has_started = true;
                self.session = Some(session.clone());
                let ask = self.worker.headless().and_then(|headless| headless.ask_window);
                if let Some(ask) = ask.filter(|_| self.meter.is_window_guessed(model.as_deref())) {
                    self.child.send(&ask(WINDOW_REQUEST));
                }
            }
            _ => {}
        }
        let (tokens, cost_usd) = self.meter.spent();
        Input::Output { event: said, reading: self.meter.reading(), tokens, cost_usd }
    }

    /// Reports a model whose price nobody knows.
    pub fn unpriced(&self) -> Option<Input> {
        self.meter.unpriced().map(|model| Input::Unpriced { model: model.to_string() })
    }

    /// A program that only prints may report its failure on standard output.
    pub fn exited(&self, exit: ProgramExit) -> Input {
        let printed = self.last_words.lines().rev().find(|line| !line.trim().is_empty());
        let words = match printed.filter(|_| self.worker == Worker::COMMAND && self.error_words.trim().is_empty()) {
            Some(last) => last.to_string(),
            None => self.error_words.clone(),
        };
        Input::Exited { exit, words }
    }

    /// Sends another message to an agent that reads input while it works.
    pub fn send(&mut self, text: &str) {
        let line = match self.worker.headless().filter(|headless| headless.stays_open()) {
            Some(headless) => headless.message(text),
            None => format!("{text}\n"),
        };
        self.meter.wrote(line.len());
        self.child.send(&line);
    }

    pub fn close_input(&mut self) {
        self.child.close_input();
    }

    pub fn stop(&mut self) {
        self.child.stop();
    }

    pub fn stop_now(&mut self) {
        self.child.stop_now();
    }

    /// Stops the agent and resumes its session with another message.
    pub fn continue_with(&mut self, launch: &AgentLaunch, invocation: &Invocation) -> std::io::Result<()> {
        self.child.stop();
        self.wait_for_end();
        self.child = launched(launch, invocation, None)?;
        Ok(())
    }

    /// Waits until everything it started is gone.
    pub fn wait_for_end(&mut self) {
        loop {
            match self.child.next(STOP_GRACE) {
                Some(ChildEvent::Ended(_)) => return,
                Some(ChildEvent::Line(line) | ChildEvent::ErrorLine(line)) => self.output.keep(&line),
                None => self.child.stop(),
            }
        }
    }
}

fn launched(launch: &AgentLaunch, invocation: &Invocation, note: Option<&GuardNote>) -> std::io::Result<Child> {
    let program = ChildProgram {
        program: invocation.program.clone().into(),
        args: invocation.args.iter().map(Into::into).collect(),
        cwd: launch.cwd.to_path_buf(),
        without: cerberus_agents::nesting_variables().collect(),
        has_handoff: launch.has_handoff,
        ..ChildProgram::default()
    };
    let mut child = launch.guards.spawn(&program, note)?;
    child.start_program();
    child.send(&invocation.input);
    if invocation.stays_open == StaysOpen::No {
        child.close_input();
    }
    Ok(child)
}

fn keep_end(words: &mut String, more: &str) {
    words.push_str(more);
    words.push('\n');
    if words.len() > 2 * WORDS_BYTES_MAX {
        *words = clip_front(words, WORDS_BYTES_MAX).to_string();
    }
}
