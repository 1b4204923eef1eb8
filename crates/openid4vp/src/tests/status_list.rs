use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::Bench;
use crate::credential::StatusReference;
use crate::presentation_error::PresentationError::{
    CertificateExpired, CertificateMissing, CertificateSelfSigned, CertificateUsage,
    IssuerUntrusted,
};
use crate::status_list::StatusListError::*;
use crate::status_list::{StatusError, StatusListError, StatusLists, UnreachableStatusPolicy};
use crate::testing::wallet_credentials::lists::{
    DocumentServer, STATUS_LIST_URI, UnsignedList, compressed,
};
use crate::testing::wallet_credentials::sd_jwt::SdJwtPresentation;
use crate::testing::wallet_credentials::{
    CertificateSpec, PRESENTED_AT, TestAuthority, TestSigner,
};
use passerelle_protocol::env::Env;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

/// Credential 0 is valid, 1 is revoked, 2 is suspended, 3 has a status of the application.
const STATUSES: [u8; 4] = [0, 1, 2, 3];

struct Checker {
    bench: Bench,
    server: Arc<DocumentServer>,
    clock: Arc<ManualClock>,
    lists: StatusLists,
}

impl Checker {
    fn new(policy: UnreachableStatusPolicy) -> Self {
        let clock = Arc::new(ManualClock::at(PRESENTED_AT));
        let env = Env::new(clock.clone(), Arc::new(SeededEntropy::new(1)));
        let server = Arc::new(DocumentServer::default());
        let lists = StatusLists::new(server.clone(), env, policy);
        let checker = Self { bench: Bench::sd_jwt(), server, clock, lists };
        checker.serve(|_| {});
        checker
    }

    fn list(&self) -> UnsignedList {
        UnsignedList::with_statuses(&self.bench.issuer, &STATUSES)
    }

    fn serve(&self, change: impl FnOnce(&mut UnsignedList)) {
        let mut list = self.list();
        change(&mut list);
        self.server.serve(STATUS_LIST_URI, list.sign(&self.bench.issuer));
    }

    async fn check(&self, index: u64) -> Result<(), StatusError> {
        let reference = StatusReference { uri: STATUS_LIST_URI.into(), index };
        self.lists.check_status(&reference, &self.bench.anchors).await
    }
}

/// Asserts that a list is refused for this reason.
async fn assert_list_refused(reason: StatusListError, alter: impl FnOnce(&mut UnsignedList)) {
    for policy in [UnreachableStatusPolicy::Refuse, UnreachableStatusPolicy::Accept] {
        assert!(Checker::new(policy).check(0).await.is_ok());
    }
    // A forged list is refused even where one that can't be reached is not.
    let checker = Checker::new(UnreachableStatusPolicy::Accept);
    checker.serve(alter);
    assert_eq!(checker.check(0).await, Err(StatusError::Unusable(reason)));
}

async fn assert_signer_refused(reason: StatusListError, signer: &TestSigner) {
    let checker = Checker::new(UnreachableStatusPolicy::Accept);
    let list = UnsignedList::with_statuses(signer, &STATUSES);
    checker.server.serve(STATUS_LIST_URI, list.sign(signer));
    assert_eq!(checker.check(0).await, Err(StatusError::Unusable(reason)));
}

#[tokio::test]
async fn revoked_and_suspended_credentials_are_refused() {
    let checker = Checker::new(UnreachableStatusPolicy::Refuse);
    assert_eq!(checker.check(0).await, Ok(()));
    assert_eq!(checker.check(1).await, Err(StatusError::Revoked));
    assert_eq!(checker.check(2).await, Err(StatusError::Suspended));
    assert_eq!(checker.check(3).await, Err(StatusError::UnknownStatus));
    assert_eq!(checker.check(4).await, Err(StatusError::OutOfRange));
    assert_eq!(checker.check(u64::MAX).await, Err(StatusError::OutOfRange));
    assert_eq!(checker.server.calls(), 1);
}

/// RFC 7519 §2.
#[tokio::test]
async fn dates_of_a_list_may_have_fractions() {
    let checker = Checker::new(UnreachableStatusPolicy::Refuse);
    checker.serve(|list| {
        for name in ["iat", "exp", "ttl"] {
            let seconds = list.payload[name].as_f64().unwrap_or(300.0);
            if name == "ttl" || list.payload.get(name).is_some() {
                list.payload[name] = json!(seconds + 0.5);
            }
        }
    });
    assert_eq!(checker.check(0).await, Ok(()));
}

