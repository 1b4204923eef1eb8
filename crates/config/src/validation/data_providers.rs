//! Checks the files of data providers: who may introspect access tokens, for which scopes, and in
//! which response format. The folder is optional.

use std::collections::BTreeMap;
use std::path::Path;

use super::client_keys::{self, KeyDeclaration};
use super::{client_auth, consistency};
use crate::model::DataProviderFile;
use passerelle_federation::client_keys::KeySource;
use passerelle_federation::dated_secret::DatedSecret;
use passerelle_federation::identity::Claim;
use passerelle_federation::localized_text;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Scope;
use passerelle_settings::folder::parse_folder;
use passerelle_settings::{Diagnostic, SecretContext, SecretOwnerKind, SourceFile};

/// Folder of the files, in the configuration folder.
pub const FOLDER: &str = "data-providers";

/// A data provider with a valid file.
#[derive(Clone, Debug)]
pub struct CheckedDataProvider {
    /// The file.
    pub file: DataProviderFile,
    /// Expired, current and future secrets; at most two are valid at any time.
    pub secrets: Vec<DatedSecret>,
    /// Warning for the time in which none of them is valid.
    no_valid_secret: Option<Diagnostic>,
    /// Sector that its `sub` are derived for: the declared one, else the client_id.
    pub sector: String,
    /// Version of the subject key for its `sub`.
    pub subject_key_version: u32,
    /// Source of its public keys.
    pub keys: KeySource,
}

impl CheckedDataProvider {
    /// Returns a warning if no secret is valid at `now`, as for a service provider.
    #[must_use]
    pub fn no_valid_secret_warning(&self, now: Timestamp) -> Option<&Diagnostic> {
        self.no_valid_secret.as_ref().filter(|_| client_auth::none_valid(&self.secrets, now))
    }
}

/// Reads every file of the folder and reports those that can't be parsed.
pub fn read_drafts(
    folder: &Path,
    problems: &mut Vec<Diagnostic>,
) -> Vec<(SourceFile, DataProviderFile)> {
    if !folder.exists() {
        return Vec::new();
    }
    let fix = "make it readable; it has one .toml file for each data provider";
    parse_folder(folder, fix, problems)
}

/// Checks a file by itself. The result is valid only if `problems` did not grow.
pub fn check_file(
    source: &SourceFile,
    file: DataProviderFile,
    newest_subject_key: u32,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> CheckedDataProvider {
    let context = &context.for_file(SecretOwnerKind::DataProvider, source.path());
    consistency::check_client_id(source, &file.client_id, problems);
    localized_text::check_texts(source, "name", &file.name, problems);
    consistency::check_sector(source, file.sector.as_deref(), problems);
    let secrets = client_auth::read_secrets(source, &file.secrets, context, problems);
    if file.secrets.is_empty() {
        let message = "is empty, so it could never introspect a token";
        problems.push(source.diagnostic("secrets", message, "add one or two secrets"));
    }
    let keys =
        client_keys::read_key_source(source, &KeyDeclaration::from(&file), context, problems);
    check_response_format(source, &file, &keys, problems);
    let no_valid_secret = (!secrets.is_empty()).then(|| {
        let message = "contains no currently valid secret: every introspection by this data provider is rejected";
        source.diagnostic("secrets", message, "add a secret, or correct the dates")
    });
    let sector = file.sector.clone().unwrap_or_else(|| file.client_id.to_string());
    let subject_key_version = file.subject_key_version.unwrap_or(newest_subject_key);
    CheckedDataProvider { file, secrets, no_valid_secret, sector, subject_key_version, keys }
}

/// Reports unknown scopes, and scopes that would never let the data provider see anything: `openid`
/// alone, or a scope with only the e-mail address.
pub fn check_scopes(
    source: &SourceFile,
    file: &DataProviderFile,
    table: &BTreeMap<Scope, Vec<String>>,
    problems: &mut Vec<Diagnostic>,
) {
    consistency::check_scopes_are_known(
        source,
        ("scopes", &file.scopes),
        ("scopes", table),
        problems,
    );
    if file.scopes.iter().all(|scope| scope.as_str() == "openid") {
        let message = "contains only openid, so every token would be inactive to it";
        problems.push(source.diagnostic("scopes", message, "add the scopes that it needs"));
    }
    for (index, scope) in file.scopes.iter().enumerate() {
        let Some(claims) = table.get(scope).filter(|claims| !claims.is_empty()) else { continue };
        if claims.iter().all(|claim| claim == Claim::Email.as_str()) {
            let message = "contains only the e-mail address, which data providers never receive";
            problems.push(source.diagnostic(&format!("scopes[{index}]"), message, "remove it"));
        }
    }
}

/// Checks the response format: an encrypted response must be signed (RFC 9701 §5), and there must
/// be a key to encrypt to.
fn check_response_format(
    source: &SourceFile,
    file: &DataProviderFile,
    keys: &KeySource,
    problems: &mut Vec<Diagnostic>,
) {
    let mut report =
        |key: &str, message: &str, fix: &str| problems.push(source.diagnostic(key, message, fix));
    let Some(alg) = file.introspection_encrypted_response_alg else {
        if file.introspection_encrypted_response_enc.is_some() {
            let message = "sets the content encryption, but responses are not encrypted";
            report(
                "introspection_encrypted_response_enc",
                message,
                "remove it, or add introspection_encrypted_response_alg",
            );
        }
        if file.jwks.is_some() || file.jwks_uri.is_some() {
            let key = if file.jwks.is_some() { "jwks" } else { "jwks_uri" };
            report(
                key,
                "contains keys, but responses are not encrypted",
                "remove it, or add introspection_encrypted_response_alg",
            );
        }
        return;
    };
    if file.introspection_signed_response_alg.is_none() {
        let message = "requires encryption, but only signed responses are encrypted";
        let fix = "add introspection_signed_response_alg, ES256 or RS256";
        report("introspection_encrypted_response_alg", message, fix);
    }
    if file.jwks.is_none() && file.jwks_uri.is_none() {
        let message = "is missing, but responses must be encrypted to a key of the data provider";
        report(
            "jwks",
            message,
            "add jwks = { file = \"…\" }, or jwks_uri, with a public key for encryption (use = \"enc\") and its kid",
        );
    }
    client_keys::check_encryption_keys(source, keys, &[alg], problems);
}

impl<'a> From<&'a DataProviderFile> for KeyDeclaration<'a> {
    fn from(file: &'a DataProviderFile) -> Self {
        Self {
            jwks: file.jwks.as_ref(),
            jwks_uri: file.jwks_uri.as_deref(),
            internal_hosts: &file.internal_hosts,
            insecure_http: file.insecure_http,
        }
    }
}

#[cfg(test)]
mod tests;
