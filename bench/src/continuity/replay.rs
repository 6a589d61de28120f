//! A chain's repository and home, moved from one session's start to the next.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::Commit;
use super::baselines::seconds;
use super::session::Session;
use crate::programs::Programs;
use crate::scratch::Scratch;

/// Claude Code shows the model nothing beyond this length.
const TEXT_CHARS_MAX: usize = 10_000;

#[derive(Deserialize)]
pub struct Told {
    pub text: String,
    pub tokens: usize,
}

pub struct Replay<'a> {
    programs: &'a Programs,
    scratch: &'a Scratch,
    pub home: PathBuf,
    pub commits: Vec<Commit>,
    names: Vec<String>,
    checked_out: Option<String>,
    last_start: String,
    last_prompt: String,
}

impl<'a> Replay<'a> {
    /// Imports the whole history at once; nothing is checked out before its time.
    pub fn new(programs: &'a Programs, scratch: &'a Scratch, commits: Vec<Commit>) -> Result<Replay<'a>> {
        let mut stream = String::new();
        for (number, commit) in commits.iter().enumerate() {
            let mark = number + 1;
            let time = commit.t;
            write!(stream, "commit refs/heads/replay\nmark :{mark}\ncommitter dev <dev@localhost> {time} +0000\n")?;
            stream.push_str("data 2\nc\n");
            let mut seen = HashSet::new();
            for file in commit.files.iter().filter(|file| seen.insert(file.as_str())) {
                let quoted = if file.starts_with('"') { file.clone() } else { serde_json::to_string(file)? };
                let content = mark.to_string();
                write!(stream, "M 100644 inline {quoted}\ndata {}\n{content}\n", content.len())?;
            }
        }
        let marks = scratch.path("marks");
        let mut git = scratch.silent(Path::new("git"));
        git.args(["fast-import", "--quiet", "--force"]).arg(format!("--export-marks={}", marks.display()));
        let mut child = git.current_dir(scratch.repo()).stdin(Stdio::piped()).spawn().context("git")?;
        child.stdin.take().context("git's input")?.write_all(stream.as_bytes())?;
        ensure!(child.wait()?.success(), "git fast-import failed");
        let marks = std::fs::read_to_string(&marks).unwrap_or_default();
        let of_mark: HashMap<usize, String> = marks
            .lines()
            .filter_map(|line| line.trim_start_matches(':').split_once(' '))
            .filter_map(|(mark, name)| Some((mark.parse().ok()?, name.to_string())))
            .collect();
        let names = (1..=commits.len()).map(|mark| of_mark.get(&mark).cloned().unwrap_or_default()).collect();
        scratch.git(&["update-ref", "-d", "refs/heads/replay"])?;
        let home = scratch.home("continuity");
        let (last_start, last_prompt) = (String::new(), String::new());
        Ok(Replay { programs, scratch, home, commits, names, checked_out: None, last_start, last_prompt })
    }

    /// Checks out the repository as it was when a session started.
    pub fn check_out(&mut self, start: &str) -> Result<()> {
        let place = self.commits.iter().rposition(|commit| commit.t < seconds(start));
        let name = place.and_then(|place| self.names.get(place)).cloned();
        if let Some(name) = name.filter(|name| self.checked_out.as_ref() != Some(name)) {
            self.scratch.git(&["checkout", "--quiet", "--force", "-B", "main", &name])?;
            self.checked_out = Some(name);
        }
        Ok(())
    }

    /// The brief at the start, and the brief with the first prompt known.
    pub fn briefs(&mut self, start: &str, prompt: &str) -> Result<(Told, Told)> {
        let file = self.scratch.file("prompt.txt", prompt.as_bytes())?;
        let file = file.to_string_lossy().into_owned();
        (self.last_start, self.last_prompt) = (start.to_string(), prompt.to_string());
        let ask = |more: &[&str]| -> Result<Told> {
            let args = [&["brief", "--now", start], more].concat();
            Ok(serde_json::from_value(self.scratch.json(self.programs, &self.home, &args)?)?)
        };
        Ok((ask(&[])?, ask(&["--prompt-file", &file])?))
    }

    /// Imports a session and keeps the files that it created.
    pub fn learn(&self, transcript: &Path, session: &Session) -> Result<()> {
        let repo = self.scratch.repo();
        let mut import = self.scratch.cerberus(self.programs, &self.home, &["import", "claude-code", "--project"]);
        let output = import.arg(&repo).arg(transcript).output()?;
        ensure!(output.status.success(), "import: {}", String::from_utf8_lossy(&output.stderr));
        for path in session.edited().into_iter().filter(|path| !path.contains("..")) {
            let path = repo.join(path);
            if !path.exists() {
                let folder = path.parent().map(std::fs::create_dir_all).transpose();
                folder.and_then(|_| std::fs::write(&path, "x\n")).ok();
            }
        }
        Ok(())
    }

    /// All files that a name could refer to when this session starts.
    pub fn known_files(&self, past: &[Session], session: &Session, start: &str) -> HashSet<String> {
        let used = past.iter().flat_map(|past| past.before(start)).map(|used| used.path.clone());
        let edited = session.edited().into_iter().map(str::to_string);
        let before = self.commits.iter().filter(|commit| commit.t < seconds(start));
        used.chain(edited).chain(before.flat_map(|commit| commit.files.iter().cloned())).collect()
    }

    /// The time of the last brief.
    pub fn now(&self) -> String {
        self.last_start.clone()
    }

    /// The first prompt after the last brief.
    pub fn prompt(&self) -> &str {
        &self.last_prompt
    }
}

