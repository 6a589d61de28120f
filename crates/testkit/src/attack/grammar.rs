//! Attacks from a grammar: every place of the table of places and every template, with secrets of many shapes.
//!
//! The places of programs and functions are read from the table itself (`places.txt` of `cerberus-record`), so a line there is
//! tried at once. What is generated depends on the seed alone.

use crate::simulation::random::Random;

const PLACES: &str = include_str!("../../../record/src/clean/secret/places.txt");
const TEMPLATES: &str = include_str!("templates.txt");

/// A text with a secret in it.
#[derive(Clone, Debug)]
pub struct Generated {
    pub class: &'static str,
    pub text: String,
    pub secrets: Vec<String>,
}

/// So many attacks, from a seed. Every place is tried about equally often.
pub fn generated(seed: u64, count: usize) -> Vec<Generated> {
    let mut random = Random::new(seed);
    let places = places();
    (0..count)
        .map(|at| {
            let (class, template) = &places[at % places.len()];
            filled(&mut random, class, template)
        })
        .collect()
}

/// Every place as a class and a template.
fn places() -> Vec<(&'static str, String)> {
    let lines = |text: &'static str| text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let written =
        lines(TEMPLATES).filter_map(|line| line.split_once(' ')).map(|(class, text)| (class, text.to_string()));
    let listed = lines(PLACES).filter_map(|line| {
        let (kind, rest) = line.split_once(' ')?;
        let (names, pattern) = rest.split_once(' ')?;
        let names = names.split(',');
        Some(match kind {
            "program" => names.map(|name| ("program", command(name, pattern))).collect::<Vec<_>>(),
            "call" => names.map(|name| ("call", function(name, pattern))).collect(),
            _ => return None,
        })
    });
    written.chain(listed.flatten()).collect()
}

/// A command as its pattern says.
fn command(name: &str, pattern: &str) -> String {
    let words = pattern.split(' ').map(|word| match word {
        "NAME" => "{NAME}".to_string(),
        "|" => "| docker login --password-stdin".to_string(),
        word => word
            .replace("NAME", "{NAME}")
            .replace('%', "%%")
            .replace('~', " ")
            .replace('*', "{arg}")
            .replace("#@", "#@{host}")
            .replace("#$", "#"),
    });
    format!("{name} {}", words.collect::<Vec<_>>().join(" "))
}

fn function(name: &str, pattern: &str) -> String {
    let arguments = pattern.trim_end_matches(')').split(' ').map(|word| match word {
        "NAME" => "\"{NAME}\"",
        "*" => "{user}",
        "#chars" => "\"#\".toCharArray()",
        "*:#" => "\"bob:#\"",
        _ => "\"#\"",
    });
    format!("{name}({})", arguments.collect::<Vec<_>>().join(", "))
}

const WORDS: [&str; 24] = [
    "sunshine",
    "dragon",
    "butterfly",
    "monkey",
    "shadow",
    "football",
    "orange",
    "giraffe",
    "thunder",
    "mustang",
    "blossom",
    "captain",
    "diamond",
    "elephant",
    "freedom",
    "gateway",
    "harmony",
    "island",
    "jasmine",
    "kitchen",
    "lantern",
    "mercury",
    "november",
    "october",
];
const USERS: [&str; 6] = ["admin", "alice", "bob", "deploy", "svc", "root"];
const HOSTS: [&str; 5] = ["db.internal", "api.acme.io", "localhost", "git.acme.dev", "10.0.0.5"];
const NAMES: [&str; 12] = [
    "API_KEY",
    "ACCESS_TOKEN",
    "CLIENT_SECRET",
    "DB_PASSWORD",
    "AUTH_TOKEN",
    "SECRET_KEY",
    "GITHUB_TOKEN",
    "STRIPE_API_KEY",
    "JWT_SECRET",
    "APP_SECRET",
    "WEBHOOK_SECRET",
    "SMTP_PASSWORD",
];
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const CAPITALS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const DIGITS: &[u8] = b"0123456789";
/// Signs that end a value nowhere.
const SIGNS: &[u8] = b"!*-_.+^";

