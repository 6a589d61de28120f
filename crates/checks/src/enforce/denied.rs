//! The file `denied`: what hooks denied lately, so that a retry is recognized without reading the journal.
//!
//! It contains hashes only: of a try in a session, and of the call that was denied. Every denial is a record of the
//! journal too. Without the file, a reminder is given once more.

use std::io::{self, Write};

use cerberus_os::home::{Access, Home};
use cerberus_os::outside;
use cerberus_record::id::fnv1a;
use memchr::memmem;

/// A file of this size is begun again.
const BYTES_MAX: u64 = 64 * 1024;
/// A hash in hexadecimal digits.
const HASH_BYTES: usize = 16;

/// A call of a tool that breaks a rule.
pub struct DeniedCall {
    what: String,
    call: String,
}

/// How a try was denied before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlierDenial {
    /// This call, which a second hook reports.
    ThisCall,
    /// An earlier call.
    Before,
}

impl DeniedCall {
    /// `call` is empty if the agent does not name its calls.
    pub fn new(agent: &str, session: &str, tried: &str, call: &str) -> DeniedCall {
        let hash = |text: &str| format!("{:016x}", fnv1a(text.as_bytes()));
        let call = if call.is_empty() { String::new() } else { hash(call) };
        DeniedCall { what: hash(&format!("{agent}\n{session}\n{tried}")), call }
    }

    /// Whether hooks denied it lately. What cannot be read was not denied.
    pub fn denied(&self, home: &Home) -> Option<EarlierDenial> {
        let file = home.open(&home.denied(), Access::Read).ok()?;
        let bytes = outside::whole(file, 2 * BYTES_MAX).ok()?;
        let begin = memmem::rfind(&bytes, format!("\n{} ", self.what).as_bytes())?;
        let call = bytes.get(begin + HASH_BYTES + 2..)?.split(|byte| *byte == b'\n').next()?;
        let is_this = !self.call.is_empty() && call == self.call.as_bytes();
        Some(if is_this { EarlierDenial::ThisCall } else { EarlierDenial::Before })
    }

    /// Adds it to the file.
    pub fn deny(&self, home: &Home) -> io::Result<()> {
        let mut file = home.open(&home.denied(), Access::AppendOrCreate)?;
        if file.metadata()?.len() > BYTES_MAX {
            file.set_len(0)?;
        }
        file.write_all(format!("\n{} {}\n", self.what, self.call).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().to_path_buf());
        (dir, home)
    }

    #[test]
    fn a_retry_and_a_second_hook_are_told_apart() {
        let (_dir, home) = home();
        let tried = |session: &str, what: &str, call: &str| DeniedCall::new("codex", session, what, call);
        assert_eq!(tried("s1", "npm", "t1").denied(&home), None, "no file yet");
        tried("s1", "npm", "t1").deny(&home).unwrap();
        tried("s1", "yarn", "t2").deny(&home).unwrap();
        for (session, what, call, denied) in [
            ("s1", "npm", "t1", Some(EarlierDenial::ThisCall)),
            ("s1", "npm", "t2", Some(EarlierDenial::Before)),
            ("s1", "npm", "", Some(EarlierDenial::Before)),
            ("s1", "yarn", "t2", Some(EarlierDenial::ThisCall)),
            ("s1", "bun", "t1", None),
            ("s2", "npm", "t1", None),
        ] {
            assert_eq!(tried(session, what, call).denied(&home), denied, "{session} {what} {call}");
        }
        // The last denial counts.
        tried("s1", "npm", "t3").deny(&home).unwrap();
        assert_eq!(tried("s1", "npm", "t1").denied(&home), Some(EarlierDenial::Before));
        // Two calls without a name are two calls.
        tried("s1", "bun", "").deny(&home).unwrap();
        assert_eq!(tried("s1", "bun", "").denied(&home), Some(EarlierDenial::Before));
    }

    #[test]
    fn a_full_damaged_or_missing_file_is_begun_again() {
        let (_dir, home) = home();
        let tried = DeniedCall::new("codex", "s1", "npm", "t1");
        fs::write(home.denied(), vec![b'x'; 3 * BYTES_MAX as usize]).unwrap();
        assert_eq!(tried.denied(&home), None);
        tried.deny(&home).unwrap();
        assert_eq!(tried.denied(&home), Some(EarlierDenial::ThisCall));
        assert!(fs::metadata(home.denied()).unwrap().len() < 100);
        // A line that was cut off spoils no other.
        fs::write(home.denied(), "\n0123").unwrap();
        tried.deny(&home).unwrap();
        assert_eq!(tried.denied(&home), Some(EarlierDenial::ThisCall));
        fs::remove_file(home.denied()).unwrap();
        assert_eq!(tried.denied(&home), None);
    }
}
