//! Whether the user typed a rule, or it may be part of a text that was pasted into the prompt.
//!
//! A rule counts as typed only in a short prompt of one line without any sign of somebody else's text: quotation,
//! markup, a line copied from a log, a list, a commit or a chat, an introduction ("translate this:"), an attribution
//! ("the readme says"), a greeting or a signature. It judges by form; the word tables hold verbs that hand a text over
//! and words that name its author, in several languages. In doubt a rule is not typed: it is then proposed and never
//! approved by itself.

use std::ops::Range;

/// A longer prompt describes a task or contains a document.
const TYPED_CHARS_MAX: usize = 400;
/// A quotation of fewer words names something; a longer one repeats what somebody said.
const QUOTED_WORDS_MIN: usize = 3;
/// Japanese and Chinese have no blanks; this many characters count as a word.
const CHARS_PER_WORD: usize = 3;
/// The person or thing a rule is addressed to is among the first words of its sentence.
const ADDRESSEE_WORDS_MAX: usize = 5;
/// The request in front of a rule, in a script without blanks.
const BEGINNING_CHARS_MAX: usize = 8;
/// "CONTRIBUTING - always run the tests": a short heading in front of a dash.
const HEADING_WORDS_MAX: usize = 5;

/// What shows that a rule may not be the user's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    Long,
    SeveralLines,
    Markup,
    Quotation,
    LinePrefix,
    Introduction,
    Question,
    Handed,
    Attribution,
    Addressee,
    Signature,
    /// The words of the rule are not in the prompt as they are.
    NotFound,
}

/// Whether the user typed `rule`, a sentence of `prompt`.
pub fn is_typed(prompt: &str, rule: &str) -> bool {
    sign(prompt, rule).is_none()
}

/// The first sign that `rule` is not the user's own.
pub fn sign(prompt: &str, rule: &str) -> Option<Sign> {
    let is_indented = prompt.trim_start_matches(['\n', '\r']).starts_with("    ");
    let prompt = prompt.trim();
    if is_indented {
        return Some(Sign::LinePrefix);
    }
    if prompt.chars().count() > TYPED_CHARS_MAX {
        return Some(Sign::Long);
    }
    if prompt.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) || prompt.contains("\\n") {
        return Some(Sign::SeveralLines);
    }
    let prompt = prompt.to_lowercase();
    let rule = rule.trim().to_lowercase();
    let rule = rule.trim_end_matches(ENDS);
    let Some(start) = prompt.find(rule).filter(|_| !rule.is_empty()) else {
        return Some(Sign::NotFound);
    };
    // Of several sentences only the last one is taken for the rule; the others may hand it over.
    let end = start + rule.len();
    let last = sentences(&prompt).map(|place| place.start).filter(|at| (start..end).contains(at)).last();
    let place = last.unwrap_or(start)..end;
    let signs: [(Sign, bool); 9] = [
        (Sign::LinePrefix, has_line_prefix(&prompt)),
        (Sign::Markup, has_markup(&prompt)),
        (Sign::Quotation, has_quotation(&prompt)),
        (Sign::Introduction, has_introduction(&prompt, place.start)),
        (Sign::Question, has_question(&prompt)),
        (Sign::Handed, is_handed(&prompt, &place)),
        (Sign::Attribution, is_attributed(&prompt, &place)),
        (Sign::Addressee, has_addressee(&prompt, &place)),
        (Sign::Signature, has_signature(&prompt)),
    ];
    signs.into_iter().find(|(_, is_there)| *is_there).map(|(sign, _)| sign)
}

const ENDS: [char; 8] = ['.', '!', '?', ',', ';', ':', '。', '！'];

/// Lower-case words; an entry of a table that ends with `*` is the beginning of a word.
fn words(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’' | '-' | '_'))).filter(|word| !word.is_empty())
}

