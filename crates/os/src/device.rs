//! The id of this device: random, created once, stored in the home.

use std::fs;
use std::io;

use cerberus_record::order::DeviceId;
use ring::rand::{SecureRandom, SystemRandom};

use super::home::Home;

const FILE_BYTES_MAX: u64 = 64;

/// Returns the id; creates it on first use.
pub fn id(home: &Home) -> io::Result<DeviceId> {
    let path = home.device();
    match home.text(&path, FILE_BYTES_MAX) {
        Ok(text) => match DeviceId::parse(text.trim()) {
            Some(id) => Ok(id),
            // The file does not hold an id of ours. Replacing it is safe: the id is only a name.
            None => generate().and_then(|id| home.replace(&path, id.to_string().as_bytes()).map(|()| id)),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(home),
        Err(error) => Err(error),
    }
}

/// Two processes may both be the first. The one that loses the race uses the id of the other.
fn create(home: &Home) -> io::Result<DeviceId> {
    let id = generate()?;
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

fn generate() -> io::Result<DeviceId> {
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
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file is left");
        fs::write(home.device(), "what?").unwrap();
        let second = id(&home).unwrap();
        assert!(second != first && id(&home).unwrap() == second);
        let other = tempfile::tempdir().unwrap();
        assert_ne!(id(&Home::new(other.path().to_path_buf())).unwrap(), second);
    }

    #[test]
    fn concurrent_first_processes_agree() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().to_path_buf());
        let first = create(&home).unwrap();
        assert_eq!(create(&home).unwrap(), first);
    }
}
