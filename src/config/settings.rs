//! The rules of `passerelle.toml` beyond its shape (decisions 1, 2, 6, 7, 9).

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use url::Url;

use crate::assurance::amr;
use crate::digest;
use crate::identity::pivot::Derivation;
use crate::identity::sub::SubjectKey;
use crate::ids::Secret;
use crate::protocol::acr::Platform;

use super::access;
use super::address::{self, Http};
use super::audit;
use super::model::defaults::REMEMBER_DAYS;
use super::model::{
    Choice, IdentitySource, Lifetimes, Limits, RegisterConfig, SecretRef, Settings, StoreConfig,
    SubjectKeyRef, SubjectSource,
};
use super::problem::Problem;
use super::proxies;
use super::quotas;
use super::register::{self, RegisterCredentials};
use super::secret_rules::{self, Context};
use super::secrets;
use super::source::Source;
use super::store::{self, StoreCredentials};
use super::traces::{self, TraceHeaders};
use super::{connectors, text};

/// What the settings lead to, once they hold.
pub struct Checked {
    /// With every path joined to the configuration folder, and `base_url` in its one canonical form.
    pub settings: Settings,
    pub base_url: Url,
    pub subject_keys: SubjectKeys,
    pub admin_token: Option<Secret<String>>,
    pub trace_headers: TraceHeaders,
    pub register: RegisterCredentials,
    pub store: StoreCredentials,
}

/// The subjects' keys by version: at least one, each of at least 32 bytes.
pub type SubjectKeys = BTreeMap<u32, SubjectKey>;

/// The HMAC key of the subjects has at least this many bytes.
const SUBJECT_KEY_BYTES: usize = 32;

impl Lifetimes {
    #[must_use]
    pub const fn code(&self) -> Duration {
        Duration::from_secs(self.code_seconds)
    }

    #[must_use]
    pub const fn access_token(&self) -> Duration {
        Duration::from_secs(self.access_token_seconds)
    }

    #[must_use]
    pub const fn id_token(&self) -> Duration {
        Duration::from_secs(self.id_token_seconds)
    }

    #[must_use]
    pub const fn openid_id_token(&self) -> Duration {
        Duration::from_secs(self.openid_id_token_seconds)
    }

    #[must_use]
    pub const fn signing_key_lead(&self) -> Duration {
        Duration::from_secs(self.signing_key_lead_seconds)
    }

    #[must_use]
    pub fn login(&self, platform: Platform) -> Duration {
        Duration::from_secs(self.login_seconds.unwrap_or(by_platform(platform, 1800, 600)))
    }

    #[must_use]
    pub fn session_idle(&self, platform: Platform) -> Duration {
        Duration::from_secs(self.session_idle_seconds.unwrap_or(by_platform(platform, 1800, 600)))
    }

    #[must_use]
    pub fn session(&self, platform: Platform) -> Duration {
        Duration::from_secs(self.session_seconds.unwrap_or(by_platform(platform, 28_800, 600)))
    }
}

const fn by_platform(platform: Platform, standard: u64, high: u64) -> u64 {
    match platform {
        Platform::Standard => standard,
        Platform::High => high,
    }
}

