//! Normalises the URL of a remote: HTTPS, SSH and scp-like spellings of the same repository become one, without
//! credentials.
//!
//! A URL in an unknown form yields nothing, because it may contain a password in an unexpected place.

/// Longer URLs are ignored.
const URL_BYTES_MAX: usize = 2048;

/// Where a repository was cloned from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepositoryOrigin {
    /// `host/path`, or `host:port/path` where the port is not the usual one.
    Remote(String),
    /// A folder of this machine, as it was written: it may be relative to the worktree.
    Local(String),
}

/// Parses the URL of a remote.
pub fn parse(url: &str) -> Option<RepositoryOrigin> {
    let url = url.trim();
    if url.is_empty() || url.len() > URL_BYTES_MAX || url.contains(char::is_control) {
        return None;
    }
    if let Some((scheme, rest)) = url.split_once("://") {
        return match scheme.to_ascii_lowercase().as_str() {
            "file" => {
                let path = rest.strip_prefix("localhost").unwrap_or(rest);
                path.starts_with('/').then(|| RepositoryOrigin::Local(path.to_string()))
            }
            "https" => remote(rest, "443"),
            "http" => remote(rest, "80"),
            "ssh" | "git+ssh" | "ssh+git" => remote(rest, "22"),
            "git" => remote(rest, "9418"),
            _ => None,
        };
    }
    // In the scp-like form a colon before the first slash ends the host, which may be an IPv6 address.
    let before_slash = url.split('/').next().unwrap_or(url);
    let colon = before_slash.find("]:").map(|bracket| bracket + 1).or_else(|| before_slash.find(':'));
    match colon {
        // `transport::address` names a remote helper program.
        Some(at) if url[at..].starts_with("::") => None,
        Some(at) => from_host(&url[..at], &url[at + 1..]),
        None => Some(RepositoryOrigin::Local(url.to_string())),
    }
}

fn remote(rest: &str, usual_port: &str) -> Option<RepositoryOrigin> {
    let (authority, path) = rest.split_once('/')?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let (host, port) = match host.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (host, ""),
    };
    if !port.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let port = if port.is_empty() || port == usual_port { String::new() } else { format!(":{port}") };
    Some(RepositoryOrigin::Remote(format!("{}{port}/{}", plain_host(host)?, plain_path(path)?)))
}

/// `git@host:path`.
fn from_host(host: &str, path: &str) -> Option<RepositoryOrigin> {
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    Some(RepositoryOrigin::Remote(format!("{}/{}", plain_host(host)?, plain_path(path)?)))
}

fn plain_host(host: &str) -> Option<String> {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    let is_address = |inside: &str| inside.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.'));
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_good = address.map_or_else(|| host.chars().all(is_name), is_address);
    (!host.is_empty() && is_good).then_some(host)
}

