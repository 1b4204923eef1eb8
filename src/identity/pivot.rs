//! The pivot identity in normalised form, which is equal when two sources spell one user
//! differently.
//!
//! `sub` is derived from these exact bytes, so nothing here may change once a hub has users:
//! [`fold`] follows Unicode, whose decompositions are stable for every assigned character. A rule
//! that must change gets a new [`Derivation`].

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_script::{Script, UnicodeScript as _};

use super::Identity;

/// How the names of a pivot identity are folded. `docs/subject.md` specifies each for other
/// languages.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Derivation {
    /// Removes every combining mark. Names that differ only in marks get one `sub`, for example करन
    /// and किरन.
    V1,
    /// Removes combining marks from Latin, Greek and Cyrillic letters and from what is neither
    /// letter nor digit, and folds U+02BC as U+2019.
    V2,
}

impl Derivation {
    /// The derivation of new installations.
    pub const LATEST: Self = Self::V2;
    /// All derivations.
    pub const ALL: [Self; 2] = [Self::V1, Self::V2];

    /// Returns the number that the configuration and the documentation use.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }

    /// Returns the derivation that a key was created for: `passerelle keys new` writes it in front
    /// of the key.
    #[must_use]
    pub fn from_key(key: &str) -> Self {
        if key.starts_with(Self::KEY_PREFIX) { Self::V2 } else { Self::V1 }
    }

    /// Prefix of a key of [`Self::LATEST`]; part of the key.
    pub const KEY_PREFIX: &str = "derivation-2.";

    /// Returns the derivation with this number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|derivation| derivation.number() == number)
    }
}

/// The six pivot fields, folded. Equal for two spellings of one user; never displayed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Pivot {
    given_names: String,
    family_name: String,
    birthdate: String,
    gender: String,
    birthplace: String,
    birthcountry: String,
}

impl Pivot {
    /// Folds an identity; `None` if a required field is missing, because all identities without it
    /// would be equal.
    #[must_use]
    pub fn from_identity(
        identity: &Identity,
        home_country: &str,
        derivation: Derivation,
    ) -> Option<Self> {
        let given_names = fold(&identity.given_names.join(" "), derivation);
        let family_name =
            identity.family_name.as_deref().map(|name| fold(name, derivation)).unwrap_or_default();
        if given_names.is_empty() && family_name.is_empty() {
            return None;
        }
        let birthcountry = identity.birthcountry.clone()?;
        let birthplace =
            if birthcountry == home_country { identity.birthplace.clone()? } else { String::new() };
        Some(Self {
            given_names,
            family_name,
            birthdate: identity.birthdate.clone()?,
            gender: identity.gender.clone()?,
            birthplace,
            birthcountry,
        })
    }

    /// Returns whether both are the same person, whose names may also differ in a hyphen, an
    /// apostrophe or a space that one of them lacks.
    #[must_use]
    pub fn is_same_person(&self, other: &Self) -> bool {
        let same_name = |one: &str, other: &str| {
            one.chars().filter(|c| *c != ' ').eq(other.chars().filter(|c| *c != ' '))
        };
        same_name(&self.given_names, &other.given_names)
            && same_name(&self.family_name, &other.family_name)
            && self.fields()[2..] == other.fields()[2..]
    }

    /// Returns the fields as bytes, in the order in which `sub` uses them.
    #[must_use]
    pub fn fields(&self) -> [&[u8]; 6] {
        [
            &self.given_names,
            &self.family_name,
            &self.birthdate,
            &self.gender,
            &self.birthplace,
            &self.birthcountry,
        ]
        .map(String::as_bytes)
    }
}

impl std::fmt::Debug for Pivot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pivot(***)")
    }
}

/// Folds a name: NFKD, upper case, each run of characters other than letters and digits (of any
/// script) to one space, trimmed. `derivation` decides on which letters combining marks are
/// removed.
///
/// NFKD does not decompose `œ`.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "names are text that people write, in any script")]
pub fn fold(name: &str, derivation: Derivation) -> String {
    let mut folded = String::with_capacity(name.len());
    let (mut gap, mut base) = (false, None);
    for c in name.nfkd().map(|c| plain_apostrophe(c, derivation)) {
        if is_combining_mark(c) {
            if !is_mark_retained(c, base, derivation) {
                continue;
            }
        } else {
            base = Some(c);
            if !c.is_alphanumeric() {
                gap = true;
                continue;
            }
        }
        if std::mem::take(&mut gap) && !folded.is_empty() {
            folded.push(' ');
        }
        // In upper case U+0345 would become a letter, which the next mark could modify.
        if is_combining_mark(c) { folded.push(c) } else { folded.extend(c.to_uppercase()) }
    }
    folded
}

/// Returns true if a combining mark on `base` is significant. Sources omit marks on the letters of
/// three scripts; on other letters a mark is a part of the name: a vowel sign, a virama, a tone.
///
/// NFKD turns a standalone accent, such as U+0384 or U+00B4, into an accent on a space, which is
/// not a part of a name. Voicing marks are significant even there, because U+309B replaces them
/// after a letter.
#[expect(clippy::disallowed_methods, reason = "names are text that people write, in any script")]
fn is_mark_retained(mark: char, base: Option<char>, derivation: Derivation) -> bool {
    let is_voicing = matches!(mark, '\u{3099}' | '\u{309a}');
    match derivation {
        Derivation::V1 => false,
        Derivation::V2 => match base {
            Some(base) if base.is_alphanumeric() => {
                !matches!(base.script(), Script::Latin | Script::Greek | Script::Cyrillic)
            }
            Some(_) | None => is_voicing,
        },
    }
}

/// Replaces U+02BC, a letter that keyboards offer instead of the apostrophe.
const fn plain_apostrophe(c: char, derivation: Derivation) -> char {
    match (derivation, c) {
        (Derivation::V2, '\u{2bc}') => '\'',
        _ => c,
    }
}

#[cfg(test)]
mod tests;
