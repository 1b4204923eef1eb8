use std::sync::Arc;
use std::time::Duration;

use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use serde_json::{Value, json};

use crate::presentation_error::PresentationError::{
    CertificateMissing, CertificateUsage, IssuerUntrusted,
};
use crate::testing::wallet_credentials::lists::{DocumentServer, PID_ISSUANCE, UnsignedList};
use crate::testing::wallet_credentials::{
    CertificateSpec, PRESENTED_AT, TestAuthority, TestSigner,
};
use crate::trust::{CertificatePurpose, TrustAnchors};
use crate::trust_list::TrustListError::*;
use crate::trust_list::{PinnedAnchors, TrustListError, TrustListSource, TrustSources};
use passerelle_protocol::digest;
use passerelle_protocol::env::Env;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};

const URL: &str = "https://lists.example/pid-providers";

struct Lists {
    operator: TestAuthority,
    signer: TestSigner,
    issuer: TestAuthority,
    server: Arc<DocumentServer>,
    clock: Arc<ManualClock>,
    sources: TrustSources,
}

impl Lists {
    fn new(service_types: &[&str]) -> Self {
        Self::for_operator(TestAuthority::new("List operator"), service_types)
    }

    /// Returns a list whose accepted signers are this operator.
    fn for_operator(operator: TestAuthority, service_types: &[&str]) -> Self {
        let source = TrustListSource {
            url: URL.into(),
            signers: operator.anchors(),
            service_types: service_types.iter().map(ToString::to_string).collect(),
            credentials: Vec::new(),
        };
        let clock = Arc::new(ManualClock::at(PRESENTED_AT));
        let env = Env::new(clock.clone(), Arc::new(SeededEntropy::new(1)));
        let server = Arc::new(DocumentServer::default());
        let pinned = TestAuthority::new("Pinned").anchors();
        let lists = Self {
            signer: operator.issue(&CertificateSpec::signer()),
            operator,
            issuer: TestAuthority::new("Listed"),
            sources: TrustSources::new(pinned.into(), vec![source], server.clone(), env),
            server,
            clock,
        };
        lists.serve(|_| {});
        lists
    }

    fn serve(&self, change: impl FnOnce(&mut UnsignedList)) {
        let mut list = UnsignedList::with_trusted(&self.signer, &[self.issuer.der()]);
        change(&mut list);
        self.server.serve(URL, list.sign(&self.signer));
    }

    /// Returns true if a credential of the listed issuer is trusted.
    async fn trusts(&self) -> bool {
        let signer = self.issuer.issue(&CertificateSpec::signer());
        let anchors = self.sources.current_trust("pid").await.anchors;
        let purpose = CertificatePurpose::SdJwtVc;
        anchors.verify_chain(&signer.chain, purpose, PRESENTED_AT).is_ok()
    }

    async fn error(&self) -> Option<TrustListError> {
        self.sources.refresh().await.remove(0).err().map(|(_, error)| error)
    }
}

fn service(list: &mut UnsignedList) -> &mut Value {
    &mut list.payload["LoTE"]["TrustedEntitiesList"][0]["TrustedEntityServices"][0]["ServiceInformation"]
}

fn scheme(list: &mut UnsignedList) -> &mut Value {
    &mut list.payload["LoTE"]["ListAndSchemeInformation"]
}

/// Asserts that a list is refused for this reason, and that only the pinned anchors remain.
#[track_caller]
fn assert_lie(reason: TrustListError, lie: impl FnOnce(&mut UnsignedList)) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let lists = Lists::new(&[PID_ISSUANCE]);
        lists.serve(lie);
        assert!(!lists.trusts().await);
        assert_eq!(lists.sources.current_trust("pid").await.anchors.len(), 1);
        assert_eq!(lists.error().await, Some(reason));
    });
}

#[tokio::test]
async fn a_signed_list_gives_anchors() {
    for types in [&[][..], &[PID_ISSUANCE]] {
        let lists = Lists::new(types);
        assert!(lists.trusts().await);
        assert_eq!(lists.sources.current_trust("pid").await.anchors.len(), 2);
        assert_eq!(lists.server.calls(), 1);
        let state = lists.sources.refresh().await.remove(0).unwrap();
        assert_eq!((state.anchors, state.url.as_str()), (1, URL));
        assert_eq!(lists.sources.states(), [state]);
    }
}

#[tokio::test]
async fn a_list_signed_with_rsa_gives_anchors() {
    for (alg, accepted) in [("RS256", true), ("ES256", false)] {
        let mut lists = Lists::new(&[]);
        let key = PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap();
        lists.signer = lists.operator.issue_for(key.clone(), &CertificateSpec::signer());
        let mut list = UnsignedList::with_trusted(&lists.signer, &[lists.issuer.der()]);
        list.header["alg"] = json!(alg);
        let part = |value: &Value| digest::base64url(value.to_string().as_bytes());
        let message = format!("{}.{}", part(&list.header), part(&list.payload));
        let hash = openssl::hash::MessageDigest::sha256();
        let mut signer = openssl::sign::Signer::new(hash, &key).unwrap();
        let signature = signer.sign_oneshot_to_vec(message.as_bytes()).unwrap();
        lists.server.serve(URL, format!("{message}.{}", digest::base64url(&signature)));
        assert_eq!(lists.trusts().await, accepted);
    }
}

