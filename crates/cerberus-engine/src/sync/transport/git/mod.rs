//! A hub in a git repository: usually the project's own remote, under `refs/cerberus/SPACE/PROJECT`, where no branch
//! or tag is touched and nothing is checked out.
//!
//! - `documents/NAME` is a commit without parent that holds the document. It is replaced by force: the device that
//!   owns it is its only writer.
//! - `streams/DEVICE/GENERATION` is a line of commits, one per batch, that only ever moves forward.
//!
//! A push arrives whole or not at all, because the remote moves a reference after it has all objects. Commits have no
//! time and a fixed author, so that a repeated push makes the same commits. The home holds a bare repository that
//! mirrors these references; it can be deleted at any time.

mod answer;
mod door;
mod objects;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ring::digest::{SHA256, digest};

use self::answer::{Pushed, problem};
use self::door::{Done, Door, Failure};
use super::address::{Address, AddressError, check_names, check_place, check_stream};
use super::{Document, Place, Put, Sealed, Stream, Transport, TransportError, until_repeated};
use crate::os::home::create_dir;

/// Other devices may push at the same moment.
const ATTEMPTS_MAX: usize = 5;

#[derive(Debug)]
pub struct Git {
    url: String,
    hub: String,
    dir: PathBuf,
    /// The place that the mirror is up to date with.
    fetched: Option<Place>,
    door: Door,
}

/// Batches of one generation that are known here, by sequence number, and the newest commit.
#[derive(Debug, Default)]
struct Known {
    tip: Option<String>,
    commits: BTreeMap<u64, String>,
}

/// What a push would do.
struct Plan {
    results: Vec<Put>,
    /// A commit for each `Put::Stored`.
    new: Vec<String>,
    tip: Option<String>,
}

impl Plan {
    /// What it did, by what the remote had before: the same batches make the same commits, so an earlier attempt, or
    /// another home, may have stored some of them.
    fn results(self, before: Option<&str>) -> Vec<Put> {
        let is_before = |commit: &String| before.is_some_and(|before| commit.starts_with(before));
        let mut there = self.new.iter().position(is_before).map_or(0, |position| position + 1);
        let mut results = self.results;
        for result in results.iter_mut().filter(|result| **result == Put::Stored) {
            if there > 0 {
                *result = Put::Same;
                there -= 1;
            }
        }
        results
    }
}

/// A reference to move on the remote. Without a commit it is deleted.
struct Update {
    commit: Option<String>,
    reference: String,
    is_forced: bool,
}

impl Git {
    /// `dir` is a folder of the home in which the repository is kept.
    pub fn open(address: &Address, dir: &Path, time_max: Duration) -> Result<Git, AddressError> {
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
            "git+http" => return Err(AddressError::Insecure("use git+https: what git+http sends can be read")),
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
        let name: String =
            digest(&SHA256, url.as_bytes()).as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let dir = dir.join(format!("{name}.git"));
        Ok(Git { url, hub, door: Door::new(&dir, protocol, time_max), dir, fetched: None })
    }

    /// One process at a time uses the repository. Every use is limited in time, so waiting is too.
    fn lock(&self) -> Result<File, TransportError> {
        let io = |error: std::io::Error| self.unexpected(format!("{}: {error}", self.dir.display()));
        create_dir(&self.dir).map_err(io)?;
        let lock = File::options().create(true).append(true).open(self.dir.join("cerberus.lock")).map_err(io)?;
        lock.lock().map_err(io)?;
        if !self.dir.join("HEAD").exists() {
            let made = self.door.create();
            self.succeeded(made)?;
        }
        Ok(lock)
    }

    /// Gets the references of a place, and the objects that are new.
    fn fetch(&self, place: &Place) -> Result<(), TransportError> {
        self.fetch_below(place, "")
    }

    /// The same for the references of a place that begin like this.
    fn fetch_below(&self, place: &Place, below: &str) -> Result<(), TransportError> {
        let names = format!("refs/cerberus/{}/{}/{below}*", place.space, place.project);
        let refspec = format!("+{names}:{names}");
        let args = ["fetch", "--quiet", "--no-tags", "--prune", "--no-write-fetch-head", &self.url, &refspec];
        let streams = match below {
            "" => format!("refs/cerberus/{}/{}/streams/", place.space, place.project),
            below => format!("refs/cerberus/{}/{}/{below}", place.space, place.project),
        };
        let before = self.references(&streams)?;
        let fetched = self.door.run(&args, Vec::new());
        self.succeeded(fetched)?;
        let after = self.references(&streams)?;
        let is_kept = |reference: &String| after.iter().any(|(kept, _)| kept == reference);
        if before.iter().all(|(reference, _)| is_kept(reference)) { Ok(()) } else { self.collect() }
    }

