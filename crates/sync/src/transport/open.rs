//! Which transport an address names.

use std::path::{Path, PathBuf};

use super::address::{Address, AddressError};
use super::folder::Folder;
use super::git::Git;
use super::postgres::Postgres;
use super::s3::S3;
use super::{Result, TimeLimit, Transport};

/// What a transport needs of this machine.
pub struct LocalMachine<'a> {
    /// A folder of the home, for what a transport keeps here. It can be deleted at any time.
    pub dir: &'a Path,
    /// Reads a variable of the environment: credentials that are not part of the address.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    pub time: TimeLimit,
}

/// Opens the hub at an address. Nothing is sent before the first verb is used.
pub fn open(hub: &str, local: &LocalMachine) -> Result<Box<dyn Transport>> {
    if let Some(folder) = folder(hub)? {
        return Ok(Box::new(Folder::open(folder)?));
    }
    let address = Address::parse(hub)?;
    match address.scheme.as_str() {
        "git+ssh" | "git+https" | "git+http" | "git+file" => Ok(Box::new(Git::open(&address, local.dir, local.time)?)),
        "postgres" | "postgresql" => Ok(Box::new(Postgres::open(&address, local.variable, local.time)?)),
        "s3" | "s3+https" | "s3+http" => Ok(Box::new(S3::open(&address, local.variable, local.time)?)),
        other => Err(AddressError::Scheme(other.to_string()).into()),
    }
}

/// An address as it may be shown: without passwords and keys.
pub fn redacted(hub: &str) -> String {
    match (folder(hub), Address::parse(hub)) {
        (Ok(Some(folder)), _) => folder.display().to_string(),
        (_, Ok(address)) => address.redacted(),
        _ => "the hub".to_string(),
    }
}

/// An address as it is typed on another device, and whether something has to be filled in there.
pub fn handed_on(hub: &str, is_team: bool) -> (String, bool) {
    match (folder(hub), Address::parse(hub)) {
        (Ok(Some(_)), _) => (hub.to_string(), false),
        (_, Ok(address)) => address.handed_on(is_team),
        _ => ("the hub".to_string(), true),
    }
}

/// The folder, if the address is that of one: an absolute path, or `file:///PATH`.
fn folder(hub: &str) -> Result<Option<PathBuf>, AddressError> {
    if hub.starts_with('/') {
        return Ok(Some(PathBuf::from(hub)));
    }
    if !hub.contains("://") {
        return Err(AddressError::Missing("scheme; the path of a folder begins with /"));
    }
    let Some(rest) = hub.strip_prefix("file://") else { return Ok(None) };
    match Address::parse(hub)? {
        address if rest.starts_with('/') && address.settings.is_empty() => Ok(Some(PathBuf::from(address.path))),
        _ => Err(AddressError::Bad("path: write file:///PATH")),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::time::Duration;

    use super::super::{Place, TransportError};
    use super::*;

    #[test]
    fn when_the_time_for_everything_is_over_no_hub_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = silent.local_addr().unwrap();
        let time = TimeLimit::of(Duration::from_secs(24 * 60 * 60), Duration::ZERO);
        let local = LocalMachine { dir: dir.path(), variable: &|_| None, time };
        for address in [
            format!("git+http://{at}/x.git"),
            format!("s3+http://key:secret@{at}/bucket"),
            format!("postgres://ann:secret@{at}/hub?sslmode=disable"),
        ] {
            let place = Place { space: "s".to_string(), project: "p".to_string() };
            let asked = open(&address, &local).unwrap().heads(&place);
            assert!(matches!(asked, Err(TransportError::Unreachable { .. })), "{address}: {asked:?}");
        }
    }

    fn opened(hub: &str) -> Result<(), String> {
        let dir = tempfile::tempdir().unwrap();
        let variable = |name: &str| (name == "PGPASSWORD").then(|| "hunter2".to_string());
        let local = LocalMachine {
            dir: dir.path(),
            variable: &variable,
            time: TimeLimit::of(Duration::from_secs(1), Duration::from_secs(1)),
        };
        open(hub, &local).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn an_address_names_its_transport() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display().to_string();
        for hub in [
            path.as_str(),
            &format!("file://{path}"),
            "git+ssh://git@host/anna/app.git",
            "git+ssh://host:2222/~/app.git",
            "git+https://host/anna/app.git",
            "git+file:///srv/app.git",
            "git+http://127.0.0.1:8080/app.git",
            "postgres://anna:x@host/hub",
            "postgresql://anna@host:5433/hub?sslmode=verify-full",
            "postgres://anna@127.0.0.1/hub?sslmode=disable",
            "s3+https://KEY:SECRET@host/bucket/prefix?region=eu-central-1",
            "s3://KEY:SECRET@bucket/prefix?region=eu-central-1",
            "s3+http://KEY:SECRET@127.0.0.1:5000/bucket",
        ] {
            assert_eq!(opened(hub), Ok(()), "{hub}");
        }
    }

    #[test]
    fn a_bad_address_says_what_is_wrong_and_shows_no_secret() {
        for (hub, reason) in [
            ("hub", "begins with /"),
            ("file://relative/hub", "file:///PATH"),
            ("/no/such/folder/anywhere", "cannot reach"),
            ("https://u:hunter2@host/app.git", "git+https:"),
            ("ftp://u:hunter2@host/", "\"ftp\""),
            ("git+http://host/app.git", "use git+https"),
            ("git+https://u:hunter2@host/app.git", "credential helper"),
            ("git+https://host/", "no path"),
            ("git+https:///app.git", "no host"),
            ("git+file://host/app.git", "bad host"),
            ("git+ssh://-oProxyCommand=x/app.git", "bad host"),
            ("git+https://host/app.git?x=hunter2", "\"x\""),
            ("postgres://u:hunter2@host/", "no database"),
            ("postgres://host/hub", "no user"),
            ("postgres://u:hunter2@host/hub?sslmode=require", "verify-full"),
            ("postgres://u:hunter2@host/hub?sslmode=disable", "verify-full"),
            ("postgres://u:hunter2@host/hub?sslmod=verify-full", "\"sslmod\""),
            ("postgres://u:hunter2@host/hub?sslrootcert=/no/such/file", "/no/such/file"),
            ("s3+http://K:hunter2@host/bucket", "use s3+https"),
            ("s3+https://K:hunter2@host/", "no bucket"),
            ("s3+https://K@host/bucket", "secret"),
            ("s3+https://host/bucket", "AWS_ACCESS_KEY_ID"),
            ("s3+https://K:hunter2@host/bucket?region=a/b", "bad region"),
        ] {
            let told = opened(hub).unwrap_err();
            assert!(told.contains(reason) && !told.contains("hunter2"), "{hub}: {told}");
            assert!(!redacted(hub).contains("hunter2"), "{hub}");
        }
    }
}
