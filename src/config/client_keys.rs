//! The public keys of a service provider or a data provider, as its file gives them (decisions 6, 10, 11, 15).

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use url::Url;

use super::address::{self, Http};
use super::model::{JwksSource, ServiceProvider};
use super::problem::Problem;
use super::regular;
use super::secret_rules::Context;
use super::source::Source;
use crate::egress::guard::{self, Schemes};
use crate::protocol::acr::Platform;
use crate::protocol::alg::EncryptionAlg;
use crate::token::ClientKeys;

/// What a file says of keys, whoever's it is.
#[derive(Clone, Copy)]
pub struct GivenKeys<'a> {
    pub jwks: Option<&'a JwksSource>,
    pub jwks_uri: Option<&'a str>,
    pub internal_hosts: &'a [String],
    pub insecure_http: bool,
}

impl<'a> From<&'a ServiceProvider> for GivenKeys<'a> {
    fn from(file: &'a ServiceProvider) -> Self {
        Self {
            jwks: file.jwks.as_ref(),
            jwks_uri: file.jwks_uri.as_deref(),
            internal_hosts: &file.internal_hosts,
            insecure_http: file.insecure_http,
        }
    }
}

/// Where a client's public keys come from.
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
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct JwksUri {
    pub uri: Url,
    pub schemes: Schemes,
    pub internal_hosts: Vec<String>,
}

impl JwksUri {
    /// What the guard must know, whatever the address.
    #[must_use]
    pub fn rules(&self) -> (Schemes, &[String]) {
        (self.schemes, &self.internal_hosts)
    }
}

/// How a service provider's answers are encrypted (R005, R007); the content always with A256GCM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerEncryption {
    pub id_token: EncryptionAlg,
    pub userinfo: EncryptionAlg,
}

/// Reads the keys; `None` also where they are refused, which `problems` then tells.
pub fn source(
    source: &Source,
    given: &GivenKeys<'_>,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> KeySource {
    if given.jwks_uri.is_none() && !given.internal_hosts.is_empty() {
        let what = "names hosts, but there is no jwks_uri to be called";
        problems.push(source.problem("internal_hosts", what, "remove it, or add jwks_uri"));
    }
    problems.extend(source.not_hosts("internal_hosts", given.internal_hosts));
    let found = match (given.jwks, given.jwks_uri) {
        (None, None) => Ok(KeySource::None),
        (Some(jwks), None) => {
            inline(source, jwks, context.folder).map(|keys| KeySource::Inline(Arc::new(keys)))
        }
        (None, Some(uri)) => fetched(source, given, uri).map(KeySource::Uri),
        (Some(_), Some(_)) => Err(source.problem(
            "jwks_uri",
            "stands beside jwks, and only one of them can count",
            "remove one of the two",
        )),
    };
    found.unwrap_or_else(|problem| {
        problems.push(problem);
        KeySource::None
    })
}

/// On the high platform every service provider must be able to receive encrypted tokens; on standard none is sent any.
/// The algorithm is written, not guessed from the keys: what arrives then never changes because a key was added.
pub fn encryption(
    source: &Source,
    file: &ServiceProvider,
    keys: &KeySource,
    platform: Platform,
    problems: &mut Vec<Problem>,
) -> Option<AnswerEncryption> {
    match platform {
        Platform::Standard => {
            refuse_on_standard(source, file, problems);
            None
        }
        Platform::High => on_high(source, file, keys, problems),
    }
}

fn refuse_on_standard(source: &Source, file: &ServiceProvider, problems: &mut Vec<Problem>) {
    let asked = [
        ("id_token_encrypted_response_alg", file.id_token_encrypted_response_alg.is_some()),
        ("id_token_encrypted_response_enc", file.id_token_encrypted_response_enc.is_some()),
        ("userinfo_encrypted_response_alg", file.userinfo_encrypted_response_alg.is_some()),
        ("userinfo_encrypted_response_enc", file.userinfo_encrypted_response_enc.is_some()),
    ];
    for (key, _) in asked.into_iter().filter(|(_, is_asked)| *is_asked) {
        let what = "asks for encryption, and on the standard platform answers are only signed";
        problems.push(source.problem(
            key,
            what,
            "remove it, or register this service provider on the high platform",
        ));
    }
}

