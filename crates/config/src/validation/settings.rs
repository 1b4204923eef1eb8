//! Checks `passerelle.toml` beyond its types.

use std::path::Path;

use url::Url;

use super::private_keys::{PrivateKeyAccess, check_private_keys};
use super::subject_keys::{SubjectKeysByVersion, read_subject_keys};
use super::traces::{self, TraceHeaders};
use super::{
    admin_access, claims, client_certificates, level_names, quotas, secret_locations,
    security_profile,
};
use crate::kinds::{Kinds, list_tables};
use crate::model::defaults::MAX_REMEMBER_DAYS;
use crate::model::{ChoiceConfig, LimitsConfig, Settings};
use passerelle_admin::operator_accounts;
use passerelle_admin::operator_accounts::PrivateListenerAccess;
use passerelle_admin::settings::PrivateListener;
use passerelle_audit::settings::check_audit;
use passerelle_federation::assurance::amr;
use passerelle_federation::identity::{IdentitySource, SubjectSource};
use passerelle_federation::{NoAccountText, localized_text};
use passerelle_grants::lifetimes::{Lifetimes, MAX_ACCESS_TOKEN_LIFETIME};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::registration::ProtocolRules;
use passerelle_settings::address::{self, PlainHttp, is_exposed};
use passerelle_settings::value_checks::{check_range, is_category_id};
use passerelle_settings::{Diagnostic, SecretContext, SourceFile, ValueError};
use passerelle_web::proxies;

/// Checked settings with their resolved secrets.
pub struct CheckedSettings {
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
pub fn check_settings(
    source: &SourceFile,
    mut settings: Settings,
    kinds: Kinds,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> Option<CheckedSettings> {
    let before = problems.len();
    let base_url = check_base_url(source, &settings.base_url, problems);
    check_names(source, &settings, problems);
    check_service_documentation(source, &settings, problems);
    check_identity_source(source, &settings, kinds, problems);
    check_lifetimes(source, &settings, problems);
    security_profile::check_hub_profile(source, &settings, problems);
    check_limits(source, &settings.limits, problems);
    secret_locations::check_locations(source, &settings.secrets, problems);
    quotas::check_quotas(source, &settings.quotas, problems);
    if let Some(registration) = &settings.client_registration {
        let is_sandbox = settings.sandbox && settings.platform == Platform::Standard;
        registration.check(source, settings.platform, is_sandbox, problems);
    }
    proxies::check_public_listener(source, &settings.public, problems);
    client_certificates::check_hub_certificates(source, &settings.public, context, problems);
    check_private_hosts(source, &settings.private.hosts, problems);
    check_private_address(source, &settings.private, problems);
    check_choice(source, &settings.choice, problems);
    check_audit(source, &settings.audit, problems);
    claims::check_claims(source, &settings.claims, problems);
    level_names::check_level_names(source, &settings, problems);
    let private_keys = check_private_keys(source, &settings, context, problems);
    let trace_headers = traces::check_traces(source, &settings.traces, context, problems);
    check_sandbox(source, &settings, base_url.as_ref(), problems);
    if settings.public.listen == settings.private.listen && settings.public.listen.port() != 0 {
        problems.push(source.diagnostic(
            "private.listen",
            "is the address of the public listener",
            "choose another port",
        ));
    }
    let admin_token = admin_access::read_admin_token(source, &settings.private, context)
        .map_err(|problem| problems.push(problem));
    let private_access = operator_accounts::read_private_access(
        source,
        &settings.private,
        admin_token.as_ref().ok().and_then(Option::as_ref),
        context,
        problems,
    );
    let subject_keys = read_subject_keys(source, &settings, context, problems)?;
    let (base_url, admin_token) = (base_url?, admin_token.ok()?);
    settings.base_url = base_url.origin().ascii_serialization();
    join_paths(&mut settings, context.folder);
    (problems.len() == before).then_some(CheckedSettings {
        settings,
        base_url,
        subject_keys,
        admin_token,
        private_access,
        trace_headers,
        private_keys,
    })
}

fn check_sandbox(
    source: &SourceFile,
    settings: &Settings,
    base_url: Option<&Url>,
    problems: &mut Vec<Diagnostic>,
) {
    let message = if base_url.is_some_and(|url| !address::is_loopback(url)) {
        "allows anyone to sign in as anyone, and base_url is not on this machine"
    } else if is_exposed(settings.public.listen) {
        "allows anyone to sign in as anyone, and other machines reach public.listen"
    } else {
        return;
    };
    if settings.sandbox && !settings.sandbox_public {
        let fix = "set sandbox = false, or sandbox_public = true if this is intended";
        problems.push(source.diagnostic("sandbox", message, fix));
    }
}

/// Rejects a private listener that other machines reach without TLS, unless the file says so.
fn check_private_address(
    source: &SourceFile,
    private: &PrivateListener,
    problems: &mut Vec<Diagnostic>,
) {
    if is_exposed(private.listen) && !private.insecure_http {
        let message =
            "is not a loopback address, and operators' tokens would cross the network without TLS";
        let fix = "use 127.0.0.1 or [::1], with a proxy for TLS if other machines need it; or set private.insecure_http = true in a network that no one else can read";
        problems.push(source.diagnostic("private.listen", message, fix));
    }
}

/// Returns warnings about settings that deviate from the specification or from good practice.
pub fn settings_warnings(source: &SourceFile, settings: &Settings) -> Vec<Diagnostic> {
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
    if settings.register.is_some() && settings.platform == Platform::High {
        let message =
            "is not used on the high platform, where identities come from identity providers";
        warnings.push(source.diagnostic("register", message, "remove the table"));
    }
    warnings
}

/// Requires an https URL, or http on loopback.
fn check_service_documentation(
    source: &SourceFile,
    settings: &Settings,
    problems: &mut Vec<Diagnostic>,
) {
    let url = settings.service_documentation.as_deref();
    if let Some(Err(error)) = url.map(|url| address::parse_absolute_url(url, PlainHttp::Loopback)) {
        problems.push(source.locate(error.at("service_documentation")));
    }
}

/// Requires an https origin, or http on loopback, without a path.
fn check_base_url(source: &SourceFile, text: &str, problems: &mut Vec<Diagnostic>) -> Option<Url> {
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
    checked.map_err(|error| problems.push(source.locate(adapt_http_fix(error).at("base_url")))).ok()
}

fn check_names(source: &SourceFile, settings: &Settings, problems: &mut Vec<Diagnostic>) {
    let word = |text: &str| {
        (1..=32).contains(&text.len())
            && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-')
    };
    // The prefixes `__Host-` and `__Secure-` require https (RFC 6265bis §4.1.3).
    if !word(&settings.cookie_prefix) || settings.cookie_prefix.starts_with("__") {
        let fix = "use 1 to 32 letters, digits, _ or -, not starting with __";
        problems.push(source.diagnostic("cookie_prefix", "is not a valid cookie name prefix", fix));
    }
    if !word(&settings.amr_marker) {
        problems.push(source.diagnostic(
            "amr_marker",
            "is not a single word",
            "use 1 to 32 letters, digits, _ or -",
        ));
    } else if amr::is_known_method(&settings.amr_marker) {
        let message = "is the registered name of an authentication method";
        problems.push(source.diagnostic(
            "amr_marker",
            message,
            "choose a word that RFC 8176 doesn't use, for example hub",
        ));
    }
    if settings.home_country.len() != 5
        || !settings.home_country.bytes().all(|c| c.is_ascii_digit())
    {
        problems.push(source.diagnostic(
            "home_country",
            "is not a country code",
            "write five digits, for example 99100",
        ));
    }
}

fn check_private_hosts(source: &SourceFile, hosts: &[String], problems: &mut Vec<Diagnostic>) {
    for (index, host) in hosts.iter().enumerate() {
        let is_name =
            host.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b'_'));
        if host.is_empty() || !is_name {
            let message = "is not a host name";
            problems.push(source.diagnostic(
                &format!("private.hosts[{index}]"),
                message,
                "write it without a scheme and a port, for example hub-1.internal",
            ));
        }
    }
}

