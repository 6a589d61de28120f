//! Keys that their own format gives away, as one constant table.
//!
//! A rule is a prefix, the bytes its body may hold and how many of them. A body that is a
//! placeholder is left. This module never looks at what stands around a key, only at the byte
//! before it: a rule begins where a word begins.

use super::Cut;
use super::text::{
    ALNUM, BASE64, DASH, DIGIT, DOTTED, HEX, HEX_UPPER, LOWER, Text, UNDERSCORE, UPPER, URL64, WIDE, WORD, is,
};
use super::value::is_mask;

/// No body is judged on more than this; what follows in the same run is cut with it.
const JUDGED_BYTES: usize = 64;
const ANY: u16 = u16::MAX;

#[derive(Clone, Copy)]
struct Rule {
    name: &'static str,
    prefix: &'static str,
    body: u16,
    min: u16,
    max: u16,
    keep_prefix: bool,
}

const fn rule(name: &'static str, prefix: &'static str, body: u16, min: u16, max: u16) -> Rule {
    Rule { name, prefix, body, min, max, keep_prefix: false }
}

/// An address whose path is the secret: the address stays.
const fn hook(name: &'static str, prefix: &'static str) -> Rule {
    Rule { name, prefix, body: WIDE, min: 20, max: ANY, keep_prefix: true }
}

