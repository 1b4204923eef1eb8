//! Reads the public keys of service providers and data providers from their files, and checks that
//! they fit the response encryption.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use crate::model::{JwksSource, ServiceProviderFile};
use passerelle_egress::safe_http_client::{self, AllowedSchemes};
use passerelle_federation::client_keys::{JwksUri, KeySource, ResponseEncryptionAlgs};
use passerelle_jose::ClientKeys;
use passerelle_protocol::acr::Platform;
use passerelle_protocol::alg::EncryptionAlg;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_settings::address::{self, PlainHttp};
use passerelle_settings::{Diagnostic, FileCheck, SecretContext, SourceFile, safe_read};

/// The fields of a client's file that concern its keys.
#[derive(Clone, Copy)]
pub(crate) struct KeyDeclaration<'a> {
    /// Inline key set.
    pub jwks: Option<&'a JwksSource>,
    /// URL of the key set.
    pub jwks_uri: Option<&'a str>,
    /// Hosts of `jwks_uri` that may have internal addresses.
    pub internal_hosts: &'a [String],
    /// Allows http for `jwks_uri`.
    pub insecure_http: bool,
}

impl<'a> From<&'a ServiceProviderFile> for KeyDeclaration<'a> {
    fn from(file: &'a ServiceProviderFile) -> Self {
        Self {
            jwks: file.jwks.as_ref(),
            jwks_uri: file.jwks_uri.as_deref(),
            // Without a jwks_uri, they are those of the back-channel logout endpoint.
            internal_hosts: match (&file.jwks_uri, &file.backchannel_logout_uri) {
                (None, Some(_)) => &[],
                _ => &file.internal_hosts,
            },
            insecure_http: file.insecure_http,
        }
    }
}

/// Reads the keys. Returns [`KeySource::None`] and reports a problem if they are invalid.
pub(crate) fn read_key_source(
    check: &mut FileCheck<'_>,
    given: &KeyDeclaration<'_>,
    context: &SecretContext<'_>,
) -> KeySource {
    if given.jwks_uri.is_none() && !given.internal_hosts.is_empty() {
        let message = "names hosts, but the file has no address that the hub calls";
        check.report("internal_hosts", message, "remove it, or add jwks_uri");
    }
    check.check_hosts("internal_hosts", given.internal_hosts);
    let found = match (given.jwks, given.jwks_uri) {
        (None, None) => Ok(KeySource::None),
        (Some(jwks), None) => parse_inline_keys(check.source, jwks, context.folder)
            .map(|keys| KeySource::Inline(Arc::new(keys))),
        (None, Some(uri)) => parse_jwks_uri(check.source, given, uri).map(KeySource::Uri),
        (Some(_), Some(_)) => Err(check.source.diagnostic(
            "jwks_uri",
            "can't be combined with jwks",
            "remove one of the two",
        )),
    };
    check.collect(found).unwrap_or(KeySource::None)
}

/// Returns the encryption of a service provider's responses: required on the high platform, as
/// registered under `rules = "openid"`, and otherwise rejected. The algorithm is explicit rather
/// than derived from the keys, so that adding a key doesn't change it.
pub(crate) fn response_encryption(
    check: &mut FileCheck<'_>,
    file: &ServiceProviderFile,
    keys: &KeySource,
    platform: Platform,
) -> ResponseEncryptionAlgs {
    let mut algs = ResponseEncryptionAlgs {
        id_token: file.id_token_encrypted_response_alg,
        userinfo: file.userinfo_encrypted_response_alg,
    };
    match (platform, file.rules) {
        (Platform::High, _) => {
            algs.userinfo = algs.userinfo.or(algs.id_token);
            if algs.id_token.is_none() {
                report_missing_encryption(check, keys);
            }
        }
        (Platform::Standard, ProtocolRules::Openid) => check_content_encryption(check, file),
        (Platform::Standard, ProtocolRules::Federation) => {
            reject_encryption(check, file);
            return ResponseEncryptionAlgs::default();
        }
    }
    let is_encrypted = platform == Platform::High || algs.iter().next().is_some();
    if is_encrypted && file.jwks.is_none() && file.jwks_uri.is_none() {
        let message = "is missing, but its tokens are encrypted to a key of the service provider";
        let fix = "add jwks = { file = \"…\" }, or jwks_uri, with a public key for encryption (use = \"enc\") and its kid";
        check.report("jwks", message, fix);
    }
    let mut needed: Vec<EncryptionAlg> = algs.iter().collect();
    needed.dedup();
    check_encryption_keys(check, keys, &needed);
    algs
}

fn reject_encryption(check: &mut FileCheck<'_>, file: &ServiceProviderFile) {
    let encryption_keys = [
        ("id_token_encrypted_response_alg", file.id_token_encrypted_response_alg.is_some()),
        ("id_token_encrypted_response_enc", file.id_token_encrypted_response_enc.is_some()),
        ("userinfo_encrypted_response_alg", file.userinfo_encrypted_response_alg.is_some()),
        ("userinfo_encrypted_response_enc", file.userinfo_encrypted_response_enc.is_some()),
    ];
    let message =
        "requires encryption, but the specification only signs responses on the standard platform";
    let fix = "remove it; write rules = \"openid\", if the service uses plain OpenID Connect; or register it on the high platform";
    check.report_each_set(encryption_keys, message, fix);
}

