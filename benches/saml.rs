//! Measures the CPU time of a login's return from a SAML identity provider, plain and encrypted,
//! beside one from an OpenID provider: what the connector does once the user is back, with RSA keys
//! of 2,048 bits.
//!
//! `cargo bench --bench saml`; `-- 2000` for more rounds. Nothing is asserted: read the figures. At
//! the OpenID provider the login calls the token endpoint and userinfo by http, each in a new
//! connection. The provider runs in another thread, whose time is not counted.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measurement that can't be made should stop"
)]
#![expect(clippy::cast_precision_loss, reason = "a few thousand logins")]

use std::sync::Arc;
use std::{fs, future, thread};

use josekit::jwk::Jwk;
use josekit::jws::RS256;
use openssl::x509::X509;
use passerelle_connector::{Connector as _, ConnectorContext};
use passerelle_federation::login::upstream::{
    CallbackParams, LoginAttempt, UpstreamAuthorizationRequest,
};
use passerelle_protocol::env::{Env, Timestamp};
use passerelle_protocol::ids::ConnectorId;
use passerelle_saml::connector::SamlConnector;
use passerelle_saml::response::{decode_response, response_text};
use passerelle_saml::stored_messages::StoredMessages;
use passerelle_saml::{EXTENSION, KIND, SamlKind};
use passerelle_store::{Capacities, LateStore};
use passerelle_testkit::connectors::{self, configured_of, store_with};
use passerelle_testkit::encryption::{GCM, encrypted_to};
use passerelle_testkit::env::{ManualClock, SeededEntropy};
use passerelle_testkit::fake_identity_provider::{
    ENTITY_ID, FakeIdentityProvider, MFA, PASSWORD, ReceivedRequest, assertion, hub_key_pem,
};
use passerelle_testkit::fake_idp::{NOW, OidcFixture, attempt, authorization_request};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};

/// Logins of one series.
const SERIES: usize = 10;

/// A SAML connector and its identity provider.
struct SamlLogins {
    connector: SamlConnector,
    messages: StoredMessages,
    idp: FakeIdentityProvider,
    /// The hub's certificate.
    recipient: X509,
}

/// What the browser brings back.
struct SamlReturn {
    attempt: LoginAttempt,
    saml_response: String,
}

impl SamlLogins {
    fn new(logins: usize) -> Self {
        let idp = FakeIdentityProvider::new();
        let folder = tempfile::tempdir().unwrap();
        let metadata = folder.path().join("idp.xml");
        fs::write(&metadata, idp.metadata("")).unwrap();
        let (private_keys, recipient) = hub_key_pem();
        let file = format!(
            "name = {{ en = \"U\" }}\nlevels = {{ lowest = \"eidas1\", highest = \"eidas2\" }}\n\
             acr = {{ eidas1 = [\"{PASSWORD}\"], eidas2 = [\"{MFA}\"] }}\n[kind.saml]\n\
             entity_id = \"{ENTITY_ID}\"\nmetadata_file = \"{}\"\n\
             private_keys = {{ file = \"unused\" }}\n",
            metadata.display()
        );
        let configured = configured_of(&[KIND], "fake", &file, Some(&private_keys));
        let kind: &SamlKind = configured.kind.downcast_ref().unwrap();
        let kinds = EXTENSION.record_kinds.iter();
        let capacities =
            kinds.fold(Capacities::default(), |all, (kind, _)| all.with_records(kind, logins));
        let env = Env::new(
            Arc::new(ManualClock::at(Timestamp::from_seconds(NOW))),
            Arc::new(SeededEntropy::new(1)),
        );
        let store: LateStore = store_with(capacities);
        let context = ConnectorContext { store: store.clone(), ..connectors::context(env.clone()) };
        Self {
            connector: SamlConnector::new(kind, &configured, context).unwrap(),
            messages: StoredMessages::new(&ConnectorId::from("fake"), store, env),
            idp,
            recipient,
        }
    }

