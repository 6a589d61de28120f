//! A hub in a git repository: usually the project's own remote, under `refs/cerberus/SPACE/PROJECT`, where no branch
//! or tag is touched and nothing is checked out.
//!
//! - `documents/NAME` is a commit without parent that holds the document. It is replaced by force: the device that
//!   owns it is its only writer.
//! - `streams/DEVICE/GENERATION` is a line of commits, one per batch, that only ever moves forward.
//!
//! A push arrives whole or not at all, because the remote moves a reference after it has all objects. Commits have no
//! time and a fixed author, so that a repeated push makes the same commits. The home holds a bare repository that
//! mirrors references; it can be deleted at any time. A stream is mirrored once its batches are asked for; from then on
//! it comes with the documents of its place, and what is gone from the remote goes from the mirror.

mod answer;
mod door;
mod history;
mod names;
mod objects;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

use cerberus_os::home::create_dir;

use self::answer::{Pushed, problem};
pub use self::door::end_all;
use self::door::{Done, Door, GitFailure};
use self::history::History;
use self::names::{beginning, lines, of_device, of_document, of_stream, of_streams};
use super::TimeLimit;
use super::address::{Address, AddressError};
use super::hash::sha256;
use super::object::{Named, answers};
use super::{Document, Place, Put, Question, Range, Result, Sealed, Stream, Transport, TransportError};

/// Streams that are named one by one; if more are mirrored, all of a place are fetched.
const REFSPECS_MAX: usize = 100;

/// The file that is locked while the repository is used.
const LOCK: &str = "cerberus.lock";

/// Other devices may push at the same moment.
const ATTEMPTS_MAX: usize = 5;

#[derive(Debug)]
pub struct Git {
    url: String,
    hub: String,
    dir: PathBuf,
    /// The mirror was made here and nothing was sent: it has what was fetched here and nothing else.
    is_new: bool,
    /// Beginnings of streams' references that the mirror is up to date with.
    fetched: BTreeSet<String>,
    door: Door,
}

/// A reference to move on the remote. Without a commit it is deleted.
struct Update {
    commit: Option<String>,
    reference: String,
    is_forced: bool,
}

impl Git {
    /// `dir` is a folder of the home in which the repository is kept.
    pub fn open(address: &Address, dir: &Path, time: TimeLimit) -> Result<Git, AddressError> {
        address.only_settings(&[], "git")?;
        if address.password.is_some() {
            return Err(AddressError::Insecure(
                "a git hub takes no password in its address: git finds it through a credential helper or ssh",
            ));
        }
        let protocol = match address.scheme.as_str() {
            "git+ssh" => "ssh",
            "git+https" => "https",
            "git+file" => "file",
            "git+http" if address.is_loopback() => "http",
            "git+http" => return Err(AddressError::Insecure("use git+https: git+http is not encrypted")),
            other => return Err(AddressError::Scheme(other.to_string())),
        };
        if address.path.trim_matches('/').is_empty() {
            return Err(AddressError::Missing("path of a repository"));
        }
        match (protocol, address.host.is_empty()) {
            ("file", false) => return Err(AddressError::Bad("host: a file is on this machine")),
            ("file", true) | (_, false) => {}
            _ => return Err(AddressError::Missing("host")),
        }
        let hub = address.redacted();
        // Git reads the path of a file as it stands.
        let url = match protocol {
            "file" => format!("file://{}", address.path),
            _ => hub.replacen("git+", "", 1),
        };
        // No file is named after an address.
        let dir = dir.join(format!("{}.git", &sha256(url.as_bytes())[..16]));
        let door = Door::new(&dir, protocol, time);
        Ok(Git { url, hub, door, dir, is_new: false, fetched: BTreeSet::new() })
    }

