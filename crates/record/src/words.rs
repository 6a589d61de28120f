//! Enums whose variants have a word each: in the view, in options, in what is printed. Lists of words.
//!
//! The words of enums are file formats and interfaces, so each is written out beside its variant.

/// Whether a word is in a list, in which blanks are between the words.
pub fn is_one_of(word: &str, list: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// Defines an enum with `ALL`, `word` and `from_word`.
#[macro_export]
macro_rules! words {
    (
        $(#[$of_enum:meta])*
        $visibility:vis enum $name:ident {
            $($(#[$of_variant:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$of_enum])*
        $visibility enum $name {
            $($(#[$of_variant])* $variant,)*
        }

        impl $name {
            $visibility const ALL: [$name; [$($word),*].len()] = [$($name::$variant),*];

            $visibility const fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }

            $visibility fn from_word(word: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|one| one.word() == word)
            }
        }
    };
}