fn check_identity_source(
    source: &SourceFile,
    settings: &Settings,
    kinds: Kinds,
    problems: &mut Vec<Diagnostic>,
) {
    let uses_register = settings.platform == Platform::Standard
        && settings.identity_source == IdentitySource::Register;
    if uses_register && settings.register.is_none() {
        let message = "is missing, but identities come from the register";
        let fix = format!(
            "add {}, or set identity_source = \"provider\" (deviates from the specification)",
            list_tables("register", kinds.registers)
        );
        problems.push(source.diagnostic("register", message, fix));
    }
    if uses_register && settings.subject == SubjectSource::Provider {
        let message = "is \"provider\", but the register needs the pivot identity";
        problems.push(source.diagnostic(
            "subject",
            message,
            "set subject = \"pivot\", or identity_source = \"provider\"",
        ));
    }
}

fn check_lifetimes(source: &SourceFile, settings: &Settings, problems: &mut Vec<Diagnostic>) {
    let (life, platform) = (&settings.lifetimes, settings.platform);
    let whole_session = Lifetimes::default().session(platform).as_secs();
    let federation = life.tokens(ProtocolRules::Federation);
    let openid = life.tokens(ProtocolRules::Openid);
    let longest_access_token = MAX_ACCESS_TOKEN_LIFETIME.as_secs();
    let bounds = [
        ("code_seconds", federation.code, 600), // RFC 6749 §4.1.2: at most ten minutes
        ("access_token_seconds", federation.access_token, longest_access_token),
        ("id_token_seconds", federation.id_token, 3600),
        ("openid_code_seconds", openid.code, 600),
        ("openid_access_token_seconds", openid.access_token, longest_access_token),
        ("openid_id_token_seconds", openid.id_token, 3600),
        ("login_seconds", life.login(platform), 3600),
        ("session_idle_seconds", life.session_idle(platform), whole_session),
        ("session_seconds", life.session(platform), whole_session), // eight hours, on the high platform ten minutes
    ];
    for (key, value, longest) in bounds {
        check_range(source, &format!("lifetimes.{key}"), value.as_secs(), (1, longest), problems);
    }
    check_range(
        source,
        "lifetimes.signing_key_lead_seconds",
        life.signing_key_lead_seconds,
        (0, 7 * 86_400),
        problems,
    );
    if life.session_idle(platform) > life.session(platform) {
        let fix = "make it at most lifetimes.session_seconds";
        problems.push(source.diagnostic(
            "lifetimes.session_idle_seconds",
            "is longer than the session",
            fix,
        ));
    }
}

