//! Warns about the certificates of the configuration before they expire.

use std::path::{Path, PathBuf};
use std::time::Duration;

use passerelle_egress::certificate_expiry::{MIN_CERTIFICATE_DAYS, earliest_expiry};
use passerelle_federation::validity::format_rfc3339;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;
use passerelle_settings::{CertificateLocation, Diagnostic, Environment, SourceFile, safe_read};

/// When the first certificate of a key expires.
#[derive(Clone, Debug)]
pub struct CertificateExpiry {
    expires_at: Timestamp,
    /// The file whose key, or the variable that overrides it, references the certificate.
    file: PathBuf,
    warning: Diagnostic,
}

impl CertificateExpiry {
    /// Returns the warning if the certificate has expired, or expires soon after `now`.
    pub fn warning_at(&self, now: Timestamp) -> Option<&Diagnostic> {
        let warned = Duration::from_secs(MIN_CERTIFICATE_DAYS.unsigned_abs() * 24 * 3600);
        (self.expires_at < now + warned).then_some(&self.warning)
    }

    /// Returns whether this file references the certificate, or a variable that overrides its key.
    pub fn is_referenced_by(&self, file: &Path) -> bool {
        self.file == file
    }
}

/// Returns the expiry of each certificate that the files reference. Skips those that can't be read.
pub(crate) fn certificate_expiries(
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
    let expiry = |(key, location): (String, CertificateLocation)| {
        let pem = match location {
            CertificateLocation::File(file) => {
                let bytes = safe_read::read_regular_file(&folder.join(file)).ok()?;
                // May contain the private key too.
                Secret::new(String::from_utf8(bytes).ok()?)
            }
            CertificateLocation::Variable(_) if environment.is_without_secrets() => return None,
            CertificateLocation::Variable(name) => Secret::new(environment.var(&name)?.to_owned()),
        };
        let expires_at = earliest_expiry(pem.reveal().as_bytes())?;
        let until = format_rfc3339(expires_at);
        let message = format!("references a certificate whose validity ends at {until}");
        let fix = "replace it with a new one before it expires (docs/runbooks.md)";
        let warning = source.diagnostic(&key, message, fix);
        Some(CertificateExpiry { expires_at, file: source.path().to_owned(), warning })
    };
    source.certificates().into_iter().filter_map(expiry).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use passerelle_settings::FileRole;

    /// A new kind of connector, store or register must not have a certificate that no one watches.
    #[test]
    fn every_key_for_certificates_in_the_schemas_has_a_type_that_is_watched() {
        let schemas = [
            include_str!("../../../../config/schemas/connector.schema.json"),
            include_str!("../../../../config/schemas/passerelle.schema.json"),
        ];
        let (mut watched, mut unwatched) = (Vec::new(), Vec::new());
        for schema in schemas {
            let schema: Value = serde_json::from_str(schema).unwrap();
            collect_certificate_keys(&schema, &schema, &mut watched, &mut unwatched);
        }
        assert_eq!(unwatched, [""; 0], "use a type of crates/settings/src/file_path.rs");
        assert!(watched.len() > 10, "{watched:?}");
    }

    /// Sorts the keys whose description speaks of certificates in PEM.
    fn collect_certificate_keys(
        root: &Value,
        schema: &Value,
        watched: &mut Vec<String>,
        unwatched: &mut Vec<String>,
    ) {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let description = property.get("description").and_then(Value::as_str);
            let description = description.unwrap_or_default().to_ascii_lowercase();
            let is_key = description.contains("key of the certificate")
                || description.contains("private key");
            if description.contains("pem") && !is_key {
                let has_type = names_certificates(root, property);
                let list = if has_type { &mut *watched } else { &mut *unwatched };
                list.push(name.clone());
            }
        }
        let members = schema.as_object().into_iter().flat_map(|members| members.values());
        let items = schema.as_array().into_iter().flatten();
        for inner in members.chain(items) {
            collect_certificate_keys(root, inner, watched, unwatched);
        }
    }

    fn names_certificates(root: &Value, property: &Value) -> bool {
        let format = property.get("format").and_then(Value::as_str);
        let is_path = |role: FileRole| role.has_certificates();
        let options = property.get("anyOf").and_then(Value::as_array).into_iter().flatten();
        let reference = property.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|name| root.pointer(name.trim_start_matches('#')));
        let fields = property.get("properties").and_then(Value::as_object);
        let fields = fields.into_iter().flat_map(|fields| fields.values());
        format.and_then(FileRole::from_format).is_some_and(is_path)
            || options.chain(target).chain(fields).any(|inner| names_certificates(root, inner))
    }
}
