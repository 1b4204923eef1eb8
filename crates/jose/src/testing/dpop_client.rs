//! A client that makes DPoP proofs, good and bad ones.

use josekit::jwk::Jwk;
use josekit::jwk::alg::ec::EcCurve;
use josekit::jws::{ES256, JwsSigner};
use serde_json::{Map, Value, json};

use passerelle_protocol::digest;

/// Holds the key of the proofs: EC on P-256.
pub struct DpopClient {
    key: Jwk,
    signer: Box<dyn JwsSigner>,
}

impl Default for DpopClient {
    fn default() -> Self {
        let key = Jwk::generate_ec_key(EcCurve::P256).unwrap();
        Self { signer: Box::new(ES256.signer_from_jwk(&key).unwrap()), key }
    }
}

impl DpopClient {
    /// Returns the members of the public key.
    pub fn public_key(&self) -> Value {
        let member = |name: &str| self.key.parameter(name).unwrap().clone();
        json!({ "kty": "EC", "crv": "P-256", "x": member("x"), "y": member("y") })
    }

    /// Returns the private key.
    pub fn private_key(&self) -> Value {
        Value::Object(self.key.as_ref().clone())
    }

    /// Returns the thumbprint of the key.
    pub fn thumbprint(&self) -> String {
        let key = self.public_key();
        let (x, y) = (key["x"].as_str().unwrap(), key["y"].as_str().unwrap());
        digest::sha256_base64url(&format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#))
    }

    /// Returns a proof with these claims.
    pub fn proof(&self, claims: &Value) -> String {
        self.proof_with(&json!({}), claims)
    }

    /// Returns a proof whose header is the usual one with these members replaced; null removes one.
    pub fn proof_with(&self, header: &Value, claims: &Value) -> String {
        let mut members = Map::from_iter([
            ("typ".to_owned(), json!("dpop+jwt")),
            ("alg".to_owned(), json!("ES256")),
            ("jwk".to_owned(), self.public_key()),
        ]);
        members.extend(header.as_object().unwrap().clone());
        members.retain(|_, value| !value.is_null());
        sign(&Value::Object(members), claims, self.signer.as_ref())
    }
}

/// Returns a compact JWS of this header and these claims.
pub fn sign(header: &Value, claims: &Value, signer: &dyn JwsSigner) -> String {
    let part = |value: &Value| digest::base64url(value.to_string().as_bytes());
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = signer.sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", digest::base64url(&signature))
}
