//! Defines the content of a logout token about one session for one service provider.

use serde::{Deserialize, Serialize};

use passerelle_protocol::digest;
use passerelle_protocol::ids::{ClientId, Subject, SupportId};

/// A logout token to be sent, without the values that are determined when it is sent.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::Debug)]
#[debug("LogoutNotice {{ client_id: {client_id:?}, .. }}")]
pub struct LogoutNotice {
    pub client_id: ClientId,
    /// The user's `sub` at this service provider.
    pub subject: Subject,
    /// The `sid` of its ID tokens.
    pub sid: String,
    /// The latest login of the session at the service provider.
    pub support_id: Option<SupportId>,
}

/// Returns the `sid` of a session for one service provider (OpenID Connect Back-Channel Logout 1.0
/// §2.1). Service providers can't correlate theirs: each is an HMAC under the session's lineage,
/// which none of them knows.
pub fn derive_sid(lineage: &str, client_id: &ClientId) -> String {
    let tag = digest::hmac_parts(lineage.as_bytes(), &[b"sid", client_id.as_str().as_bytes()]);
    digest::base64url(tag.first_chunk::<16>().unwrap_or(&[0; 16]))
}
