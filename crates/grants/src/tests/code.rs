//! A code works once, for its own client, and any defect of the request consumes it (RFC 6749
//! §4.1.2; RFC 9700 §2.1.1).

use std::sync::{Arc, Barrier};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;

use super::{CODE_LIFE, Hub, MILLISECOND, by_post, code_grant, token_request};
use passerelle_federation::assurance::{AcrCheck, Level};
use passerelle_federation::login::{CodeGrant, SessionUse};
use passerelle_federation::testing::samples::SP_CALLBACK;
use passerelle_jose::testing::sample_keys::RING;
use passerelle_jose::{Signer, SigningError};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::token::TokenRequest;
use passerelle_store::testing::store_conformance::ample_capacities;
use passerelle_store::{RecordKey, RecordKind};

// RFC 7636, appendix B
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const PKCE: [(&str, &str); 2] = [
    ("code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"),
    ("code_challenge_method", "S256"),
];

fn request_with_verifier(verifier: &str) -> TokenRequest {
    super::with_verifier(token_request("code"), verifier)
}

#[tokio::test]
async fn a_code_works_once() {
    let hub = Hub::new();
    hub.issue("code", &[]).await;
    assert!(hub.grants.codes.is_live("code").await.unwrap());
    hub.redeem("code").await.unwrap();
    assert!(!hub.grants.codes.is_live("code").await.unwrap());
    assert_eq!(hub.redeem("code").await, Err(ErrorCode::CodeReused));
    assert_eq!(hub.redeem("another").await, Err(ErrorCode::CodeUnknown));
}

#[tokio::test]
async fn replayed_code_revokes_its_token() {
    let hub = Hub::new();
    let (stolen, _) = hub.tokens("code", &[]).await;
    let (unrelated, _) = hub.tokens("another code", &[]).await;
    assert_eq!(hub.validate(&stolen).await, Ok(()));
    assert_eq!(hub.redeem("code").await, Err(ErrorCode::CodeReused));
    assert_eq!(hub.validate(&stolen).await, Err(ErrorCode::AccessTokenInvalid));
    assert_eq!(hub.userinfo(&stolen).await, Err(ErrorCode::AccessTokenInvalid));
    assert_eq!(hub.validate(&unrelated).await, Ok(()));
}

#[tokio::test]
async fn a_foreign_client_that_presents_a_spent_code_revokes_nothing() {
    let hub = Hub::new();
    let (token, _) = hub.tokens("code", &[]).await;
    let mut foreign = token_request("code");
    as_other(&mut foreign);
    for _ in 0..2 {
        assert_eq!(hub.refusal(&foreign).await, Some(ErrorCode::CodeRedeemedByOtherClient));
        assert_eq!(hub.validate(&token).await, Ok(()));
    }
    let (seen, unknown) =
        (ErrorCode::CodeRedeemedByOtherClient.entry(), ErrorCode::CodeUnknown.entry());
    assert_eq!(
        (seen.status, seen.oauth, seen.description),
        (unknown.status, unknown.oauth, unknown.description)
    );
    // Its own client still revokes what a thief may hold, but only after authenticating.
    let unproven = TokenRequest { credentials: by_post("sp", "wrong"), ..token_request("code") };
    assert_eq!(hub.refusal(&unproven).await, Some(ErrorCode::ClientAuthentication));
    assert_eq!(hub.validate(&token).await, Ok(()));
    assert_eq!(hub.redeem("code").await, Err(ErrorCode::CodeReused));
    assert_eq!(hub.validate(&token).await, Err(ErrorCode::AccessTokenInvalid));
}

#[tokio::test]
async fn a_replayed_code_revokes_until_the_token_expires() {
    let hub = Hub::new();
    let (token, _) = hub.tokens("code", &[]).await;
    hub.clock.advance(super::TOKEN_LIFE - MILLISECOND);
    assert_eq!(hub.validate(&token).await, Ok(()));
    assert_eq!(
        hub.redeem("code").await,
        Err(ErrorCode::CodeReused),
        "the code itself would be long dead"
    );
    assert_eq!(hub.validate(&token).await, Err(ErrorCode::AccessTokenInvalid));
}