/// In the order of their first byte, which [`INDEX`] relies on (and checks when compiled).
#[rustfmt::skip]
const RULES: &[Rule] = &[
    rule("aws-key", "A3T", UPPER | DIGIT, 17, 17),
    rule("aws-key", "ABIA", UPPER | DIGIT, 16, 16),
    rule("aws-key", "ACCA", UPPER | DIGIT, 16, 16),
    rule("aws-key", "AKIA", UPPER | DIGIT, 16, 16),
    rule("aws-key", "ASIA", UPPER | DIGIT, 16, 16),
    rule("aws-bedrock-key", "ABSK", BASE64, 100, 140),
    rule("age-key", "AGE-SECRET-KEY-1", UPPER | DIGIT, 40, ANY),
    rule("google-key", "AIza", URL64, 35, 35),
    rule("artifactory-key", "AKCp", ALNUM, 60, 80),
    rule("octopus-key", "API-", UPPER | DIGIT, 26, 26),
    rule("atlassian-token", "ATATT3", WIDE, 100, ANY),
    rule("atlassian-token", "ATCTT3", WIDE, 100, ANY),
    rule("bitbucket-token", "ATBB", ALNUM, 24, 40),
    rule("facebook-token", "EAA", ALNUM, 90, ANY),
    rule("google-secret", "GOCSPX-", URL64, 24, 40),
    rule("gitlab-token", "GR1348941", URL64, 20, 24),
    rule("private-key", "LS0tLS1CRUdJTiBFQyBQ", BASE64, 40, ANY),
    rule("private-key", "LS0tLS1CRUdJTiBFTkNS", BASE64, 40, ANY),
    rule("private-key", "LS0tLS1CRUdJTiBPUEVO", BASE64, 40, ANY),
    rule("private-key", "LS0tLS1CRUdJTiBQUklW", BASE64, 40, ANY),
    rule("private-key", "LS0tLS1CRUdJTiBSU0Eg", BASE64, 40, ANY),
    rule("newrelic-key", "NRAA-", HEX, 24, 40),
    rule("newrelic-key", "NRAK-", UPPER | DIGIT, 25, 32),
    rule("newrelic-key", "NRII-", URL64, 30, 36),
    rule("newrelic-key", "NRIQ-", URL64, 30, 36),
    rule("newrelic-key", "NRJS-", HEX, 19, 19),
    rule("newrelic-key", "NRRA-", HEX, 40, 44),
    rule("postman-key", "PMAK-", HEX | DASH, 50, 64),
    rule("sendgrid-key", "SG.", DOTTED, 60, 72),
    rule("twilio-key", "SK", HEX, 32, 32),
    rule("adafruit-key", "aio_", ALNUM, 28, 28),
    rule("aws-mws-token", "amzn.mws.", HEX | DASH, 36, 36),
    rule("bedrock-key", "bedrock-api-key-", BASE64, 60, ANY),
    rule("crates-token", "cio", ALNUM, 32, 32),
    rule("databricks-token", "dapi", HEX | DASH, 32, 34),
    rule("appsync-key", "da2-", ALNUM, 26, 26),
    rule("docker-token", "dckr_oat_", URL64, 27, 40),
    rule("docker-token", "dckr_pat_", URL64, 27, 40),
    hook("discord-webhook", "discord.com/api/webhooks/"),
    hook("discord-webhook", "discordapp.com/api/webhooks/"),
    rule("digitalocean-token", "doo_v1_", HEX, 64, 64),
    rule("digitalocean-token", "dop_v1_", HEX, 64, 64),
    rule("digitalocean-token", "dor_v1_", HEX, 64, 64),
    rule("doppler-token", "dp.audit.", DOTTED, 40, 80),
    rule("doppler-token", "dp.ct.", DOTTED, 40, 80),
    rule("doppler-token", "dp.pt.", DOTTED, 40, 80),
    rule("doppler-token", "dp.sa.", DOTTED, 40, 80),
    rule("doppler-token", "dp.scim.", DOTTED, 40, 80),
    rule("doppler-token", "dp.st.", DOTTED, 40, 80),
    rule("dynatrace-token", "dt0c01.", DOTTED, 80, ANY),
    rule("duffel-token", "duffel_live_", URL64, 40, 48),
    rule("grafana-key", "eyJrIjoi", BASE64, 40, ANY),
    rule("firecrawl-key", "fc-", HEX, 32, 32),
    rule("fly-token", "fm2_", BASE64, 60, ANY),
    rule("fly-token", "fo1_", URL64, 40, 48),
    rule("github-token", "ghb_", ALNUM, 30, ANY),
    rule("github-token", "gho_", ALNUM, 30, ANY),
    rule("github-token", "ghp_", ALNUM, 30, ANY),
    rule("github-token", "ghr_", ALNUM, 30, ANY),
    rule("github-token", "ghs_", WORD, 30, ANY),
    rule("github-token", "ghu_", ALNUM, 30, ANY),
    rule("github-token", "github_pat_", WORD, 40, ANY),
    rule("grafana-token", "glc_", BASE64, 32, ANY),
    rule("grafana-token", "glsa_", WORD, 40, 48),
    rule("gitlab-token", "glagent-", URL64, 40, 64),
    rule("gitlab-token", "glcbt-", URL64, 20, 40),
    rule("gitlab-token", "gldt-", URL64, 20, 40),
    rule("gitlab-token", "glffct-", URL64, 20, 40),
    rule("gitlab-token", "glft-", URL64, 20, 40),
    rule("gitlab-token", "glimt-", URL64, 20, 40),
    rule("gitlab-token", "gloas-", HEX, 64, 64),
    rule("gitlab-token", "glpat-", DOTTED, 20, ANY),
    rule("gitlab-token", "glptt-", HEX, 40, 40),
    rule("gitlab-token", "glrt-", DOTTED, 20, ANY),
    rule("gitlab-token", "glsoat-", URL64, 20, 40),
    rule("groq-key", "gsk_", ALNUM, 48, 64),
    rule("stackhawk-key", "hawk.", DOTTED, 40, 48),
    rule("huggingface-token", "hf_", ALNUM, 34, 40),
    hook("slack-webhook", "hooks.slack.com/services/"),
    hook("slack-webhook", "hooks.slack.com/triggers/"),
    hook("slack-webhook", "hooks.slack.com/workflows/"),
    rule("vault-token", "hvb.", URL64, 24, ANY),
    rule("vault-token", "hvr.", URL64, 24, ANY),
    rule("vault-token", "hvs.", URL64, 24, ANY),
    rule("jina-key", "jina_", URL64, 48, 72),
    rule("mailgun-key", "key-", HEX, 32, 32),
    rule("linear-key", "lin_api_", ALNUM, 36, 48),
    rule("linear-key", "lin_oauth_", ALNUM, 36, 72),
    rule("twitch-key", "live_", WORD, 36, 48),
    rule("netlify-token", "nfp_", ALNUM, 36, 40),
    rule("npm-token", "npm_", ALNUM, 36, 36),
    rule("notion-token", "ntn_", ALNUM, 46, 46),
    rule("dtrack-key", "odt_", ALNUM, 32, 48),
    rule("1password-token", "ops_eyJ", BASE64, 200, ANY),
    hook("teams-webhook", "outlook.office.com/webhook/"),
    rule("nuget-key", "oy2", ALNUM, 43, 43),
    rule("planetscale-token", "pscale_pw_", DOTTED, 32, 64),
    rule("planetscale-token", "pscale_tkn_", DOTTED, 32, 64),
    rule("mapbox-token", "pk.eyJ1", DOTTED, 60, ANY),
    rule("prefect-key", "pnu_", ALNUM, 36, 36),
    rule("perplexity-key", "pplx-", ALNUM, 40, 64),
    rule("pulumi-token", "pul-", HEX, 40, 40),
    rule("pixie-key", "px-api-", HEX | DASH, 36, 36),
    rule("pixie-key", "px-dep-", HEX | DASH, 36, 36),
    rule("pypi-token", "pypi-", URL64, 50, ANY),
    rule("replicate-token", "r8_", ALNUM, 37, 40),
    rule("readme-key", "rdme_", ALNUM, 60, 80),
    rule("stripe-key", "rk_live_", ALNUM, 20, ANY),
    rule("stripe-key", "rk_test_", ALNUM, 20, ANY),
    rule("rubygems-key", "rubygems_", HEX, 48, 48),
    rule("supabase-key", "sb_secret_", URL64, 20, 64),
    rule("supabase-key", "sbp_", HEX, 40, 40),
    rule("intra42-secret", "s-s4t2af-", HEX, 64, 64),
    rule("intra42-secret", "s-s4t2ud-", HEX, 64, 64),
    rule("sourcegraph-token", "sgp_", HEX | HEX_UPPER | UNDERSCORE, 40, 72),
    rule("sourcegraph-token", "sgp_local_", HEX | HEX_UPPER, 40, 40),
    rule("shopify-token", "shpat_", HEX | HEX_UPPER, 32, 32),
    rule("shopify-token", "shpca_", HEX | HEX_UPPER, 32, 32),
    rule("shopify-token", "shppa_", HEX | HEX_UPPER, 32, 32),
    rule("shopify-token", "shpss_", HEX | HEX_UPPER, 32, 32),
    rule("anthropic-key", "sk-ant-", URL64, 32, ANY),
    rule("openrouter-key", "sk-or-v1-", HEX, 64, 64),
    rule("openai-key", "sk-admin-", URL64, 40, ANY),
    rule("openai-key", "sk-proj-", URL64, 40, ANY),
    rule("openai-key", "sk-svcacct-", URL64, 40, ANY),
    rule("openai-key", "sk-", ALNUM, 32, 64),
    rule("mapbox-token", "sk.eyJ1", DOTTED, 60, ANY),
    rule("stripe-key", "sk_live_", ALNUM, 20, ANY),
    rule("stripe-key", "sk_test_", ALNUM, 20, ANY),
    rule("dropbox-token", "sl.", URL64, 120, ANY),
    rule("square-token", "sq0atb-", URL64, 22, 22),
    rule("square-token", "sq0atp-", URL64, 22, 22),
    rule("square-token", "sq0csp-", URL64, 43, 43),
    rule("notion-token", "secret_", ALNUM, 43, 43),
    rule("mapbox-token", "tk.eyJ1", DOTTED, 60, ANY),
    rule("tavily-key", "tvly-", URL64, 30, 64),
    rule("stripe-secret", "whsec_", BASE64, 24, 80),
    rule("xai-key", "xai-", ALNUM, 70, 90),
    rule("slack-token", "xapp-", WIDE, 24, ANY),
    rule("slack-token", "xoxa-", URL64, 20, ANY),
    rule("slack-token", "xoxb-", URL64, 20, ANY),
    rule("slack-token", "xoxc-", URL64, 20, ANY),
    rule("slack-token", "xoxd-", WIDE, 20, ANY),
    rule("slack-token", "xoxe-", URL64, 20, ANY),
    rule("slack-token", "xoxe.xoxp-", URL64, 20, ANY),
    rule("slack-token", "xoxo-", URL64, 20, ANY),
    rule("slack-token", "xoxp-", URL64, 20, ANY),
    rule("slack-token", "xoxr-", URL64, 20, ANY),
    rule("slack-token", "xoxs-", URL64, 20, ANY),
    rule("google-token", "ya29.", URL64, 30, ANY),
];

