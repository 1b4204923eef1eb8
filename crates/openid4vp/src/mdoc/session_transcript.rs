//! The session transcript of OpenID4VP (OpenID4VP 1.0 appendix B.2.6), which binds a response to a
//! request.

use ciborium::Value as Cbor;

use crate::cbor::encode_cbor;
use crate::credential::{PresentationExpectations, RequestChannel};
use passerelle_protocol::digest;

/// Returns the `SessionTranscript` of a request: `[null, null, Handover]`.
pub fn session_transcript(expected: &PresentationExpectations<'_>) -> Cbor {
    let thumbprint =
        expected.encryption_key_thumbprint.map_or(Cbor::Null, |key| Cbor::Bytes(key.to_vec()));
    let nonce = Cbor::from(expected.nonce);
    let (name, info) = match expected.channel {
        RequestChannel::DirectPost { client_id, response_uri } => {
            ("OpenID4VPHandover", vec![client_id.into(), nonce, thumbprint, response_uri.into()])
        }
        RequestChannel::DigitalCredentialsApi { origin } => {
            ("OpenID4VPDCAPIHandover", vec![origin.into(), nonce, thumbprint])
        }
    };
    let hash = digest::sha256(&encode_cbor(&Cbor::Array(info)));
    let handover = Cbor::Array(vec![name.into(), Cbor::Bytes(hash.to_vec())]);
    Cbor::Array(vec![Cbor::Null, Cbor::Null, handover])
}
