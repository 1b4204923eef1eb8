//! Defines and checks `[register.http]`, and registers the kind `http`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::HttpRegister;
use super::credentials::HttpRegisterCredentials;
use crate::Register;
use crate::kind::{OpenRegisterError, RegisterContext, RegisterSettings, register_settings};
use passerelle_protocol::ids::Secret;
use passerelle_settings::{
    AuthoritiesPath, CertificatePath, ConfiguredTable, KindTable, SecretRef, TableKind,
};

/// A register that is queried over HTTPS, specified in `docs/register.openapi.yaml`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "url": "https://register.example.org/v1",
    "bearer": { "file": "register.token" },
    "internal_hosts": ["register.example.org"]
}]))]
pub struct HttpRegisterConfig {
    /// Base URL without a query: `https://register.example.org/v1`.
    pub url: String,
    /// PEM file of the hub's certificate, followed by its chain, for a register that requires one.
    #[serde(default)]
    pub client_certificate: Option<CertificatePath>,
    /// PEM key of the certificate, without a passphrase.
    #[serde(default)]
    pub client_key: Option<SecretRef>,
    /// PEM file of the only certificate authorities trusted for the register. Default: the
    /// system's.
    #[serde(default)]
    pub ca: Option<AuthoritiesPath>,
    /// Bearer token, sent as `Authorization: Bearer …` (RFC 6750).
    #[serde(default)]
    pub bearer: Option<SecretRef>,
    /// Maximum number of concurrent calls to the register.
    #[serde(default = "default_calls")]
    #[schemars(range(min = 1, max = 65_536))]
    pub calls: usize,
    /// Allows http for the register.
    #[serde(default)]
    pub insecure_http: bool,
    /// Hosts that may resolve to loopback, link-local or private addresses.
    #[serde(default)]
    pub internal_hosts: Vec<String>,
}

const fn default_calls() -> usize {
    128
}

/// A checked `[register.http]` with its credentials.
struct HttpRegisterSettings {
    config: HttpRegisterConfig,
    credentials: HttpRegisterCredentials,
}

/// The kind `http`.
pub const KIND: TableKind = TableKind {
    name: "http",
    summary: "A server.",
    schema: |generator| generator.subschema_for::<HttpRegisterConfig>(),
    load,
};

fn load(table: &mut KindTable<'_>) -> Option<ConfiguredTable> {
    let config: HttpRegisterConfig = table.deserialize()?;
    table.check_url("url", &config.url, config.insecure_http);
    table.check_hosts("internal_hosts", &config.internal_hosts);
    let credentials = read_credentials(table, &config);
    let shown = config.clone();
    Some(register_settings(table, &shown, HttpRegisterSettings { config, credentials }))
}

impl RegisterSettings for HttpRegisterSettings {
    fn open(&self, context: RegisterContext) -> Result<Arc<dyn Register>, OpenRegisterError> {
        let RegisterContext { home_country, metrics, now } = context;
        HttpRegister::new(&self.config, &self.credentials, &home_country, metrics, now)
            .map(|register| Arc::new(register) as Arc<dyn Register>)
            .map_err(|error| OpenRegisterError(error.to_string()))
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn certificates(&self) -> Vec<(&'static str, &str)> {
        let identity = self.credentials.identity.as_ref().map(|pem| pem.reveal().as_str());
        let ca = self.credentials.ca.as_deref();
        let labelled = [("register_client", identity), ("register_ca", ca)];
        labelled.into_iter().filter_map(|(label, pem)| Some((label, pem?))).collect()
    }
}

fn read_credentials(
    table: &mut KindTable<'_>,
    config: &HttpRegisterConfig,
) -> HttpRegisterCredentials {
    let ca = table.read_pem("ca", config.ca.as_deref());
    let certificate = table.read_pem("client_certificate", config.client_certificate.as_deref());
    let key = table.resolve_secret("client_key", config.client_key.as_ref());
    let bearer = table.resolve_secret("bearer", config.bearer.as_ref());
    let identity = certificate
        .zip(key)
        .map(|(certificate, key)| Secret::new(format!("{certificate}\n{}\n", key.reveal())));
    let halves = [
        (config.client_certificate.is_some(), "client_certificate", "client_key"),
        (config.client_key.is_some(), "client_key", "client_certificate"),
    ];
    if let [(true, given, missing), (false, ..)] | [(false, ..), (true, given, missing)] = halves {
        let fix = format!("add {missing}, or remove both");
        table.report(given, format!("is set without {missing}"), fix);
    }
    if bearer.as_ref().is_some_and(|bearer| !is_b64token(bearer.reveal())) {
        let fix = "write only the token there: letters, digits and -._~+/, without the word Bearer";
        table.report("bearer", "references a text that is not a bearer token", fix);
    }
    HttpRegisterCredentials { identity, ca, bearer }
}

/// Returns true for a `b64token` (RFC 6750 §2.1), which prevents header injection.
fn is_b64token(text: &str) -> bool {
    let token = text.trim_end_matches('=');
    !token.is_empty() && token.bytes().all(|c| c.is_ascii_alphanumeric() || b"-._~+/".contains(&c))
}
