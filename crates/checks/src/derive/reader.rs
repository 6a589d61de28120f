//! Reads the parts that templates are made of: commands, paths, branches, prohibitions, demands, the end of a turn.

use super::tokens::RuleToken;
use crate::pattern::Pattern;

/// Programs by their name. A word that is not here is not read as a command.
const PROGRAMS: &str = "npm pnpm yarn bun npx bunx node deno tsc jest vitest mocha eslint prettier biome pip pip3 pipenv uv uvx poetry \
    pdm conda python python3 pytest tox nox black ruff flake8 isort mypy pyright cargo rustc rustfmt rustup go gofmt \
    golangci-lint git gh make just cmake ninja bazel docker docker-compose podman kubectl helm terraform tofu gradle \
    mvn ./gradlew ./mvnw rake bundle rspec rubocop rails mix dotnet swift xcodebuild composer phpunit artisan grep \
    rg find fd sed awk cat bat rm sudo curl wget brew apt apt-get psql mysql sqlite3 turbo nx lerna playwright \
    cypress nvm asdf mise rtk ls eza jq yq";

/// Words that follow a program without backquotes.
const SUBS: &str = "install add remove push commit test run build fmt format lint check clippy rebase reset merge stash clean \
    checkout publish deploy apply destroy exec sync update upgrade ci tidy vet audit nextest compose dev start \
    typecheck";

const BRANCHES: &str = "main master develop dev production prod staging trunk release";

/// A position in the tokens. Every method either reads something and returns true, or leaves the position.
#[derive(Clone, Copy)]
pub struct At<'a> {
    tokens: &'a [RuleToken],
    pub at: usize,
}

impl<'a> At<'a> {
    pub fn new(tokens: &'a [RuleToken]) -> At<'a> {
        At { tokens, at: 0 }
    }

    pub fn next(&self) -> Option<&'a RuleToken> {
        self.tokens.get(self.at)
    }

    pub fn is_end(&self) -> bool {
        self.at == self.tokens.len()
    }

    pub fn end(&self) -> Option<()> {
        self.is_end().then_some(())
    }

    /// These words, one after another: `do not`.
    pub fn words(&mut self, words: &str) -> bool {
        let mut at = *self;
        for wanted in words.split(' ') {
            match at.next() {
                Some(RuleToken::Word(word)) if word.eq_ignore_ascii_case(wanted) => at.at += 1,
                _ => return false,
            }
        }
        *self = at;
        true
    }

    /// One of these, separated by `|`.
    pub fn any(&mut self, choices: &str) -> bool {
        choices.split('|').any(|choice| self.words(choice))
    }

    pub fn must(&mut self, choices: &str) -> Option<()> {
        self.any(choices).then_some(())
    }

    pub fn breaks(&mut self) -> bool {
        self.is(&RuleToken::Break)
    }

    pub fn is(&mut self, token: &RuleToken) -> bool {
        let found = self.next() == Some(token);
        self.at += usize::from(found);
        found
    }

