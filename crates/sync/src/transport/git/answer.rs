//! What git's answers mean. A remote can print anything, so only known phrases are understood, and one line at most is
//! repeated.

use super::super::TransportError;
use super::super::reason::first_line;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pushed {
    Done,
    /// The remote has commits that are not known here.
    Behind,
}

/// What `git push --porcelain` says about references. `None` if it failed for another reason.
pub fn pushed(printed: &[u8], is_success: bool) -> Option<Pushed> {
    let printed = String::from_utf8_lossy(printed);
    let rejected: Vec<&str> = printed.lines().filter(|line| line.starts_with("!\t")).collect();
    if rejected.is_empty() {
        return is_success.then_some(Pushed::Done);
    }
    const BEHIND: [&str; 7] = [
        "(fetch first)",
        "(non-fast-forward)",
        "(stale info)",
        "(failed to update ref)",
        "(incorrect old value provided)",
        "cannot lock ref",
        "reference already exists",
    ];
    let is_behind = |line: &&str| BEHIND.iter().any(|phrase| line.contains(phrase));
    match rejected.iter().filter(|line| !line.starts_with("!\t:")).collect::<Vec<_>>().as_slice() {
        // A host may keep what should be deleted. It would keep the objects anyway.
        [] => Some(Pushed::Done),
        rejected if rejected.iter().all(|line| is_behind(line)) => Some(Pushed::Behind),
        _ => None,
    }
}

/// Why the remote rejected references, one reason on each line.
pub fn rejected(printed: &[u8]) -> String {
    let printed = String::from_utf8_lossy(printed);
    let lines = printed.lines().filter(|line| line.starts_with("!\t"));
    lines.filter_map(|line| line.rsplit('\t').next()).collect::<Vec<_>>().join("\n")
}

/// Why git failed.
pub fn problem(hub: &str, messages: &str) -> TransportError {
    const FULL: [&str; 5] =
        ["No space left", "quota", "exceeds maximum allowed size", "larger than the limit", "returned error: 413"];
    const UNREACHABLE: [&str; 14] = [
        "Could not resolve host",
        "Couldn't connect to server",
        "Failed to connect",
        "Connection refused",
        "Connection timed out",
        "Connection reset",
        "Network is unreachable",
        "No route to host",
        "Operation timed out",
        "Temporary failure in name resolution",
        "Empty reply from server",
        "The requested URL returned error: 5",
        "the remote end hung up",
        "early EOF",
    ];
    const REFUSED: [&str; 19] = [
        "Authentication failed",
        "could not read Username",
        "could not read Password",
        "Permission denied",
        "Host key verification failed",
        "returned error: 4",
        "does not appear to be a git repository",
        "does not exist",
        "not found",
        "remote rejected",
        "pre-receive hook declined",
        "hook declined",
        "not permitted",
        "dubious ownership",
        "redirect",
        "certificate",
        "SSL",
        "transport",
        "access denied",
    ];
    let hub = hub.to_string();
    let telling = |phrases: &[&str]| {
        messages.lines().find(|line| phrases.iter().any(|phrase| line.contains(phrase))).map(first_line)
    };
    if let Some(reason) = telling(&FULL) {
        TransportError::Full { hub, reason }
    } else if let Some(reason) = telling(&REFUSED[..5]) {
        // Ssh says why before git says that the remote hung up.
        TransportError::Refused { hub, reason }
    } else if let Some(reason) = telling(&UNREACHABLE) {
        TransportError::Unreachable { hub, reason }
    } else if let Some(reason) = telling(&REFUSED) {
        TransportError::Refused { hub, reason }
    } else {
        TransportError::Unexpected { hub, reason: first_line(messages) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_git_are_told_apart() {
        for (messages, expected) in [
            ("fatal: unable to access 'https://h/r/': Could not resolve host: h", "cannot reach"),
            ("fatal: unable to access 'http://h/': Failed to connect to h port 1", "cannot reach"),
            ("fatal: unable to access 'https://h/': The requested URL returned error: 503", "cannot reach"),
            ("ssh: connect to host h port 22: Connection refused\nfatal: Could not read", "cannot reach"),
            ("git@h: Permission denied (publickey).\nfatal: the remote end hung up", "refused"),
            ("fatal: could not read Username for 'https://h': terminal prompts disabled", "refused"),
            ("fatal: unable to access 'https://h/': The requested URL returned error: 403", "refused"),
            ("fatal: unable to access 'http://h/': The requested URL returned error: 301", "unexpected"),
            ("fatal: '/nowhere' does not appear to be a git repository", "refused"),
            ("remote: fatal: write error: No space left on device\nerror: remote unpack failed", "full"),
            ("fatal: unable to access 'https://h/': SSL certificate problem: self-signed", "refused"),
            ("fatal: something else", "unexpected"),
        ] {
            let told = problem("HUB", messages).to_string();
            assert!(told.contains(expected), "{messages}: {told}");
        }
    }

    #[test]
    fn rejected_references_are_told_apart() {
        for (printed, is_success, expected) in [
            ("To h\n*\tabc:refs/x\t[new reference]\nDone\n", true, Some(Pushed::Done)),
            ("To h\n=\tabcdef:refs/x\t[up to date]\nDone\n", true, Some(Pushed::Done)),
            ("To h\n \tabc:refs/x\t1234567..89abcde\nDone\n", true, Some(Pushed::Done)),
            ("To h\n!\ta:refs/x\t[rejected] (fetch first)\nDone\n", false, Some(Pushed::Behind)),
            ("!\ta:refs/x\t[rejected] (non-fast-forward)\n", false, Some(Pushed::Behind)),
            ("!\ta:refs/x\t[remote rejected] (failed to update ref)\n", false, Some(Pushed::Behind)),
            ("!\t:refs/y\t[remote rejected] (hook declined)\n+\ta:refs/x\tforced\n", false, Some(Pushed::Done)),
            ("!\t:refs/y\t[remote rejected] (x)\n!\ta:refs/x\t[rejected] (fetch first)\n", false, Some(Pushed::Behind)),
            ("!\ta:refs/x\t[remote rejected] (pre-receive hook declined)\n", false, None),
            ("", false, None),
        ] {
            assert_eq!(pushed(printed.as_bytes(), is_success), expected, "{printed}");
        }
        let declined = b"To h\n!\ta:refs/x\t[remote rejected] (pre-receive hook declined)\nDone\n";
        assert_eq!(rejected(declined), "[remote rejected] (pre-receive hook declined)");
        let told = problem("HUB", &format!("error: failed to push some refs\n{}", rejected(declined))).to_string();
        assert_eq!(told, "HUB refused: [remote rejected] (pre-receive hook declined)");
    }
}
