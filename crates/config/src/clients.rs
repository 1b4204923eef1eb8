//! Builds the service providers and data providers that the rest of the hub uses from their checked
//! files.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::model::{RefreshTokensConfig, ServiceProviderFile};
use super::validation::client_assertions::assertion_rules;
use super::validation::client_certificates::registered_name;
use super::validation::data_providers::CheckedDataProvider;
use super::validation::service_providers::CheckedServiceProvider;
use passerelle_federation::connector_rules::ConnectorOrder;
use passerelle_federation::{
    ClientAuthentication, DataProvider, IntrospectionResponseFormat, RefreshTokenRules,
    ServiceProvider, TokenBinding,
};
use passerelle_jose::client_certificate::CertificateName;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::client_auth::AuthMethod;
use passerelle_protocol::ids::{ConnectorId, Scope};
use passerelle_protocol::refresh::OFFLINE_ACCESS;
use passerelle_protocol::registration::{ProtocolRules, Registration};

impl CheckedServiceProvider {
    /// Returns the service provider.
    #[must_use]
    pub fn service_provider(
        &self,
        hub_order: &Arc<ConnectorOrder>,
        hub_connectors: &[ConnectorId],
    ) -> ServiceProvider {
        let file = &self.file;
        let own_order = &file.connectors.order;
        ServiceProvider {
            registration: Registration {
                client_id: file.client_id.clone(),
                active: file.active,
                client_type: file.client_type(),
                redirect_uris: file.redirect_uris.clone(),
                post_logout_redirect_uris: file.post_logout_redirect_uris.clone(),
                granted_scopes: granted_scopes(file),
                require_pkce: file.require_pkce,
                home_page: file.home_page.clone(),
                consent: file.consent(),
                rules: file.rules,
                hints: file.connectors.idp_hint.clone(),
                acr: self.acr.clone(),
                require_auth_time: file.require_auth_time
                    || file.rules == ProtocolRules::Federation,
                protection: self.protection,
            },
            name: file.name.clone(),
            sector: self.sector.clone(),
            subject_key_version: self.subject_key_version,
            authentication: self.authentication(),
            id_token_signed_response_alg: file.id_token_signed_response_alg.unwrap_or(
                match file.rules {
                    ProtocolRules::Federation => SigningAlg::ES256,
                    ProtocolRules::Openid => SigningAlg::RS256, // OpenID Connect Dynamic Client Registration 1.0 §2
                },
            ),
            userinfo_signed_response_alg: file.userinfo_signed_response_alg.or(match file.rules {
                ProtocolRules::Federation => Some(SigningAlg::ES256),
                ProtocolRules::Openid => None,
            }),
            allowed_connectors: file.connectors.allowed_connectors(),
            order: if own_order.is_empty() {
                Arc::clone(hub_order)
            } else {
                Arc::new(ConnectorOrder::new(own_order, hub_connectors))
            },
            logo: self.logo.clone(),
            class: file.class.as_deref().map(Arc::from),
            keys: self.keys.clone(),
            encryption: self.encryption,
            logout_endpoint: self.logout_endpoint.clone(),
            logins_per_minute: file.logins_per_minute.and_then(NonZeroU32::new),
            id_token_claims: self.id_token_claims,
            access_token_lifetime: file.access_token_seconds.map(Duration::from_secs),
            cors_origins: file.cors_origins.clone(),
            refresh_tokens: file.refresh_tokens.map(refresh_token_rules),
            token_binding: TokenBinding {
                dpop_required: file.dpop_bound_access_tokens,
                dpop_nonce_required: file.dpop_nonce_required,
                certificate_required: file.tls_client_certificate_bound_access_tokens,
            },
        }
    }

    fn authentication(&self) -> ClientAuthentication {
        match (self.file.token_endpoint_auth_method, self.file.rules) {
            // Client libraries have different defaults, and discovery announces both.
            (None, ProtocolRules::Openid) => ClientAuthentication::Secret(self.secrets.clone()),
            (None, ProtocolRules::Federation) | (Some(AuthMethod::ClientSecretPost), _) => {
                ClientAuthentication::SecretPost(self.secrets.clone())
            }
            (Some(AuthMethod::ClientSecretBasic), _) => {
                ClientAuthentication::SecretBasic(self.secrets.clone())
            }
            (Some(AuthMethod::PrivateKeyJwt), _) => {
                ClientAuthentication::PrivateKeyJwt(assertion_rules(&self.file))
            }
            (Some(AuthMethod::TlsClientAuth), _) => {
                // The file's check rejects a file without a name, which no certificate has.
                let name = registered_name(&self.file);
                ClientAuthentication::TlsCertificate(
                    name.unwrap_or(CertificateName::Dns(String::new())),
                )
            }
            (Some(AuthMethod::SelfSignedTlsClientAuth), _) => {
                ClientAuthentication::SelfSignedCertificate
            }
            (Some(AuthMethod::None), _) => ClientAuthentication::Public,
        }
    }
}

impl CheckedDataProvider {
    /// Returns the data provider.
    #[must_use]
    pub fn data_provider(&self) -> DataProvider {
        let file = &self.file;
        DataProvider {
            client_id: file.client_id.clone(),
            active: file.active,
            secrets: self.secrets.clone(),
            scopes: file.scopes.clone(),
            sector: self.sector.clone(),
            subject_key_version: self.subject_key_version,
            response_format: file.introspection_signed_response_alg.map_or(
                IntrospectionResponseFormat::Json,
                |alg| IntrospectionResponseFormat::Jwt {
                    alg,
                    encryption: file.introspection_encrypted_response_alg,
                },
            ),
            keys: self.keys.clone(),
        }
    }
}

fn refresh_token_rules(config: RefreshTokensConfig) -> RefreshTokenRules {
    RefreshTokenRules {
        lifetime: Duration::from_secs(config.lifetime_seconds),
        idle: Duration::from_secs(config.idle_seconds()),
        ends_with_session: config.end_with_session,
    }
}

/// Returns the scopes that a service provider may request: with refresh tokens also the one that
/// asks for them.
fn granted_scopes(file: &ServiceProviderFile) -> Vec<Scope> {
    let offline = Scope::from(OFFLINE_ACCESS);
    let is_listed = file.scopes.contains(&offline);
    let added = (file.refresh_tokens.is_some() && !is_listed).then_some(offline);
    file.scopes.iter().cloned().chain(added).collect()
}