    /// One process at a time uses the repository. Every use is limited in time, so waiting is too.
    fn lock(&mut self) -> Result<File> {
        let lock = || -> std::io::Result<File> {
            create_dir(&self.dir)?;
            let lock = File::options().create(true).append(true).open(self.dir.join(LOCK))?;
            lock.lock()?;
            Ok(lock)
        };
        let lock = lock().map_err(|error| self.io(error))?;
        // A fetch that was killed leaves what only came through a filter.
        let settings = std::fs::read_to_string(self.dir.join("config")).unwrap_or_default();
        if !self.dir.join("HEAD").exists() || settings.contains("promisor") {
            self.begin()?;
        }
        Ok(lock)
    }

    /// Makes an empty mirror.
    fn begin(&mut self) -> Result<()> {
        self.clear().map_err(|error| self.io(error))?;
        self.fetched.clear();
        self.succeeded(self.door.create())?;
        self.is_new = true;
        Ok(())
    }

    fn clear(&self) -> std::io::Result<()> {
        for entry in std::fs::read_dir(&self.dir)?.flatten().filter(|entry| entry.file_name() != LOCK) {
            let is_folder = entry.file_type()?.is_dir();
            if is_folder { std::fs::remove_dir_all(entry.path())? } else { std::fs::remove_file(entry.path())? }
        }
        Ok(())
    }

    /// Gets the references that begin like one of these, and the objects that are new, with one git.
    fn fetch(&mut self, beginnings: &BTreeSet<String>) -> Result<()> {
        let streams: Vec<&String> = beginnings.iter().filter(|one| one.contains("/streams/")).collect();
        let is_first = self.is_new && !streams.iter().any(|one| self.is_fetched(one));
        let before = if is_first { BTreeMap::new() } else { self.references(&streams)? };
        let mut args = Vec::new();
        if is_first {
            // Nothing here is part of these, so git need not ask the remote about it.
            args.extend(["-c", "fetch.negotiationAlgorithm=noop"]);
        }
        args.extend(["fetch", "--quiet", "--no-tags", "--prune", "--no-write-fetch-head", "--no-auto-maintenance"]);
        args.extend([objects::FILTER, &self.url]);
        let refspecs: Vec<String> = beginnings.iter().map(|one| format!("+{one}*:{one}*")).collect();
        args.extend(refspecs.iter().map(String::as_str));
        let settings = std::fs::read(self.dir.join("config")).map_err(|error| self.io(error))?;
        let fetched = self.door.run(&args, Vec::new());
        self.unfilter(&settings).map_err(|error| self.io(error))?;
        if matches!(fetched, Err(GitFailure::TooLong)) {
            // Nothing of it is kept.
            self.begin()?;
        }
        self.succeeded(fetched)?;
        if !is_first {
            // What git cannot tidy up stays as it is.
            let _ = self.door.run(&["gc", "--auto", "--quiet"], Vec::new());
        }
        if !before.is_empty() {
            let after = self.references(&streams)?;
            let is_less = before.keys().any(|reference| !after.contains_key(reference));
            if is_less && !self.collect()? {
                return self.fetch(beginnings);
            }
        }
        let streams: Vec<String> = streams.into_iter().cloned().collect();
        self.fetched.extend(streams);
        Ok(())
    }

    fn is_fetched(&self, device: &str) -> bool {
        self.fetched.iter().any(|one| device.starts_with(one.as_str()))
    }

    /// What must be fetched before these questions can be answered.
    fn stale(&self, questions: &[Question]) -> Result<BTreeSet<String>> {
        let mut stale: BTreeSet<String> = questions.iter().map(beginning).collect();
        stale.retain(|one| !self.is_fetched(one));
        if self.is_new && self.fetched.is_empty() {
            return Ok(stale);
        }
        // What was forgotten elsewhere must leave the mirror too, even if nobody asks for that stream again.
        let places = questions.iter().filter_map(|question| match question {
            Question::Heads(place, _) => Some(of_streams(place)),
            Question::After(_) => None,
        });
        let places: Vec<String> = places.collect();
        let mirrored = self.references(&places.iter().collect::<Vec<_>>())?;
        let device = |reference: &String| Some(reference[..=reference.rfind('/')?].to_string());
        let devices: BTreeSet<String> = mirrored.keys().filter_map(device).collect();
        stale.extend(if devices.len() <= REFSPECS_MAX { devices } else { places.into_iter().collect() });
        Ok(stale)
    }

