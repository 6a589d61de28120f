//! Tokens are made up here, from a fixed seed.

use std::borrow::Cow;

use super::super::redact_words;
use super::super::text::steps;

fn redact(text: &str) -> Cow<'_, str> {
    redact_words(text, None)
}

/// Random characters of an alphabet; `seed` makes another token.
fn random(alphabet: &str, length: usize, seed: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        letters[(state >> 33) as usize % letters.len()]
    };
    (0..length).map(|_| next()).collect()
}

const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE36: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const HEX: &str = "0123456789abcdef";

#[test]
fn a_random_token_is_cut_without_a_name() {
    for (alphabet, length, least) in [
        (BASE62, 16, 70),
        (BASE62, 20, 85),
        (BASE62, 32, 97),
        (BASE36, 24, 90),
        (BASE36, 40, 98),
        // A slash may look like that of a path.
        (BASE64, 40, 92),
        (HEX, 32, 100),
        (HEX, 64, 100),
    ] {
        let is_cut = |seed| {
            let token = random(alphabet, length, seed);
            !redact(&format!("the staging thing is {token}")).contains(&token)
        };
        let cut = (0..100).filter(|&seed| is_cut(seed)).count();
        assert!(cut >= least, "{cut} of 100 tokens of {length} from {alphabet}");
    }
}

#[test]
fn a_token_is_cut_whole_and_its_surroundings_are_kept() {
    let token = random(BASE62, 40, 3);
    for (before, after) in [
        ("use ", " please"),
        ("X-Acme: ", ""),
        ("acme.com/v1?lat=3&zone=", "&x=1"),
        ("('", "')"),
        ("https://x.io/webhook/", ", done"),
    ] {
        let text = format!("{before}{token}{after}");
        assert_eq!(redact(&text), format!("{before}[redacted:opaque-token]{after}"), "{text}");
    }
    let padded = format!("cert {}== end", random(BASE62, 30, 5));
    assert_eq!(redact(&padded), "cert [redacted:opaque-token] end");
}

#[test]
fn a_path_a_host_name_and_an_id_are_never_cut_by_look() {
    let token = random(BASE62, 24, 4);
    let lower = random(BASE36, 24, 4);
    let (sha, md5) = (random(HEX, 40, 9), random(HEX, 32, 9));
    let uuid = [&sha[..8], &sha[8..12], &sha[12..16], &sha[16..20], &sha[20..32]].join("-");
    for text in [
        format!("cat $d/{token}/out.txt"),
        format!("see /srv/jobs/{token}"),
        format!("see /srv/jobs/{token}/{lower} and ~/{token}/{lower}/a.txt"),
        format!("https://acme.io/orders/{token}/{lower}?page=2"),
        format!("open src/{token}/mod.rs now"),
        format!("C:\\jobs\\{token}"),
        format!("https://claude.ai/code/session_{token}"),
        format!("GET /api/orders/{uuid}/items"),
        format!("registry.acme.io/{uuid}:{md5}"),
        format!("deployed to app-{lower}.vercel.app today"),
        format!("ping db-{lower}.eu-west-1.rds.acme.com"),
        format!("dist/index-{token}.min.js and font-{md5}.woff2"),
        format!("\"session_ids\": [\n    \"{token}\""),
        format!("sessionId: {token}"),
        format!("GET /x?deviceid={token}"),
        format!("{{\"orderid\": \"{token}\"}}"),
        format!("orderid: {token}"),
        format!("BATCH_ID=\"{token}\""),
        format!("the same id {lower} again"),
        format!("Socket<id: \"phx-{token}\">"),
        format!("trace-id: {md5}"),
        format!("completed for protocol {uuid}"),
        format!("heroku {uuid}"),
        format!("pulled main to {sha}"),
        format!("'{sha}'"),
        format!("fixed in commit {sha}"),
        format!("md5 of the file: {md5}"),
        format!("U='{}'", &sha[..24]),
    ] {
        assert!(matches!(redact(&text), Cow::Borrowed(_)), "{text} became {}", redact(&text));
    }
    for text in [
        format!("the datadog thing is {md5}"),
        format!("secret_id = \"{uuid}\""),
        format!("HEROKU_API_KEY={uuid}"),
        format!("GITHUB_TOKEN={sha}"),
        format!("invalid {token}"),
        format!("secretid: {token}"),
        format!("base64 {token}/{lower}"),
        format!("https://x.io/hooks/{token}"),
    ] {
        assert!(redact(&text).contains("[redacted:"), "{text} was kept");
    }
}

