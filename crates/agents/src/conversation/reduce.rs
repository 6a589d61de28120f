//! What of a line is kept: not the contents of files that a tool read or wrote, unless the user wants them, no pictures,
//! and nothing of what a private call answered. What is left out leaves its size and a hash.

use std::borrow::Cow;
use std::collections::BTreeMap;

use cerberus_record::id::fnv1a;
use cerberus_record::runs::without_contents;
use serde_json::Value;

use super::Call;
use super::forms::{self, Object};

/// What is kept of the contents of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeepFiles {
    /// Nothing: what was said, what commands printed.
    #[default]
    Conversation,
    /// Also the lines that an edit replaces, and what replaces them.
    Edits,
    Everything,
}

/// A text without spaces that is longer is no word of anybody: a picture, a signature.
const WORD_BYTES_MAX: usize = 2_000;

/// Where Gemini puts the files that a prompt refers to.
const REFERRED: &str = "--- Content from referenced files ---";

/// What stands for what is private.
const PRIVATE: &str = "[private]";

/// How many calls may wait for their answers; the oldest go first. Answers to calls that are not known are cut.
const OPEN_MAX: usize = 256;

/// Fields of the line that repeat an answer for the client's screen.
const REPEATED: [&str; 2] = ["toolUseResult", "toolCallResult"];

/// Fields that only their author can read, and that are of no use elsewhere.
const SEALED: [&str; 3] = ["signature", "encrypted_content", "thoughtSignature"];

/// Fields that hold changes to files, by path.
const CHANGED: [&str; 2] = ["changes", "attachment"];

/// Reduces the lines of one transcript, in order.
pub struct Reducer<'p> {
    pub keep: KeepFiles,
    /// The calls without an answer so far.
    pub open: BTreeMap<String, Call>,
    /// The call whose own object has its answer, while that is read.
    around: Option<Call>,
    /// Whether a call with these arguments leads to something private.
    pub is_private: &'p dyn Fn(&str, &Value) -> bool,
    /// What a tool printed, as it may be kept; `None` if all of it may.
    pub printed: &'p dyn Fn(&str) -> Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reduction {
    Nothing,
    Contents,
    Private,
}

impl<'p> Reducer<'p> {
    pub fn new(
        keep: KeepFiles,
        is_private: &'p dyn Fn(&str, &Value) -> bool,
        printed: &'p dyn Fn(&str) -> Option<String>,
    ) -> Reducer<'p> {
        Reducer { keep, open: BTreeMap::new(), around: None, is_private, printed }
    }

    pub fn reduce(&mut self, line: &mut Value) {
        let mut cut = Reduction::Nothing;
        self.walk(line, &mut cut);
        let Some(object) = line.as_object_mut() else { return };
        for key in REPEATED {
            match object.get_mut(key) {
                Some(value) if cut == Reduction::Nothing => self.cut_printed(value, &mut cut),
                Some(value) => apply(cut, value),
                None => {}
            }
        }
    }

    fn walk(&mut self, value: &mut Value, of_line: &mut Reduction) {
        match value {
            Value::Array(all) => all.iter_mut().for_each(|value| self.walk(value, of_line)),
            Value::String(text) => cut_text(text),
            Value::Object(object) => {
                SEALED.into_iter().for_each(|key| drop(object.remove(key)));
                let outer = self.around.clone();
                self.calls(object, of_line);
                for (key, value) in object.iter_mut() {
                    if CHANGED.contains(&&**key) && self.keep == KeepFiles::Conversation && names_a_file(value) {
                        contents(value, "", false);
                    }
                    self.walk(value, of_line);
                }
                self.around = outer;
            }
            _ => {}
        }
    }

    fn calls(&mut self, object: &mut Object, of_line: &mut Reduction) {
        if let Some(form) = forms::call(object) {
            let given = forms::at(object, form.arguments).map(forms::arguments).unwrap_or_default();
            let mut call = forms::awaited(form.tool, &given);
            call.is_private = (self.is_private)(form.tool, &given);
            let (id, arguments, answers) = (form.id.to_string(), form.arguments, form.answers);
            let mut reduced = given.clone();
            match self.cut_of(&call, false) {
                Reduction::Private => private(&mut reduced),
                Reduction::Contents => contents(&mut reduced, "", self.keep == KeepFiles::Edits),
                Reduction::Nothing if self.keep == KeepFiles::Conversation => written_by_command(&mut reduced),
                Reduction::Nothing => {}
            }
            if reduced != given
                && let Some(value) = forms::at_mut(object, arguments)
            {
                *value = match value {
                    Value::String(_) if reduced.is_object() => Value::String(reduced.to_string()),
                    _ => reduced,
                };
            }
            match answers.iter().any(|path| forms::at(object, path).is_some()) {
                true => {
                    self.cut_answers(object, answers, Some(&call), of_line);
                    self.around = Some(call);
                }
                false => self.wait_for(id, call),
            }
        } else if let Some(form) = forms::answer(object) {
            let (id, answers) = (form.id.to_string(), form.answers);
            let call = self.open.remove(&id).or_else(|| self.around.clone());
            self.cut_answers(object, answers, call.as_ref(), of_line);
        }
    }

    fn wait_for(&mut self, id: String, call: Call) {
        let number = self.open.values().map(|call| call.number).max().map_or(0, |last| last + 1);
        let oldest = self.open.iter().min_by_key(|(_, call)| call.number).map(|(id, _)| id.clone());
        if let Some(oldest) = oldest.filter(|_| self.open.len() >= OPEN_MAX) {
            self.open.remove(&oldest);
        }
        self.open.insert(id, Call { number, ..call });
    }

    /// An answer to a call that is not known may be anything.
    fn cut_answers(&self, object: &mut Object, answers: &[&[&str]], call: Option<&Call>, of_line: &mut Reduction) {
        let has_failed = forms::answers_failure(object, answers);
        let cut = call.map_or(Reduction::Contents, |call| self.cut_of(call, has_failed));
        for path in answers {
            match forms::at_mut(object, path) {
                Some(value) if cut == Reduction::Nothing => self.cut_printed(value, of_line),
                Some(value) => apply(cut, value),
                None => {}
            }
        }
        if cut != Reduction::Nothing {
            *of_line = cut;
        }
    }

    fn cut_printed(&self, value: &mut Value, of_line: &mut Reduction) {
        each_text(value, "", &mut |key, text| {
            // Some answers repeat the command.
            if self.keep == KeepFiles::Conversation
                && matches!(key, "query" | "command" | "cmd")
                && let Cow::Owned(without) = without_contents(text)
            {
                *text = without;
            }
            if let Some(rest) = (self.printed)(text) {
                *text = rest;
                *of_line = Reduction::Private;
            }
        });
    }

    fn cut_of(&self, call: &Call, has_failed: bool) -> Reduction {
        match call {
            call if call.is_private => Reduction::Private,
            call if call.file.is_some() && !has_failed && self.keep != KeepFiles::Everything => Reduction::Contents,
            _ => Reduction::Nothing,
        }
    }
}

