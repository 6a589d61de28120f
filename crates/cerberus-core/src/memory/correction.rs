//! What the user says against what the agent did: found sentence by sentence, with how sure that is.

/// What sort of correction it is. All but `Fix` are durable: they hold beyond the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CorrectionKind {
    /// What must or must never be done.
    Rule,
    /// What the user likes better.
    Preference,
    /// How the agent should go about its work.
    Behaviour,
    /// How code or text should look.
    Style,
    /// Wanted here and now, once.
    Fix,
}

impl CorrectionKind {
    pub const ALL: [CorrectionKind; 5] = [
        CorrectionKind::Rule,
        CorrectionKind::Preference,
        CorrectionKind::Behaviour,
        CorrectionKind::Style,
        CorrectionKind::Fix,
    ];

    pub fn word(self) -> &'static str {
        match self {
            CorrectionKind::Rule => "rule",
            CorrectionKind::Preference => "preference",
            CorrectionKind::Behaviour => "behaviour",
            CorrectionKind::Style => "style",
            CorrectionKind::Fix => "fix",
        }
    }

    pub fn from_word(word: &str) -> Option<CorrectionKind> {
        CorrectionKind::ALL.into_iter().find(|kind| kind.word() == word)
    }

    pub fn is_durable(self) -> bool {
        self != CorrectionKind::Fix
    }
}

/// What the user said, and what came before it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn<'a> {
    pub prompt: &'a str,
    /// The end of the agent's last words; empty when it had said nothing yet.
    pub before: &'a str,
    /// The user stopped the agent, or rejected what it was about to do.
    pub is_interruption: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Correction {
    pub kind: CorrectionKind,
    /// The sentence that corrects, in the user's own words, one line.
    pub text: String,
    /// From 0 to 1. What reaches 0.9 is taken without asking.
    pub confidence: f64,
}

/// The words with which the user rejected a tool use, in what the agent was told of it.
pub fn feedback(error: &str) -> Option<&str> {
    let (_, said) = error.split_once("the user said:")?;
    Some(said.trim()).filter(|said| !said.is_empty())
}

/// What the user corrects in one turn.
pub fn corrections(_turn: &Turn) -> Vec<Correction> {
    Vec::new()
}
