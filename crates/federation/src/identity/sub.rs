//! Derives the pairwise subject identifier: stable for a user, different in each sector, and
//! meaningless to others (`docs/integrate/scopes-and-claims.md`).
//!
//! ```text
//! sub     = base64url(HMAC-SHA-256(key, message)) "v" key-version      46 characters with version 1 to 9: 43, v, digit
//! message = field(sector) field(given names) field(family_name) field(birthdate) field(gender)
//!           field(birthplace) field(birthcountry)
//! field(x) = length of x in bytes as u32, big-endian, then x as UTF-8
//! ```
//! Given names are joined by one space; both names are folded ([`super::pivot::fold`]); birthplace
//! is empty unless the user was born in the home country.
//! Without a pivot identity (`subject = "provider"`) the message is `field(sector) field(connector
//! id) field(upstream sub)`. No message of three fields equals one of seven, because lengths
//! precede the fields. `docs/subject.md` specifies this independently of the language; the
//! tests of this file read the test vectors.

use std::collections::BTreeMap;

use super::Identity;
use super::pivot::Pivot;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::ids::{ConnectorId, Secret, Subject};

/// Subject keys of one platform by version, and the home country. Changing a key or the home
/// country gives every user a new `sub`.
#[derive(Clone, Debug)]
pub struct SubjectKeys {
    keys: BTreeMap<KeyVersion, SubjectKey>,
    home_country: String,
}

/// The HMAC key of one version.
pub type SubjectKey = Secret<Vec<u8>>;

/// Version of the key that derives a `sub`; appended to the `sub`. The first is 1.
pub type KeyVersion = u32;

/// Why a subject key is unusable.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubjectKeyError {
    #[error(
        "the subject key has {length} bytes and needs at least 32: write 32 random bytes to its file, and never change them"
    )]
    TooShort { length: usize },
}

/// Why a `sub` can't be derived. Contains no value.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum SubjectError {
    #[error("the pivot identity is incomplete")]
    PivotIncomplete,
    #[error("the identity provider's subject is empty")]
    UpstreamSubjectEmpty,
    #[error("there is no subject key with version {0}")]
    NoSuchKey(KeyVersion),
}

impl SubjectError {
    /// Returns the error code of the login.
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::PivotIncomplete => ErrorCode::IdentityIncomplete,
            Self::UpstreamSubjectEmpty => ErrorCode::IdTokenSubject,
            Self::NoSuchKey(_) => ErrorCode::Internal,
        }
    }
}

impl SubjectKeys {
    /// Creates the keys.
    ///
    /// # Errors
    /// `TooShort` for a key of fewer than 32 bytes: identity data can be enumerated, so only the
    /// key protects a `sub` from being reversed.
    pub fn new(
        keys: impl IntoIterator<Item = (KeyVersion, SubjectKey)>,
        home_country: impl Into<String>,
    ) -> Result<Self, SubjectKeyError> {
        let keys: BTreeMap<_, _> = keys.into_iter().collect();
        match keys.values().map(|key| key.reveal().len()).min() {
            Some(length @ 0..32) => Err(SubjectKeyError::TooShort { length }),
            Some(_) | None => Ok(Self { keys, home_country: home_country.into() }),
        }
    }

    /// Returns the oldest version, which derives what must not change with a new key.
    pub fn oldest_version(&self) -> KeyVersion {
        self.keys.keys().next().copied().unwrap_or_default()
    }

    /// Derives the `sub` of a user in a sector from the delivered identity.
    ///
    /// # Errors
    /// `PivotIncomplete`: users who lack the same field would share one `sub`. `NoSuchKey`.
    pub fn derive(
        &self,
        version: KeyVersion,
        sector: &str,
        identity: &Identity,
    ) -> Result<Subject, SubjectError> {
        let key = self.key(version)?;
        let pivot = Pivot::from_identity(identity, &self.home_country)
            .ok_or(SubjectError::PivotIncomplete)?;
        let [given_names, family_name, birthdate, gender, birthplace, birthcountry] =
            pivot.fields();
        Ok(derive_subject(
            key,
            version,
            &[
                sector.as_bytes(),
                given_names,
                family_name,
                birthdate,
                gender,
                birthplace,
                birthcountry,
            ],
        ))
    }

    /// Derives the `sub` of an account at an identity provider without a pivot identity (`subject =
    /// "provider"`).
    ///
    /// # Errors
    /// `UpstreamSubjectEmpty`, `NoSuchKey`.
    pub fn derive_from_provider(
        &self,
        version: KeyVersion,
        sector: &str,
        connector: &ConnectorId,
        upstream_sub: &str,
    ) -> Result<Subject, SubjectError> {
        if upstream_sub.is_empty() {
            return Err(SubjectError::UpstreamSubjectEmpty);
        }
        Ok(derive_subject(
            self.key(version)?,
            version,
            &[sector.as_bytes(), connector.as_str().as_bytes(), upstream_sub.as_bytes()],
        ))
    }

