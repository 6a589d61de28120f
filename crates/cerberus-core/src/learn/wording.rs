//! Turns what the user typed into one imperative sentence: "hey, can we please not use mocks?" becomes "Do not use
//! mocks."
//!
//! Greetings and politeness are removed; the instruction stays in the user's own words. At most `CONTENT_WORDS_MAX`
//! words, one line, and a negation is never lost. Nothing is added.

use crate::clean::text;

/// The maximum length of a memory in words.
pub const CONTENT_WORDS_MAX: usize = 20;
const TEXT_CHARS_MAX: usize = 600;
/// A longer subject is a clause: "Summaries should be short" is rephrased, a longer sentence is not.
const SUBJECT_WORDS_MAX: usize = 4;
/// A sentence is never cut to fewer words.
const CUT_WORDS_MIN: usize = 4;

/// Phrases before an instruction that carry no meaning.
const OPENERS: &str = "i would really like you to|i would like you to|i'd really like you to|i'd like you to|i want you to|\
    i need you to|it would be better if you|it would be great if you|it would be nice if you could|as i said before|\
    i already told you to|i already told you|i already said|i told you to|i told you|like i said|as i said|i said to|i said|\
    you are supposed to|you're supposed to|you need to|you have to|you should|you must|you can|you could|you may|we need to|we have to|\
    we should|we must|we can|can we|can you|could we|could you|would you|will you|make sure that you|make sure you|make sure to|\
    make sure that|be sure to|from now on|from here on|going forward|in the future|in future|for the future|next time|in general|\
    as a rule|as a general rule|note that|keep in mind that|keep in mind to|remember that|remember to|please|pls|plz|let us|let's|lets|\
    i think that|i think|i guess|i feel like|i'd say|why don't you|don't forget to|do not forget to|dont forget to|never forget to|\
    you forgot to|you also forgot to|try to|just|also|and|but|so|btw|by the way|actually|basically|oh|ah|hm|hmm|um|hey claude|hey|hi|\
    hello|ok|okay|yes|yeah|yep|thanks|thank you|one more thing|the rule is that|hold on|first of all|maybe|perhaps|nah|nope|seriously|\
    that's wrong|that is wrong|this is wrong|not what i asked|always remember to|is it possible to|would it be possible to|how about we";

/// The same in other languages, one per line.
const OTHER_OPENERS: &str = include_str!("wording/openers.txt");

/// Carry no meaning only if punctuation follows; otherwise they are part of the instruction.
const ANSWERS: &str = "no|no no|no no no|already|stop|stop it|don't|never mind|good|great|nice|cool|perfect|right|sure|wrong|first|now|then|rule|\
    the rule is|preference|important|reminder|sorry|rather|instead|again|remember|well|wait|claude|codex|fyi|though|alright|correct";

const CLOSERS: &str = "please|pls|plz|thanks|thank you|ok|okay|right|from now on|going forward|in the future|in future|next time|\
    will you|alright|for me|again|thx|from here on";

/// Rewrites the start of an instruction. `~` stands for a verb in its -ing form and `^` for a participle; both become
/// the base form.
const HEADS: [(&str, &str); 19] = [
    ("Do not ^", "not have ^|you shouldn't have ^|shouldn't have ^|you should not have ^"),
    ("^", "have ^|you should've ^"),
    ("Do not ~", "why do you keep ~|why are you ~|you keep on ~|you keep ~|stop ~|quit ~|no more ~"),
    (
        "Do not",
        "do not|don't|dont|not|not to|shouldn't|mustn't|should not|must not|you shouldn't|you mustn't|you don't need to|you can't|you cannot|\
         you don't have to|no need to|there is no need to|we don't want to|i don't want you to|i do not want you to|i don't want to|\
         we don't|we do not|we shouldn't|you don't|i didn't ask you to|i did not ask you to|i never asked you to|\
         i didn't tell you to|i did not tell you to|i never told you to",
    ),
    ("", "you didn't|you did not"),
    ("Do not forget", "you forgot"),
    ("Never", "never ever|do not ever|don't ever|dont ever|don't you ever|we never"),
    ("Always", "we always|you never"),
    ("Only", "we only"),
    ("Use no", "there should be no|there must be no|there shouldn't be any"),
    ("Use", "we use|the project uses|this project uses|this repo uses|the repo uses"),
    ("Follow", "we follow"),
    ("Write", "we write"),
    ("Keep", "we keep"),
    ("Run", "we run"),
    ("Rather", "i'd rather you|i would rather you"),
    (
        "Avoid",
        "no need for|there is no need for|we don't need|you don't need|i never want|i don't like|i do not like|i don't want|i do not want|i dislike|i hate",
    ),
    ("Prefer to", "i'd rather|i would rather|it's better to|it is better to|it would be better to"),
    ("Prefer", "we prefer|we want|i prefer|i'd prefer|i would prefer|i like|i'd like|i would like|i want"),
];