#[tokio::test]
async fn a_code_that_outlives_its_tokens_is_not_issued_again_and_its_replay_is_detected() {
    let hub = Hub::build(ample_capacities(), |dependencies| {
        dependencies.lifetimes.federation.access_token = Duration::from_secs(5);
    });
    let grant = hub.grant("code", &[]);
    hub.grants.codes.issue(&grant).await.unwrap();
    hub.redeem("code").await.unwrap();
    hub.clock.advance(CODE_LIFE - MILLISECOND);
    assert_eq!(hub.grants.codes.issue(&grant).await, Err(ErrorCode::AlreadyDone));
    assert_eq!(hub.redeem("code").await, Err(ErrorCode::CodeReused));
}

#[tokio::test]
async fn any_failed_check_invalidates_the_code() {
    type Flaw = fn(&mut TokenRequest);
    let flaws: [(&str, bool, Flaw, ErrorCode); 9] = [
        ("code injection: another SP's", false, as_other, ErrorCode::CodeOfOtherClient),
        ("code injection with PKCE", true, as_other, ErrorCode::CodeOfOtherClient),
        (
            "a slash more",
            false,
            |r| code_grant(r).redirect_uri.push('/'),
            ErrorCode::CodeRedirectUri,
        ),
        (
            "a byte less",
            false,
            |r| code_grant(r).redirect_uri.truncate(SP_CALLBACK.len() - 1),
            ErrorCode::CodeRedirectUri,
        ),
        (
            "another case",
            false,
            |r| code_grant(r).redirect_uri = SP_CALLBACK.replace("sp", "SP"),
            ErrorCode::CodeRedirectUri,
        ),
        ("no verifier", true, |r| code_grant(r).code_verifier = None, ErrorCode::CodeVerifier),
        (
            "the challenge as verifier",
            true,
            |r| code_grant(r).code_verifier = Some(Secret::new(PKCE[0].1.into())),
            ErrorCode::CodeVerifier,
        ),
        (
            "a verifier one character off",
            true,
            |r| code_grant(r).code_verifier = Some(Secret::new(VERIFIER.replace('X', "Y"))),
            ErrorCode::CodeVerifier,
        ),
        (
            "a verifier without a challenge (downgrade)",
            false,
            |r| code_grant(r).code_verifier = Some(Secret::new(VERIFIER.into())),
            ErrorCode::CodeVerifier,
        ),
    ];
    for (attack, pkce, flaw, code) in flaws {
        let hub = Hub::new();
        hub.issue("code", if pkce { &PKCE } else { &[] }).await;
        let good = if pkce { request_with_verifier(VERIFIER) } else { token_request("code") };
        let mut bad = good.clone();
        flaw(&mut bad);
        assert_eq!(hub.refusal(&bad).await, Some(code), "{attack}");
        let late = if code == ErrorCode::CodeOfOtherClient {
            ErrorCode::CodeRedeemedByOtherClient
        } else {
            ErrorCode::CodeReused
        };
        assert_eq!(hub.refusal(&good).await, Some(late), "{attack}: the right one comes too late");
    }
    for (changes, request) in
        [(&PKCE[..], request_with_verifier(VERIFIER)), (&[], token_request("code"))]
    {
        let hub = Hub::new();
        hub.issue("code", changes).await;
        hub.grants.token_endpoint.answer(&request).await.unwrap();
    }
}

fn as_other(request: &mut TokenRequest) {
    request.credentials = by_post("other", "other's secret");
}

#[tokio::test]
async fn closed_gate_invalidates_the_code() {
    let hub = Hub::new();
    hub.issue("code", &[]).await;
    *hub.gate.closed.lock().unwrap() = Some(ErrorCode::IdpOff);
    assert_eq!(hub.redeem("code").await, Err(ErrorCode::CodeGateClosed));
    assert_eq!(
        *hub.gate.asked.lock().unwrap(),
        [("sp".into(), "idp".into(), AcrCheck::Achieved(Level::Eidas1))]
    );
    *hub.gate.closed.lock().unwrap() = None;
    assert_eq!(hub.redeem("code").await, Err(ErrorCode::CodeReused));
}

