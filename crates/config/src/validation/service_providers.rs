//! Checks the files of service providers, each by itself, and that each can reach a connector.
//! Checks that also concern data providers are in `consistency`.

use std::collections::BTreeMap;
use std::path::Path;

use super::client_keys::{self, KeyDeclaration};
use super::consistency::{self, Conflict, ConflictKind};
use super::declarations::Declarations;
use super::scopes::ScopeTables;
use super::{
    backchannel_logout, client_auth, client_certificates, level_names, public_clients,
    refresh_tokens, request_protection, security_profile,
};
use crate::model::ServiceProviderFile;
use passerelle_connector::SandboxMode;
use passerelle_federation::client_keys::{KeySource, ResponseEncryptionAlgs};
use passerelle_federation::connector_rules::AllowedConnectors;
use passerelle_federation::dated_secret::DatedSecret;
use passerelle_federation::logo::Logo;
use passerelle_federation::{LogoutEndpoint, localized_text};
use passerelle_grants::lifetimes::MAX_ACCESS_TOKEN_LIFETIME;
use passerelle_protocol::acr::{AcrRegistration, Level, Platform};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ConnectorId;
use passerelle_protocol::redirect_uri::ResponseParams;
use passerelle_protocol::registration::{
    ClientType, ConsentRequirement, ProtocolRules, RequestProtection,
};
use passerelle_settings::address::PlainHttp;
use passerelle_settings::folder::parse_folder;
use passerelle_settings::value_checks::{check_range, check_rate, is_category_id};
use passerelle_settings::{Diagnostic, SecretContext, SecretOwnerKind, SourceFile};

/// Folder of the files, in the configuration folder.
pub const FOLDER: &str = "service-providers";

/// A service provider with a valid file.
#[derive(Clone, Debug)]
pub struct CheckedServiceProvider {
    /// The file.
    pub file: ServiceProviderFile,
    /// Expired, current and future secrets; at most two are valid at any time.
    pub secrets: Vec<DatedSecret>,
    /// Warning for the time in which none of them is valid.
    no_valid_secret: Option<Diagnostic>,
    /// Sector that its `sub` are derived for: the declared one, else the client_id.
    pub sector: String,
    /// Source of its public keys.
    pub keys: KeySource,
    /// Version of the subject key for its `sub`.
    pub subject_key_version: u32,
    /// On the high platform: how its ID tokens and userinfo responses are encrypted.
    pub encryption: Option<ResponseEncryptionAlgs>,
    /// Where it receives logout tokens.
    pub logout_endpoint: Option<LogoutEndpoint>,
    /// Its logo.
    pub logo: Option<Logo>,
    /// What its file says of `acr`.
    pub acr: AcrRegistration,
    /// How its requests and responses are protected.
    pub protection: RequestProtection,
    /// Whether its ID tokens contain the claims of the granted scopes.
    pub id_token_claims: bool,
}

impl CheckedServiceProvider {
    /// Returns a warning if no secret is valid at `now`. It is not an error, so that an expired
    /// secret does not prevent a restart of the hub.
    #[must_use]
    pub fn no_valid_secret_warning(&self, now: Timestamp) -> Option<&Diagnostic> {
        self.no_valid_secret.as_ref().filter(|_| client_auth::none_valid(&self.secrets, now))
    }
}

/// Reads every file of the folder and reports those that can't be parsed.
pub fn read_drafts(
    folder: &Path,
    problems: &mut Vec<Diagnostic>,
) -> Vec<(SourceFile, ServiceProviderFile)> {
    let fix = "create it, with one .toml file for each service provider";
    parse_folder(folder, fix, problems)
}

/// The settings that a service provider's file is checked against.
#[derive(Clone, Copy, Debug)]
pub struct HubSettings<'a> {
    /// Newest version of the subject keys.
    pub newest_subject_key: u32,
    /// `None` if the settings are unreadable: rules that depend on it are not checked.
    pub platform: Option<Platform>,
    /// `None` if the settings are unreadable.
    pub declarations: Option<&'a Declarations>,
    /// On if the settings are unreadable.
    pub sandbox: SandboxMode,
}

