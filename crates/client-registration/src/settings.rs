//! Defines and checks the `[client_registration]` table of `passerelle.toml`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_extension::{OtherSettings, SettingsTable};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::ids::Scope;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_settings::{ConfiguredTable, FileCheck, KindTable, TableKind};

/// Dynamic client registration (RFC 7591, RFC 7592). The table turns it on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ClientRegistrationConfig {
    /// Registrations without an initial access token: `refused`, `approval` (each waits for an
    /// operator), or `immediate`, for a sandbox on the standard platform only.
    pub open: OpenRegistration,
    /// Rules for the requests of registered clients. Default: `openid`; on the high platform
    /// `federation`.
    pub rules: Option<ProtocolRules>,
    /// Scopes for clients without an initial access token, including `openid`. A token has its own.
    pub scopes: Vec<Scope>,
    /// Lets registrations without an initial access token use the hosts and the names of each other,
    /// for applications that register more than once: at each start, or one for each installation.
    pub shared_hosts: bool,
    /// Registrations of this hub at once.
    #[schemars(range(min = 1, max = 1000))]
    pub max_registrations: u32,
    /// Registrations without an initial access token that wait for approval at once. One more takes the place of the oldest of the network with the most.
    #[schemars(range(min = 1, max = 1000))]
    pub max_pending: u32,
    /// Requests to the endpoint from one network per minute.
    #[schemars(range(min = 1, max = 1000))]
    pub requests_per_network: u32,
    /// Days until a registration that waits for approval is removed.
    #[schemars(range(min = 1, max = 90))]
    pub pending_days: u32,
    /// Days without a login until an approved registration is removed.
    #[schemars(range(min = 1, max = 366))]
    pub unused_days: u32,
}

impl Default for ClientRegistrationConfig {
    fn default() -> Self {
        Self {
            open: OpenRegistration::Refused,
            rules: None,
            scopes: vec![Scope::from("openid")],
            shared_hosts: false,
            max_registrations: 200,
            max_pending: 50,
            requests_per_network: 20,
            pending_days: 7,
            unused_days: 90,
        }
    }
}

impl ClientRegistrationConfig {
    /// Returns the rules of registered clients on this platform.
    pub(crate) fn rules_on(&self, platform: Platform) -> ProtocolRules {
        self.rules.unwrap_or(match platform {
            Platform::Standard => ProtocolRules::Openid,
            Platform::High => ProtocolRules::Federation,
        })
    }
}

/// What happens to a registration without an initial access token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OpenRegistration {
    /// It is rejected.
    #[default]
    Refused,
    /// It waits for an operator.
    Approval,
    /// It is approved at once.
    Immediate,
}

/// The table `[client_registration]`.
pub(crate) const TABLE: SettingsTable = SettingsTable {
    kind: TableKind {
        name: "client_registration",
        summary: "Dynamic client registration (docs/client-registration.md). Default: off.",
        schema: |generator| generator.subschema_for::<ClientRegistrationConfig>(),
        load: read_table,
    },
    check: check_table,
};

fn read_table(table: &mut KindTable<'_>) -> Option<ConfiguredTable> {
    let config: ClientRegistrationConfig = table.deserialize()?;
    Some(table.configured(&config, config.clone()))
}

fn check_table(table: &ConfiguredTable, other: &OtherSettings<'_>, check: &mut FileCheck<'_>) {
    let Some(config) = table.settings::<ClientRegistrationConfig>() else { return };
    if !config.scopes.iter().any(|scope| scope.as_str() == "openid") {
        check.report("scopes", "lacks openid, which every request needs", "add \"openid\"");
    }
    let is_standard_sandbox = other.is_sandbox && other.platform == Platform::Standard;
    if config.open == OpenRegistration::Immediate && !is_standard_sandbox {
        let message = "is \"immediate\", so anyone could sign real people in to a service that no operator has seen";
        let fix = "write open = \"approval\", or create initial access tokens; \"immediate\" needs sandbox = true on the standard platform";
        check.report("open", message, fix);
    }
    if config.rules == Some(ProtocolRules::Openid) && other.platform == Platform::High {
        let message = "is \"openid\", which the high platform doesn't support";
        check.report("rules", message, "write rules = \"federation\", or remove it");
    }
    (other.check_scopes)(check, &config.scopes, config.rules_on(other.platform));
}
