//! The metadata of a connector that the rest of the hub uses: for the gate, the choice page and the
//! levels of assurance. How the identity provider is called is not part of it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::blocks::Block;
use super::forwarded_params::ForwardedParams;
use super::provider_display::ProviderDisplay;
use passerelle_protocol::acr::Level;

/// Levels of assurance of an identity provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Levels {
    /// The lowest level that it proves, requested even if a lower one is enough.
    pub lowest: Level,
    /// The highest level that is accepted from it.
    pub highest: Level,
}

/// Metadata of one connector, from its file.
#[derive(Clone, PartialEq, Debug)]
pub struct ConnectorProfile {
    /// Display name, by language.
    pub name: Arc<BTreeMap<String, String>>,
    /// False if the operator has switched it off.
    pub enabled: bool,
    /// False if the choice page shows it only to those whose e-mail domain leads to it.
    pub listed: bool,
    /// Domains of its users' e-mail addresses; `*.` stands for all subdomains.
    pub email_domains: Vec<String>,
    /// Lowest and highest level that the identity provider can prove.
    pub levels: Levels,
    /// Authentication methods to assume when the identity provider sends none.
    pub amr: Vec<String>,
    /// The methods that this identity provider's `mfa` implies.
    pub mfa: Vec<String>,
    /// Methods beyond RFC 8176 and `mail` that are passed on.
    pub passed_amr: Vec<String>,
    /// True if its users need a code by mail unless they prove two factors or `mail`.
    pub mail_code: bool,
    /// Its `acr` values that map to level names, by name.
    pub acr_names: BTreeMap<String, Vec<String>>,
    /// Display data for the choice page.
    pub display: Arc<ProviderDisplay>,
    /// Blocks from its file.
    pub blocks: Arc<[Block]>,
    /// True if `auth_time` proves a new authentication, or the operator guarantees one.
    pub reauthenticates: bool,
    /// True if its claims prove an identity: it verifies identities, or is a sandbox.
    pub proves_identity: bool,
    /// True if its logout tokens end sessions.
    pub backchannel_logout: bool,
    /// True if its responses may arrive by POST.
    pub posted_callbacks: bool,
    /// Types of the electronic records that the hub verifies in its logins.
    pub electronic_record_types: Vec<String>,
    /// Further parameters that it gets from service providers.
    pub forwarded_params: ForwardedParams,
    /// The addresses of the identity provider that its file names.
    pub addresses: Vec<String>,
    /// False if the operator has switched the hub's probes of it off.
    pub is_probed: bool,
    /// Redirects to the identity provider per minute; `None` for the hub's default.
    pub redirects_per_minute: Option<NonZeroU32>,
}