#[tokio::test]
async fn a_code_is_invalid_at_its_expiry() {
    let hub = Hub::new();
    hub.issue("in time", &[]).await;
    hub.issue("too late", &[]).await;
    hub.clock.advance(CODE_LIFE - MILLISECOND);
    hub.redeem("in time").await.unwrap();
    hub.clock.advance(MILLISECOND);
    assert!(!hub.grants.codes.is_live("too late").await.unwrap());
    assert_eq!(hub.redeem("too late").await, Err(ErrorCode::CodeUnknown));
}

/// A signer that waits: the moment between taking the code and storing the token.
struct Waiting(Arc<Notify>);

#[async_trait]
impl Signer for Waiting {
    async fn sign(
        &self,
        alg: SigningAlg,
        typ: &str,
        payload: &[u8],
        now: Timestamp,
    ) -> Result<String, SigningError> {
        self.0.notified().await;
        RING.sign(alg, typ, payload, now).await
    }
}

#[tokio::test]
async fn replay_before_the_token_is_issued_stops_it() {
    let signing = Arc::new(Notify::new());
    let hub = Hub::build(ample_capacities(), |dependencies| {
        dependencies.signer = Arc::new(Waiting(Arc::clone(&signing)));
    });
    hub.issue("code", &[]).await;
    let (first, second) = tokio::join!(hub.redeem("code"), async {
        let second = hub.redeem("code").await;
        signing.notify_one();
        second
    });
    assert_eq!((first, second), (Err(ErrorCode::CodeRevoked), Err(ErrorCode::CodeReused)));
}

#[tokio::test]
async fn a_logout_before_the_token_is_issued_stops_it_and_is_no_reuse() {
    let signing = Arc::new(Notify::new());
    let hub = Hub::build(ample_capacities(), |dependencies| {
        dependencies.signer = Arc::new(Waiting(Arc::clone(&signing)));
    });
    hub.issue("code", &[]).await;
    let (redeemed, ended) = tokio::join!(hub.redeem("code"), async {
        let ended = hub.grants.sessions.end(&Secret::new("code's session".into())).await;
        signing.notify_one();
        ended
    });
    assert!(ended.unwrap().is_some());
    assert_eq!(redeemed, Err(ErrorCode::CodeRevoked));
    assert_eq!(ErrorCode::CodeRevoked.entry().oauth, "invalid_grant");
}

#[test]
fn one_of_concurrent_redemptions_succeeds_and_its_tokens_are_revoked() {
    for round in 0..10 {
        let hub = Arc::new(Hub::new());
        let runtime = || tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime().block_on(hub.issue("code", &[]));
        let start = Arc::new(Barrier::new(6));
        let threads: Vec<_> = (0..6)
            .map(|_| {
                let (hub, start, runtime) = (Arc::clone(&hub), Arc::clone(&start), runtime());
                std::thread::spawn(move || {
                    start.wait();
                    runtime.block_on(hub.redeem("code"))
                })
            })
            .collect();
        let outcomes: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let (won, lost): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
        assert!(won.len() <= 1, "round {round}");
        // The winner's tokens are revoked if a replay was processed before its response.
        let overtaken =
            lost.iter().filter(|outcome| **outcome == Err(ErrorCode::CodeRevoked)).count();
        let reused = lost.iter().filter(|outcome| **outcome == Err(ErrorCode::CodeReused)).count();
        assert_eq!((won.len() + overtaken, reused), (1, 5), "round {round}: {lost:?}");
        for answer in won.into_iter().flatten() {
            let token = answer["access_token"].as_str().unwrap();
            assert_eq!(
                runtime().block_on(hub.validate(token)),
                Err(ErrorCode::AccessTokenInvalid),
                "round {round}"
            );
        }
    }
}

