//! Logins at the connector itself: what a checked assertion proves, and that it does so once.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use passerelle_connector::diagnostic::DiagnosticStatus;
use passerelle_connector::error::ConnectorError;
use passerelle_connector::port::{Connector, ConnectorContext};
use passerelle_connector::testing::connectors::{configured_of, context, store_with};
use passerelle_federation::login::upstream::{
    Authentication, CallbackParams, LoginAttempt, UpstreamAuthorizationRequest,
};
use passerelle_protocol::acr::Level;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::Secret;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use passerelle_store::LateStore;
use passerelle_store::testing::store_conformance::ample_capacities;

use crate::connector::SamlConnector;
use crate::error_codes as codes;
use crate::records::{SAML_ASSERTION, SAML_REQUEST, SAML_RESPONSE};
use crate::stored_messages::PostedRequest;
use crate::testing::fake_identity_provider::*;
use crate::{KIND, SamlKind};

const NOW: Timestamp = Timestamp::from_seconds(1_795_971_600);
const KINDS: &[passerelle_connector::kind_settings::ConnectorKindFormat] = &[KIND];

/// A connector, its identity provider, and an attempt.
struct Bench {
    idp: FakeIdentityProvider,
    saml: SamlConnector,
    /// The same with the mapping of the file.
    connector: Arc<dyn Connector>,
    store: LateStore,
    attempt: LoginAttempt,
    request: ReceivedRequest,
}

fn request() -> UpstreamAuthorizationRequest {
    UpstreamAuthorizationRequest {
        state: "s".repeat(43),
        nonce: "n".repeat(43),
        verifier: Secret::new("v".repeat(43)),
        redirect_uri: "https://hub.example/api/v2/callback/university".into(),
        level: Level::Eidas1,
        reauthenticate: false,
        max_age: None,
        auth_time_required: false,
        level_names: Vec::new(),
        login_hint: None,
        forwarded: Default::default(),
        requester: Some("bakery".into()),
        ui_locales: None,
    }
}

/// Returns the connector of the hub with this number, with more keys in its file, and the same with
/// the mapping of the file.
fn connectors(
    hub: u64,
    idp: &FakeIdentityProvider,
    store: &LateStore,
    more: &str,
) -> (SamlConnector, Arc<dyn Connector>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("idp.xml");
    std::fs::write(&path, idp.metadata("")).unwrap();
    let file = format!(
        "name = {{ en = \"U\" }}\nlevels = {{ lowest = \"eidas1\", highest = \"eidas2\" }}\n\
         acr = {{ eidas1 = [\"{PASSWORD}\"], eidas2 = [\"{MFA}\"] }}\n[kind.saml]\n\
         entity_id = \"{ENTITY_ID}\"\nmetadata_file = \"{}\"\n{more}\n",
        path.display()
    );
    let configured = configured_of(KINDS, "university", &file, None);
    let kind = configured.kind.downcast_ref::<SamlKind>().unwrap().clone();
    let clock = Arc::new(ManualClock::at(NOW));
    let env = Env::new(clock, Arc::new(SeededEntropy::new(hub)));
    let context = ConnectorContext { store: store.clone(), ..context(env) };
    let connector = passerelle_connector::build(&configured, context.clone()).unwrap();
    (SamlConnector::new(&kind, &configured, context).unwrap(), connector)
}

impl Bench {
    async fn with(more: &str) -> Self {
        let idp = FakeIdentityProvider::new();
        let kinds = [SAML_REQUEST, SAML_RESPONSE, SAML_ASSERTION];
        let store = store_with(
            kinds.iter().fold(ample_capacities(), |sum, kind| sum.with_records(kind, 10)),
        );
        let (saml, connector) = connectors(1, &idp, &store, more);
        let redirect = saml.begin_login(request()).await.unwrap();
        let received = ReceivedRequest::from_redirect(&redirect.url, None);
        let attempt = LoginAttempt {
            connector: "university".into(),
            request: request(),
            redirected_at: NOW,
            redirect,
        };
        Self { idp, saml, connector, store, attempt, request: received }
    }