fn is_in(word: &str, table: &[&str]) -> bool {
    table.iter().any(|entry| match entry.strip_suffix('*') {
        Some(stem) => word.starts_with(stem),
        None => word == *entry,
    })
}

/// Whether a word of the table is in the text. Scripts without blanks are searched as they are.
fn mentions(text: &str, table: &[&str]) -> bool {
    words(text).any(|word| is_in(word, table))
        || table.iter().any(|entry| is_unspaced(entry) && text.contains(entry.trim_end_matches('*')))
}

fn is_unspaced(text: &str) -> bool {
    text.contains(|c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'))
}

fn word_count(text: &str) -> usize {
    if is_unspaced(text) { text.chars().count().div_ceil(CHARS_PER_WORD) } else { words(text).count() }
}

/// The marks that begin a line of a list, a document, a diff, a log, a shell, a comment, a chat or a mention.
fn has_line_prefix(prompt: &str) -> bool {
    const MARKS: &[char] =
        &['>', '#', '-', '*', '+', '•', '·', '–', '—', '|', '$', '%', '/', ';', '[', '{', '(', '@', '~', '=', '…', '↪'];
    let first = prompt.split_whitespace().next().unwrap_or_default();
    let is_number = first.starts_with(|c: char| c.is_ascii_digit());
    let is_hash = first.len() >= 7
        && first.bytes().all(|byte| byte.is_ascii_hexdigit())
        && first.bytes().any(|byte| byte.is_ascii_digit());
    prompt.starts_with(MARKS) || prompt.starts_with("...") || is_number || is_hash || is_in(first, LEVELS)
}

const LEVELS: &[&str] = &["info", "warn", "warning", "error", "debug", "trace", "fatal", "notice", "commit", "author"];

/// Tags, fences, links, tables, JSON, placeholders and mentions; characters that only copied text has.
fn has_markup(prompt: &str) -> bool {
    const PIECES: &[&str] =
        &["```", "~~~", "](", "://", "www.", "{\"", "\":", "/*", "*/", "**", "&nbsp;", "&lt;", "&quot;"];
    const RARE: &[char] = &['\u{a0}', '\u{ad}', '\u{feff}', '©', '®', '™', '│', '┃', '¶', '\u{fffd}'];
    let is_hidden = |c: char| RARE.contains(&c) || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}');
    let after = |mark: char, is_it: fn(char) -> bool| {
        prompt.match_indices(mark).any(|(at, _)| prompt[at + mark.len_utf8()..].starts_with(is_it))
    };
    PIECES.iter().any(|piece| prompt.contains(piece))
        || prompt.contains(is_hidden)
        || prompt.matches('|').count() > 1
        || after('<', |c| c.is_alphabetic() || matches!(c, '/' | '!'))
        || after('[', |c| c.is_alphabetic() || c == '.')
        || mentions(prompt, &["copyright"])
}

/// Quotation marks around several words, or one without its partner.
fn has_quotation(prompt: &str) -> bool {
    const PAIRS: &[(char, char)] = &[
        ('"', '"'),
        ('“', '”'),
        ('„', '“'),
        ('”', '”'),
        ('«', '»'),
        ('»', '«'),
        ('‹', '›'),
        ('「', '」'),
        ('『', '』'),
        ('《', '》'),
        ('`', '`'),
        ('‘', '’'),
        ('\'', '\''),
    ];
    PAIRS.iter().any(|(open, close)| quotes(prompt, *open, *close))
}

