//! Checks `passerelle.toml` beyond its types.

use std::path::Path;

use url::Url;

use super::consistency::is_category_id;
use super::private_key_access::{PrivateKeyAccess, check_private_keys};
use super::subject_keys::{SubjectKeysByVersion, read_subject_keys};
use super::traces::{self, TraceHeaders};
use super::{
    claims, client_certificates, command_settings, level_names, secret_locations, security_profile,
};
use crate::kinds::{Kinds, list_tables};
use crate::model::{ChoiceConfig, Settings};
use passerelle_admin::operator_accounts;
use passerelle_admin::operator_accounts::PrivateListenerAccess;
use passerelle_admin::settings::PrivateListener;
use passerelle_audit::settings::check_audit;
use passerelle_federation::NoAccountText;
use passerelle_federation::assurance::amr;
use passerelle_federation::identity::{IdentitySource, SubjectSource};
use passerelle_federation::localized_text::{self, MAX_NAME_CHARS};
use passerelle_grants::lifetimes::Lifetimes;
use passerelle_jose::keyring::JWKS_MAX_AGE;
use passerelle_protocol::acr::Platform;
use passerelle_protocol::ids::Secret;
use passerelle_settings::address::{self, PlainHttp, is_exposed};
use passerelle_settings::{Diagnostic, FileCheck, SecretContext, SourceFile, ValueError};
use passerelle_web::proxies;

/// Checked settings with their resolved secrets.
pub(crate) struct CheckedSettings {
    /// The file, with the variables that override it.
    pub source: SourceFile,
    /// The settings with absolute paths and `base_url` in canonical form.
    pub settings: Settings,
    /// The parsed base URL.
    pub base_url: Url,
    /// The subject keys.
    pub subject_keys: SubjectKeysByVersion,
    /// The administration token.
    pub admin_token: Option<Secret<String>>,
    /// Operators and peers.
    pub private_access: PrivateListenerAccess,
    /// Headers for the trace collector.
    pub trace_headers: TraceHeaders,
    pub private_keys: PrivateKeyAccess,
}

/// Checks the settings and resolves their secrets, except those of the tables of kinds. Returns
/// `None` and reports problems if they are invalid.
pub(crate) fn check_settings(
    check: &mut FileCheck<'_>,
    mut settings: Settings,
    kinds: Kinds,
    context: &SecretContext<'_>,
) -> Option<CheckedSettings> {
    let before = check.problems.len();
    let base_url = check_base_url(check, &settings.base_url);
    check_names(check, &settings);
    check_service_documentation(check, &settings);
    check_identity_source(check, &settings, kinds);
    check_lifetimes(check, &settings);
    security_profile::check_hub_profile(check, &settings);
    secret_locations::check_locations(check, &settings.secrets);
    proxies::check_public_listener(check, &settings.public);
    client_certificates::check_hub_certificates(check, &settings.public, context);
    check_private_hosts(check, &settings.private.hosts);
    check_private_address(check, &settings.private);
    check_choice(check, &settings.choice);
    check_audit(check, &settings.audit);
    claims::check_claims(check, &settings.claims);
    claims::check_verified_claims(check, &settings);
    level_names::check_level_names(check, &settings);
    let private_keys = check_private_keys(check, &settings, context);
    let trace_headers = traces::check_traces(check, &settings.traces, context);
    check_sandbox(check, &settings, base_url.as_ref());
    if settings.public.listen == settings.private.listen && settings.public.listen.port() != 0 {
        check.report(
            "private.listen",
            "is the address of the public listener",
            "choose another port",
        );
    }
    let admin_token =
        check.collect(command_settings::read_admin_token(check.source, &settings.private, context));
    let private_access = operator_accounts::read_private_access(
        check,
        &settings.private,
        admin_token.as_ref().and_then(Option::as_ref),
        context,
    );
    let subject_keys = read_subject_keys(check, &settings, context)?;
    let (base_url, admin_token) = (base_url?, admin_token?);
    settings.base_url = base_url.origin().ascii_serialization();
    join_paths(&mut settings, context.folder);
    (check.problems.len() == before).then(|| CheckedSettings {
        source: check.source.clone(),
        settings,
        base_url,
        subject_keys,
        admin_token,
        private_access,
        trace_headers,
        private_keys,
    })
}

