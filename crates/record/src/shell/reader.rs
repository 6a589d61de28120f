//! The reader: one character at a time, with a child for every script inside another.

mod quotes;

use std::ops::Range;

use super::{CommandLevel, Join, Script, ShellWord, Simple, is_remote, is_shell, without_wrappers};

/// More commands than anybody writes in a line, in all levels together.
const SIMPLE_MAX: usize = 256;
const WORDS_MAX: usize = 256;
/// Scripts inside scripts are followed no deeper.
const NESTING_MAX: usize = 4;

/// Programs that take the message of a commit or a pull request as a document.
const MESSAGES: [&str; 5] = ["git", "gh", "glab", "jj", "hg"];

/// How positions in the text of a reader map to the line.
#[derive(Clone, Debug)]
enum TextMapping {
    /// The text begins at this offset of the line.
    At(usize),
    /// The text is a word with quotes removed; only the whole word is known.
    Word(Range<usize>),
}

pub(super) struct ShellReader<'t> {
    text: &'t str,
    at: usize,
    place: TextMapping,
    level: CommandLevel,
    nesting: usize,
    depth: usize,
    lowest_depth: usize,
    /// The program around a substitution takes messages.
    is_message: bool,
    script: Script,
    simples_left: usize,
    words: Vec<ShellWord>,
    word: Option<(String, usize)>,
    join: Join,
    is_hidden: bool,
    writes_file: bool,
    targets: Vec<ShellWord>,
    outputs: Vec<ShellWord>,
    redirected_at: Option<usize>,
    /// Here-documents whose bodies begin on the next line.
    documents: Vec<HereDocument>,
}

struct HereDocument {
    delimiter: String,
    is_message: bool,
    /// Set if the document is a script.
    level: Option<CommandLevel>,
}

impl<'t> ShellReader<'t> {
    pub(super) fn read(text: &str) -> Script {
        ShellReader::of(text, TextMapping::At(0), CommandLevel::Line, 0, 0).run()
    }

