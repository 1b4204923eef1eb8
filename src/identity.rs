//! L1 · Who a person is: the pivot identity, its rules, scopes and claims, the pairwise `sub` (decisions 7).
//!
//! Owns: which claims exist and when an identity is whole. Must not know: where it came from.
//!
//! - [`mapping`]: from what an identity provider calls its claims to what they are called here.
//! - [`rules`]: from an identity provider's claims to an [`Identity`], or the claim and the rule it breaks.
//! - [`pivot`]: the normalised form in which two spellings of one person are equal; `sub` and the register share it.
//! - [`sub`]: the pairwise subject identifier.
//! - [`scopes`]: which claims a scope releases.
//! - [`standard`]: claims of OpenID Connect that are no part of a pivot identity.

pub mod mapping;
pub mod pivot;
pub mod rules;
pub mod scopes;
pub mod standard;
pub mod sub;

use self::standard::StandardClaims;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An identity that keeps the rules of decisions 7. Built only by the checks of this module.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Given names, in order; may be empty if `family_name` is there.
    pub given_names: Vec<String>,
    pub family_name: Option<String>,
    /// `YYYY-MM-DD`, `YYYY-MM-00` or `YYYY-00-00`.
    pub birthdate: Option<String>,
    /// `male`, `female` or `unspecified`.
    pub gender: Option<String>,
    /// Five-character geographic code.
    pub birthplace: Option<String>,
    pub birthcountry: Option<String>,
    pub email: Option<String>,
    pub preferred_username: Option<String>,
    /// What else an identity provider says, for service providers under `rules = "openid"`.
    pub standard: StandardClaims,
}

impl Identity {
    /// All given names joined by one space: the claim `given_name` (R052). `None` without any.
    #[must_use]
    pub fn given_name(&self) -> Option<String> {
        (!self.given_names.is_empty()).then(|| self.given_names.join(" "))
    }

    /// This identity as the register knows it, with the `email` and `preferred_username` that only the identity
    /// provider knows: what a service provider of the standard platform gets (decisions 7, Source). Standard claims that
    /// speak of the civil identity stay behind: there the register alone is heard.
    #[must_use]
    pub fn with_contact_of(self, provider: &Self) -> Self {
        Self {
            email: provider.email.clone(),
            preferred_username: provider.preferred_username.clone(),
            standard: standard::beside_a_register(&provider.standard),
            ..self
        }
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Identity(***)")
    }
}

/// A claim that a scope can release, in the order in which a page lists them.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    Sub,
    GivenName,
    GivenNameArray,
    FamilyName,
    Birthdate,
    Gender,
    Birthplace,
    Birthcountry,
    Email,
    PreferredUsername,
    Name,
    MiddleName,
    Nickname,
    Profile,
    Picture,
    Website,
    Zoneinfo,
    Locale,
    UpdatedAt,
    EmailVerified,
    PhoneNumber,
    PhoneNumberVerified,
    Address,
}

impl Claim {
    /// Claims of the specification, in the order of its table.
    pub const FEDERATION: [Self; 10] = [
        Self::Sub,
        Self::Gender,
        Self::Birthdate,
        Self::Birthcountry,
        Self::Birthplace,
        Self::GivenName,
        Self::GivenNameArray,
        Self::FamilyName,
        Self::PreferredUsername,
        Self::Email,
    ];

    /// What OpenID Connect Core 1.0, 5.1 has beside them.
    pub const STANDARD: [Self; 13] = [
        Self::Name,
        Self::MiddleName,
        Self::Nickname,
        Self::Profile,
        Self::Picture,
        Self::Website,
        Self::Zoneinfo,
        Self::Locale,
        Self::UpdatedAt,
        Self::EmailVerified,
        Self::PhoneNumber,
        Self::PhoneNumberVerified,
        Self::Address,
    ];

    /// Every claim.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::FEDERATION.into_iter().chain(Self::STANDARD)
    }

    /// The claim of this name on the wire.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|claim| claim.as_str() == name)
    }

    /// The claim's name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sub => "sub",
            Self::GivenName => "given_name",
            Self::GivenNameArray => "given_name_array",
            Self::FamilyName => "family_name",
            Self::Birthdate => "birthdate",
            Self::Gender => "gender",
            Self::Birthplace => "birthplace",
            Self::Birthcountry => "birthcountry",
            Self::Email => "email",
            Self::PreferredUsername => "preferred_username",
            Self::Name => "name",
            Self::MiddleName => "middle_name",
            Self::Nickname => "nickname",
            Self::Profile => "profile",
            Self::Picture => "picture",
            Self::Website => "website",
            Self::Zoneinfo => "zoneinfo",
            Self::Locale => "locale",
            Self::UpdatedAt => "updated_at",
            Self::EmailVerified => "email_verified",
            Self::PhoneNumber => "phone_number",
            Self::PhoneNumberVerified => "phone_number_verified",
            Self::Address => "address",
        }
    }
}

impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
pub(crate) mod samples {
    use super::Identity;

    /// The first person of the demo's register.
    pub(crate) fn angela() -> Identity {
        Identity {
            given_names: ["Angela", "Claire", "Louise"].map(String::from).to_vec(),
            family_name: Some("DUBOIS".into()),
            birthdate: Some("1962-08-24".into()),
            gender: Some("female".into()),
            birthplace: Some("75107".into()),
            birthcountry: Some("99100".into()),
            email: Some("angela@example.org".into()),
            preferred_username: None,
            standard: Default::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_never_prints_itself() {
        assert_eq!(format!("{:?}", samples::angela()), "Identity(***)");
    }

    #[test]
    fn the_register_does_not_erase_what_only_the_provider_knows() {
        let register = Identity { email: Some("register@example.org".into()), ..samples::angela() };
        let provider =
            Identity { preferred_username: Some("angie".into()), email: None, ..samples::angela() };
        let delivered = register.with_contact_of(&provider);
        assert_eq!(
            (delivered.email, delivered.preferred_username.as_deref()),
            (None, Some("angie"))
        );
    }

    #[test]
    fn the_provider_does_not_speak_beside_the_register_of_who_a_person_is() {
        let said: StandardClaims = [
            (Claim::Name, "Somebody Else".into()),
            (Claim::MiddleName, "X".into()),
            (Claim::Nickname, "Angie".into()),
        ]
        .into();
        let delivered =
            samples::angela().with_contact_of(&Identity { standard: said, ..samples::angela() });
        assert_eq!(delivered.standard, StandardClaims::from([(Claim::Nickname, "Angie".into())]));
        assert_eq!(standard::full_name(&delivered), Some("Angela Claire Louise DUBOIS".into()));
    }

    #[test]
    fn claims_are_called_alike_in_files_and_on_the_wire() {
        for claim in Claim::all() {
            assert_eq!(serde_json::to_value(claim).unwrap(), claim.as_str());
        }
    }
}
