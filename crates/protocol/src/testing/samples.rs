//! A sample service provider, and a request of it that passed the checks.

use std::collections::BTreeMap;

use crate::acr::Platform;
use crate::authorize::{AuthorizationRequest, RequestMethod, validate_request};
use crate::ids::Scope;
use crate::params::Params;
use crate::registration::{
    ClientDirectory, ClientType, ConsentRequirement, IdpHintPolicy, ProtocolRules, Registration,
};

pub const ISSUER: &str = "https://hub.example/api/v2";
pub const SP_CALLBACK: &str = "https://sp.example/cb";
pub const NONCE: &str = "nonce-nonce-nonce-nonce";

/// Returns an active service provider with this id.
pub fn registration(client_id: &str) -> Registration {
    Registration {
        client_id: client_id.into(),
        active: true,
        client_type: ClientType::Confidential,
        redirect_uris: vec![SP_CALLBACK.into()],
        post_logout_redirect_uris: vec![],
        granted_scopes: ["openid", "email", "profile", "family_name", "birthdate", "gender"]
            .map(Scope::from)
            .to_vec(),
        require_pkce: false,
        hints: IdpHintPolicy::default(),
        acr: Default::default(),
        require_auth_time: false,
        protection: Default::default(),
        home_page: "https://sp.example/".into(),
        consent: ConsentRequirement::Information,
        rules: ProtocolRules::Federation,
    }
}

struct SampleDirectory([Registration; 2]);

impl ClientDirectory for SampleDirectory {
    fn registration(&self, client_id: &str) -> Option<&Registration> {
        self.0.iter().find(|registration| registration.client_id.as_str() == client_id)
    }

    fn is_known_scope(&self, _: &str, _: ProtocolRules) -> bool {
        true
    }
}

/// Returns a request of the service provider `sp` (`other` exists too) with some parameters
/// replaced. It passed the checks of the standard platform, or of the high one if it requests more
/// than eidas1.
pub fn authorization_request(changes: &[(&str, &str)]) -> AuthorizationRequest {
    let mut pairs: BTreeMap<&str, &str> = BTreeMap::from([
        ("response_type", "code"),
        ("client_id", "sp"),
        ("redirect_uri", SP_CALLBACK),
        ("acr_values", "eidas1"),
        ("scope", "openid email"),
        ("state", "0123456789012345678901"),
        ("nonce", NONCE),
    ]);
    pairs.extend(changes.iter().copied());
    let platform =
        if pairs["acr_values"] == "eidas1" { Platform::Standard } else { Platform::High };
    let params = Params::new(
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
    );
    validate_request(
        &params,
        RequestMethod::Get,
        platform,
        ISSUER,
        &SampleDirectory([registration("sp"), registration("other")]),
    )
    .unwrap()
}
