//! What a brief reads of one session, packed into bytes once the session is at rest. A brief then reads one row per
//! session instead of all its facts, closings, runs and prompts.
//!
//! Unpacking gives exactly what was packed, without the name of the session, which may change. Bytes of another form
//! give `None`.

use cerberus_record::fact::{Closing, Fact, FactKind};
use cerberus_record::id::SessionId;
use cerberus_record::runs::{Run, RunCommand};
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;
use serde::Serialize;

use super::failing::SessionRun;
use super::rank::{PastPrompt, SessionWork, TouchedFile};
use super::stopped::{Quotable, Sentence, WorkDone};
use super::{KnownFact, Settlement};

/// Where facts come from.
pub const SOURCES: [&str; 7] = ["hook", "import", "agent", "record", "seed", "model", "team"];

/// What a session said and settled, without its work on files.
#[derive(Debug, Default)]
pub struct SessionWords {
    /// In chronological order, each with its source.
    pub facts: Vec<(KnownFact, &'static str)>,
    pub settlements: Vec<Settlement>,
    /// Its last edit, which shows whether work went on after an interruption.
    pub last_edit: Option<KnownFact>,
}

/// Where a fact, a settlement or a run stands among the others.
type EventPosition = (Timestamp, i64);

/// The terms of a prompt, the paths in it, and which files were edited after it.
type PackedPrompt<'a> = (&'a str, Vec<&'a str>, Vec<usize>);

type PackedFact = (Fact, EventPosition, String);
type PackedSettlement = (Closing, EventPosition);
type PackedRun = (RunCommand, Run, EventPosition);
type PackedTurn = (Timestamp, String, Option<MemorySource>, Vec<Sentence>, Vec<Sentence>);

/// Nothing that is packed fails to be.
fn packed(value: &impl Serialize) -> Vec<u8> {
    postcard::to_allocvec(value).unwrap_or_default()
}

pub fn pack_work(work: &SessionWork) -> Vec<u8> {
    let prompts: Vec<_> = work.prompts.iter().map(|prompt| (&prompt.terms, &prompt.paths, &prompt.edited)).collect();
    packed(&(&work.touched, &work.mentions, prompts))
}

/// What a brief needs of a session's work. The files are always read.
#[derive(Clone, Copy, Debug)]
pub struct WantedWork {
    pub mentions: bool,
    pub prompts: WantedPrompts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedPrompts {
    None,
    /// Only the paths in them.
    Paths,
    All,
}

pub fn unpack_work(bytes: &[u8], session: SessionId, wanted: WantedWork) -> Option<SessionWork> {
    let (touched, rest) = postcard::take_from_bytes::<Vec<TouchedFile>>(bytes).ok()?;
    let (mentions, rest) = postcard::take_from_bytes::<Vec<&str>>(rest).ok()?;
    let prompts: Vec<PackedPrompt> = match wanted.prompts {
        WantedPrompts::None => Vec::new(),
        WantedPrompts::Paths | WantedPrompts::All => postcard::from_bytes(rest).ok()?,
    };
    let prompt = |(terms, paths, edited): PackedPrompt| {
        let paths = strings(paths);
        match wanted.prompts {
            WantedPrompts::All => PastPrompt { terms: terms.to_string(), paths, edited },
            WantedPrompts::None | WantedPrompts::Paths => PastPrompt { paths, ..PastPrompt::default() },
        }
    };
    let mentions = if wanted.mentions { strings(mentions) } else { Vec::new() };
    Some(SessionWork { session, touched, mentions, prompts: prompts.into_iter().map(prompt).collect() })
}

fn strings(texts: Vec<&str>) -> Vec<String> {
    texts.into_iter().map(str::to_string).collect()
}

pub fn pack_said(said: &SessionWords) -> Vec<u8> {
    let facts = said.facts.iter().map(|(known, source)| (&known.fact, (known.at, known.event), source));
    let settlements = said.settlements.iter().map(|settled| (&settled.closing, (settled.at, settled.event)));
    let last_edit = said.last_edit.as_ref().map(|known| (&known.fact, (known.at, known.event)));
    packed(&(facts.collect::<Vec<_>>(), settlements.collect::<Vec<_>>(), last_edit))
}

/// Only the facts of the wanted kinds.
pub fn unpack_said(bytes: &[u8], session: &SessionId, is_wanted: impl Fn(FactKind) -> bool) -> Option<SessionWords> {
    type PackedSaid = (Vec<PackedFact>, Vec<PackedSettlement>, Option<(Fact, EventPosition)>);
    let (facts, settlements, last_edit): PackedSaid = postcard::from_bytes(bytes).ok()?;
    let known = |fact, (at, event)| KnownFact { fact, session: session.clone(), at, event };
    let settled = |(closing, (at, event))| Settlement { closing, session: session.clone(), at, event };
    let sourced = |(fact, position, source): PackedFact| {
        Some((known(fact, position), SOURCES.into_iter().find(|known| *known == source)?))
    };
    let wanted = facts.into_iter().filter(|(fact, _, _)| is_wanted(fact.kind));
    Some(SessionWords {
        facts: wanted.map(sourced).collect::<Option<_>>()?,
        settlements: settlements.into_iter().map(settled).collect(),
        last_edit: last_edit.map(|(fact, position)| known(fact, position)),
    })
}

/// What the tools of a session did is not packed: it depends on other turns.
pub fn pack_turns(turns: &[Quotable]) -> Vec<u8> {
    let turns = turns.iter().map(|turn| (turn.at, &turn.beginning, turn.sender, &turn.request, &turn.reply));
    packed(&turns.collect::<Vec<_>>())
}

pub fn unpack_turns(bytes: &[u8], session: &SessionId) -> Option<Vec<Quotable>> {
    let turns: Vec<PackedTurn> = postcard::from_bytes(bytes).ok()?;
    let turn = |(at, beginning, sender, request, reply)| Quotable {
        session: session.clone(),
        at,
        beginning,
        request,
        sender,
        reply,
        part: WorkDone::default(),
    };
    Some(turns.into_iter().map(turn).collect())
}

pub fn pack_runs(runs: &[SessionRun]) -> Vec<u8> {
    packed(&runs.iter().map(|ran| (&ran.command, &ran.run, (ran.at, ran.event))).collect::<Vec<_>>())
}

pub fn unpack_runs(bytes: &[u8], session: &SessionId) -> Option<Vec<SessionRun>> {
    let runs: Vec<PackedRun> = postcard::from_bytes(bytes).ok()?;
    let ran = |(command, run, (at, event))| SessionRun { command, run, session: session.clone(), at, event };
    Some(runs.into_iter().map(ran).collect())
}

#[cfg(test)]
mod tests {
    use cerberus_record::event::{Outcome, Severity};
    use cerberus_record::fact::{ClosedAs, ClosingTarget};
    use cerberus_record::runs;

