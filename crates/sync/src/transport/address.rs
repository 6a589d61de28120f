//! The address of a hub, as the user typed it. It can carry a password: errors and messages only ever show
//! [`Address::redacted`].

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The user of everybody who reaches a git host over ssh.
const SHARED_USER: &str = "git";

/// Why an address cannot be used. Never repeats the address, which may carry a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    #[error(
        "a hub is a folder or one of file:, git+ssh:, git+https:, git+file:, postgres:, s3: and s3+https:, not {0:?}"
    )]
    Scheme(String),
    #[error("the hub's address has no {0}")]
    Missing(&'static str),
    #[error("the hub's address has a bad {0}")]
    Bad(&'static str),
    #[error("the hub's address has a setting {0:?}, which {1} does not have")]
    Setting(String, &'static str),
    #[error("{0}")]
    Insecure(&'static str),
    #[error("cannot read {0}: {1}")]
    Certificate(String, String),
    #[error("no credentials: {0}")]
    Credentials(&'static str),
}

/// `SCHEME://USER:PASSWORD@HOST:PORT/PATH?NAME=VALUE`, decoded.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    pub scheme: String,
    pub user: Option<String>,
    pub password: Option<String>,
    pub host: String,
    pub port: Option<u16>,
    /// With its leading `/`, or empty.
    pub path: String,
    pub settings: Vec<(String, String)>,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.redacted())
    }
}

impl Address {
    pub fn parse(text: &str) -> Result<Address, AddressError> {
        let (scheme, rest) = text.split_once("://").ok_or(AddressError::Missing("scheme"))?;
        if !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+') {
            return Err(AddressError::Bad("scheme"));
        }
        if rest.bytes().any(|byte| byte.is_ascii_control() || byte == b' ' || byte == b'#') {
            return Err(AddressError::Bad("character: write it as %XX"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (login, server) = match authority.rsplit_once('@') {
            Some((login, server)) => (Some(login), server),
            None => (None, authority),
        };
        let (host, port) = host_and_port(server)?;
        let (user, password) = match login.map(|login| login.split_once(':').unwrap_or((login, ""))) {
            None => (None, None),
            Some((user, password)) => (some(decoded(user, "user")?), some(decoded(password, "password")?)),
        };
        let mut settings = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or(AddressError::Bad("setting after `?`"))?;
            settings.push((decoded(name, "setting")?, decoded(value, "setting")?));
        }
        let path = decoded(path, "path")?;
        Ok(Address { scheme: scheme.to_ascii_lowercase(), user, password, host, port, path, settings })
    }

    /// The address without what could be a secret: no password, no settings, and no user where that is half of a key.
    pub fn redacted(&self) -> String {
        let user = self.user.as_ref().filter(|_| !self.scheme.starts_with("s3"));
        let user = user.map_or(String::new(), |user| format!("{}@", encoded(user)));
        format!("{}://{user}{}", self.scheme, self.place())
    }

    /// The address as it is typed on another device, and whether something has to be filled in there: it is without the
    /// password or key, and for a teammate without the user, who has a login of their own.
    pub fn handed_on(&self, is_team: bool) -> (String, bool) {
        let is_own_login = self.user.as_deref().is_some_and(|user| user != SHARED_USER);
        let is_key = self.scheme.starts_with("s3");
        let user = match &self.user {
            None => String::new(),
            Some(_) if is_key => String::new(),
            Some(_) if is_team && is_own_login => "USER@".to_string(),
            Some(user) => format!("{}@", encoded(user)),
        };
        let settings: Vec<String> =
            self.settings.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        let settings = if settings.is_empty() { String::new() } else { format!("?{}", settings.join("&")) };
        let is_lacking = self.password.is_some() || user == "USER@" || (is_key && self.user.is_some());
        (format!("{}://{user}{}{settings}", self.scheme, self.place()), is_lacking)
    }

    /// Host, port and path.
    fn place(&self) -> String {
        let port = self.port.map_or(String::new(), |port| format!(":{port}"));
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        format!("{host}{port}{}", encoded(&self.path))
    }

    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Refuses settings that would be ignored: a mistyped `sslmode` must not pass unnoticed.
    pub fn only_settings(&self, names: &[&str], owner: &'static str) -> Result<(), AddressError> {
        match self.settings.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            Some((name, _)) => Err(AddressError::Setting(name.clone(), owner)),
            None => Ok(()),
        }
    }

    /// Whether the host is this machine, so that nothing crosses a network.
    pub fn is_loopback(&self) -> bool {
        self.host == "localhost" || self.host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn host_and_port(server: &str) -> Result<(String, Option<u16>), AddressError> {
    let (host, port) = match server.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or(AddressError::Bad("host"))?;
            host.parse::<std::net::Ipv6Addr>().map_err(|_| AddressError::Bad("host"))?;
            (host, rest.strip_prefix(':').or((!rest.is_empty()).then_some("?")))
        }
        None => match server.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (server, None),
        },
    };
    // A host that begins with `-` could be taken for an option by a program that is started.
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    if host.starts_with('-') || !host.bytes().all(allowed) {
        return Err(AddressError::Bad("host"));
    }
    let port = port.map(|port| port.parse::<u16>().map_err(|_| AddressError::Bad("port"))).transpose()?;
    Ok((host.to_string(), port))
}

