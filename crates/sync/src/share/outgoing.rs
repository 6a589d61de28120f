//! Who gets to see what, and words made ready for them.

use std::time::Duration;

use cerberus_record::clean::Cleaner;
use cerberus_record::clean::text::{Clean, Keep};
use cerberus_record::event::Location;
use cerberus_record::id::ProjectId;
use cerberus_record::order::DeviceId;
use cerberus_record::path::below;
use cerberus_record::time::Timestamp;

use super::names;
use super::paths::relative;
use super::windows::Outside;

/// Who may see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShareAudience {
    /// The user's own devices.
    Me,
    Team,
}

/// What is shared with whom.
#[derive(Clone, Copy, Debug)]
pub struct Sharing<'a> {
    pub space: ShareAudience,
    /// All ids that the project has on this device.
    pub ids: &'a [ProjectId],
    /// What this machine and its user are called. A team does not learn it.
    pub names: &'a [String],
    pub cleaner: &'a Cleaner,
}

/// The project of a record that is on its way: the stream says which it is.
pub const HERE: &str = "here";

/// The most that one list may hold, and what of it counts.
pub const FACTS_MAX: usize = 50;
/// What is known about a record that arrives, from whoever verified it.
#[derive(Debug)]
pub struct Arrival<'a> {
    pub space: ShareAudience,
    pub device: DeviceId,
    /// A container sent it: it speaks about its one project, and decides nothing for the user.
    pub is_container: bool,
    /// The name of the teammate, as the list of members says it. Not needed for the user's own devices.
    pub author: &'a str,
    /// The project here that the stream belongs to.
    pub location: &'a Location<'a>,
    /// When it arrived. Nothing can have happened later: the clock of its device is wrong then.
    pub received: Timestamp,
    /// How far the clock of its device is behind.
    pub behind: Duration,
    pub cleaner: &'a Cleaner,
}

impl Arrival<'_> {
    /// When something happened, as far as the clock of its device can be believed.
    pub fn time(&self, at: Timestamp) -> Timestamp {
        at.plus(self.behind).min(self.received)
    }
}

/// Makes text ready for other devices: it names no place on this machine, and secrets are removed once more.
pub struct OutgoingText<'a> {
    pub root: &'a str,
    pub sharing: &'a Sharing<'a>,
}

impl OutgoingText<'_> {
    /// Something that somebody said or printed.
    pub fn text(&self, text: &str) -> Clean<'static> {
        let told = match self.sharing.space {
            ShareAudience::Me => relative(text, self.root, Outside::Kept).into_owned(),
            ShareAudience::Team => {
                let told = relative(text, self.root, Outside::Shortened);
                names::without(&told, self.sharing.names).into_owned()
            }
        };
        self.sharing.cleaner.clean(told, Keep::METADATA)
    }

    /// A name, a key or an id.
    pub fn name(&self, text: &str) -> Clean<'static> {
        self.sharing.cleaner.clean(relative(text, self.root, Outside::Kept).into_owned(), Keep::NAME)
    }

    pub fn texts(&self, texts: &[Clean]) -> Vec<Clean<'static>> {
        texts.iter().map(|text| self.text(text)).collect()
    }

    pub fn option(&self, text: &Option<Clean>) -> Option<Clean<'static>> {
        text.as_ref().map(|text| self.text(text))
    }

    /// The path of a file of the project; `None` for any other file.
    pub fn path(&self, path: &str) -> Option<Clean<'static>> {
        if self.root.is_empty() && path.starts_with('/') {
            return None;
        }
        let inside = below(self.root, path).filter(|path| !path.starts_with(['/', '~']) && !path.starts_with("../"))?;
        Some(self.name(&inside))
    }

    /// Whether a memory belongs to the project whose records are shared.
    pub fn is_here(&self, project: Option<&ProjectId>) -> bool {
        project.is_some_and(|project| project.as_str() == HERE || self.sharing.ids.contains(project))
    }
}