    /// Answers questions from the mirror.
    fn mirrored(&self, questions: &[Question]) -> Result<Vec<Vec<Document>>> {
        let beginnings: BTreeSet<String> = questions.iter().map(beginning).collect();
        let references = self.references(&beginnings.iter().collect::<Vec<_>>())?;
        let tip = |range: &Range| references.get(&of_stream(&range.stream, range.generation));
        let tips = questions.iter().filter_map(|question| match question {
            Question::Heads(..) => None,
            Question::After(range) => tip(range),
        });
        let history = self.history(&tips.collect::<Vec<_>>())?;
        let objects = |question: &Question| -> Named<String> {
            match question {
                Question::Heads(place, max) => {
                    let below = of_document(place, "");
                    let object = |(name, commit): (&String, &String)| {
                        Some((name.strip_prefix(&below)?.to_string(), format!("{commit}:{}", objects::DOCUMENT)))
                    };
                    let found: Named<String> = references.iter().filter_map(object).collect();
                    if found.len() > *max { Vec::new() } else { found }
                }
                Question::After(range) => {
                    let commits = tip(range).map(|tip| history.line(tip)).unwrap_or_default();
                    let batch = |sequence: u64| {
                        let place = format!("{}:{}", commits.get(&sequence)?, objects::BATCH);
                        Some((sequence.to_string(), place))
                    };
                    range.sequences().map_while(batch).collect()
                }
            }
        };
        let named: Vec<Named<String>> = questions.iter().map(objects).collect();
        let contents = self.contents(&named.iter().flatten().map(|(_, file)| file.as_str()).collect::<Vec<_>>())?;
        Ok(answers(named, contents))
    }

    /// Makes git forget that objects came through a filter: it would keep all of them for ever.
    fn unfilter(&self, settings: &[u8]) -> std::io::Result<()> {
        std::fs::write(self.dir.join("config"), settings)?;
        let packs = std::fs::read_dir(self.dir.join("objects/pack"))?.flatten().map(|entry| entry.path());
        let mut marks = packs.filter(|path| path.extension().is_some_and(|end| end == "promisor"));
        marks.try_for_each(std::fs::remove_file)
    }

    /// Removes batches that no reference leads to: what they hold was forgotten, and this home has the key. Git refuses if
    /// something was too large to be fetched; then the mirror begins again, which is `false`.
    fn collect(&mut self) -> Result<bool> {
        if self.git(&["gc", "--quiet", "--prune=now"], Vec::new()).is_ok() {
            return Ok(true);
        }
        self.begin().map(|()| false)
    }

    fn push(&self, updates: &[Update]) -> Result<Pushed> {
        let refspec = |update: &Update| {
            let force = if update.is_forced { "+" } else { "" };
            format!("{force}{}:{}", update.commit.as_deref().unwrap_or_default(), update.reference)
        };
        let refspecs: Vec<String> = updates.iter().map(refspec).collect();
        let mut args = vec!["push", "--porcelain", "--no-verify", &self.url];
        args.extend(refspecs.iter().map(String::as_str));
        let done = self.door.run(&args, Vec::new()).map_err(|failure| self.failed(failure))?;
        let pushed = answer::pushed(&done.output, done.is_success);
        pushed.ok_or_else(|| problem(&self.hub, &format!("{}\n{}", done.messages, answer::rejected(&done.output))))
    }