#[tokio::test]
async fn the_last_good_copy_serves_until_its_next_update() {
    let lists = Lists::new(&[]);
    assert!(lists.trusts().await);
    lists.server.stop();
    lists.clock.advance(Duration::from_secs(2 * 86_400));
    assert!(lists.trusts().await);
    lists.clock.advance(Duration::from_secs(4 * 86_400));
    assert!(!lists.trusts().await);
    assert_eq!(lists.sources.current_trust("pid").await.anchors.len(), 1);
}

#[tokio::test]
async fn a_removed_issuer_is_not_trusted_any_more() {
    let lists = Lists::new(&[]);
    assert!(lists.trusts().await);
    let other = TestAuthority::new("Other");
    let mut list = UnsignedList::with_trusted(&lists.signer, &[other.der()]);
    scheme(&mut list)["LoTESequenceNumber"] = json!(6);
    lists.server.serve(URL, list.sign(&lists.signer));
    lists.clock.advance(Duration::from_secs(3600));
    assert!(!lists.trusts().await);
    // Nor by the list of yesterday.
    lists.serve(|_| {});
    lists.clock.advance(Duration::from_secs(3600));
    assert!(!lists.trusts().await);
    assert_eq!(lists.error().await, Some(RolledBack));
}

/// The issuers of a diploma must not issue a PID.
#[tokio::test]
async fn an_issuer_of_one_credential_is_not_trusted_for_another() {
    let (pid, diploma, listed) =
        (TestAuthority::new("PID"), TestAuthority::new("Diploma"), TestAuthority::new("Listed"));
    let operator = TestAuthority::new("List operator");
    let server = Arc::new(DocumentServer::default());
    let signer = operator.issue(&CertificateSpec::signer());
    let list = UnsignedList::with_trusted(&signer, &[listed.der()]);
    server.serve(URL, list.sign(&signer));
    let clock = Arc::new(ManualClock::at(PRESENTED_AT));
    let env = Env::new(clock, Arc::new(SeededEntropy::new(1)));
    for (credentials, listed_for) in
        [(vec![], ["licence"].as_slice()), (vec!["pid".to_owned()], &["pid"])]
    {
        let source = TrustListSource {
            url: URL.into(),
            signers: operator.anchors(),
            service_types: Vec::new(),
            credentials,
        };
        let pinned = PinnedAnchors {
            shared: TrustAnchors::default(),
            by_credential: [("pid", &pid), ("diploma", &diploma)]
                .map(|(id, authority)| (id.to_owned(), authority.anchors()))
                .into(),
        };
        let sources = TrustSources::new(pinned, vec![source], server.clone(), env.clone());
        for (credential, own) in
            [("pid", Some(&pid)), ("diploma", Some(&diploma)), ("licence", None)]
        {
            let trust = sources.current_trust(credential).await;
            for authority in [&pid, &diploma, &listed] {
                let issuer = authority.issue(&CertificateSpec::signer());
                let purpose = CertificatePurpose::SdJwtVc;
                let is_trusted =
                    trust.anchors.verify_chain(&issuer.chain, purpose, PRESENTED_AT).is_ok();
                let is_own = own.is_some_and(|own| own.der() == authority.der());
                let is_listed = authority.der() == listed.der() && listed_for.contains(&credential);
                assert_eq!(is_trusted, is_own || is_listed, "{credential}");
            }
        }
    }
}

#[tokio::test]
async fn an_unreachable_list_leaves_the_pinned_anchors() {
    let lists = Lists::new(&[]);
    lists.server.stop();
    assert_eq!(lists.sources.current_trust("pid").await.anchors.len(), 1);
    assert!(lists.sources.current_trust("pid").await.is_incomplete);
    assert!(matches!(lists.error().await, Some(Unreachable(_))));
    lists.serve(|_| {});
    assert!(lists.trusts().await);
}

#[test]
fn a_list_of_an_untrusted_signer_is_refused() {
    let attacker = TestAuthority::new("Attacker").issue(&CertificateSpec::signer());
    assert_lie(Certificate(IssuerUntrusted), |list| list.header["x5c"] = attacker.x5c());
    assert_lie(Certificate(CertificateMissing), |list| {
        list.header.as_object_mut().unwrap().remove("x5c");
    });
}

#[tokio::test]
async fn a_list_signed_by_an_issuer_that_it_names_is_refused() {
    let lists = Lists::new(&[]);
    let issuer = lists.issuer.issue(&CertificateSpec::signer());
    let list = UnsignedList::with_trusted(&issuer, &[lists.issuer.der()]);
    lists.server.serve(URL, list.sign(&issuer));
    assert_eq!(lists.error().await, Some(Certificate(IssuerUntrusted)));
}

