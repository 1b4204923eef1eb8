//! Checks `[refresh_tokens]` of a service provider's file.

use std::time::Duration;

use crate::model::{RefreshTokensConfig, ServiceProviderFile};
use passerelle_federation::RefreshTokenRules;
use passerelle_protocol::ids::Scope;
use passerelle_protocol::refresh::OFFLINE_ACCESS;
use passerelle_protocol::registration::ConsentRequirement;
use passerelle_settings::FileCheck;

/// Checks that the user is asked, and that the lifetimes are sensible.
pub(super) fn check_refresh_tokens(check: &mut FileCheck<'_>, file: &ServiceProviderFile) {
    let Some(refresh_tokens) = file.refresh_tokens else { return };
    if file.consent() != ConsentRequirement::Required {
        let message = "gives access while the user is away, so the user must be asked";
        check.report("refresh_tokens", message, "add consent = \"required\"");
    }
    if let Some(idle) = refresh_tokens.idle_seconds {
        let longest = refresh_tokens.lifetime_seconds.max(60);
        check.check_range("refresh_tokens.idle_seconds", idle, 60..=longest);
    }
}

/// Returns the rules that a table states.
pub(super) fn refresh_token_rules(config: RefreshTokensConfig) -> RefreshTokenRules {
    RefreshTokenRules {
        lifetime: Duration::from_secs(config.lifetime_seconds),
        idle: Duration::from_secs(config.idle_seconds()),
        ends_with_session: config.end_with_session,
    }
}

/// Returns the scopes that a service provider may request: with refresh tokens also the one that
/// asks for them.
pub(super) fn granted_scopes(file: &ServiceProviderFile) -> Vec<Scope> {
    let offline = Scope::from(OFFLINE_ACCESS);
    let is_listed = file.scopes.contains(&offline);
    let added = (file.refresh_tokens.is_some() && !is_listed).then_some(offline);
    file.scopes.iter().cloned().chain(added).collect()
}

#[cfg(test)]
mod tests {
    use crate::tests::{Folder, service_with};

    const FILE: &str = "service-providers/sp.toml";
    const SECRET: &str = "secrets = [{ env = \"SERVICE_PROVIDER_SP__SECRET\" }]";

    fn folder(consent: &str, table: &str) -> Folder {
        let more = format!("{SECRET}\n{consent}\n[refresh_tokens]\n{table}");
        Folder::good().with(FILE, service_with(&more))
    }

    #[test]
    fn the_user_must_be_asked_and_the_lifetimes_fit() {
        let asked = "consent = \"required\"";
        folder(asked, "").loaded();
        folder(asked, "lifetime_seconds = 3600").loaded();
        folder(asked, "lifetime_seconds = 3600\nidle_seconds = 3600").loaded();
        for (consent, table, key, word) in [
            ("", "", "refresh_tokens", "consent = \"required\""),
            (
                asked,
                "lifetime_seconds = 59\nidle_seconds = 60",
                "refresh_tokens.lifetime_seconds",
                "60",
            ),
            (asked, "lifetime_seconds = 40000000", "refresh_tokens.lifetime_seconds", "60"),
            (asked, "idle_seconds = 3000000", "refresh_tokens.idle_seconds", "2592000"),
        ] {
            let (file, found, text) = folder(consent, table).problem();
            assert_eq!((file.as_str(), found.as_str()), (FILE, key), "{table}");
            assert!(text.contains(word), "{table}: {text}");
        }
    }
}
