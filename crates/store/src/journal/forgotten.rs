//! The names of forgotten records: keyed hashes, so that a list of them tells nothing about what was forgotten.
//!
//! The key is random and stays in the home. A record is named by its agent, session and key, so it is recognised
//! when it arrives again, from a hook, a transcript or an old copy of a segment.

use std::io;

use cerberus_os::home::Home;
use cerberus_record::clean::text::Clean;
use cerberus_record::event::Record;
use cerberus_record::kind::EventKind;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use super::JournalError;

const KEY_BYTES: usize = 32;

/// Makes the names of forgotten records.
pub struct Namer {
    key: hmac::Key,
    /// Keys that were used before, or on another device: their names still count.
    earlier: Vec<Namer>,
}

/// How many keys a home may have: one for each device that forgot something before it joined.
const KEYS_MAX: usize = 256;

impl Namer {
    /// Uses the key of the home; creates it on first use.
    pub fn open(home: &Home) -> Result<Namer, JournalError> {
        let mut keys = keys(home)?.into_iter().map(|key| hmac::Key::new(hmac::HMAC_SHA256, &key));
        let damaged = || JournalError::Read { path: home.key(), source: io::Error::other(DAMAGED) };
        let key = keys.next().ok_or_else(damaged)?;
        Ok(Namer { key, earlier: keys.map(|key| Namer { key, earlier: Vec::new() }).collect() })
    }

    /// This one, and one for each earlier key.
    pub fn all(&self) -> impl Iterator<Item = &Namer> {
        std::iter::once(self).chain(&self.earlier)
    }

    /// The name of a record, whatever it says now. `open_record` is its JSON, which identifies a record about a memory
    /// or a project, because the same memory may be learned again and the same repository found again.
    pub fn record(&self, record: &Record, open_record: &[u8]) -> Clean<'static> {
        match EventKind::of(&record.event).is_of_a_session() {
            true => self.event(record.agent.name(), &record.session, &record.key),
            false => self.version(open_record),
        }
    }

    pub fn event(&self, agent: &str, session: &str, key: &str) -> Clean<'static> {
        self.name(&[b"event", agent.as_bytes(), session.as_bytes(), key.as_bytes()])
    }

    /// The name of exactly this version of a record.
    pub fn version(&self, open_record: &[u8]) -> Clean<'static> {
        self.name(&[b"version", open_record])
    }

    pub fn session(&self, agent: &str, session: &str) -> Clean<'static> {
        self.name(&[b"session", agent.as_bytes(), session.as_bytes()])
    }

    /// The name of everything in a session that shares a part of its key: the same words, or the same tool use, have
    /// another key in a transcript than in a hook's payload.
    pub fn shared(&self, agent: &str, session: &str, part: &str) -> Clean<'static> {
        self.name(&[b"alike", agent.as_bytes(), session.as_bytes(), part.as_bytes()])
    }

    /// Stands for the path of a file that no other has the name of.
    pub fn base(name: &str) -> String {
        format!("*/{name}")
    }

    /// The name of everything that a session says about a file.
    pub fn file(&self, agent: &str, session: &str, path: &str) -> Clean<'static> {
        self.name(&[b"file", agent.as_bytes(), session.as_bytes(), path.as_bytes()])
    }

    /// The name of everything about a memory, whatever it says.
    pub fn memory(&self, id: &str) -> Clean<'static> {
        self.name(&[b"memory", id.as_bytes()])
    }

    fn name(&self, parts: &[&[u8]]) -> Clean<'static> {
        let mut context = hmac::Context::with_key(&self.key);
        for part in parts {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part);
        }
        let mut halves = [0; 2];
        for (half, bytes) in halves.iter_mut().zip(context.sign().as_ref().chunks_exact(8)) {
            *half = bytes.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte));
        }
        // Long enough that no two records share a name.
        Clean::hashes("", &halves)
    }
}

const DAMAGED: &str = "the key in the home is damaged";

