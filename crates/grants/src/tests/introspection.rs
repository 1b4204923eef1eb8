//! Introspection and revocation (R012, R180 to R185, R206; RFC 7009, RFC 7662, RFC 9701).

mod authentication;
mod responses;

use std::sync::Arc;

use serde_json::{Value, json};

use super::{
    ALLOWED, Hub, TOKEN_LIFE, by_post, dated, federation, service, service_with, token_request,
};
use crate::IntrospectionResponse;
use passerelle_federation::assurance::Level;
use passerelle_federation::client_keys::KeySource;
use passerelle_federation::identity::Identity;
use passerelle_federation::login::CodeGrant;
use passerelle_federation::testing::samples::{ISSUER, OPENED, identified_user};
use passerelle_federation::validity::Validity;
use passerelle_federation::{DataProvider, IntrospectionResponseFormat};
use passerelle_jose::testing::sample_keys::RING;
use passerelle_jose::verify::{VerificationKeys, verify_jws};
use passerelle_protocol::alg::{EncryptionAlg, SigningAlg};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::{Scope, Secret};
use passerelle_protocol::introspection::IntrospectionRequest;
use passerelle_protocol::params::Params;
use passerelle_protocol::revocation::RevocationRequest;
use passerelle_protocol::token::TokenRequest;
use passerelle_telemetry::Metrics;

const JWT: IntrospectionResponseFormat =
    IntrospectionResponseFormat::Jwt { alg: SigningAlg::ES256, encryption: None };

/// A data provider whose secret is `<id>'s secret`.
fn data_provider(
    client_id: &str,
    scopes: &[&str],
    form: IntrospectionResponseFormat,
) -> DataProvider {
    DataProvider {
        client_id: client_id.into(),
        active: true,
        secrets: vec![dated(&format!("{client_id}'s secret"), Validity::default())],
        scopes: scopes.iter().map(|scope| Scope::from(*scope)).collect(),
        sector: client_id.into(),
        subject_key_version: 1,
        response_format: form,
        keys: KeySource::None,
    }
}

/// The usual service providers, and data providers: one for each response format, one without
/// shared scopes, an inactive one.
fn hub() -> Hub {
    let all = ["openid", "family_name", "email", "profile"];
    let mut off = data_provider("off", &all, IntrospectionResponseFormat::Json);
    off.client_id = "closed".into();
    off.active = false;
    let mut vault = data_provider("vault", &all, JWT);
    vault.response_format = IntrospectionResponseFormat::Jwt {
        alg: SigningAlg::RS256,
        encryption: Some(EncryptionAlg::EcdhEs),
    };
    vault.keys = super::encryption::keys("enc");
    with([
        data_provider("archive", &all, IntrospectionResponseFormat::Json),
        data_provider("signed", &all, JWT),
        data_provider("stranger", &["openid", "gender"], IntrospectionResponseFormat::Json),
        vault,
        off,
    ])
}

fn with(providers: impl IntoIterator<Item = DataProvider>) -> Hub {
    let hub = Hub::new();
    hub.set_federation(federation(true).with_data_providers(providers));
    hub
}

/// An introspection request of `client_id` with this secret.
fn introspection_request(client_id: &str, secret: &str, token: &str) -> IntrospectionRequest {
    let pairs = [("client_id", client_id), ("client_secret", secret), ("token", token)];
    let pairs = pairs.into_iter().filter(|(_, value)| !value.is_empty());
    IntrospectionRequest::read(
        &[],
        &Params::new(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()),
    )
}

impl Hub {
    async fn introspect(&self, client_id: &str, token: &str) -> Result<Value, ErrorCode> {
        let asked = introspection_request(client_id, &format!("{client_id}'s secret"), token);
        let answer =
            self.grants.access_tokens.introspect(&asked).await.map_err(|refusal| refusal.code)?;
        let IntrospectionResponse::Json(answer) = answer else { panic!("a JWT") };
        Ok(serde_json::from_slice(&answer).unwrap())
    }

    /// A grant of these scopes, with the claims of the federation's table.
    fn grant_with_scopes(&self, code: &str, scope: &str) -> CodeGrant {
        let mut grant = self.grant(code, &[]);
        grant.scopes = scope.split(' ').map(Scope::from).collect();
        grant.request.scopes.clone_from(&grant.scopes);
        grant.user.claims =
            self.core.federation.load().released_claim_values(&grant.request, &grant.user.identity);
        grant
    }

