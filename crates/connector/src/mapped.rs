//! Decorator that maps the claims of a connector of any kind.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use url::Url;

use super::clock_skew::MeasuredSkew;
use super::diagnostic::{CheckDiagnostic, DiagnosisContext, SampleVerification};
use super::dropped_claims::{DroppedClaimRow, DroppedClaims};
use super::error::ConnectorError;
use super::hub_page::PasswordPage;
use super::port::Connector;
use super::sandbox_form::SandboxForm;
use passerelle_federation::identity::mapping::Mapping;
use passerelle_federation::login::upstream::{
    Authentication, AuthorizationRedirect, CallbackParams, EndSessionRequest, LoginAttempt,
    UpstreamAuthorizationRequest, UpstreamLogout,
};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ConnectorId, Secret};
use passerelle_telemetry::Metrics;

/// Connector whose claims are mapped.
pub(crate) struct MappedConnector {
    id: ConnectorId,
    connector: Arc<dyn Connector>,
    mapping: Mapping,
    metrics: Option<Arc<Metrics>>,
    dropped: DroppedClaims,
}

/// Returns the connector with its claims mapped, or the connector itself if the mapping is empty.
pub(crate) fn with_mapping(
    id: ConnectorId,
    connector: Arc<dyn Connector>,
    mapping: Mapping,
    metrics: Option<Arc<Metrics>>,
) -> Arc<dyn Connector> {
    if mapping.is_empty() {
        connector
    } else {
        let dropped = DroppedClaims::default();
        Arc::new(MappedConnector { id, connector, mapping, metrics, dropped })
    }
}

#[async_trait]
impl Connector for MappedConnector {
    async fn begin_login(
        &self,
        request: UpstreamAuthorizationRequest,
    ) -> Result<AuthorizationRedirect, ConnectorError> {
        self.connector.begin_login(request).await
    }

    async fn complete_login(
        &self,
        attempt: LoginAttempt,
        callback: CallbackParams,
    ) -> Result<Authentication, ConnectorError> {
        let authentication = self.connector.complete_login(attempt, callback).await?;
        let (claims, errors) = self.mapping.apply(authentication.claims);
        for error in &errors {
            let row = DroppedClaimRow {
                claim: error.claim.to_string(),
                problem: format!("can't be mapped: {}; it is made of {}", error.error, error.found),
                fix: format!(
                    "look at mapping.{} in the file, and at what the identity provider sends",
                    error.claim
                ),
            };
            self.dropped.report(&self.id, self.metrics.as_deref(), error.error.label(), row);
        }
        let unmapped_claims = errors.into_iter().map(|error| error.claim).collect();
        Ok(Authentication { claims, unmapped_claims, ..authentication })
    }

    async fn unverified_state(&self, response: &Secret<String>) -> Option<String> {
        self.connector.unverified_state(response).await
    }

    async fn end_session(&self, request: EndSessionRequest) -> Result<Option<Url>, ConnectorError> {
        self.connector.end_session(request).await
    }

    async fn verify_logout_token(&self, token: &str) -> Result<UpstreamLogout, ConnectorError> {
        self.connector.verify_logout_token(token).await
    }

    async fn preload(&self) -> Result<(), ConnectorError> {
        self.connector.preload().await
    }

    async fn diagnose(&self, context: &DiagnosisContext) -> Vec<CheckDiagnostic> {
        self.connector.diagnose(context).await
    }

    async fn verify_sample(&self, sample: &[u8], is_online: bool) -> Option<SampleVerification> {
        self.connector.verify_sample(sample, is_online).await
    }

    async fn probe(&self) -> Result<(), ConnectorError> {
        self.connector.probe().await
    }

    fn is_remote(&self) -> bool {
        self.connector.is_remote()
    }

    fn clock_skew(&self) -> Option<MeasuredSkew> {
        self.connector.clock_skew()
    }

    fn dropped_claims(&self) -> Vec<DroppedClaimRow> {
        let mut rows = self.connector.dropped_claims();
        rows.extend(self.dropped.rows());
        rows
    }

    fn keys_fetched_at(&self) -> Option<Timestamp> {
        self.connector.keys_fetched_at()
    }

    fn published_addresses(&self) -> Arc<[String]> {
        self.connector.published_addresses()
    }

    fn certificate_expiries(&self) -> Vec<(&'static str, Timestamp)> {
        self.connector.certificate_expiries()
    }

    fn password_page(&self) -> Option<&dyn PasswordPage> {
        self.connector.password_page()
    }

    fn own_pages(&self) -> Option<&dyn Any> {
        self.connector.own_pages()
    }

