//! A wallet that a test controls, and a hub that trusts its issuer.

use actix_web::test::TestRequest;
use ciborium::Value as Cbor;
use openssl::x509::X509;
use passerelle_jose::response_key::encrypt_response;
use passerelle_protocol::digest;
use passerelle_testkit::wallet_credentials::mdoc::{
    IssuedElement, MdocPresentation, cbor_member_mut, date, date_time, map, redirect_transcript,
    security_object,
};
use passerelle_testkit::wallet_credentials::sd_jwt::SdJwtPresentation;
use passerelle_testkit::wallet_credentials::{CertificateSpec, TestAuthority, TestSigner};
use serde_json::{Value, json};

use crate::browser::{Browser, Page};
use crate::hub::{Answer, TestHub};
use crate::service::Authorize;

/// The connector's file.
const CONNECTOR: &str = include_str!("../../fixtures/openid4vp/connector.toml");
/// Accepts the PID as an mdoc, too.
pub(crate) const MDOC_CREDENTIAL: &str =
    include_str!("../../fixtures/openid4vp/mdoc-credential.toml");

pub(crate) struct Wallet {
    /// The authority of the issuer, which the hub trusts.
    pub authority: TestAuthority,
    pub issuer: TestSigner,
}

/// A request as the wallet has it.
#[derive(Clone)]
pub(crate) struct WalletRequest {
    /// The link of the page; empty if the request was fetched otherwise.
    link: String,
    path: String,
    pub header: Value,
    pub claims: Value,
}

pub(crate) async fn wallet_page<'h>(browser: &'h Browser<'h>) -> Page<'h> {
    browser.authorize(&Authorize::by("bakery")).await.choose("wallet").await
}

pub(crate) fn certificate_spec() -> CertificateSpec {
    // Wide enough for the clock of every test.
    CertificateSpec { not_before: -900, not_after: 900, ..CertificateSpec::signer() }
}

impl Wallet {
    pub(crate) fn new() -> Self {
        let authority = TestAuthority::new("PID authority");
        Self { issuer: authority.issue(&certificate_spec()), authority }
    }

    /// Starts a hub with more keys in the table of the connector.
    pub(crate) async fn hub(&self, more: &str) -> TestHub {
        self.hub_with_settings("", more).await
    }

    /// Starts a hub with more settings, and with more keys in the table of the connector.
    pub(crate) async fn hub_with_settings(&self, settings: &str, more: &str) -> TestHub {
        TestHub::with_files(settings, &self.files(more, "")).await
    }