fn filled(random: &mut Random, class: &'static str, template: &str) -> Generated {
    let is_token = template.replace("%%", "").contains('%');
    let secret = if is_token { token(random) } else { password(random) };
    let name = one_of(random, &NAMES);
    let mut secrets = Vec::new();
    let mut text = template.replace("%%", "\u{0}").replace("##", "\u{1}");
    for (mark, shape) in [
        ("{code}", code as fn(&mut Random) -> String),
        ("{pin}", pin),
        ("{phrase}", phrase),
        ("{seed}", seed),
        ("{mixed}", mixed),
        ("{typed}", typed),
    ] {
        while text.contains(mark) {
            let made = shape(random);
            text = text.replacen(mark, &made, 1);
            secrets.push(made);
        }
    }
    text = text
        .replace("{NAME}", name)
        .replace("{name}", &name.to_lowercase())
        .replace("{user}", one_of(random, &USERS))
        .replace("{host}", one_of(random, &HOSTS))
        .replace("{arg}", one_of(random, &["app", "prod", "main"]))
        .replace("{word}", one_of(random, &WORDS));
    if secrets.is_empty() {
        text = text.replace(['#', '%'], &secret);
        secrets.push(secret);
    }
    let text = text.replace('\u{0}', "%").replace('\u{1}', "#").replace("\\n", "\n").replace("\\r", "\r");
    Generated { class, text, secrets }
}

fn one_of(random: &mut Random, words: &[&'static str]) -> &'static str {
    words[random.below(words.len())]
}

fn from(random: &mut Random, alphabet: &[u8], length: usize) -> String {
    (0..length).map(|_| char::from(*random.pick(alphabet))).collect()
}

/// What people choose: words, letters, short ones, with digits, with signs.
fn password(random: &mut Random) -> String {
    let length = 8 + random.below(8);
    match random.below(6) {
        0 => one_of(random, &WORDS).to_string(),
        1 => format!("{}{}", one_of(random, &WORDS), one_of(random, &WORDS)),
        2 => from(random, LETTERS, length),
        3 => format!("{}{}", from(random, LETTERS, 3), from(random, DIGITS, 3)),
        4 => format!("{}{}{}", from(random, CAPITALS, 1), one_of(random, &WORDS), from(random, DIGITS, 2)),
        _ => format!(
            "{}{}{}{}",
            from(random, LETTERS, 4),
            from(random, SIGNS, 1),
            from(random, CAPITALS, 2),
            from(random, DIGITS, 2)
        ),
    }
}

/// What services issue, and what people make up in their place.
fn token(random: &mut Random) -> String {
    let length = 16 + random.below(24);
    match random.below(6) {
        0 => from(random, LETTERS, length),
        1 => from(random, CAPITALS, length),
        2 => from(random, &[LETTERS, CAPITALS].concat(), length),
        3 => from(random, &[LETTERS, DIGITS].concat(), length),
        4 => format!("{}{}{}", one_of(random, &WORDS), one_of(random, &WORDS), from(random, DIGITS, 2)),
        _ => from(random, &[LETTERS, CAPITALS, DIGITS].concat(), length),
    }
}

fn code(random: &mut Random) -> String {
    format!("{}-{}", from(random, &[LETTERS, DIGITS].concat(), 5), from(random, &[LETTERS, DIGITS].concat(), 5))
}

fn pin(random: &mut Random) -> String {
    from(random, DIGITS, 6)
}

/// A word and a number, as people choose it.
fn mixed(random: &mut Random) -> String {
    format!("{}{}", one_of(random, &WORDS), from(random, DIGITS, 2))
}

fn typed(random: &mut Random) -> String {
    format!("{} over the {}", one_of(random, &WORDS), one_of(random, &WORDS))
}

fn phrase(random: &mut Random) -> String {
    (0..5).map(|_| one_of(random, &WORDS)).collect::<Vec<_>>().join(" ")
}

fn seed(random: &mut Random) -> String {
    (0..12)
        .map(|_| one_of(random, &["abandon", "ability", "able", "zoo", "crisp", "ocean"]))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;

    use super::*;

    /// The benchmark tries more of them, and measures what it cuts of ordinary text.
    #[test]
    fn at_most_two_of_a_hundred_generated_attacks_pass() {
        let attacks = generated(1, 2_000);
        let passes = |attack: &&Generated| {
            let kept = BUILT_IN.redact_words(&attack.text);
            attack.secrets.iter().any(|secret| kept.contains(secret.as_str()))
        };
        let passed: Vec<&str> = attacks.iter().filter(passes).map(|attack| attack.text.as_str()).collect();
        assert!(passed.len() * 50 <= attacks.len(), "{} of {}: {passed:#?}", passed.len(), attacks.len());
    }

    #[test]
    fn a_seed_gives_the_same_attacks_and_every_text_holds_its_secrets() {
        let (first, again) = (generated(7, 2_000), generated(7, 2_000));
        assert!(first.iter().zip(&again).all(|(a, b)| a.text == b.text));
        assert_ne!(first[0].text, generated(8, 1)[0].text);
        for attack in first {
            assert!(attack.secrets.iter().all(|secret| attack.text.contains(secret)), "{attack:?}");
            assert!(!attack.text.contains(['{', '\u{0}', '\u{1}']) || !attack.text.contains("{user}"), "{attack:?}");
        }
    }
}