    /// Completes the attempt with an assertion.
    async fn complete(
        &self,
        class: &str,
        edits: &[(&str, &str)],
    ) -> Result<Authentication, ErrorCode> {
        self.try_complete(class, edits).await.map_err(|error| error.code)
    }

    async fn try_complete(
        &self,
        class: &str,
        edits: &[(&str, &str)],
    ) -> Result<Authentication, ConnectorError> {
        let [(_, response), _] = self.idp.respond(&self.request, class, NOW, edits);
        let xml = String::from_utf8(STANDARD.decode(response).unwrap()).unwrap();
        let state = &self.attempt.request.state;
        let code = self.saml.messages.store_response(state, xml).await.unwrap();
        let callback = CallbackParams {
            code: Some(code),
            iss: Some(ENTITY_ID.into()),
            ..CallbackParams::default()
        };
        let completed = self.connector.complete_login(self.attempt.clone(), callback).await;
        completed.inspect_err(|error| {
            assert!(!error.detail.contains("angela"), "{}", error.detail);
        })
    }
}

#[tokio::test]
async fn an_assertion_is_accepted_once_at_all_hubs_even_with_a_new_code() {
    let mut bench = Bench::with("").await;
    assert!(bench.complete(PASSWORD, &[]).await.is_ok());
    assert_eq!(bench.complete(PASSWORD, &[]).await.err(), Some(codes::SAML_REPLAYED));
    (bench.saml, bench.connector) = connectors(2, &bench.idp, &bench.store, "");
    assert_eq!(bench.complete(PASSWORD, &[]).await.err(), Some(codes::SAML_REPLAYED));
}

#[tokio::test]
async fn the_subject_is_a_permanent_name_id_or_the_attribute_of_the_file() {
    const PERSISTENT: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent\">angela-7";
    const EMAIL: &str =
        "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress\">angela@idp.example";
    const EMAIL_FORMAT: &str =
        "name_id_format = \"urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress\"";
    let own = "Format=\"urn:oasis:names:tc:SAML:2.0:nameid-format:persistent\" NameQualifier=\"https://idp.example/saml\">angela-7";
    let other = own.replace("idp.example", "other.example");
    let format = format!("Format=\"{PERSISTENT}");
    for (more, edit, expected) in [
        ("", None, Ok("angela-7".to_owned())),
        ("", Some((format.as_str(), own)), Ok("angela-7".to_owned())),
        (
            "",
            Some((format.as_str(), other.as_str())),
            Ok("[\"https://other.example/saml\",null,\"angela-7\"]".to_owned()),
        ),
        ("", Some((PERSISTENT, EMAIL)), Err(codes::SAML_SUBJECT)),
        (EMAIL_FORMAT, Some((PERSISTENT, EMAIL)), Ok("angela@idp.example".to_owned())),
        (
            "",
            Some((PERSISTENT, "urn:oasis:names:tc:SAML:2.0:nameid-format:transient\">angela-7")),
            Err(codes::SAML_SUBJECT),
        ),
        ("subject_attribute = \"urn:oid:2.5.4.4\"", None, Ok("DUBOIS".to_owned())),
        ("subject_attribute = \"uid\"", None, Err(codes::SAML_SUBJECT)),
        (
            "subject_attribute = \"gender\"",
            Some((
                "female</saml:AttributeValue>",
                "female</saml:AttributeValue><saml:AttributeValue>x</saml:AttributeValue>",
            )),
            Err(codes::SAML_SUBJECT),
        ),
    ] {
        let bench = Bench::with(more).await;
        let edits: Vec<_> = edit.into_iter().collect();
        let completed = bench.complete(PASSWORD, &edits).await;
        let subject = completed.map(|login| login.upstream_subject.into_inner());
        assert_eq!(subject, expected, "{more} {edit:?}");
    }
}

