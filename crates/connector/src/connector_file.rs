//! Defines the connector file.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::acr_table::AcrTable;
use super::claim_rule::ClaimRule;
use passerelle_federation::Levels;
use passerelle_federation::blocks::BlockTable;
use passerelle_federation::identity::mapping::UnmappedClaims;
use passerelle_protocol::acr::Level;
use passerelle_settings::{LogoPath, MAX_RATE_PER_MINUTE};

/// A connector file: `connectors/*.toml`. Its name without `.toml` is the connector's id.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectorFile {
    /// Display name, by language (`fr`, `en`).
    #[schemars(extend("examples" = [{"en": "…"}]))]
    pub name: BTreeMap<String, String>,
    /// SVG or PNG of at most 64 KiB, shown beside its name; the path is relative to this file's
    /// folder.
    #[serde(default)]
    pub logo: Option<LogoPath>,
    /// Its heading on the choice page: an id of `[choice] categories` in passerelle.toml.
    #[serde(default)]
    pub category: Option<String>,
    /// Further words by which the search of the choice page finds it: abbreviations, former names, what
    /// its users type.
    #[serde(default)]
    #[schemars(example = ["DGFiP", "taxes"])]
    pub search_terms: Vec<String>,
    /// A disabled connector is shown as such and can't be chosen.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// An unlisted connector is not on the choice page; `idp_hint` and e-mail domains lead to it.
    #[serde(default = "yes")]
    pub listed: bool,
    /// Domains of its users' e-mail addresses: `example.org`, and `*.example.org` for all its
    /// subdomains. `login_hint` with such an address, and `[choice] ask_email`, lead to it.
    #[serde(default)]
    pub email_domains: Vec<String>,
    /// Lowest and highest level that this identity provider can prove.
    pub levels: Levels,
    /// The identity provider's `acr` values for the hub's levels.
    #[serde(default)]
    pub acr: AcrTable,
    /// Level of an identity provider that returns no `acr`; only eidas1 is allowed.
    #[serde(default)]
    pub assumed_level: Option<Level>,
    /// Ignores the returned `acr` and always uses `assumed_level`. For an identity provider whose
    /// `acr` is unrelated to a level, for example Keycloak's `1`.
    #[serde(default)]
    pub ignore_acr: bool,
    /// Authentication methods to assume when the identity provider sends none.
    #[serde(default)]
    pub amr: Vec<String>,
    /// The methods that this identity provider's `mfa` stands for, for example `["pwd", "otp"]`.
    #[serde(default)]
    pub mfa: Vec<String>,
    /// Names of methods beyond RFC 8176 and `mail` that this identity provider sends in `amr` and that
    /// service providers get. They prove no factor. Other names are dropped and counted.
    #[serde(default)]
    pub passed_amr: Vec<String>,
    /// Asks its users who have proven neither two factors nor `mail` for a code that the hub sends by
    /// mail; needs `[mail]` in passerelle.toml (docs/mail.md).
    #[serde(default)]
    pub mail_code: bool,
    /// `"verified"`: this identity provider verifies its users' identities, and users can't edit
    /// their pivot identity. Required with `subject = "pivot"`: a user who edits their own name and
    /// birth data could sign in as anyone.
    #[serde(default)]
    pub identity: Option<IdentityProof>,
    /// Whether the hub calls it every 10 to 60 seconds to see whether it works. Without, only logins
    /// show that (docs/identity-provider-health.md).
    #[serde(default = "yes")]
    pub probe: bool,
    /// Limits for calls to this identity provider.
    #[serde(default)]
    pub limits: ConnectorLimits,
    /// `[[block]]`: periods in which this identity provider must not be used.
    #[serde(default)]
    pub block: Vec<BlockTable>,
    /// Rules for claims that this identity provider names or formats differently, by claim
    /// (docs/claim-mapping.md).
    #[serde(default)]
    pub mapping: BTreeMap<String, ClaimRule>,
    /// What happens to claims without a rule in `mapping`.
    #[serde(default)]
    pub unmapped_claims: UnmappedClaims,
    /// The protocol: exactly one table of a kind.
    pub kind: UnparsedKind,
}

/// Whether an identity provider verifies identities.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IdentityProof {
    /// It verifies them by documents or in person.
    Verified,
}

/// Limits for calls to an identity provider. Calls beyond them fail immediately and don't affect
/// other identity providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConnectorLimits {
    /// Maximum number of concurrent calls. Default: `limits.calls_per_connector` of the hub.
    #[schemars(range(min = 1, max = 65_536))]
    pub calls: Option<usize>,
    /// Maximum number of waiting calls.
    #[schemars(range(min = 0, max = 65_536))]
    pub queue: usize,
    /// Maximum waiting time in milliseconds.
    #[schemars(range(min = 0, max = 5_000))]
    pub queue_ms: u64,
    /// Users redirected there per minute, by all hubs together. Default:
    /// `quotas.redirects_per_connector` of the hub.
    #[schemars(range(min = 1, max = MAX_RATE_PER_MINUTE))]
    pub redirects_per_minute: Option<u32>,
}

impl Default for ConnectorLimits {
    fn default() -> Self {
        Self { calls: None, queue: 64, queue_ms: 500, redirects_per_minute: None }
    }
}

/// Stands for the `[kind.…]` table, which its kind deserializes
/// ([`ConnectorKindFormat`](super::kind_settings::ConnectorKindFormat)).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnparsedKind;

impl<'de> Deserialize<'de> for UnparsedKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

impl JsonSchema for UnparsedKind {
    fn schema_name() -> Cow<'static, str> {
        "ConnectorKind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [], "description": "Protocol of a connector." })
    }
}

/// Returns true, the default of several keys.
const fn yes() -> bool {
    true
}
