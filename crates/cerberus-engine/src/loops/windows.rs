//! How much fits into a context, model by model, as agents told: `loops/windows.json` in the home.
//!
//! Only a convenience: what cannot be read is learnt again, what cannot be written is not kept.

use std::fs::File;
use std::io::{self, Read};

use cerberus_core::loops::meter::Windows;

use crate::home::{Home, create_dir};
use crate::replace::replace;

const BYTES_MAX: u64 = 64 * 1024;

pub fn load(home: &Home) -> Windows {
    let mut bytes = Vec::new();
    let read = File::open(path(home)).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes));
    read.ok().and_then(|_| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Adds what was told; other runners' words are kept.
pub fn learn(home: &Home, told: &Windows) -> io::Result<()> {
    let mut known = load(home);
    if known.take_in(told).is_empty() {
        return Ok(());
    }
    create_dir(&home.loops_dir())?;
    let text = serde_json::to_string_pretty(&known).map_err(io::Error::other)?;
    replace(&path(home), text.as_bytes(), 0o600)
}

fn path(home: &Home) -> std::path::PathBuf {
    home.loops_dir().join("windows.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_learnt_is_kept_and_a_damaged_file_is_learnt_again() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().to_path_buf());
        let told = |model: &str, tokens| {
            let mut windows = Windows::default();
            windows.learn(model, tokens);
            windows
        };
        learn(&home, &told("a", 10)).unwrap();
        learn(&home, &told("b", 20)).unwrap();
        learn(&home, &told("a", 30)).unwrap();
        assert_eq!((load(&home).of("a"), load(&home).of("b")), (Some(30), Some(20)));
        std::fs::write(path(&home), "{").unwrap();
        assert_eq!(load(&home).of("a"), None);
        learn(&home, &told("a", 10)).unwrap();
        assert_eq!(load(&home).of("a"), Some(10));
    }
}