    /// An access token of `sp` for these scopes.
    async fn token_with_scopes(&self, code: &str, scope: &str) -> String {
        self.grants.codes.issue(&self.grant_with_scopes(code, scope)).await.unwrap();
        self.redeem(code).await.unwrap()["access_token"].as_str().unwrap().to_owned()
    }

    fn sub_at(&self, sector: &str, person: &Identity) -> String {
        self.grants.subjects.keys.derive(1, sector, person).unwrap().as_str().to_owned()
    }

    async fn revoke(&self, client_id: &str, token: &str) -> Result<(), ErrorCode> {
        let credentials = by_post(client_id, &format!("{client_id}'s secret"));
        let request = RevocationRequest { credentials, token: Secret::new(token.into()) };
        self.grants.revocation_endpoint.revoke(&request).await.map_err(|refusal| refusal.code)
    }
}

#[tokio::test]
async fn a_live_token_is_described_with_exactly_its_members() {
    let hub = hub();
    let token = hub.token_with_scopes("code", "openid family_name birthdate email").await;
    hub.clock.advance(TOKEN_LIFE / 2);
    let iat = OPENED.seconds();
    // R184: neither the birth date, whose scope is not the data provider's, nor the e-mail address,
    // whose scope is.
    let expected = json!({
        "active": true, "iss": ISSUER, "sub": hub.sub_at("archive", &identified_user("idp", Level::Eidas1).identity), "aud": "archive",
        "client_id": "sp", "scope": "openid family_name email", "acr": "eidas1", "iat": iat, "exp": iat + TOKEN_LIFE.as_secs(),
        "family_name": "DUBOIS",
    });
    assert_eq!(hub.introspect("archive", &token).await, Ok(expected));
}

#[tokio::test]
async fn iat_is_when_the_token_was_issued_and_not_its_code() {
    let hub = hub();
    hub.grants.codes.issue(&hub.grant_with_scopes("code", "openid family_name")).await.unwrap();
    hub.clock.advance(std::time::Duration::from_secs(20));
    let token = hub.redeem("code").await.unwrap()["access_token"].as_str().unwrap().to_owned();
    let response = hub.introspect("archive", &token).await.unwrap();
    assert_eq!(response["iat"], OPENED.seconds() + 20);
    assert_eq!(response["exp"], OPENED.seconds() + 20 + TOKEN_LIFE.as_secs());
}

// R037, R184
#[tokio::test]
async fn each_data_provider_knows_a_user_by_its_own_subject_whatever_client_the_token_is_for() {
    let mut sharing = data_provider("sharing", &["family_name"], IntrospectionResponseFormat::Json);
    sharing.sector = "archive".into();
    let archive = data_provider("archive", &["family_name"], IntrospectionResponseFormat::Json);
    let hub = with([
        archive,
        sharing,
        data_provider("museum", &["family_name"], IntrospectionResponseFormat::Json),
    ]);
    let of_sp = hub.token_with_scopes("first", "openid family_name").await;
    let mut grant = hub.grant("second", &[("client_id", "other")]);
    grant.scopes = vec!["openid".into(), "family_name".into()];
    hub.grants.codes.issue(&grant).await.unwrap();
    let request =
        TokenRequest { credentials: by_post("other", "other's secret"), ..token_request("second") };
    let answer =
        serde_json::to_value(hub.grants.token_endpoint.answer(&request).await.unwrap()).unwrap();
    let of_other = answer["access_token"].as_str().unwrap().to_owned();
    let mut subs = Vec::new();
    for (client_id, token) in
        [("archive", &of_sp), ("archive", &of_other), ("sharing", &of_sp), ("museum", &of_sp)]
    {
        let response = hub.introspect(client_id, token).await.unwrap();
        assert_eq!(response["scope"], "family_name", "openid is not released");
        subs.push(response["sub"].as_str().unwrap().to_owned());
    }
    assert_eq!((&subs[0], &subs[0]), (&subs[1], &subs[2]));
    assert_ne!(subs[0], subs[3]);
    assert!(!subs.contains(&"pairwise-angela".to_owned()), "none is the service provider's sub");
}

