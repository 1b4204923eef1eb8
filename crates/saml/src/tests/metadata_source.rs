//! Metadata from the network: what is used until when, and what an attacker on the way or at the
//! server can't do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use passerelle_connector::error::ConnectorError;
use passerelle_connector::port::ConnectorContext;
use passerelle_connector::testing::connectors;
use passerelle_egress::testing::fake_server::{FakeResponse, FakeServer};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Env;
use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
use serde_json::{Value, json};

use super::identity_provider::*;
use super::metadata::{ENTITY, entity, provider};
use crate::error_codes::SAML_METADATA;
use crate::metadata::IdentityProviderMetadata;
use crate::metadata_source::MetadataSource;
use crate::settings::SamlKind;
use crate::xml::Limits;

/// The server of the metadata, and a hub that fetches from it.
struct Federation {
    served: Arc<Mutex<FakeResponse>>,
    targets: Arc<Mutex<Vec<String>>>,
    server: FakeServer,
    clock: Arc<ManualClock>,
    context: ConnectorContext,
    folder: tempfile::TempDir,
}

impl Federation {
    async fn serving(body: &str) -> Self {
        let served = Arc::new(Mutex::new(document(body)));
        let targets = Arc::new(Mutex::new(Vec::new()));
        let (answer, requests) = (Arc::clone(&served), Arc::clone(&targets));
        let server = FakeServer::start(move |request| {
            requests.lock().unwrap().push(request.target);
            answer.lock().unwrap().clone()
        })
        .await;
        let clock = Arc::new(ManualClock::at(time(NOW)));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
        let context = connectors::context(env);
        let folder = tempfile::tempdir().unwrap();
        Self { served, targets, server, clock, context, folder }
    }

    fn serve(&self, response: FakeResponse) {
        *self.served.lock().unwrap() = response;
    }

    /// Returns the source that trusts these signers.
    fn source(&self, signers: &[&KeyPair], settings: Value) -> MetadataSource {
        let path = self.folder.path().join("signers.pem");
        let pem: Vec<String> = signers.iter().map(|pair| pair.certificate_pem()).collect();
        std::fs::write(&path, pem.concat()).unwrap();
        let mut table = json!({
            "entity_id": ENTITY,
            "metadata_signers": path,
            "insecure_http": true,
            "internal_hosts": ["127.0.0.1"],
        });
        table.as_object_mut().unwrap().extend(settings.as_object().unwrap().clone());
        let kind: SamlKind = serde_json::from_value(table).unwrap();
        MetadataSource::new(&"idp".into(), &kind, &self.context).unwrap()
    }

    fn at_url(&self) -> MetadataSource {
        let url = format!("{}/federation.xml", self.server.base());
        self.source(&[&KEYS.provider], json!({ "metadata_url": url }))
    }
}

fn document(body: &str) -> FakeResponse {
    FakeResponse { status: 200, headers: vec![], body: body.as_bytes().to_vec() }
}

async fn outcome(source: &MetadataSource) -> Result<String, (ErrorCode, String)> {
    let read = source.current().await;
    read.map(|metadata| metadata.entity_id.clone())
        .map_err(|ConnectorError { code, detail, .. }| (code, detail))
}

fn verifies(metadata: &IdentityProviderMetadata, pair: &KeyPair) -> bool {
    let response = response(&pair.sign(ASSERTION));
    check_by_keys(&response, &metadata.signing_keys, |_| {}).is_ok()
}

#[tokio::test]
async fn a_metadata_query_asks_for_the_entity_alone() {
    let federation = Federation::serving(&sign(&provider())).await;
    let base = format!("{}/mdq/", federation.server.base());
    let source = federation.source(&[&KEYS.provider], json!({ "metadata_query_url": base }));
    assert_eq!(outcome(&source).await, Ok(ENTITY.to_owned()));
    let targets = federation.targets.lock().unwrap();
    assert_eq!(*targets, ["/mdq/entities/https%3A%2F%2Fidp.example%2Fsaml"]);
}