fn check_sandbox(check: &mut FileCheck<'_>, settings: &Settings, base_url: Option<&Url>) {
    let message = if base_url.is_some_and(|url| !address::is_loopback(url)) {
        "allows anyone to sign in as anyone, and base_url is not on this machine"
    } else if is_exposed(settings.public.listen) {
        "allows anyone to sign in as anyone, and other machines reach public.listen"
    } else {
        return;
    };
    if settings.sandbox && !settings.sandbox_public {
        let fix = "set sandbox = false, or sandbox_public = true if this is intended";
        check.report("sandbox", message, fix);
    }
}

/// Rejects a private listener that other machines reach without TLS, unless the file says so.
fn check_private_address(check: &mut FileCheck<'_>, private: &PrivateListener) {
    if is_exposed(private.listen) && !private.insecure_http {
        let message =
            "is not a loopback address, and operators' tokens would cross the network without TLS";
        let fix = "use 127.0.0.1 or [::1], with a proxy for TLS if other machines need it; or set private.insecure_http = true in a network that no one else can read";
        check.report("private.listen", message, fix);
    }
}

/// Time limit of a login, in seconds, below which few people finish one.
const MIN_USABLE_LOGIN_SECONDS: u64 = 60;

/// Returns warnings about settings that deviate from the specification or from good practice.
pub(crate) fn settings_warnings(source: &SourceFile, settings: &Settings) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    if settings.identity_source == IdentitySource::Provider
        && settings.platform == Platform::Standard
    {
        let message = "accepts unconfirmed identities from identity providers, which deviates from the specification";
        warnings.push(source.diagnostic(
            "identity_source",
            message,
            "set identity_source = \"register\" and a [register.…] table",
        ));
    }
    if settings.lifetimes.login(settings.platform).as_secs() < MIN_USABLE_LOGIN_SECONDS {
        let message = "is too short for a person to choose an account and sign in";
        warnings.push(source.diagnostic("lifetimes.login_seconds", message, "write 600"));
    }
    if settings.register.is_some() && settings.platform == Platform::High {
        let message =
            "is not used on the high platform, where identities come from identity providers";
        warnings.push(source.diagnostic("register", message, "remove the table"));
    }
    warnings
}

/// Requires an https URL, or http on loopback.
fn check_service_documentation(check: &mut FileCheck<'_>, settings: &Settings) {
    if let Some(url) = &settings.service_documentation {
        let url = address::parse_absolute_url(url, PlainHttp::Loopback);
        check.accept("service_documentation", url);
    }
}

/// Requires an https origin, or http on loopback, without a path.
fn check_base_url(check: &mut FileCheck<'_>, text: &str) -> Option<Url> {
    let checked = address::parse_url_without_query(text, PlainHttp::Loopback).and_then(|url| {
        match url.path() {
            "/" => Ok(url),
            // A cookie of a path would reach the other programs of the host, and RFC 8414 §3.1 puts
            // the metadata at the root: a hub has a host name of its own.
            _ => Err(ValueError::new(
                "has a path, but a hub needs a host name of its own: its cookies are bound to a whole host (__Host-), and its metadata is at the host's /.well-known (RFC 8414)",
                "end it after the host and port, for example https://login.example.org",
            )),
        }
    });
    let adapt_http_fix = |error: ValueError| match error.message.as_str() {
        "is plain http" => ValueError::new(
            error.message,
            "use https:// (http is for localhost, 127.0.0.1 and [::1] only)",
        ),
        _ => error,
    };
    check.accept("base_url", checked.map_err(adapt_http_fix))
}

fn check_names(check: &mut FileCheck<'_>, settings: &Settings) {
    let word = |text: &str| {
        (1..=32).contains(&text.len())
            && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-')
    };
    // The prefixes `__Host-` and `__Secure-` require https (RFC 6265bis §4.1.3).
    if !word(&settings.cookie_prefix) || settings.cookie_prefix.starts_with("__") {
        let fix = "use 1 to 32 letters, digits, _ or -, not starting with __";
        check.report("cookie_prefix", "is not a valid cookie name prefix", fix);
    }
    if !word(&settings.amr_marker) {
        check.report("amr_marker", "is not a single word", "use 1 to 32 letters, digits, _ or -");
    } else if amr::is_known_method(&settings.amr_marker) {
        let message = "is the registered name of an authentication method";
        check.report(
            "amr_marker",
            message,
            "choose a word that RFC 8176 doesn't use, for example hub",
        );
    }
    if settings.home_country.len() != 5
        || !settings.home_country.bytes().all(|c| c.is_ascii_digit())
    {
        check.report(
            "home_country",
            "is not a country code",
            "write five digits, for example 99100",
        );
    }
}