fn quotes(text: &str, open: char, close: char) -> bool {
    let is_apostrophe = matches!(open, '\'' | '‘');
    let mut rest = text;
    let mut before = ' ';
    while let Some(at) = rest.find(open) {
        before = rest[..at].chars().next_back().unwrap_or(before);
        let inside = &rest[at + open.len_utf8()..];
        // "don't", "users'": not an opening mark.
        if is_apostrophe && (before.is_alphanumeric() || inside.starts_with(char::is_whitespace)) {
            (rest, before) = (inside, open);
            continue;
        }
        let ends = |(end, _): &(usize, &str)| {
            !is_apostrophe || !inside[end + close.len_utf8()..].starts_with(char::is_alphanumeric)
        };
        let Some((end, _)) = inside.match_indices(close).find(ends) else {
            return word_count(inside) >= QUOTED_WORDS_MIN && !is_apostrophe;
        };
        if word_count(&inside[..end]) >= QUOTED_WORDS_MIN {
            return true;
        }
        (rest, before) = (&inside[end + close.len_utf8()..], close);
    }
    false
}

/// Labels that people put in front of their own rules.
const LABELS: &[&str] = &[
    "remember",
    "please remember",
    "reminder",
    "rule",
    "new rule",
    "important",
    "from now on",
    "going forward",
    "ps",
    "merke",
    "regel",
    "ab jetzt",
    "wichtig",
    "rappel",
    "règle",
    "désormais",
    "important",
    "recuerda",
    "regla",
    "importante",
    "a partir de ahora",
    "lembre",
    "lembre-se",
    "regra",
    "ricorda",
    "regola",
    "zapamiętaj",
    "zasada",
    "запомни",
    "правило",
    "важно",
    "ルール",
    "重要",
    "规则",
    "记住",
    "기억해",
    "규칙",
];

/// "Translate to German: …", "feat: …", "Tom: …", "CONTRIBUTING - …": words in front of the rule that announce it.
fn has_introduction(prompt: &str, start: usize) -> bool {
    let is_own = |head: &str| LABELS.contains(&head.trim());
    let is_colon =
        |at: usize, mark: &str| mark == "：" || prompt[at + 1..].starts_with([' ', '\t']) || at + 1 == prompt.len();
    let colon = prompt.match_indices([':', '：']).find(|(at, mark)| is_colon(*at, mark));
    if colon.is_some_and(|(at, _)| !is_own(&prompt[..at])) {
        return true;
    }
    const DASHES: [&str; 8] = [" - ", " – ", " — ", "—", " -- ", " -> ", " => ", " | "];
    DASHES
        .iter()
        .filter_map(|dash| prompt.find(dash))
        .any(|at| at < start || word_count(&prompt[..at]) <= HEADING_WORDS_MAX)
}

/// Why the agent did something is a complaint; any other question may be about a text in the prompt.
fn has_question(prompt: &str) -> bool {
    const WHY: &[&str] = &[
        "why",
        "warum",
        "wieso",
        "pourquoi",
        "por",
        "porque",
        "perché",
        "perche",
        "dlaczego",
        "czemu",
        "почему",
        "зачем",
        "なぜ",
        "なんで",
        "どうして",
        "为什么",
        "왜",
    ];
    sentences(prompt).any(|place| {
        let sentence = &prompt[place];
        let asks = sentence.contains(['?', '？', '¿', '؟']);
        let is_why = words(sentence).next().is_some_and(|word| is_in(word, WHY))
            || WHY.iter().any(|why| is_unspaced(why) && sentence.contains(why));
        asks && (!is_why || mentions(sentence, POINTERS))
    })
}

/// The sentences of a line, each with its end mark.
fn sentences(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = line.get(from..).filter(|rest| !rest.trim().is_empty())?;
        let is_end = |(at, mark): &(usize, &str)| {
            let after = &rest[at + mark.len()..];
            matches!(*mark, "。" | "！" | "？") || after.is_empty() || after.starts_with(char::is_whitespace)
        };
        let end = rest.match_indices(['.', '!', '?', '。', '！', '？']).find(is_end);
        let length = end.map_or(rest.len(), |(at, mark)| at + mark.len());
        let place = from..from + length;
        from += length;
        Some(place)
    })
}