/// A request may start with the wanted quality.
const WANTED_QUALITIES: &str =
    "short|shorter|concise|terse|brief|simple|simpler|smaller|minimal|plain|british|fewer|less|more";

/// The words that instructions start with.
pub(crate) const IMPERATIVES: &str = "use|keep|avoid|never|always|prefer|write|add|remove|check|ensure|follow|split|plan|test|log|\
    handle|return|run|do|don't|make|be|ask|put|stop|read|commit|push|name|validate|explain|create|delete|format|only|stick|leave|show";

const NEGATIONS: &str = "not|no|never|don't|dont|avoid|without|stop|shouldn't|mustn't|can't|cannot|isn't|aren't|won't|doesn't|\
    didn't|instead|neither|nor|nothing|none|unless|haven't";

/// A sentence may be cut before these.
const JOINTS: &str = "because|since|so|but|and|which|as|when|unless|otherwise|then|instead|if|or|that";

/// Words that cannot end a sentence.
const DANGLING: &str = "a|an|the|to|of|for|and|or|with|in|on|at|by|not|no|never|don't|do|as|that|is|are|be|your|my|our|this|these|\
    if|when|but|so|because|from|into|than|without|which";

/// Stems of verbs that lose an "e" before -ing and -ed.
const SILENT_E: &str = "us|writ|mak|creat|updat|chang|nam|handl|delet|remov|includ|generat|cod|typ|hid|leav|giv|tak|mov|clos|merg|rebas|\
    paus|ignor|declar|defin|describ|prepar|stor|restor|shar|sav|cach|pars|releas|reus|replac|produc|introduc|reduc|enforc|validat|\
    duplicat|migrat|execut|assum|summariz|summaris|organis|organiz|apologiz|apologis|minimiz|initializ|serializ|normaliz|sanitiz|\
    optimiz|complicat|automat|annotat|escap|scop|approv|receiv|driv|revers|compos|propos|expos|analyz|invok|prov|improv|schedul|\
    compil|silenc|argu|continu|decid|mut|quot|rambl|overwrit|rewrit|delegat";

/// Nouns that look like gerunds.
const NO_GERUNDS: &str =
    "thing|things|string|nothing|anything|everything|something|warning|king|spring|during|ceiling|building";

/// The instruction in `text`, worded as a memory. Empty if nothing remains.
pub(crate) fn sentence(text: &str) -> String {
    let plain = plain(text);
    let turned = turn_passive(&turn_head(&plain));
    let cut = cut(&turned);
    finish(if cut.is_empty() { &plain } else { &cut })
}

/// The instruction without greetings, politeness and quotation marks.
pub(crate) fn plain(text: &str) -> String {
    let line = text::line(&text.replace('’', "'"), TEXT_CHARS_MAX);
    let mut rest = line.as_str();
    loop {
        let before = rest;
        rest = rest.trim_start_matches(|c: char| !is_opening(c));
        let says_more = |after: &&str| after.contains(char::is_alphanumeric);
        const ENDS: [char; 7] = [',', '.', '!', ';', ':', '-', '—'];
        rest = after_longest(rest, OPENERS).filter(says_more).unwrap_or(rest);
        let others = OTHER_OPENERS.lines().filter_map(|list| after_longest(rest, list));
        rest = others.filter(says_more).min_by_key(|after| after.len()).unwrap_or(rest);
        let ended = after_longest(rest, ANSWERS).filter(|after| after.starts_with(ENDS) && says_more(after));
        rest = ended.map_or(rest, |after| after.trim_start_matches(ENDS).trim_start());
        if rest == before {
            break;
        }
    }
    without_open_bracket(strip_closers(after_complaint(first_sentence(rest)))).to_string()
}

