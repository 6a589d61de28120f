//! Splits a shell line into simple commands: their words without quotes, and how they are joined.
//!
//! It handles quoting, redirections, here-documents, substitutions and comments as far as needed to distinguish
//! commands from text. It is not a shell: nothing is expanded, and anything it does not understand stays a word.

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
    let mut reader = Reader {
        text: crate::clean::text::clip(command, COMMAND_BYTES_MAX),
        at: 0,
        out: Vec::new(),
        words: Vec::new(),
        word: None,
        join: Join::Then,
        hidden: false,
        documents: Vec::new(),
    };
    while reader.out.len() < SIMPLE_MAX && reader.step().is_some() {}
    reader.end_simple(Join::Then);
    reader.out
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    out: Vec<Simple>,
    words: Vec<String>,
    word: Option<String>,
    join: Join,
    hidden: bool,
    /// Delimiters of here-documents whose bodies begin on the next line.
    documents: Vec<String>,
}

impl Reader<'_> {
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
        if let Some(word) = self.word.take()
            && self.words.len() < WORDS_MAX
        {
            self.words.push(word);
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
        if c == '<' && self.eat("<") {
            if !self.eat("<") {
                self.begin_document();
                return;
            }
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
        if !delimiter.is_empty() {
            self.documents.push(delimiter);
        }
    }

    fn skip_documents(&mut self) {
        for delimiter in std::mem::take(&mut self.documents) {
            while self.at < self.text.len() {
                let begin = self.at;
                self.skip_line();
                let line = &self.text[begin..self.at];
                self.eat("\n");
                if line.trim() == delimiter {
                    break;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