/// What does something with a text.
const TEXT_VERBS: &[&str] = &[
    // English
    "translat*",
    "summari*",
    "tldr",
    "explain",
    "explains",
    "proofread*",
    "rephras*",
    "paraphras*",
    "reword*",
    "rewrit*",
    "transcrib*",
    "reply",
    "respond",
    "spellcheck",
    "grammar",
    "meaning",
    "convert",
    "analyze",
    "analyse",
    "digest",
    "classify",
    "quote",
    "quoted",
    "pasted",
    "pasting",
    "paste",
    "attached",
    "forwarded",
    "verbatim",
    "interpret",
    // German
    "übersetz*",
    "zusammenfass*",
    "zusammenfassung",
    "fasse",
    "erklär*",
    "umformulier*",
    "korrigier*",
    "beantwort*",
    "bedeutet",
    "folgende*",
    "lies",
    // French
    "tradui*",
    "résum*",
    "resum*",
    "expliqu*",
    "reformul*",
    "corrige*",
    "relis",
    "réponds",
    "signifie",
    "suivant*",
    // Spanish, Portuguese, Italian
    "traduc*",
    "traduz*",
    "traduir*",
    "traduci*",
    "resumir*",
    "resumen",
    "explica",
    "explique",
    "explicar",
    "corrig*",
    "responde",
    "responda",
    "significa",
    "siguiente*",
    "seguinte*",
    "seguent*",
    "riassum*",
    "spiega*",
    "rispondi",
    "parafras*",
    // Polish, Russian
    "przetłumacz*",
    "tłumacz*",
    "streś*",
    "streszcz*",
    "podsumuj",
    "wyjaśni*",
    "popraw*",
    "odpowiedz",
    "znaczy",
    "następuj*",
    "перевед*",
    "перевест*",
    "обобщ*",
    "резюм*",
    "объясн*",
    "перефраз*",
    "исправ*",
    "ответ*",
    "следующ*",
    // Japanese, Chinese, Korean
    "翻訳",
    "訳して",
    "要約",
    "説明して",
    "添削",
    "返信",
    "意味",
    "以下",
    "次の",
    "翻译",
    "总结",
    "摘要",
    "解释",
    "润色",
    "回复",
    "意思",
    "下面",
    "번역",
    "요약",
    "설명",
    "답장",
    "다음",
    "아래",
];
/// What does something with a text only if the text is pointed at.
const SOFT_VERBS: &[&str] = &[
    "look*",
    "read*",
    "check*",
    "see",
    "review*",
    "fix",
    "mean",
    "means",
    "say",
    "answer",
    "think",
    "received",
    "copied",
    "what",
    "follow",
    "schau*",
    "prüf*",
    "regarde*",
    "lis",
    "lire",
    "mira",
    "revisa*",
    "lee",
    "olha",
    "veja",
    "leia",
    "guarda",
    "leggi",
    "controlla",
    "spójrz",
    "sprawdź",
    "przeczytaj",
    "посмотри*",
    "прочит*",
    "проверь",
    "見て",
    "読んで",
    "確認",
    "看看",
    "看一下",
    "读",
    "检查",
    "봐",
    "읽",
    "확인",
];
const POINTERS: &[&str] = &[
    "this",
    "these",
    "that",
    "those",
    "following",
    "below",
    "above",
    "dies",
    "diese*",
    "hier",
    "ceci",
    "cela",
    "ça",
    "cette",
    "cet",
    "voici",
    "esto",
    "este",
    "esta",
    "eso",
    "aquí",
    "isto",
    "isso",
    "aqui",
    "questo",
    "questa",
    "ecco",
    "tę",
    "tego",
    "это",
    "этот",
    "эту",
    "вот",
    "これ",
    "この",
    "这",
    "這",
    "이것",
    "이거",
    "이",
];

/// Whether a sentence beside the rule, or the words in front of it, hand a text over.
fn is_handed(prompt: &str, rule: &Range<usize>) -> bool {
    let others = outside(prompt, rule);
    others.iter().any(|text| mentions(text, TEXT_VERBS) || (mentions(text, SOFT_VERBS) && mentions(text, POINTERS)))
        // "Summarise for me from now on always …": the rule begins with the request.
        || mentions(beginning(&prompt[rule.clone()]), TEXT_VERBS)
}