#[tokio::test]
async fn a_document_that_no_configured_key_signed_is_not_used() {
    let federation = Federation::serving("").await;
    let source = federation.at_url();
    let signed = sign(&provider());
    // The certificate in KeyInfo verifies the signature, and no key of the operator vouches for it.
    let stranger = KEYS.stranger.sign(&provider());
    let key_info = format!(
        "</ds:SignatureValue><ds:KeyInfo><ds:X509Data><ds:X509Certificate>{}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>",
        openssl::base64::encode_block(&KEYS.stranger.certificate())
    );
    let with_key_info = edit(&stranger, &[("</ds:SignatureValue>", &key_info)]);
    let other = sign(&provider().replace("idp.example/saml", "other.example/saml"));
    let without_end = sign(&edit(&provider(), &[(" validUntil=\"2026-12-05T00:00:00Z\"", "")]));
    let late = sign(&edit(&provider(), &[("2026-12-05T00", "2026-12-30T00")]));
    let old = sign(&edit(&provider(), &[("2026-12-05T00", "2026-11-28T00")]));
    let entities =
        "<md:EntitiesDescriptor xmlns:md=\"urn:oasis:names:tc:SAML:2.0:metadata\" ID=\"_x\">";
    let aggregate = format!("{entities}{signed}</md:EntitiesDescriptor>");
    let twice = provider().replace("_e1", "_e2");
    let repeated = sign(&format!("{entities}{}{twice}</md:EntitiesDescriptor>", provider()));
    for (name, body, detail) in [
        ("no signature", provider(), "not signed"),
        ("another key", stranger, "metadata_signers does not have"),
        ("another key in KeyInfo", with_key_info, "metadata_signers does not have"),
        ("changed", edit(&signed, &[("idp.example/sso", "evil.example/sso")]), "changed"),
        ("signed inside an aggregate", aggregate, "not signed"),
        ("another entity", other, "has no EntityDescriptor with this entityID"),
        ("the entity twice", repeated, "has two EntityDescriptors with this entityID"),
        ("old", old, "has passed"),
        ("without an end", without_end, "no validUntil"),
        ("valid too long", late, "no validUntil, or one later"),
        ("a document type", format!("<!DOCTYPE x>{signed}"), "document type"),
    ] {
        federation.serve(document(&body));
        let (code, found) = outcome(&source).await.unwrap_err();
        assert_eq!(code, SAML_METADATA, "{name}: {found}");
        assert!(found.contains(detail), "{name}: {found}");
        assert!(source.latest().is_none(), "{name}");
    }
    federation.serve(document(&signed));
    assert_eq!(outcome(&source).await, Ok(ENTITY.to_owned()));
}

#[tokio::test]
async fn a_huge_aggregate_is_not_read() {
    let federation = Federation::serving("").await;
    let source = federation.at_url();
    let padding = " ".repeat(Limits::METADATA.bytes);
    federation.serve(document(&format!("{}{padding}", sign(&provider()))));
    assert_eq!(outcome(&source).await.unwrap_err().0, ErrorCode::IdpTooLarge);
    // More than other documents of an identity provider may have.
    let padding = " ".repeat(3 << 20);
    federation.serve(document(&format!("{}{padding}", sign(&provider()))));
    assert_eq!(outcome(&source).await, Ok(ENTITY.to_owned()));
}

/// An attacker who keeps the hub from newer metadata would keep a key alive that was withdrawn.
#[tokio::test]
async fn the_last_good_copy_serves_while_the_server_is_down_and_not_after_its_end() {
    let federation = Federation::serving(&sign(&provider())).await;
    let source = federation.at_url();
    assert_eq!(outcome(&source).await, Ok(ENTITY.to_owned()));
    let fetched_at = source.fetched_at();
    assert_eq!(fetched_at, Some(time(NOW)));
    federation.serve(FakeResponse::status(503));
    federation.clock.advance(Duration::from_secs(3 * 24 * 3600));
    assert_eq!(outcome(&source).await, Ok(ENTITY.to_owned()), "stale, and the last good one");
    federation.serve(document(&provider()));
    federation.clock.advance(Duration::from_secs(3600));
    assert_eq!(outcome(&source).await, Ok(ENTITY.to_owned()), "an unsigned one replaces nothing");
    assert_eq!(source.fetched_at(), fetched_at, "its age is shown");
    federation.serve(FakeResponse::status(503));
    federation.clock.advance(Duration::from_secs(4 * 24 * 3600));
    let (code, detail) = outcome(&source).await.unwrap_err();
    assert_eq!(code, SAML_METADATA);
    assert!(detail.contains("validUntil of the last metadata has passed"), "{detail}");
    federation.clock.advance(Duration::from_secs(60));
    federation.serve(document(&sign(&edit(&provider(), &[("2026-12-05T00", "2026-12-20T00")]))));
    assert_eq!(outcome(&source).await, Ok(ENTITY.to_owned()));
}

