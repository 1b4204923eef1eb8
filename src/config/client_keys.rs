//! A service provider's public keys, as its file gives them (decisions 6, 10, 15).

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use url::Url;

use super::Context;
use super::address::{self, Http};
use super::model::{JwksSource, ServiceProvider};
use super::problem::Problem;
use super::source::Source;
use crate::egress::guard::Schemes;
use crate::token::ClientKeys;

/// Where a service provider's public keys come from.
#[derive(Clone, Debug, Default)]
pub enum KeySource {
    /// It needs none.
    #[default]
    None,
    /// Parsed when its file was read.
    Inline(Arc<ClientKeys>),
    /// Fetched while the hub runs.
    Uri(JwksUri),
}

/// An address to fetch keys from, and what the guard must know to let it pass.
#[derive(Clone, Debug)]
pub struct JwksUri {
    pub uri: Url,
    pub schemes: Schemes,
    pub internal_hosts: Vec<String>,
}

/// Reads the keys; `None` also where they are refused, which `problems` then tells.
pub fn source(source: &Source, file: &ServiceProvider, context: &Context<'_>, problems: &mut Vec<Problem>) -> KeySource {
    if file.jwks_uri.is_none() && !file.internal_hosts.is_empty() {
        let what = "names hosts, but there is no jwks_uri to be called";
        problems.push(source.problem("internal_hosts", what, "remove it, or add jwks_uri"));
    }
    let found = match (&file.jwks, &file.jwks_uri) {
        (None, None) => Ok(KeySource::None),
        (Some(jwks), None) => inline(source, jwks, context.folder).map(|keys| KeySource::Inline(Arc::new(keys))),
        (None, Some(uri)) => fetched(source, file, uri).map(KeySource::Uri),
        (Some(_), Some(_)) => {
            Err(source.problem("jwks_uri", "stands beside jwks, and only one of them can count", "remove one of the two"))
        }
    };
    found.unwrap_or_else(|problem| {
        problems.push(problem);
        KeySource::None
    })
}

fn inline(source: &Source, jwks: &JwksSource, folder: &Path) -> Result<ClientKeys, Problem> {
    let mend = "write { file = \"…\" }, or [[jwks.keys]] tables; public keys only, EC on P-256 or RSA from 2048 bits, each with \
                a kid";
    let (key, bytes) = match (&jwks.file, jwks.keys.as_slice()) {
        (Some(path), []) => {
            let bytes = std::fs::read(folder.join(path)).map_err(|_| {
                let mend = "put the JWK Set there; the path counts from the configuration folder";
                source.problem("jwks.file", "names a file that is missing or can't be read", mend)
            })?;
            ("jwks.file", bytes)
        }
        (None, [_, ..]) => ("jwks.keys", json!({ "keys": jwks.keys }).to_string().into_bytes()),
        (None, []) => return Err(source.problem("jwks", "leads to no key", mend)),
        (Some(_), [_, ..]) => return Err(source.problem("jwks", "gives a file and keys", mend)),
    };
    ClientKeys::from_jwks(&bytes).map_err(|fault| source.problem(key, fault.to_string(), mend))
}

/// https; http only with `insecure_http` (decisions 10), on this machine too.
fn fetched(source: &Source, file: &ServiceProvider, uri: &str) -> Result<JwksUri, Problem> {
    let (schemes, http) =
        if file.insecure_http { (Schemes::HttpToo, Http::Anywhere) } else { (Schemes::HttpsOnly, Http::Nowhere) };
    let uri = address::absolute(uri, http).map_err(|(what, mend)| source.problem("jwks_uri", what, mend))?;
    Ok(JwksUri { uri, schemes, internal_hosts: file.internal_hosts.clone() })
}

#[cfg(test)]
#[path = "client_keys_tests.rs"]
mod tests;
