//! Single Logout of a connector: what it sends, and which requests it believes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arc_swap::ArcSwap;
use openssl::pkey::{HasPublic, PKeyRef};
use openssl::x509::X509;
use passerelle_connector::port::ConnectorContext;
use passerelle_connector::testing::connectors;
use passerelle_federation::login::upstream::EndSessionRequest;
use passerelle_jose::testing::sample_keys;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use url::Url;

use super::identity_provider::*;
use super::metadata::{ENTITY, provider};
use super::published_keys::{SHA1, key_in_counting_device};
use crate::connector::SamlConnector;
use crate::error_codes::SAML_LOGOUT;
use crate::logout::{LogoutMessage, LogoutParties, SamlLogoutRequest, read_logout_response};
use crate::logout_subject::LogoutSubject;
use crate::redirect::{ReceivedMessage, RedirectMessage};
use crate::response::NameId;
use crate::settings::SamlKind;
use crate::single_logout::ReceivedLogout;
use crate::xml::{ContentDecryption, VerificationKey};

const BASE_URL: &str = "https://hub.example";
const HUB: &str = "https://hub.example/connectors/idp/saml/metadata";
const LOGOUT_URL: &str = "https://hub.example/connectors/idp/saml/logout";

struct Fixture {
    connector: SamlConnector,
    clock: Arc<ManualClock>,
    _folder: tempfile::TempDir,
}

impl Fixture {
    fn new(metadata: &str, more: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("idp.xml");
        std::fs::write(&path, metadata).unwrap();
        let text = format!(
            "name = {{ en = \"Idp\" }}\nlevels = {{ lowest = \"eidas1\", highest = \"eidas1\" }}\nassumed_level = \"eidas1\"\n[kind.saml]\nentity_id = \"{ENTITY}\"\nmetadata_file = \"{}\"\n{more}\n",
            path.display()
        );
        let configured = connectors::configured_of(&[crate::KIND], "idp", &text, None);
        let clock = Arc::new(ManualClock::at(time(NOW)));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
        let upstream_keys = Arc::new(ArcSwap::new(Arc::clone(&sample_keys::KEYS)));
        let context = ConnectorContext { upstream_keys, ..connectors::context(env) };
        let kind = configured.kind.downcast_ref::<SamlKind>().unwrap();
        let connector = SamlConnector::new(kind, &configured, context).unwrap();
        Self { connector, clock, _folder: folder }
    }

    /// Returns where a browser goes that logs out of the session of [`ASSERTION`].
    async fn logout_url(&self) -> Option<Url> {
        self.connector.logout_url(&end_session_request(hint())).await.unwrap()
    }

    async fn receive(&self, query: &str) -> Result<ReceivedLogout, String> {
        let received = self.connector.receive_logout_request(query, BASE_URL).await;
        received.map_err(|error| {
            assert_eq!(error.code, SAML_LOGOUT, "{error}");
            error.detail
        })
    }

    async fn hub_key(&self) -> VerificationKey {
        let certificates = self.connector.keys.certificates("hub", time(NOW)).await.unwrap();
        let der = openssl::base64::decode_block(&certificates.signing[0]).unwrap();
        VerificationKey::from_certificate(&der).unwrap()
    }
}

/// Returns what the session of [`ASSERTION`] keeps.
fn hint() -> Secret<String> {
    let assertion = check(&response(&sign(ASSERTION))).unwrap();
    LogoutSubject::from_assertion(&assertion).unwrap().to_hint()
}

fn end_session_request(session_hint: Secret<String>) -> EndSessionRequest {
    EndSessionRequest {
        session_hint,
        state: "the state".to_owned(),
        post_logout_redirect_uri: format!("{BASE_URL}/api/v2/session/end/idp"),
    }
}

fn name_id(value: &str) -> NameId {
    NameId { value: value.to_owned(), format: None, name_qualifier: None, sp_name_qualifier: None }
}

/// Returns the query by which the identity provider asks to end a session.
fn request_query(pair: &KeyPair, index: Option<&str>, edits: &[(&str, &str)]) -> String {
    let message =
        LogoutMessage { id: "_l1", issued_at: time(NOW), destination: LOGOUT_URL, issuer: ENTITY };
    let xml = edit(&message.to_request(&name_id("angela-7"), index), edits);
    signed_query(pair, "SAMLRequest", &xml)
}

