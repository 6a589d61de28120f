//! Example secrets are assembled from parts, so that no scanner reports this file as a leak.

use std::borrow::Cow;

use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

use super::table::RULES;
use super::text::{is, steps};
use super::{Cuts, NUMBER_BYTES, is_short_name, pass, redact_with, redact_words};

fn redact(text: &str) -> Cow<'_, str> {
    redact_with(text, None)
}

/// A body of `length` random-looking characters from `alphabet`.
fn body(alphabet: &str, length: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = 0x2545_f491_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        letters[(state >> 16) as usize % letters.len()]
    };
    (0..length).map(|_| next()).collect()
}

const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE36: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const HEX: &str = "0123456789abcdef";

fn check(input: &str, expected: &str) {
    let once = redact(input);
    assert_eq!(once, expected, "input {input:?}");
    assert_eq!(redact(&once), once, "a second pass changes {input:?}");
}

fn stays(input: &str) {
    assert!(matches!(redact(input), Cow::Borrowed(_)), "{input:?} became {:?}", redact(input));
}

/// Keys of a known format: name, prefix, alphabet of the body, its length.
#[rustfmt::skip]
const KEYS: &[(&str, &str, &str, usize)] = &[
    ("aws-key", concat!("AK", "IA"), BASE36, 16),
    ("aws-key", concat!("AS", "IA"), BASE36, 16),
    ("github-token", concat!("gh", "p_"), BASE62, 36),
    ("github-token", concat!("gh", "s_"), BASE62, 36),
    ("github-token", concat!("github", "_pat_"), BASE62, 82),
    ("gitlab-token", concat!("gl", "pat-"), BASE62, 20),
    ("slack-token", concat!("xo", "xb-"), BASE62, 40),
    ("stripe-key", concat!("sk", "_live_"), BASE62, 24),
    ("stripe-key", concat!("rk", "_live_"), BASE62, 24),
    ("stripe-key", concat!("sk", "_test_"), BASE62, 24),
    ("stripe-secret", concat!("wh", "sec_"), BASE62, 32),
    ("anthropic-key", concat!("sk", "-ant-api03-"), BASE62, 95),
    ("openai-key", concat!("sk", "-proj-"), BASE62, 60),
    ("openai-key", concat!("sk", "-"), BASE62, 48),
    ("google-key", concat!("AI", "za"), BASE62, 35),
    ("google-token", concat!("ya", "29."), BASE62, 60),
    ("google-secret", concat!("GOC", "SPX-"), BASE62, 28),
    ("npm-token", concat!("np", "m_"), BASE62, 36),
    ("pypi-token", concat!("py", "pi-"), BASE62, 90),
    ("crates-token", concat!("ci", "o"), BASE62, 32),
    ("huggingface-token", concat!("h", "f_"), BASE62, 34),
    ("twilio-key", concat!("S", "K"), HEX, 32),
    ("digitalocean-token", concat!("do", "p_v1_"), HEX, 64),
    ("shopify-token", concat!("sh", "pat_"), HEX, 32),
    ("databricks-token", concat!("da", "pi"), HEX, 32),
    ("doppler-token", concat!("dp", ".pt."), BASE62, 43),
    ("linear-key", concat!("lin", "_api_"), BASE62, 40),
    ("notion-token", concat!("nt", "n_"), BASE62, 46),
    ("newrelic-key", concat!("NR", "AK-"), BASE36, 27),
    ("mailgun-key", concat!("ke", "y-"), HEX, 32),
    ("vault-token", concat!("hv", "s."), BASE62, 40),
    ("age-key", concat!("AGE-SECRET", "-KEY-1"), BASE36, 58),
    ("groq-key", concat!("gs", "k_"), BASE62, 52),
    ("docker-token", concat!("dckr", "_pat_"), BASE62, 27),
    ("private-key", concat!("LS0tLS1CRUdJ", "TiBSU0Eg"), BASE62, 200),
];

