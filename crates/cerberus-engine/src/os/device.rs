//! The id of this device: random, made once, kept in the home.

use std::fs;
use std::io;

use cerberus_core::model::order::DeviceId;
use ring::rand::{SecureRandom, SystemRandom};

use super::home::Home;

const FILE_BYTES_MAX: u64 = 64;

/// The id, made if there is none yet.
pub fn id(home: &Home) -> io::Result<DeviceId> {
    let path = home.device();
    match home.text(&path, FILE_BYTES_MAX) {
        Ok(text) => match DeviceId::parse(text.trim()) {
            Some(id) => Ok(id),
            // Not ours: a new id costs nothing but a name.
            None => make().and_then(|id| home.replace(&path, id.to_string().as_bytes()).map(|()| id)),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => make_first(home),
        Err(error) => Err(error),
    }
}

/// Two processes may be the first; whoever comes second takes the id of the other.
fn make_first(home: &Home) -> io::Result<DeviceId> {
    let id = make()?;
    let path = home.device();
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    home.replace(&draft, id.to_string().as_bytes())?;
    let linked = fs::hard_link(&draft, &path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let text = home.text(&path, FILE_BYTES_MAX)?;
            DeviceId::parse(text.trim()).ok_or_else(|| io::Error::other("the device id in the home is damaged"))
        }
        linked => linked.map(|()| id),
    }
}

fn make() -> io::Result<DeviceId> {
    let mut bytes = [0; 8];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("the system provides no random bytes"))?;
    Ok(DeviceId::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_once_and_a_broken_one_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().to_path_buf());
        let first = id(&home).unwrap();
        assert_eq!(id(&home).unwrap(), first);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left");
        fs::write(home.device(), "what?").unwrap();
        let second = id(&home).unwrap();
        assert!(second != first && id(&home).unwrap() == second);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(id(&Home::new(other.path().to_path_buf())).unwrap(), second);
    }

    #[test]
    fn processes_that_are_first_together_agree() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().to_path_buf());
        let first = make_first(&home).unwrap();
        assert_eq!(make_first(&home).unwrap(), first);
    }
}
