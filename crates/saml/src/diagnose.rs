//! Checks a connector, for `passerelle check connector`.

use crate::connector::SamlConnector;
use crate::metadata::IdentityProviderMetadata;
use crate::service_provider_keys::DeviceDecryptionLimits;
use passerelle_connector::diagnostic::{CheckDiagnostic, DiagnosisContext};
use passerelle_connector::hub_page::base_url_from_redirect_uri;

impl SamlConnector {
    /// Fetches the metadata, and reports what of it a login needs.
    pub(crate) async fn diagnose_metadata(
        &self,
        context: &DiagnosisContext,
    ) -> Vec<CheckDiagnostic> {
        let metadata = match self.metadata.fetch().await {
            Ok(metadata) => metadata,
            Err(error) => {
                let fix = "correct the source of the metadata in the file; docs/errors.md explains the code";
                return vec![CheckDiagnostic::error("metadata", error.to_string(), fix)];
            }
        };
        let mut diagnostics = vec![key_diagnostic(&metadata)];
        let now = self.env.now();
        // Fetched metadata is renewed long before its end.
        let end = metadata.valid_until.filter(|end| *end <= now || !self.metadata.is_remote());
        let fix = "download the metadata again before its validUntil";
        diagnostics.extend(end.map(|end| CheckDiagnostic::validity("validity", end, now, fix)));
        let fix =
            "add a key and a certificate to private_keys, publish them, then remove the old ones";
        let end = self.keys.expires_at();
        diagnostics.extend(end.map(|end| CheckDiagnostic::validity("certificate", end, now, fix)));
        let limits = self.keys.device_decryption_limits(now);
        diagnostics.extend(limits.map(encryption_diagnostic));
        diagnostics.push(match self.single_sign_on(&metadata) {
            Err(error) => {
                let fix = "remove request_binding, or correct the metadata";
                CheckDiagnostic::error("request", error.to_string(), fix)
            }
            Ok((binding, endpoint)) => {
                let signed = if self.signs_requests(&metadata) { "signed" } else { "unsigned" };
                let message = format!("{signed} requests go to {} by {binding}", endpoint.location);
                CheckDiagnostic::ok("request", message)
            }
        });
        diagnostics.extend(base_url_from_redirect_uri(&context.redirect_uri, &self.id).map(
            |base| {
                let hub = self.service_provider(base);
                let message = format!(
                    "the identity provider must know the hub as {} with the address {}",
                    hub.entity_id, hub.consumer_url
                );
                CheckDiagnostic::ok("registration", message)
            },
        ));
        diagnostics
    }
}

/// Reports which encryption a login needs: the identity provider chooses it, and devices differ.
fn encryption_diagnostic(limits: DeviceDecryptionLimits) -> CheckDiagnostic {
    const SHA1: &str = "RSA-OAEP with SHA-1 (rsa-oaep-mgf1p), the usual form";
    const SHA256: &str = "RSA-OAEP with SHA-256 for both parts (rsa-oaep with mgf1sha256)";
    let DeviceDecryptionLimits { location, has_sha1, has_sha256 } = limits;
    let (can, cannot) = match (has_sha1, has_sha256) {
        (true, true) => {
            let message =
                format!("the hub's key in {} decrypts {SHA1}, and {SHA256}", location.as_str());
            return CheckDiagnostic::ok("encryption", message);
        }
        (true, false) => (SHA1, SHA256),
        (false, _) => (SHA256, SHA1),
    };
    CheckDiagnostic::warning(
        "encryption",
        format!("the hub's key in {} decrypts {can}, and not {cannot}", location.as_str()),
        "if the identity provider encrypts, let it use that form; or set private_keys, whose key decrypts each form",
    )
}

fn key_diagnostic(metadata: &IdentityProviderMetadata) -> CheckDiagnostic {
    let usable = metadata.signing_keys.len();
    if metadata.skipped_keys == 0 {
        let message = format!("{} signs with one of {usable} keys", metadata.entity_id);
        return CheckDiagnostic::ok("metadata", message);
    }
    CheckDiagnostic::warning(
        "metadata",
        format!("{usable} of its keys are used, and {} can't be", metadata.skipped_keys),
        "ask the identity provider for certificates with RSA keys of 2048 to 4096 bits, or on P-256 or P-384",
    )
}