    /// Returns true if both identities have a complete pivot identity and it is the same one.
    pub fn is_same_person(&self, one: &Identity, other: &Identity) -> bool {
        let pivot = |identity| Pivot::from_identity(identity, &self.home_country);
        pivot(one).is_some_and(|one| pivot(other).is_some_and(|other| one == other))
    }

    fn key(&self, version: KeyVersion) -> Result<&SubjectKey, SubjectError> {
        self.keys.get(&version).ok_or(SubjectError::NoSuchKey(version))
    }
}

fn derive_subject(key: &SubjectKey, version: KeyVersion, fields: &[&[u8]]) -> Subject {
    let tag = digest::hmac_parts(key.reveal(), fields);
    Subject::new(format!("{}v{version}", digest::base64url(&tag)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples::angela;
    use proptest::prelude::*;

    fn key(bytes: impl IntoIterator<Item = u8>) -> SubjectKey {
        Secret::new(bytes.into_iter().collect())
    }

    /// The two key versions of the test vectors.
    fn keys() -> SubjectKeys {
        let versions = [(1, key(0..32)), (2, key(32..64))];
        SubjectKeys::new(versions, "99100").unwrap()
    }

    fn derive(sector: &str, identity: &Identity) -> Result<Subject, SubjectError> {
        keys().derive(1, sector, identity)
    }

    /// Returns the version at the end of a published `sub`.
    fn version_suffix(sub: &str) -> KeyVersion {
        sub.rsplit_once('v').unwrap().1.parse().unwrap()
    }

    fn optional(cell: &str) -> Option<String> {
        (!cell.is_empty()).then(|| cell.to_owned())
    }

    /// Rows of the tables of `tests/fixtures/subject-vectors.md`: eight cells for the pivot, four
    /// for the provider.
    fn vectors(cells: usize) -> Vec<Vec<String>> {
        let rows = include_str!("../../../../tests/fixtures/subject-vectors.md")
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.strip_suffix("` |"));
        rows.map(|row| {
            row.split("` | `").map(|cell| cell.trim_matches('·').to_owned()).collect::<Vec<_>>()
        })
        .filter(|row| row.len() == cells)
        .collect()
    }

    // R037, R053
    #[test]
    fn the_published_vectors_hold() {
        let vectors = vectors(8);
        assert!(vectors.len() >= 30);
        for row in &vectors {
            let [
                sector,
                given_names,
                family_name,
                birthdate,
                gender,
                birthplace,
                birthcountry,
                sub,
            ] = &row[..]
            else {
                panic!()
            };
            let identity = Identity {
                given_names: given_names
                    .split(' ')
                    .filter(|name| !name.is_empty())
                    .map(String::from)
                    .collect(),
                family_name: optional(family_name),
                birthdate: optional(birthdate),
                gender: optional(gender),
                birthplace: optional(birthplace),
                birthcountry: optional(birthcountry),
                email: None,
                preferred_username: None,
                standard: BTreeMap::new(),
                declared: BTreeMap::new(),
            };
            assert_eq!(
                keys().derive(version_suffix(sub), sector, &identity).unwrap().as_str(),
                sub,
                "{given_names}"
            );
        }
    }

    #[test]
    fn the_published_provider_vectors_hold() {
        let vectors = vectors(4);
        assert!(vectors.len() >= 2);
        for row in &vectors {
            let derived = keys()
                .derive_from_provider(
                    version_suffix(&row[3]),
                    &row[0],
                    &ConnectorId::from(row[1].as_str()),
                    &row[2],
                )
                .unwrap();
            assert_eq!(derived.as_str(), row[3]);
        }
    }

    #[test]
    fn a_short_key_is_refused_with_its_length() {
        let short = (2, key([0; 31]));
        let error = SubjectKeys::new([(1, key([0; 32])), short], "99100").unwrap_err();
        assert_eq!(error, SubjectKeyError::TooShort { length: 31 });
        assert!(!format!("{:?}", keys()).contains("[0"), "the key is never printed");
    }

    #[test]
    fn persons_without_a_whole_pivot_share_no_sub_because_they_get_none() {
        let identity = Identity { birthdate: None, ..angela() };
        assert_eq!(derive("sp", &identity), Err(SubjectError::PivotIncomplete));
        assert_eq!(
            keys().derive_from_provider(1, "sp", &"idp".into(), ""),
            Err(SubjectError::UpstreamSubjectEmpty)
        );
    }

    #[test]
    fn every_pivot_field_and_the_key_count_and_nothing_else_does() {
        let sub = derive("sp", &angela()).unwrap();
        let changes: [fn(&mut Identity); 6] = [
            |i| i.given_names = vec!["Angela".into()],
            |i| i.family_name = Some("DUBOIX".into()),
            |i| i.birthdate = Some("1962-08-00".into()),
            |i| i.gender = Some("unspecified".into()),
            |i| i.birthplace = Some("75108".into()),
            |i| i.birthcountry = Some("99134".into()),
        ];
        for (case, change) in changes.into_iter().enumerate() {
            let mut other = angela();
            change(&mut other);
            assert_ne!(derive("sp", &other).unwrap(), sub, "case {case}");
        }
        let other_keys = SubjectKeys::new([(1, key([7; 32]))], "99100").unwrap();
        assert_ne!(other_keys.derive(1, "sp", &angela()).unwrap(), sub);
        // An e-mail address never links users.
        assert_eq!(derive("sp", &Identity { email: None, ..angela() }).unwrap(), sub);
    }

    #[test]
    fn a_new_key_version_does_not_change_the_subs_of_older_ones() {
        let old = SubjectKeys::new([(1, key(0..32))], "99100").unwrap();
        let before = old.derive(1, "sp", &angela()).unwrap();
        assert_eq!(keys().derive(1, "sp", &angela()).unwrap(), before);
        let newer = keys().derive(2, "sp", &angela()).unwrap();
        assert!(newer.as_str().ends_with("v2"));
        assert_ne!(
            newer.as_str().get(..43),
            before.as_str().get(..43),
            "another key, another value"
        );
        assert_eq!(keys().derive(4, "sp", &angela()), Err(SubjectError::NoSuchKey(4)));
    }

    fn named(given_name: &str) -> Identity {
        Identity { given_names: vec![given_name.to_owned()], ..angela() }
    }

    #[test]
    fn two_people_whose_names_differ_in_vowel_signs_get_two_subs() {
        for (one, other) in [("करन", "किरन"), ("たか", "だか"), ("กิน", "กัน")]
        {
            let sub = |name| keys().derive(1, "sp", &named(name)).unwrap();
            assert_ne!(sub(one), sub(other), "{one} and {other}");
            assert!(!keys().is_same_person(&named(one), &named(other)));
        }
    }

    #[test]
    fn one_person_with_another_apostrophe_keeps_the_sub() {
        let subs = ["D'Or", "D’Or", "D\u{2bc}Or"]
            .map(|name| keys().derive(1, "sp", &named(name)).unwrap());
        assert!(subs.iter().all(|sub| *sub == subs[0]), "{subs:?}");
    }

    const NAME: &str = "[A-Za-zÀ-ÖØ-öø-ÿ]{1,12}";

    proptest! {
        #[test]
        #[expect(clippy::disallowed_methods, reason = "names are text that people write, in any script")]
        fn two_identity_providers_give_one_person_one_sub(first in NAME, second in NAME, family in NAME, version in 1u32..=2) {
            use unicode_normalization::UnicodeNormalization as _;
            let one = Identity { given_names: vec![first.clone(), second.clone()], family_name: Some(family.clone()), ..angela() };
            let other = Identity {
                given_names: vec![format!("{}-{}", first.to_uppercase(), second.nfd().collect::<String>())],
                family_name: Some(format!(" {}'", family.to_lowercase())),
                email: None,
                ..angela()
            };
            prop_assert_eq!(keys().derive(version, "sp", &one).unwrap(), keys().derive(version, "sp", &other).unwrap());
        }

        #[test]
        fn two_sectors_can_not_compare_their_subs(
            one in "[a-z]{1,8}", other in "[a-z]{1,8}", version in 1u32..=2, of_other in 1u32..=2,
        ) {
            prop_assume!(one != other);
            let (one, other) = (keys().derive(version, &one, &angela()), keys().derive(of_other, &other, &angela()));
            prop_assert_ne!(one.unwrap().as_str().get(..43).map(str::to_owned), other.unwrap().as_str().get(..43).map(str::to_owned));
        }

        #[test]
        fn moving_a_field_boundary_changes_the_sub(text in "[A-Z]{3,16}", one in 1usize..15, other in 1usize..15) {
            let (one, other) = (one.min(text.len() - 1), other.min(text.len() - 1));
            prop_assume!(one != other);
            let names_cut_at = |at: usize| {
                let (given, family) = text.split_at(at);
                derive("sp", &Identity { given_names: vec![given.into()], family_name: Some(family.into()), ..angela() })
            };
            prop_assert_ne!(names_cut_at(one).unwrap(), names_cut_at(other).unwrap());
            let sector_cut_at = |at: usize| keys().derive_from_provider(1, &text[..at], &text[at..].into(), "x");
            prop_assert_ne!(sector_cut_at(one).unwrap(), sector_cut_at(other).unwrap());
        }
    }
}