fn signed_query(pair: &KeyPair, name: &str, xml: &str) -> String {
    let location = Url::parse(LOGOUT_URL).unwrap();
    let message = RedirectMessage::new(&location, name, xml, Some("r"), Some(pair.algorithm));
    let signature = pair.algorithm.sign(&pair.private, message.signing_input()).unwrap();
    message.with_signature(&signature).query().unwrap().to_owned()
}

#[tokio::test]
async fn the_hub_asks_to_end_the_session_of_the_login() {
    let fixture = Fixture::new(&provider(), "");
    let url = fixture.logout_url().await.unwrap();
    assert!(url.as_str().starts_with("https://idp.example/slo?"), "{url}");
    let received =
        ReceivedMessage::verify(url.query().unwrap(), &[fixture.hub_key().await]).unwrap();
    assert_eq!(received.relay_state.as_deref(), Some("the state"));
    let parties = LogoutParties { sender: HUB, logout_url: "https://idp.example/slo" };
    let (message, by) = (&received.message, ContentDecryption::default());
    let request = SamlLogoutRequest::read(message, &parties, by, time(NOW)).unwrap();
    assert_eq!(request.name_id.value, "angela-7");
    let format = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent";
    assert_eq!(request.name_id.format.as_deref(), Some(format));
    assert_eq!(request.session_indexes, ["_s1"]);
}

#[tokio::test]
async fn a_logout_ends_at_the_hub_if_the_identity_provider_can_not_be_asked() {
    let without = edit(&provider(), &[("md:SingleLogoutService", "md:ArtifactResolutionService")]);
    let by_post = edit(
        &provider(),
        &[(
            "HTTP-Redirect\" Location=\"https://idp.example/slo\"",
            "HTTP-POST\" Location=\"https://idp.example/slo\"",
        )],
    );
    let plain = edit(&provider(), &[("https://idp.example/slo\"", "http://idp.example/slo\"")]);
    for (metadata, more) in
        [(without, ""), (by_post, ""), (plain, ""), (provider(), "single_logout = false")]
    {
        assert_eq!(Fixture::new(&metadata, more).logout_url().await, None, "{more}");
    }
    let fixture = Fixture::new(&provider(), "");
    let id_token = end_session_request(Secret::new("e30.e30.x".to_owned()));
    assert_eq!(fixture.connector.logout_url(&id_token).await.unwrap(), None);
}

#[tokio::test]
async fn a_request_of_the_identity_provider_ends_the_session_that_it_names() {
    let fixture = Fixture::new(&provider(), "");
    let hint: serde_json::Value = serde_json::from_str(hint().reveal()).unwrap();
    for (index, position) in [(Some("_s1"), 0), (None, 1)] {
        let received = fixture.receive(&request_query(&KEYS.provider, index, &[])).await.unwrap();
        let [logout] = received.logouts.as_slice() else { panic!("{index:?}") };
        let named = logout.session_id.as_ref().unwrap().reveal().as_str();
        assert_eq!(hint["sid"][position], named, "{index:?}");
        assert!(logout.subject.is_none());
        assert_eq!(logout.issued_at, time("2026-11-29T17:00:10Z"));
        assert!(logout.expires_at > time(NOW) + Duration::from_secs(300), "longer than accepted");
    }
    let other = [("angela-7", "angela-8")];
    let received = fixture.receive(&request_query(&KEYS.provider, Some("_s1"), &other)).await;
    let named = received.unwrap().logouts.remove(0).session_id.unwrap();
    assert_ne!(hint["sid"][0], named.reveal().as_str(), "an index alone names no session");
}

/// Returns the edit of a request that encrypts its user.
fn encrypted_user(recipient: &PKeyRef<impl HasPublic>) -> (&'static str, String) {
    const PLAIN: &str = "<saml:NameID>angela-7</saml:NameID>";
    (PLAIN, encrypted_to(recipient, "EncryptedID", PLAIN, &GCM))
}