/// Without an unbalanced bracket.
fn without_open_bracket(text: &str) -> &str {
    match text.strip_suffix(')') {
        Some(inside) if !inside.contains('(') => inside.trim_end(),
        _ => text,
    }
}

/// "You're making it too hard, keep it simple": the instruction comes after the comma.
fn after_complaint(text: &str) -> &str {
    const COMPLAINTS: &str = "you're|you are|this is|that's|that is|it's|it is|these are|i see you";
    let Some((_, instruction)) = text.split_once(", ").filter(|_| after_longest(text, COMPLAINTS).is_some()) else {
        return text;
    };
    let instruction = after_longest(instruction, "please|just|so|and").unwrap_or(instruction);
    let first = instruction.split(' ').next().unwrap_or_default().to_lowercase();
    if is_one_of(&first, IMPERATIVES) { instruction } else { text }
}

fn is_opening(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '`' | '"' | '\'' | '.' | '/' | '@' | '$' | '#' | '_')
}

/// The rest of `text` after `words`, ignoring case.
fn after_words<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let head = text.get(..words.len())?;
    let rest = &text[words.len()..];
    let is_apart = !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '\'' | '-' | '_' | '/'));
    let is_same = head.eq_ignore_ascii_case(words) || head.to_lowercase() == words;
    (is_same && (is_apart || words.ends_with(is_unspaced))).then(|| rest.trim_start_matches(' '))
}

/// The rest of `text` after the longest phrase of `list` that it starts with.
fn after_longest<'a>(text: &'a str, list: &str) -> Option<&'a str> {
    list.split('|').filter_map(|words| after_words(text, words)).min_by_key(|after| after.len())
}

/// Whether its script puts no blanks between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}')
}

fn is_one_of(word: &str, list: &str) -> bool {
    list.split('|').any(|one| one == word)
}

/// Up to the end of the first sentence. A dot inside a word does not end it.
fn first_sentence(text: &str) -> &str {
    let end = text.char_indices().find(|(at, c)| {
        let after = &text[at + c.len_utf8()..];
        let before = text[..*at].rsplit(' ').next().unwrap_or_default();
        matches!(c, '.' | '!' | '?' | ';') && after.starts_with(' ') && !matches!(before, "e.g" | "i.e" | "etc" | "vs")
    });
    end.map_or(text, |(at, _)| &text[..at])
}

fn strip_closers(text: &str) -> &str {
    let is_idle = |c: char| !c.is_alphanumeric() && !matches!(c, '`' | '"' | '\'' | ')' | '/' | '+' | '#' | '*' | '%');
    let mut rest = text;
    loop {
        let before = rest;
        rest = rest.trim_end_matches(is_idle);
        for closer in CLOSERS.split('|') {
            let Some(start) = rest.len().checked_sub(closer.len()).filter(|start| *start > 0) else { continue };
            let is_there = rest.get(start..).is_some_and(|tail| tail.eq_ignore_ascii_case(closer));
            if is_there && rest[..start].ends_with([' ', ',']) {
                rest = &rest[..start];
            }
        }
        if rest == before {
            return rest;
        }
    }
}

