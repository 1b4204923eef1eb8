//! Sample logins for tests: a request that passed the checks, and an identified user.

use crate::assurance::Level;
use crate::assurance::amr::{AmrEvidence, UpstreamAmr};
use crate::identity::Identity;
use crate::login::upstream::{Authentication, AuthorizationRedirect};
use crate::login::{ClaimsSource, IdentifiedUser, LoginContext, MailRequirement};
use crate::provider_display::ProviderDisplay;
use crate::{ConnectorProfile, Levels};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{InteractionHash, Secret, Subject, SupportId};

pub use passerelle_protocol::testing::samples::*;

pub const IDP_ISSUER: &str = "https://idp.example";
pub const OPENED: Timestamp = Timestamp::from_seconds(1_790_000_000);
/// Lifetime of a sample login, in seconds.
pub const LIFETIME_SECONDS: u64 = 600;

/// Returns the first user of the demo's register.
pub fn angela() -> Identity {
    Identity {
        given_names: ["Angela", "Claire", "Louise"].map(String::from).to_vec(),
        family_name: Some("DUBOIS".into()),
        birthdate: Some("1962-08-24".into()),
        gender: Some("female".into()),
        birthplace: Some("75107".into()),
        birthcountry: Some("99100".into()),
        email: Some("angela@example.org".into()),
        preferred_username: None,
        standard: Default::default(),
        declared: Default::default(),
    }
}

/// Returns the context of a login that was admitted at [`OPENED`].
pub fn login_context(changes: &[(&str, &str)]) -> LoginContext {
    LoginContext {
        hash: InteractionHash::from_cookie("the login's cookie"),
        support_id: SupportId::new("0123456789AB"),
        request: authorization_request(changes),
        required_subjects: vec![],
        opened_at: OPENED,
        expires_at: OPENED + std::time::Duration::from_secs(LIFETIME_SECONDS),
        hint_followed: false,
        accepted_state: None,
        trace: None,
        time_spent: crate::login::TimeBreakdown::default(),
    }
}

/// Returns the metadata of an enabled connector with these levels, which nothing blocks.
pub fn connector_profile(levels: Levels) -> ConnectorProfile {
    let name = std::sync::Arc::new([("en".to_owned(), "Identity provider".to_owned())].into());
    ConnectorProfile {
        display: ProviderDisplay::new(std::sync::Arc::clone(&name), &[], None, None).into(),
        name,
        enabled: true,
        listed: true,
        email_domains: vec![],
        forwarded_params: Default::default(),
        levels,
        amr: vec![],
        mfa: vec![],
        passed_amr: vec![],
        mail_code: false,
        acr_names: Default::default(),
        blocks: [].into(),
        reauthenticates: true,
        proves_identity: true,
        backchannel_logout: false,
        posted_callbacks: false,
        electronic_record_types: Vec::new(),
        addresses: Vec::new(),
        is_probed: true,
        redirects_per_minute: None,
    }
}

/// Returns a redirect to the sample identity provider.
pub fn authorization_redirect() -> AuthorizationRedirect {
    AuthorizationRedirect {
        url: format!("{IDP_ISSUER}/authorize?x=1"),
        issuer: IDP_ISSUER.into(),
        client_id: "hub".into(),
        token_endpoint: format!("{IDP_ISSUER}/token"),
        iss_expected: true,
        dpop_key: None,
    }
}

pub fn authentication(connector: &str, level: Level) -> Authentication {
    let subject = Secret::new("upstream-angela".into());
    Authentication {
        amr: UpstreamAmr::from_methods(&["pwd"]),
        auth_time: Some(OPENED),
        session_hint: Some(Secret::new("upstream.id.token".into())),
        ..Authentication::new(connector.into(), subject, level)
    }
}

/// Returns Angela, freshly authenticated with a password and without remembered consent.
pub fn identified_user(connector: &str, level: Level) -> IdentifiedUser {
    let claims = serde_json::json!({ "email": "angela@example.org" });
    IdentifiedUser {
        authentication: authentication(connector, level),
        level,
        identity: angela(),
        subject: Subject::new("pairwise-angela"),
        source: ClaimsSource::Register,
        confirmed_at: None,
        evidence: AmrEvidence::gather(&UpstreamAmr::from_methods(&["pwd"]), &[], &[], &[]).evidence,
        claims: claims.as_object().unwrap().clone(),
        consented: false,
        informed: false,
        session: None,
        mail: None,
    }
}

/// Returns Angela, who must enter a code by mail.
pub fn user_with_mail_rule() -> IdentifiedUser {
    let requirement = MailRequirement {
        person: Subject::new("keyed-angela"),
        address: Secret::new("angela@example.org".into()),
    };
    IdentifiedUser { mail: Some(Box::new(requirement)), ..identified_user("idp", Level::Eidas1) }
}

/// Returns Angela, identified by a reused session.
pub fn user_of_reused_session(cookie: &str) -> IdentifiedUser {
    IdentifiedUser {
        session: Some(passerelle_protocol::digest::sha256_base64url(cookie)),
        ..identified_user("idp", Level::Eidas1)
    }
}
