//! The service provider file of a registration: what `passerelle clients export` writes, and what
//! the rules of files are checked on.

use serde_json::{Value, json};

use super::ClientRegistrations;
use super::client_metadata::{AUTH_METHOD, DEFAULT_AUTH_METHOD, MetadataError};
use super::records::RegistrationRecord;
use passerelle_federation::ServiceProvider;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_settings::Diagnostic;

/// Keys of the file and the members that they come from, where the names differ.
const RENAMED_KEYS: [(&str, &str); 5] = [
    ("name", "client_name"),
    ("home_page", "client_uri"),
    ("scopes", "scope"),
    ("secrets", "token_endpoint_auth_method"),
    ("public_on_high", "token_endpoint_auth_method"),
];

/// Parts of corrections that only an operator could make.
const OPERATOR_FIXES: [&str; 4] = [
    " (or set insecure_http",
    ", or add the host to internal_hosts",
    "; or write public_on_high",
    " for an application without a server",
];

/// Parts of corrections that concern the syntax of files, and what a developer reads instead.
const FILE_SYNTAX: [(&str, &str); 2] = [
    ("write { file = \"…\" }, or [[jwks.keys]] tables; ", "send "),
    ("jwks = { file = \"…\" }", "jwks"),
];

impl ClientRegistrations {
    /// Returns the text of the file. It references no file and no variable, and has no setting that
    /// a client may not choose.
    ///
    /// # Errors
    /// Returns an error at a key that TOML can't express.
    pub(super) fn file_text(&self, record: &RegistrationRecord) -> Result<String, MetadataError> {
        let metadata = &record.metadata;
        let scopes: Vec<&str> = metadata.text("scope").unwrap_or_default().split(' ').collect();
        let mut file = json!({
            "client_id": record.client_id,
            "name": metadata.names(),
            "home_page": metadata.text("client_uri").unwrap_or_default(),
            "rules": self.rules,
            // The hub releases nothing that the user has not agreed to.
            "consent": "required",
            "scopes": scopes,
        });
        if let Some(file) = file.as_object_mut() {
            // Client libraries have different defaults. Without a method a client may use either
            // under openid rules; federation rules have another default than the standard.
            if self.rules == ProtocolRules::Federation {
                file.insert(AUTH_METHOD.to_owned(), DEFAULT_AUTH_METHOD.into());
            }
            for (name, value) in metadata.file_members() {
                file.insert(name.to_owned(), value.clone());
            }
            if let Some(keys) = metadata.keys() {
                file.insert("jwks".to_owned(), json!({ "keys": keys }));
            }
            if let Some(hash) = &record.secret_sha256 {
                file.insert("secrets".to_owned(), json!([{ "sha256": hash }]));
            }
        }
        to_toml(&file).ok_or_else(|| {
            let fix = "leave out members that are null, and numbers that are not whole";
            MetadataError::new("jwks", "contains a value that can't be registered", fix)
        })
    }

    /// Checks a registration by the rules of files.
    ///
    /// # Errors
    /// Returns the first problem, as the client reads it.
    pub(super) fn check_file(
        &self,
        record: &RegistrationRecord,
    ) -> Result<ServiceProvider, MetadataError> {
        let text = self.file_text(record)?;
        let checked = (self.services.check_client_file)(&text);
        checked.map_err(|problems| first_error(record, &problems))
    }
}

/// Returns the problem that the client reads first. The home page may be taken from a redirect URI,
/// which is then the one to correct.
fn first_error(record: &RegistrationRecord, problems: &[Diagnostic]) -> MetadataError {
    let of_redirect = problems.iter().find(|one| one.key.starts_with("redirect_uris"));
    match of_redirect.or_else(|| problems.first()) {
        Some(problem) if of_redirect.is_some() || record.metadata.text("client_uri").is_some() => {
            client_error(problem)
        }
        _ => {
            let fix = "add it: the https address of a page about the application";
            MetadataError::new("client_uri", "is missing, and no redirect URI has a host", fix)
        }
    }
}

fn to_toml(file: &Value) -> Option<String> {
    toml::to_string(&toml::Value::try_from(file).ok()?).ok()
}

/// Returns the problem of a file in the terms of the metadata.
fn client_error(problem: &Diagnostic) -> MetadataError {
    let key = problem.key.as_str();
    let (base, index) = key.split_at(key.find(['.', '[']).unwrap_or(key.len()));
    let renamed = RENAMED_KEYS.iter().find(|(known, _)| *known == base);
    let member = match renamed {
        Some((_, member)) => (*member).to_owned(),
        None if base == "jwks" => base.to_owned(),
        None => format!("{base}{index}"),
    };
    let fix = problem.fix.as_str();
    let end = OPERATOR_FIXES.iter().filter_map(|part| fix.find(part)).min().unwrap_or(fix.len());
    let fix = if fix.contains(".toml") {
        "register without it, or ask the operator of this hub"
    } else {
        fix.get(..end).unwrap_or(fix)
    };
    let fix = FILE_SYNTAX.iter().fold(fix.to_owned(), |fix, (file, json)| fix.replace(file, json));
    MetadataError::new(&member, &problem.message, &fix)
}
