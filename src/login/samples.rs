//! Parts of a login for tests: a request that passed the checks, and a person who was proven.

use std::collections::BTreeMap;

use super::upstream::{Authentication, AuthorizationRedirect};
use super::{Proven, Source, Ticket};
use crate::assurance::amr::{Evidence, Told};
use crate::assurance::{Level, Platform};
use crate::env::Timestamp;
use crate::identity::samples::angela;
use crate::ids::{InteractionHash, Scope, Secret, Subject, SupportId};
use crate::protocol::authorize::{AuthorizationRequest, RequestForm, check};
use crate::protocol::params::Params;
use crate::protocol::registration::{Consent, Directory, Hints, Registration, Rules};

pub(crate) const ISSUER: &str = "https://hub.example/api/v2";
pub(crate) const SP_CALLBACK: &str = "https://sp.example/cb";
pub(crate) const IDP_ISSUER: &str = "https://idp.example";
pub(crate) const NONCE: &str = "nonce-nonce-nonce-nonce";
pub(crate) const OPENED: Timestamp = Timestamp::from_seconds(1_790_000_000);
/// How long a sample login lives, in seconds.
pub(crate) const LIFE: u64 = 600;

/// An active service provider of this id.
pub(crate) fn registration(client_id: &str) -> Registration {
    Registration {
        client_id: client_id.into(),
        active: true,
        redirect_uris: vec![SP_CALLBACK.into()],
        post_logout_redirect_uris: vec![],
        granted_scopes: ["openid", "email", "profile", "family_name", "birthdate", "gender"]
            .map(Scope::from)
            .to_vec(),
        require_pkce: false,
        hints: Hints::default(),
        home_page: "https://sp.example/".into(),
        consent: Consent::Information,
        rules: Rules::Federation,
    }
}

struct Book([Registration; 2]);

impl Directory for Book {
    fn registration(&self, client_id: &str) -> Option<&Registration> {
        self.0.iter().find(|registration| registration.client_id.as_str() == client_id)
    }

    fn scope_is_known(&self, _: &str, _: Rules) -> bool {
        true
    }
}

/// A request of the service provider `sp` (`other` exists too), with some parameters replaced. It passed the checks of
/// the standard platform, or of the high one if it asks for more than eidas1.
pub(crate) fn request(changes: &[(&str, &str)]) -> AuthorizationRequest {
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
    check(
        &params,
        RequestForm::Get,
        platform,
        ISSUER,
        &Book([registration("sp"), registration("other")]),
    )
    .unwrap()
}

/// A login that was admitted at [`OPENED`].
pub(crate) fn ticket(changes: &[(&str, &str)]) -> Ticket {
    Ticket {
        hash: InteractionHash::of_cookie("the login's cookie"),
        support_id: SupportId::new("0123456789AB"),
        request: request(changes),
        wanted: vec![],
        opened_at: OPENED,
        expires_at: OPENED + std::time::Duration::from_secs(LIFE),
        hint_followed: false,
        returned: None,
        trace: None,
        spent: crate::login::Spent::default(),
    }
}

/// Where a connector sends the browser.
pub(crate) fn left() -> AuthorizationRedirect {
    AuthorizationRedirect {
        url: format!("{IDP_ISSUER}/authorize?x=1"),
        issuer: IDP_ISSUER.into(),
        client_id: "hub".into(),
        token_endpoint: format!("{IDP_ISSUER}/token"),
        iss_expected: true,
    }
}

pub(crate) fn authentication(connector: &str, level: Level) -> Authentication {
    Authentication {
        connector: connector.into(),
        upstream_subject: Secret::new("upstream-angela".into()),
        level,
        amr: Told::these(&["pwd"]),
        auth_time: OPENED,
        claims: serde_json::Map::new(),
        id_token: Some(Secret::new("upstream.id.token".into())),
    }
}

/// Angela, freshly authenticated there with a password; no consent is remembered.
pub(crate) fn proven(connector: &str, level: Level) -> Proven {
    let claims = serde_json::json!({ "email": "angela@example.org" });
    Proven {
        authentication: authentication(connector, level),
        level,
        identity: angela(),
        subject: Subject::new("pairwise-angela"),
        source: Source::Register,
        evidence: Evidence::gather(&Told::these(&["pwd"]), &[], &[]).evidence,
        claims: claims.as_object().unwrap().clone(),
        consented: false,
        session: None,
    }
}

/// Angela, of a session that is used again.
pub(crate) fn reused(cookie: &str) -> Proven {
    Proven { session: Some(crate::digest::fingerprint(cookie)), ..proven("idp", Level::Eidas1) }
}