fn on_high(
    source: &Source,
    file: &ServiceProvider,
    keys: &KeySource,
    problems: &mut Vec<Problem>,
) -> Option<AnswerEncryption> {
    if file.jwks.is_none() && file.jwks_uri.is_none() {
        let what = "is missing, and on the high platform tokens are encrypted to a key of the service provider";
        let mend = "add jwks = { file = \"…\" }, or jwks_uri, with a public key for encryption (use = \"enc\") and its kid";
        problems.push(source.problem("jwks", what, mend));
    }
    let Some(id_token) = file.id_token_encrypted_response_alg else {
        let what = "is missing, and on the high platform tokens are encrypted";
        let known = EncryptionAlg::ALL.map(EncryptionAlg::as_str).join(", ");
        let mend = format!(
            "write the one that the service provider is set to, of: {known}{}",
            offered(keys)
        );
        problems.push(source.problem("id_token_encrypted_response_alg", what, mend));
        return None;
    };
    let encryption = AnswerEncryption {
        id_token,
        userinfo: file.userinfo_encrypted_response_alg.unwrap_or(id_token),
    };
    let mut algs = vec![encryption.id_token, encryption.userinfo];
    algs.dedup();
    fitting(source, keys, &algs, problems);
    Some(encryption)
}

/// An inline key set must be able to encrypt with each of these algorithms; what a `jwks_uri` offers may change.
pub fn fitting(
    source: &Source,
    keys: &KeySource,
    algs: &[EncryptionAlg],
    problems: &mut Vec<Problem>,
) {
    let KeySource::Inline(keys) = keys else { return };
    for alg in algs.iter().filter(|alg| keys.encryption.choose(**alg).is_none()) {
        let why = keys
            .encryption
            .refusals()
            .iter()
            .map(|(index, reason)| format!("; key {} {reason}", index + 1));
        let what =
            format!("holds no key that {} can encrypt to{}", alg.as_str(), why.collect::<String>());
        let fitting = if *alg == EncryptionAlg::EcdhEs {
            "an EC key on P-256"
        } else {
            "an RSA key from 2048 bits"
        };
        let mend = format!(
            "add {fitting} with a kid and use = \"enc\", or choose another …_encrypted_response_alg"
        );
        problems.push(source.problem("jwks", what, mend));
    }
}

/// What a key set could be used with, for the one who looks for the right word.
fn offered(keys: &KeySource) -> String {
    let KeySource::Inline(keys) = keys else { return String::new() };
    let offered: Vec<_> = EncryptionAlg::ALL
        .into_iter()
        .filter(|alg| keys.encryption.choose(*alg).is_some())
        .collect();
    if offered.is_empty() {
        return String::new();
    }
    format!(
        " (its keys allow {})",
        offered.iter().map(|alg| alg.as_str()).collect::<Vec<_>>().join(", ")
    )
}

fn inline(source: &Source, jwks: &JwksSource, folder: &Path) -> Result<ClientKeys, Problem> {
    let mend = "write { file = \"…\" }, or [[jwks.keys]] tables; public keys only, EC on P-256 or RSA from 2048 bits, each with \
                a kid";
    let (key, bytes) = match (&jwks.file, jwks.keys.as_slice()) {
        (Some(path), []) => {
            let bytes = regular::read(&folder.join(path)).map_err(|_| {
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
fn fetched(source: &Source, given: &GivenKeys<'_>, uri: &str) -> Result<JwksUri, Problem> {
    let (schemes, http) = if given.insecure_http {
        (Schemes::HttpToo, Http::Anywhere)
    } else {
        (Schemes::HttpsOnly, Http::Nowhere)
    };
    let uri = address::absolute(uri, http)
        .map_err(|(what, mend)| source.problem("jwks_uri", what, mend))?;
    guard::admits(schemes, given.internal_hosts, &uri).map_err(|fault| {
        let mend = "publish the keys at a public address, or name the host in internal_hosts";
        source.problem("jwks_uri", format!("can't be called: {fault}"), mend)
    })?;
    Ok(JwksUri { uri, schemes, internal_hosts: given.internal_hosts.to_vec() })
}

#[cfg(test)]
mod tests;
