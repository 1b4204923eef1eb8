//! Checks the `[kind.saml]` table.

use std::path::PathBuf;

use super::TRANSIENT;
use super::settings::SamlKind;
use passerelle_connector::kind_settings::{KindCheck, KindSettings};
use passerelle_protocol::ids::Secret;
use passerelle_settings::address::PlainHttp;

/// Longest entity ID (SAML V2.0 Core §8.3.6).
const MAX_ENTITY_ID_CHARS: usize = 1024;

impl KindSettings for SamlKind {
    fn check(&self, check: &mut KindCheck<'_>) -> Option<Secret<String>> {
        check.check_levels();
        check_entity_id(check, "entity_id", &self.entity_id);
        if let Some(own) = &self.service_provider_entity_id {
            check_entity_id(check, "service_provider_entity_id", own);
        }
        self.check_metadata(check);
        self.check_subject(check);
        self.check_description(check);
        check.check_hosts("internal_hosts", &self.internal_hosts);
        self.private_keys.as_ref().and_then(|keys| check.secret("private_keys", keys))
    }

    fn file_paths_mut(&mut self) -> Vec<(&'static str, &mut PathBuf)> {
        let metadata = self.metadata_file.iter_mut().map(|path| ("metadata_file", path.as_mut()));
        let signers =
            self.metadata_signers.iter_mut().map(|path| ("metadata_signers", path.as_mut()));
        let ca = self.ca.iter_mut().map(|path| ("ca", path.as_mut()));
        metadata.chain(signers).chain(ca).collect()
    }

    /// `ForceAuthn` asks for it, and `AuthnInstant` proves it.
    fn reauthenticates(&self) -> bool {
        true
    }

    fn accepts_backchannel_logout(&self) -> bool {
        self.single_logout
    }

    fn own_keys_setting(&self) -> Option<&'static str> {
        self.private_keys.is_none().then_some("private_keys")
    }

    fn addresses(&self) -> Vec<&str> {
        self.metadata_url.iter().chain(&self.metadata_query_url).map(String::as_str).collect()
    }

    fn insecure_key(&self) -> Option<&'static str> {
        self.insecure_http.then_some("insecure_http")
    }
}

impl SamlKind {
    fn check_metadata(&self, check: &mut KindCheck<'_>) {
        let sources = [
            ("metadata_file", self.metadata_file.is_some()),
            ("metadata_url", self.metadata_url.is_some()),
            ("metadata_query_url", self.metadata_query_url.is_some()),
        ];
        let mut given = sources.iter().filter(|(_, is_set)| *is_set).map(|(key, _)| *key);
        match (given.next(), given.next()) {
            (None, _) => {
                let message =
                    "is missing, so nothing says with which keys the identity provider signs";
                let fix = "write metadata_file = \"idp.xml\" with its metadata, or metadata_url or metadata_query_url with metadata_signers";
                return check.report("metadata_file", message, fix);
            }
            (Some(_), Some(second)) => {
                let message = "is set beside another source of the metadata";
                let fix = "keep the one that your federation names";
                return check.report(second, message, fix);
            }
            (Some(_), None) => {}
        }
        let http = PlainHttp::anywhere_if(self.insecure_http);
        let addresses = [
            ("metadata_url", &self.metadata_url),
            ("metadata_query_url", &self.metadata_query_url),
        ];
        let addresses = addresses.into_iter().filter_map(|(key, url)| Some((key, url.as_ref()?)));
        let mut is_fetched = false;
        for (key, url) in addresses {
            is_fetched = true;
            check.check_url(key, url, http);
        }
        match (is_fetched, &self.metadata_signers) {
            (true, None) => {
                let message = "is missing, so anyone on the way could replace the metadata";
                let fix = "write the file with the certificate that your federation publishes for it; if the identity provider does not sign its metadata, verify a copy and write metadata_file";
                check.report("metadata_signers", message, fix);
            }
            (false, Some(_)) => {
                let message = "has no effect on metadata_file, which you have verified";
                check.report("metadata_signers", message, "remove it");
            }
            _ => {}
        }
    }

    fn check_subject(&self, check: &mut KindCheck<'_>) {
        if let Some(attribute) = &self.subject_attribute {
            let fix = "write the Name of an attribute, for example \"urn:oasis:names:tc:SAML:attribute:subject-id\"";
            check.require_text("subject_attribute", attribute, fix);
        } else if self.name_id_format.as_deref() == Some(TRANSIENT) {
            let message =
                "is transient, which differs at each login, and there is no subject_attribute";
            let fix = "write subject_attribute = \"urn:oasis:names:tc:SAML:attribute:subject-id\", or another format";
            check.report("name_id_format", message, fix);
        }
        if let Some(format) = &self.name_id_format {
            let fix =
                "write \"urn:oasis:names:tc:SAML:2.0:nameid-format:persistent\", or remove it";
            check.require_text("name_id_format", format, fix);
        }
    }
}

fn check_entity_id(check: &mut KindCheck<'_>, key: &str, entity_id: &str) {
    let has_space = entity_id.chars().any(|c| c.is_ascii_whitespace() || c.is_control());
    let length = entity_id.chars().count();
    if length == 0 || length > MAX_ENTITY_ID_CHARS || has_space {
        let message = "is empty, longer than 1024 characters, or has a space";
        let fix = "copy entityID of the EntityDescriptor in its metadata";
        check.report(key, message, fix);
    }
}
