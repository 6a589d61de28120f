//! What a brief reads of one session, packed into bytes once the session is at rest. A brief then reads one row per
//! session instead of all its facts, closings, runs and prompts.
//!
//! Unpacking gives exactly what was packed, without the name of the session, which may change. Bytes of another form
//! give `None`.

use cerberus_record::event::Severity;
use cerberus_record::fact::{ClosedAs, Closing, ClosingTarget, Fact, FactKind};
use cerberus_record::id::SessionId;
use cerberus_record::packed::{Packer, Unpacker};
use cerberus_record::runs::{self, OutcomeTrust, Run, RunCommand, RunVerdict, Runner};
use cerberus_record::source::MemorySource;
use cerberus_record::time::Timestamp;

use super::failing::SessionRun;
use super::rank::{PastPrompt, SessionWork, TouchedFile};
use super::stopped::{Quotable, Sentence, WorkDone};
use super::{KnownFact, Settlement};

const RUN_KINDS: [runs::Kind; 3] = [runs::Kind::Test, runs::Kind::Build, runs::Kind::Lint];
/// Where facts come from.
pub const SOURCES: [&str; 7] = ["hook", "import", "agent", "record", "seed", "model", "team"];

const VERDICTS: [RunVerdict; 4] = [RunVerdict::Green, RunVerdict::Red, RunVerdict::Empty, RunVerdict::Unknown];