/// `cacheDuration` is six hours in the document.
#[tokio::test]
async fn a_copy_is_refreshed_when_its_cache_duration_says_so() {
    let federation = Federation::serving(&sign(&provider())).await;
    let source = federation.at_url();
    outcome(&source).await.unwrap();
    federation.clock.advance(Duration::from_secs(4 * 3600));
    outcome(&source).await.unwrap();
    assert_eq!(federation.server.request_count(), 1);
    federation.clock.advance(Duration::from_secs(2 * 3600));
    outcome(&source).await.unwrap();
    assert_eq!(federation.server.request_count(), 2);
}

/// The identity provider adds its next key, uses it, and removes the old one. A hub whose copy is
/// older than the next key fetches once.
#[tokio::test]
async fn a_key_rollover_of_the_identity_provider_interrupts_no_login() {
    let [old, new] = [&KEYS.provider, &KEYS.stranger];
    let with_keys = |pairs: &[&KeyPair]| {
        let certificates: Vec<_> = pairs.iter().map(|pair| pair.certificate()).collect();
        document(&sign(&entity(&certificates)))
    };
    let federation = Federation::serving("").await;
    federation.serve(with_keys(&[old]));
    let source = federation.at_url();
    let first = source.current().await.unwrap();
    assert!(verifies(&first, old) && !verifies(&first, new));
    federation.serve(with_keys(&[old, new]));
    let both = source.newer_than(&first).await.unwrap();
    assert!(verifies(&both, old) && verifies(&both, new));
    assert!(source.newer_than(&both).await.is_none(), "once a minute");
    assert_eq!(federation.server.request_count(), 2);
    federation.clock.advance(Duration::from_secs(60));
    federation.serve(with_keys(&[new]));
    let last = source.newer_than(&both).await.unwrap();
    assert!(!verifies(&last, old) && verifies(&last, new), "a withdrawn key verifies nothing");
}

#[tokio::test]
async fn a_key_rollover_of_the_signer_of_metadata_needs_both_certificates_for_a_while() {
    let federation = Federation::serving(&KEYS.stranger.sign(&provider())).await;
    let url = json!({ "metadata_url": format!("{}/m", federation.server.base()) });
    let only_old = federation.source(&[&KEYS.provider], url.clone());
    assert_eq!(outcome(&only_old).await.unwrap_err().0, SAML_METADATA);
    let both = federation.source(&[&KEYS.provider, &KEYS.stranger], url);
    assert_eq!(outcome(&both).await, Ok(ENTITY.to_owned()));
    federation.serve(document(&sign(&provider())));
    assert_eq!(both.fetch().await.unwrap().entity_id, ENTITY);
}

/// An aggregate is signed by one key for all its entities, of which each vouches only for itself.
#[tokio::test]
async fn the_certificate_of_another_entity_of_the_aggregate_verifies_nothing() {
    let other = entity(&[KEYS.stranger.certificate()])
        .replace("_e1", "_e2")
        .replace("idp.example/saml", "other.example/saml");
    let aggregate = format!(
        "<md:EntitiesDescriptor xmlns:md=\"urn:oasis:names:tc:SAML:2.0:metadata\" ID=\"_all\">{other}{}</md:EntitiesDescriptor>",
        provider()
    );
    let federation = Federation::serving(&sign(&aggregate)).await;
    let metadata = federation.at_url().current().await.unwrap();
    assert!(verifies(&metadata, &KEYS.provider) && !verifies(&metadata, &KEYS.stranger));
}

#[tokio::test]
async fn a_file_of_the_operator_is_used_until_its_end_and_calls_no_one() {
    let federation = Federation::serving("").await;
    let path = federation.folder.path().join("idp.xml");
    std::fs::write(&path, provider()).unwrap();
    let kind = json!({ "entity_id": ENTITY, "metadata_file": path });
    let kind: SamlKind = serde_json::from_value(kind).unwrap();
    let source = MetadataSource::new(&"idp".into(), &kind, &federation.context).unwrap();
    assert_eq!(outcome(&source).await, Ok(ENTITY.to_owned()));
    assert_eq!(source.file_valid_until(), Some(time("2026-12-05T00:00:00Z")));
    assert!(!source.is_remote() && source.fetched_at().is_none());
    federation.clock.advance(Duration::from_secs(6 * 24 * 3600));
    assert_eq!(outcome(&source).await.unwrap_err().0, SAML_METADATA);
    assert_eq!(federation.server.request_count(), 0);
    std::fs::write(&path, provider().replace("idp.example/saml", "other.example/saml")).unwrap();
    let error = MetadataSource::new(&"idp".into(), &kind, &federation.context).err().unwrap();
    assert!(
        error.message.contains("has no EntityDescriptor with this entityID"),
        "{}",
        error.message
    );
}
