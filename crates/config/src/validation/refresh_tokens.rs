//! Checks `[refresh_tokens]` of a service provider's file.

use crate::model::ServiceProviderFile;
use passerelle_protocol::registration::ConsentRequirement;
use passerelle_settings::value_checks::check_range;
use passerelle_settings::{Diagnostic, SourceFile};

/// One year.
const MAX_LIFETIME_SECONDS: u64 = 366 * 24 * 3600;

/// Checks that the user is asked, and that the lifetimes are sensible.
pub fn check_refresh_tokens(
    source: &SourceFile,
    file: &ServiceProviderFile,
    problems: &mut Vec<Diagnostic>,
) {
    let Some(refresh_tokens) = file.refresh_tokens else { return };
    if file.consent() != ConsentRequirement::Required {
        let message = "gives access while the user is away, so the user must be asked";
        problems.push(source.diagnostic("refresh_tokens", message, "add consent = \"required\""));
    }
    let mut check = |key: &str, seconds: u64, most: u64| {
        check_range(source, &format!("refresh_tokens.{key}"), seconds, (60, most), problems);
    };
    let lifetime = refresh_tokens.lifetime_seconds;
    check("lifetime_seconds", lifetime, MAX_LIFETIME_SECONDS);
    if let Some(idle) = refresh_tokens.idle_seconds {
        check("idle_seconds", idle, lifetime.max(60));
    }
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
