//! The names of claims.

use std::collections::BTreeMap;
use std::sync::Arc;

use derive_more::{Display, From};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Values by claim; only claims of [`Claim::STANDARD`].
pub type StandardClaims = BTreeMap<Claim, Value>;

/// Values of claims that the operator declares, by name.
pub type DeclaredValues = BTreeMap<Arc<str>, Value>;

macro_rules! claims {
    ($($claim:ident $name:literal;)*) => {
        /// A claim that a scope can release, in the order in which a page lists them.
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
        )]
        pub enum Claim {
            $(#[serde(rename = $name)] $claim,)*
        }

        impl Claim {
            /// Returns the claim's name on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$claim => $name,)*
                }
            }
        }
    };
}

claims! {
    Sub "sub";
    GivenName "given_name";
    GivenNameArray "given_name_array";
    FamilyName "family_name";
    Birthdate "birthdate";
    Gender "gender";
    Birthplace "birthplace";
    Birthcountry "birthcountry";
    Email "email";
    PreferredUsername "preferred_username";
    Name "name";
    MiddleName "middle_name";
    Nickname "nickname";
    Profile "profile";
    Picture "picture";
    Website "website";
    Zoneinfo "zoneinfo";
    Locale "locale";
    UpdatedAt "updated_at";
    EmailVerified "email_verified";
    PhoneNumber "phone_number";
    PhoneNumberVerified "phone_number_verified";
    Address "address";
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
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|claim| claim.as_str() == name)
    }
}

impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The name of a claim: one of the specification's, or one that the operator declares.
#[derive(
    Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Display, From, Serialize, Deserialize,
)]
#[display("{}", self.as_str())]
#[serde(untagged)]
pub enum ClaimName {
    Specified(Claim),
    Declared(Arc<str>),
}

impl ClaimName {
    /// Returns the claim with this name on the wire.
    pub fn from_name(name: &str) -> Self {
        Claim::from_name(name).map_or_else(|| Self::Declared(name.into()), Self::Specified)
    }

    /// Returns the claim's name on the wire.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Specified(claim) => claim.as_str(),
            Self::Declared(name) => name,
        }
    }
}

impl PartialEq<Claim> for ClaimName {
    fn eq(&self, claim: &Claim) -> bool {
        matches!(self, Self::Specified(specified) if specified == claim)
    }
}
