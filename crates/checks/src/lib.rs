//! Checks: rules of the user that are not only told, but hold.
//!
//! A [`Rule`] is data: what may not be done, or what must have been done before. It is written as command line options,
//! which are also its stored form. [`decide::decide`] says whether a tool use breaks a rule, on the grammar of the shell
//! and never on raw text. [`derive::derive`] reads a rule from a sentence, by strict templates. A check is a reminder for
//! an agent that means well, not a sandbox: what is not certainly a violation passes.
//! Only [`enforce`] does I/O.

mod args;
pub mod decide;
pub mod derive;
pub mod enforce;
mod git;
mod harmless;
mod heads;
mod paths;
pub mod pattern;
pub mod reason;
pub mod replay;
mod runs;
pub mod scene;
mod stages;
mod tasks;
#[cfg(test)]
mod tests;

use std::fmt;

pub use cerberus_record::check::CheckLevel;
use cerberus_record::clean::glob::Glob;
use cerberus_record::id::ProjectId;
use cerberus_record::words;
pub use pattern::RuleError;
pub(crate) use pattern::quoted;

use self::pattern::Pattern;
use pattern::{VALUE_BYTES_MAX, VALUES_MAX};

/// A rule that is switched on, as the hook reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// The id of the memory that it belongs to.
    pub id: String,
    /// The memory in the user's words.
    pub sentence: String,
    pub level: CheckLevel,
    pub rule: Rule,
    /// Where it applies; `None` means everywhere.
    pub projects: Option<Vec<ProjectId>>,
}

/// What a rule demands.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// None of these commands may be run.
    Command { forbidden: Vec<Pattern>, instead: Option<String> },
    /// These commands, or all, are run with words before them.
    Prefix { prefix: Vec<String>, on: Vec<Pattern> },
    /// Files that are left alone.
    Path { glob: PathGlob, only: Option<Act> },
    /// A branch that nothing is committed or pushed to.
    Branch { name: String, only: Option<Act> },
    /// Before this command, these are run, each after the last edit.
    Order { before: Pattern, need: Vec<Pattern> },
    /// Before a turn with edits ends, these are run, each after the last edit.
    Stop { need: Vec<Pattern> },
    /// What the message of a commit looks like.
    Commit { forbidden: Vec<String>, starts: Vec<String>, chars_max: Option<usize> },
    /// A text that is not written into files.
    Text { literal: String, files: Option<PathGlob> },
}

/// A glob, with the text it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct PathGlob {
    pub text: String,
    glob: Glob,
}

impl PathGlob {
    fn parse(text: &str) -> Result<PathGlob, RuleError> {
        // A pattern covers everything below, so `gen/**` is the folder `gen` at the top.
        let inner = text.strip_suffix("/**").map_or_else(|| text.to_string(), |folder| format!("/{folder}/"));
        let glob = Glob::parse_exact(&inner).map_err(RuleError::Glob)?;
        Ok(PathGlob { text: text.to_string(), glob })
    }
}

words! {
    /// What is done to a file or a branch.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Act {
        Edit = "edit",
        Delete = "delete",
        Commit = "commit",
        Push = "push",
    }
}

/// The word for the end of a turn in `--before stop`.
pub const STOP: &str = "stop";

impl Rule {
    /// Reads options: `--forbid npm --instead pnpm`.
    pub fn parse<S: AsRef<str>>(words: &[S]) -> Result<Rule, RuleError> {
        let mut given = GivenOptions::read(words)?;
        let rule = given.rule()?;
        match given.0.first() {
            None => Ok(rule),
            Some((option, _)) => Err(RuleError::Misplaced(option.to_string())),
        }
    }

    /// The kind, in one word.
    pub fn kind(&self) -> &'static str {
        match self {
            Rule::Command { .. } => "command",
            Rule::Prefix { .. } => "prefix",
            Rule::Path { .. } => "path",
            Rule::Branch { .. } => "branch",
            Rule::Order { .. } => "order",
            Rule::Stop { .. } => "stop",
            Rule::Commit { .. } => "commit",
            Rule::Text { .. } => "text",
        }
    }

    /// Whether it is about what the session did before, so that it cannot be judged where nothing is recorded.
    pub fn needs_past(&self) -> bool {
        matches!(self, Rule::Order { .. } | Rule::Stop { .. })
    }

    /// The highest level that it may have. What a text means is too often misjudged.
    pub fn level_max(&self) -> CheckLevel {
        match self {
            Rule::Text { .. } => CheckLevel::Remind,
            _ => CheckLevel::Block,
        }
    }

    /// The options that it is made of.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |option: &str, value: &str| words.extend([option.to_string(), value.to_string()]);
        match self {
            Rule::Command { forbidden, instead } => {
                forbidden.iter().for_each(|pattern| add("--forbid", pattern.text()));
                instead.iter().for_each(|instead| add("--instead", instead));
            }
            Rule::Prefix { prefix, on } => {
                add("--prefix", &prefix.join(" "));
                on.iter().for_each(|pattern| add("--on", pattern.text()));
            }
            Rule::Path { glob, only } => {
                add("--protect", &glob.text);
                only.iter().for_each(|act| add("--only", act.word()));
            }
            Rule::Branch { name, only } => {
                add("--branch", name);
                only.iter().for_each(|act| add("--only", act.word()));
            }
            Rule::Order { before, need } => {
                add("--before", before.text());
                need.iter().for_each(|pattern| add("--need", pattern.text()));
            }
            Rule::Stop { need } => {
                add("--before", STOP);
                need.iter().for_each(|pattern| add("--need", pattern.text()));
            }
            Rule::Commit { forbidden, starts, chars_max } => {
                forbidden.iter().for_each(|text| add("--message-forbid", text));
                starts.iter().for_each(|text| add("--message-start", text));
                chars_max.iter().for_each(|max| add("--message-max", &max.to_string()));
            }
            Rule::Text { literal, files } => {
                add("--text", literal);
                files.iter().for_each(|glob| add("--in", &glob.text));
            }
        }
        words
    }
}

