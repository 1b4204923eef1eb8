//! The pivot identity in normalised form, which is equal when two sources spell one user
//! differently.
//!
//! `sub` is derived from these exact bytes, so nothing here may change once a hub has users:
//! [`fold`] uses Unicode's decompositions and case folding, which are stable for every assigned
//! character, and a table that never changes. A rule that must change gets a new number beside
//! [`DERIVATION`]. `docs/subject.md` specifies the folding for other languages.

use icu_casemap::{CaseMapper, CaseMapperBorrowed};
use icu_properties::props::DefaultIgnorableCodePoint;
use icu_properties::{CodePointSetData, CodePointSetDataBorrowed};
use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_script::{Script, UnicodeScript as _};

use super::Identity;

/// Number of the rules by which names are folded, for the configuration and the documentation.
pub const DERIVATION: u32 = 2;

const CASE_MAPPER: CaseMapperBorrowed<'static> = CaseMapper::new();
const IGNORABLE: CodePointSetDataBorrowed<'static> =
    CodePointSetData::new::<DefaultIgnorableCodePoint>();

/// Letters of European registers that Unicode does not decompose, as registers in capitals write
/// them (docs/design/adr/0034-own-table-of-plain-letters.md).
const PLAIN_LETTERS: [(char, &str); 12] = [
    ('æ', "ae"),
    ('œ', "oe"),
    ('ø', "o"),
    ('ł', "l"),
    ('đ', "d"),
    ('ð', "d"),
    ('þ', "th"),
    ('ħ', "h"),
    ('ŧ', "t"),
    ('ŋ', "n"),
    ('ǥ', "g"),
    ('ı', "i"),
];

/// The six pivot fields, folded. Equal for two spellings of one user; never displayed.
#[derive(Clone, PartialEq, Eq, Hash, derive_more::Debug)]
#[debug("Pivot(***)")]
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
    pub fn from_identity(identity: &Identity, home_country: &str) -> Option<Self> {
        let given_names = fold(&identity.given_names.join(" "));
        let family_name = identity.family_name.as_deref().map(fold).unwrap_or_default();
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
    pub fn is_same_person(&self, other: &Self) -> bool {
        let same_name = |one: &str, other: &str| {
            one.chars().filter(|c| *c != ' ').eq(other.chars().filter(|c| *c != ' '))
        };
        same_name(&self.given_names, &other.given_names)
            && same_name(&self.family_name, &other.family_name)
            && self.fields()[2..] == other.fields()[2..]
    }

    /// Returns the fields as bytes, in the order in which `sub` uses them.
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

/// Folds a name: NFKD, case folding, without invisible characters and the marks of Latin and Greek
/// letters, each run of characters other than letters and digits (of any script) to one space,
/// trimmed.
pub fn fold(name: &str) -> String {
    if name.is_ascii() {
        let words =
            name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        return words.collect::<Vec<_>>().join(" ").to_ascii_lowercase();
    }
    fold_any_script(name)
}

#[expect(clippy::disallowed_methods, reason = "names are text that people write, in any script")]
fn fold_any_script(name: &str) -> String {
    // Case folding makes a letter of the mark U+0345, which registers omit like other marks.
    let is_visible = |c: &char| *c != '\u{345}' && !IGNORABLE.contains(*c);
    let visible: String = name.nfkd().filter(is_visible).collect();
    let cased = CASE_MAPPER.fold_string(&visible);
    let mut letters = cased.nfkd().map(plain_apostrophe).peekable();
    let mut folded = String::with_capacity(name.len());
    let (mut gap, mut base) = (false, None);
    while let Some(c) = letters.next() {
        if is_combining_mark(c) {
            if !is_mark_retained(c, base) {
                continue;
            }
        } else if c == MIDDLE_DOT && base == Some('l') && letters.peek() == Some(&'l') {
            continue;
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
        match PLAIN_LETTERS.iter().find(|(letter, _)| *letter == c) {
            Some((_, plain)) => folded.push_str(plain),
            None => folded.push(c),
        }
    }
    folded
}

/// Returns true if a combining mark on `base` is significant. Sources omit marks on Latin and Greek
/// letters, and the two dots of `ё` and stress marks in Cyrillic. On other letters a mark is a part
/// of the name: a vowel sign, a virama, a tone, or what makes `й` another letter than `и`.
///
/// NFKD turns a standalone accent, such as U+0384 or U+00B4, into an accent on a space, which is
/// not a part of a name. Voicing marks are significant even there, because U+309B replaces them
/// after a letter.
#[expect(clippy::disallowed_methods, reason = "names are text that people write, in any script")]
fn is_mark_retained(mark: char, base: Option<char>) -> bool {
    let Some(base) = base.filter(|base| base.is_alphanumeric()) else {
        return matches!(mark, '\u{3099}' | '\u{309a}');
    };
    match base.script() {
        Script::Latin | Script::Greek => false,
        Script::Cyrillic => match mark {
            DIAERESIS => base != 'е',
            ACUTE => matches!(base, 'г' | 'к'),
            GRAVE => false,
            _ => true,
        },
        _ => true,
    }
}

const MIDDLE_DOT: char = '\u{b7}';
const DIAERESIS: char = '\u{308}';
const ACUTE: char = '\u{301}';
const GRAVE: char = '\u{300}';

/// Replaces the letters (category Lm) that keyboards and transliterations offer instead of the
/// apostrophe.
const fn plain_apostrophe(c: char) -> char {
    match c {
        '\u{2b9}'..='\u{2bf}' | '\u{2c8}' | '\u{2ca}' | '\u{2cb}' => '\'',
        _ => c,
    }
}

#[cfg(test)]
mod tests;
