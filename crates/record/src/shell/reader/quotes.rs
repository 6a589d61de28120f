//! Quotes, escapes and substitutions inside a word.

use super::ShellReader;

impl ShellReader<'_> {
    pub(super) fn single_quoted(&mut self, from: usize) {
        self.begin(from);
        while let Some(c) = self.bump() {
            if c == '\'' {
                return;
            }
            self.push(c, from);
        }
    }

    pub(super) fn double_quoted(&mut self, from: usize) {
        self.begin(from);
        while let Some(c) = self.bump() {
            match c {
                '"' => return,
                '\\' => match self.bump() {
                    Some('\n') | None => {}
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => self.push(escaped, from),
                    Some(other) => {
                        self.push('\\', from);
                        self.push(other, from);
                    }
                },
                '$' if self.eat("(") => self.substitution(from),
                '`' => self.backquoted(from),
                c => self.push(c, from),
            }
        }
    }

    pub(super) fn backquoted(&mut self, from: usize) {
        self.push('$', from);
        let begin = self.at;
        let mut end = self.text.len();
        while let Some(c) = self.bump() {
            match c {
                '\\' => {
                    self.bump();
                }
                '`' => {
                    end = self.at - 1;
                    break;
                }
                _ => {}
            }
        }
        self.nest_range(begin, end);
    }

    /// After `$`: a substitution, `$'…'`, `${…}` or a plain variable.
    pub(super) fn dollar(&mut self, from: usize) {
        if self.eat("(") {
            self.substitution(from);
        } else if self.eat("'") {
            self.escaped_quoted(from);
        } else {
            self.push('$', from);
            if self.peek() == Some('{') {
                while let Some(c) = self.bump() {
                    self.push(c, from);
                    if c == '}' {
                        break;
                    }
                }
            }
        }
    }

    /// `$'…'`: escapes stand for characters.
    fn escaped_quoted(&mut self, from: usize) {
        self.begin(from);
        while let Some(c) = self.bump() {
            match c {
                '\'' => return,
                '\\' => {
                    let escaped = self.escape();
                    self.push(escaped, from);
                }
                c => self.push(c, from),
            }
        }
    }

    fn escape(&mut self) -> char {
        let (radix, digits_max) = match self.peek() {
            Some('x') => (16, 2),
            Some('u') => (16, 4),
            Some('0'..='7') => (8, 3),
            _ => {
                return match self.bump() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some(other) => other,
                    None => '\\',
                };
            }
        };
        if radix == 16 {
            self.bump();
        }
        let mut code = 0;
        for _ in 0..digits_max {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(radix)) else { break };
            code = code * radix + digit;
            self.bump();
        }
        char::from_u32(code).unwrap_or('?')
    }

    /// Skips to the bracket that closes a substitution, over quotes and here-documents inside it.
    pub(super) fn skip_substitution(&mut self) {
        // What is open: brackets and double quotes.
        let mut open = vec![')'];
        let mut documents = Vec::new();
        while let Some(c) = self.bump() {
            let in_quotes = open.last() == Some(&'"');
            match c {
                '\\' => {
                    self.bump();
                }
                '"' if in_quotes => {
                    open.pop();
                }
                '"' => open.push('"'),
                '\'' if !in_quotes => self.skip_past('\''),
                '(' if !in_quotes || self.text[..self.at - 1].ends_with('$') => open.push(')'),
                ')' if !in_quotes => {
                    open.pop();
                }
                '<' if !in_quotes && self.eat("<") && !self.eat("<") => documents.push(self.delimiter()),
                '\n' if !documents.is_empty() => {
                    for delimiter in documents.drain(..) {
                        self.skip_body(&delimiter);
                    }
                }
                _ => {}
            }
            if open.is_empty() {
                return;
            }
        }
    }

    pub(super) fn skip_past(&mut self, end: char) {
        while let Some(c) = self.bump() {
            if c == end {
                return;
            }
        }
    }
}