fn known_keys() -> Vec<(&'static str, String)> {
    let mut keys: Vec<_> = KEYS
        .iter()
        .map(|(name, prefix, alphabet, length)| (*name, prefix.to_string() + &body(alphabet, *length)))
        .collect();
    keys.push(("sendgrid-key", ["S", "G.", &body(BASE62, 22), ".", &body(BASE62, 43)].concat()));
    keys.push(("postman-key", ["PM", "AK-", &body(HEX, 24), "-", &body(HEX, 34)].concat()));
    keys.push(("telegram-token", ["4839574812", ":", "AA", &body(BASE62, 33)].concat()));
    keys.push(("discord-token", ["M", &body(BASE62, 23), ".", &body(BASE62, 6), ".", &body(BASE62, 38)].concat()));
    keys.push((
        "jwt",
        ["ey", "J", &body(BASE62, 30), ".", "ey", "J", &body(BASE62, 60), ".", &body(BASE62, 43)].concat(),
    ));
    keys.push(("azure-secret", ["aB3", "8", "Q~", &body(BASE62, 34)].concat()));
    keys.push(("azure-devops-token", [&body(BASE62, 76), "AZ", "DO", "3eqU"].concat()));
    keys.push(("facebook-token", ["911602140448729", "|", &body(BASE62, 27)].concat()));
    keys.push(("salesforce-token", ["00D", &body(BASE62, 12), "!", &body(BASE62, 96)].concat()));
    keys.push(("truenas-key", ["8-", &body(BASE62, 64)].concat()));
    keys.push(("password-hash", ["$2", "b$12$", &body(BASE62, 53)].concat()));
    keys
}

