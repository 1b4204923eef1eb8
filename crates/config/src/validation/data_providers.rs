//! Checks the files of data providers: who may introspect access tokens, for which scopes, and in
//! which response format. The folder is optional.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::client_auth::NoValidSecret;
use super::client_keys::{self, KeyDeclaration};
use super::scopes::NamedScopeTable;
use super::{client_auth, consistency};
use crate::model::DataProviderFile;
use passerelle_federation::client_keys::KeySource;
use passerelle_federation::identity::Claim;
use passerelle_federation::localized_text::{self, MAX_NAME_CHARS};
use passerelle_federation::{DataProvider, IntrospectionResponseFormat};
use passerelle_protocol::ids::Scope;
use passerelle_settings::toml_folder::parse_folder;
use passerelle_settings::{Diagnostic, FileCheck, SecretContext, SecretOwnerKind, SourceFile};

/// Folder of the files, in the configuration folder.
pub const FOLDER: &str = "data-providers";

/// A data provider with a valid file.
#[derive(Clone, Debug)]
pub struct CheckedDataProvider {
    /// The file.
    pub file: DataProviderFile,
    /// The form that the rest of the hub uses.
    pub data_provider: Arc<DataProvider>,
    /// It is not an error, so that an expired secret does not prevent a restart of the hub.
    pub no_valid_secret: Option<NoValidSecret>,
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
    check: &mut FileCheck<'_>,
    file: DataProviderFile,
    newest_subject_key: u32,
    context: &SecretContext<'_>,
) -> CheckedDataProvider {
    let context = &context.for_file(SecretOwnerKind::DataProvider, check.source.path());
    consistency::check_client_id(check, &file.client_id);
    localized_text::check_texts(check, "name", &file.name, MAX_NAME_CHARS);
    consistency::check_sector(check, file.sector.as_deref());
    let secrets = client_auth::read_secrets(check, &file.secrets, context);
    if file.secrets.is_empty() {
        let message = "is empty, so it could never introspect a token";
        check.report("secrets", message, "add one or two secrets");
    }
    let keys = client_keys::read_key_source(check, &KeyDeclaration::from(&file), context);
    check_response_format(check, &file, &keys);
    let message =
        "contains no currently valid secret: every introspection by this data provider is rejected";
    let no_valid_secret = NoValidSecret::new(check, &secrets, message);
    let data_provider = DataProvider {
        client_id: file.client_id.clone(),
        active: file.active,
        secrets,
        scopes: file.scopes.clone(),
        sector: file.sector.clone().unwrap_or_else(|| file.client_id.to_string()),
        subject_key_version: file.subject_key_version.unwrap_or(newest_subject_key),
        response_format: file.introspection_signed_response_alg.map_or(
            IntrospectionResponseFormat::Json,
            |alg| IntrospectionResponseFormat::Jwt {
                alg,
                encryption: file.introspection_encrypted_response_alg,
            },
        ),
        keys,
    };
    CheckedDataProvider { file, data_provider: Arc::new(data_provider), no_valid_secret }
}

/// Reports unknown scopes, and scopes that would never let the data provider see anything: `openid`
/// alone, or a scope with only the e-mail address.
pub fn check_scopes(
    check: &mut FileCheck<'_>,
    file: &DataProviderFile,
    table: &BTreeMap<Scope, Vec<String>>,
) {
    let named = NamedScopeTable { name: "scopes", scopes: table };
    consistency::check_scopes_are_known(check, &file.scopes, named);
    if file.scopes.iter().all(|scope| scope.as_str() == "openid") {
        let message = "contains only openid, so every token would be inactive to it";
        check.report("scopes", message, "add the scopes that it needs");
    }
    for (index, scope) in file.scopes.iter().enumerate() {
        let Some(claims) = table.get(scope).filter(|claims| !claims.is_empty()) else { continue };
        if claims.iter().all(|claim| claim == Claim::Email.as_str()) {
            let message = "contains only the e-mail address, which data providers never receive";
            check.report(&format!("scopes[{index}]"), message, "remove it");
        }
    }
}

/// Checks the response format: an encrypted response must be signed (RFC 9701 §5), and there must
/// be a key to encrypt to.
fn check_response_format(check: &mut FileCheck<'_>, file: &DataProviderFile, keys: &KeySource) {
    let Some(alg) = file.introspection_encrypted_response_alg else {
        if file.introspection_encrypted_response_enc.is_some() {
            let message = "sets the content encryption, but responses are not encrypted";
            check.report(
                "introspection_encrypted_response_enc",
                message,
                "remove it, or add introspection_encrypted_response_alg",
            );
        }
        if file.jwks.is_some() || file.jwks_uri.is_some() {
            let key = if file.jwks.is_some() { "jwks" } else { "jwks_uri" };
            check.report(
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
        check.report("introspection_encrypted_response_alg", message, fix);
    }
    if file.jwks.is_none() && file.jwks_uri.is_none() {
        let message = "is missing, but responses must be encrypted to a key of the data provider";
        check.report(
            "jwks",
            message,
            "add jwks = { file = \"…\" }, or jwks_uri, with a public key for encryption (use = \"enc\") and its kid",
        );
    }
    client_keys::check_encryption_keys(check, keys, &[alg]);
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
