//! The signed request that a wallet fetches (OpenID4VP 1.0 §5; HAIP 1.0 §5.1).

use serde_json::{Value, json};

use super::credential_query::{CredentialQuery, dcql_query};
use super::presentation_request::{LoadedRequest, PresentationRequests};
use super::read_file;
use super::settings::Openid4vpKind;
use super::signature::CredentialAlg;
use super::verification::CredentialVerifier;
use passerelle_connector::error::ConnectorError;
use passerelle_jose::certificate_signer::CertificateSigner;
use passerelle_jose::response_key::RESPONSE_ENCRYPTIONS;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;
use passerelle_settings::FieldDiagnostic;

/// `typ` of the request object (OpenID4VP 1.0 §5).
const REQUEST_OBJECT_TYPE: &str = "oauth-authz-req+jwt";
/// `aud` for wallets that are not known (OpenID4VP 1.0 §5.8).
const SELF_ISSUED_AUDIENCE: &str = "https://self-issued.me/v2";

/// Builds and signs request objects.
pub(crate) struct RequestSigner {
    /// With its prefix.
    client_id: String,
    dcql_query: Value,
    formats: Value,
    verifier_info: Option<Value>,
    certificate: CertificateSigner,
}

impl RequestSigner {
    /// Returns a signer.
    ///
    /// # Errors
    /// Returns the key whose value can't be used.
    pub(crate) fn new(
        kind: &Openid4vpKind,
        certificate: CertificateSigner,
        verifier: &CredentialVerifier,
    ) -> Result<Self, FieldDiagnostic> {
        let client_id = match &kind.dns_name {
            None => format!("x509_hash:{}", certificate.certificate_digest()),
            Some(name) if certificate.has_dns_name(name) => format!("x509_san_dns:{name}"),
            Some(_) => {
                let message = "is not a dNSName of the certificate";
                let fix = "write one that the certificate has, or remove the key";
                return Err(FieldDiagnostic::new("kind.openid4vp.dns_name", message, fix));
            }
        };
        let queries: Vec<_> = kind.credentials.iter().map(CredentialQuery::from).collect();
        let authorities = |credential: &str| {
            let anchors = verifier.trust().pinned().for_credential(credential);
            if kind.send_trusted_authorities { anchors.key_identifiers() } else { Vec::new() }
        };
        Ok(Self {
            client_id,
            dcql_query: dcql_query(&queries, authorities),
            formats: supported_formats(&kind.algs),
            verifier_info: read_verifier_info(kind)?,
            certificate,
        })
    }

    /// Returns the `client_id`, with its prefix.
    pub(crate) fn client_id(&self) -> &str {
        &self.client_id
    }

    /// Returns when the certificate chain expires.
    pub(crate) const fn expires_at(&self) -> Option<Timestamp> {
        self.certificate.expires_at()
    }

    /// Returns the link that makes a wallet fetch a request.
    pub(crate) fn wallet_link(&self, wallet: &str, request_uri: &str) -> String {
        let query = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("client_id", &self.client_id)
            .append_pair("request_uri", request_uri)
            .append_pair("request_uri_method", "post")
            .finish();
        format!("{wallet}?{query}")
    }

    /// Returns the signed request object that a wallet fetches.
    ///
    /// # Errors
    /// `Internal` if the request can't be signed.
    pub(crate) fn sign(
        &self,
        requests: &PresentationRequests,
        loaded: &LoadedRequest,
        wallet_nonce: Option<&str>,
        now: Timestamp,
    ) -> Result<String, ConnectorError> {
        let members = [
            ("response_mode", Some("direct_post.jwt".into())),
            ("response_uri", Some(requests.response_uri(loaded).into())),
            ("wallet_nonce", wallet_nonce.map(Value::from)),
        ];
        self.sign_with(loaded, members, now)
    }

    /// Returns the signed request object for the Digital Credentials API (OpenID4VP 1.0 appendix
    /// A.2).
    ///
    /// # Errors
    /// `Internal` if the request can't be signed.
    pub(crate) fn sign_for_api(
        &self,
        loaded: &LoadedRequest,
        now: Timestamp,
    ) -> Result<String, ConnectorError> {
        let members = [
            ("response_mode", Some("dc_api.jwt".into())),
            // Stops a page of another origin that passes a request of the hub on to a wallet.
            ("expected_origins", Some(json!([loaded.request.origin()?]))),
            ("response_uri", None),
        ];
        self.sign_with(loaded, members, now)
    }

    fn sign_with(
        &self,
        loaded: &LoadedRequest,
        members_of_channel: [(&str, Option<Value>); 3],
        now: Timestamp,
    ) -> Result<String, ConnectorError> {
        let internal = |error: &dyn std::fmt::Display| {
            ConnectorError::new(ErrorCode::Internal, error.to_string())
        };
        let key = loaded.request.key.public_jwk().map_err(|error| internal(&error))?;
        let mut claims = json!({
            "aud": SELF_ISSUED_AUDIENCE,
            "client_id": self.client_id,
            "client_metadata": {
                "jwks": { "keys": [key] },
                "encrypted_response_enc_values_supported": RESPONSE_ENCRYPTIONS,
                "vp_formats_supported": self.formats,
            },
            "dcql_query": self.dcql_query,
            "exp": loaded.slot.expires_at().seconds(),
            "iat": now.seconds(),
            "nonce": loaded.request.nonce,
            "response_type": "vp_token",
        });
        if let Value::Object(members) = &mut claims {
            let verifier_info = ("verifier_info", self.verifier_info.clone());
            let optional = members_of_channel.into_iter().chain([verifier_info]);
            members.extend(optional.filter_map(|(name, value)| Some((name.to_owned(), value?))));
        }
        self.certificate.sign(REQUEST_OBJECT_TYPE, &claims).map_err(|error| internal(&error))
    }
}

fn supported_formats(algs: &[CredentialAlg]) -> Value {
    let jose: Vec<_> = algs.iter().map(|alg| alg.as_str()).collect();
    let cose: Vec<_> = algs.iter().flat_map(|alg| alg.cose_ids()).collect();
    json!({
        "dc+sd-jwt": { "sd-jwt_alg_values": jose, "kb-jwt_alg_values": jose },
        "mso_mdoc": { "issuerauth_alg_values": cose, "deviceauth_alg_values": cose },
    })
}

fn read_verifier_info(kind: &Openid4vpKind) -> Result<Option<Value>, FieldDiagnostic> {
    let key = "kind.openid4vp.verifier_info";
    let Some(path) = &kind.verifier_info else { return Ok(None) };
    match serde_json::from_slice(&read_file(key, path)?) {
        Ok(info @ Value::Array(_)) => Ok(Some(info)),
        _ => Err(FieldDiagnostic::new(
            key,
            "names a file that is not a JSON array",
            "write the array of attestations into it that the registrar issued",
        )),
    }
}
