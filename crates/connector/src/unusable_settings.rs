//! What keeps a connector from being built although its file is well formed: the key, what is wrong
//! and how to fix it.

use passerelle_egress::safe_http_client::EgressError;
use passerelle_settings::FieldDiagnostic;

/// Returns the error of a key without the hub's secret at the identity provider.
pub fn missing_secret(key: &str) -> FieldDiagnostic {
    let fix = "set it to the file or the environment variable with the secret: { file = \"…\" } or { env = \"…\" }";
    FieldDiagnostic::new(key, "is missing", fix)
}

/// Returns the error of a key whose address can't be parsed.
pub fn not_absolute(key: &str) -> FieldDiagnostic {
    let fix = "copy it from the identity provider's documents; it starts with https:// and a host";
    FieldDiagnostic::new(key, "is not an absolute URL", fix)
}

/// Returns the error of a key whose address the hub must not call.
pub fn forbidden_address(key: &str, error: &EgressError) -> FieldDiagnostic {
    let fix = "write an https address of a public host, or add the host to internal_hosts";
    FieldDiagnostic::new(key, format!("can't be called: {error}"), fix)
}

/// Returns the error of a key that names an unusable file of authorities.
pub fn unusable_ca_bundle(key: &str, why: &str) -> FieldDiagnostic {
    let fix = "write only the certificates of the authorities into the file, in PEM";
    FieldDiagnostic::new(key, format!("names a file that can't be used: {why}"), fix)
}
