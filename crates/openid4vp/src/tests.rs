//! Presentations of wallets, true and false ones.

mod mdoc;
mod pages;
mod properties;
mod request_certificate;
mod sd_jwt;
mod status_list;
mod trust;
mod trust_list;
mod vectors;

use serde_json::json;

use super::credential::{
    CredentialFormat, ExpectedCredential, PresentationExpectations, RequestChannel,
    VerificationPolicy, VerifiedCredential,
};
use super::presentation::verify_presentation;
use super::presentation_error::PresentationError;
use super::trust::TrustAnchors;
use crate::testing::wallet_credentials::mdoc::PID_DOC_TYPE;
use crate::testing::wallet_credentials::{
    CLIENT_ID, CertificateSpec, NONCE, PRESENTED_AT, RESPONSE_URI, TestAuthority, TestSigner,
};

/// The issuer that is trusted, with what the hub expects of its PIDs.
struct Bench {
    authority: TestAuthority,
    issuer: TestSigner,
    anchors: TrustAnchors,
    credential: ExpectedCredential,
    policy: VerificationPolicy,
}

impl Bench {
    fn sd_jwt() -> Self {
        let claims = json!([["family_name"], ["address", "locality"], ["nationalities", null]]);
        Self::new(ExpectedCredential {
            format: CredentialFormat::DcSdJwt,
            types: vec!["urn:eudi:pid:1".into(), "urn:eudi:pid:de:1".into()],
            claims: serde_json::from_value(claims).unwrap(),
            claim_sets: Vec::new(),
        })
    }

    fn mdoc() -> Self {
        let claims = json!([[PID_DOC_TYPE, "family_name"], [PID_DOC_TYPE, "nationality"]]);
        Self::new(ExpectedCredential {
            format: CredentialFormat::MsoMdoc,
            types: vec![PID_DOC_TYPE.into()],
            claims: serde_json::from_value(claims).unwrap(),
            claim_sets: Vec::new(),
        })
    }

    fn new(credential: ExpectedCredential) -> Self {
        let authority = TestAuthority::new("Member State CA");
        Self {
            issuer: authority.issue(&CertificateSpec::signer()),
            anchors: authority.anchors(),
            authority,
            credential,
            policy: VerificationPolicy::default(),
        }
    }

    fn expectations(&self) -> PresentationExpectations<'_> {
        PresentationExpectations {
            channel: RequestChannel::DirectPost {
                client_id: CLIENT_ID,
                response_uri: RESPONSE_URI,
            },
            nonce: NONCE,
            encryption_key_thumbprint: Some([7; 32]),
            credential: &self.credential,
            policy: &self.policy,
            anchors: &self.anchors,
            now: PRESENTED_AT,
            received_at: PRESENTED_AT,
        }
    }

    fn verify(&self, presentation: &str) -> Result<VerifiedCredential, PresentationError> {
        verify_presentation(presentation, &self.expectations())
    }
}
