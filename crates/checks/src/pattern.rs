//! A pattern of commands: a program, the first of its arguments, and flags in any place and order.
//!
//! `git push --force` meets `git -C x push origin main -f`, but not `git push --force-with-lease`.

use cerberus_record::shell;

use super::args::{Args, OptName, base};
use super::harmless;
use super::stages::stages;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    program: String,
    words: Vec<String>,
    flags: Vec<PatternFlag>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternFlag {
    Long(String),
    /// One letter of `-rf`, and the whole word, for programs whose long options have one hyphen.
    Short(char, String),
}

/// Which words of a command met the pattern.
#[derive(Debug, PartialEq, Eq)]
pub struct MatchedWords {
    pub indexes: Vec<usize>,
}

impl Pattern {
    pub fn parse(text: &str) -> Result<Pattern, RuleError> {
        let not_one = || RuleError::NotACommand(text.to_string());
        let commands = shell::commands(text);
        let [command] = commands.as_slice() else { return Err(not_one()) };
        let words: Vec<&str> = command.words.iter().map(String::as_str).collect();
        let program = words.first().filter(|program| !program.starts_with('-')).ok_or_else(not_one)?;
        // What stands alone has no meaning of its own: `git checkout --`.
        let is_unknown = words.iter().any(|word| word.contains('$') || matches!(*word, "-" | "--"));
        let is_unknown = is_unknown || shell::is_assignment(program);
        if is_unknown || !command.outputs.is_empty() {
            return Err(not_one());
        }
        let args = Args::read(&words);
        let mut flags = Vec::new();
        for option in &args.options {
            flags.push(match option.name {
                OptName::Long(name) => PatternFlag::Long(name.to_string()),
                OptName::Short(letter) => PatternFlag::Short(letter, words[option.index].to_string()),
            });
        }
        let (words, program) = (args.words.iter().map(|(_, word)| word.to_string()).collect(), program.to_string());
        Ok(Pattern { text: words_joined(&command.words), program, words, flags })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name of the program.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Whether it is a program alone.
    pub fn is_bare(&self) -> bool {
        self.words.is_empty() && self.flags.is_empty()
    }

    /// Whether the words of a command, the program first, meet the pattern.
    pub fn met_by(&self, words: &[&str]) -> Option<MatchedWords> {
        let first = words.first()?;
        let is_same = match self.program.contains('/') {
            true => first.trim_start_matches("./") == self.program.trim_start_matches("./"),
            false => base(first) == self.program,
        };
        if !is_same {
            return None;
        }
        let args = Args::read(words);
        if self.is_bare() && asks_only(&args) {
            return None;
        }
        let mut indexes = vec![0];
        for (wanted, (index, word)) in self.words.iter().zip(&args.words) {
            if wanted != word {
                return None;
            }
            indexes.push(*index);
        }
        if args.words.len() < self.words.len() {
            return None;
        }
        for flag in &self.flags {
            indexes.push(self.flag_in(flag, &args, words)?);
        }
        Some(MatchedWords { indexes })
    }

    /// Like [`Pattern::met_by`], but not by a form of the command that does not do what the pattern is about. A program
    /// alone is met by every use of it, and a pattern that names such a form means it.
    pub fn run_by(&self, words: &[&str]) -> Option<MatchedWords> {
        let met = self.met_by(words)?;
        let (program, args) = (base(&self.program), Args::read(words));
        let names_dry = self.has_flag("dry-run", 'n');
        let is_sub = program == "git" && self.words.len() == 1 && self.flags.is_empty();
        let is_harmless = !self.words.is_empty() && !names_dry && harmless::is_dry(program, &args)
            || is_sub && harmless::only_shows(&args)
            || self.adds_everything() && harmless::is_narrow_add(&args);
        (!is_harmless).then_some(met)
    }

    /// Whether a line runs the command, in its own words.
    pub fn is_run_in(&self, line: &str) -> bool {
        let runs = |command: &shell::SimpleCommand| stages(command).iter().any(|words| self.run_by(words).is_some());
        shell::commands(line).iter().any(|command| command.level != shell::CommandLevel::Remote && runs(command))
    }

    fn has_flag(&self, long: &str, short: char) -> bool {
        self.flags.iter().any(|flag| match flag {
            PatternFlag::Long(name) => name == long,
            PatternFlag::Short(letter, _) => *letter == short,
        })
    }

    /// `git add -A`, `git add .`
    fn adds_everything(&self) -> bool {
        let paths = self.words.get(1..).unwrap_or_default();
        let has_all = self.has_flag("all", 'A');
        base(&self.program) == "git"
            && self.words.first().is_some_and(|sub| matches!(sub.as_str(), "add" | "stage"))
            && self.flags.len() == usize::from(has_all)
            && (has_all || !paths.is_empty())
            && paths.iter().all(|path| harmless::is_everything(path))
    }

    /// The index of the word that has the flag.
    fn flag_in(&self, flag: &PatternFlag, args: &Args, words: &[&str]) -> Option<usize> {
        let (program, sub) = (base(&self.program), args.sub());
        let has = |option: &&super::args::Opt| match (flag, option.name) {
            (PatternFlag::Long(wanted), OptName::Long(name)) => {
                // git accepts the beginning of an option.
                name == wanted || program == "git" && name.len() > 4 && wanted.starts_with(name)
            }
            (PatternFlag::Short(wanted, whole), OptName::Short(letter)) => {
                *wanted == letter || words[option.index] == whole
            }
            (PatternFlag::Long(wanted), OptName::Short(letter)) => {
                long_of(program, sub, letter) == Some(wanted.as_str())
            }
            (PatternFlag::Short(wanted, _), OptName::Long(name)) => long_of(program, sub, *wanted) == Some(name),
        };
        let is_force = match flag {
            PatternFlag::Long(name) => name == "force",
            PatternFlag::Short(letter, _) => *letter == 'f',
        };
        let forced = || {
            // `git push origin +main` is forced too.
            let is_push = program == "git" && sub == "push" && is_force;
            args.words.iter().skip(1).find(|(_, word)| is_push && word.starts_with('+')).map(|(index, _)| *index)
        };
        args.options.iter().find(has).map(|option| option.index).or_else(forced)
    }
}

/// A call that only asks for the version or for help.
fn asks_only(args: &Args) -> bool {
    let is_question = |option: &super::args::Opt| {
        matches!(option.name, OptName::Long("version" | "help") | OptName::Short('v' | 'V' | 'h'))
    };
    match (args.words.as_slice(), args.options.as_slice()) {
        ([], [only]) => is_question(only),
        ([(_, word)], []) => matches!(*word, "version" | "help"),
        _ => false,
    }
}

/// The long form of a letter.
fn long_of(program: &str, sub: &str, letter: char) -> Option<&'static str> {
    Some(match (program, sub, letter) {
        ("git", "push", 'f') => "force",
        ("git", "push", 'd') => "delete",
        ("git", "push", 'u') => "set-upstream",
        ("git", "commit", 'n') => "no-verify",
        ("git", "commit", 'a') => "all",
        ("git", "commit", 's') => "signoff",
        ("git", "add", 'A') => "all",
        ("git", "add" | "checkout" | "clean" | "rm" | "mv", 'f') => "force",
        ("git", "rebase", 'i') => "interactive",
        ("git", "branch", 'd') => "delete",
        ("rm", _, 'r' | 'R') => "recursive",
        ("rm" | "cp" | "mv", _, 'f') => "force",
        ("npm" | "pnpm", _, 'g') => "global",
        ("npm" | "pnpm", _, 'D') => "save-dev",
        ("cargo", _, 'p') => "package",
        ("docker" | "podman", _, 'f') => "force",
        _ => return None,
    })
}

fn words_joined(words: &[String]) -> String {
    words.iter().map(|word| super::quoted(word)).collect::<Vec<_>>().join(" ")
}

/// Why options are not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("there is no option {0}")]
    Unknown(String),
    #[error("{0} needs a value")]
    NoValue(String),
    #[error("a rule is one of: --forbid, --prefix, --protect, --branch, --before, --message-…, --text")]
    NotOne,
    #[error("{0} does not belong to this kind of rule")]
    Misplaced(String),
    #[error("{0:?} is not one simple command")]
    NotACommand(String),
    #[error("--before needs at least one --need")]
    NoNeed,
    #[error("--only is {0}")]
    Only(&'static str),
    #[error("{0:?} is not a number of characters")]
    NotANumber(String),
    #[error("a rule has at most {VALUES_MAX} values of {VALUE_BYTES_MAX} bytes each")]
    TooLong,
    #[error("{0}")]
    Glob(String),
}

/// A word as it is typed in a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain =
        |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':' | '=' | '@' | '+' | ',' | '%');
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Patterns and values in one rule.
pub(super) const VALUES_MAX: usize = 16;

pub(super) const VALUE_BYTES_MAX: usize = 400;
