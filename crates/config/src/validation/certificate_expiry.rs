//! Warns about the certificates of the configuration before they expire.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use passerelle_egress::certificates::{MIN_CERTIFICATE_DAYS, earliest_expiry};
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;
use passerelle_settings::{Diagnostic, Environment, SourceFile, safe_read};

/// Keys that name PEM files of certificates, without the tables around them.
const CERTIFICATE_KEYS: [&str; 6] =
    ["ca", "certificate", "client_certificate", "signers", "status_trust_anchors", "trust_anchors"];

/// When the first certificate of a key expires.
#[derive(Clone, Debug)]
pub struct CertificateExpiry {
    expires_at: Timestamp,
    warning: Diagnostic,
}

impl CertificateExpiry {
    /// Returns the warning if the certificate has expired, or expires soon after `now`.
    #[must_use]
    pub fn warning_at(&self, now: Timestamp) -> Option<&Diagnostic> {
        let warned = Duration::from_secs(MIN_CERTIFICATE_DAYS.unsigned_abs() * 24 * 3600);
        (self.expires_at < now + warned).then_some(&self.warning)
    }
}

/// Returns the expiry of each certificate that the files reference. Skips those that can't be read.
pub fn certificate_expiries(
    files: &[&SourceFile],
    folder: &Path,
    environment: &Environment,
) -> Vec<CertificateExpiry> {
    files.iter().flat_map(|source| expiries_of_file(source, folder, environment)).collect()
}

fn expiries_of_file(
    source: &SourceFile,
    folder: &Path,
    environment: &Environment,
) -> Vec<CertificateExpiry> {
    // The texts of the overlay come last, and override those of the file.
    let references: BTreeMap<String, String> = source.keyed_texts().into_iter().collect();
    let expiry = |(key, text): (String, String)| {
        let pem = match certificate_source(&key)? {
            CertificateSource::File => {
                let bytes = safe_read::read_regular_file(&folder.join(text)).ok()?;
                // May contain the private key too.
                Secret::new(String::from_utf8(bytes).ok()?)
            }
            CertificateSource::Variable if environment.is_without_secrets() => return None,
            CertificateSource::Variable => Secret::new(environment.var(&text)?.to_owned()),
        };
        let expires_at = earliest_expiry(pem.reveal().as_bytes())?;
        let until = format_rfc3339(expires_at);
        let message = format!("references a certificate whose validity ends at {until}");
        let fix = "replace it with a new one before it expires (docs/runbooks.md)";
        Some(CertificateExpiry { expires_at, warning: source.diagnostic(&key, message, fix) })
    };
    references.into_iter().filter_map(expiry).collect()
}

#[derive(Clone, Copy)]
enum CertificateSource {
    File,
    Variable,
}

/// Returns where the certificate of a key is; `None` for another key.
fn certificate_source(key: &str) -> Option<CertificateSource> {
    let (key, source) = match (key.strip_suffix(".file"), key.strip_suffix(".env")) {
        (_, Some(key)) => (key, CertificateSource::Variable),
        (key_of_file, None) => (key_of_file.unwrap_or(key), CertificateSource::File),
    };
    let name = key.rsplit('.').next()?.split('[').next()?;
    CERTIFICATE_KEYS.contains(&name).then_some(source)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// A new kind of connector, store or register must not have a certificate that no one watches.
    #[test]
    fn every_key_for_certificates_in_the_schemas_is_watched() {
        let schemas = [
            include_str!("../../../../config/schemas/connector.schema.json"),
            include_str!("../../../../config/schemas/passerelle.schema.json"),
        ];
        let mut keys = std::collections::BTreeSet::new();
        for schema in schemas {
            collect_certificate_keys(&serde_json::from_str(schema).unwrap(), &mut keys);
        }
        assert_eq!(keys.into_iter().collect::<Vec<_>>(), CERTIFICATE_KEYS);
    }

    fn collect_certificate_keys(schema: &Value, keys: &mut std::collections::BTreeSet<String>) {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let description = property.get("description").and_then(Value::as_str);
            let description = description.unwrap_or_default().to_ascii_lowercase();
            let is_key = description.contains("key of the certificate")
                || description.contains("private key");
            if description.contains("pem") && !is_key {
                keys.insert(name.clone());
            }
        }
        let members = schema.as_object().into_iter().flat_map(|members| members.values());
        let items = schema.as_array().into_iter().flatten();
        members.chain(items).for_each(|inner| collect_certificate_keys(inner, keys));
    }
}