    fn of(text: &'t str, place: TextMapping, level: CommandLevel, nesting: usize, depth: usize) -> ShellReader<'t> {
        ShellReader {
            text,
            at: 0,
            place,
            level,
            nesting,
            depth,
            lowest_depth: depth,
            is_message: false,
            script: Script::default(),
            simples_left: SIMPLE_MAX,
            words: Vec::new(),
            word: None,
            join: Join::Then,
            is_hidden: false,
            writes_file: false,
            targets: Vec::new(),
            outputs: Vec::new(),
            redirected_at: None,
            documents: Vec::new(),
        }
    }

    fn run(mut self) -> Script {
        while self.script.simples.len() < self.simples_left && self.step().is_some() {}
        self.end_simple(Join::Then);
        self.script.read_bytes = self.at;
        self.script
    }

    /// Reads a script inside this one; its commands come before the one around it.
    fn nest(&mut self, text: &str, place: TextMapping, level: CommandLevel) {
        if self.nesting == NESTING_MAX {
            return;
        }
        let level = if self.level == CommandLevel::Remote { CommandLevel::Remote } else { level };
        let mut child = ShellReader::of(text, place, level, self.nesting + 1, self.depth + 1);
        child.simples_left = self.simples_left.saturating_sub(self.script.simples.len());
        let texts: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        let outer = without_wrappers(&texts).first().is_some_and(|program| MESSAGES.contains(program));
        child.is_message = self.is_message || outer;
        let read = child.run();
        self.script.simples.extend(read.simples);
        self.script.bodies.extend(read.bodies);
    }

    /// A range of this text as a range of the line.
    fn range(&self, from: usize, to: usize) -> Range<usize> {
        match &self.place {
            TextMapping::At(base) => base + from..base + to,
            TextMapping::Word(range) => range.clone(),
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn eat(&mut self, what: &str) -> bool {
        let found = self.text[self.at..].starts_with(what);
        if found {
            self.at += what.len();
        }
        found
    }

    /// Adds to the current word, which begins at `from` if it is new.
    fn push(&mut self, c: char, from: usize) {
        self.begin(from);
        if let Some((word, _)) = &mut self.word {
            word.push(c);
        }
    }

    fn begin(&mut self, from: usize) {
        if self.word.is_none() {
            self.word = Some((String::new(), from));
        }
    }

    fn step(&mut self) -> Option<()> {
        let from = self.at;
        let c = self.bump()?;
        match c {
            '\\' => match self.bump()? {
                '\n' => {}
                escaped => self.push(escaped, from),
            },
            '\'' => self.single_quoted(from),
            '"' => self.double_quoted(from),
            '`' => self.backquoted(from),
            '$' => self.dollar(from),
            '\n' => {
                self.end_simple_at(from, Join::Then);
                self.read_documents();
            }
            c if c.is_whitespace() => self.end_word(from),
            '#' if self.word.is_none() => self.skip_line(),
            '&' if self.eat("&") => self.end_simple_at(from, Join::And),
            '&' if self.peek() == Some('>') => {}
            '|' if self.eat("|") => self.end_simple_at(from, Join::Or),
            '|' => {
                self.eat("&");
                self.end_simple_at(from, Join::Pipe);
            }
            '(' => {
                self.end_simple_at(from, Join::Then);
                self.depth += 1;
            }
            ')' => {
                self.end_simple_at(from, Join::Then);
                self.depth = self.depth.saturating_sub(1).max(self.lowest_depth);
            }
            ';' | '&' => self.end_simple_at(from, Join::Then),
            '>' | '<' if self.peek() == Some('(') => {
                self.bump();
                self.substitution(from);
            }
            '>' | '<' => self.redirection(c, from),
            c => self.push(c, from),
        }
        Some(())
    }

    fn end_word(&mut self, end: usize) {
        let Some((text, from)) = self.word.take() else { return };
        if self.words.len() < WORDS_MAX {
            self.words.push(ShellWord { text, range: self.range(from, end) });
        }
    }

    fn end_simple(&mut self, next: Join) {
        self.end_simple_at(self.at, next);
    }

    fn end_simple_at(&mut self, end: usize, next: Join) {
        self.end_word(end);
        if self.words.is_empty() && self.targets.is_empty() {
            // After `foo &&` and a line break, the next command is still joined by `&&`.
            if next != Join::Then || !matches!(self.join, Join::And | Join::Or | Join::Pipe) {
                self.join = next;
            }
            return;
        }
        if let Some((text, range)) = self.script_in_words() {
            self.nest_word(&text, range);
        }
        let simple = Simple {
            words: std::mem::take(&mut self.words),
            join: self.join,
            level: self.level,
            depth: self.depth,
            is_hidden: std::mem::take(&mut self.is_hidden),
            writes_file: std::mem::take(&mut self.writes_file),
            targets: std::mem::take(&mut self.targets),
            outputs: std::mem::take(&mut self.outputs),
            redirected_at: self.redirected_at.take(),
        };
        if !simple.words.is_empty() || !simple.targets.is_empty() {
            self.script.simples.push(simple);
        }
        self.join = next;
    }

    /// The script in `sh -c '…'`, wherever the shell stands among the words, or the words of `eval`.
    fn script_in_words(&self) -> Option<(String, Range<usize>)> {
        let texts: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        let own = without_wrappers(&texts);
        if own.first() == Some(&"eval") && own.len() > 1 {
            let first = texts.len() - own.len() + 1;
            let range = self.words[first].range.start..self.words[texts.len() - 1].range.end;
            return Some((own[1..].join(" "), range));
        }
        let shell = texts.iter().position(|word| is_shell(word))?;
        let option = texts[shell + 1..]
            .iter()
            .take_while(|word| word.starts_with('-'))
            .position(|word| !word.starts_with("--") && word.contains('c'))?;
        let word = self.words.get(shell + option + 2)?;
        Some((word.text.clone(), word.range.clone()))
    }

    fn nest_word(&mut self, text: &str, range: Range<usize>) {
        // A word in plain quotes keeps its positions.
        let exact = matches!(self.place, TextMapping::At(_)) && range.len() == text.len() + 2;
        let place = if exact { TextMapping::At(range.start + 1) } else { TextMapping::Word(range) };
        let texts: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        let is_elsewhere = without_wrappers(&texts).first().is_some_and(|program| is_remote(program));
        self.nest(text, place, if is_elsewhere { CommandLevel::Remote } else { CommandLevel::Script });
    }

    /// After `$(`: reads to its end, and what is inside as a script of its own.
    fn substitution(&mut self, from: usize) {
        self.push('$', from);
        let begin = self.at;
        self.skip_substitution();
        let end = if self.text[begin..self.at].ends_with(')') { self.at - 1 } else { self.at };
        self.nest_range(begin, end);
    }

    fn nest_range(&mut self, begin: usize, end: usize) {
        let place = match &self.place {
            TextMapping::At(base) => TextMapping::At(base + begin),
            word => word.clone(),
        };
        let text = self.text;
        self.nest(&text[begin..end], place, CommandLevel::Substitution);
    }

    fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.bump();
        }
    }

    /// After `>` or `<`: the target is not an argument. A preceding `2` is a descriptor, not a word.
    fn redirection(&mut self, c: char, from: usize) {
        let descriptor = self.word.take_if(|(word, _)| matches!(word.as_str(), "0" | "1" | "2"));
        self.end_word(from);
        self.redirected_at.get_or_insert(self.range(from, from).start);
        if c == '<' && self.eat("<") {
            if self.eat("<") {
                let begin = self.at;
                self.skip_blanks();
                self.target();
                let range = self.range(begin, self.at);
                self.script.bodies.push(range);
            } else {
                self.begin_document();
            }
            return;
        }
        self.eat(">");
        self.eat("|");
        let to_descriptor = self.eat("&");
        self.skip_blanks();
        let target = self.target();
        let number = descriptor.as_ref().map(|(number, _)| number.as_str());
        let is_input = c == '<' || number == Some("0");
        if !to_descriptor && !is_input {
            self.is_hidden = true;
            self.writes_file |= number != Some("2");
        }
        if !to_descriptor && !target.text.is_empty() {
            if !is_input {
                self.outputs.push(target.clone());
            }
            self.targets.push(target);
        }
    }

    /// The word at this place, without its quotes.
    fn target(&mut self) -> ShellWord {
        let begin = self.at;
        let mut text = String::new();
        while let Some(c) = self.peek() {
            if c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '<' | '>') {
                break;
            }
            self.bump();
            match c {
                '\'' | '"' => {
                    let quoted = self.at;
                    self.skip_past(c);
                    text.push_str(self.text[quoted..self.at].trim_end_matches(c));
                }
                '\\' => text.extend(self.bump()),
                c => text.push(c),
            }
        }
        ShellWord { text, range: self.range(begin, self.at) }
    }