    /// Makes the mirror say what the remote has.
    fn note(&mut self, updates: &[Update]) -> Result<()> {
        self.is_new = false;
        let mut input = String::new();
        for update in updates {
            match &update.commit {
                Some(commit) => input.push_str(&format!("update {} {commit}\n", update.reference)),
                None => input.push_str(&format!("delete {}\n", update.reference)),
            }
        }
        self.git(&["update-ref", "--stdin"], input.into_bytes()).map(drop)
    }

    /// The references that begin like one of these, with their commits.
    fn references(&self, beginnings: &[&String]) -> Result<BTreeMap<String, String>> {
        if beginnings.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut args = vec!["for-each-ref", "--format=%(refname) %(objectname)"];
        args.extend(beginnings.iter().map(|one| one.as_str()));
        let listed = self.git(&args, Vec::new())?;
        let lines = String::from_utf8_lossy(&listed);
        let pairs = lines.lines().filter_map(|line| line.split_once(' '));
        Ok(pairs.map(|(name, commit)| (name.to_string(), commit.to_string())).collect())
    }

    /// The commits that lead to these.
    fn history(&self, tips: &[&String]) -> Result<History> {
        if tips.is_empty() {
            return Ok(History::default());
        }
        let mut args = vec!["log", "--format=%H,%P,%s"];
        args.extend(tips.iter().map(|tip| tip.as_str()));
        args.push("--");
        Ok(History::read(&self.git(&args, Vec::new())?))
    }

    /// The newest commit of a generation that is known here, and all of them by the sequence number of their batch.
    fn known(&self, stream: &Stream, generation: u64) -> Result<(Option<String>, BTreeMap<u64, String>)> {
        let reference = of_stream(stream, generation);
        let tip = self.references(&[&reference])?.remove(&reference);
        let commits = match &tip {
            Some(tip) => self.history(&[tip])?.line(tip),
            None => BTreeMap::new(),
        };
        Ok((tip, commits))
    }

    /// Whether these batches will be on the remote when this commit is, which adds those that the mirror does not have.
    fn plan(&self, stream: &Stream, generation: u64, batches: &[Sealed]) -> Result<(Vec<Put>, Option<String>)> {
        let (tip, known) = self.known(stream, generation)?;
        let there = batches.iter().filter_map(|batch| known.get(&batch.sequence));
        let there: Vec<String> = there.map(|commit| format!("{commit}:{}", objects::BATCH)).collect();
        let mut there = self.contents(&there.iter().map(String::as_str).collect::<Vec<_>>())?.into_iter();
        let (mut results, mut new) = (Vec::new(), Vec::new());
        for batch in batches {
            if !known.contains_key(&batch.sequence) {
                new.push((batch.sequence.to_string(), batch.bytes.as_slice()));
            } else if there.next() != Some(Some(batch.bytes.clone())) {
                results.push(Put::Other);
                break;
            }
            results.push(Put::Stored);
        }
        let added = if new.is_empty() { Vec::new() } else { self.import(tip.as_deref(), objects::BATCH, &new)? };
        Ok((results, added.into_iter().next_back().or(tip)))
    }

    /// Writes commits into the repository, each on the one before, and returns their ids.
    fn import(&self, parent: Option<&str>, file: &str, commits: &[(String, &[u8])]) -> Result<Vec<String>> {
        let stream = objects::import_stream(parent, file, commits);
        let imported = self.git(&["fast-import", "--quiet", "--force", "--done"], stream)?;
        let printed = String::from_utf8_lossy(&imported);
        let ids: Vec<String> = printed.lines().map(str::to_string).collect();
        if ids.len() == commits.len() {
            return Ok(ids);
        }
        Err(self.unexpected("git fast-import names too few commits".to_string()))
    }

