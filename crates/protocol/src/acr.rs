//! Levels of assurance on the wire (`acr`, `acr_values`), and the platform that accepts them.

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An eIDAS level of assurance; `Eidas1` is the lowest.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Eidas1,
    Eidas2,
    Eidas3,
}

impl Level {
    /// All levels, lowest first.
    pub const ALL: [Self; 3] = [Self::Eidas1, Self::Eidas2, Self::Eidas3];

    /// Returns the value on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Eidas1 => "eidas1",
            Self::Eidas2 => "eidas2",
            Self::Eidas3 => "eidas3",
        }
    }
}

/// What a request needs from an identity provider before the browser is sent there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuthenticationRequirement {
    /// Minimum level.
    pub level: Level,
    /// Whether the user must authenticate again (`prompt=login`), or the time of the authentication
    /// matters (`max_age`).
    pub reauthentication: bool,
}

impl AuthenticationRequirement {
    /// Creates a requirement of this level, regardless of when the user authenticated.
    pub const fn for_level(level: Level) -> Self {
        Self { level, reauthentication: false }
    }
}

/// Platform of the federation; one process serves one platform.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Platform {
    Standard,
    High,
}

impl Platform {
    /// Returns the levels that a service provider may request, lowest first (R003).
    pub const fn levels(self) -> &'static [Level] {
        match self {
            Self::Standard => &[Level::Eidas1],
            Self::High => &[Level::Eidas2, Level::Eidas3],
        }
    }
}

/// A value of `acr` besides the levels. It counts only for service providers whose file lists it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LevelName {
    /// The value on the wire.
    pub name: Arc<str>,
    /// The level that it stands for.
    pub level: Level,
    /// True if it also stands for proven multi-factor authentication.
    pub multi_factor: bool,
    /// True if it also stands for confirmation by mail, which multi-factor authentication makes
    /// unnecessary.
    pub mail: bool,
}

/// The `acr` settings of a service provider's file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AcrRegistration {
    /// The level names that it may request.
    pub level_names: Vec<LevelName>,
    /// Values for requests without `acr_values` (OpenID Connect Dynamic Client Registration 1.0
    /// §2).
    pub default_values: Vec<String>,
}

/// A requested value of `acr`, of a service provider with level names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RequestedAcr {
    /// `None` if it is a level, which is answered as the level achieved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// Lowest level that meets it.
    pub lowest: Level,
    /// Highest level that meets it.
    pub highest: Level,
    /// True if multi-factor authentication must be proven.
    #[serde(default)]
    pub multi_factor: bool,
    /// True if confirmation by mail or multi-factor authentication must be proven.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mail: bool,
}

impl RequestedAcr {
    /// Returns true if an authentication of this level can meet the value.
    pub fn allows_level(&self, level: Level) -> bool {
        (self.lowest..=self.highest).contains(&level)
    }

    /// Returns true if the authentication meets the value.
    pub fn is_met(&self, proof: &AchievedAcr<'_>) -> bool {
        let is_named = self.name.as_ref().is_some_and(|name| proof.names.contains(name));
        let has_methods = (!self.multi_factor || proof.multi_factor)
            && (!self.mail || proof.mail || proof.multi_factor);
        self.allows_level(proof.level) && (has_methods || is_named)
    }
}

/// The `acr` that a request asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AcrRequest {
    /// The requested minimum.
    pub level: Level,
    /// Whether an essential `acr` claim with values requests it.
    pub essential: bool,
    /// The levels that the claim names, on the high platform, if the service provider has no level
    /// names.
    pub required: Vec<Level>,
    /// The accepted values in order, if the service provider has level names.
    pub values: Vec<RequestedAcr>,
}

impl AcrRequest {
    /// Returns true if an authentication of this level can satisfy an essential `acr` claim, if
    /// any.
    pub fn accepts_level(&self, level: Level) -> bool {
        accepts_level(&self.required, self.essential, &self.values, level)
    }

    /// Returns the requested level names that can be the answer, in order.
    pub fn level_names(&self) -> impl Iterator<Item = &Arc<str>> {
        answerable_names(&self.values, self.level)
    }
}

/// Returns true if an authentication of this level can satisfy an essential `acr` claim, if any:
/// `required` and `values` are those of [`AcrRequest`].
pub(super) fn accepts_level(
    required: &[Level],
    essential: bool,
    values: &[RequestedAcr],
    level: Level,
) -> bool {
    let is_required = required.is_empty() || required.contains(&level);
    let can_meet = values.is_empty() || values.iter().any(|value| value.allows_level(level));
    is_required && (!essential || can_meet)
}

/// Returns the level names among `values`, in order, up to a level that every authentication of at
/// least `lowest` meets: what follows it is never answered.
pub(super) fn answerable_names(
    values: &[RequestedAcr],
    lowest: Level,
) -> impl Iterator<Item = &Arc<str>> {
    let is_always_met = move |value: &RequestedAcr| {
        value.name.is_none() && value.lowest <= lowest && value.highest == Level::Eidas3
    };
    values
        .iter()
        .take_while(move |value| !is_always_met(value))
        .filter_map(|value| value.name.as_ref())
}

/// What an authentication proves towards a requested `acr`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AchievedAcr<'a> {
    /// The level.
    pub level: Level,
    /// True if its methods prove two factors of different categories.
    pub multi_factor: bool,
    /// True if its methods contain `mail`.
    pub mail: bool,
    /// The level names that the returned `acr` stands for, by the connector's file.
    pub names: &'a BTreeSet<Arc<str>>,
}