    use super::super::stopped::Turn;
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn session() -> SessionId {
        SessionId::new("20260122-133514")
    }

    fn said() -> SessionWords {
        let known = |fact: Fact, event| KnownFact { fact, session: session(), at: at(1_700_000_000_000), event };
        let decision =
            Fact { why: Some("it is free".to_string()), ..Fact::words(FactKind::Decision, "One file a day.") };
        let blocker = Fact { severity: Some(Severity::High), ..Fact::blocker("größer", Some("test")) };
        let facts = [decision, blocker, Fact::function("open", Some("src/a.rs"))];
        let closing = |target, outcome| Settlement {
            closing: Closing { target, outcome },
            session: session(),
            at: at(-5),
            event: i64::MAX,
        };
        SessionWords {
            facts: facts.into_iter().map(|fact| (known(fact, 7), "import")).collect(),
            settlements: vec![
                closing(ClosingTarget::Reference("task-1".to_string()), ClosedAs::Done),
                closing(ClosingTarget::Code(FactKind::Next, "next:x".to_string()), ClosedAs::Dropped),
            ],
            last_edit: Some(known(Fact::file(FactKind::File, "src/b.rs"), 9)),
        }
    }

    #[test]
    fn what_was_said_is_unpacked_as_it_was() {
        let packed = pack_said(&said());
        let unpacked = unpack_said(&packed, &session(), |_| true).unwrap();
        assert_eq!(format!("{unpacked:?}"), format!("{:?}", said()));
        let mut words = said();
        words.facts.retain(|(known, _)| known.fact.kind != FactKind::Function);
        let unpacked = unpack_said(&packed, &session(), |kind| kind != FactKind::Function).unwrap();
        assert_eq!(format!("{unpacked:?}"), format!("{words:?}"));
    }