#[tokio::test]
async fn a_list_is_fetched_again_when_it_is_due() {
    let checker = Checker::new(UnreachableStatusPolicy::Refuse);
    assert_eq!(checker.check(0).await, Ok(()));
    checker.serve(|list| {
        list.payload["status_list"]["lst"] = json!(compressed(&[1]));
    });
    checker.clock.advance(Duration::from_secs(400));
    assert_eq!(checker.check(0).await, Ok(()));
    checker.clock.advance(Duration::from_secs(100));
    assert_eq!(checker.check(0).await, Err(StatusError::Revoked));
    // A copy serves until it is too old, and no longer.
    checker.server.stop();
    checker.clock.advance(Duration::from_secs(500));
    assert_eq!(checker.check(1).await, Ok(()));
    checker.clock.advance(Duration::from_secs(101));
    for _ in 0..2 {
        assert!(matches!(checker.check(1).await, Err(StatusError::Unreachable(_))));
    }
}

#[tokio::test]
async fn an_unreachable_list_is_refused_unless_the_operator_accepts_it() {
    for (policy, accepted) in
        [(UnreachableStatusPolicy::Refuse, false), (UnreachableStatusPolicy::Accept, true)]
    {
        let checker = Checker::new(policy);
        checker.server.stop();
        assert_eq!(checker.check(1).await.is_ok(), accepted);
        checker.serve(|_| {});
        assert_eq!(checker.check(1).await, Err(StatusError::Revoked));
    }
    assert_eq!(UnreachableStatusPolicy::default(), UnreachableStatusPolicy::Refuse);
}

#[tokio::test]
async fn a_list_that_was_altered_after_signing_is_refused() {
    let checker = Checker::new(UnreachableStatusPolicy::Accept);
    let mut forged = checker.list();
    let truth = forged.sign(&checker.bench.issuer);
    forged.payload["status_list"]["lst"] = json!(compressed(&[0]));
    let forged = forged.sign(&checker.bench.issuer);
    let (message, _) = forged.rsplit_once('.').unwrap();
    let (_, signature) = truth.rsplit_once('.').unwrap();
    checker.server.serve(STATUS_LIST_URI, format!("{message}.{signature}"));
    assert_eq!(checker.check(1).await, Err(StatusError::Unusable(Signature)));
}

#[tokio::test]
async fn a_list_of_an_untrusted_signer_is_refused() {
    let bench = Bench::sd_jwt();
    let attacker = TestAuthority::new("Attacker").issue(&CertificateSpec::signer());
    assert_signer_refused(Certificate(IssuerUntrusted), &attacker).await;
    let own = TestAuthority::new("Attacker");
    let mut with_anchor = own.issue(&CertificateSpec::signer());
    with_anchor.chain.push(own.der());
    assert_signer_refused(Certificate(CertificateSelfSigned), &with_anchor).await;
    assert_list_refused(Certificate(CertificateMissing), |list| {
        list.header.as_object_mut().unwrap().remove("x5c");
    })
    .await;
    // The certificate of the true issuer, whose key the attacker hasn't.
    let stolen = TestSigner { key: attacker.key, chain: bench.issuer.chain.clone() };
    let checker = Checker { bench, ..Checker::new(UnreachableStatusPolicy::Accept) };
    checker.server.serve(STATUS_LIST_URI, checker.list().sign(&stolen));
    assert_eq!(checker.check(0).await, Err(StatusError::Unusable(Signature)));
}

#[tokio::test]
async fn a_list_signed_with_a_bad_certificate_is_refused() {
    let bad = |spec: CertificateSpec| {
        let bench = Bench::sd_jwt();
        let signer = bench.authority.issue(&spec);
        let list = UnsignedList::with_statuses(&signer, &STATUSES).sign(&signer);
        let checker = Checker { bench, ..Checker::new(UnreachableStatusPolicy::Accept) };
        checker.server.serve(STATUS_LIST_URI, list);
        checker
    };
    let expired = bad(CertificateSpec { not_after: -1, ..CertificateSpec::signer() });
    let refused = Err(StatusError::Unusable(Certificate(CertificateExpired)));
    assert_eq!(expired.check(0).await, refused);
    let authority = bad(CertificateSpec::authority("Subordinate"));
    let refused = Err(StatusError::Unusable(Certificate(CertificateUsage)));
    assert_eq!(authority.check(0).await, refused);
}