#[tokio::test]
async fn a_request_with_an_encrypted_user_ends_the_same_session() {
    let fixture = Fixture::new(&provider(), "");
    let certificates = fixture.connector.keys.certificates("hub", time(NOW)).await.unwrap();
    let der = openssl::base64::decode_block(&certificates.encryption[0]).unwrap();
    let (plain, user) = encrypted_user(&X509::from_der(&der).unwrap().public_key().unwrap());
    let query = request_query(&KEYS.provider, Some("_s1"), &[(plain, &user)]);
    let received = fixture.receive(&query).await.unwrap();
    let hint: serde_json::Value = serde_json::from_str(hint().reveal()).unwrap();
    let [logout] = received.logouts.as_slice() else { panic!("{received:?}") };
    assert_eq!(hint["sid"][0], logout.session_id.as_ref().unwrap().reveal().as_str());
}

/// Otherwise anyone could let the device decrypt what they recorded, or keep it busy.
#[tokio::test]
async fn a_decryption_oracle_in_a_device_is_not_reached_by_a_logout_request_of_a_stranger() {
    let (keys, private, calls) = key_in_counting_device(&[SHA1]);
    let mut fixture = Fixture::new(&provider(), "");
    fixture.connector.keys = keys;
    let (plain, user) = encrypted_user(&private);
    let query = |pair| request_query(pair, Some("_s1"), &[(plain, &user)]);
    let refused = fixture.receive(&query(&KEYS.stranger)).await.unwrap_err();
    assert!(refused.contains("no key of the metadata"), "{refused}");
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    fixture.receive(&query(&KEYS.provider)).await.unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn the_answer_goes_to_the_identity_provider_signed_whether_the_sessions_ended() {
    let fixture = Fixture::new(&provider(), "");
    let received = fixture.receive(&request_query(&KEYS.provider, None, &[])).await.unwrap();
    for has_ended in [true, false] {
        let answer = fixture.connector.logout_answer_url(&received, has_ended, BASE_URL).await;
        let answer = answer.unwrap();
        assert!(answer.as_str().starts_with("https://idp.example/slo/response?"), "{answer}");
        let keys = [fixture.hub_key().await];
        let message = ReceivedMessage::verify(answer.query().unwrap(), &keys).unwrap();
        assert!(message.is_response);
        assert_eq!(message.relay_state.as_deref(), Some("r"));
        let parties = LogoutParties { sender: HUB, logout_url: "https://idp.example/slo/response" };
        let message = message.message;
        assert_eq!(read_logout_response(&message, &parties, time(NOW)), Ok(has_ended));
        assert_eq!(message.parse().unwrap().root().attribute("InResponseTo"), Some("_l1"));
    }
}

#[tokio::test]
async fn a_forged_logout_request_ends_nothing() {
    let fixture = Fixture::new(&provider(), "");
    let good = request_query(&KEYS.provider, Some("_s1"), &[]);
    let (unsigned, _) = good.split_once("&SigAlg=").unwrap();
    let many =
        format!("<samlp:SessionIndex>{}", "_s</samlp:SessionIndex><samlp:SessionIndex>".repeat(40));
    let signed = |edits: &[(&str, &str)]| request_query(&KEYS.provider, Some("_s1"), edits);
    for (name, query, detail) in [
        (
            "of another key",
            request_query(&KEYS.stranger, Some("_s1"), &[]),
            "no key of the metadata",
        ),
        ("not signed", unsigned.to_owned(), "there is no signature"),
        (
            "for another service",
            signed(&[(LOGOUT_URL, "https://other.example/slo")]),
            "Destination",
        ),
        ("of another entity", signed(&[(ENTITY, "https://other.example/saml")]), "Issuer"),
        ("old", signed(&[("17:00:10Z", "16:50:00Z")]), "too old"),
        ("of no user", signed(&[("angela-7", "")]), "exactly one user"),
        ("of many sessions", signed(&[("<samlp:SessionIndex>", &many)]), "more than 32"),
        (
            "in another message",
            signed_query(&KEYS.provider, "SAMLRequest", &sign(ASSERTION)),
            "no LogoutRequest",
        ),
    ] {
        let refused = fixture.receive(&query).await.err().unwrap_or_default();
        assert!(refused.contains(detail), "{name}: {refused}");
    }
    assert!(fixture.receive(&good).await.is_ok());
    fixture.clock.advance(Duration::from_secs(6 * 60));
    assert!(fixture.receive(&good).await.unwrap_err().contains("too old"), "recorded before");
    let off = Fixture::new(&provider(), "single_logout = false");
    assert!(off.receive(&good).await.unwrap_err().contains("single logout is off"));
}
