//! A connector whose identity provider calls its claims otherwise: around any kind, so that none has to know.
//!
//! Owns: where a mapping is applied, and the line in the log for what it left out. Must not know: kinds, rules.

use std::sync::Arc;

use async_trait::async_trait;
use url::Url;

use super::finding::{Examination, Finding};
use super::own_page::PasswordPage;
use super::persona::SandboxPage;
use super::{Connector, ConnectorFault};
use crate::env::Timestamp;
use crate::identity::mapping::Mapping;
use crate::ids::ConnectorId;
use crate::login::upstream::{Arrival, Attempt, Authentication, Departure, Farewell, AuthorizationRedirect};

pub struct Mapped {
    id: ConnectorId,
    connector: Arc<dyn Connector>,
    mapping: Mapping,
}

/// The connector with its claims mapped; the connector itself where there is nothing to map.
pub fn around(
    id: ConnectorId,
    connector: Arc<dyn Connector>,
    mapping: Mapping,
) -> Arc<dyn Connector> {
    if mapping.is_nothing() { connector } else { Arc::new(Mapped { id, connector, mapping }) }
}

#[async_trait]
impl Connector for Mapped {
    async fn begin(&self, departure: Departure) -> Result<AuthorizationRedirect, ConnectorFault> {
        self.connector.begin(departure).await
    }

    async fn complete(
        &self,
        attempt: Attempt,
        arrival: Arrival,
    ) -> Result<Authentication, ConnectorFault> {
        let authentication = self.connector.complete(attempt, arrival).await?;
        let (claims, lost) = self.mapping.apply(authentication.claims);
        for lost in lost {
            tracing::warn!(connector = %self.id, claim = %lost.claim, why = %lost.loss, "a mapped claim is left out");
        }
        Ok(Authentication { claims, ..authentication })
    }

    async fn end(&self, farewell: Farewell) -> Result<Option<Url>, ConnectorFault> {
        self.connector.end(farewell).await
    }

    async fn warm(&self) -> Result<(), ConnectorFault> {
        self.connector.warm().await
    }

    async fn examine(&self, examination: &Examination) -> Vec<Finding> {
        self.connector.examine(examination).await
    }

    async fn probe(&self) -> Result<(), ConnectorFault> {
        self.connector.probe().await
    }

    async fn probe_login(&self, redirect_uri: &str) -> Result<(), ConnectorFault> {
        self.connector.probe_login(redirect_uri).await
    }

    fn is_remote(&self) -> bool {
        self.connector.is_remote()
    }

    fn skew_seconds(&self) -> Option<i64> {
        self.connector.skew_seconds()
    }

    fn keys_fetched_at(&self) -> Option<Timestamp> {
        self.connector.keys_fetched_at()
    }

    fn password_page(&self) -> Option<&dyn PasswordPage> {
        self.connector.password_page()
    }

    fn sandbox(&self) -> Option<&dyn SandboxPage> {
        self.connector.sandbox()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Timestamp;
    use crate::ids::Secret;
    use serde_json::{Map, Value, json};

    struct Ada;

    #[async_trait]
    impl Connector for Ada {
        async fn begin(&self, _: Departure) -> Result<AuthorizationRedirect, ConnectorFault> {
            unreachable!()
        }
        async fn complete(
            &self,
            attempt: Attempt,
            _: Arrival,
        ) -> Result<Authentication, ConnectorFault> {
            let claims = json!({ "surname": "Lovelace", "sub": "in the claims" })
                .as_object()
                .cloned()
                .unwrap_or_default();
            Ok(Authentication {
                connector: attempt.connector,
                upstream_subject: Secret::new("s-1".to_owned()),
                level: attempt.level,
                amr: crate::assurance::amr::Told::by_claim(None),
                auth_time: Timestamp::from_seconds(1),
                claims,
                id_token: None,
            })
        }
        async fn warm(&self) -> Result<(), ConnectorFault> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn claims_are_mapped_and_the_subject_stays() {
        use crate::identity::Claim;
        use crate::identity::mapping::{Form, Path, Rule, Source, Unmapped};
        let rule =
            Rule { source: Source::From(Path::parse("surname").unwrap()), form: Form::Upper };
        let mapping =
            Mapping { rules: [(Claim::FamilyName, rule)].into(), unmapped: Unmapped::Drop };
        let connector = around("ada".into(), Arc::new(Ada), mapping);
        let attempt = crate::connector::oidc::fake_idp::attempt(
            crate::connector::oidc::fake_idp::departure(),
            AuthorizationRedirect {
                url: String::new(),
                issuer: String::new(),
                client_id: String::new(),
                token_endpoint: String::new(),
                iss_expected: false,
            },
        );
        let authentication = connector.complete(attempt, Arrival::default()).await.unwrap();
        let expected: Map<String, Value> =
            [("family_name".to_owned(), Value::from("LOVELACE"))].into_iter().collect();
        assert_eq!(
            (authentication.claims, authentication.upstream_subject.reveal().as_str()),
            (expected, "s-1")
        );
    }

    /// The way of a real login: the connector as the hub builds it from a file with a mapping.
    #[tokio::test]
    async fn a_connector_that_is_built_of_a_file_maps_its_claims() {
        use crate::connector::oidc::fake_idp::{SECRET, World, attempt, departure};
        let world = World::new().await;
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
            world.server.base()
        );
        let env = crate::env::Env::new(
            Arc::clone(&world.clock) as _,
            Arc::new(crate::env::SeededEntropy::new(3)),
        );
        let means = crate::connector::ConnectorContext {
            env,
            keys: Arc::clone(&world.keys),
            sandbox: crate::connector::Sandbox::Off,
            guards: crate::egress::shared::Guards::default(),
            codes: crate::connector::one_time::in_memory::codes(),
        };
        let file = toml::from_str(&text).unwrap();
        let connector = crate::connector::build(
            "fake".into(),
            &file,
            Some(Secret::new(SECRET.to_owned())),
            means,
        )
        .unwrap();
        let departure = departure();
        let left = connector.begin(departure.clone()).await.unwrap();
        let authentication =
            connector.complete(attempt(departure, left), world.arrival()).await.unwrap();
        let claims =
            json!({ "given_name": "Ada", "nickname": "ADA", "email": "from-userinfo@example.org" });
        assert_eq!(Value::Object(authentication.claims), claims);
        assert_eq!(authentication.upstream_subject.reveal(), "s-1");
    }

    /// A method with a default that is not passed on here would be lost for connectors with a mapping.
    #[test]
    fn every_method_of_a_connector_is_passed_on() {
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
        let asked = methods(include_str!("../connector.rs"), "pub trait Connector");
        assert!(asked.len() >= 6, "{asked:?}");
        assert_eq!(methods(include_str!("mapped.rs"), "impl Connector for Mapped"), asked);
    }
}