    /// Removes batches that no reference leads to: what they hold was forgotten, and this home has the key.
    fn collect(&self) -> Result<(), TransportError> {
        let collected = self.door.run(&["gc", "--quiet", "--prune=now"], Vec::new());
        self.succeeded(collected).map(drop)
    }

    fn push(&self, updates: &[Update]) -> Result<Pushed, TransportError> {
        let refspec = |update: &Update| {
            let force = if update.is_forced { "+" } else { "" };
            format!("{force}{}:{}", update.commit.as_deref().unwrap_or_default(), update.reference)
        };
        let refspecs: Vec<String> = updates.iter().map(refspec).collect();
        let mut args = vec!["push", "--porcelain", "--no-verify", &self.url];
        args.extend(refspecs.iter().map(String::as_str));
        let done = self.door.run(&args, Vec::new()).map_err(|failure| self.failed(failure))?;
        answer::pushed(&done.output, done.is_success).ok_or_else(|| problem(&self.hub, &done.messages))
    }

    /// Makes the mirror say what the remote has.
    fn note(&self, updates: &[Update]) -> Result<(), TransportError> {
        let mut input = String::new();
        for update in updates {
            match &update.commit {
                Some(commit) => input.push_str(&format!("update {} {commit}\n", update.reference)),
                None => input.push_str(&format!("delete {}\n", update.reference)),
            }
        }
        let noted = self.door.run(&["update-ref", "--stdin"], input.into_bytes());
        self.succeeded(noted).map(drop)
    }

    /// The references below a prefix, with their commits.
    fn references(&self, below: &str) -> Result<Vec<(String, String)>, TransportError> {
        let listed = self.door.run(&["for-each-ref", "--format=%(refname) %(objectname)", below], Vec::new());
        let listed = self.succeeded(listed)?;
        let lines = String::from_utf8_lossy(&listed.output).into_owned();
        let pairs = lines.lines().filter_map(|line| line.split_once(' '));
        Ok(pairs.map(|(name, commit)| (name.to_string(), commit.to_string())).collect())
    }

    fn known(&self, stream: &Stream, generation: u64) -> Result<Known, TransportError> {
        let reference = of_stream(stream, generation);
        let Some((_, tip)) = self.references(&reference)?.into_iter().find(|(name, _)| *name == reference) else {
            return Ok(Known::default());
        };
        let listed = self.door.run(&["log", "--reverse", "--format=%H %s", &tip, "--"], Vec::new());
        let listed = self.succeeded(listed)?;
        let mut commits = BTreeMap::new();
        for line in String::from_utf8_lossy(&listed.output).lines() {
            let Some((commit, sequence)) = line.split_once(' ') else { continue };
            if let Ok(sequence) = sequence.parse() {
                // The first one counts: later ones cannot replace it.
                commits.entry(sequence).or_insert_with(|| commit.to_string());
            }
        }
        Ok(Known { tip: Some(tip), commits })
    }

    /// Which of these batches the mirror has, and commits that add the others.
    fn plan(&self, stream: &Stream, generation: u64, batches: &[Sealed]) -> Result<Plan, TransportError> {
        let known = self.known(stream, generation)?;
        let there: Vec<&String> = batches.iter().filter_map(|batch| known.commits.get(&batch.sequence)).collect();
        let mut there = self.contents(&there, objects::BATCH)?.into_iter();
        let (mut results, mut new) = (Vec::new(), Vec::new());
        for batch in batches {
            if !known.commits.contains_key(&batch.sequence) {
                new.push(batch);
                results.push(Put::Stored);
            } else if there.next() == Some(Some(batch.bytes.clone())) {
                results.push(Put::Same);
            } else {
                results.push(Put::Other);
                break;
            }
        }
        if new.is_empty() {
            return Ok(Plan { results, new: Vec::new(), tip: known.tip });
        }
        let commits: Vec<(String, &[u8])> =
            new.iter().map(|batch| (batch.sequence.to_string(), batch.bytes.as_slice())).collect();
        let new = self.import(known.tip.as_deref(), objects::BATCH, &commits)?;
        Ok(Plan { results, tip: new.last().cloned(), new })
    }

