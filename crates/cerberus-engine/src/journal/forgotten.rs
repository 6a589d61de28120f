//! The names of forgotten records: keyed hashes, so that a list of them tells nothing about what was forgotten.
//!
//! The key is random and stays in the home. A record is named by its agent, session and key, so it is recognised
//! when it arrives again, from a hook, a transcript or an old copy of a segment.

use std::io;

use cerberus_core::clean::text::Clean;
use cerberus_core::model::event::Record;
use cerberus_core::model::kind::EventKind;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use super::JournalError;
use crate::os::home::Home;

const KEY_BYTES: usize = 32;

/// Makes the names of forgotten records.
pub struct Namer {
    key: hmac::Key,
}

impl Namer {
    /// Uses the key of the home; creates it on first use.
    pub fn open(home: &Home) -> Result<Namer, JournalError> {
        let path = home.key();
        let key = match home.text(&path, 4 * KEY_BYTES as u64) {
            Ok(text) => from_hex(text.trim()).ok_or_else(|| io::Error::other("the key in the home is damaged")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut bytes = [0; KEY_BYTES];
                let filled = SystemRandom::new().fill(&mut bytes);
                filled
                    .map_err(|_| io::Error::other("the system provides no random bytes"))
                    .and_then(|()| home.replace(&path, to_hex(&bytes).as_bytes()))
                    .map(|()| bytes)
            }
            Err(error) => Err(error),
        };
        match key {
            Ok(key) => Ok(Namer { key: hmac::Key::new(hmac::HMAC_SHA256, &key) }),
            Err(source) => Err(JournalError::Read { path, source }),
        }
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
        fs::write(one.key(), "short").unwrap();
        assert!(Namer::open(&one).is_err(), "a broken key is never replaced: old names would be lost");
    }
}