/// Which rules begin with a byte: `INDEX[byte]..INDEX[byte + 1]` in [`RULES`].
const INDEX: [u8; 257] = {
    let mut index = [0; 257];
    let mut at = 0;
    let mut byte = 0;
    while byte < 256 {
        index[byte] = at as u8;
        while at < RULES.len() && RULES[at].prefix.as_bytes()[0] as usize == byte {
            at += 1;
        }
        byte += 1;
    }
    index[256] = at as u8;
    index
};
const _: () = assert!(INDEX[256] as usize == RULES.len(), "rules must stand in the order of their first byte");

/// Which second bytes follow a first byte in [`RULES`], one bit for each `byte % 32`.
const SECOND: [u32; 256] = {
    let mut second = [0; 256];
    let mut at = 0;
    while at < RULES.len() {
        let prefix = RULES[at].prefix.as_bytes();
        second[prefix[0] as usize] |= 1 << (prefix[1] % 32);
        at += 1;
    }
    second[b'e' as usize] |= 1 << (b'y' % 32);
    second[b'M' as usize] = u32::MAX;
    second[b'N' as usize] = u32::MAX;
    second[b'O' as usize] = u32::MAX;
    second
};

/// The key of a known format that starts exactly at `at`, if a word starts there.
pub(super) fn key_at(text: &Text, at: usize) -> Option<Cut> {
    let first = text.at(at);
    if is(text.before(at), WORD) || at < text.shammed.get() {
        return None;
    }
    if SECOND[usize::from(first)] >> (text.at(at + 1) % 32) & 1 == 0 {
        return without_prefix(text, at);
    }
    let span = usize::from(INDEX[usize::from(first)])..usize::from(INDEX[usize::from(first) + 1]);
    let found = RULES.get(span)?.iter().find_map(|rule| rule.find(text, at));
    found
        .or_else(|| if first == b'e' { web_token(text, at) } else { discord_token(text, at, first) })
        .or_else(|| without_prefix(text, at))
}