#[tokio::test]
async fn the_list_of_another_address_is_refused() {
    for sub in [json!("https://status.example/2"), json!(null), json!(1)] {
        assert_list_refused(Subject, |list| list.payload["sub"] = sub).await;
    }
}

#[tokio::test]
async fn another_token_of_the_signer_is_refused() {
    assert_list_refused(TokenType, |list| list.header["typ"] = json!("dc+sd-jwt")).await;
    let checker = Checker::new(UnreachableStatusPolicy::Accept);
    let credential = SdJwtPresentation::of_pid(&checker.bench.issuer).sd_jwt();
    checker.server.serve(STATUS_LIST_URI, credential.split('~').next().unwrap());
    assert_eq!(checker.check(0).await, Err(StatusError::Unusable(TokenType)));
}

#[tokio::test]
async fn unsigned_and_symmetric_lists_are_refused() {
    for alg in ["none", "HS256", "RS256"] {
        assert_list_refused(Algorithm, |list| list.header["alg"] = json!(alg)).await;
    }
    assert_list_refused(Extension, |list| list.header["crit"] = json!(["x"])).await;
}

#[tokio::test]
async fn expired_and_future_lists_are_refused() {
    let now = PRESENTED_AT.seconds();
    assert_list_refused(Expired, |list| list.payload["exp"] = json!(now)).await;
    assert_list_refused(InFuture, |list| list.payload["iat"] = json!(now + 61)).await;
    // Also a cached one, whose ttl has not passed.
    let checker = Checker::new(UnreachableStatusPolicy::Refuse);
    checker.serve(|list| list.payload["exp"] = json!(now + 100));
    assert_eq!(checker.check(0).await, Ok(()));
    checker.clock.advance(Duration::from_secs(100));
    assert_eq!(checker.check(0).await, Err(StatusError::Unusable(Expired)));
}

#[tokio::test]
async fn a_compression_bomb_is_refused() {
    let bomb = compressed(&vec![0; 64 << 20]);
    assert!(bomb.len() < 100_000);
    assert_list_refused(TooLarge, |list| list.payload["status_list"]["lst"] = json!(bomb)).await;
}

#[tokio::test]
async fn malformed_lists_are_refused() {
    assert_list_refused(Compression, |list| list.payload["status_list"]["lst"] = json!("AAAA"))
        .await;
    let changes: [fn(&mut Value); 7] = [
        |payload| payload["status_list"] = json!(null),
        |payload| payload["status_list"]["lst"] = json!("%"),
        |payload| payload["status_list"]["bits"] = json!(3),
        |payload| payload["status_list"]["bits"] = json!(0),
        |payload| payload["iat"] = json!("now"),
        |payload| payload["exp"] = json!(-1),
        |payload| payload["ttl"] = json!("long"),
    ];
    for change in changes {
        assert_list_refused(Malformed, |list| change(&mut list.payload)).await;
    }
    let checker = Checker::new(UnreachableStatusPolicy::Accept);
    for text in ["", "a.b.c", "<html>"] {
        checker.server.serve(STATUS_LIST_URI, text);
        assert_eq!(checker.check(0).await, Err(StatusError::Unusable(Malformed)));
    }
}

/// The cache must not lend a list that other anchors vouch for.
#[tokio::test]
async fn a_cached_list_is_not_trusted_under_other_anchors() {
    let checker = Checker::new(UnreachableStatusPolicy::Refuse);
    assert_eq!(checker.check(0).await, Ok(()));
    let reference = StatusReference { uri: STATUS_LIST_URI.into(), index: 0 };
    let other = TestAuthority::new("Other").anchors();
    let answer = checker.lists.check_status(&reference, &other).await;
    assert_eq!(answer, Err(StatusError::Unusable(Certificate(IssuerUntrusted))));
    assert_eq!(checker.check(0).await, Ok(()));
}
