//! The hub as a TLS client (RFC 8705): addresses and rules. tests/peers/fapi2.test.mjs has the
//! connections.

use serde_json::json;

use super::super::*;
use crate::testing::fake_idp::*;
use passerelle_egress::client_identity::{ClientIdentityPart, check_client_identity};
use passerelle_jose::testing::certificates::{Authority, LeafCertificate};
use passerelle_protocol::catalogue::ErrorCode;

const METHOD: &str = "token_endpoint_auth_method = \"tls_client_auth\"";
const BOUND: &str = "tls_client_certificate_bound_access_tokens";

async fn fixture_with_aliases(more: &str) -> OidcFixture {
    let fixture = OidcFixture::with(more).await;
    let mut script = fixture.script();
    let base = script.base.clone();
    script.discovery["mtls_endpoint_aliases"] = json!({
        "token_endpoint": format!("{base}/mtls/token"), "userinfo_endpoint": format!("{base}/mtls/userinfo"),
        "pushed_authorization_request_endpoint": format!("{base}/mtls/par"),
    });
    script.discovery[BOUND] = json!(true);
    drop(script);
    fixture
}

#[tokio::test]
async fn the_certificate_goes_to_the_aliases_and_the_client_id_beside_it() {
    let fixture = fixture_with_aliases(METHOD).await;
    let attempt = fixture.attempt().await;
    assert!(attempt.redirect.token_endpoint.ends_with("/mtls/token"));
    // The fake serves no alias.
    assert_eq!(fixture.complete_login_with(attempt).await.err(), Some(ErrorCode::IdpTokenAnswer));
    let script = fixture.script();
    let request = script.log.iter().find(|request| request.target == "/mtls/token").unwrap();
    assert!(request.body.contains("client_id=hub"));
    assert!(!request.body.contains("client_secret") && !request.body.contains("assertion"));
}

#[tokio::test]
async fn aliases_are_used_only_where_the_certificate_is() {
    let endpoints = async |more: &str, announced: Value| {
        let fixture = fixture_with_aliases(more).await;
        fixture.script().discovery[BOUND] = announced;
        let provider = fixture.connector.upstream.provider().await.map_err(|error| error.code)?;
        let userinfo = provider.userinfo_endpoint.as_ref().unwrap().path().to_owned();
        Ok((provider.token_endpoint.ends_with("/mtls/token"), userinfo == "/mtls/userinfo"))
    };
    let bound = |value: &str| format!("{METHOD}\n{BOUND} = \"{value}\"");
    for (more, announced, expected) in [
        (String::new(), json!(true), Ok((false, false))),
        (METHOD.into(), json!(true), Ok((true, false))),
        (bound("auto"), json!(true), Ok((true, true))),
        (bound("auto"), json!("yes"), Ok((true, false))),
        (bound("on"), json!(true), Ok((true, true))),
        (bound("on"), json!(null), Err(ErrorCode::IdpDiscovery)),
        (format!("{BOUND} = \"auto\""), json!(true), Ok((true, true))),
        (format!("{BOUND} = \"auto\""), json!(false), Ok((false, false))),
    ] {
        assert_eq!(endpoints(&more, announced.clone()).await, expected, "{more} {announced}");
    }
}

#[tokio::test]
async fn an_alias_can_not_lead_the_certificate_into_the_private_network() {
    let fixture = fixture_with_aliases(METHOD).await;
    fixture.script().discovery["mtls_endpoint_aliases"]["token_endpoint"] =
        json!("http://10.0.0.1/token");
    let error = fixture.connector.begin_login(authorization_request()).await.err().unwrap();
    assert_eq!(error.code, ErrorCode::IdpAddressForbidden);
}

#[test]
fn an_unusable_certificate_or_key_is_named() {
    let authority = Authority::new("authority");
    let (one, other) = (LeafCertificate::default(), LeafCertificate::default());
    let certificate = String::from_utf8(authority.issue(&one).to_pem().unwrap()).unwrap();
    let identity = |key: &str| Secret::new(format!("{certificate}\n{key}"));
    let now = passerelle_protocol::env::Env::system().now();
    let check = |identity: Secret<String>, now| {
        check_client_identity(&identity, now).map_err(|error| error.part)
    };
    let later = now + std::time::Duration::from_secs(400 * 86_400);
    assert_eq!(check(identity(&one.key_pem()), now), Ok(()));
    assert_eq!(check(identity(&one.key_pem()), later), Err(ClientIdentityPart::Certificate));
    assert_eq!(check(identity(&other.key_pem()), now), Err(ClientIdentityPart::Key));
    assert_eq!(check(identity("no key"), now), Err(ClientIdentityPart::Key));
    let none = Secret::new("no certificate".to_owned());
    assert_eq!(check(none, now), Err(ClientIdentityPart::Certificate));
}