pub fn check(
    source: &Source,
    mut settings: Settings,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> Option<Checked> {
    let before = problems.len();
    let base_url = base_url(source, &settings.base_url, problems);
    names(source, &settings, problems);
    identity(source, &settings, problems);
    let register = settings
        .register
        .as_ref()
        .map(|configured| register::check(source, configured, context, problems));
    let store = settings
        .store
        .as_ref()
        .map(|configured| store::check(source, configured, context, problems));
    lifetimes(source, &settings, problems);
    limits(source, &settings.limits, problems);
    secret_rules::check(source, &settings.secrets, problems);
    quotas::check(source, &settings.quotas, problems);
    proxies::check(source, &settings.public, problems);
    private_hosts(source, &settings.private.hosts, problems);
    choice(source, &settings.choice, problems);
    audit::check(source, &settings.audit, problems);
    let trace_headers = traces::check(source, &settings.traces, context, problems);
    if settings.sandbox
        && !settings.sandbox_public
        && base_url.as_ref().is_some_and(|url| !address::is_loopback(url))
    {
        let what = "lets anyone sign in as anyone, at an address beyond this machine";
        problems.push(source.problem(
            "sandbox",
            what,
            "set sandbox = false, or sandbox_public = true if that is what you want",
        ));
    }
    if settings.public.listen == settings.private.listen && settings.public.listen.port() != 0 {
        problems.push(source.problem(
            "private.listen",
            "is the public listener's address",
            "choose another port",
        ));
    }
    let admin_token = access::admin_token(source, &settings.private, context)
        .map_err(|problem| problems.push(problem));
    let subject_keys = subject_keys(source, &settings, context, problems)?;
    let (base_url, admin_token) = (base_url?, admin_token.ok()?);
    settings.base_url = base_url.origin().ascii_serialization();
    join_paths(&mut settings, context.folder);
    let (register, store) = (register.unwrap_or_default(), store.unwrap_or_default());
    (problems.len() == before).then_some(Checked {
        settings,
        base_url,
        subject_keys,
        admin_token,
        trace_headers,
        register,
        store,
    })
}

/// `subject_key` is version 1 alone; `subject_keys` holds every version there is.
fn subject_keys(
    source: &Source,
    settings: &Settings,
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> Option<SubjectKeys> {
    let versioned = settings.subject_keys.iter().enumerate().map(|(index, key)| {
        let reference = SubjectKeyRef {
            file: key.file.clone(),
            env: key.env.clone(),
            derivation: key.derivation,
        };
        (format!("subject_keys[{index}]"), key.version, reference)
    });
    let named: Vec<_> = match &settings.subject_key {
        Some(reference) => [("subject_key".to_owned(), 1, reference.clone())]
            .into_iter()
            .chain(versioned)
            .collect(),
        None => versioned.collect(),
    };
    let before = problems.len();
    if named.is_empty() {
        let mend = "add it: { env = \"NAME\" } or { file = \"path\" } of at least 32 random bytes, to be kept for ever";
        problems.push(source.problem("subject_key", "is missing", mend));
    }
    if settings.subject_key.is_some() && !settings.subject_keys.is_empty() {
        let mend = "move it there, as { version = 1, … }, and remove subject_key";
        problems.push(source.problem("subject_key", "is there beside subject_keys", mend));
        return None;
    }
    let mut keys = SubjectKeys::new();
    for (at, version, reference) in named {
        let key = match subject_key(source, &at, &reference, context) {
            Ok(key) => key,
            Err(problem) => {
                problems.push(problem);
                continue;
            }
        };
        if version == 0 {
            problems.push(source.problem(&format!("{at}.version"), "is 0", "count from 1"));
        }
        let is_other =
            |other: &SubjectKey| digest::equal(other.secret.reveal(), key.secret.reveal());
        if keys.values().any(|other| is_other(other) && other.derivation == key.derivation) {
            let mend = "make a key of its own, or give the newer version derivation = 2 if the other one has 1";
            problems.push(source.problem(&at, "leads to the same key as another version", mend));
        }
        if keys.insert(version, key).is_some() {
            let mend = "give each key a version of its own, and never a new key an old version";
            problems.push(source.problem(
                &format!("{at}.version"),
                "is another key's version too",
                mend,
            ));
        }
    }
    (problems.len() == before).then_some(keys)
}

fn subject_key(
    source: &Source,
    at: &str,
    reference: &SubjectKeyRef,
    context: &Context<'_>,
) -> Result<SubjectKey, Problem> {
    let secret = SecretRef { file: reference.file.clone(), env: reference.env.clone() };
    let text = secrets::resolve(source, at, &secret, context)?.into_inner();
    if text.len() < SUBJECT_KEY_BYTES {
        let mend = "use at least 32 random bytes, for instance from `openssl rand -hex 32`, and keep them for ever";
        return Err(source.problem(at, "leads to a key that is too short", mend));
    }
    let derivation = match reference.derivation {
        Some(number) => Derivation::from_number(number).ok_or_else(|| {
            let mend = "write 2; or 1 for a hub whose users know their sub by it";
            source.problem(&format!("{at}.derivation"), "is no version of the derivation", mend)
        })?,
        None => Derivation::of_key(&text),
    };
    Ok(SubjectKey { secret: Secret::new(text.into_bytes()), derivation })
}

/// What holds, but departs from the specification or from good practice.
pub fn warnings(source: &Source, settings: &Settings, subject_keys: &SubjectKeys) -> Vec<Problem> {
    let mut warnings = Vec::new();
    let newest = subject_keys.values().next_back();
    if settings.subject == SubjectSource::Pivot
        && newest.is_some_and(|key| key.derivation < Derivation::LATEST)
    {
        let key = if settings.subject_key.is_some() { "subject_key" } else { "subject_keys" };
        let what = "has derivation 1, by which two people with equal birth data share one sub if their names differ in vowel \
            signs, tones or voicing marks alone";
        let mend = "write derivation = 2 if no user has a sub yet, or add a version that has it (docs/subject.md)";
        warnings.push(source.problem(key, what, mend));
    }
    if settings.sandbox {
        let what = "is on: whoever reaches this hub can sign in as anyone";
        warnings.push(source.problem("sandbox", what, "never use it in production"));
    }
    if settings.identity_source == IdentitySource::Provider
        && settings.platform == Platform::Standard
    {
        let what = "takes identities from identity providers, unconfirmed: this departs from the specification";
        warnings.push(source.problem(
            "identity_source",
            what,
            "set identity_source = \"register\" and a [register.…] table",
        ));
    }
    if settings.register.is_some() && settings.platform == Platform::High {
        let what =
            "is never asked on the high platform, where identities come from identity providers";
        warnings.push(source.problem("register", what, "remove the table"));
    }
    warnings
}

/// Public origin: https, or http on loopback; nothing after the port (decisions 2).
fn base_url(source: &Source, text: &str, problems: &mut Vec<Problem>) -> Option<Url> {
    let checked = address::without_query(text, Http::Loopback).and_then(|url| match url.path() {
        "/" => Ok(url),
        _ => {
            Err(("has a path", "end it after the host and port; the hub's paths begin at the root"))
        }
    });
    let mend_http = |(what, mend): address::Fault| match what {
        "is plain http" => (what, "use https:// (http is for localhost, 127.0.0.1 and [::1] only)"),
        _ => (what, mend),
    };
    checked
        .map_err(mend_http)
        .map_err(|(what, mend)| problems.push(source.problem("base_url", what, mend)))
        .ok()
}

fn names(source: &Source, settings: &Settings, problems: &mut Vec<Problem>) {
    let word = |text: &str| {
        (1..=32).contains(&text.len())
            && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-')
    };
    // A prefix of `__Host-` or `__Secure-` would promise what plain http can't keep (RFC 6265bis, 4.1.3).
    if !word(&settings.cookie_prefix) || settings.cookie_prefix.starts_with("__") {
        let mend = "use 1 to 32 letters, digits, _ or -, not beginning with __";
        problems.push(source.problem("cookie_prefix", "is no prefix for a cookie name", mend));
    }
    if !word(&settings.amr_marker) {
        problems.push(source.problem(
            "amr_marker",
            "is not one plain word",
            "use 1 to 32 letters, digits, _ or -",
        ));
    } else if amr::registered(&settings.amr_marker) {
        let what = "is the registered name of an authentication method, which it would counterfeit";
        problems.push(source.problem(
            "amr_marker",
            what,
            "choose a word that RFC 8176 does not use, as hub",
        ));
    }
    if settings.home_country.len() != 5
        || !settings.home_country.bytes().all(|c| c.is_ascii_digit())
    {
        problems.push(source.problem(
            "home_country",
            "is not a country's code",
            "write five digits, as 99100",
        ));
    }
}

fn private_hosts(source: &Source, hosts: &[String], problems: &mut Vec<Problem>) {
    for (index, host) in hosts.iter().enumerate() {
        let is_name =
            host.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b'_'));
        if host.is_empty() || !is_name {
            let what = "is not a host name";
            problems.push(source.problem(
                &format!("private.hosts[{index}]"),
                what,
                "write it without a scheme and a port, as hub-1.internal",
            ));
        }
    }
}

