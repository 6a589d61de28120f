//! The words of sentences that announce a password, besides the cues and links of `places.txt`.

/// Links some words after a cue, and what follows the cue then, if it says whose secret it is.
pub(super) const FAR_LINKS: [&[u8]; 18] = [
    b" je ",
    b" adalah ",
    " → ".as_bytes(),
    b" -> ",
    b" => ",
    b" is ",
    b" ist ",
    b" lautet ",
    b" est ",
    b" es ",
    b" to ",
    b" jest ",
    b" = ",
    b": ",
    " — ".as_bytes(),
    " é ".as_bytes(),
    " è ".as_bytes(),
    " är ".as_bytes(),
];

pub(super) const OWNERS: [&str; 39] = [
    " k ", " till ", " til ", " ke ", " untuk ", " admin ", " root ", " wifi ", " db ", " for ", " of ", " on ",
    " you ", " we ", " to ", " at ", " in ", " (", " für ", " der ", " des ", " vom ", " zum ", " zur ", " von ",
    " de ", " du ", " del ", " pour ", " para ", " do ", " da ", " di ", " voor ", " van ", " от ", " для ", " к ",
    " dla ",
];

pub(super) const GIVEN: [&[u8]; 10] = [b"with", b"and", b"using", b"mit", b"und", b"con", b"avec", b"com", b"y", b"et"];

/// Verbs before a cue that the secret itself follows, and what it is for then: `use the password x for the server`.
pub(super) const TOLD: [&[u8]; 29] = [
    b"uses",
    b"pon",
    b"introduce",
    b"mets",
    b"gib",
    b"use",
    b"try",
    b"enter",
    b"type",
    b"take",
    b"using",
    b"set",
    b"with",
    b"answer",
    b"benutze",
    b"nutze",
    b"nimm",
    b"verwende",
    b"setze",
    b"usa",
    b"utilise",
    b"tape",
    b"gebruik",
    b"usar",
    b"prova",
    b"escribe",
    b"ponle",
    b"coloca",
    b"mettez",
];

pub(super) const PURPOSES: [&[u8]; 17] = [
    b" for ",
    b" to ",
    b" on ",
    b" in ",
    b" at ",
    b" when ",
    b" as ",
    b" f\xc3\xbcr ",
    b" zum ",
    b" um ",
    b" para ",
    b" pour ",
    b" per ",
    b" voor ",
    b" en ",
    b" sur ",
    b" auf ",
];

/// Words between a link and a cue.
pub(super) const ARTICLES: [&[u8]; 33] = [
    b"the",
    b"a",
    b"dem",
    b"le",
    b"la",
    b"el",
    b"o",
    b"my",
    b"his",
    b"her",
    b"mi",
    b"mon",
    b"ma",
    b"il",
    b"meinem",
    b"als",
    b"as",
    b"como",
    b"comme",
    b"root-",
    b"admin-",
    b"temporary",
    b"new",
    b"old",
    b"current",
    b"default",
    b"initial",
    b"root",
    b"admin",
    b"db",
    b"following",
    b"this",
    b"neuen",
];

pub(super) const ENGLISH: [&[u8]; 7] =
    [b"password", b"passwd", b"passphrase", b"passcode", b"pwd", b"pw", b"pass phrase"];

pub(super) const FILLERS: [&[u8]; 8] =
    [b"einfach ", b"mal ", b"bitte ", b"simply ", b"just ", b"simplement ", b"simplemente ", b"gewoon "];

pub(super) const NETWORKS: [&[u8]; 6] = [b"ssid", b"wifi", b"wlan", b"hotspot", b"wpa", b"wpa2"];

/// What may follow a secret in its sentence.
pub(super) const SENTENCE_GOES_ON: [&[u8]; 10] = [
    b"and ",
    b"yesterday",
    b"today",
    b"tonight",
    b"since ",
    b"until ",
    b"earlier",
    "geändert".as_bytes(),
    b"gesetzt",
    "zurückgesetzt".as_bytes(),
];

pub(super) const QUOTATION_MARKS: [&str; 8] = ["„", "“", "”", "«", "»", "「", "『", "‘"];