/// The path without `.git`, repeated slashes, query and fragment.
fn plain_path(path: &str) -> Option<String> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    // If a password contains a slash, its rest ends up here, followed by `@host`.
    if path.split('/').any(|part| part.find('@').is_some_and(|at| at > 0)) {
        return None;
    }
    let path = path.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    let path = path.strip_suffix(".git").unwrap_or(&path).trim_end_matches(|c: char| c == '/' || c.is_whitespace());
    (!path.is_empty()).then(|| path.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_spellings_of_a_url_become_one() {
        for (url, expected) in [
            ("https://git.example/team/hydra", "git.example/team/hydra"),
            ("https://git.example/team/hydra.git", "git.example/team/hydra"),
            ("https://git.example/team/hydra.git/", "git.example/team/hydra"),
            ("https://git.example//team/hydra//", "git.example/team/hydra"),
            ("https://git.example/team/hydra /?a", "git.example/team/hydra"),
            ("HTTPS://Git.Example./team/hydra", "git.example/team/hydra"),
            ("http://git.example:80/team/hydra", "git.example/team/hydra"),
            ("https://git.example:443/team/hydra", "git.example/team/hydra"),
            ("https://me:secret@git.example/team/hydra", "git.example/team/hydra"),
            ("https://token@git.example/team/hydra?token=secret#x", "git.example/team/hydra"),
            ("ssh://git@git.example/team/hydra.git", "git.example/team/hydra"),
            ("ssh://git@git.example:22/team/hydra.git", "git.example/team/hydra"),
            ("git+ssh://git@git.example/team/hydra", "git.example/team/hydra"),
            ("git://git.example/team/hydra", "git.example/team/hydra"),
            ("git@git.example:team/hydra.git", "git.example/team/hydra"),
            ("git.example:team/hydra", "git.example/team/hydra"),
            ("git@git.example:/team/hydra", "git.example/team/hydra"),
            (" git@git.example:team/hydra \n", "git.example/team/hydra"),
            ("https://git.example:8443/team/hydra", "git.example:8443/team/hydra"),
            ("ssh://git@git.example:2222/team/hydra", "git.example:2222/team/hydra"),
            ("https://git.example/Team/Hydra", "git.example/Team/Hydra"),
            ("https://git.example/@team/hydra", "git.example/@team/hydra"),
            ("https://[2001:DB8::1]:443/hydra", "[2001:db8::1]/hydra"),
            ("git@[2001:db8::1]:hydra", "[2001:db8::1]/hydra"),
        ] {
            assert_eq!(parse(url), Some(RepositoryOrigin::Remote(expected.to_string())), "{url}");
        }
    }

    #[test]
    fn local_paths_are_recognised() {
        for (url, expected) in [
            ("/srv/hydra.git", "/srv/hydra.git"),
            ("../hydra", "../hydra"),
            ("./a:b", "./a:b"),
            ("hydra", "hydra"),
            ("file:///srv/hydra", "/srv/hydra"),
            ("file://localhost/srv/hydra", "/srv/hydra"),
        ] {
            assert_eq!(parse(url), Some(RepositoryOrigin::Local(expected.to_string())), "{url}");
        }
    }

    #[test]
    fn unknown_forms_yield_nothing() {
        for url in [
            "",
            "ext::sh -c 'curl https://me:secret@git.example/x'",
            "codecommit::eu-west-1://hydra",
            "ftp://git.example/hydra",
            "file://elsewhere/hydra",
            "https://git.example",
            "https://git.example/",
            "https://git.example/.git",
            "https:///hydra",
            "https://git.example:port/hydra",
            "https://me:pass/word@git.example/hydra",
            "https://me:12/34@git.example/hydra",
            "https://me:pass word@git example/hydra",
            "git@git.example:",
            "host name:hydra",
            "https://git.example/a\nb",
            "https://git.example/\u{2000}?",
        ] {
            assert_eq!(parse(url), None, "{url}");
        }
        assert_eq!(parse(&format!("https://git.example/{}", "x".repeat(URL_BYTES_MAX))), None);
    }

    proptest! {
        #[test]
        fn credentials_are_removed(
            scheme in "(https|http|ssh|git)", user in "[a-zA-Z0-9._%-]{1,12}", password in "[A-Z0-9!$&'()*+,;=:%-]{8,20}",
        ) {
            let url = format!("{scheme}://{user}:{password}@git.example/team/hydra");
            prop_assert_eq!(parse(&url), Some(RepositoryOrigin::Remote("git.example/team/hydra".to_string())));
        }

        #[test]
        fn normalising_is_idempotent(url in "(https://|ssh://|git@|file://|/)?\\PC{0,40}") {
            if let Some(RepositoryOrigin::Remote(plain)) = parse(&url) {
                prop_assert_eq!(parse(&format!("https://{plain}")).is_some(), true, "{}", plain);
                let again = parse(&format!("https://{plain}"));
                let is_same = again == Some(RepositoryOrigin::Remote(plain.clone()));
                // Exceptions: a repeated `.git`, and a port that is only the default for HTTPS.
                prop_assert!(is_same || plain.ends_with(".git") || plain.contains(":443/"), "{} {:?}", plain, again);
            }
        }
    }
}