fn identity(source: &Source, settings: &Settings, problems: &mut Vec<Problem>) {
    let asks_register = settings.platform == Platform::Standard
        && settings.identity_source == IdentitySource::Register;
    if asks_register && settings.register.is_none() {
        let what = "is missing, and identities come from the register";
        let mend = "add [register.file] or [register.http], or set identity_source = \"provider\" (departs from the specification)";
        problems.push(source.problem("register", what, mend));
    }
    if asks_register && settings.subject == SubjectSource::Provider {
        let what = "takes no pivot identity, without which the register can't be asked";
        problems.push(source.problem(
            "subject",
            what,
            "set subject = \"pivot\", or identity_source = \"provider\"",
        ));
    }
}

fn lifetimes(source: &Source, settings: &Settings, problems: &mut Vec<Problem>) {
    let (life, platform) = (&settings.lifetimes, settings.platform);
    let whole_session = by_platform(platform, 28_800, 600);
    let bounds = [
        ("code_seconds", life.code(), 600), // RFC 6749, 4.1.2: at most ten minutes
        ("access_token_seconds", life.access_token(), 3600),
        ("id_token_seconds", life.id_token(), 3600),
        ("openid_id_token_seconds", life.openid_id_token(), 3600),
        ("login_seconds", life.login(platform), 3600),
        ("session_idle_seconds", life.session_idle(platform), whole_session),
        ("session_seconds", life.session(platform), whole_session), // decisions 5: 8 h, on high 10 min
    ];
    for (key, value, longest) in bounds {
        within(source, &format!("lifetimes.{key}"), value.as_secs(), (1, longest), problems);
    }
    within(
        source,
        "lifetimes.signing_key_lead_seconds",
        life.signing_key_lead_seconds,
        (0, 7 * 86_400),
        problems,
    );
    if life.session_idle(platform) > life.session(platform) {
        let mend = "make it at most lifetimes.session_seconds";
        problems.push(source.problem(
            "lifetimes.session_idle_seconds",
            "is longer than the session itself",
            mend,
        ));
    }
}