/// The first word, or as many characters as may be one.
fn beginning(text: &str) -> &str {
    let word = text.split_whitespace().next().unwrap_or_default();
    let end = word.char_indices().nth(BEGINNING_CHARS_MAX).map_or(word.len(), |(at, _)| at);
    if is_unspaced(word) { &word[..end] } else { word }
}

/// The sentences that are not part of the rule, and what stands before and after it in its own.
fn outside<'a>(prompt: &'a str, rule: &Range<usize>) -> Vec<&'a str> {
    let cut = |place: Range<usize>| {
        let before = place.start..place.end.min(rule.start).max(place.start);
        let after = place.start.max(rule.end).min(place.end)..place.end;
        [before, after]
    };
    sentences(prompt)
        .flat_map(cut)
        .filter_map(|place| prompt.get(place))
        .filter(|text| !text.trim().is_empty())
        .collect()
}

/// Who says it, or where it is written.
const SAYING: &[&str] = &[
    "says",
    "said",
    "saying",
    "wrote",
    "writes",
    "written",
    "told",
    "states",
    "stated",
    "reads",
    "according",
    "claims",
    "mentions",
    "mentioned",
    "announced",
    "posted",
    "sagt",
    "sagte",
    "schreibt",
    "schrieb",
    "steht",
    "laut",
    "meint",
    "dit",
    "écrit",
    "selon",
    "dice",
    "dijo",
    "escribió",
    "según",
    "diz",
    "disse",
    "escreveu",
    "segundo",
    "scrive",
    "secondo",
    "mówi",
    "napisał*",
    "według",
    "сказал*",
    "пишет",
    "написал*",
    "согласно",
    "によると",
    "と言",
    "書いて",
    "说",
    "写道",
    "根据",
    "말했",
    "썼",
    "따르면",
];
const WRITINGS: &[&str] = &[
    "readme*",
    "contributing*",
    "changelog*",
    "license",
    "email",
    "e-mail",
    "mail",
    "mails",
    "emails",
    "slack",
    "discord",
    "telegram",
    "whatsapp",
    "newsletter",
    "article",
    "blog",
    "wiki",
    "handbook",
    "confluence",
    "jira",
    "linear",
    "ticket",
    "tweet",
    "forum",
    "stackoverflow",
    "thread",
    "transcript",
    "chat",
    "webpage",
    "website",
    "tutorial",
    "boss",
    "manager",
    "colleague*",
    "coworker*",
    "teammate*",
    "client",
    "customer",
    "maintainer*",
    "reviewer*",
    "kollege*",
    "chef",
    "collègue*",
    "jefe",
    "compañero*",
    "chefe",
    "colega*",
    "capo",
    "collega",
    "szef",
    "koleg*",
    "начальник",
    "коллег*",
    "письм*",
    "почт*",
    "メール",
    "上司",
    "邮件",
    "老板",
    "同事",
    "이메일",
    "메일",
    "상사",
];

fn is_attributed(prompt: &str, rule: &Range<usize>) -> bool {
    let names_file = |word: &str| {
        let word = word.trim_end_matches(ENDS);
        word.starts_with('@')
            || [".md", ".txt", ".rst", ".log", ".eml", ".html"].iter().any(|ending| word.ends_with(ending))
    };
    let is_others =
        |text: &str| mentions(text, SAYING) || mentions(text, WRITINGS) || text.split_whitespace().any(names_file);
    let (before, after) = (&prompt[..rule.start], &prompt[rule.end..]);
    // The rule itself may be about mails; it is attributed by its first words only.
    let head = first_words(&prompt[rule.clone()], ADDRESSEE_WORDS_MAX);
    is_others(before) || is_others(after) || mentions(head, SAYING) || mentions(head, &["readme*", "contributing*"])
}