    #[test]
    fn work_is_unpacked_as_it_was() {
        let touched = |path: &str, last_edit: Option<i64>, last_read: Option<i64>| TouchedFile {
            path: path.to_string(),
            edits: usize::from(last_edit.is_some()) * 300,
            reads: usize::from(last_read.is_some()),
            last_at: at(last_edit.max(last_read).unwrap()),
            last_edit: last_edit.map(at),
            last_read: last_read.map(at),
        };
        let prompt = PastPrompt {
            terms: "parser repair".to_string(),
            paths: vec!["src/a.rs".to_string(), String::new()],
            edited: vec![0, 200],
        };
        let work = SessionWork {
            session: session(),
            touched: vec![touched("src/a.rs", Some(2), None), touched("ümlaut", Some(3), Some(9))],
            mentions: vec!["b.rs".to_string()],
            prompts: vec![prompt, PastPrompt::default()],
        };
        let unpacked = |wanted| unpack_work(&pack_work(&work), session(), wanted).unwrap();
        let all = unpacked(WantedWork { mentions: true, prompts: WantedPrompts::All });
        assert_eq!(format!("{all:?}"), format!("{work:?}"));
        let paths = unpacked(WantedWork { mentions: false, prompts: WantedPrompts::Paths });
        assert_eq!((paths.mentions.len(), paths.prompts.len()), (0, 2));
        let only_paths = PastPrompt { paths: work.prompts[0].paths.clone(), ..PastPrompt::default() };
        assert_eq!(format!("{:?}", paths.prompts[0]), format!("{only_paths:?}"));
        let files = unpacked(WantedWork { mentions: true, prompts: WantedPrompts::None });
        assert_eq!((files.mentions.len(), files.prompts.len(), files.touched.len()), (1, 0, 2));
    }

    #[test]
    fn turns_are_unpacked_as_they_were() {
        let request = "Repair `takeToken` in limiter.mjs. Größe prüfen!".to_string();
        let reply = "It works now.\n\n| parser.rs | is done |\n".to_string();
        let turns = [
            Quotable::of(&Turn {
                session: session(),
                at: at(5),
                request,
                sender: Some(MemorySource::Scheduled),
                reply,
            }),
            Quotable::of(&Turn {
                session: session(),
                at: at(6),
                request: String::new(),
                sender: None,
                reply: String::new(),
            }),
        ];
        assert_eq!((turns[0].request.len(), turns[0].reply.len()), (2, 2));
        let unpacked = unpack_turns(&pack_turns(&turns), &session()).unwrap();
        assert_eq!(format!("{unpacked:?}"), format!("{turns:?}"));
    }

    #[test]
    fn runs_are_unpacked_as_they_were() {
        let ran = |command: &str, output: &str, outcome| {
            let command = runs::recognise(command).unwrap();
            let run = runs::read(&command, output, outcome);
            SessionRun { command, run, session: session(), at: at(1), event: 2 }
        };
        let failed = "test store::opens ... FAILED\ntest result: FAILED. 1 passed; 1 failed;\n";
        let all = [
            ran("cargo test -p x | tail", failed, Outcome::Failed),
            ran("cargo build", "error[E0425]: no x\n --> src/a.rs:3:5\n", Outcome::Failed),
            ran("npx eslint .", "", Outcome::Done),
        ];
        let unpacked = unpack_runs(&pack_runs(&all), &session()).unwrap();
        assert_eq!(format!("{unpacked:?}"), format!("{all:?}"));
    }

    #[test]
    fn other_bytes_are_not_unpacked() {
        let whole = pack_said(&said());
        for cut in 0..whole.len() {
            assert!(unpack_said(&whole[..cut], &session(), |_| true).is_none(), "cut at {cut}");
        }
        assert!(
            unpack_work(&[0xff; 40], session(), WantedWork { mentions: true, prompts: WantedPrompts::All }).is_none()
        );
        assert!(unpack_runs(&[0xff, 0xff, 0xff, 0xff, 0x0f], &session()).is_none());
    }
}