    /// Writes commits into the repository, each on the one before, and returns their ids.
    fn import(
        &self,
        parent: Option<&str>,
        file: &str,
        commits: &[(String, &[u8])],
    ) -> Result<Vec<String>, TransportError> {
        let stream = objects::import_stream(parent, file, commits);
        let imported = self.door.run(&["fast-import", "--quiet", "--force", "--done"], stream);
        let imported = self.succeeded(imported)?;
        let printed = String::from_utf8_lossy(&imported.output);
        let ids: Vec<String> = printed.lines().map(str::to_string).collect();
        if ids.len() == commits.len() {
            return Ok(ids);
        }
        Err(self.unexpected("git fast-import names too few commits".to_string()))
    }

    /// The file of that name in each commit; `None` if it is missing or too large.
    fn contents(&self, commits: &[&String], file: &str) -> Result<Vec<Option<Vec<u8>>>, TransportError> {
        let mut all = Vec::new();
        for some in commits.chunks(objects::AT_ONCE_MAX) {
            let input: String = some.iter().map(|commit| format!("{commit}:{file}\n")).collect();
            // Sizes first: a remote can hold anything under these names.
            let sizes = self.door.run(&["cat-file", "--batch-check=%(objectsize)"], input.clone().into_bytes());
            let sizes = self.succeeded(sizes)?;
            let is_good = objects::sizes(&sizes.output);
            let wanted: Vec<&str> =
                input.lines().zip(&is_good).filter(|(_, is_good)| **is_good).map(|(line, _)| line).collect();
            let read = self.door.run(&["cat-file", "--batch"], (wanted.join("\n") + "\n").into_bytes());
            let mut read = objects::blobs(&self.succeeded(read)?.output).into_iter();
            all.extend(is_good.into_iter().map(|is_good| if is_good { read.next().flatten() } else { None }));
        }
        Ok(all)
    }

    fn succeeded(&self, done: Result<Done, Failure>) -> Result<Done, TransportError> {
        let done = done.map_err(|failure| self.failed(failure))?;
        if done.is_success { Ok(done) } else { Err(problem(&self.hub, &done.messages)) }
    }

    fn failed(&self, failure: Failure) -> TransportError {
        let hub = self.hub.clone();
        match failure {
            Failure::TimedOut => TransportError::Unreachable { hub, reason: "no answer in time".to_string() },
            Failure::TooLong => TransportError::Unexpected { hub, reason: "the answer is too long".to_string() },
            Failure::NoGit(reason) => TransportError::Unexpected { hub, reason },
        }
    }

    fn unexpected(&self, reason: String) -> TransportError {
        TransportError::Unexpected { hub: self.hub.clone(), reason }
    }
}

impl Transport for Git {
    fn heads(&mut self, place: &Place) -> Result<Vec<Document>, TransportError> {
        check_place(&self.hub, place)?;
        let _lock = self.lock()?;
        self.fetch(place)?;
        self.fetched = Some(place.clone());
        let below = of_document(place, "");
        let listed = self.references(&below)?;
        let commits: Vec<&String> = listed.iter().map(|(_, commit)| commit).collect();
        let contents = self.contents(&commits, objects::DOCUMENT)?;
        let found = listed.iter().zip(contents).filter_map(|((reference, _), bytes)| {
            Some(Document { name: reference.strip_prefix(&below)?.to_string(), bytes: bytes? })
        });
        Ok(found.collect())
    }

    fn after(
        &mut self,
        stream: &Stream,
        generation: u64,
        sequence: u64,
        limit: usize,
    ) -> Result<Vec<Sealed>, TransportError> {
        check_stream(&self.hub, stream)?;
        let _lock = self.lock()?;
        let mut known = self.known(stream, generation)?;
        // Unless `heads` got everything a moment ago, the mirror may be old.
        let is_new = self.fetched.as_ref() == Some(&stream.place);
        if !is_new || !known.commits.contains_key(&sequence.saturating_add(1)) {
            // This stream alone: the place may have many.
            self.fetch_below(&stream.place, &format!("streams/{}/", stream.device))?;
            known = self.known(stream, generation)?;
        }
        let following: Vec<(u64, &String)> = (sequence.saturating_add(1)..)
            .map_while(|next| known.commits.get(&next).map(|commit| (next, commit)))
            .take(limit)
            .collect();
        let commits: Vec<&String> = following.iter().map(|(_, commit)| *commit).collect();
        let contents = self.contents(&commits, objects::BATCH)?;
        let found = following.iter().zip(contents);
        Ok(found.map_while(|((sequence, _), bytes)| Some(Sealed { sequence: *sequence, bytes: bytes? })).collect())
    }