#[tokio::test]
async fn the_class_is_the_level_and_the_methods() {
    use passerelle_federation::assurance::amr::UpstreamAmr;
    for (class, expected) in [
        (PASSWORD, Ok((Level::Eidas1, UpstreamAmr::from_methods(&["pwd"])))),
        (MFA, Ok((Level::Eidas2, UpstreamAmr::from_methods(&["mfa"])))),
        ("urn:oasis:names:tc:SAML:2.0:ac:classes:X509", Err(ErrorCode::AcrUnlisted)),
    ] {
        let completed = Bench::with("").await.complete(class, &[]).await;
        let found = completed.map(|login| (login.level, login.amr));
        assert_eq!(found, expected, "{class}");
    }
    let mut bench = Bench::with("").await;
    bench.attempt.request.level = Level::Eidas2;
    assert_eq!(bench.complete(PASSWORD, &[]).await.err(), Some(ErrorCode::AcrTooLow));
}

#[tokio::test]
async fn attributes_of_standard_names_are_claims() {
    let bench = Bench::with("").await;
    let second = "<saml:AttributeValue>second</saml:AttributeValue>";
    let two = format!("female</saml:AttributeValue>{second}");
    let claims = bench.complete(PASSWORD, &[("female</saml:AttributeValue>", &two)]).await;
    let claims = claims.unwrap().claims;
    assert_eq!(claims["given_name"], "Angela Claire Louise");
    assert_eq!(claims["urn:oid:2.5.4.4"], claims["family_name"]);
    assert_eq!(claims["name_id"], "angela-7");
    assert_eq!(claims["gender"], serde_json::json!(["female", "second"]));
}

/// The metadata of the test lists no scope.
#[tokio::test]
async fn a_scoped_attribute_of_another_university_reaches_no_claim_and_is_no_subject() {
    const SUBJECT_ID: &str = "urn:oasis:names:tc:SAML:attribute:subject-id";
    const NAMES: [&str; 3] = ["urn:oid:1.3.6.1.4.1.5923.1.1.1.6", SUBJECT_ID, "mail"];
    let edits = NAMES.map(|name| ("Name=\"gender\"", format!("Name=\"{name}\"")));
    let forged = ("female</", "angela@other.example</");
    let mapping = "[mapping]\nemail = { from = \"urn:oid:1.3.6.1.4.1.5923.1.1.1.6\" }\n\
                   nickname = { from = \"urn:oasis:names:tc:SAML:attribute:subject-id\" }";
    for ((from, to), is_scoped) in edits.iter().zip([true, true, false]) {
        let bench = Bench::with(mapping).await;
        let login = bench.complete(PASSWORD, &[(from, to.as_str()), forged]).await.unwrap();
        let claims = serde_json::to_string(&login.claims).unwrap();
        assert_eq!(claims.contains("other.example"), !is_scoped, "{to}: {claims}");
        assert_eq!(login.claims["family_name"], "DUBOIS");
        let rows = bench.connector.dropped_claims();
        assert_eq!(rows.len(), usize::from(is_scoped), "{rows:?}");
        assert!(!format!("{rows:?}").contains("other.example"), "{rows:?}");
    }
    let bench = Bench::with(&format!("subject_attribute = \"{SUBJECT_ID}\"")).await;
    let edits = [("Name=\"gender\"", edits[1].1.as_str()), forged];
    let error = bench.try_complete(PASSWORD, &edits).await.unwrap_err();
    assert_eq!(error.code, codes::SAML_SUBJECT);
    assert!(error.detail.contains("shibmd:Scope"), "{}", error.detail);
}