fn check_limits(source: &SourceFile, limits: &LimitsConfig, problems: &mut Vec<Diagnostic>) {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let failed_authentications = limits.failed_authentications_per_minute.into();
    let inactive_introspections = limits.inactive_answers_per_minute.into();
    let bounds = [
        ("logins", count(limits.logins), (1, 10_000_000)),
        ("sessions", count(limits.sessions), (1, 10_000_000)),
        ("grants", count(limits.grants), (1, 20_000_000)),
        ("refresh_grants", count(limits.refresh_grants), (1, 20_000_000)),
        ("steps_in_flight", count(limits.steps_in_flight), (1, 65_536)),
        ("calls_per_connector", count(limits.calls_per_connector), (1, 65_536)),
        ("failed_authentications_per_minute", failed_authentications, (1, 1_000_000)),
        ("inactive_answers_per_minute", inactive_introspections, (1, 1_000_000)),
        ("reload_seconds", limits.reload_seconds, (1, 3600)),
        ("request_seconds", limits.request_seconds, (1, 120)),
        ("not_ready_seconds", limits.not_ready_seconds, (0, 300)),
        ("shutdown_seconds", limits.shutdown_seconds, (1, 300)),
        ("workers", count(limits.workers), (0, 1024)),
        ("remembered_logins", count(limits.remembered_logins), (0, 1_000_000)),
    ];
    for (key, value, range) in bounds {
        check_range(source, &format!("limits.{key}"), value, range, problems);
    }
    if let Some(bytes) = limits.login_bytes {
        check_range(source, "limits.login_bytes", bytes, (64 << 10, 1 << 40), problems);
    }
}

fn check_choice(source: &SourceFile, choice: &ChoiceConfig, problems: &mut Vec<Diagnostic>) {
    for (index, category) in choice.categories.iter().enumerate() {
        let key = format!("choice.categories[{index}]");
        if !is_category_id(&category.id) {
            let fix = "use 1 to 32 characters of a-z, 0-9 and -";
            problems.push(source.diagnostic(
                &format!("{key}.id"),
                "is not a valid category id",
                fix,
            ));
        }
        if choice.categories.iter().take(index).any(|other| other.id == category.id) {
            problems.push(source.diagnostic(
                &format!("{key}.id"),
                "is also the id of another category",
                "keep one of the two",
            ));
        }
        localized_text::check_texts(source, &format!("{key}.name"), &category.name, problems);
    }
    if let Some(no_account) = &choice.no_account {
        check_no_account(source, no_account, problems);
    }
    check_range(
        source,
        "choice.remember_days",
        choice.remember_days,
        (1, MAX_REMEMBER_DAYS),
        problems,
    );
}

const MAX_NO_ACCOUNT_CHARS: usize = 600;

fn check_no_account(source: &SourceFile, advice: &NoAccountText, problems: &mut Vec<Diagnostic>) {
    let key = "choice.no_account.text";
    if advice.text.is_empty() {
        let fix = "write { fr = \"…\", en = \"…\" }";
        problems.push(source.diagnostic(key, "has no text in any language", fix));
    }
    let found = localized_text::text_diagnostics(key, &advice.text, MAX_NO_ACCOUNT_CHARS);
    problems.extend(found.into_iter().map(|found| source.locate(found)));
    let link =
        advice.link.as_deref().map(|link| address::parse_absolute_url(link, PlainHttp::Nowhere));
    if let Some(Err(error)) = link {
        problems.push(source.locate(error.at("choice.no_account.link")));
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
    let optional = settings.theme.iter_mut().chain(&mut settings.audit.checkpoint_copy);
    let listed = settings.place_name_files.iter_mut().chain(&mut settings.process.writable_folders);
    let optional = optional.chain(certificates.filter_map(|certificates| certificates.ca.as_mut()));
    for path in required.into_iter().chain(optional).chain(listed) {
        *path = folder.join(&*path);
    }
}