fn first_words(text: &str, count: usize) -> &str {
    let end = text.match_indices(char::is_whitespace).nth(count).map_or(text.len(), |(at, _)| at);
    &text[..end]
}

/// Rules for somebody else: "all contributors must …", "note to AI agents", "hi team".
const ADDRESSEES: &[&str] = &[
    "contributor*",
    "developer*",
    "devs",
    "maintainer*",
    "agents",
    "assistants",
    "bots",
    "llms",
    "ai",
    "ais",
    "everyone",
    "everybody",
    "team",
    "folks",
    "guys",
    "colleagues",
    "students",
    "employees",
    "staff",
    "attention",
    "dear",
    "entwickler*",
    "kolleg*",
    "liebe",
    "lieber",
    "liebes",
    "développeur*",
    "contributeur*",
    "équipe",
    "cher",
    "chers",
    "chère",
    "desarrollador*",
    "equipo",
    "estimad*",
    "querid*",
    "desenvolvedor*",
    "equipe",
    "prezad*",
    "sviluppator*",
    "squadra",
    "gentil*",
    "caro",
    "cari",
    "programiś*",
    "zespół",
    "drodzy",
    "szanown*",
    "разработчик*",
    "команд*",
    "коллег*",
    "уважаем*",
    "開発者",
    "皆さん",
    "みなさん",
    "各位",
    "开发者",
    "大家",
    "贡献者",
    "개발자",
    "여러분",
];
const GREETINGS: &[&str] =
    &["hi", "hello", "hey", "hallo", "moin", "bonjour", "salut", "hola", "ciao", "olá", "oi", "cześć", "hej", "привет"];

fn has_addressee(prompt: &str, rule: &Range<usize>) -> bool {
    let sentence = sentences(prompt).find(|place| place.contains(&rule.start)).unwrap_or(rule.clone());
    let head = first_words(prompt[sentence].trim_start(), ADDRESSEE_WORDS_MAX);
    let opening = first_words(prompt, ADDRESSEE_WORDS_MAX);
    // "Hi Tom, …": somebody is greeted by name.
    let greets = words(opening).next().is_some_and(|word| is_in(word, GREETINGS))
        && opening.split_whitespace().nth(1).is_some_and(|name| name.ends_with([',', '!', ':', '.']))
        && !opening.split_whitespace().next().is_some_and(|hi| hi.ends_with(ENDS));
    greets || mentions(head, ADDRESSEES) || mentions(&prompt[..rule.start], ADDRESSEES)
}

/// "Best regards, Tom", "-- Tom", "Thanks, Tom".
fn has_signature(prompt: &str) -> bool {
    const CLOSINGS: &[&str] = &[
        "regards",
        "cheers",
        "sincerely",
        "best",
        "thanks",
        "thx",
        "grüße",
        "gruß",
        "grüßen",
        "danke",
        "cordialement",
        "merci",
        "saludos",
        "gracias",
        "atenciosamente",
        "abraços",
        "obrigado",
        "saluti",
        "grazie",
        "pozdrawiam",
        "dzięki",
        "уважением",
        "спасибо",
    ];
    let last = |mark: char| prompt.rsplit_once(mark).map(|(before, after)| (before.trim(), after.trim()));
    let is_name = |text: &str| (1..=3).contains(&words(text).count());
    let after_closing = last(',').is_some_and(|(before, name)| {
        is_name(name) && words(before).next_back().is_some_and(|word| is_in(word, CLOSINGS))
    });
    let after_dash = ['—', '–', '~'].into_iter().filter_map(last).any(|(_, name)| is_name(name))
        || prompt.rsplit_once("--").is_some_and(|(_, name)| name.starts_with(' ') && is_name(name))
        || prompt.rsplit_once(" - ").is_some_and(|(_, name)| is_name(name));
    after_closing || after_dash
}

#[cfg(test)]
mod tests;
