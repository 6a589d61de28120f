//! What a name announces: what kind of secret, where its value is, and how much it must look like one.

/// What a key name announces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Announced {
    pub(super) name: &'static str,
    pub(super) bar: RequiredLook,
    pub(super) place: ValuePlace,
}

impl Announced {
    /// Does the name alone tell, whatever the value looks like?
    pub(super) fn is_sure(self) -> bool {
        matches!(self.bar, RequiredLook::Password | RequiredLook::Token)
    }
}

/// Where the value is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ValuePlace {
    Anywhere,
    /// `Authorization`: a scheme may precede the value.
    AfterScheme,
    /// A session is a secret in a cookie; elsewhere it is an id that must stay readable.
    Cookie,
}

/// How strongly a value must look like a secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RequiredLook {
    Password,
    Token,
    Strong,
    /// Four to twelve digits.
    Pin,
}