fn apply(cut: Reduction, value: &mut Value) {
    match cut {
        Reduction::Nothing => {}
        Reduction::Contents => contents(value, "", false),
        Reduction::Private => private(value),
    }
}

/// Cuts what a command line writes into files. Other arguments are no command lines, whatever they look like.
fn written_by_command(given: &mut Value) {
    for (key, line) in given.as_object_mut().into_iter().flatten() {
        if forms::COMMAND_LINES.contains(&key.as_str()) {
            each_text(line, key, &mut |_, text| {
                if let Cow::Owned(without) = without_contents(text) {
                    *text = without;
                }
            });
        }
    }
}

fn private(value: &mut Value) {
    each_text(value, "", &mut |_, text| *text = PRIVATE.to_string());
}

/// Replaces everything in a value that may be the content of a file.
fn contents(value: &mut Value, key: &str, keeps_changes: bool) {
    each_text(value, key, &mut |key, text| {
        let is_kept = forms::is_name(key, text) || keeps_changes && forms::is_change(key) || text.starts_with(NOT_KEPT);
        if !is_kept && !text.is_empty() {
            *text = not_kept(text);
        }
    });
}

fn each_text(value: &mut Value, key: &str, change: &mut dyn FnMut(&str, &mut String)) {
    match value {
        Value::String(text) => change(key, text),
        Value::Array(all) => all.iter_mut().for_each(|value| each_text(value, key, change)),
        Value::Object(object) => object.iter_mut().for_each(|(key, value)| each_text(value, key, change)),
        _ => {}
    }
}

fn names_a_file(value: &Value) -> bool {
    match value {
        Value::Object(object) => object
            .keys()
            .any(|key| key.contains('/') || forms::is_name(key, "") && key.contains("ile") || key.contains('.')),
        Value::Array(all) => all.iter().any(names_a_file),
        _ => false,
    }
}

/// How a text begins that stands for what is not kept.
pub const NOT_KEPT: &str = "[not kept: ";

fn not_kept(text: &str) -> String {
    format!("{NOT_KEPT}{} bytes, {:016x}]", text.len(), fnv1a(text.as_bytes()))
}

/// Cuts what is no text: pictures, and the files that a client appended to a prompt.
fn cut_text(text: &mut String) {
    if let Some(at) = text.find(REFERRED) {
        let left = not_kept(&text[at..]);
        text.replace_range(at.., &left);
    }
    if text.len() > WORD_BYTES_MAX && !text.contains(char::is_whitespace) {
        *text = not_kept(text);
    }
}