/// What a session said and settled, without its work on files.
#[derive(Debug, Default)]
pub struct SessionWords {
    /// In chronological order, each with its source.
    pub facts: Vec<(KnownFact, &'static str)>,
    pub settlements: Vec<Settlement>,
    /// Its last edit, which shows whether work went on after an interruption.
    pub last_edit: Option<KnownFact>,
}

pub fn pack_work(work: &SessionWork) -> Vec<u8> {
    let mut packer = Packer::default();
    packer.list(&work.touched, |packer, touched| {
        packer.text(&touched.path);
        packer.number(touched.edits as u64);
        packer.number(touched.reads as u64);
        packer.option(touched.last_edit, |packer, at| packer.signed(at.millis()));
        packer.option(touched.last_read, |packer, at| packer.signed(at.millis()));
    });
    packer.list(&work.mentions, |packer, path| packer.text(path));
    packer.list(&work.prompts, |packer, prompt| {
        packer.text(&prompt.terms);
        packer.list(&prompt.paths, |packer, path| packer.text(path));
        packer.list(&prompt.edited, |packer, place| packer.number(*place as u64));
    });
    packer.packed()
}

/// What is wanted of a session's work besides the files it touched.
#[derive(Clone, Copy, Debug)]
pub struct WantedWork {
    pub mentions: bool,
    pub prompts: WantedPrompts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedPrompts {
    None,
    /// Only the path-like words in them.
    Paths,
    All,
}

pub fn unpack_work(bytes: &[u8], session: SessionId, wanted: WantedWork) -> Option<SessionWork> {
    let mut unpacker = Unpacker::new(bytes)?;
    let touched = unpacker.list(|unpacker| {
        let (path, edits, reads) = (unpacker.string()?, unpacker.count()?, unpacker.count()?);
        let last_edit = unpacker.option(time)?;
        let last_read = unpacker.option(time)?;
        let last_at = last_edit.max(last_read)?;
        Some(TouchedFile { path, edits, reads, last_at, last_edit, last_read })
    })?;
    let mut work = SessionWork { session, touched, mentions: Vec::new(), prompts: Vec::new() };
    match wanted.mentions {
        true => work.mentions = unpacker.list(Unpacker::string)?,
        false => unpacker.skip_list(Unpacker::skip_text)?,
    }
    match wanted.prompts {
        WantedPrompts::None => {}
        WantedPrompts::Paths => work.prompts = unpacker.list(unpack_prompt_paths)?,
        WantedPrompts::All => work.prompts = unpacker.list(unpack_prompt)?,
    }
    Some(work)
}

fn unpack_prompt(unpacker: &mut Unpacker) -> Option<PastPrompt> {
    Some(PastPrompt {
        terms: unpacker.string()?,
        paths: unpacker.list(Unpacker::string)?,
        edited: unpacker.list(Unpacker::count)?,
    })
}

fn unpack_prompt_paths(unpacker: &mut Unpacker) -> Option<PastPrompt> {
    unpacker.skip_text()?;
    let paths = unpacker.list(Unpacker::string)?;
    unpacker.skip_list(Unpacker::number)?;
    Some(PastPrompt { paths, ..PastPrompt::default() })
}

pub fn pack_said(said: &SessionWords) -> Vec<u8> {
    let mut packer = Packer::default();
    packer.list(&said.facts, |packer, (known, source)| {
        pack_fact(packer, &known.fact);
        pack_position(packer, known.at, known.event);
        packer.place(&SOURCES, *source);
    });
    packer.list(&said.settlements, |packer, settlement| {
        let (kind, target) = match &settlement.closing.target {
            ClosingTarget::Reference(reference) => (None, reference),
            ClosingTarget::Code(kind, code) => (Some(*kind), code),
        };
        packer.option(kind, |packer, kind| packer.place(&FactKind::ALL, kind));
        packer.text(target);
        packer.flag(settlement.closing.outcome == ClosedAs::Done);
        pack_position(packer, settlement.at, settlement.event);
    });
    packer.option(said.last_edit.as_ref(), |packer, known| {
        packer.text(known.fact.path.as_deref().unwrap_or_default());
        pack_position(packer, known.at, known.event);
    });
    packer.packed()
}

/// Facts of other kinds are left out.
pub fn unpack_said(bytes: &[u8], session: &SessionId, is_wanted: impl Fn(FactKind) -> bool) -> Option<SessionWords> {
    let mut unpacker = Unpacker::new(bytes)?;
    let mut facts = Vec::new();
    for _ in 0..unpacker.count()? {
        let kind = unpacker.place(&FactKind::ALL)?;
        match is_wanted(kind) {
            true => {
                let fact = unpack_fact(&mut unpacker, kind)?;
                let (at, event) = position(&mut unpacker)?;
                facts.push((KnownFact { fact, session: session.clone(), at, event }, unpacker.place(&SOURCES)?));
            }
            false => {
                skip_fact(&mut unpacker)?;
                position(&mut unpacker)?;
                unpacker.number()?;
            }
        }
    }
    let settlements = unpacker.list(|unpacker| {
        let kind = unpacker.option(|unpacker| unpacker.place(&FactKind::ALL))?;
        let target = unpacker.string()?;
        let target = match kind {
            Some(kind) => ClosingTarget::Code(kind, target),
            None => ClosingTarget::Reference(target),
        };
        let outcome = if unpacker.flag()? { ClosedAs::Done } else { ClosedAs::Dropped };
        let (at, event) = position(unpacker)?;
        Some(Settlement { closing: Closing { target, outcome }, session: session.clone(), at, event })
    })?;
    let last_edit = unpacker.option(|unpacker| {
        let fact = Fact::file(FactKind::File, unpacker.text()?);
        let (at, event) = position(unpacker)?;
        Some(KnownFact { fact, session: session.clone(), at, event })
    })?;
    Some(SessionWords { facts, settlements, last_edit })
}

pub fn pack_turns(turns: &[Quotable]) -> Vec<u8> {
    let mut packer = Packer::default();
    packer.list(turns, |packer, turn| {
        packer.signed(turn.at.millis());
        packer.text(&turn.beginning);
        packer.option(turn.sender, |packer, sender| packer.place(&MemorySource::ALL, sender));
        for sentences in [&turn.request, &turn.reply] {
            packer.list(sentences, |packer, sentence| {
                packer.text(&sentence.text);
                packer.text(&sentence.heading);
                packer.flag(sentence.is_row);
                packer.number(sentence.names as u64);
                packer.number(sentence.tokens as u64);
                packer.list(&sentence.words, |packer, word| packer.whole(*word));
            });
        }
    });
    packer.packed()
}

pub fn unpack_turns(bytes: &[u8], session: &SessionId) -> Option<Vec<Quotable>> {
    let sentence = |unpacker: &mut Unpacker| {
        let (text, heading) = (unpacker.string()?, unpacker.string()?);
        let (is_row, names, tokens) = (unpacker.flag()?, unpacker.count()?, unpacker.count()?);
        Some(Sentence { text, heading, is_row, names, tokens, words: unpacker.list(Unpacker::whole)? })
    };
    Unpacker::new(bytes)?.list(|unpacker| {
        let (at, beginning) = (time(unpacker)?, unpacker.string()?);
        let sender = unpacker.option(|unpacker| unpacker.place(&MemorySource::ALL))?;
        let (request, reply) = (unpacker.list(sentence)?, unpacker.list(sentence)?);
        Some(Quotable { session: session.clone(), at, beginning, request, sender, reply, part: WorkDone::default() })
    })
}

pub fn pack_runs(runs: &[SessionRun]) -> Vec<u8> {
    let mut packer = Packer::default();
    packer.list(runs, |packer, ran| {
        packer.place(&RUN_KINDS, ran.command.kind);
        packer.place(Runner::ALL, ran.command.runner);
        packer.text(&ran.command.key);
        let OutcomeTrust { success, failure, silence } = ran.command.trust;
        [success, failure, silence].into_iter().for_each(|flag| packer.flag(flag));
        packer.place(&VERDICTS, ran.run.verdict);
        for names in [&ran.run.passed, &ran.run.failed, &ran.run.problems] {
            packer.list(names, |packer, name| packer.text(name));
        }
        for count in [ran.run.passed_count, ran.run.failed_count] {
            packer.option(count, |packer, count| packer.number(count.into()));
        }
        pack_position(packer, ran.at, ran.event);
    });
    packer.packed()
}

pub fn unpack_runs(bytes: &[u8], session: &SessionId) -> Option<Vec<SessionRun>> {
    Unpacker::new(bytes)?.list(|unpacker| {
        let (kind, runner, key) = (unpacker.place(&RUN_KINDS)?, unpacker.place(Runner::ALL)?, unpacker.string()?);
        let trust = OutcomeTrust { success: unpacker.flag()?, failure: unpacker.flag()?, silence: unpacker.flag()? };
        let verdict = unpacker.place(&VERDICTS)?;
        let passed = unpacker.list(Unpacker::string)?;
        let failed = unpacker.list(Unpacker::string)?;
        let problems = unpacker.list(Unpacker::string)?;
        let passed_count = unpacker.option(|unpacker| u32::try_from(unpacker.number()?).ok())?;
        let failed_count = unpacker.option(|unpacker| u32::try_from(unpacker.number()?).ok())?;
        let (at, event) = position(unpacker)?;
        let command = RunCommand { kind, runner, key, trust };
        let run = Run { verdict, passed, failed, passed_count, failed_count, problems };
        Some(SessionRun { command, run, session: session.clone(), at, event })
    })
}

fn pack_fact(packer: &mut Packer, fact: &Fact) {
    packer.place(&FactKind::ALL, fact.kind);
    packer.option(fact.severity, |packer, severity| packer.place(&Severity::ALL, severity));
    packer.text(&fact.code);
    packer.text(&fact.text);
    for text in [&fact.path, &fact.reference, &fact.why, &fact.custom_key] {
        packer.option(text.as_deref(), Packer::text);
    }
}

/// The rest of a fact whose kind was read.
fn unpack_fact(unpacker: &mut Unpacker, kind: FactKind) -> Option<Fact> {
    Some(Fact {
        kind,
        severity: unpacker.option(|unpacker| unpacker.place(&Severity::ALL))?,
        code: unpacker.string()?,
        text: unpacker.string()?,
        path: unpacker.option(Unpacker::string)?,
        reference: unpacker.option(Unpacker::string)?,
        why: unpacker.option(Unpacker::string)?,
        custom_key: unpacker.option(Unpacker::string)?,
    })
}

/// The same, without copying anything.
fn skip_fact(unpacker: &mut Unpacker) -> Option<()> {
    unpacker.option(Unpacker::number)?;
    unpacker.skip_text()?;
    unpacker.skip_text()?;
    for _ in 0..4 {
        unpacker.option(Unpacker::skip_text)?;
    }
    Some(())
}

/// Both are large, so they are not worth shortening.
fn pack_position(packer: &mut Packer, at: Timestamp, event: i64) {
    packer.whole(at.millis() as u64);
    packer.whole(event as u64);
}

fn position(unpacker: &mut Unpacker) -> Option<(Timestamp, i64)> {
    Some((Timestamp::from_millis(unpacker.whole()? as i64), unpacker.whole()? as i64))
}

fn time(unpacker: &mut Unpacker) -> Option<Timestamp> {
    unpacker.signed().map(Timestamp::from_millis)
}

#[cfg(test)]
mod tests {
    use cerberus_record::event::Outcome;

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