fn check_private_hosts(check: &mut FileCheck<'_>, hosts: &[String]) {
    for (index, host) in hosts.iter().enumerate() {
        let is_name =
            host.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b'_'));
        if host.is_empty() || !is_name {
            let message = "is not a host name";
            check.report(
                &format!("private.hosts[{index}]"),
                message,
                "write it without a scheme and a port, for example hub-1.internal",
            );
        }
    }
}

fn check_identity_source(check: &mut FileCheck<'_>, settings: &Settings, kinds: Kinds) {
    let uses_register = settings.platform == Platform::Standard
        && settings.identity_source == IdentitySource::Register;
    if uses_register && settings.register.is_none() {
        let message = "is missing, but identities come from the register";
        let fix = format!(
            "add {}, or set identity_source = \"provider\" (deviates from the specification)",
            list_tables("register", kinds.registers)
        );
        check.report("register", message, fix);
    }
    if uses_register && settings.subject == SubjectSource::Provider {
        let message = "is \"provider\", but the register needs the pivot identity";
        check.report(
            "subject",
            message,
            "set subject = \"pivot\", or identity_source = \"provider\"",
        );
    }
}

fn check_lifetimes(check: &mut FileCheck<'_>, settings: &Settings) {
    let (life, platform) = (&settings.lifetimes, settings.platform);
    // Eight hours, on the high platform ten minutes.
    let longest = Lifetimes::default().session(platform).as_secs();
    for (key, value) in [
        ("lifetimes.session_idle_seconds", life.session_idle(platform)),
        ("lifetimes.session_seconds", life.session(platform)),
    ] {
        check.check_range(key, value.as_secs(), 1..=longest);
    }
    if life.session_idle(platform) > life.session(platform) {
        let fix = "make it at most lifetimes.session_seconds";
        check.report("lifetimes.session_idle_seconds", "is longer than the session", fix);
    }
    if settings.rotate_keys_every_days.is_some() && life.signing_key_lead() < JWKS_MAX_AGE {
        let message = "is shorter than service providers cache the key set, and rotate_keys_every_days is set: logins would fail after each rotation";
        check.report("lifetimes.signing_key_lead_seconds", message, "write 1200");
    }
}

fn check_choice(check: &mut FileCheck<'_>, choice: &ChoiceConfig) {
    for (index, category) in choice.categories.iter().enumerate() {
        let key = format!("choice.categories[{index}]");
        if !is_category_id(&category.id) {
            let fix = "use 1 to 32 characters of a-z, 0-9 and -";
            check.report(&format!("{key}.id"), "is not a valid category id", fix);
        }
        if choice.categories.iter().take(index).any(|other| other.id == category.id) {
            check.report(
                &format!("{key}.id"),
                "is also the id of another category",
                "keep one of the two",
            );
        }
        localized_text::check_texts(check, &format!("{key}.name"), &category.name, MAX_NAME_CHARS);
    }
    if let Some(no_account) = &choice.no_account {
        check_no_account(check, no_account);
    }
}

const MAX_NO_ACCOUNT_CHARS: usize = 600;

fn check_no_account(check: &mut FileCheck<'_>, advice: &NoAccountText) {
    let key = "choice.no_account.text";
    localized_text::check_texts(check, key, &advice.text, MAX_NO_ACCOUNT_CHARS);
    if let Some(link) = &advice.link {
        let link = address::parse_absolute_url(link, PlainHttp::Nowhere);
        check.accept("choice.no_account.link", link);
    }
}

fn join_paths(settings: &mut Settings, folder: &Path) {
    let required = [
        &mut settings.keys,
        &mut settings.connectors,
        &mut settings.state,
        &mut settings.audit.path,
    ];
    let certificates = settings.public.client_certificates.iter_mut();
    let ca = certificates.filter_map(|certificates| certificates.ca.as_mut()).map(AsMut::as_mut);
    let named = settings.theme.iter_mut().chain(&mut settings.place_name_files);
    let named = named.chain(&mut settings.choice.email_domain_file).map(AsMut::as_mut);
    let written = settings.audit.checkpoint_copy.iter_mut();
    let written = written.chain(&mut settings.process.writable_folders);
    for path in required.into_iter().chain(ca).chain(named).chain(written) {
        *path = folder.join(&*path);
    }
}