    /// The files at these places, `COMMIT:FILE`; `None` if one is missing or too large: a remote can hold anything under
    /// these names, so sizes are looked at first.
    fn contents(&self, files: &[&str]) -> Result<Vec<Option<Vec<u8>>>> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let sizes = objects::sizes(&self.git(&["cat-file", "--batch-check=%(objectsize)"], lines(files))?);
        let sized: Vec<(&str, Option<usize>)> = files.iter().copied().zip(sizes).collect();
        let (mut all, mut rest) = (Vec::new(), sized.as_slice());
        while !rest.is_empty() {
            let (some, following) = rest.split_at(objects::fitting(rest.iter().map(|(_, size)| size.unwrap_or(0))));
            let wanted: Vec<&str> = some.iter().filter(|(_, size)| size.is_some()).map(|(file, _)| *file).collect();
            let mut read = objects::blobs(&self.git(&["cat-file", "--batch"], lines(&wanted))?).into_iter();
            all.extend(some.iter().map(|(_, size)| size.and_then(|_| read.next().flatten())));
            rest = following;
        }
        Ok(all)
    }

    /// What git prints.
    fn git(&self, args: &[&str], input: Vec<u8>) -> Result<Vec<u8>> {
        Ok(self.succeeded(self.door.run(args, input))?.output)
    }

    fn succeeded(&self, done: Result<Done, GitFailure>) -> Result<Done> {
        let done = done.map_err(|failure| self.failed(failure))?;
        if done.is_success { Ok(done) } else { Err(problem(&self.hub, &done.messages)) }
    }

    fn failed(&self, failure: GitFailure) -> TransportError {
        let hub = self.hub.clone();
        match failure {
            GitFailure::TimedOut => TransportError::Unreachable { hub, reason: "no answer in time".to_string() },
            GitFailure::TooLong => TransportError::Unexpected { hub, reason: "the answer is too long".to_string() },
            GitFailure::NoGit(reason) => TransportError::Unexpected { hub, reason },
        }
    }

    fn unexpected(&self, reason: String) -> TransportError {
        TransportError::Unexpected { hub: self.hub.clone(), reason }
    }

    fn io(&self, error: std::io::Error) -> TransportError {
        self.unexpected(format!("{}: {error}", self.dir.display()))
    }
}

impl Transport for Git {
    fn hub(&self) -> String {
        self.hub.clone()
    }

    fn answer(&mut self, questions: &[Question]) -> Result<Vec<Vec<Document>>> {
        let _lock = self.lock()?;
        let stale = self.stale(questions)?;
        if !stale.is_empty() {
            self.fetch(&stale)?;
        }
        let answers = self.mirrored(questions)?;
        // What was up to date a moment ago may have gone on.
        let is_missing = |(question, answer): &(&Question, &Vec<Document>)| {
            matches!(question, Question::After(_)) && answer.is_empty() && !stale.contains(&beginning(question))
        };
        let missing = questions.iter().zip(&answers).filter(is_missing);
        let missing: BTreeSet<String> = missing.map(|(question, _)| beginning(question)).collect();
        if missing.is_empty() {
            return Ok(answers);
        }
        self.fetch(&missing)?;
        self.mirrored(questions)
    }

    fn put(&mut self, stream: &Stream, generation: u64, batches: &[Sealed]) -> Result<Vec<Put>> {
        let _lock = self.lock()?;
        let reference = of_stream(stream, generation);
        for attempt in 0..ATTEMPTS_MAX {
            let (results, commit) = self.plan(stream, generation, batches)?;
            if commit.is_none() {
                return Ok(results);
            }
            // What the mirror has is not what the remote has: the remote decides whether another writer was here, and it
            // is sent what it should have already.
            let is_certain = attempt > 0 || !results.contains(&Put::Other);
            let updates = [Update { commit, reference: reference.clone(), is_forced: false }];
            if is_certain && self.push(&updates)? == Pushed::Done {
                self.note(&updates)?;
                return Ok(results);
            }
            self.fetch(&[of_device(stream)].into())?;
        }
        Err(self.busy("stream"))
    }