#[tokio::test]
async fn a_list_that_was_altered_after_signing_is_refused() {
    let lists = Lists::new(&[]);
    let signed =
        UnsignedList::with_trusted(&lists.signer, &[lists.issuer.der()]).sign(&lists.signer);
    let attacker = TestAuthority::new("Attacker");
    let forged = UnsignedList::with_trusted(&lists.signer, &[attacker.der()]).sign(&lists.signer);
    let (message, _) = forged.rsplit_once('.').unwrap();
    let (_, signature) = signed.rsplit_once('.').unwrap();
    lists.server.serve(URL, format!("{message}.{signature}"));
    assert_eq!(lists.error().await, Some(Signature));
}

#[test]
fn unsigned_and_symmetric_lists_are_refused() {
    for alg in ["none", "HS256", "RS1"] {
        assert_lie(Algorithm, |list| list.header["alg"] = json!(alg));
    }
    assert_lie(Extension, |list| list.header["crit"] = json!(["sigT", "sigD"]));
    assert_lie(Extension, |list| list.header["b64"] = json!(false));
}

#[test]
fn expired_and_future_lists_are_refused() {
    assert_lie(Expired, |list| scheme(list)["NextUpdate"] = json!("2027-01-15T00:00:00Z"));
    assert_lie(InFuture, |list| scheme(list)["ListIssueDateTime"] = json!("2027-01-16T00:00:00Z"));
}

#[test]
fn malformed_lists_are_refused() {
    assert_lie(Malformed, |list| scheme(list)["NextUpdate"] = json!(null));
    assert_lie(Malformed, |list| scheme(list)["ListIssueDateTime"] = json!("yesterday"));
    assert_lie(Malformed, |list| list.payload = list.payload["LoTE"].clone());
    let certificates = |list: &mut UnsignedList, value: Value| {
        service(list)["ServiceDigitalIdentity"]["X509Certificates"] = value;
    };
    assert_lie(Empty, |list| certificates(list, json!([{ "val": "%" }])));
    assert_lie(Empty, |list| certificates(list, json!([{ "val": "AAAA" }, {}])));
    assert_lie(Version, |list| scheme(list)["LoTEVersionIdentifier"] = json!(2));
}

#[tokio::test]
async fn a_certificate_that_cannot_be_parsed_leaves_the_others_of_its_list() {
    let lists = Lists::new(&[]);
    lists.serve(|list| {
        let certificates = &mut service(list)["ServiceDigitalIdentity"]["X509Certificates"];
        let certificates = certificates.as_array_mut().unwrap();
        certificates.insert(0, json!({ "val": "AAAA" }));
        certificates.push(json!({ "val": "%" }));
    });
    assert!(lists.trusts().await);
    let state = lists.sources.refresh().await.remove(0).unwrap();
    assert_eq!((state.anchors, state.skipped), (1, 2));
    assert!(!lists.sources.current_trust("pid").await.is_incomplete);
}

#[tokio::test]
async fn a_pinned_self_signed_signer_signs_its_list_and_no_other_does() {
    let authority = CertificateSpec::authority("List operator");
    for (spec, expected) in [
        (CertificateSpec::signer(), None),
        (CertificateSpec { has_key_usage: false, ..authority.clone() }, None),
        // It may sign certificates only.
        (authority, Some(Certificate(CertificateUsage))),
    ] {
        let operator = TestAuthority::with_spec(&spec);
        let mut lists = Lists::for_operator(operator.clone(), &[]);
        lists.signer = operator.as_signer();
        lists.serve(|_| {});
        assert_eq!(lists.error().await, expected);
        lists.signer = TestAuthority::with_spec(&spec).as_signer();
        lists.serve(|_| {});
        assert_eq!(lists.error().await, Some(Certificate(IssuerUntrusted)), "another key");
    }
}

#[test]
fn certificates_of_other_services_are_not_trusted() {
    assert_lie(Empty, |list| {
        service(list)["ServiceTypeIdentifier"] =
            json!("http://uri.etsi.org/19602/SvcType/WalletSolution/Issuance");
    });
    assert_lie(Empty, |list| {
        service(list).as_object_mut().unwrap().remove("ServiceTypeIdentifier");
    });
}

#[test]
fn certificates_of_a_withdrawn_service_are_not_trusted() {
    let status = "http://uri.etsi.org/19602/PubEAAProvidersList/SvcStatus";
    assert_lie(Empty, |list| service(list)["ServiceStatus"] = json!(format!("{status}/withdrawn")));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let lists = Lists::new(&[]);
    lists.serve(|list| service(list)["ServiceStatus"] = json!(format!("{status}/notified")));
    assert!(runtime.block_on(lists.trusts()));
}

#[test]
fn an_empty_source_trusts_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let server = Arc::new(DocumentServer::default());
    let sources = TrustSources::new(PinnedAnchors::default(), Vec::new(), server, Env::system());
    assert!(runtime.block_on(sources.current_trust("pid")).anchors.is_empty());
}
