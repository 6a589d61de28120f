//! Who belongs to a space, in an exchange: the chain is compared with the hub's, others are let in, new keys are taken.

use std::collections::BTreeSet;

use cerberus_store::journal::forgotten;

use super::chain::{Chain, ChainChange, ChainState, ChainVerdict, ShownLink, id_of};
use super::crypto::{self, Key, Secrets, hex};
use super::document::{CHAIN, REQUEST, SPACE_PLACE, Secret};
use super::exchange::{Exchange, ExchangeReport};
use super::links::{self, Signer};
use super::local::{self, Device, Files, Pending, Space, Spaces};
use super::spaces::{self, JoinRequest};
use super::transport::{Document, Range, Transport, redacted};
use super::{Result, SyncError, keys};

impl Exchange<'_> {
    /// Finds out who belongs to the space, lets others in, and takes new keys. Nothing was sent before.
    pub(super) fn membership(
        &mut self,
        hub: &mut dyn Transport,
        spaces: &mut Spaces,
        number: u32,
        known: Option<Chain>,
        report: &mut ExchangeReport,
    ) -> Result<Chain> {
        let files = Files::new(self.home);
        let device = files.device()?;
        let at = spaces.spaces.iter().position(|space| space.number == number);
        let at = at.ok_or_else(|| SyncError::NoSpace("such space".to_string()))?;
        let before = spaces.spaces[at].clone();
        let documents = hub.heads(&before.place(SPACE_PLACE))?;
        let mut chain = match &known {
            None => first_of(&before, &device, links::first(&before, &documents)?)?,
            Some(known) => self.compared(hub, &mut spaces.spaces[at], known, &documents, report)?,
        };
        // Before the chain: keys that it does not know would be taken for wrong ones.
        if spaces.spaces[at] != before {
            files.save_spaces(spaces)?;
        }
        if known.as_ref() != Some(&chain) {
            files.save_chain(&before, &chain)?;
        }
        let space = &mut spaces.spaces[at];
        self.replace_former(hub, space, &mut chain, &device)?;
        let own = device.id.to_string();
        let is_in = match &space.granted {
            Some(granted) => chain.state.grants.contains_key(&keys::grant_id(granted)?),
            None => chain.state.members.contains_key(&own),
        };
        if !is_in {
            return Err(SyncError::Removed(space.label()));
        }
        if !space.is_container() {
            self.learn(space, &chain.state, &device)?;
        }
        let is_welcomed = space.asked_with.take().is_some();
        if before != *space {
            files.save_spaces(spaces)?;
        }
        if !spaces.spaces[at].is_container() {
            let count = chain.links.len();
            self.tend(hub, spaces, at, &mut chain, &device, &documents, report)?;
            let published = documents.iter().find(|document| document.name == CHAIN).map(|document| &document.bytes);
            // Whoever adds a link writes the document, too.
            if chain.links.len() == count && published != Some(&links::document(&chain)?) {
                links::publish(hub, &spaces.spaces[at], &chain)?;
            }
        }
        if is_welcomed {
            hub.replace(&before.place(SPACE_PLACE), &format!("{REQUEST}{own}"), b"", None)?;
        }
        Ok(chain)
    }

    /// The chain that counts from now on: the one that is known, with what the hub has more.
    fn compared(
        &self,
        hub: &mut dyn Transport,
        space: &mut Space,
        known: &Chain,
        documents: &[Document],
        report: &mut ExchangeReport,
    ) -> Result<Chain> {
        let shown = links::links(documents)?;
        let count = shown.len();
        let verdict = links::believing(space, |is_signed| known.judged(shown, is_signed));
        let Range { stream, generation, sequence, limit } = links::newer(space, known);
        let is_older = match verdict {
            ChainVerdict::Longer(chain) => return Ok(chain),
            ChainVerdict::Forked(number) => return Err(links::forked(space, number)),
            ChainVerdict::Recovered(chain) => {
                space.removals_due.extend(known.removals_missing_in(&chain.state));
                space.keys.clear();
                self.send_again(space)?;
                report.problems.push("who belongs to this space was decided with the recovery code".to_string());
                return Ok(chain);
            }
            ChainVerdict::Older => true,
            ChainVerdict::Same => false,
        };
        let chain = links::with_newer(space, known, &hub.after(&stream, generation, sequence, limit)?);
        if count > chain.links.len() {
            report.problems.push("somebody wrote a link that is not valid; it was ignored".to_string());
        }
        // The document alone may be old because two devices wrote it at once.
        if is_older && !links::has_newest(hub, space, &chain)? {
            let older = "the hub shows an older state of who belongs to this space than before (rollback)";
            report.problems.push(older.to_string());
            if !space.is_container() {
                links::put_back(hub, space, &chain)?;
            }
        }
        Ok(chain)
    }

    /// Keys that were used count no more, so everything is sealed and sent once more.
    fn send_again(&self, space: &Space) -> Result<()> {
        let files = Files::new(self.home);
        let mut state = files.state(space)?;
        state.streams.values_mut().for_each(|stream| stream.is_to_rewrite = true);
        files.save_state(space, &state)
    }

    /// After this home became another device: its former keys let the new one in.
    fn replace_former(
        &self,
        hub: &mut dyn Transport,
        space: &mut Space,
        chain: &mut Chain,
        device: &Device,
    ) -> Result<()> {
        let Some(former) = space.former.take() else { return Ok(()) };
        let former = Device::of(Secrets { sign: former.sign, agree: former.agree })?;
        let id = former.id.to_string();
        if space.is_container() || !chain.state.members.contains_key(&id) {
            return Ok(());
        }
        links::take_keys(space, &chain.state, &former)?;
        let space = &*space;
        let signer = Signer { id: &id, secrets: &former.secrets };
        links::append(hub, &Files::new(self.home), space, chain, &signer, |state| {
            let own = keys::public(&device.secrets)?;
            let is_in = state.members.contains_key(&device.id.to_string());
            if is_in { Ok(None) } else { spaces::add(space, own, &space.name, &[], String::new()).map(Some) }
        })?;
        Ok(())
    }

    /// Takes from the chain what this device needs to know.
    fn learn(&self, space: &mut Space, state: &ChainState, device: &Device) -> Result<()> {
        let checks: Vec<&Key> = state.epochs.iter().map(|epoch| &epoch.check).collect();
        let is_right = space.keys.iter().all(|key| checks.contains(&&key.check(&space.id)));
        if !is_right {
            return Err(links::wrong_key(space));
        }
        links::take_keys(space, state, device)?;
        let Secret { team, names } = keys::opened_secret(space, state).ok_or_else(|| links::wrong_key(space))?;
        space.team = team;
        if space.team.is_none() {
            forgotten::adopt(self.home, names)?;
            forgotten::learn(self.home, &keys::opened_names(space, state))?;
        }
        Ok(())
    }

    /// What a member does for the space: it lets in whoever has a code, and begins a new key if one is due.
    #[expect(clippy::too_many_arguments, reason = "one call; each is used by every part")]
    fn tend(
        &self,
        hub: &mut dyn Transport,
        spaces: &mut Spaces,
        at: usize,
        chain: &mut Chain,
        device: &Device,
        documents: &[Document],
        report: &mut ExchangeReport,
    ) -> Result<()> {
        let files = Files::new(self.home);
        let own = device.id.to_string();
        let signer = Signer { id: &own, secrets: &device.secrets };
        self.let_in(hub, spaces, at, chain, &signer, documents, report)?;
        let space = &mut spaces.spaces[at];
        let (due, before) = (space.removals_due.clone(), space.keys.clone());
        if due.iter().any(|id| chain.state.members.contains_key(id) || chain.state.grants.contains_key(id)) {
            links::remove(hub, &files, space, chain, &signer, &due)?;
        }
        if chain.state.is_rotation_due {
            let key = local::random()?;
            let at = &*space;
            links::append(hub, &files, at, chain, &signer, |state| {
                let keys = keys::all(&at.id, state, &own, &device.secrets).unwrap_or_default();
                let last = keys.last().ok_or_else(|| links::wrong_key(at))?;
                let epoch = || keys::next_epoch(&at.id, state, last, key, &BTreeSet::new());
                if state.is_rotation_due { Ok(Some(ChainChange::Rotate(epoch()?))) } else { Ok(None) }
            })?;
            links::take_keys(space, &chain.state, device)?;
        }
        if space.keys != before {
            files.save_spaces(spaces)?;
        }
        Ok(())
    }

    /// Lets in whoever asks with a code that this device printed. A code lets in one device.
    #[expect(clippy::too_many_arguments, reason = "one call; each is used by every part")]
    fn let_in(
        &self,
        hub: &mut dyn Transport,
        spaces: &mut Spaces,
        at: usize,
        chain: &mut Chain,
        signer: &Signer,
        documents: &[Document],
        report: &mut ExchangeReport,
    ) -> Result<()> {
        let files = Files::new(self.home);
        let codes = spaces.spaces[at].codes.len();
        spaces.spaces[at].codes.retain(|code| code.until > self.clock.wall);
        if spaces.spaces[at].codes.len() != codes {
            files.save_spaces(spaces)?;
        }
        for (asking, bytes) in documents.iter().filter_map(|one| Some((one.name.strip_prefix(REQUEST)?, &one.bytes))) {
            let space = &mut spaces.spaces[at];
            let found = space.codes.iter().position(|code| request(&space.id, code, asking, bytes).is_some());
            let Some(code) = found.filter(|_| !chain.state.is_known(asking)).map(|at| space.codes.remove(at)) else {
                continue;
            };
            let Some((secret, request)) = request(&space.id, &code, asking, bytes) else { continue };
            // Whatever happens, a code is used once.
            files.save_spaces(spaces)?;
            let space = &mut spaces.spaces[at];
            let device = files.device()?;
            links::take_keys(space, &chain.state, &device)?;
            let names: &[String] = if space.team.is_none() { &request.names } else { &[] };
            let space = &*space;
            links::append(hub, &files, space, chain, signer, |state| {
                let keys = keys::all(&space.id, state, signer.id, signer.secrets).unwrap_or_default();
                let welcome = keys::welcome(&space.id, &secret, &state.head, &request.keys);
                let with = Space { keys, ..space.clone() };
                spaces::add(&with, request.keys.clone(), &request.name, names, welcome).map(Some)
            })?;
            report.let_in.push(keys::shown_name(&request.name));
        }
        Ok(())
    }
}

