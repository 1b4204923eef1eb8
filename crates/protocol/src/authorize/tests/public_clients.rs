//! Public clients: PKCE always, and the redirect URIs of native applications (RFC 8252).

use super::*;

/// The usual directory, and a native client.
fn directory() -> FakeDirectory {
    let FakeDirectory(mut registrations) = super::directory();
    registrations.push(Registration {
        client_id: "native".into(),
        client_type: ClientType::Public,
        redirect_uris: vec!["http://127.0.0.1/cb".into(), "com.example.app:/cb".into()],
        ..registrations[0].clone()
    });
    FakeDirectory(registrations)
}

fn native(changes: &[(&str, &str)]) -> Result<AuthorizationRequest, AuthorizationError> {
    let own = [
        ("client_id", "native"),
        ("redirect_uri", "http://127.0.0.1:49152/cb"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    let all: Vec<_> = own.iter().chain(changes).copied().collect();
    validate_request(&with(&all), RequestMethod::Get, Platform::Standard, ISSUER, &directory())
}

#[test]
fn code_injection_without_a_challenge_is_stopped() {
    for (changes, code) in [
        (
            &[("code_challenge", ""), ("code_challenge_method", "")][..],
            ErrorCode::CodeChallengeRequired,
        ),
        (&[("code_challenge_method", "")], ErrorCode::CodeChallengeMethodMissing),
        (&[("code_challenge_method", "plain")], ErrorCode::CodeChallengeMethodUnsupported),
    ] {
        let Err(AuthorizationError::Redirect(_, found)) = native(changes) else { panic!() };
        assert_eq!(found, code, "{changes:?}");
    }
}

#[test]
fn a_native_client_gets_its_answer_at_its_own_port_or_scheme() {
    for (uri, begin) in [
        ("http://127.0.0.1:49152/cb", "http://127.0.0.1:49152/cb?code=C&"),
        ("http://127.0.0.1/cb", "http://127.0.0.1/cb?code=C&"),
        ("com.example.app:/cb", "com.example.app:/cb?code=C&"),
    ] {
        let request = native(&[("redirect_uri", uri)]).unwrap();
        let AuthorizationResponse::Redirect { location } = request.redirect.code_response("C")
        else {
            panic!()
        };
        assert!(location.starts_with(begin), "{location}");
        let directory = directory();
        assert_eq!(request.check_registration(directory.registration("native")), Ok(()));
    }
}

#[test]
fn mix_of_loopback_hosts_gets_a_page_and_no_redirect() {
    for uri in [
        "http://localhost:49152/cb",
        "http://127.0.0.1.attacker.example/cb",
        "http://127.0.0.1:80@attacker.example/cb",
        "com.example.app.attacker:/cb",
    ] {
        let found = native(&[("redirect_uri", uri)]).unwrap_err();
        assert_eq!(found, AuthorizationError::Page(ErrorCode::RedirectUriNotRegistered), "{uri}");
    }
    let confidential = [("client_id", "sp"), ("redirect_uri", "http://127.0.0.1:49152/cb")];
    let found = native(&confidential).unwrap_err();
    assert_eq!(found, AuthorizationError::Page(ErrorCode::RedirectUriNotRegistered));
}
