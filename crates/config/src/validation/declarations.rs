//! What `passerelle.toml` declares for other files: claims and level names beyond the
//! specification's, whether requests are pushed, and what every service provider must do.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::client_certificates::CertificateSource;
use crate::model::{LevelNameDeclaration, Settings};
use passerelle_federation::VerifiedClaimsRules;
use passerelle_federation::identity::ClaimName;
use passerelle_federation::identity::declared::DeclaredClaims;
use passerelle_federation::identity::mapping::{Mapping, MappingSource};
use passerelle_protocol::acr::LevelName;
use passerelle_protocol::ids::ConnectorId;
use passerelle_protocol::registration::{ProtocolRules, RequestPolicy};
use passerelle_settings::FileCheck;

/// Problem of a rule that needs a code by mail, and how to fix it.
pub(super) const NO_MAIL_CODES: &str = "asks for a code by mail, but this hub sends none";
pub(super) const MAIL_CODES_FIX: &str =
    "add [mail] to passerelle.toml, in a program with the feature mail, or remove this key";

/// The declared claims and level names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Declarations {
    /// The claims.
    pub claims: Arc<DeclaredClaims>,
    /// Which verified claims the hub asserts.
    pub verified_claims: Option<Arc<VerifiedClaimsRules>>,
    /// The level names.
    pub level_names: BTreeMap<String, LevelNameDeclaration>,
    /// What the hub demands of all authorization requests.
    pub request_policy: RequestPolicy,
    /// Lifetimes of authorization codes under the federation's rules and under `rules = "openid"`.
    pub code_lifetimes: [Duration; 2],
    /// Whether ID tokens under `rules = "openid"` lack the claims of the granted scopes.
    pub omits_id_token_claims: bool,
    /// Whether the hub sends one-time codes by mail.
    pub sends_mail_codes: bool,
    /// The client certificates that the hub gets.
    pub client_certificates: CertificateSource,
}

impl Declarations {
    /// Returns the declarations of the settings.
    pub fn from_settings(settings: &Settings) -> Self {
        let claims = Arc::new(DeclaredClaims::new(&settings.claims));
        Self {
            claims,
            verified_claims: settings.verified_claims.clone().map(Arc::new),
            level_names: settings.level_names.clone(),
            request_policy: settings.request_policy(),
            code_lifetimes: [ProtocolRules::Federation, ProtocolRules::Openid]
                .map(|rules| settings.lifetimes.tokens(rules).code),
            omits_id_token_claims: !settings.id_token_claims,
            sends_mail_codes: settings.sends_mail_codes,
            client_certificates: CertificateSource::from_listener(&settings.public),
        }
    }

    /// Returns the lifetime of authorization codes under these rules.
    pub const fn code_lifetime(&self, rules: ProtocolRules) -> Duration {
        let [federation, openid] = self.code_lifetimes;
        match rules {
            ProtocolRules::Federation => federation,
            ProtocolRules::Openid => openid,
        }
    }

    /// Returns a declared level name.
    pub fn level_name(&self, name: &str) -> Option<LevelName> {
        let LevelNameDeclaration { level, multi_factor, mail } = *self.level_names.get(name)?;
        Some(LevelName { name: name.into(), level, multi_factor, mail })
    }

    /// Reports a rule that asks for a code by mail, if the hub sends none.
    pub fn check_mail_rule(&self, check: &mut FileCheck<'_>, key: &str, is_set: bool) {
        if is_set && !self.sends_mail_codes {
            check.report(key, NO_MAIL_CODES, MAIL_CODES_FIX);
        }
    }

    /// Reports a constant that `verified_claims.connectors` lists as a claim that the connector's
    /// identity provider has verified.
    pub fn check_verified_claims(
        &self,
        check: &mut FileCheck<'_>,
        id: &ConnectorId,
        mapping: &Mapping,
    ) {
        let rules = self.verified_claims.as_ref();
        for claim in rules.and_then(|rules| rules.connectors.get(id)).into_iter().flatten() {
            let rule = mapping.rules.get(&ClaimName::from(*claim));
            if rule.is_some_and(|rule| matches!(rule.source, MappingSource::Constant(_))) {
                let claim = claim.as_str();
                let message = "is a constant, but verified_claims.connectors lists the claim as verified by the identity provider";
                let fix = format!(
                    "remove {claim} from verified_claims.connectors.{id} in passerelle.toml, or map a claim of the identity provider"
                );
                check.report(&format!("mapping.{claim}"), message, fix);
            }
        }
    }

    /// Returns the declared level names for a message.
    pub fn known_level_names(&self) -> String {
        let names: Vec<&str> = self.level_names.keys().map(String::as_str).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }
}
