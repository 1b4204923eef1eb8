//! The pivot identity in normalised form: what stays equal when two sources write one person differently.
//!
//! Owns: which differences of spelling don't count (decisions 7, `sub`). Must not know: keys, sectors, registers.
//! `sub` is derived from these exact bytes, so nothing here may ever change once a hub has users: [`fold`] follows
//! Unicode, whose decompositions are stable for every assigned character.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

use super::Identity;

/// The six fields, folded. Equal for two spellings of one person; never shown to anybody.
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
    /// `None` when a required field is missing: an identity without one would be equal to everybody else's without it.
    #[must_use]
    pub fn of(identity: &Identity, home_country: &str) -> Option<Self> {
        let given_names = fold(&identity.given_names.join(" "));
        let family_name = identity.family_name.as_deref().map(fold).unwrap_or_default();
        if given_names.is_empty() && family_name.is_empty() {
            return None;
        }
        let birthcountry = identity.birthcountry.clone()?;
        let birthplace = if birthcountry == home_country { identity.birthplace.clone()? } else { String::new() };
        Some(Self {
            given_names,
            family_name,
            birthdate: identity.birthdate.clone()?,
            gender: identity.gender.clone()?,
            birthplace,
            birthcountry,
        })
    }

    /// The fields as bytes, in the order in which `sub` takes them.
    #[must_use]
    pub fn fields(&self) -> [&[u8]; 6] {
        [&self.given_names, &self.family_name, &self.birthdate, &self.gender, &self.birthplace, &self.birthcountry]
            .map(|field| field.as_bytes())
    }
}

impl std::fmt::Debug for Pivot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pivot(***)")
    }
}

/// NFKD, marks removed, upper case, each run of anything but letters and digits (of any script) one space, trimmed.
///
/// `œ` stays a letter of its own: NFKD doesn't take it apart.
#[must_use]
pub fn fold(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    let mut gap = false;
    for c in name.nfkd().filter(|c| !is_combining_mark(*c)).flat_map(char::to_uppercase) {
        if !c.is_alphanumeric() {
            gap = true;
            continue;
        }
        if std::mem::take(&mut gap) && !folded.is_empty() {
            folded.push(' ');
        }
        folded.push(c);
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::samples::angela;

    #[test]
    fn fold_by_table() {
        for (written, folded) in [
            ("Angela", "ANGELA"),
            ("  Jean-Étienne ", "JEAN ETIENNE"),
            ("E\u{301}lise", "ELISE"),
            ("D’Artagnan", "D ARTAGNAN"),
            ("D' - Artagnan", "D ARTAGNAN"),
            ("D\u{2bc}Artagnan", "D\u{2bc}ARTAGNAN"), // a letter (Lm), as docs/subject.md says
            ("\u{149}", "\u{2bc}N"),
            ("Louis \u{2163}", "LOUIS IV"),
            ("İzmir", "IZMIR"),
            ("\u{bb5}\u{bbf}\u{b9c}\u{baf}\u{bcd}", "\u{bb5}\u{b9c}\u{baf}"), // vowel signs are marks too
            ("GARCÍA\u{a0}\u{a0}MÁRQUEZ", "GARCIA MARQUEZ"),
            ("straße", "STRASSE"),
            ("ﬁancé", "FIANCE"),
            ("Ｌｅｅ", "LEE"),
            ("Œuvre", "ŒUVRE"),
            ("Łukasz", "ŁUKASZ"),
            ("Иван", "ИВАН"),
            ("Louis 2", "LOUIS 2"),
            ("-'.", ""),
        ] {
            assert_eq!(fold(written), folded, "{written:?}");
            assert_eq!(fold(folded), folded, "folding twice changes nothing");
        }
    }

    #[test]
    fn a_missing_field_makes_no_pivot_rather_than_an_empty_one() {
        let whole = angela();
        assert!(Pivot::of(&whole, "99100").is_some());
        let missing: [fn(&mut Identity); 5] = [
            |i| i.birthdate = None,
            |i| i.gender = None,
            |i| i.birthcountry = None,
            |i| i.birthplace = None,
            |i| (i.given_names, i.family_name) = (Vec::new(), None),
        ];
        for (case, remove) in missing.into_iter().enumerate() {
            let mut identity = whole.clone();
            remove(&mut identity);
            assert!(Pivot::of(&identity, "99100").is_none(), "case {case}");
        }
    }

    #[test]
    fn birthplace_counts_at_home_only() {
        let elsewhere = Identity { birthplace: Some("33063".into()), ..angela() };
        assert_ne!(Pivot::of(&elsewhere, "99100"), Pivot::of(&angela(), "99100"));
        assert_eq!(Pivot::of(&elsewhere, "99134"), Pivot::of(&angela(), "99134"));
        assert_eq!(Pivot::of(&Identity { birthplace: None, ..angela() }, "99134"), Pivot::of(&angela(), "99134"));
    }
}