    /// Returns the files of the connector, with more keys in its table and more credentials.
    pub(crate) fn files(&self, more: &str, credentials: &str) -> [(&'static str, String); 4] {
        let access_authority = TestAuthority::new("Access authority");
        let access = access_authority.issue(&certificate_spec());
        let leaf = X509::from_der(&access.chain[0]).unwrap().to_pem().unwrap();
        let chain = [leaf, access_authority.pem()].concat();
        let key = access.key.private_key_to_pem_pkcs8().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let connector = CONNECTOR.replace("subject_claims", &format!("{more}\nsubject_claims"));
        [
            ("connectors/wallet.toml", connector + credentials),
            ("wallet/access.pem", text(chain)),
            ("secrets/connectors/wallet/access.key", text(key)),
            ("wallet/issuers.pem", text(self.authority.pem())),
        ]
    }

    /// Returns Angela's PID for a request, before it is signed.
    pub(crate) fn pid(&self, request: &WalletRequest, hub: &TestHub) -> SdJwtPresentation {
        let claims = [
            ("given_name", json!("Angela Claire Louise")),
            ("birth_family_name", json!("Dubois")),
            ("birthdate", json!("1962-08-24")),
            ("place_of_birth", json!({ "locality": "Paris 7e", "country": "FR" })),
            ("sex", json!(2)),
            ("personal_administrative_number", json!("2620875107001")),
            ("issuing_country", json!("FR")),
        ];
        self.pid_with(request, hub, &claims)
    }

    /// Returns a PID with these claims, before it is signed.
    pub(crate) fn pid_with(
        &self,
        request: &WalletRequest,
        hub: &TestHub,
        claims: &[(&str, Value)],
    ) -> SdJwtPresentation {
        let now = hub.now().seconds();
        let mut pid = SdJwtPresentation::of_pid(&self.issuer);
        pid.payload = json!({
            "vct": "urn:eudi:pid:1", "iat": now - 1000, "exp": now + 86_400, "_sd_alg": "sha-256",
            "_sd": [], "cnf": pid.payload["cnf"],
        });
        pid.disclosures.clear();
        for (name, value) in claims {
            pid.disclose(name, value);
        }
        pid.key_binding_payload = json!({
            "aud": request.claims["client_id"], "nonce": request.claims["nonce"], "iat": now,
        });
        pid
    }

    /// Returns the same PID as an mdoc, before it is signed.
    pub(crate) fn mdoc(&self, request: &WalletRequest, hub: &TestHub) -> MdocPresentation {
        let now = hub.now().seconds();
        let mut pid = MdocPresentation::of_pid(&self.issuer);
        let birthplace = map([("locality", "Paris 7e".into()), ("country", "FR".into())]);
        pid.elements = vec![
            IssuedElement::new(1, "given_name", "Angela Claire Louise"),
            IssuedElement::new(2, "family_name_birth", "Dubois"),
            IssuedElement::new(3, "birth_date", date("1962-08-24")),
            IssuedElement::new(4, "place_of_birth", birthplace),
            IssuedElement::new(5, "sex", 2),
            IssuedElement::new(6, "personal_administrative_number", "2620875107001"),
            IssuedElement::new(7, "issuing_country", "FR"),
        ];
        pid.security_object = security_object(&pid.elements, &pid.device_key);
        pid.security_object.as_map_mut().unwrap().retain(|(key, _)| *key != Cbor::from("status"));
        let [signed, until] = [now - 1000, now + 86_400].map(date_time);
        *cbor_member_mut(&mut pid.security_object, "validityInfo") =
            map([("signed", signed.clone()), ("validFrom", signed), ("validUntil", until)]);
        // A request over the Digital Credentials API has no response_uri.
        let text = |name: &str| request.claims[name].as_str().unwrap_or_default();
        let key = request.key_thumbprint();
        pid.transcript =
            redirect_transcript(text("client_id"), text("nonce"), Some(&key), text("response_uri"));
        pid
    }

    pub(crate) fn present(&self, request: &WalletRequest, hub: &TestHub) -> String {
        self.pid(request, hub).present()
    }

    /// Returns the encrypted response with a valid presentation.
    pub(crate) fn encrypted(&self, request: &WalletRequest, hub: &TestHub) -> String {
        request.encrypt(&json!({ "vp_token": { "pid": [self.present(request, hub)] } }))
    }

    /// Posts parameters to the address for the response.
    pub(crate) async fn post(
        &self,
        hub: &TestHub,
        request: &WalletRequest,
        params: &[(&str, &str)],
    ) -> Answer {
        let uri = request.claims["response_uri"].as_str().unwrap();
        hub.post_form(uri.strip_prefix("https://hub.example").unwrap(), params).await
    }

    /// Posts a presentation, and returns where the wallet sends its user.
    pub(crate) async fn respond(
        &self,
        hub: &TestHub,
        request: &WalletRequest,
        presentation: &str,
    ) -> String {
        self.respond_with(hub, request, "pid", presentation).await
    }

    /// The same, for any credential of the query.
    pub(crate) async fn respond_with(
        &self,
        hub: &TestHub,
        request: &WalletRequest,
        credential: &str,
        presentation: &str,
    ) -> String {
        let response = request.encrypt(&json!({ "vp_token": { credential: [presentation] } }));
        let answer = self.post(hub, request, &[("response", &response)]).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        body["redirect_uri"].as_str().unwrap().to_owned()
    }
}

impl WalletRequest {
    /// Follows the link of a page as a wallet does.
    pub(crate) async fn fetch(hub: &TestHub, page: &Page<'_>) -> Self {
        let links = page.links();
        let link = links.iter().find(|link| link.starts_with("openid4vp://?"));
        let link = link.unwrap_or_else(|| panic!("no link: {}", page.answer.body)).clone();
        let request = Self { link, path: String::new(), header: Value::Null, claims: Value::Null };
        let uri = request.parameter("request_uri");
        let path = uri.strip_prefix("https://hub.example").unwrap().to_owned();
        Self { link: request.link, ..Self::fetch_at(hub, &path).await }
    }

    pub(crate) async fn fetch_at(hub: &TestHub, path: &str) -> Self {
        let answer = hub.send(TestRequest::get().uri(path)).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        Self::read(&answer.body, path)
    }

    /// Reads a request object.
    pub(crate) fn read(jws: &str, path: &str) -> Self {
        let part = |n: usize| {
            let bytes = digest::from_base64url(jws.split('.').nth(n).unwrap()).unwrap();
            serde_json::from_slice(&bytes).unwrap()
        };
        Self { link: String::new(), path: path.to_owned(), header: part(0), claims: part(1) }
    }

    /// Reads the request that the page gives to the Digital Credentials API.
    pub(crate) fn from_page(page: &Page<'_>) -> Self {
        let (_, rest) = page.answer.body.split_once("data-request=\"").unwrap();
        Self::read(rest.split('"').next().unwrap(), "")
    }

    pub(crate) fn path(&self) -> String {
        self.path.clone()
    }

    /// Returns a parameter of the link.
    pub(crate) fn parameter(&self, name: &str) -> String {
        let query = self.link.split_once('?').unwrap().1.as_bytes();
        let mut pairs = url::form_urlencoded::parse(query);
        pairs.find(|(known, _)| known == name).unwrap().1.into_owned()
    }

    /// Returns the key of the request.
    pub(crate) fn key(&self) -> &serde_json::Map<String, Value> {
        self.claims["client_metadata"]["jwks"]["keys"][0].as_object().unwrap()
    }

    /// Returns the thumbprint of the key, which is its `kid`.
    pub(crate) fn key_thumbprint(&self) -> [u8; 32] {
        digest::from_base64url(self.key()["kid"].as_str().unwrap()).unwrap().try_into().unwrap()
    }

    /// Encrypts a response to the key of the request.
    pub(crate) fn encrypt(&self, response: &Value) -> String {
        encrypt_response(self.key(), "A128GCM", response.to_string().as_bytes()).unwrap()
    }
}
