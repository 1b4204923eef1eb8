//! Where the public keys of a client come from, and how its responses are encrypted.

use std::sync::Arc;

use url::Url;

use passerelle_egress::safe_http_client::AllowedSchemes;
use passerelle_jose::ClientKeys;
use passerelle_protocol::alg::EncryptionAlg;

/// Where a client's public keys come from.
#[derive(Clone, Debug, Default)]
pub enum KeySource {
    /// The client has no keys.
    #[default]
    None,
    /// Parsed when its file was read.
    Inline(Arc<ClientKeys>),
    /// Fetched while the hub runs.
    Uri(JwksUri),
}

/// A URL to fetch keys from, with the egress rules for it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct JwksUri {
    /// The URL.
    pub uri: Url,
    /// The allowed schemes.
    pub schemes: AllowedSchemes,
    /// Hosts that may have internal addresses.
    pub internal_hosts: Vec<String>,
}

impl JwksUri {
    /// Returns the egress rules for the URL.
    pub fn egress_rules(&self) -> (AllowedSchemes, &[String]) {
        (self.schemes, &self.internal_hosts)
    }
}

/// Algorithms that a service provider's ID tokens and userinfo responses are encrypted with (R005,
/// R007); `None` for those that are only signed. The content encryption is always A256GCM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ResponseEncryptionAlgs {
    /// For ID tokens.
    pub id_token: Option<EncryptionAlg>,
    /// For userinfo responses.
    pub userinfo: Option<EncryptionAlg>,
}

impl ResponseEncryptionAlgs {
    /// Returns the algorithms that the client's keys must support.
    pub fn iter(self) -> impl Iterator<Item = EncryptionAlg> {
        self.id_token.into_iter().chain(self.userinfo)
    }
}