/// Checks a file by itself. The result is valid only if `problems` did not grow.
pub fn check_file(
    source: &SourceFile,
    file: ServiceProviderFile,
    HubSettings { newest_subject_key, platform, declarations, sandbox }: HubSettings<'_>,
    context: &SecretContext<'_>,
    problems: &mut Vec<Diagnostic>,
) -> CheckedServiceProvider {
    let context = &context.for_file(SecretOwnerKind::ServiceProvider, source.path());
    let file = security_profile::apply_profile(source, file, declarations, problems);
    check_own_rules(source, &file, problems);
    check_rules(source, &file, platform, sandbox, problems);
    public_clients::check_public_client(source, &file, platform, problems);
    let secrets = client_auth::read_secrets(source, &file.secrets, context, problems);
    let sector = file.sector.clone().unwrap_or_else(|| file.client_id.to_string());
    let keys =
        client_keys::read_key_source(source, &KeyDeclaration::from(&file), context, problems);
    client_auth::check_auth_method(source, &file, &keys, problems);
    client_certificates::check_client_certificates(source, &file, declarations, problems);
    let encryption = platform.and_then(|platform| {
        client_keys::response_encryption(source, &file, &keys, platform, problems)
    });
    let subject_key_version = file.subject_key_version.unwrap_or(newest_subject_key);
    let no_valid_secret = (!secrets.is_empty()).then(|| {
        let message = "contains no currently valid secret: every token request of this service provider is rejected";
        source.diagnostic("secrets", message, "add a secret, or correct the dates")
    });
    let logout_endpoint = backchannel_logout::read_logout_endpoint(source, &file, problems);
    let logo = read_logo(source, &file, problems);
    let policy = declarations.map(|declarations| declarations.request_policy);
    let protection = request_protection::request_protection(source, &file, &keys, policy, problems);
    let acr = level_names::acr_registration(source, &file, platform, declarations, problems);
    let id_token_claims = has_id_token_claims(&file, declarations);
    CheckedServiceProvider {
        file,
        secrets,
        no_valid_secret,
        sector,
        keys,
        subject_key_version,
        encryption,
        logout_endpoint,
        logo,
        acr,
        protection,
        id_token_claims,
    }
}

/// Returns whether ID tokens contain the claims of the granted scopes. Clients of plain OpenID
/// Connect often read nothing else; the specification and the security profiles have userinfo.
fn has_id_token_claims(file: &ServiceProviderFile, declarations: Option<&Declarations>) -> bool {
    let omitted = declarations.is_some_and(|declarations| declarations.omits_id_token_claims);
    file.rules == ProtocolRules::Openid
        && file.profile.is_none()
        && file.id_token_claims.unwrap_or(!omitted)
}

/// Reports granted scopes that are missing in the scope table of the file's rules.
pub fn check_scopes(
    source: &SourceFile,
    file: &ServiceProviderFile,
    tables: &ScopeTables,
    problems: &mut Vec<Diagnostic>,
) {
    let granted = ("scopes", file.scopes.as_slice());
    consistency::check_scopes_are_known(source, granted, tables.named(file.rules), problems);
}

/// The existing connectors, for reachability checks.
pub struct ExistingConnectors<'a> {
    /// Highest level and file of each connector.
    pub connectors: BTreeMap<&'a ConnectorId, (Level, &'a Path)>,
}

/// Returns a conflict for each service provider whose users could never log in. Every connector
/// file must have been read.
pub fn unreachable_conflicts<'a>(
    services: impl IntoIterator<Item = (&'a SourceFile, &'a ServiceProviderFile)>,
    ExistingConnectors { connectors }: &ExistingConnectors<'_>,
    platform: Platform,
) -> Vec<Conflict> {
    let mut found = Vec::new();
    // The hub may start without connectors, since files can be added later.
    if connectors.is_empty() {
        return found;
    }
    // An empty allow list is reported elsewhere.
    let allows_some = |file: &ServiceProviderFile| {
        file.connectors.allow.as_ref().is_none_or(|allowed| !allowed.is_empty())
    };
    for (source, file) in services.into_iter().filter(|(_, file)| allows_some(file)) {
        let with_connectors = |problem: Diagnostic| {
            let files = connectors.values().map(|(_, file)| *file).chain([source.path()]);
            Conflict::new(problem, files).with_kind(ConflictKind::NoConnector)
        };
        // Disabled connectors count, since they can be enabled; connectors that the rules exclude
        // don't.
        let admitted = file.connectors.allowed_connectors();
        let mut left = connectors.iter().filter(|(id, _)| admitted.allows(id)).peekable();
        let lowest = platform.levels().first();
        if left.peek().is_none() {
            let message = "excludes every existing connector, so no user can ever log in";
            let fix = match admitted {
                AllowedConnectors::Only(_) => {
                    "allow at least one connector that has a file in the connectors folder"
                }
                AllowedConnectors::AllBut(_) | AllowedConnectors::All => "deny fewer connectors",
            };
            found.push(with_connectors(source.diagnostic("connectors", message, fix)));
        } else if !left.any(|(_, (highest, _))| lowest.is_some_and(|lowest| highest >= lowest)) {
            let message = "excludes every connector that reaches the platform's lowest level";
            let fix = "allow or add a connector with a higher levels.highest";
            found.push(with_connectors(source.diagnostic("connectors", message, fix)));
        }
    }
    found
}

/// Returns a warning for each connector that a file names and that doesn't exist.
pub fn unknown_connectors(
    drafts: &[(SourceFile, ServiceProviderFile)],
    is_known: impl Fn(&ConnectorId) -> bool,
) -> Vec<Diagnostic> {
    drafts
        .iter()
        .flat_map(|(source, file)| file.connectors.unknown_connectors(source, &is_known))
        .collect()
}

