//! What a later logout names: the user and the session at the identity provider.

use serde::{Deserialize, Serialize};

use crate::response::{Assertion, NameId};
use passerelle_protocol::digest;
use passerelle_protocol::ids::Secret;

/// The NameID and the session of a login, kept with the hub's session as its hint.
#[serde_with::skip_serializing_none]
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogoutSubject {
    pub name_id: String,
    pub format: Option<String>,
    pub name_qualifier: Option<String>,
    pub sp_name_qualifier: Option<String>,
    pub session_index: Option<String>,
    /// Names of the session for logout requests ([`session_name`]).
    sid: Vec<String>,
    /// When the assertion was issued, in seconds: a logout after that ends the login.
    iat: u64,
}

impl LogoutSubject {
    /// Returns the subject of an assertion; `None` without a NameID, which a logout request needs.
    pub fn from_assertion(assertion: &Assertion) -> Option<Self> {
        let name_id = assertion.name_id.clone()?;
        let index = assertion.session_index.as_deref();
        let all = session_name(&name_id.value, None);
        let sid = index.map(|index| session_name(&name_id.value, Some(index)));
        Some(Self {
            sid: sid.into_iter().chain([all]).collect(),
            iat: assertion.issued_at.seconds(),
            name_id: name_id.value,
            format: name_id.format,
            name_qualifier: name_id.name_qualifier,
            sp_name_qualifier: name_id.sp_name_qualifier,
            session_index: assertion.session_index.clone(),
        })
    }

    /// Returns the text that the session keeps.
    pub fn to_hint(&self) -> Secret<String> {
        Secret::new(serde_json::to_string(self).unwrap_or_default())
    }

    /// Reads the text that a session keeps.
    pub fn from_hint(hint: &Secret<String>) -> Option<Self> {
        serde_json::from_str(hint.reveal()).ok()
    }

    /// Returns the NameID.
    pub fn name_id(&self) -> NameId {
        NameId {
            value: self.name_id.clone(),
            format: self.format.clone(),
            name_qualifier: self.name_qualifier.clone(),
            sp_name_qualifier: self.sp_name_qualifier.clone(),
        }
    }
}

/// Returns the name of a session of a user, or without index the name of all of them. With the user,
/// since an index alone may be that of several users (SAML V2.0 Core §2.7.2).
pub fn session_name(name_id: &str, session_index: Option<&str>) -> String {
    digest::sha256_base64url(&serde_json::json!([name_id, session_index]).to_string())
}