#[tokio::test]
async fn the_store_keeps_pseudonyms_of_those_data_providers_alone_that_may_learn_of_the_token() {
    let hub = hub();
    let token = hub.token_with_scopes("code", "openid family_name").await;
    let valid = hub.grants.access_tokens.validate(&token).await.unwrap();
    assert_eq!(
        valid.token.subjects_by_sector.keys().collect::<Vec<_>>(),
        ["archive", "signed", "vault"]
    );
    let json = serde_json::to_string(&valid.token).unwrap();
    assert!(
        !json.contains("1962") && !json.contains("75107"),
        "no more of the identity than the scopes release: {json}"
    );
}

// R185
#[tokio::test]
async fn an_expired_or_foreign_token_is_inactive_without_further_members() {
    let hub = hub();
    let inactive = Ok(json!({ "active": false }));
    let token = hub.token_with_scopes("code", "openid family_name").await;
    assert_eq!(hub.introspect("stranger", &token).await, inactive, "only openid is shared");
    hub.grants
        .codes
        .issue(&hub.grant_with_scopes("live code", "openid family_name"))
        .await
        .unwrap();
    let truncated = &token[..token.len() - 1];
    for guess in [
        "guess",
        truncated,
        &format!("{token}x"),
        "live code",
        "live code's session",
        "\u{0}",
        &"x".repeat(60_000),
    ] {
        assert_eq!(hub.introspect("archive", guess).await, inactive, "{guess}");
    }
    hub.clock.advance(TOKEN_LIFE);
    assert_eq!(hub.introspect("archive", &token).await, inactive, "expired");

    let token = hub.token_with_scopes("another", "openid family_name").await;
    assert_eq!(hub.redeem("another").await, Err(ErrorCode::CodeReused));
    assert_eq!(hub.introspect("archive", &token).await, inactive, "its code was replayed");
}

#[tokio::test]
async fn the_tokens_of_a_removed_service_provider_are_invalid() {
    let hub = hub();
    let token = hub.token_with_scopes("code", "openid family_name").await;
    let providers = hub
        .core
        .federation
        .load()
        .active_data_providers()
        .map(|provider| DataProvider::clone(provider))
        .collect::<Vec<_>>();
    hub.set_federation(federation(false).with_data_providers(providers));
    assert_eq!(hub.introspect("archive", &token).await, Ok(json!({ "active": false })));
    assert_eq!(hub.userinfo(&token).await, Err(ErrorCode::AccessTokenInvalid));
}

#[tokio::test]
async fn a_token_is_revoked_by_its_own_service_provider_and_by_no_other() {
    let hub = hub();
    let token = hub.token_with_scopes("code", "openid family_name").await;
    for (client_id, token) in
        [("other", token.as_str()), ("sp", "guess"), ("sp", &token[1..]), ("sp", "code's session")]
    {
        assert_eq!(hub.revoke(client_id, token).await, Ok(()), "{client_id} {token}");
    }
    assert_eq!(hub.validate(&token).await, Ok(()));
    for (client_id, code) in
        [("unknown", ErrorCode::ClientUnknown), ("archive", ErrorCode::ClientUnknown)]
    {
        assert_eq!(
            hub.revoke(client_id, &token).await,
            Err(code),
            "a data provider revokes nothing"
        );
    }
    assert_eq!(hub.revoke("sp", &token).await, Ok(()));
    assert_eq!(hub.validate(&token).await, Err(ErrorCode::AccessTokenInvalid));
    assert_eq!(
        hub.introspect("archive", &token).await,
        Ok(json!({ "active": false })),
        "replayed after it was revoked"
    );
    assert_eq!(hub.revoke("sp", &token).await, Ok(()), "again");
    assert_eq!(hub.redeem("code").await, Err(ErrorCode::CodeReused), "its code stays consumed");
}

#[tokio::test]
async fn revoking_one_family_does_not_affect_the_others() {
    let hub = hub();
    let (first, second) = (
        hub.token_with_scopes("first", "openid family_name").await,
        hub.token_with_scopes("second", "openid family_name").await,
    );
    hub.revoke("sp", &first).await.unwrap();
    assert_eq!(hub.validate(&second).await, Ok(()));
}
