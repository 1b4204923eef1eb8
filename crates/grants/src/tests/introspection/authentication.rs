//! Tests of the authentication of data providers.

use super::*;
use passerelle_protocol::catalogue::RequiredParam;

// R182, R183, R206
#[tokio::test]
async fn unauthenticated_data_providers_get_one_error_and_no_token_is_looked_up() {
    let hub = hub();
    let token = hub.token_with_scopes("code", "openid family_name").await;
    for (client_id, secret, code) in [
        ("archive", "signed's secret", ErrorCode::DataProviderSecret),
        ("archive", "", ErrorCode::DataProviderCredentials),
        ("unknown", "unknown's secret", ErrorCode::DataProviderUnknown),
        ("closed", "off's secret", ErrorCode::DataProviderUnknown),
        ("sp", "sp's secret", ErrorCode::DataProviderIsServiceProvider),
        ("archive", "sp's secret", ErrorCode::DataProviderSecret),
        ("", "archive's secret", ErrorCode::DataProviderCredentials),
    ] {
        for token in [token.as_str(), "guess", ""] {
            let refused = hub
                .grants
                .access_tokens
                .introspect(&introspection_request(client_id, secret, token))
                .await
                .unwrap_err()
                .code;
            assert_eq!(refused, code, "{client_id} {secret} {token}");
            assert_eq!((code.entry().status, code.entry().oauth), (401, "invalid_client"));
            assert_eq!(code.entry().description, "Client authentication failed.");
        }
    }
    assert!(
        !hub.core.metrics.render().contains("passerelle_introspections_total{"),
        "no token was looked up"
    );
    let proven = introspection_request("archive", "archive's secret", "");
    assert_eq!(
        hub.grants.access_tokens.introspect(&proven).await.unwrap_err().code,
        ErrorCode::Missing(RequiredParam::IntrospectionToken)
    );
}

#[tokio::test]
async fn a_secret_is_valid_only_between_its_dates() {
    let later = OPENED + TOKEN_LIFE;
    let mut archive = data_provider("archive", &["family_name"], IntrospectionResponseFormat::Json);
    archive.secrets = vec![
        dated("archive's old secret", Validity { not_before: None, not_after: Some(later) }),
        dated("archive's secret", Validity { not_before: Some(later), not_after: None }),
    ];
    let hub = with([archive]);
    let request_with = |secret| introspection_request("archive", secret, "guess");
    assert_eq!(hub.introspect("archive", "guess").await, Err(ErrorCode::DataProviderSecretNotYet));
    assert!(
        hub.grants.access_tokens.introspect(&request_with("archive's old secret")).await.is_ok()
    );
    hub.clock.advance(TOKEN_LIFE);
    assert!(hub.introspect("archive", "guess").await.is_ok());
    assert_eq!(
        hub.grants
            .access_tokens
            .introspect(&request_with("archive's old secret"))
            .await
            .unwrap_err()
            .code,
        ErrorCode::DataProviderSecretExpired
    );
}

#[tokio::test]
async fn correct_requests_are_accepted_despite_failures_in_their_name() {
    let hub = hub();
    let token = hub.token_with_scopes("code", "openid family_name").await;
    for (claimed, unproven) in
        [("archive", ErrorCode::DataProviderSecret), ("unknown", ErrorCode::DataProviderUnknown)]
    {
        // R206: the limit does not reveal whether the id exists.
        for round in 0..ALLOWED.failed_authentications.get() + 5 {
            let code = if round < ALLOWED.failed_authentications.get() {
                unproven
            } else {
                ErrorCode::TooManyFailures
            };
            let refused = hub
                .grants
                .access_tokens
                .introspect(&introspection_request(claimed, "guess", "guess"))
                .await
                .unwrap_err()
                .code;
            assert_eq!(refused, code, "{claimed} {round}");
        }
    }
    assert_eq!(hub.introspect("archive", &token).await.unwrap()["active"], true);
    for round in 0..ALLOWED.inactive_introspections.get() + 5 {
        let expected = if round < ALLOWED.inactive_introspections.get() {
            Ok(json!({ "active": false }))
        } else {
            Err(ErrorCode::TooManyFailures)
        };
        assert_eq!(hub.introspect("archive", "guess").await, expected, "{round}");
    }
    assert_eq!(
        hub.introspect("archive", &token).await.unwrap()["active"],
        true,
        "invalid tokens do not block valid ones"
    );
    assert_eq!(
        hub.introspect("stranger", "guess").await,
        Ok(json!({ "active": false })),
        "other data providers are not affected"
    );
}

#[test]
fn keys_of_data_providers_are_looked_up_as_those_of_service_providers() {
    let mut vault = data_provider("vault", &["family_name"], JWT);
    vault.keys = super::super::encryption::keys("enc");
    let (of_vault, of_sp) = (vault.keys.clone(), KeySource::None);
    let services =
        [service("sp", true, SigningAlg::ES256), service_with("keyless", KeySource::None)];
    let federation = super::super::federation_with(services).with_data_providers([vault]);
    let directory =
        crate::client_keys::KeyDirectory::new(&federation, &Arc::new(Metrics::new().unwrap()))
            .unwrap();
    assert!(
        directory.keys(&"vault".into(), &of_vault).is_some()
            && directory.keys(&"sp".into(), &of_sp).is_none()
    );
}