/// The keys of the home, one in a line: the one in use first. The first one is created on first use.
fn keys(home: &Home) -> Result<Vec<[u8; KEY_BYTES]>, JournalError> {
    let path = home.key();
    let keys = match home.text(&path, (4 * KEY_BYTES * KEYS_MAX) as u64) {
        Ok(text) => {
            let keys: Option<Vec<_>> = text.split_ascii_whitespace().map(from_hex).collect();
            keys.filter(|keys| !keys.is_empty()).ok_or_else(|| io::Error::other(DAMAGED))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut bytes = [0; KEY_BYTES];
            let filled = SystemRandom::new().fill(&mut bytes);
            filled
                .map_err(|_| io::Error::other("the system provides no random bytes"))
                .and_then(|()| home.replace(&path, to_hex(&bytes).as_bytes()))
                .map(|()| vec![bytes])
        }
        Err(error) => Err(error),
    };
    keys.map_err(|source| JournalError::Read { path, source })
}

/// The key in use.
pub fn key(home: &Home) -> Result<[u8; KEY_BYTES], JournalError> {
    let damaged = || JournalError::Read { path: home.key(), source: io::Error::other(DAMAGED) };
    keys(home)?.first().copied().ok_or_else(damaged)
}

/// Uses a key that other devices have too. The own one still counts.
pub fn adopt(home: &Home, key: [u8; KEY_BYTES]) -> Result<(), JournalError> {
    let mut all = keys(home)?;
    if all.first() == Some(&key) {
        return Ok(());
    }
    all.retain(|known| *known != key);
    all.insert(0, key);
    all.truncate(KEYS_MAX);
    write(home, &all)
}

/// The keys that were used here before the one in use.
pub fn earlier(home: &Home) -> Result<Vec<[u8; KEY_BYTES]>, JournalError> {
    Ok(keys(home)?.split_off(1))
}

/// Recognizes what was forgotten under these keys too.
pub fn learn(home: &Home, others: &[[u8; KEY_BYTES]]) -> Result<(), JournalError> {
    let mut all = keys(home)?;
    let known = all.len();
    for key in others {
        if !all.contains(key) && all.len() < KEYS_MAX {
            all.push(*key);
        }
    }
    if all.len() == known {
        return Ok(());
    }
    write(home, &all)
}

fn write(home: &Home, keys: &[[u8; KEY_BYTES]]) -> Result<(), JournalError> {
    let text: Vec<String> = keys.iter().map(|key| to_hex(key)).collect();
    let path = home.key();
    home.replace(&path, text.join("\n").as_bytes()).map_err(|source| JournalError::Write { path, source })
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    if text.len() != 2 * KEY_BYTES || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_depend_on_the_home_and_on_every_part() {
        let homes = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [one, other] = [0, 1].map(|at| Home::new(homes[at].path().to_path_buf()));
        let namer = Namer::open(&one).unwrap();
        let name = namer.event("codex", "s", "k");
        assert_eq!(name.len(), 33);
        assert_eq!(Namer::open(&one).unwrap().event("codex", "s", "k"), name, "the key is kept");
        assert_ne!(Namer::open(&other).unwrap().event("codex", "s", "k"), name);
        for different in [namer.event("gemini", "s", "k"), namer.event("codex", "sk", ""), namer.session("codex", "s")]
        {
            assert_ne!(different, name);
        }
        let foreign = key(&other).unwrap();
        learn(&one, &[foreign]).unwrap();
        learn(&one, &[foreign]).unwrap();
        assert_eq!(earlier(&one).unwrap(), [foreign], "once");
        let namer = Namer::open(&one).unwrap();
        assert_eq!(namer.event("codex", "s", "k"), name, "the key in use stays in use");
        let others = Namer::open(&other).unwrap().event("codex", "s", "k");
        assert!(namer.all().any(|namer| namer.event("codex", "s", "k") == others));
        fs::write(one.key(), "short").unwrap();
        assert!(Namer::open(&one).is_err(), "a broken key is never replaced: old names would be lost");
    }
}