#[tokio::test]
async fn requests_have_what_the_file_says() {
    let named = "send_requester_id = true";
    for (more, part) in [
        (named, "<samlp:RequesterID>bakery</samlp:RequesterID>"),
        ("", "AssertionConsumerServiceURL=\"https://hub.example/connectors/university/saml/acs\""),
        ("proxy_count = 0", "<samlp:Scoping ProxyCount=\"0\">"),
        ("attribute_consuming_service = 2", "AttributeConsumingServiceIndex=\"2\""),
        ("authn_context_comparison = \"minimum\"", "Comparison=\"minimum\""),
        (
            "service_provider_entity_id = \"urn:hub\"\nqualify_issuer = true",
            "<saml:Issuer Format=\"urn:oasis:names:tc:SAML:2.0:nameid-format:entity\" NameQualifier=\"urn:hub\">urn:hub</saml:Issuer>",
        ),
        ("service_provider_entity_id = \"urn:hub\"", "<saml:Issuer>urn:hub</saml:Issuer>"),
        (
            "name_id_format = \"urn:x\"",
            "<samlp:NameIDPolicy Format=\"urn:x\" AllowCreate=\"true\"/>",
        ),
        (
            "subject_attribute = \"uid\"\nname_id_format = \"urn:oasis:names:tc:SAML:2.0:nameid-format:transient\"",
            "Format=\"urn:oasis:names:tc:SAML:2.0:nameid-format:transient\"/>",
        ),
    ] {
        let xml = Bench::with(more).await.request.xml;
        assert!(xml.contains(part), "{part}: {xml}");
        assert_eq!(xml.contains("RequesterID"), more == named, "{xml}");
        assert!(!xml.contains("ForceAuthn"), "{xml}");
    }
}

#[tokio::test]
async fn a_sample_is_verified_as_at_its_own_time() {
    let bench = Bench::with("").await;
    let [(_, response), _] = bench.idp.respond(&bench.request, PASSWORD, NOW, &[]);
    let xml = STANDARD.decode(&response).unwrap();
    for sample in [response.as_bytes(), &xml] {
        let verified = bench.saml.verify_sample(sample, false).await.unwrap();
        assert!(
            verified.diagnostics.iter().all(|one| one.status == DiagnosticStatus::Ok),
            "{:?}",
            verified.diagnostics
        );
        assert_eq!(verified.claims.unwrap()["family_name"], "DUBOIS");
    }
    let forged = String::from_utf8(xml).unwrap().replace("DUBOIS", "DUPONT");
    let verified = bench.saml.verify_sample(forged.as_bytes(), false).await.unwrap();
    assert!(verified.claims.is_none());
    let [finding] = &verified.diagnostics[..] else { panic!("{:?}", verified.diagnostics) };
    assert!(finding.message.contains("was changed") && finding.fix.is_some(), "{finding:?}");
    assert!(bench.saml.verify_sample(b"{\"a\": 1}", false).await.is_none());
}

#[tokio::test]
async fn a_sample_with_two_authentications_is_refused_by_the_name_of_the_element() {
    let bench = Bench::with("").await;
    let second = "<saml:AuthnStatement AuthnInstant=\"2026-11-29T16:59:50Z\"/>";
    let edits = [("<saml:AttributeStatement>", &*format!("{second}<saml:AttributeStatement>"))];
    let [(_, response), _] = bench.idp.respond(&bench.request, PASSWORD, NOW, &edits);
    let verified = bench.saml.verify_sample(response.as_bytes(), false).await.unwrap();
    let [finding] = &verified.diagnostics[..] else { panic!("{:?}", verified.diagnostics) };
    assert!(finding.message.contains("AuthnStatement, or several"), "{finding:?}");
    assert!(verified.claims.is_none());
}

#[tokio::test]
async fn a_flood_of_begun_logins_takes_no_room_of_responses() {
    let messages = &Bench::with("").await.saml.messages;
    let posted = PostedRequest { action: "https://idp.example".into(), saml_request: "r".into() };
    let mut is_full = false;
    for login in 0..11 {
        is_full = messages.store_request(&format!("state-{login}"), &posted).await.is_err();
    }
    assert!(is_full, "ten requests have room");
    assert!(!messages.is_crowded());
    messages.store_response("state-0", "<r/>".to_owned()).await.unwrap();
}