fn check_own_rules(
    source: &SourceFile,
    file: &ServiceProviderFile,
    problems: &mut Vec<Diagnostic>,
) {
    consistency::check_client_id(source, &file.client_id, problems);
    localized_text::check_texts(source, "name", &file.name, problems);
    check_addresses(source, file, problems);
    file.connectors.check(source, problems);
    if !file.scopes.iter().any(|scope| scope.as_str() == "openid") {
        problems.push(source.diagnostic(
            "scopes",
            "lacks openid, which every request needs",
            "add \"openid\"",
        ));
    }
    if file.class.as_deref().is_some_and(|class| !is_category_id(class)) {
        problems.push(source.diagnostic(
            "class",
            "is not a valid class name",
            "use 1 to 32 characters of a-z, 0-9 and -",
        ));
    }
    consistency::check_sector(source, file.sector.as_deref(), problems);
    check_rate(source, "logins_per_minute", file.logins_per_minute, problems);
    if let Some(seconds) = file.access_token_seconds {
        let bounds = (1, MAX_ACCESS_TOKEN_LIFETIME.as_secs());
        check_range(source, "access_token_seconds", seconds, bounds, problems);
    }
    refresh_tokens::check_refresh_tokens(source, file, problems);
}

fn read_logo(
    source: &SourceFile,
    file: &ServiceProviderFile,
    problems: &mut Vec<Diagnostic>,
) -> Option<Logo> {
    let folder = source.path().parent().unwrap_or(Path::new("."));
    let read = file.logo.as_ref().map(|path| Logo::read_entry_logo(folder, path)).transpose();
    read.unwrap_or_else(|error| {
        problems.push(source.locate(error.at("logo")));
        None
    })
}

/// Checks the settings that depend on `rules`.
fn check_rules(
    source: &SourceFile,
    file: &ServiceProviderFile,
    platform: Option<Platform>,
    sandbox: SandboxMode,
    problems: &mut Vec<Diagnostic>,
) {
    if file.rules == ProtocolRules::Openid && platform == Some(Platform::High) {
        let message = "is \"openid\", which the high platform doesn't support";
        let fix = "remove it and follow the specification, or register with a hub on the standard platform";
        problems.push(source.diagnostic("rules", message, fix));
    }
    // The persons of a sandbox are made up.
    let is_real = sandbox == SandboxMode::Off;
    if file.consent() == ConsentRequirement::None
        && file.rules == ProtocolRules::Federation
        && is_real
    {
        let message = "is \"none\", but the specification requires that users are informed about the data sent";
        let fix = "write consent = \"information\"; or rules = \"openid\", if the service uses plain OpenID Connect";
        problems.push(source.diagnostic("consent", message, fix));
    }
    if file.id_token_claims == Some(true) && file.rules == ProtocolRules::Federation {
        let message = "adds identity claims to the ID token, but the specification returns them from userinfo only";
        let fix =
            "remove it; or write rules = \"openid\", if the service uses plain OpenID Connect";
        problems.push(source.diagnostic("id_token_claims", message, fix));
    }
}

/// Requires absolute https URLs (http for loopback, or with `insecure_http`) without fragment and
/// user info; a public client may also have private-use schemes.
fn check_addresses(
    source: &SourceFile,
    file: &ServiceProviderFile,
    problems: &mut Vec<Diagnostic>,
) {
    let http = if file.insecure_http { PlainHttp::Anywhere } else { PlainHttp::Loopback };
    let list = |key: &'static str, uris: &'_ [String], added| {
        let keyed =
            |(index, uri): (usize, &String)| (format!("{key}[{index}]"), uri.clone(), added);
        uris.iter().enumerate().map(keyed).collect::<Vec<_>>()
    };
    let (login, logout) = (ResponseParams::Authorization, ResponseParams::Logout);
    let mut all = vec![("home_page".to_owned(), file.home_page.clone(), None)];
    all.extend(list("redirect_uris", &file.redirect_uris, Some(login)));
    all.extend(list("post_logout_redirect_uris", &file.post_logout_redirect_uris, Some(logout)));
    for (key, uri, added) in all {
        let client_type =
            if added.is_none() { ClientType::Confidential } else { file.client_type() };
        match public_clients::check_redirect_uri(&uri, http, client_type) {
            // Redirect URIs are compared as strings (RFC 9700 §2.1), so patterns would never match.
            Ok(()) if uri.contains('*') => {
                problems.push(source.diagnostic(
                    &key,
                    "contains a *, but patterns are not supported",
                    "list each address",
                ));
            }
            Ok(()) => {
                if let Some(added) = added.filter(|added| added.are_in_query(&uri)) {
                    let message = "has a response parameter in its query, so a response would contain it twice (RFC 6749 §3.1)";
                    let fix = format!("remove {} from the query", added.names().join(", "));
                    problems.push(source.diagnostic(&key, message, fix));
                }
            }
            Err(error) => problems.push(source.locate(error.at(key))),
        }
    }
    if file.redirect_uris.is_empty() {
        problems.push(source.diagnostic(
            "redirect_uris",
            "is empty, so no user can ever log in",
            "register at least one address",
        ));
    }
}
