//! Reads which client assertions (`private_key_jwt`, RFC 7523) of a service provider are accepted:
//! `client_assertion_audiences` and its defaults.

use crate::model::ServiceProviderFile;
use passerelle_federation::client_assertions::{AcceptedAudiences, AssertionRules, Audience};
use passerelle_protocol::alg::AcceptedAlgs;
use passerelle_protocol::security_profile::SecurityProfile;
use passerelle_settings::FileCheck;

/// Returns the rules of a service provider's file.
pub(crate) fn assertion_rules(file: &ServiceProviderFile) -> AssertionRules {
    // FAPI 2.0 Security Profile §5.3.2.1: the issuer, as a string.
    let audiences = if file.profile.is_some() {
        AcceptedAudiences::IssuerAlone
    } else {
        AcceptedAudiences::new(file.client_assertion_audiences.as_deref(), file.rules)
    };
    AssertionRules::new(assertion_algs(file), audiences, file.rules)
}

/// Returns the registered algorithm; without one, any that the profile allows (OpenID Connect
/// Dynamic Client Registration 1.0 §2).
pub(crate) fn assertion_algs(file: &ServiceProviderFile) -> AcceptedAlgs {
    let registered = file.token_endpoint_auth_signing_alg.map(AcceptedAlgs::from);
    registered.unwrap_or(file.profile.map_or(AcceptedAlgs::ANY, SecurityProfile::algs))
}

/// Reports a `client_assertion_audiences` that can't work.
pub(crate) fn check_audiences(check: &mut FileCheck<'_>, listed: &[String]) {
    const KEY: &str = "client_assertion_audiences";
    if listed.is_empty() {
        check.report(KEY, "is empty, so no assertion can ever be accepted", Audience::VOCABULARY);
    }
    for (index, text) in
        listed.iter().enumerate().filter(|(_, text)| Audience::parse(text).is_none())
    {
        let message = format!("is {text:?}, which is not a valid audience");
        check.report(&format!("{KEY}[{index}]"), &message, Audience::VOCABULARY);
    }
}