#[test]
fn well_known_shapes_are_kept() {
    for text in [
        "rustup target add x86_64-pc-windows-msvc aarch64-unknown-linux-gnu",
        "xmlns=\"http://www.w3.org/2000/svg\"",
        "github.com/acme/tree@v0.0.0-20240827094217-dd81d9e9be82",
        "at 2026-01-05T12:17:31.697Z and 20260105T121731Z",
        "pin claude-opus-4-5-20251101 and gpt-4o-mini-2024-07-18",
        "see dist/assets/index-DkX3a9BqZ71Lm0p.js",
        "cat /var/folders/gz/h7sjhvz13cb0gcrzzcncqtyw0000gn/T/out",
        "npm i @acme/left-pad-es2015-v2@1.2.3-beta.4",
        "\"integrity\": \"sha512-LDDmzzwyB4J55xQq9\"",
        "run test-1758313848103-5t34nocx0 again",
        "TestParse_UTF8_4ByteRunes/case_12 and utf8mb4_0900_ai_ci",
        "getElementById4WithVeryLongCamelCaseNameV2",
        "0x00000000000000000000000000000001",
        "+4915123456789012345678",
    ] {
        assert!(matches!(redact(text), Cow::Borrowed(_)), "{text} became {}", redact(text));
    }
}

#[test]
fn a_hash_is_kept_where_the_words_say_so() {
    let (md5, sha) = (random(HEX, 32, 5), random(HEX, 64, 6));
    for text in [
        format!("sha256sum target/release/app: {sha}"),
        format!("Check the hash of that folder, and look for new files\n# {md5} was the one"),
        format!("$s=(Get-FileHash main.go).Hash; echo \"restored: $s\"; echo \"match: $($s -eq '{sha}')\""),
        format!("trace_ids = [\n    ('OK 210s', 'tr-{md5}'),\n]"),
        format!("docker pull ghcr.io/acme/app@sha256:{sha}"),
        format!("Request req_{} failed", random(BASE62, 24, 7)),
    ] {
        assert_eq!(redact(&text), text);
    }
}

#[test]
fn the_work_is_linear() {
    let token = random(BASE62, 40, 1);
    let uuid = "0f469ab8-bece-40b3-b3b8-c37e9ea7bc4b";
    for part in [
        "a",
        "1",
        "aB3",
        "a1/",
        "qz1qz1qz1qz1/eeee",
        "/abcdefghijklmnop",
        "-1",
        "a1b2c3d4",
        "commit ",
        &token[..24],
        &format!("{token}/"),
        &format!("{token} "),
        &format!("{uuid} x "),
        &format!("{uuid},"),
        "zq9",
        "zq9eeeeeeeeee",
    ] {
        let cost = |bytes: usize| {
            let text = part.repeat(bytes / part.len());
            steps::take();
            redact(&text);
            steps::take()
        };
        let (small, large) = (cost(8 * 1024), cost(64 * 1024));
        assert!(large < 12 * small + 10_000, "{part:?}: {small} steps for 8 KiB, {large} for 64 KiB");
    }
}

#[test]
fn ordinary_text_costs_one_look_in_sixteen() {
    let text = "Please rename the parser module and run the tests again. ".repeat(200);
    steps::take();
    assert!(super::OpaqueTokens::of(&text, 0..text.len()).next().is_none());
    assert!(steps::take() * 2 < text.len());
}

proptest::proptest! {
    #[test]
    fn redacting_twice_equals_redacting_once(text in "([a-zA-Z0-9/+=_.:, '\"-]{0,40}|password is |commit |[0-9a-f]{40}| ){0,8}") {
        let once = redact(&text).into_owned();
        proptest::prop_assert_eq!(redact(&once).into_owned(), once);
    }
}