#[test]
fn a_made_up_key_in_the_right_format_is_cut_too() {
    check(concat!("AK", "IAIOSFODNN7EXAMPLE"), "[redacted:aws-key]");
    check(concat!("use gh", "p_0123456789abcdefghijABCDEFGHIJ012345"), "use [redacted:github-token]");
    stays(concat!("gh", "p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
}

#[test]
fn every_rule_of_the_file_finds_its_key() {
    for rule in &RULES {
        // Without the characters that begin a variable.
        let plain = |&byte: &u8| is(byte, rule.body) && !matches!(byte, b'$' | b'%' | b'~');
        let letters: String = (b'!'..=b'~').filter(plain).map(char::from).collect();
        // Letters in order are a placeholder; taking every seventh looks random.
        let letters: String = (0..letters.len()).map(|at| letters.as_bytes()[at * 7 % letters.len()] as char).collect();
        let secret = body(&letters, usize::from(rule.min).max(20).min(rule.max.into()));
        let text = format!("see {}{secret} there", rule.prefix);
        let cut = redact(&text);
        assert!(!cut.contains(&secret) && cut.contains("[redacted:"), "{rule:?}: {text:?} became {cut:?}");
        assert!(!rule.keep_prefix || cut.contains(rule.prefix), "{rule:?}: {cut:?}");
        assert!(cut.starts_with("see ") && cut.ends_with(" there"), "{cut:?}");
    }
}

#[test]
fn a_long_text_is_scanned_once_and_again_only_around_its_cuts() {
    let key = ["gh", "p_", &body(BASE62, 36)].concat();
    let filler = "let answer = 42; // nothing to see here\n".repeat(5_000);
    let cost = |text: &str| {
        steps::take();
        redact(text);
        steps::take()
    };
    let (plain, cut) = (cost(&filler), cost(&format!("{filler}{key}\n{filler}")));
    assert!(cut < 2 * plain + 20_000, "{plain} steps without a secret, {cut} in twice the text with one");
}

#[test]
fn a_known_key_is_cut_in_any_context() {
    for (name, key) in known_keys() {
        let mark = format!("[redacted:{name}]");
        let places = [
            ("", ""),
            ("see ", " there"),
            ("\"", "\""),
            ("'", "',"),
            ("(", ")"),
            ("x\n", "\n"),
            ("`", "`"),
            ("a, ", ", b"),
            ("<td>", "</td>"),
            ("é", "é"),
        ];
        for (before, after) in places {
            check(&[before, &key, after].concat(), &[before, &mark, after].concat());
        }
        for offset in 0..40 {
            let pad = "the quick brown fox jumps over the lazy dog "[..offset].to_owned() + " ";
            check(&[&pad, &*key].concat(), &[&pad, &*mark].concat());
        }
    }
}

#[test]
fn a_value_is_cut_and_its_surroundings_are_kept() {
    let random = body(BASE62, 32);
    let hex = body(HEX, 40);
    let cases: &[(&str, &str, &str)] = &[
        ("AWS_SECRET_ACCESS_KEY=%", &random, "key"),
        ("aws_secret_access_key = %\n", &random, "key"),
        ("export API_TOKEN=\"%\"", &random, "token"),
        ("{\"client_secret\": \"%\", \"a\": 1}", &random, "secret"),
        ("{\\\"client_secret\\\": \\\"%\\\"}", &random, "secret"),
        ("apiKey: '%',", &random, "key"),
        ("api-key => %", &hex, "key"),
        ("let token: &str = \"%\";", &random, "token"),
        ("my_token := `%`", &random, "token"),
        ("config[\"access_token\"] = '%'", &random, "token"),
        ("SECRET_KEY_BASE=%", &hex, "key"),
        ("secret key: %", &random, "key"),
        ("https://x.example/?access_token=%&n=1", &hex, "token"),
        ("setHeader(\"X-Api-Key\", \"%\")", &random, "key"),
        ("os.getenv('API_KEY', '%')", &hex, "key"),
        ("AccountName=x;AccountKey=%;Suffix=y", &(body(BASE62, 86) + "=="), "key"),
        ("variable \"api_token\" {\n  default = \"%\"\n}", &random, "token"),
        ("field 'API_KEY' , '\"%\"'", &hex, "key"),
        ("c.Credentials = new NetworkCredential(\"me\", \"%\");", "opensesame", "password"),
        ("\"Provider=x; \" & \"Password =%;Initial Catalog=y\"", "billing_user", "password"),
        ("jwt:\n  secret: \"%\"", "development#product", "secret"),
        ("vault operator unseal %", &random, "token"),
        ("Jenkins-Crumb:%", &hex, "token"),
        ("CC_TEST_REPORTER_ID: %", &hex, "key"),
        ("use the following password to go on:\n\n%\n", &hex, "password"),
    ];
    check_templates(cases);
}

/// `%` stands for the secret, before and after.
fn check_templates(cases: &[(&str, &str, &str)]) {
    for (template, secret, name) in cases {
        check(&template.replace('%', secret), &template.replace('%', &format!("[redacted:{name}]")));
    }
}

#[test]
fn secrets_in_headers_flags_addresses_and_sentences_are_cut() {
    let random = body(BASE62, 32);
    let hex = body(HEX, 40);
    let cases: &[(&str, &str, &str)] = &[
        ("Authorization: Bearer %", &random, "authorization"),
        ("-H 'Authorization: Basic %'", "QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "authorization"),
        ("\"Authorization\": \"token %\"", &hex, "authorization"),
        ("Cookie: theme=dark; session=%; a=b", &random, "session"),
        ("postgres://app:%@db.local:5432/app", "s3cr3t", "url-password"),
        ("redis://:%@cache", "p@ss:w0rd", "url-password"),
        ("curl -u admin:% https://x.example", "Tr0ub4dor", "password"),
        ("curl --user 'api:%' https://x.example", "d2LkV78z!t", "password"),
        ("sshpass -p % ssh host", "hunter2", "password"),
        ("mysql -u root -p% db", "hunter2", "password"),
        ("docker login -u me -p % host", "hunter2", "password"),
        ("tool --password % --verbose", "correcthorse", "password"),
        ("tool --password=%", "correcthorse", "password"),
        ("tool --token % run", &random, "token"),
        ("[\"--token\", \"%\"]", &random, "token"),
        ("machine h login me password %", "hunter2", "password"),
        ("password: %", "hunter2!", "password"),
        ("my password is %, log in", "hunter2", "password"),
        ("docker run -e DB_PASSWORD=% -d x", "mysecretpassword", "password"),
        ("export DB_PASSWORD=%", "whiteduke", "password"),
        ("ENV API_KEY %", &hex, "key"),
        ("the api token is %", &hex, "token"),
        ("DB_PASSWORD=%", "whiteduke", "password"),
        ("\"password\": \"%\"", "correct-horse", "password"),
        ("if password == \"%\":", "team10", "password"),
        ("Server=h;Uid=sa;Pwd=%;", "myPassword", "password"),
        ("<password>%</password>", "hunter2", "password"),
        ("<add key=\"MailPassword\" value=\"%\"/>", "Prestig$", "password"),
        ("the default password is '%'", "blooberry", "password"),
        ("https://hooks.slack.com/services/%", &["T024TUTTU/B0DD08H5G/", &body(BASE62, 24)].concat(), "slack-webhook"),
    ];
    check_templates(cases);
}

#[test]
fn a_private_key_is_cut_as_a_block() {
    let line = body(BASE62, 64);
    for label in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
        for newline in ["\n", "\r\n", "\\n", "\\r\\n", "\" +\n\""] {
            let begin = format!("-----BEGIN {label}PRIVATE{} KEY-----", "");
            let open = [&begin, newline, &line, newline, &line].concat();
            let whole = format!("{open}{newline}-----END {label}PRIVATE KEY-----");
            check(&format!("k = <{whole}> z"), "k = <[redacted:private-key]> z");
            check(&open, "[redacted:private-key]");
            check(&format!("{open}\nand prose goes on"), "[redacted:private-key]\nand prose goes on");
        }
    }
    stays("-----BEGIN PRIVATE KEY-----\nanything\n-----END PRIVATE KEY-----");
    stays(&format!("-----BEGIN CERTIFICATE-----\n{line}\n-----END CERTIFICATE-----"));
}

#[test]
fn a_placeholder_is_a_whole_word() {
    for placeholder in ["changeme", "change-me-later", "CHANGE_IT", "exampleKey", "dummypassword", "my-sample-key"] {
        stays(&format!("API_PASSWORD = \"{placeholder}\""));
    }
    for secret in ["changeit4ever", "Sampler77", "todosbien", "reinserted-coin"] {
        check(&format!("API_PASSWORD = \"{secret}\""), "API_PASSWORD = \"[redacted:password]\"");
    }
}

#[test]
fn text_without_secrets_is_unchanged() {
    let hash = body(HEX, 40);
    let texts = [
        "",
        "token: String, password: &str, secret: Option<Secret>",
        "password = input.password",
        "let token = self.next_token()?;",
        "password = getpass.getpass()",
        "api_key = os.environ[\"API_KEY\"]",
        "apiKey: process.env.API_KEY,",
        "API_KEY=${API_KEY}",
        "TOKEN=$TOKEN PASSWORD=$(cat file)",
        "password: <your-password>",
        "password: changeme, token: \"your-token-here\"",
        "API_KEY=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "secret: null, token: None, password: true",
        "curl -u \"$USER:$PASSWORD\" https://x.example",
        "docker run -u 1000:1000 -p 8080:80 image",
        "mkdir -p a/b && cp -p x y",
        "git push https://github.com/a/b.git",
        "http://localhost:8080/path@2x.png",
        "user@host:/path, std::token::Token::new()",
        "\"password\": \"Password\", \"label\": \"Enter your password:\"",
        "RESET_PASSWORD = \"reset_password\"",
        "passwordLabel:\"Password:\",rememberMe:\"Remember me\"",
        "--- PASS: TestRewind2Files (0.00s)",
        "Examples that would pass: `user.Save2()`",
        "max_tokens: 4096, token_count = 12345678",
        "key_id = 7f3a2b1c9d8e4f5a, public_key = 9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC",
        "color: #a1b2c3; background: #FFF",
        "clap 4.5.20, serde@1.0.219+build.7",
        "csrf_token: Mj2qykJO5rELyHgezQ69nzUX0i3OH67V",
        "session_id: 198393f2-22db-477b-ac77-1825bea883ae",
        "TODAYINASIAASACKOFRICEFELLOVER",
        "tool takes --user and --password options, and words--pass `on`",
        "auth = base64.b64encode(user_passwd.encode())",
        "args += [\"--password\", password]",
        "\"AWS::IAM::AccessKey\": \"62d91b17309e76c8\"",
        "token = tag[colon+1 : len(tag)]",
        "hf_generated_by_the_debugging_purposes_key",
        "client.Credentials = new NetworkCredential(user, password);",
        "reset your password:\n\nhttps://x.example/reset\n",
        "token = short1A",
        concat!("xo", "xp-572370529330-573807301142-####################"),
        concat!("xo", "xp-1-SlackAppConfigurationAccessTokenHere"),
        concat!("sg", "p_5555555dAAAAA7777777CcccCFaaaaaaaaaaaaaa"),
        "re_compile_all_of_the_patterns_now re_exported_names_of_a_module",
        "pat.some.very.long.dotted.name.of.a.module.in.a.package.of.a.project.of.a.company.x",
    ];
    texts.iter().for_each(|text| stays(text));
    stays(&format!("commit {hash}\nindex {}..{}", &hash[..7], &hash[8..15]));
    stays("id 550e8400-e29b-41d4-a716-446655440000");
    stays(&format!("\"integrity\": \"sha512-{}==\"", body(BASE62, 86)));
    stays(&format!("data:image/png;base64,iVBORw0KGgo{}", body(BASE62, 400)));
    stays(&format!("sha256:{} checksum = \"{}\"", body(HEX, 64), body(HEX, 64)));
    stays(&format!("toolu_{} call_{} msg_{}", body(BASE62, 24), body(BASE62, 24), body(BASE62, 24)));
}

#[test]
fn work_is_linear_in_the_text() {
    let seeds = [
        "a",
        " ",
        "-",
        "=",
        ":",
        "token=",
        "pwd:",
        "password ",
        "password='",
        "pwd=\"",
        "pwd=`",
        "sk-ant-",
        "xoxb-",
        "eyJ.",
        "eyJ-",
        "M.",
        "://",
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        "-----",
        "-u ",
        "-u a:",
        "--token ",
        "$2a$",
        "1Q~",
        ":AA",
        "Authorization: ",
        "\"key\",",
        "\\\"",
        "é",
        "password is ",
        "ghp_a-",
        "Aa1/",
        "value=",
        "login a password ",
        "'token' , ",
        "sshpass -p ",
    ];
    for seed in seeds {
        let cost = |length: usize| {
            let text = seed.repeat(length / seed.len() + 1);
            steps::take();
            redact(&text);
            steps::take()
        };
        let (small, large) = (cost(20_000), cost(80_000));
        assert!(large <= 5 * small + 4_096, "{seed:?}: {small} steps, then {large}");
        assert!(large <= 150 * 80_000, "{seed:?}: {large} steps");
    }
}

fn fragments() -> impl Strategy<Value = String> {
    let keys: Vec<String> = known_keys().into_iter().map(|(_, key)| key).collect();
    let part = prop_oneof![
        "[ -~]{0,12}",
        any::<String>(),
        proptest::sample::select(keys),
        proptest::sample::select(vec![
            "password",
            "token",
            "=",
            ": ",
            "\"",
            "'",
            "\\\"",
            " ",
            "\n",
            "-u ",
            "--password ",
            "https://a:",
            "@",
            "Authorization: Bearer ",
            "hunter2",
            "[redacted:token]",
            "]",
            ";",
            "&",
            ",",
            "Cookie: session=",
            "-----BEGIN PRIVATE KEY-----",
            "-----END",
            "$6$",
            "8Q~",
            "value=",
            "~",
            "eyJ",
            ".",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_redacted_once(text in prop_oneof![any::<String>(), fragments()]) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str(), "from {:?}", text);
    }

    #[test]
    fn a_short_name_is_never_a_secret(name in "[A-Za-z0-9_]{0,25}|[a-zA-Z_]{0,8}[sS]?[wW][a-z0-9]{0,8}|(AKIA|ghp_|sk_live_|eyJ|password)[A-Za-z0-9_]{0,20}") {
        if is_short_name(&name) {
            prop_assert_eq!(pass(&name, None, Cuts::of(&name, 0..name.len())), None);
        }
    }

    #[test]
    fn a_shorter_word_is_no_secret_in_a_sentence_either(
        word in "[A-Za-z0-9_]{0,12}|[3-6][0-9]{0,12}|[0-9_]{0,4}(password|passwd|passwort|token|login|pin|bearer|mysql|curl)[0-9_]{0,6}",
    ) {
        if word.len() < NUMBER_BYTES && is_short_name(&word) {
            prop_assert_eq!(&*redact_words(&word, None), word.as_str());
        }
    }

    #[test]
    fn a_planted_key_never_survives(
        before in "[ -~é\n]{0,60}",
        after in "[ -~é\n]{0,60}",
        key in proptest::sample::select(known_keys()),
        quote in prop_oneof![Just("\""), Just("'"), Just(" "), Just("\n"), Just("`")],
    ) {
        let key = key.1;
        let text = [&before, quote, &key, quote, &after].concat();
        prop_assert!(!redact(&text).contains(&key), "{:?} survives in {:?}", key, redact(&text));
    }
}