/// Reads a request that was made with this code, and the code's secret.
fn request(space: &str, code: &Pending, asking: &str, bytes: &[u8]) -> Option<(Vec<u8>, JoinRequest)> {
    let secret = hex::bytes(&code.secret)?;
    let key = crypto::derive(&secret, b"", &[b"pair"]);
    let opened = crypto::open_with(&key, &[b"request", space.as_bytes(), asking.as_bytes()], bytes)?;
    let request: JoinRequest = serde_json::from_slice(&opened).ok()?;
    (id_of(&request.keys.sign) == asking).then_some((secret, request))
}

/// The first chain that this home sees, if it is the one that its code or its key means.
fn first_of(space: &Space, device: &Device, chain: Chain) -> Result<Chain> {
    if let Some(granted) = &space.granted {
        let at = usize::try_from(granted.number).ok().and_then(|number| number.checked_sub(1));
        if at.and_then(|at| chain.links.get(at)).is_some_and(|shown| shown.hash == granted.head) {
            return Ok(chain);
        }
        let reason = "it is not the one that the key of this container names".to_string();
        return Err(SyncError::NotBelieved { hub: redacted(&space.hub), reason });
    }
    let secret = space.asked_with.as_deref().and_then(hex::bytes).ok_or(SyncError::Waiting)?;
    let own = keys::public(&device.secrets)?;
    let is_welcome = |shown: &ShownLink| match &shown.link.change {
        ChainChange::Add { device, welcome, .. } => {
            device.keys == own && *welcome == keys::welcome(&space.id, &secret, &shown.link.previous, &own)
        }
        _ => false,
    };
    if chain.links.iter().any(is_welcome) { Ok(chain) } else { Err(SyncError::Waiting) }
}