/// Files in order of first mention, each with its share of the name.
pub fn named_files(text: &str, known: &HashSet<String>) -> Vec<(String, f64)> {
    let mut by_end: HashMap<&str, Vec<&str>> = HashMap::new();
    for file in known {
        let starts = std::iter::once(0).chain(file.match_indices('/').map(|(at, _)| at + 1));
        starts.for_each(|start| by_end.entry(&file[start..]).or_default().push(file));
    }
    let text: String = text.chars().take(TEXT_CHARS_MAX).collect();
    let is_part = |c: char| c.is_alphanumeric() || "_.@+~()[]{}$#%&=/\\-".contains(c);
    let mut order: Vec<(String, f64)> = Vec::new();
    for token in text.split(|c: char| !is_part(c)).filter(|token| !token.is_empty()) {
        let bare = token.trim_matches(['.', '(', ')', '[', ']', '{', '}'].as_slice());
        let forms = [token, bare, token.strip_prefix("./").unwrap_or(token), token.split('#').next().unwrap_or(token)];
        let looks_like_a_name = |form: &&str| form.contains(['.', '/']) || form.chars().count() > 3;
        for form in forms.iter().filter(|form| looks_like_a_name(form)) {
            let Some(hits) = known.get(*form).map(|one| vec![one.as_str()]).or_else(|| by_end.get(*form).cloned())
            else {
                continue;
            };
            let share = 1.0 / hits.len() as f64;
            for hit in hits {
                match order.iter_mut().find(|(file, _)| file == hit) {
                    Some((_, credit)) => *credit = credit.max(share),
                    None => order.push((hit.to_string(), share)),
                }
            }
            break;
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_count_for_what_they_may_mean() {
        let known: HashSet<String> = ["src/a.rs", "src/b/mod.rs", "lib/mod.rs"].map(str::to_string).into();
        let mut found = named_files("proj:x\nimpl:b/mod.rs\nsee:mod.rs\nsee:a.rs", &known);
        assert_eq!(found.remove(0), ("src/b/mod.rs".to_string(), 1.0));
        assert_eq!(found.pop(), Some(("src/a.rs".to_string(), 1.0)));
        assert_eq!(found, [("lib/mod.rs".to_string(), 0.5)]);
    }
}
