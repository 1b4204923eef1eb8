//! The data of a login that does not depend on its state.

use serde::{Deserialize, Serialize};

use passerelle_protocol::authorize::{AuthorizationRequest, RequestedClaims, is_default};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{InteractionHash, Subject, SupportId};
use passerelle_protocol::trace_context::TraceContext;

/// The data of a login that does not depend on its state.
#[serde_with::skip_serializing_none]
#[derive(Clone, Serialize, Deserialize)]
pub struct LoginContext {
    /// Name of the login and of its record, which doesn't repeat it. Empty if the login was not
    /// parsed by [`Login::from_record`](super::Login::from_record).
    #[serde(skip, default = "empty_hash")]
    pub hash: InteractionHash,
    pub support_id: SupportId,
    pub request: AuthorizationRequest,
    /// The users that `id_token_hint` and `claims` name. The user who logs in must be each of them.
    #[serde(default, rename = "wanted", skip_serializing_if = "Vec::is_empty")]
    pub required_subjects: Vec<Subject>,
    pub opened_at: Timestamp,
    /// When the login expires. The hub keeps the record for one more minute, to answer late
    /// requests.
    pub expires_at: Timestamp,
    /// Whether `idp_hint` has been followed. The hub follows it once; after that the user chooses.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hint_followed: bool,
    /// The `state` of the last accepted callback: its duplicate gets the same answer.
    #[serde(rename = "returned")]
    pub accepted_state: Option<String>,
    /// The trace that the spans of this login belong to. Absent without tracing, and in records of
    /// releases without tracing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
    #[serde(default, rename = "spent", skip_serializing_if = "is_default")]
    pub time_spent: TimeBreakdown,
}

/// Where the time of a login went, in microseconds. Used for metrics only.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TimeBreakdown {
    /// The hub's own work.
    #[serde(rename = "h", skip_serializing_if = "is_default")]
    pub hub: u64,
    /// Calls to identity providers.
    #[serde(rename = "c", skip_serializing_if = "is_default")]
    pub idp_calls: u64,
    /// The identity rules and the register.
    #[serde(rename = "r", skip_serializing_if = "is_default")]
    pub register: u64,
    /// The browser at the identity provider.
    #[serde(rename = "a", skip_serializing_if = "is_default")]
    pub at_idp: u64,
    /// The user in front of a page of the hub.
    #[serde(rename = "p", skip_serializing_if = "is_default")]
    pub user: u64,
    /// Up to when time is accounted for. `None`: nothing yet, so from `opened_at`.
    #[serde(rename = "t")]
    pub measured_until: Option<Timestamp>,
}

redacted_debug!(LoginContext);

fn empty_hash() -> InteractionHash {
    InteractionHash::new("")
}

impl LoginContext {
    /// Removes what only an unanswered request needs: its scopes and claims, the nonce, the
    /// challenges, and the hints about the user.
    pub(super) fn discard_request_details(&mut self) {
        let request = &mut self.request;
        request.scopes = Vec::new();
        request.nonce = None;
        request.claims = RequestedClaims::default();
        (request.code_challenge, request.dpop_jkt) = (None, None);
        (request.login_hint, request.id_token_hint, request.forwarded) = (None, None, None);
        request.idp_hints = Vec::new();
    }
}
