//! Splits a shell line into simple commands: their words without quotes, and how they are joined.
//!
//! It handles quoting, redirections, here-documents, substitutions and comments as far as needed to distinguish
//! commands from text. It is not a shell: nothing is expanded, and anything it does not understand stays a word.

use std::borrow::Cow;
use std::ops::Range;

/// Longer lines are really scripts; the command that matters is near the beginning.
const COMMAND_BYTES_MAX: usize = 8192;
const SIMPLE_MAX: usize = 64;
const WORDS_MAX: usize = 128;

/// How a simple command is joined to the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// `;`, `&`, a line break, a bracket, or the beginning.
    Then,
    And,
    Or,
    Pipe,
}

#[derive(Debug, PartialEq)]
pub(super) struct Simple {
    pub words: Vec<String>,
    pub join: Join,
    /// Its output is not visible to the reader.
    pub hidden: bool,
}

/// The simple commands of a line, in order.
pub(super) fn split(command: &str) -> Vec<Simple> {
    Reader::read(crate::clean::text::clip(command, COMMAND_BYTES_MAX)).out
}

/// The command without the text that it writes into files or passes to programs: bodies of here-documents, and what
/// `echo` and `printf` write. The message of a commit or a pull request stays.
pub fn without_contents(command: &str) -> Cow<'_, str> {
    let echoes = command.contains('>') && (command.contains("echo") || command.contains("printf"));
    if !echoes && !command.contains("<<") {
        return Cow::Borrowed(command);
    }
    let mut reader = Reader::read(command);
    reader.contents.sort_by_key(|range| range.start);
    let mut out = String::with_capacity(command.len());
    let mut kept = 0;
    for range in reader.contents.into_iter().filter(|range| !range.is_empty()) {
        if range.start >= kept {
            out.push_str(&command[kept..range.start]);
            out.push('…');
        }
        kept = kept.max(range.end);
    }
    // What was not read may be anything.
    out.push_str(&command[kept..reader.at.max(kept)]);
    Cow::Owned(out)
}

/// Does a part of this command print files or the environment, beside what other parts print?
pub fn prints_contents(command: &str) -> bool {
    let prints = |simple: &Simple| {
        let name = simple.words[0].rsplit('/').next().unwrap_or_default();
        let visible = simple.join != Join::Pipe && !simple.hidden;
        match name {
            "printenv" => visible,
            "cat" | "bat" | "less" | "more" => visible && simple.words.len() > 1,
            // With arguments they set something or start a program.
            "env" | "set" | "declare" | "export" => visible && simple.words[1..].iter().all(|word| word == "-p"),
            _ => false,
        }
    };
    split(command).iter().any(prints)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    out: Vec<Simple>,
    words: Vec<String>,
    word: Option<String>,
    join: Join,
    hidden: bool,
    /// Here-documents whose bodies begin on the next line.
    documents: Vec<Document>,
    /// Text that is written into files or passed to programs.
    contents: Vec<Range<usize>>,
    /// The end of the first word and of the last one, and where the first redirection begins.
    first_end: usize,
    last_end: usize,
    redirected_at: usize,
}

struct Document {
    delimiter: String,
    /// It is the message of a commit or a pull request.
    is_message: bool,
}

