//! Defines the `private` table of `passerelle.toml`.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_settings::SecretRef;

/// The listener for health, metrics and administration.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrivateListener {
    /// Address and port, for example `127.0.0.1:9090`; port 0 for any free port.
    #[schemars(extend("examples" = ["127.0.0.1:9090"]))]
    pub listen: SocketAddr,
    /// Allows an address other than loopback, where operators' tokens cross the network without
    /// TLS: only in a network that no one else can read, for example that of a pod with a network
    /// policy.
    #[serde(default)]
    pub insecure_http: bool,
    /// Bearer token of `passerelle idp` and other administration: at least 32 characters. Without
    /// it and without `operators` there is no `/admin/…` but `/admin/peer/…`.
    #[serde(default)]
    pub admin_token: Option<SecretRef>,
    /// Operators, each with a name for the audit log, a token and a role.
    #[serde(default)]
    pub operators: Vec<OperatorEntry>,
    /// The private listeners of the other hubs, by name: `{ hub-2 = "http://10.0.0.2:9090" }`. The
    /// list may name this hub too. The hubs ask each other for logins (docs/operating.md).
    #[serde(default)]
    pub peers: BTreeMap<String, String>,
    /// Bearer token of the hubs among each other: at least 32 characters, the same on all hubs. It
    /// finds logins, by support id or `sub`, and changes nothing. Required with `peers`.
    #[serde(default)]
    pub peer_token: Option<SecretRef>,
    /// Accepted values of the `Host` header, without a port; IP addresses and `localhost` are
    /// always accepted. Others get 421, which prevents DNS rebinding.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// A person who administers the hub.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OperatorEntry {
    /// Name in the audit log and in the program's log: 1 to 64 printable characters.
    pub name: String,
    /// What the person may do.
    pub role: OperatorRole,
    /// The person's bearer token: at least 32 characters.
    pub token: SecretRef,
}

/// What a person may do with the administration.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum OperatorRole {
    /// Reads, and searches logins with a reason.
    Viewer,
    /// Does everything.
    Operator,
}

impl OperatorRole {
    /// Returns the role as in the configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
        }
    }
}