fn turn_head(plain: &str) -> String {
    let heads = HEADS.iter().flat_map(|(becomes, heads)| heads.split('|').map(move |head| (*becomes, head)));
    let turned = heads.filter_map(|(becomes, head)| Some((head.len(), turn(plain, head, becomes)?)));
    if let Some((_, turned)) = turned.max_by_key(|(length, _)| *length) {
        return turned;
    }
    if let Some((place, ours)) = plain.split_once(" we ").filter(|(place, _)| is_place(place)) {
        return format!("{}, {}", place.trim_end_matches(','), lower_first(&turn_head(&format!("we {ours}"))));
    }
    if let Some(rest) = after_words(plain, "no").filter(|rest| !rest.is_empty()) {
        let (first, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        return match bare_of_gerund(first) {
            Some(verb) => format!("Do not {verb} {tail}").trim_end().to_string(),
            None => format!("Use no {rest}"),
        };
    }
    let first = plain.split(' ').next().unwrap_or_default().to_lowercase();
    let says_more = [" is ", " are ", " should ", " must ", " not "].iter().any(|verb| plain.contains(verb));
    if is_one_of(&first, WANTED_QUALITIES) && !says_more && plain.contains(' ') {
        return format!("Prefer {plain}");
    }
    plain.to_string()
}

/// "In this repo", "for the tests": a phrase that may come before "we".
fn is_place(text: &str) -> bool {
    let mut words = text.split(' ');
    words.next().is_some_and(|first| is_one_of(&first.to_lowercase(), "in|for|on|here"))
        && words.count() <= SUBJECT_WORDS_MAX
}

fn turn(plain: &str, head: &str, becomes: &str) -> Option<String> {
    const FORMS: [char; 3] = ['~', '^', ' '];
    let rest = after_words(plain, head.trim_end_matches(FORMS))?.trim_start_matches([',', ':', ' ']);
    let (first, tail) = rest.split_once(' ').unwrap_or((rest, ""));
    let verb = match head.chars().last() {
        Some('~') => bare_of_gerund(first)?,
        Some('^') => bare_of_participle(first)?,
        _ => first.to_string(),
    };
    let becomes = becomes.trim_end_matches(FORMS);
    (!verb.is_empty()).then(|| format!("{becomes} {verb} {tail}").trim().to_string())
}

/// "errors must be handled" → "handle errors"; "summaries should be short" → "keep summaries short".
fn turn_passive(text: &str) -> String {
    for verb in [" should always be ", " must always be ", " should be ", " must be ", " need to be ", " have to be "] {
        let Some((subject, rest)) = text.split_once(verb) else { continue };
        let subject_words = subject.split(' ').count();
        let is_plain = !subject.contains([',', ':']) && subject_words <= SUBJECT_WORDS_MAX && !has_negation(subject);
        let is_nothing = matches!(subject.to_lowercase().as_str(), "it" | "this" | "that" | "there" | "they" | "these");
        let (first, tail) = rest.split_once(' ').unwrap_or((rest, ""));
        if !is_plain || is_nothing || has_negation(rest) || first.is_empty() {
            continue;
        }
        let subject = lower_first(subject);
        return match bare_of_participle(first) {
            Some(verb) => format!("{verb} {subject} {tail}").trim_end().to_string(),
            None => format!("keep {subject} {rest}"),
        };
    }
    text.to_string()
}

/// A proper name keeps its capital: `SQLite`, `API`.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if chars.clone().next().is_some_and(char::is_lowercase) && !is_code(text) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_string(),
    }
}

fn bare_of_gerund(word: &str) -> Option<String> {
    let low = word.to_lowercase();
    let rest =
        low.strip_suffix("ing").filter(|rest| rest.len() >= 2 && rest.contains(['a', 'e', 'i', 'o', 'u', 'y']))?;
    (!is_one_of(&low, NO_GERUNDS)).then(|| bare(rest))
}

fn bare_of_participle(word: &str) -> Option<String> {
    let low = word.to_lowercase();
    match low.as_str() {
        "written" => return Some("write".into()),
        "kept" => return Some("keep".into()),
        "run" | "set" | "put" => return Some(low),
        "made" => return Some("make".into()),
        "done" => return Some("do".into()),
        "told" => return Some("tell".into()),
        _ => {}
    }
    let rest =
        low.strip_suffix("ed").filter(|rest| rest.len() >= 2 && low.bytes().all(|byte| byte.is_ascii_lowercase()))?;
    Some(bare(rest))
}

/// `us` → `use`, `committ` → `commit`, `test` → `test`.
fn bare(rest: &str) -> String {
    if is_one_of(rest, SILENT_E) {
        return format!("{rest}e");
    }
    let mut chars = rest.chars().rev();
    let (last, before) = (chars.next(), chars.next());
    let is_doubled = last == before && last.is_some_and(|c| matches!(c, 'b' | 'd' | 'g' | 'm' | 'n' | 'p' | 'r' | 't'));
    if is_doubled && rest != "add" { rest[..rest.len() - 1].to_string() } else { rest.to_string() }
}