/// The options as one line that can be typed.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.words().iter().map(|word| quoted(word)).collect();
        f.write_str(&words.join(" "))
    }
}

/// Options and their values, of which each is taken once.
struct GivenOptions<'a>(Vec<(&'a str, &'a str)>);

impl<'a> GivenOptions<'a> {
    fn read<S: AsRef<str>>(words: &'a [S]) -> Result<GivenOptions<'a>, RuleError> {
        const OPTIONS: [&str; 14] = [
            "--forbid",
            "--instead",
            "--prefix",
            "--on",
            "--protect",
            "--only",
            "--branch",
            "--before",
            "--need",
            "--message-forbid",
            "--message-start",
            "--message-max",
            "--text",
            "--in",
        ];
        let mut given = Vec::new();
        let mut words = words.iter().map(AsRef::as_ref);
        while let Some(option) = words.next() {
            if !OPTIONS.contains(&option) {
                return Err(RuleError::Unknown(option.to_string()));
            }
            let value = words.next().map(str::trim).filter(|value| !value.is_empty());
            let value = value.ok_or_else(|| RuleError::NoValue(option.to_string()))?;
            if value.len() > VALUE_BYTES_MAX || given.len() == VALUES_MAX {
                return Err(RuleError::TooLong);
            }
            given.push((option, value));
        }
        Ok(GivenOptions(given))
    }

    fn all(&mut self, option: &str) -> Vec<&'a str> {
        let found = self.0.iter().filter(|(name, _)| *name == option).map(|(_, value)| *value).collect();
        self.0.retain(|(name, _)| *name != option);
        found
    }

    fn one(&mut self, option: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|(name, _)| *name == option)?;
        Some(self.0.remove(at).1)
    }

    fn patterns(&mut self, option: &str) -> Result<Vec<Pattern>, RuleError> {
        self.all(option).into_iter().map(Pattern::parse).collect()
    }

    fn only(&mut self, allowed: &[Act], said: &'static str) -> Result<Option<Act>, RuleError> {
        let Some(word) = self.one("--only") else { return Ok(None) };
        let act = Act::from_word(word).filter(|act| allowed.contains(act));
        act.map(Some).ok_or(RuleError::Only(said))
    }

    fn rule(&mut self) -> Result<Rule, RuleError> {
        let forbidden = self.patterns("--forbid")?;
        if !forbidden.is_empty() {
            return Ok(Rule::Command { forbidden, instead: self.one("--instead").map(str::to_string) });
        }
        if let Some(prefix) = self.one("--prefix") {
            let prefix = prefix.split_whitespace().map(str::to_string).collect();
            return Ok(Rule::Prefix { prefix, on: self.patterns("--on")? });
        }
        if let Some(text) = self.one("--protect") {
            let only = self.only(&[Act::Edit, Act::Delete, Act::Commit], "edit, delete or commit")?;
            return Ok(Rule::Path { glob: PathGlob::parse(text)?, only });
        }
        if let Some(name) = self.one("--branch") {
            let only = self.only(&[Act::Commit, Act::Push], "commit or push")?;
            return Ok(Rule::Branch { name: name.to_string(), only });
        }
        if let Some(before) = self.one("--before") {
            let need = self.patterns("--need")?;
            return match (before, need.is_empty()) {
                (_, true) => Err(RuleError::NoNeed),
                (STOP, false) => Ok(Rule::Stop { need }),
                (before, false) => Ok(Rule::Order { before: Pattern::parse(before)?, need }),
            };
        }
        let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_string).collect::<Vec<_>>();
        let (forbidden, starts) = (owned(self.all("--message-forbid")), owned(self.all("--message-start")));
        let number = |text: &str| text.parse().map_err(|_| RuleError::NotANumber(text.to_string()));
        let chars_max = self.one("--message-max").map(number).transpose()?;
        if !forbidden.is_empty() || !starts.is_empty() || chars_max.is_some() {
            return Ok(Rule::Commit { forbidden, starts, chars_max });
        }
        let Some(literal) = self.one("--text") else { return Err(RuleError::NotOne) };
        let files = self.one("--in").map(PathGlob::parse).transpose()?;
        Ok(Rule::Text { literal: literal.to_string(), files })
    }
}