    /// After `<<`: the word that ends the document.
    fn delimiter(&mut self) -> String {
        self.eat("-");
        self.skip_blanks();
        self.target().text
    }

    /// After `<<`: remembers the delimiter. The body begins on the next line.
    fn begin_document(&mut self) {
        let delimiter = self.delimiter();
        let texts: Vec<&str> = self.words.iter().map(|word| word.text.as_str()).collect();
        let own = without_wrappers(&texts);
        let program = own.first().copied().unwrap_or_default();
        let is_message = self.is_message || MESSAGES.contains(&program);
        let level = match program {
            _ if is_shell(program) => Some(CommandLevel::Script),
            "ssh" => Some(CommandLevel::Remote),
            _ => None,
        };
        if !delimiter.is_empty() {
            self.documents.push(HereDocument { delimiter, is_message, level });
        }
    }

    fn read_documents(&mut self) {
        for HereDocument { delimiter, is_message, level } in std::mem::take(&mut self.documents) {
            let body = self.skip_body(&delimiter);
            if let Some(level) = level {
                let place = match &self.place {
                    TextMapping::At(base) => TextMapping::At(base + body.start),
                    word => word.clone(),
                };
                let text = self.text;
                self.nest(&text[body.clone()], place, level);
            }
            if !is_message {
                let range = self.range(body.start, body.end);
                self.script.bodies.push(range);
            }
        }
    }

    /// The lines up to the delimiter.
    fn skip_body(&mut self, delimiter: &str) -> Range<usize> {
        let body = self.at;
        while self.at < self.text.len() {
            let begin = self.at;
            self.skip_line();
            let line = &self.text[begin..self.at];
            self.eat("\n");
            if line.trim() == delimiter {
                return body..begin.saturating_sub(1).max(body);
            }
        }
        body..self.text.len()
    }
}