    /// Sends a user to the identity provider, and returns the answer.
    async fn answer(&self, login: usize, is_encrypted: bool) -> SamlReturn {
        let state = format!("{login:043}");
        let request = UpstreamAuthorizationRequest { state, ..authorization_request() };
        let redirect = self.connector.begin_login(request.clone()).await.unwrap();
        let received = ReceivedRequest::from_redirect(&redirect.url, None);
        let now = Timestamp::from_seconds(NOW);
        let signed = self.idp.key.sign(&assertion(&received, PASSWORD, now, &[]));
        let assertion = if is_encrypted {
            let key = self.recipient.public_key().unwrap();
            encrypted_to(&key, "EncryptedAssertion", &signed, &GCM)
        } else {
            signed
        };
        let [(_, saml_response), _] = self.idp.respond_with(&received, now, &assertion);
        SamlReturn { attempt: attempt(request, redirect), saml_response }
    }

    /// Does what the assertion consumer service and the callback do.
    async fn complete(&self, SamlReturn { attempt, saml_response }: SamlReturn) {
        let xml = response_text(&decode_response(&saml_response).unwrap()).unwrap();
        let code = self.messages.store_response(&attempt.request.state, xml).await.unwrap();
        let callback = CallbackParams {
            code: Some(code),
            iss: Some(ENTITY_ID.to_owned()),
            ..CallbackParams::default()
        };
        self.connector.complete_login(attempt, callback).await.unwrap();
    }
}

/// Returns an OpenID provider that signs by RS256, and runs in `provider`.
fn openid_provider(provider: &Runtime) -> OidcFixture {
    let more = "id_token_signed_response_alg = \"RS256\"";
    let fixture = provider.block_on(OidcFixture::with(more));
    let jwk = Jwk::generate_rsa_key(2048).unwrap();
    let mut public = serde_json::to_value(jwk.to_public_key().unwrap()).unwrap();
    public["kid"] = json!("k1");
    let mut script = fixture.script();
    script.published = vec![public];
    script.header["alg"] = json!("RS256");
    script.signer = Some(Box::new(RS256.signer_from_jwk(&jwk).unwrap()));
    drop(script);
    fixture
}

/// Prints the CPU time of this thread for one login, as the least of ten series.
async fn measure<T>(what: &str, returns: Vec<T>, complete: impl AsyncFn(T)) {
    let logins = returns.len() / SERIES;
    let mut returns = returns.into_iter();
    let mut least = f64::INFINITY;
    for _ in 0..SERIES {
        let began = cpu_nanoseconds();
        for returned in returns.by_ref().take(logins) {
            complete(returned).await;
        }
        least = least.min((cpu_nanoseconds() - began) / logins as f64);
    }
    println!("{what:<28} {:>8.1} µs", least / 1e3);
}

/// Returns the CPU time of this thread. The kernel adds to it in steps of milliseconds.
fn cpu_nanoseconds() -> f64 {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

async fn measure_all(openid: &OidcFixture, logins: usize) {
    let saml = SamlLogins::new(2 * logins);
    for (number, (what, is_encrypted)) in
        [("SAML, signed", false), ("SAML, signed and encrypted", true)].into_iter().enumerate()
    {
        let mut returns = Vec::with_capacity(logins);
        for login in number * logins..(number + 1) * logins {
            returns.push(saml.answer(login, is_encrypted).await);
        }
        measure(what, returns, async |returned| saml.complete(returned).await).await;
    }
    let returns = vec![openid.attempt().await; logins];
    measure("OpenID Connect, RS256", returns, async |attempt| {
        openid.complete_login_with(attempt).await.unwrap();
    })
    .await;
}

fn main() {
    let rounds = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let provider = Builder::new_current_thread().enable_all().build().unwrap();
    let openid = openid_provider(&provider);
    thread::spawn(move || provider.block_on(future::pending::<()>()));
    let hub = Builder::new_current_thread().enable_all().build().unwrap();
    hub.block_on(measure_all(&openid, SERIES * rounds.unwrap_or(500)));
}