fn limits(source: &Source, limits: &Limits, problems: &mut Vec<Problem>) {
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    let bounds = [
        ("logins", count(limits.logins), (1, 10_000_000)),
        ("sessions", count(limits.sessions), (1, 10_000_000)),
        ("grants", count(limits.grants), (1, 20_000_000)),
        ("steps_in_flight", count(limits.steps_in_flight), (1, 65_536)),
        ("calls_per_connector", count(limits.calls_per_connector), (1, 65_536)),
        (
            "failed_authentications_per_minute",
            limits.failed_authentications_per_minute.into(),
            (1, 1_000_000),
        ),
        ("inactive_answers_per_minute", limits.inactive_answers_per_minute.into(), (1, 1_000_000)),
        ("reload_seconds", limits.reload_seconds, (1, 3600)),
        ("request_seconds", limits.request_seconds, (1, 120)),
        ("not_ready_seconds", limits.not_ready_seconds, (0, 300)),
        ("shutdown_seconds", limits.shutdown_seconds, (1, 300)),
        ("workers", count(limits.workers), (0, 1024)),
        ("remembered_logins", count(limits.remembered_logins), (0, 1_000_000)),
    ];
    for (key, value, range) in bounds {
        within(source, &format!("limits.{key}"), value, range, problems);
    }
    if let Some(bytes) = limits.login_bytes {
        within(source, "limits.login_bytes", bytes, (64 << 10, 1 << 40), problems);
    }
}

fn choice(source: &Source, choice: &Choice, problems: &mut Vec<Problem>) {
    for (index, category) in choice.categories.iter().enumerate() {
        let key = format!("choice.categories[{index}]");
        if !connectors::is_category(&category.id) {
            let mend = "use 1 to 32 characters of a-z, 0-9 and -";
            problems.push(source.problem(&format!("{key}.id"), "is not a category's id", mend));
        }
        if choice.categories.iter().take(index).any(|other| other.id == category.id) {
            problems.push(source.problem(
                &format!("{key}.id"),
                "is another category's id too",
                "keep one of the two",
            ));
        }
        text::check(source, &format!("{key}.name"), &category.name, problems);
    }
    within(source, "choice.remember_days", choice.remember_days, (1, REMEMBER_DAYS), problems);
}

pub(super) fn within(
    source: &Source,
    key: &str,
    value: u64,
    (least, most): (u64, u64),
    problems: &mut Vec<Problem>,
) {
    if !(least..=most).contains(&value) {
        problems.push(source.problem(
            key,
            "is out of range",
            format!("write a number from {least} to {most}"),
        ));
    }
}

fn join_paths(settings: &mut Settings, folder: &Path) {
    let ours = [
        &mut settings.keys,
        &mut settings.connectors,
        &mut settings.state,
        &mut settings.audit.path,
    ];
    let paths = ours.into_iter().map(Some).chain([settings.theme.as_mut()]);
    for path in paths.flatten() {
        *path = folder.join(&*path);
    }
    if let Some(RegisterConfig::File(register)) = &mut settings.register {
        register.path = folder.join(&register.path);
    }
    if let Some(StoreConfig::Memory(memory)) = &mut settings.store {
        memory.snapshot = folder.join(&memory.snapshot);
    }
}