fn decoded(text: &str, what: &'static str) -> Result<String, AddressError> {
    let is_byte = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|digit| digit.is_ascii_hexdigit());
    let is_right = text.split('%').skip(1).all(is_byte);
    let text = percent_decode_str(text).decode_utf8().ok().filter(|text| is_right && !text.contains(char::is_control));
    text.map(Cow::into_owned).ok_or(AddressError::Bad(what))
}

/// What stands for itself in an address, besides letters and digits.
const OTHERS: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Everything else as `%XX`.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, OTHERS).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_and_shown_without_its_secrets() {
        for (text, shown) in [
            ("postgres://anna:s%3Acret@db.example:5433/hub?sslmode=verify-full", "postgres://anna@db.example:5433/hub"),
            ("postgres://anna:a@b@db/hub", "postgres://anna@db/hub"),
            ("s3+https://AKIA:abc/def@host/bucket", "s3+https://host/bucket"),
            ("s3+https://AKIA:abc%2Fdef@host/bucket/pre%20fix", "s3+https://host/bucket/pre%20fix"),
            ("git+ssh://git@host/a.git", "git+ssh://git@host/a.git"),
            ("postgres://[::1]:5432/hub", "postgres://[::1]:5432/hub"),
        ] {
            let Ok(address) = Address::parse(text) else {
                // A slash in a password ends the authority; the rest is then no port.
                assert!(text.contains("abc/def"), "{text}");
                continue;
            };
            assert_eq!(address.redacted(), shown);
            assert_eq!(format!("{address:?}"), shown);
        }
        let address = Address::parse("postgres://anna:s%3Acret@db/hub?sslmode=x&a=%26").unwrap();
        assert_eq!((address.user.as_deref(), address.password.as_deref()), (Some("anna"), Some("s:cret")));
        assert_eq!(
            (address.setting("sslmode"), address.setting("a"), address.setting("b")),
            (Some("x"), Some("&"), None)
        );
        assert_eq!(address.only_settings(&["sslmode"], "x"), Err(AddressError::Setting("a".to_string(), "x")));
    }

    #[test]
    fn an_address_is_handed_on_without_a_password_and_to_a_team_without_the_login() {
        for (text, own, team, is_lacking) in [
            ("postgres://anna:x@db/hub", "postgres://anna@db/hub", "postgres://USER@db/hub", (true, true)),
            (
                "postgres://anna@db:5433/hub?sslrootcert=/etc/a%26b.pem",
                "postgres://anna@db:5433/hub?sslrootcert=/etc/a%26b.pem",
                "postgres://USER@db:5433/hub?sslrootcert=/etc/a%26b.pem",
                (false, true),
            ),
            ("git+ssh://git@host/a.git", "git+ssh://git@host/a.git", "git+ssh://git@host/a.git", (false, false)),
            ("git+ssh://ann@host/a.git", "git+ssh://ann@host/a.git", "git+ssh://USER@host/a.git", (false, true)),
            (
                "s3+https://KEY:SECRET@host/b/p?region=r-1",
                "s3+https://host/b/p?region=r-1",
                "s3+https://host/b/p?region=r-1",
                (true, true),
            ),
            ("s3://bucket/p", "s3://bucket/p", "s3://bucket/p", (false, false)),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.handed_on(false), (own.to_string(), is_lacking.0), "{text}");
            assert_eq!(address.handed_on(true), (team.to_string(), is_lacking.1), "{text}");
            assert!(Address::parse(&address.handed_on(true).0).is_ok());
        }
    }

    #[test]
    fn a_bad_address_is_refused_without_being_repeated() {
        for (text, wrong) in [
            ("hunter2", AddressError::Missing("scheme")),
            ("post gres://hunter2@h/", AddressError::Bad("scheme")),
            ("postgres://u:hunter2@-oProxyCommand=x/", AddressError::Bad("host")),
            ("postgres://u:hunter2@host:99999/", AddressError::Bad("port")),
            ("postgres://u:hunter2@[::1/", AddressError::Bad("host")),
            ("postgres://u:hunter2@[::1]x/", AddressError::Bad("port")),
            ("postgres://u:hunter2%4@h/", AddressError::Bad("password")),
            ("postgres://u:hunter2%0a@h/", AddressError::Bad("password")),
            ("postgres://u:hunter2%ff@h/", AddressError::Bad("password")),
            ("postgres://u:hunter2@h/?hunter2", AddressError::Bad("setting after `?`")),
            ("postgres://u:hunter2@h/ x", AddressError::Bad("character: write it as %XX")),
        ] {
            let found = Address::parse(text).unwrap_err();
            assert_eq!(found, wrong, "{text}");
            assert!(!found.to_string().contains("hunter2"), "{found}");
        }
    }

    #[test]
    fn only_loopback_is_this_machine() {
        for (host, expected) in [
            ("127.0.0.1", true),
            ("127.9.9.9", true),
            ("localhost", true),
            ("[::1]", true),
            ("10.0.0.1", false),
            ("localhost.example", false),
            ("127.0.0.1.example", false),
        ] {
            assert_eq!(Address::parse(&format!("s3+http://{host}/b")).unwrap().is_loopback(), expected, "{host}");
        }
    }
}