    fn write(&mut self, place: &Place, name: &str, bytes: &[u8], generation: Option<u64>) -> Result<()> {
        let _lock = self.lock()?;
        let commit = self.import(None, objects::DOCUMENT, &[("document".to_string(), bytes)])?.pop();
        let reference = of_document(place, name);
        let mut updates = vec![Update { commit, reference, is_forced: true }];
        if let Some(generation) = generation {
            updates.extend(self.outdated(place, name, generation)?);
        }
        for _ in 0..ATTEMPTS_MAX {
            if self.push(&updates)? == Pushed::Done {
                self.note(&updates)?;
                return if updates.len() > 1 { self.collect().map(drop) } else { Ok(()) };
            }
        }
        Err(self.busy("document"))
    }

    fn removes(&self) -> bool {
        false
    }
}

impl Git {
    fn busy(&self, what: &str) -> TransportError {
        let reason = format!("another device writes the same {what}");
        TransportError::Unreachable { hub: self.hub.clone(), reason }
    }

    /// Streams of a device that a new generation replaces.
    fn outdated(&mut self, place: &Place, device: &str, generation: u64) -> Result<Vec<Update>> {
        let below = of_device(&Stream { place: place.clone(), device: device.to_string() });
        // The mirror may have been deleted since.
        if generation > 1 && !self.is_fetched(&below) {
            self.fetch(&[below.clone()].into())?;
        }
        let is_old = |reference: &String| {
            reference
                .strip_prefix(&below)
                .and_then(|found| found.parse::<u64>().ok())
                .is_some_and(|old| old < generation)
        };
        let old = self.references(&[&below])?.into_keys().filter(is_old);
        Ok(old.map(|reference| Update { commit: None, reference, is_forced: false }).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A batch that can be compressed to half its size at most.
    fn large(sequence: u64) -> Sealed {
        let parts = (0_u64..).map(|part| sha256(&[sequence.to_be_bytes(), part.to_be_bytes()].concat()));
        Sealed { sequence, bytes: parts.flat_map(String::into_bytes).take(1 << 20).collect() }
    }

    #[test]
    fn what_one_fetch_may_add_has_a_limit_also_if_the_host_knows_no_filter() {
        let dir = tempfile::tempdir().unwrap();
        let hour = Duration::from_secs(60 * 60);
        let remote = dir.path().join("remote.git");
        Door::new(&remote, "file", TimeLimit::of(hour, hour)).create().unwrap();
        let address = Address::parse(&format!("git+file://{}", remote.display())).unwrap();
        let open = |name: &str| Git::open(&address, &dir.path().join(name), TimeLimit::of(hour, hour)).unwrap();
        let place = Place { space: "s".to_string(), project: "p".to_string() };
        let stream = |device: &str| Stream { place: place.clone(), device: device.to_string() };
        let (mut owner, mut reader) = (open("owner"), open("reader"));
        let small = [Sealed { sequence: 1, bytes: b"one".to_vec() }];
        // No single one of them is too large.
        let many: Vec<Sealed> = (1..=4).map(large).collect();
        owner.put_if_absent(&stream("a"), 1, &small).unwrap();
        owner.put_if_absent(&stream("b"), 1, &many).unwrap();
        reader.door.fetched_bytes_max = 1 << 20;
        assert_eq!(reader.after(&stream("a"), 1, 0, 9).unwrap(), small);
        let told = reader.after(&stream("b"), 1, 0, 9).unwrap_err().to_string();
        assert!(told.contains("too long"), "{told}");
        assert!(reader.door.stored_bytes() < 1 << 20, "nothing of it is kept");
        assert_eq!(reader.after(&stream("a"), 1, 0, 9).unwrap(), small);
        reader.door.fetched_bytes_max = 1 << 30;
        assert_eq!(reader.after(&stream("b"), 1, 0, 9).unwrap(), many);
    }
}