impl Rule {
    fn find(&self, text: &Text, at: usize) -> Option<Cut> {
        let prefix = self.prefix.as_bytes();
        // The third byte tells most rules apart, cheaper than a comparison of the whole.
        let differs = prefix.get(2).is_some_and(|&byte| byte != text.at(at + 2));
        if differs || !text.starts_with(at, prefix) {
            return None;
        }
        let body = at + prefix.len();
        let longest = if self.max == ANY { JUDGED_BYTES.max(self.min.into()) } else { usize::from(self.max) + 1 };
        let end = text.run(body, self.body, longest);
        let count = end - body;
        let fits = count >= usize::from(self.min) && count <= usize::from(self.max);
        if !fits || (self.max != ANY && is(text.at(end), WORD)) {
            return None;
        }
        let judged = text.slice(body, end.min(body + JUDGED_BYTES));
        // A name in code (`hf_generated…`) is all small letters; a key is not.
        if judged.iter().all(|&byte| is(byte, LOWER | UNDERSCORE | DASH)) || is_mask(judged) {
            text.shammed.set(end);
            return None;
        }
        let end = text.run(end, self.body, usize::MAX);
        Some(Cut { name: self.name, start: if self.keep_prefix { body } else { at }, end })
    }
}

/// A JSON web token: `eyJ….eyJ….…`, with or without a signature, signed or encrypted.
fn web_token(text: &Text, at: usize) -> Option<Cut> {
    // A dash before it would let one text be scanned from many starts.
    if !text.starts_with(at, b"eyJ") || text.before(at) == b'-' {
        return None;
    }
    let header = text.run(at, URL64, 512);
    if header - at < 16 || text.at(header) != b'.' {
        return None;
    }
    let payload = text.run(header + 1, URL64, 16);
    if payload - header < 16 {
        return None;
    }
    let mut end = text.run(header + 1, URL64, usize::MAX);
    while text.at(end) == b'.' && is(text.at(end + 1), URL64) {
        end = text.run(end + 1, URL64, usize::MAX);
    }
    Some(Cut { name: "jwt", start: at, end })
}

/// A Discord bot token: an id in base64 (so it starts with M, N or O), a time, a signature.
fn discord_token(text: &Text, at: usize, first: u8) -> Option<Cut> {
    if !matches!(first, b'M' | b'N' | b'O') {
        return None;
    }
    let id = text.run(at, URL64, 29);
    if !(24..=28).contains(&(id - at)) || text.at(id) != b'.' {
        return None;
    }
    let time = text.run(id + 1, URL64, 8);
    let end = text.run(time + 1, URL64, 48);
    let shape = time - id == 7 && text.at(time) == b'.' && (28..=44).contains(&(end - time));
    shape.then_some(Cut { name: "discord-token", start: at, end })
}

/// Keys that no prefix tells: `at` begins their long word.
fn without_prefix(text: &Text, at: usize) -> Option<Cut> {
    let cut = |name, start, end| Some(Cut { name, start, end });
    match text.before(at) {
        // Facebook: the number of an app, a bar, 27 characters.
        b'|' => {
            let (start, end) = (text.run_back(at - 1, DIGIT, 18), text.run(at, URL64, 28));
            return if (13..=18).contains(&(at - start)) && end == at + 27 {
                cut("facebook-token", start, end)
            } else {
                None
            };
        }
        // Salesforce: an organisation, a mark, about a hundred characters.
        b'!' => {
            let (start, end) = (text.run_back(at - 1, ALNUM, 18), text.run(at, DOTTED, 128));
            return if text.starts_with(start, b"00D") && end >= at + 80 {
                cut("salesforce-token", start, end)
            } else {
                None
            };
        }
        _ => {}
    }
    // Azure DevOps names itself near the end: 76 characters, `AZDO`, four more.
    if text.at(at + 76) == b'A' && text.starts_with(at + 76, b"AZDO") && text.run(at, ALNUM, 85) == at + 84 {
        return cut("azure-devops-token", at, at + 84);
    }
    // TrueNAS: a number, a dash, 64 characters of both cases.
    let number = text.run(at, DIGIT, 4);
    let shape = number > at && text.at(number) == b'-' && text.run(number + 1, ALNUM, 65) == number + 65;
    let mixed = shape && text.slice(number, number + 65).iter().any(|&byte| is(byte, UPPER));
    if mixed { cut("truenas-key", at, number + 65) } else { None }
}