impl<'a> Reader<'a> {
    fn read(text: &'a str) -> Reader<'a> {
        let mut reader = Reader {
            text,
            at: 0,
            out: Vec::new(),
            words: Vec::new(),
            word: None,
            join: Join::Then,
            hidden: false,
            documents: Vec::new(),
            contents: Vec::new(),
            first_end: 0,
            last_end: 0,
            redirected_at: 0,
        };
        while reader.out.len() < SIMPLE_MAX && reader.step().is_some() {}
        reader.end_simple(Join::Then);
        reader
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

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn step(&mut self) -> Option<()> {
        let c = self.bump()?;
        match c {
            '\\' => match self.bump()? {
                '\n' => {}
                escaped => self.push(escaped),
            },
            '\'' => self.single_quoted(),
            '"' => self.double_quoted(),
            '`' => self.backquoted(),
            '$' if self.eat("(") => self.substitution(),
            '\n' => {
                self.end_simple(Join::Then);
                self.skip_documents();
            }
            c if c.is_whitespace() => self.end_word(),
            '#' if self.word.is_none() => self.skip_line(),
            '&' if self.eat("&") => self.end_simple(Join::And),
            '&' if self.peek() == Some('>') => {}
            '|' if self.eat("|") => self.end_simple(Join::Or),
            '|' => {
                self.eat("&");
                self.end_simple(Join::Pipe);
            }
            ';' | '&' | '(' | ')' => self.end_simple(Join::Then),
            '>' | '<' => self.redirection(c),
            c => self.push(c),
        }
        Some(())
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if self.words.len() < WORDS_MAX {
            self.words.push(word);
        }
        // The byte that ended the word is before `at`; inside a redirection too.
        self.last_end = if self.at == self.text.len() { self.at } else { self.at.saturating_sub(1) };
        if self.words.len() == 1 {
            self.first_end = self.last_end;
        }
    }

    fn end_simple(&mut self, next: Join) {
        self.end_word();
        if self.words.is_empty() {
            // After `foo &&` and a line break, the next command is still joined by `&&`.
            if next != Join::Then || !matches!(self.join, Join::And | Join::Or | Join::Pipe) {
                self.join = next;
            }
            return;
        }
        if self.hidden && matches!(self.words[0].as_str(), "echo" | "printf") {
            let end = self.last_end.max(self.redirected_at);
            self.contents.push(self.text.ceil_char_boundary(self.first_end)..self.text.floor_char_boundary(end));
        }
        self.redirected_at = 0;
        self.out.push(Simple {
            words: std::mem::take(&mut self.words),
            join: self.join,
            hidden: std::mem::take(&mut self.hidden),
        });
        self.join = next;
    }

    fn single_quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.bump() {
            if c == '\'' {
                return;
            }
            self.push(c);
        }
    }

    fn double_quoted(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.bump() {
            match c {
                '"' => return,
                '\\' => match self.bump() {
                    Some('\n') | None => {}
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => self.push(escaped),
                    Some(other) => {
                        self.push('\\');
                        self.push(other);
                    }
                },
                '$' if self.eat("(") => self.substitution(),
                '`' => self.backquoted(),
                c => self.push(c),
            }
        }
    }

    fn backquoted(&mut self) {
        self.push('`');
        while let Some(c) = self.bump() {
            if c == '`' {
                return;
            }
        }
    }

    /// After `$(`: skips to its end, including here-documents. Its words belong to another command.
    fn substitution(&mut self) {
        self.push('$');
        let mut depth = 1;
        while let Some(c) = self.bump() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                '\'' => self.skip_past('\''),
                '<' if self.eat("<") && !self.eat("<") => self.begin_document(),
                '\n' => self.skip_documents(),
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn skip_past(&mut self, end: char) {
        while let Some(c) = self.bump() {
            if c == end {
                return;
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    /// After `>` or `<`: the target is not an argument. A preceding `2` is a descriptor, not a word.
    fn redirection(&mut self, c: char) {
        let descriptor = self.word.take_if(|word| matches!(word.as_str(), "0" | "1" | "2"));
        self.end_word();
        if self.redirected_at == 0 {
            self.redirected_at = self.at - 1;
        }
        if c == '<' && self.eat("<") {
            if !self.eat("<") {
                self.begin_document();
                return;
            }
            let begin = self.at;
            while self.peek() == Some(' ') {
                self.bump();
            }
            self.skip_target();
            self.contents.push(begin..self.at);
            return;
        } else {
            self.eat(">");
        }
        self.eat("|");
        let to_descriptor = self.eat("&");
        while self.peek() == Some(' ') {
            self.bump();
        }
        self.skip_target();
        let is_input = c == '<' || descriptor.as_deref() == Some("0");
        if !to_descriptor && !is_input {
            self.hidden = true;
        }
    }

    fn skip_target(&mut self) {
        while let Some(c) = self.peek() {
            if c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '<' | '>') {
                return;
            }
            self.bump();
            match c {
                '\'' | '"' => self.skip_past(c),
                '\\' => {
                    self.bump();
                }
                _ => {}
            }
        }
    }

    /// After `<<`: remembers the delimiter. The body is skipped at the end of the line.
    fn begin_document(&mut self) {
        self.eat("-");
        while self.peek() == Some(' ') {
            self.bump();
        }
        let begin = self.at;
        self.skip_target();
        let delimiter = self.text[begin..self.at].replace(['\'', '"', '\\'], "");
        let program = self.words.first().map(String::as_str).unwrap_or_default();
        let is_message = matches!(program, "git" | "gh" | "glab" | "jj" | "hg");
        if !delimiter.is_empty() {
            self.documents.push(Document { delimiter, is_message });
        }
    }

    fn skip_documents(&mut self) {
        for Document { delimiter, is_message } in std::mem::take(&mut self.documents) {
            let body = self.at;
            let mut body_end = self.text.len();
            while self.at < self.text.len() {
                let begin = self.at;
                self.skip_line();
                let line = &self.text[begin..self.at];
                self.eat("\n");
                if line.trim() == delimiter {
                    body_end = begin.saturating_sub(1).max(body);
                    break;
                }
            }
            if !is_message {
                self.contents.push(body..body_end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_writes_is_not_kept() {
        for (command, kept) in [
            ("cat > .env <<'EOF'\nDB=hunter\nX=y\nEOF\nls", "cat > .env <<'EOF'\n…\nEOF\nls"),
            ("tee a <<-EOF && go test\n\tbody\n\tEOF", "tee a <<-EOF && go test\n…\n\tEOF"),
            ("echo 'some words' > notes.txt && ls", "echo…> notes.txt && ls"),
            ("printf '%s' größer >>a; echo done", "printf…>>a; echo done"),
            ("echo > a words here", "echo…"),
            ("python - <<< 'print(1)'", "python - <<<…"),
            ("cat <<EOF\nnever closed", "cat <<EOF\n…"),
            ("cat <<EOF\nEOF", "cat <<EOF\nEOF"),
            ("echo \"a $(cat <<EOF\nb\nEOF\n) c\" > d", "echo…> d"),
        ] {
            assert_eq!(without_contents(command), kept, "{command}");
        }
        for command in [
            "git commit -m \"$(cat <<'EOF'\nFix the parser\nEOF\n)\"",
            "cd a && gh pr create --body-file - <<EOF\nWhat changed\nEOF",
            "echo done",
            "cargo test > out.log",
            "echo a 2>&1",
        ] {
            assert_eq!(without_contents(command), command);
        }
    }

    #[test]
    fn commands_that_print_files_or_the_environment_are_recognised() {
        for command in ["npm test; env", "npm test && cat notes.txt", "printenv; go test", "cd a && (cat b; make)"] {
            assert!(prints_contents(command), "{command}");
        }
        for command in [
            "npm test",
            "go test | cat",
            "env CI=1 npm test",
            "cargo test 2>&1 | tail -5",
            "export A=1; make",
            "cat a > b",
        ] {
            assert!(!prints_contents(command), "{command}");
        }
    }

    fn shown(command: &str) -> String {
        let mut out = String::new();
        for simple in split(command) {
            out.push_str(match simple.join {
                Join::Then => "; ",
                Join::And => "&& ",
                Join::Or => "|| ",
                Join::Pipe => "| ",
            });
            for word in &simple.words {
                out.push_str(&format!("[{word}]"));
            }
            out.push_str(if simple.hidden { "> " } else { " " });
        }
        out.trim_end().to_string()
    }

    #[test]
    fn lines_are_split_as_a_shell_would() {
        for (command, expected) in [
            ("cargo test 2>&1 | tail -50", "; [cargo][test] | [tail][-50]"),
            ("cd a && b || c; d & e", "; [cd][a] && [b] || [c] ; [d] ; [e]"),
            ("a > out.txt 2> 'my err' b", "; [a][b]>"),
            ("a &> log", "; [a]>"),
            ("a 2 >x", "; [a][2]>"),
            ("a &&\n  b", "; [a] && [b]"),
            ("a \\\n  b", "; [a][b]"),
            (r#"git commit -m "it's a \"test\"""#, r#"; [git][commit][-m][it's a "test"]"#),
            ("a 'x y'z", "; [a][x yz]"),
            ("a # cargo test\nb", "; [a] ; [b]"),
            ("echo $(cargo test) done", "; [echo][$][done]"),
            ("cat <<'EOF' > f\ncargo test\nEOF\ngo test", "; [cat]> ; [go][test]"),
            ("git commit -m \"$(cat <<'EOF'\ndon't :)\ngo test\nEOF\n)\" && ls", "; [git][commit][-m][$] && [ls]"),
            ("(cd x; make)", "; [cd][x] ; [make]"),
            ("x <<< 'y z' w", "; [x][w]"),
            ("'open", "; [open]"),
            ("", ""),
        ] {
            assert_eq!(shown(command), expected, "{command}");
        }
    }
}