    pub fn code(&mut self) -> Option<&'a str> {
        let Some(RuleToken::Code(code)) = self.next() else { return None };
        self.at += 1;
        Some(code)
    }

    /// A command: in backquotes, or the name of a program with the words that usually follow it.
    pub fn command(&mut self) -> Option<String> {
        if let Some(RuleToken::Code(code)) = self.next() {
            let pattern = Pattern::parse(code).ok()?;
            let is_script = pattern.program().contains('/') && !code.ends_with('/');
            if !is_in(PROGRAMS, pattern.program()) && !is_script {
                return None;
            }
            self.at += 1;
            return Some(pattern.text().to_string());
        }
        let Some(RuleToken::Word(first)) = self.next() else { return None };
        if !is_in(PROGRAMS, &first.to_lowercase()) {
            return None;
        }
        self.at += 1;
        let mut words = vec![first.to_lowercase()];
        while let Some(RuleToken::Word(word)) = self.next() {
            if !is_in(SUBS, word) && !word.starts_with('-') {
                break;
            }
            words.push(word.clone());
            self.at += 1;
        }
        Some(words.join(" "))
    }

    /// `a`, `a or b`, `a, b and c`.
    pub fn commands(&mut self) -> Option<Vec<String>> {
        let mut found = vec![self.command()?];
        loop {
            let mut at = *self;
            let has_break = at.breaks();
            let has_word = at.any("or|and|nor|then|and then");
            match at.command().filter(|_| has_break || has_word) {
                Some(command) => found.push(command),
                None => return Some(found),
            }
            *self = at;
        }
    }

    pub fn path(&mut self) -> Option<String> {
        let text = match self.next()? {
            RuleToken::Code(text) | RuleToken::Word(text) => text.clone(),
            _ => return None,
        };
        let mut at = *self;
        at.at += 1;
        let is_path = text.contains('/') || text.contains('*') || text.starts_with('.') || has_ending(&text);
        let is_plain = !text.contains([' ', '$', '(', '<', '=']) && !text.starts_with('-') && !text.contains("://");
        let is_code = matches!(self.next(), Some(RuleToken::Code(_)));
        let is_folder = at.any("directory|folder");
        if !is_plain || text.len() < 2 || !(is_path || is_folder && is_code) {
            return None;
        }
        if !is_folder {
            at.any("files|file");
        }
        *self = at;
        Some(if is_folder && !text.ends_with('/') && !text.contains('*') { format!("{text}/") } else { text })
    }

    pub fn branch(&mut self) -> Option<String> {
        self.any("the");
        let name = match self.next()? {
            RuleToken::Code(name) if !name.contains(' ') && !name.starts_with('-') => name.clone(),
            RuleToken::Word(name) if is_in(BRANCHES, &name.to_lowercase()) => name.to_lowercase(),
            _ => return None,
        };
        self.at += 1;
        self.any("branch");
        Some(name)
    }

    /// A prohibition.
    pub fn never(&mut self) -> Option<()> {
        self.any("please|important");
        self.any("you|agents");
        self.must(
            "never ever|never|do not ever|do not|don't ever|don't|dont|must never|must not|should never|\
            should not|mustn't",
        )
    }

    /// A demand.
    pub fn always(&mut self) {
        self.any("please");
        self.any(
            "you must always|you must|you should always|you should|always|make sure to|be sure to|\
            remember to|do not forget to|don't forget to|never forget to|must",
        );
    }

    /// What may follow without changing the meaning.
    pub fn tail(&mut self) {
        self.any(
            "directly|here|at all|anywhere|ever|in this repo|in this repository|in this project|\
            in this codebase",
        );
    }

    /// The command that `before …` names.
    pub fn gate(&mut self) -> Option<String> {
        let git = |sub: &str| Some(format!("git {sub}"));
        if self.any("committing") {
            self.any("your changes|changes|code|anything|your work|any code|any changes");
            return git("commit");
        }
        if self.any("pushing") {
            self.any("your changes|changes|code|anything|your work|any changes");
            return git("push");
        }
        if self.any(
            "every commit|each commit|any commit|a commit|you commit|commits|commit|making a commit|\
                creating a commit",
        ) {
            return git("commit");
        }
        if self.any("every push|each push|any push|a push|you push|push") {
            return git("push");
        }
        let mut at = *self;
        at.any("running");
        let code = matches!(at.next(), Some(RuleToken::Code(_))).then(|| at.command())??;
        *self = at;
        Some(code)
    }

    /// The end of a turn.
    pub fn finish(&mut self) -> bool {
        self.any(
            "before finishing a task|before finishing the task|before finishing your work|\
            before finishing work|before finishing|before you finish|before ending your turn|\
            before completing a task|before completing the task|before declaring a task done|\
            before declaring a task complete|before marking a task as done|\
            before marking a task as complete|before marking a task complete|before saying you are done|\
            before stopping|after every change|after each change|after any change|after every edit|\
            after each edit|after every code change|after making changes|after making code changes|\
            after changing code|after editing code|after code changes|when you are done|when you're done|\
            when done|when finished|once you are done",
        )
    }

    /// `run C`, `run the tests with C`, `run the tests (C)`.
    pub fn run(&mut self) -> Option<Vec<String>> {
        self.always();
        self.must("run|execute")?;
        let mut named = *self;
        named.any("the|all|all the");
        if named.any("tests|test suite|linter|linters|formatter|type checker|checks|unit tests") {
            let is_open = named.is(&RuleToken::Open);
            if !is_open {
                named.must("with|using|via")?;
            }
            let found = named.commands()?;
            if is_open && !named.is(&RuleToken::Close) {
                return None;
            }
            *self = named;
            return Some(found);
        }
        self.commands()
    }
}

/// Whether a word is in a list of words.
fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|listed| listed == word)
}

fn has_ending(text: &str) -> bool {
    text.rsplit_once('.').is_some_and(|(name, ending)| {
        !name.is_empty() && (1..=5).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Each value with the option before it.
pub fn options(option: &str, values: &[String]) -> Vec<String> {
    values.iter().flat_map(|value| [option.to_string(), value.clone()]).collect()
}

pub fn forbid(commands: &[String], instead: Option<String>) -> Vec<String> {
    let instead: Vec<String> = instead.into_iter().collect();
    [options("--forbid", commands), options("--instead", &instead)].concat()
}

pub fn need(before: &str, needed: &[String]) -> Vec<String> {
    [options("--before", &[before.to_string()]), options("--need", needed)].concat()
}
