//! The names of claims.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Values by claim; only claims of [`Claim::STANDARD`].
pub type StandardClaims = BTreeMap<Claim, Value>;

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
    /// Claims of the federation's specification, in the order of its table.
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

    /// The other standard claims of OpenID Connect Core 1.0 §5.1.
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

    /// Returns every claim.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::FEDERATION.into_iter().chain(Self::STANDARD)
    }

    /// Returns the claim with this name on the wire.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|claim| claim.as_str() == name)
    }

    /// Returns the claim's name on the wire.
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