#[tokio::test]
async fn no_code_is_redeemable_if_a_record_could_not_be_stored() {
    let no_sessions = Hub::with(ample_capacities().with_records(RecordKind::SESSION, 0));
    assert_eq!(
        no_sessions.grants.codes.issue(&no_sessions.grant("code", &[])).await,
        Err(ErrorCode::StoreFull)
    );
    assert_eq!(no_sessions.redeem("code").await, Err(ErrorCode::CodeUnknown));
    let no_codes = Hub::with(ample_capacities().with_records(RecordKind::CODE, 0));
    assert_eq!(
        no_codes.grants.codes.issue(&no_codes.grant("code", &[])).await,
        Err(ErrorCode::StoreFull)
    );
    assert_eq!(no_codes.redeem("code").await, Err(ErrorCode::CodeUnknown));
}

#[tokio::test]
async fn a_repeated_grant_issues_one_code() {
    let hub = Hub::new();
    let grant = hub.grant("code", &[]);
    let cookie = Secret::new("code's session".to_owned());
    hub.grants.codes.issue(&grant).await.unwrap();
    assert_eq!(hub.grants.codes.issue(&grant).await, Ok(()), "a repeat after an unknown outcome");
    let token = hub.redeem("code").await.unwrap()["access_token"].as_str().unwrap().to_owned();
    // From here on a repeat changes nothing: no second code, no effect on the first.
    assert_eq!(hub.grants.codes.issue(&grant).await, Err(ErrorCode::AlreadyDone));
    assert_eq!(hub.validate(&token).await, Ok(()));
    assert!(
        hub.grants.sessions.find(&cookie).await.unwrap().is_some(),
        "the session of a user who went back"
    );
    // The next login of this browser takes the session's place.
    let session =
        SessionUse::New { cookie: Secret::new("the next".into()), replaced: Some(cookie.clone()) };
    hub.grants.codes.issue(&CodeGrant { session, ..hub.grant("the next", &[]) }).await.unwrap();
    assert_eq!(hub.grants.codes.issue(&grant).await, Err(ErrorCode::AlreadyDone));
    assert!(
        hub.grants.sessions.find(&cookie).await.unwrap().is_none(),
        "back brought the former session back"
    );
    assert_eq!(hub.redeem("code").await, Err(ErrorCode::CodeReused));
}

#[tokio::test]
async fn a_grant_repeated_after_a_logout_is_refused() {
    let hub = Hub::new();
    let (grant, cookie) = (hub.grant("code", &[]), Secret::new("code's session".to_owned()));
    hub.grants.codes.issue(&grant).await.unwrap();
    hub.grants.sessions.end(&cookie).await.unwrap();
    assert_eq!(hub.grants.codes.issue(&grant).await, Err(ErrorCode::LoginRequired));
    assert!(hub.grants.sessions.find(&cookie).await.unwrap().is_none());
    assert_eq!(hub.redeem("code").await, Err(ErrorCode::CodeUnknown));
}

#[tokio::test]
async fn a_grant_repeated_after_its_code_expired_gives_no_code() {
    let hub = Hub::new();
    let grant = hub.grant("code", &[]);
    hub.clock.advance(CODE_LIFE - MILLISECOND);
    hub.grants.codes.issue(&grant).await.unwrap();
    hub.clock.advance(MILLISECOND);
    assert_eq!(hub.grants.codes.issue(&grant).await, Err(ErrorCode::AlreadyDone));
    assert_eq!(
        hub.redeem("code").await,
        Err(ErrorCode::CodeUnknown),
        "it lives from the moment of the grant"
    );
}

#[tokio::test]
async fn reading_the_store_reveals_no_code_or_token() {
    let hub = Hub::new();
    let (token, _) = hub.tokens("code", &[]).await;
    hub.issue("live code", &[]).await;
    for (kind, secret) in [
        (RecordKind::CODE, "live code"),
        (RecordKind::TOKEN, token.as_str()),
        (RecordKind::SESSION, "code's session"),
    ] {
        let plain = RecordKey { kind, name: Arc::from(secret) };
        let hashed = RecordKey {
            kind,
            name: Arc::from(passerelle_protocol::digest::sha256_base64url(secret)),
        };
        assert!(hub.store.load(&plain, hub.now()).await.unwrap().is_none());
        let record = hub.store.load(&hashed, hub.now()).await.unwrap().unwrap();
        assert!(!String::from_utf8_lossy(&record.value).contains(secret));
    }
}