    fn sandbox_form(&self) -> Option<&dyn SandboxForm> {
        self.connector.sandbox_form()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::connectors;
    use passerelle_protocol::env::Timestamp;
    use serde_json::{Map, Value, json};

    struct Ada;

    #[async_trait]
    impl Connector for Ada {
        async fn begin_login(
            &self,
            _: UpstreamAuthorizationRequest,
        ) -> Result<AuthorizationRedirect, ConnectorError> {
            unreachable!()
        }
        async fn complete_login(
            &self,
            attempt: LoginAttempt,
            _: CallbackParams,
        ) -> Result<Authentication, ConnectorError> {
            let claims = json!({ "surname": "Lovelace", "sub": "in the claims" })
                .as_object()
                .cloned()
                .unwrap_or_default();
            let subject = Secret::new("s-1".to_owned());
            Ok(Authentication {
                auth_time: Some(Timestamp::from_seconds(1)),
                claims,
                ..Authentication::new(attempt.connector, subject, attempt.request.level)
            })
        }
        async fn preload(&self) -> Result<(), ConnectorError> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn claims_are_mapped_and_the_subject_stays() {
        use passerelle_federation::identity::Claim;
        use passerelle_federation::identity::mapping::{
            ClaimPath, MappingRule, MappingSource, Transform, UnmappedClaims,
        };
        let rule = MappingRule {
            source: MappingSource::From(ClaimPath::parse("surname").unwrap()),
            transform: Transform::Upper,
        };
        let mapping = Mapping {
            rules: [(Claim::FamilyName.into(), rule)].into(),
            unmapped: UnmappedClaims::Drop,
        };
        let connector = with_mapping("ada".into(), Arc::new(Ada), mapping, None);
        let attempt = crate::testing::fake_idp::attempt(
            crate::testing::fake_idp::authorization_request(),
            AuthorizationRedirect {
                url: String::new(),
                issuer: String::new(),
                client_id: String::new(),
                token_endpoint: String::new(),
                iss_expected: false,
                dpop_key: None,
            },
        );
        let authentication =
            connector.complete_login(attempt, CallbackParams::default()).await.unwrap();
        let expected: Map<String, Value> =
            [("family_name".to_owned(), Value::from("LOVELACE"))].into_iter().collect();
        assert_eq!(
            (authentication.claims, authentication.upstream_subject.reveal().as_str()),
            (expected, "s-1")
        );
    }

    /// Builds the connector from a file with a mapping, as the hub does.
    #[tokio::test]
    async fn a_connector_built_from_a_file_maps_its_claims() {
        use crate::testing::fake_idp::{OidcFixture, SECRET, attempt, authorization_request};
        let fixture = OidcFixture::new().await;
        let text = format!(
            r#"
            name = {{ en = "Fake" }}
            levels = {{ lowest = "eidas1", highest = "eidas2" }}
            acr = {{ eidas1 = ["low"], eidas2 = ["substantial"] }}
            [mapping]
            nickname = {{ from = "given_name", case = "upper" }}
            birthdate = {{ from = "given_name", date = "YYYY" }}
            [kind.oidc]
            issuer = "{}"
            client_id = "hub"
            client_secret = {{ env = "X" }}
            insecure_http = true
            internal_hosts = ["127.0.0.1"]
            "#,
            fixture.server.base()
        );
        let env = passerelle_protocol::env::Env::new(
            Arc::clone(&fixture.clock) as _,
            Arc::new(passerelle_protocol::testing::env::SeededEntropy::new(3)),
        );
        let context = crate::ConnectorContext {
            upstream_keys: Arc::clone(&fixture.keys),
            ..connectors::context(env)
        };
        let configured = connectors::configured("fake", &text, Some(SECRET));
        let connector = crate::build(&configured, context).unwrap();
        let request = authorization_request();
        let redirect = connector.begin_login(request.clone()).await.unwrap();
        let authentication =
            connector.complete_login(attempt(request, redirect), fixture.callback()).await.unwrap();
        let claims =
            json!({ "given_name": "Ada", "nickname": "ADA", "email": "from-userinfo@example.org" });
        assert_eq!(Value::Object(authentication.claims), claims);
        assert_eq!(
            authentication.unmapped_claims,
            [passerelle_federation::identity::ClaimName::from(
                passerelle_federation::identity::Claim::Birthdate
            )]
        );
        assert_eq!(authentication.upstream_subject.reveal(), "s-1");
        let dropped = connector.dropped_claims();
        assert_eq!(dropped.iter().map(|row| row.claim.as_str()).collect::<Vec<_>>(), ["birthdate"]);
        assert!(dropped[0].problem.ends_with("made of a string"), "{dropped:?}");
    }

    /// A default method that is not forwarded would be lost for connectors with a mapping.
    #[test]
    fn every_method_of_the_trait_is_forwarded() {
        let methods = |text: &'static str, from: &str| -> Vec<&str> {
            let body = text
                .split_once(from)
                .map_or("", |(_, rest)| rest)
                .split("\n}")
                .next()
                .unwrap_or_default();
            let lines = body.lines().filter_map(|line| {
                line.strip_prefix("    ")?.trim_start_matches("async ").strip_prefix("fn ")
            });
            lines.filter_map(|line| line.split('(').next()).collect()
        };
        let declared = methods(include_str!("port.rs"), "pub trait Connector");
        assert!(declared.len() >= 6, "{declared:?}");
        assert_eq!(methods(include_str!("mapped.rs"), "impl Connector for Mapped"), declared);
    }
}
