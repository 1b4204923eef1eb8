//! Defines and checks the `[client_registration]` table of `passerelle.toml`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_protocol::acr::Platform;
use passerelle_protocol::ids::Scope;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_settings::value_checks::check_range;
use passerelle_settings::{Diagnostic, SourceFile};

/// Dynamic client registration (RFC 7591, RFC 7592). The table turns it on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClientRegistrationConfig {
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
    /// Registrations of this hub at once, from 1 to 1000.
    pub max_registrations: u32,
    /// Registrations without an initial access token that wait for approval at once, from 1 to
    /// 1000. One more takes the place of the oldest of the network with the most.
    pub max_pending: u32,
    /// Requests to the endpoint from one network per minute, from 1 to 1000.
    pub requests_per_network: u32,
    /// Days until a registration that waits for approval is removed, from 1 to 90.
    pub pending_days: u32,
    /// Days without a login until an approved registration is removed, from 1 to 366.
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
    #[must_use]
    pub fn rules_on(&self, platform: Platform) -> ProtocolRules {
        self.rules.unwrap_or(match platform {
            Platform::Standard => ProtocolRules::Openid,
            Platform::High => ProtocolRules::Federation,
        })
    }

    /// Reports what is invalid. `is_sandbox` is true on a sandbox of the standard platform.
    pub fn check(
        &self,
        source: &SourceFile,
        platform: Platform,
        is_sandbox: bool,
        problems: &mut Vec<Diagnostic>,
    ) {
        for (key, value, most) in [
            ("max_registrations", self.max_registrations, 1000),
            ("max_pending", self.max_pending, 1000),
            ("requests_per_network", self.requests_per_network, 1000),
            ("pending_days", self.pending_days, 90),
            ("unused_days", self.unused_days, 366),
        ] {
            let key = format!("client_registration.{key}");
            check_range(source, &key, value.into(), (1, most), problems);
        }
        let mut report = |key: &str, message: &str, fix: &str| {
            problems.push(source.diagnostic(key, message, fix));
        };
        if !self.scopes.iter().any(|scope| scope.as_str() == "openid") {
            let message = "lacks openid, which every request needs";
            report("client_registration.scopes", message, "add \"openid\"");
        }
        if self.open == OpenRegistration::Immediate && !is_sandbox {
            let message = "is \"immediate\", so anyone could sign real people in to a service that no operator has seen";
            let fix = "write open = \"approval\", or create initial access tokens; \"immediate\" needs sandbox = true on the standard platform";
            report("client_registration.open", message, fix);
        }
        if self.rules == Some(ProtocolRules::Openid) && platform == Platform::High {
            let message = "is \"openid\", which the high platform doesn't support";
            report(
                "client_registration.rules",
                message,
                "write rules = \"federation\", or remove it",
            );
        }
    }
}

/// What happens to a registration without an initial access token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OpenRegistration {
    /// It is rejected.
    #[default]
    Refused,
    /// It waits for an operator.
    Approval,
    /// It is approved at once.
    Immediate,
}