fn check_content_encryption(check: &mut FileCheck<'_>, file: &ServiceProviderFile) {
    let without_alg = [
        (
            "id_token_encrypted_response_enc",
            file.id_token_encrypted_response_enc.is_some()
                && file.id_token_encrypted_response_alg.is_none(),
        ),
        (
            "userinfo_encrypted_response_enc",
            file.userinfo_encrypted_response_enc.is_some()
                && file.userinfo_encrypted_response_alg.is_none(),
        ),
    ];
    let message = "is set, but no algorithm is registered to encrypt with";
    check.report_each_set(
        without_alg,
        message,
        "add the setting that ends with _alg, or remove it",
    );
}

fn report_missing_encryption(check: &mut FileCheck<'_>, keys: &KeySource) {
    let message = "is missing, but on the high platform tokens are encrypted";
    let known = EncryptionAlg::ALL.map(EncryptionAlg::as_str).join(", ");
    let fix = format!(
        "write the algorithm that the service provider uses, one of: {known}{}",
        usable_algorithms(keys)
    );
    check.report("id_token_encrypted_response_alg", message, fix);
}

/// Checks that an inline key set has a key for each algorithm. Keys at a `jwks_uri` may change and
/// are not checked.
pub(crate) fn check_encryption_keys(
    check: &mut FileCheck<'_>,
    keys: &KeySource,
    algs: &[EncryptionAlg],
) {
    let KeySource::Inline(keys) = keys else { return };
    for alg in algs.iter().filter(|alg| keys.encryption.select(**alg).is_none()) {
        let why = keys
            .encryption
            .rejected()
            .iter()
            .map(|(index, reason)| format!("; key {} {reason}", index + 1));
        let message = format!(
            "contains no key that {} can encrypt to{}",
            alg.as_str(),
            why.collect::<String>()
        );
        let fitting = if *alg == EncryptionAlg::EcdhEs {
            "an EC key on P-256"
        } else {
            "an RSA key of 2048 to 4096 bits"
        };
        let fix = format!(
            "add {fitting} with a kid and use = \"enc\", or choose another …_encrypted_response_alg"
        );
        check.report("jwks", message, fix);
    }
}

/// Lists the algorithms that an inline key set supports.
fn usable_algorithms(keys: &KeySource) -> String {
    let KeySource::Inline(keys) = keys else { return String::new() };
    let offered: Vec<_> = EncryptionAlg::ALL
        .into_iter()
        .filter(|alg| keys.encryption.select(*alg).is_some())
        .collect();
    if offered.is_empty() {
        return String::new();
    }
    format!(
        " (its keys allow {})",
        offered.iter().map(|alg| alg.as_str()).collect::<Vec<_>>().join(", ")
    )
}

fn parse_inline_keys(
    source: &SourceFile,
    jwks: &JwksSource,
    folder: &Path,
) -> Result<ClientKeys, Diagnostic> {
    let fix = "write { file = \"…\" }, or [[jwks.keys]] tables; public keys only, EC on P-256 or RSA of 2048 to 4096 bits, each with \
                a kid";
    let (key, bytes) = match (&jwks.file, jwks.keys.as_slice()) {
        (Some(path), []) => {
            let bytes = safe_read::read_regular_file(&folder.join(path)).map_err(|_| {
                let fix =
                    "create the JWK Set file; the path is relative to the configuration folder";
                source.diagnostic("jwks.file", "names a file that is missing or can't be read", fix)
            })?;
            ("jwks.file", bytes)
        }
        (None, [_, ..]) => ("jwks.keys", json!({ "keys": jwks.keys }).to_string().into_bytes()),
        (None, []) => return Err(source.diagnostic("jwks", "contains no key", fix)),
        (Some(_), [_, ..]) => {
            return Err(source.diagnostic("jwks", "contains both a file and keys", fix));
        }
    };
    ClientKeys::from_jwks(&bytes).map_err(|error| source.diagnostic(key, error.to_string(), fix))
}

/// Parses `jwks_uri`. Allows http only with `insecure_http`, also on loopback.
fn parse_jwks_uri(
    source: &SourceFile,
    given: &KeyDeclaration<'_>,
    uri: &str,
) -> Result<JwksUri, Diagnostic> {
    let (schemes, http) = if given.insecure_http {
        (AllowedSchemes::HttpAndHttps, PlainHttp::Anywhere)
    } else {
        (AllowedSchemes::HttpsOnly, PlainHttp::Nowhere)
    };
    let uri = address::parse_absolute_url(uri, http)
        .map_err(|error| source.locate(error.at("jwks_uri")))?;
    safe_http_client::check_url(schemes, given.internal_hosts, &uri).map_err(|error| {
        let fix = "publish the keys at a public address, or add the host to internal_hosts";
        source.diagnostic("jwks_uri", format!("can't be called: {error}"), fix)
    })?;
    Ok(JwksUri { uri, schemes, internal_hosts: given.internal_hosts.to_vec() })
}

#[cfg(test)]
mod tests;