    fn put_if_absent(
        &mut self,
        stream: &Stream,
        generation: u64,
        batches: &[Sealed],
    ) -> Result<Vec<Put>, TransportError> {
        check_stream(&self.hub, stream)?;
        let _lock = self.lock()?;
        let (mut results, mut rest) = (Vec::new(), batches);
        while !rest.is_empty() && results.last() != Some(&Put::Other) {
            let (some, following) = until_repeated(rest);
            results.extend(self.put(stream, generation, some)?);
            rest = following;
        }
        Ok(results)
    }

    fn replace(
        &mut self,
        place: &Place,
        name: &str,
        bytes: &[u8],
        generation: Option<u64>,
    ) -> Result<(), TransportError> {
        check_place(&self.hub, place)?;
        check_names(&self.hub, &[name])?;
        let _lock = self.lock()?;
        let commit = self.import(None, objects::DOCUMENT, &[("document".to_string(), bytes)])?.pop();
        let reference = of_document(place, name);
        let mut updates = vec![Update { commit, reference, is_forced: true }];
        updates.extend(self.outdated(place, name, generation)?);
        for _ in 0..ATTEMPTS_MAX {
            if let Pushed::Done(_) = self.push(&updates)? {
                self.note(&updates)?;
                return if updates.len() > 1 { self.collect() } else { Ok(()) };
            }
        }
        let reason = "another device writes the same document".to_string();
        Err(TransportError::Unreachable { hub: self.hub.clone(), reason })
    }

    fn removes(&self) -> bool {
        false
    }
}

impl Git {
    /// Puts batches of which no two have the same sequence number.
    fn put(&self, stream: &Stream, generation: u64, batches: &[Sealed]) -> Result<Vec<Put>, TransportError> {
        let reference = of_stream(stream, generation);
        for attempt in 0..ATTEMPTS_MAX {
            let plan = self.plan(stream, generation, batches)?;
            if plan.tip.is_none() {
                return Ok(plan.results);
            }
            // What the mirror has is not what the remote has: the remote decides whether another writer was here, and it
            // is sent what it should have already.
            let is_certain = attempt > 0 || !plan.results.contains(&Put::Other);
            let updates = [Update { commit: plan.tip.clone(), reference: reference.clone(), is_forced: false }];
            if is_certain && let Pushed::Done(before) = self.push(&updates)? {
                self.note(&updates)?;
                return Ok(plan.results(before.as_deref()));
            }
            self.fetch(&stream.place)?;
        }
        let reason = "another device writes the same stream".to_string();
        Err(TransportError::Unreachable { hub: self.hub.clone(), reason })
    }

    /// Streams of a device that a new generation replaces.
    fn outdated(&self, place: &Place, device: &str, generation: Option<u64>) -> Result<Vec<Update>, TransportError> {
        let Some(generation) = generation else { return Ok(Vec::new()) };
        let below = format!("refs/cerberus/{}/{}/streams/{device}/", place.space, place.project);
        let is_old = |reference: &str| {
            reference
                .strip_prefix(&below)
                .and_then(|found| found.parse::<u64>().ok())
                .is_some_and(|old| old < generation)
        };
        let references = self.references(&below)?.into_iter().map(|(reference, _)| reference);
        let old = references.filter(|reference| is_old(reference));
        Ok(old.map(|reference| Update { commit: None, reference, is_forced: false }).collect())
    }
}

fn of_stream(stream: &Stream, generation: u64) -> String {
    let Stream { place, device } = stream;
    format!("refs/cerberus/{}/{}/streams/{device}/{generation}", place.space, place.project)
}

fn of_document(place: &Place, name: &str) -> String {
    format!("refs/cerberus/{}/{}/documents/{name}", place.space, place.project)
}