/// Cuts to at most `CONTENT_WORDS_MAX` words, at the end of a clause. A negation is never cut off.
fn cut(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.len() <= CONTENT_WORDS_MAX {
        return words.join(" ");
    }
    let kept = &words[..cut_at(&words)];
    if has_negation(&kept.join(" ")) || !has_negation(text) {
        return kept.join(" ");
    }
    // The negation comes late, so start at its clause.
    let at = words.iter().position(|word| is_negation(word)).unwrap_or(0);
    let ends = |word: &&str| word.ends_with([',', ':', ';', ')']);
    let start = words[..at].iter().rposition(ends).map_or(0, |before| before + 1);
    let start = if at - start < CONTENT_WORDS_MAX / 2 { start } else { at };
    let tail = &words[start..];
    if tail.len() <= CONTENT_WORDS_MAX { tail.join(" ") } else { tail[..cut_at(tail).max(at - start + 2)].join(" ") }
}

/// How many words to keep: up to punctuation, or before a conjunction, or the maximum.
fn cut_at(words: &[&str]) -> usize {
    let is_marked = |end: &usize| words[end - 1].ends_with([',', ';', ':', ')']) || words[*end].starts_with('(');
    let is_joint = |end: &usize| is_one_of(&words[*end].to_lowercase(), JOINTS);
    let marked = (CONTENT_WORDS_MAX / 2..=CONTENT_WORDS_MAX).rev().find(is_marked);
    let end = marked.or_else(|| (CUT_WORDS_MIN..=CONTENT_WORDS_MAX).rev().find(is_joint)).unwrap_or(CONTENT_WORDS_MAX);
    let is_dangling = |word: &str| is_one_of(&word.to_lowercase(), DANGLING);
    (2..=end).rev().find(|end| !is_dangling(words[end - 1])).unwrap_or(end)
}

pub(crate) fn has_negation(text: &str) -> bool {
    text.replace('’', "'").split_whitespace().any(is_negation)
}

fn is_negation(word: &str) -> bool {
    let core = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    is_one_of(&core, NEGATIONS)
}

/// `snake_case`, `fooBar`, `src/lib.rs`, `` `x` ``: an identifier, which keeps its spelling.
pub(crate) fn is_code(text: &str) -> bool {
    let word = text.split(' ').next().unwrap_or_default();
    let has_inner_capital = word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    has_inner_capital
        || word.contains(['_', '`', '/', '(', '=', '\\', '$', '@'])
        || word.contains("::")
        || word.starts_with('.')
}

