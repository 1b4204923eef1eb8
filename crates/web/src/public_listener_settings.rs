//! Defines the `[public]` table of `passerelle.toml`.

use std::net::SocketAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use passerelle_settings::AuthoritiesPath;

/// The listener for browsers and service providers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PublicListener {
    /// Address and port, for example `127.0.0.1:8080`; port 0 for any free port.
    #[schemars(extend("examples" = ["127.0.0.1:8080"]))]
    pub listen: SocketAddr,
    /// Networks of the load balancers, for example `10.0.0.0/8` or `fd00::/8`. Only their
    /// `client_address_header` is trusted.
    #[serde(default)]
    pub trusted_proxies: Vec<String>,
    /// Header with the client's address, used by limits only (docs/limits.md). Default: the peer of
    /// the connection is the client.
    #[serde(default)]
    pub client_address_header: Option<AddressHeader>,
    /// Maximum number of concurrent connections. Default: 10,000, or fewer if the limit of file
    /// descriptors is lower; some descriptors are reserved for the private listener, the store and
    /// identity providers (docs/limits.md, "Connections").
    #[serde(default)]
    #[schemars(range(min = 16, max = 1_000_000))]
    pub max_connections: Option<usize>,
    /// Maximum number of concurrent connections from one IPv4 address or IPv6 /64, except
    /// `trusted_proxies`. Default: a quarter of all, for peers with a public address.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_connections_per_peer: Option<usize>,
    /// Adds `includeSubDomains` to `Strict-Transport-Security`: browsers then reach every host below
    /// that of `base_url` by https only (RFC 6797 §6.1.2). Default: that host only.
    #[serde(default)]
    pub hsts_include_subdomains: bool,
    /// Client certificates that the `trusted_proxies` forward (docs/sender-constrained-tokens.md).
    /// Default: none.
    #[serde(default)]
    pub client_certificates: Option<ClientCertificatesConfig>,
}

/// Client certificates of service providers, forwarded by the proxies that end TLS (RFC 8705).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientCertificatesConfig {
    /// Header with the certificate in the format of RFC 9440. A proxy must set or remove it in each
    /// request.
    #[serde(default = "client_certificate_header")]
    pub header: String,
    /// PEM file of the authorities that issue certificates for `tls_client_auth`; the path is
    /// relative to the configuration folder. Default: only self-signed certificates.
    #[serde(default)]
    pub ca: Option<AuthoritiesPath>,
    /// Base URL without a path at which the proxy asks for certificates, if it is not `base_url`;
    /// discovery lists its endpoints as `mtls_endpoint_aliases`.
    #[serde(default)]
    pub base_url: Option<String>,
}

/// Header in which proxies pass the client's address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AddressHeader {
    /// `X-Forwarded-For: 192.0.2.7, 10.0.0.1`.
    XForwardedFor,
    /// RFC 7239: `Forwarded: for=192.0.2.7, for="[2001:db8::7]:4711"`.
    Forwarded,
}

/// Returns the default of `header`.
fn client_certificate_header() -> String {
    "client-cert".to_owned()
}
