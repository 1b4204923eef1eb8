//! Presentations of SD-JWT VC.

use openssl::pkey::{PKey, Private};
use serde_json::{Value, json};

use super::{CLIENT_ID, NONCE, PRESENTED_AT, TestSigner, new_key, public_jwk, sign_jws};
use passerelle_protocol::digest;

/// A presentation before it is signed. `sd_hash` is added last, unless it is set.
pub struct SdJwtPresentation {
    pub header: Value,
    pub payload: Value,
    pub disclosures: Vec<String>,
    pub key_binding_header: Value,
    pub key_binding_payload: Value,
    pub issuer_key: PKey<Private>,
    pub holder_key: PKey<Private>,
    /// Replaces the key binding JWT.
    pub key_binding: Option<String>,
}

impl SdJwtPresentation {
    /// Returns a true presentation of a PID that discloses the family name, a locality (nested)
    /// and a nationality (array element), and keeps others.
    pub fn of_pid(issuer: &TestSigner) -> Self {
        let holder_key = new_key();
        let now = PRESENTED_AT.seconds();
        let family_name = disclosure("s1", Some("family_name"), &json!("Mustermann"));
        let locality = disclosure("s2", Some("locality"), &json!("Berlin"));
        let nationality = disclosure("s3", None, &json!("DE"));
        let hidden = |n: u8| digest::sha256_base64url(&format!("hidden {n}"));
        let payload = json!({
            "vct": "urn:eudi:pid:1",
            "iss": "https://pid-issuer.example",
            "iat": now - 1000,
            "exp": now + 86_400,
            "_sd_alg": "sha-256",
            "_sd": [digest::sha256_base64url(&family_name), hidden(1)],
            "address": { "_sd": [hidden(2), digest::sha256_base64url(&locality)], "country": "DE" },
            "nationalities": [{ "...": hidden(3) }, { "...": digest::sha256_base64url(&nationality) }],
            "issuing_country": "DE",
            "cnf": { "jwk": public_jwk(&holder_key) },
            "status": { "status_list": { "uri": "https://status.example/1", "idx": 7 } },
        });
        Self {
            header: json!({ "alg": "ES256", "typ": "dc+sd-jwt", "x5c": issuer.x5c() }),
            payload,
            disclosures: vec![family_name, locality, nationality],
            key_binding_header: json!({ "alg": "ES256", "typ": "kb+jwt" }),
            key_binding_payload: json!({ "aud": CLIENT_ID, "nonce": NONCE, "iat": now - 5 }),
            issuer_key: issuer.key.clone(),
            holder_key,
            key_binding: None,
        }
    }

    /// Adds a disclosure whose digest the issuer has signed.
    pub fn disclose(&mut self, name: &str, value: &Value) {
        let disclosure = disclosure("s9", Some(name), value);
        self.payload["_sd"]
            .as_array_mut()
            .unwrap()
            .push(json!(digest::sha256_base64url(&disclosure)));
        self.disclosures.push(disclosure);
    }

    /// Returns the issuer's token with the disclosures, up to the last tilde.
    pub fn sd_jwt(&self) -> String {
        let issuer_jwt = sign_jws(&self.header, &self.payload, &self.issuer_key);
        let disclosures = self.disclosures.iter().map(|disclosure| format!("{disclosure}~"));
        format!("{issuer_jwt}~{}", disclosures.collect::<String>())
    }

    /// Signs and returns the presentation.
    pub fn present(&self) -> String {
        let sd_jwt = self.sd_jwt();
        let key_binding = self.key_binding.clone().unwrap_or_else(|| {
            let mut payload = self.key_binding_payload.clone();
            if payload.get("sd_hash").is_none() {
                payload["sd_hash"] = json!(digest::sha256_base64url(&sd_jwt));
            }
            sign_jws(&self.key_binding_header, &payload, &self.holder_key)
        });
        format!("{sd_jwt}{key_binding}")
    }
}

/// Returns a disclosure: of a claim, or of an array element without a name.
pub fn disclosure(salt: &str, name: Option<&str>, value: &Value) -> String {
    let parts = match name {
        Some(name) => json!([salt, name, value]),
        None => json!([salt, value]),
    };
    digest::base64url(parts.to_string().as_bytes())
}