fn finish(text: &str) -> String {
    let text = text.trim_end_matches(['.', ',', ';', ':', '!', '?', '-', '—', ' ', '(']);
    let text = text.trim_end_matches(['。', '！', '？']);
    let end = if text.ends_with(is_unspaced) { '。' } else { '.' };
    let mut chars = text.chars();
    match chars.next() {
        None => String::new(),
        Some(_) if is_code(text) => format!("{text}{end}"),
        Some(first) => format!("{}{}{end}", first.to_uppercase(), chars.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn typed_text_becomes_an_instruction() {
        for (typed, said) in [
            ("keep it short", "Keep it short."),
            ("ok so please keep it short, thanks!", "Keep it short."),
            ("hey, can we please not use mocks?", "Do not use mocks."),
            ("we use pnpm here", "Use pnpm here."),
            ("(we use pnpm here)", "Use pnpm here."),
            ("call run() first (it loads)", "Call run() first (it loads)."),
            ("we never push to main", "Never push to main."),
            ("don't add comments", "Do not add comments."),
            ("stop adding comments everywhere", "Do not add comments everywhere."),
            ("Stop. Run the linter first", "Run the linter first."),
            ("No, use tabs.", "Use tabs."),
            ("no emojis please", "Use no emojis."),
            ("no mocking in tests", "Do not mock in tests."),
            ("no need to explain everything", "Do not explain everything."),
            ("you forgot to run the tests", "Run the tests."),
            ("you didn't update the changelog", "Update the changelog."),
            ("you keep committing without asking", "Do not commit without asking."),
            ("why do you keep writing long summaries?", "Do not write long summaries."),
            ("I prefer composition over inheritance", "Prefer composition over inheritance."),
            ("I'd like you to write the test first from now on", "Write the test first."),
            ("From now on, ask before you commit", "Ask before you commit."),
            ("i don't like long functions", "Avoid long functions."),
            ("terse output please", "Prefer terse output."),
            ("errors must be handled", "Handle errors."),
            ("summaries should be short", "Keep summaries short."),
            ("let's not leave the tests to the end", "Do not leave the tests to the end."),
            ("you should never force push", "Never force push."),
            ("please don’t ever touch vendor/", "Never touch vendor/."),
            ("No no no. I told you already: do NOT touch the seeds", "Do not touch the seeds."),
            ("You should have asked me before deleting that", "Ask me before deleting that."),
            ("you shouldn't have committed that", "Do not commit that."),
            ("In this repo we use pnpm, not npm.", "In this repo, use pnpm, not npm."),
            ("for tests we don't use mocks", "For tests, do not use mocks."),
            ("is it possible to keep the replies shorter going forward?", "Keep the replies shorter."),
            ("you're overcomplicating this, keep it simple", "Keep it simple."),
            ("there should be no prints in the library", "Use no prints in the library."),
            ("no need for backwards compatibility", "Avoid backwards compatibility."),
            ("good variable names matter", "Good variable names matter."),
            ("`make check` must pass before you push", "`make check` must pass before you push."),
            ("snake_case for functions. I said that before.", "snake_case for functions."),
            ("I told you not to commit", "Do not commit."),
            ("no, I never asked you to push", "Do not push."),
            ("De ahora en adelante usa siempre pnpm", "Usa siempre pnpm."),
            ("Por favor, nunca hagas commit sin preguntarme", "Nunca hagas commit sin preguntarme."),
            ("À partir de maintenant, réponds en français", "Réponds en français."),
            ("ab jetzt bitte immer deutsch antworten", "Immer deutsch antworten."),
            ("今後はコミットする前に必ずテストを実行してください。", "コミットする前に必ずテストを実行してください。"),
            ("从现在开始总是使用 pnpm", "总是使用 pnpm."),
        ] {
            assert_eq!(sentence(typed), said, "{typed}");
        }
    }

    #[test]
    fn long_texts_are_cut_at_a_clause_and_keep_their_negation() {
        let long = "use the shared client for every request that goes out to the billing service, because it retries and \
                    logs in the way that the people of operations expect it to do";
        assert_eq!(sentence(long), "Use the shared client for every request that goes out to the billing service.");
        for late in [
            "when you work on the importer and everything that belongs to it in the backend or in the scripts that run \
             at night on the server, never touch the fixtures",
            "in the folder with all the generated clients and the other things that the build makes for us every night \
             we do not change anything by hand",
        ] {
            let said = sentence(late);
            assert!(has_negation(&said) && said.split_whitespace().count() <= CONTENT_WORDS_MAX, "{said}");
        }
    }

    proptest! {
        #[test]
        fn always_one_short_clean_line(typed in "[a-zA-Z ,.!?'’:;\\n\\t\\x1b\u{202e}é-]{0,300}") {
            let said = sentence(&typed);
            prop_assert!(said.split_whitespace().count() <= CONTENT_WORDS_MAX, "{said}");
            let is_hostile = |c: char| c.is_control() || c == '\u{202e}';
            prop_assert!(!said.contains(is_hostile), "{said:?}");
            prop_assert!(said.is_empty() || said.ends_with('.'));
        }

        #[test]
        fn a_negation_is_never_lost(
            before in proptest::collection::vec("[b-z]{2,7}", 0..40),
            after in proptest::collection::vec("[b-z]{2,7}", 2..40),
        ) {
            let said = sentence(&format!("use {} never {}", before.join(" "), after.join(" ")));
            prop_assert!(has_negation(&said), "{said}");
        }
    }
}
