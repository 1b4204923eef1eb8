//! Checks the files of service providers, each by itself, and that each can reach a connector.
//! Checks that also concern data providers are in `consistency`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::client_auth::NoValidSecret;
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
use passerelle_federation::client_keys::KeySource;
use passerelle_federation::connector_rules::{AllowedConnectors, ConnectorOrder};
use passerelle_federation::localized_text::{self, MAX_NAME_CHARS};
use passerelle_federation::logo::Logo;
use passerelle_federation::{ServiceProvider, TokenBinding};
use passerelle_protocol::acr::{Level, Platform};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::ids::ConnectorId;
use passerelle_protocol::redirect_uri::ResponseParams;
use passerelle_protocol::registration::{
    ClientType, ConsentRequirement, ProtocolRules, Registration,
};
use passerelle_settings::address::PlainHttp;
use passerelle_settings::toml_folder::parse_folder;
use passerelle_settings::{Diagnostic, FileCheck, SecretContext, SecretOwnerKind, SourceFile};

/// Folder of the files, in the configuration folder.
pub const FOLDER: &str = "service-providers";

/// A service provider with a valid file.
#[derive(Clone, Debug)]
pub struct CheckedServiceProvider {
    /// The file.
    pub file: ServiceProviderFile,
    /// The form that the rest of the hub uses.
    pub service_provider: Arc<ServiceProvider>,
    /// It is not an error, so that an expired secret does not prevent a restart of the hub.
    pub no_valid_secret: Option<NoValidSecret>,
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
    /// Order of the choice page.
    pub order: &'a Arc<ConnectorOrder>,
}

/// Checks a file by itself. The result is valid only if `problems` did not grow.
pub fn check_file(
    check: &mut FileCheck<'_>,
    file: ServiceProviderFile,
    hub: HubSettings<'_>,
    context: &SecretContext<'_>,
) -> CheckedServiceProvider {
    let HubSettings { platform, declarations, sandbox, order, .. } = hub;
    let context = &context.for_file(SecretOwnerKind::ServiceProvider, check.source.path());
    let file = security_profile::apply_profile(check, file, declarations);
    check_own_rules(check, &file);
    if let Some(declarations) = declarations {
        declarations.check_mail_rule(check, "mail_code", file.mail_code);
    }
    check_rules(check, &file, platform, sandbox);
    public_clients::check_public_client(check, &file, platform);
    let secrets = client_auth::read_secrets(check, &file.secrets, context);
    let keys = client_keys::read_key_source(check, &KeyDeclaration::from(&file), context);
    client_auth::check_auth_method(check, &file, &keys);
    client_certificates::check_client_certificates(check, &file, declarations);
    let message = "contains no currently valid secret: every token request of this service provider is rejected";
    let no_valid_secret = NoValidSecret::new(check, &secrets, message);
    let encryption = platform
        .map(|platform| client_keys::response_encryption(check, &file, &keys, platform))
        .unwrap_or_default();
    let service_provider = ServiceProvider {
        registration: registration(check, &file, &keys, hub),
        name: file.name.clone(),
        sector: file.sector.clone().unwrap_or_else(|| file.client_id.to_string()),
        subject_key_version: file.subject_key_version.unwrap_or(hub.newest_subject_key),
        authentication: client_auth::authentication(&file, secrets),
        id_token_signed_response_alg: id_token_alg(&file),
        userinfo_signed_response_alg: file.userinfo_signed_response_alg.or(match file.rules {
            ProtocolRules::Federation => Some(SigningAlg::ES256),
            // Only signed responses are encrypted: encryption alone proves no sender.
            ProtocolRules::Openid => encryption.userinfo.map(|_| id_token_alg(&file)),
        }),
        allowed_connectors: file.connectors.allowed_connectors(),
        order: ConnectorOrder::with_preference(&file.connectors.order, order),
        logo: read_logo(check, &file),
        status_page: file.status_page,
        class: file.class.as_deref().map(Arc::from),
        encryption,
        logout_endpoint: backchannel_logout::read_logout_endpoint(check, &file),
        logins_per_minute: file.logins_per_minute.and_then(NonZeroU32::new),
        id_token_claims: has_id_token_claims(&file, declarations),
        access_token_lifetime: file.access_token_seconds.map(Duration::from_secs),
        cors_origins: file.cors_origins.clone(),
        refresh_tokens: file.refresh_tokens.map(refresh_tokens::refresh_token_rules),
        mail_code: file.mail_code,
        token_binding: TokenBinding {
            dpop_required: file.dpop_bound_access_tokens,
            dpop_nonce_required: file.dpop_nonce_required,
            certificate_required: file.tls_client_certificate_bound_access_tokens,
        },
        keys,
    };
    CheckedServiceProvider { file, service_provider: Arc::new(service_provider), no_valid_secret }
}

fn registration(
    check: &mut FileCheck<'_>,
    file: &ServiceProviderFile,
    keys: &KeySource,
    hub: HubSettings<'_>,
) -> Registration {
    let policy = hub.declarations.map(|declarations| declarations.request_policy);
    Registration {
        client_id: file.client_id.clone(),
        active: file.active,
        client_type: file.client_type(),
        redirect_uris: file.redirect_uris.clone(),
        post_logout_redirect_uris: file.post_logout_redirect_uris.clone(),
        granted_scopes: refresh_tokens::granted_scopes(file),
        require_pkce: file.require_pkce,
        home_page: file.home_page.clone(),
        consent: file.consent(),
        rules: file.rules,
        hints: file.connectors.idp_hint.clone(),
        acr: level_names::acr_registration(check, file, hub.platform, hub.declarations),
        require_auth_time: file.require_auth_time || file.rules == ProtocolRules::Federation,
        protection: request_protection::request_protection(check, file, keys, policy),
    }
}

fn id_token_alg(file: &ServiceProviderFile) -> SigningAlg {
    file.id_token_signed_response_alg.unwrap_or(match file.rules {
        ProtocolRules::Federation => SigningAlg::ES256,
        ProtocolRules::Openid => SigningAlg::RS256, // OpenID Connect Dynamic Client Registration 1.0 §2
    })
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
pub fn check_scopes(check: &mut FileCheck<'_>, file: &ServiceProviderFile, tables: &ScopeTables) {
    consistency::check_scopes_are_known(check, &file.scopes, tables.named(file.rules));
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

fn check_own_rules(check: &mut FileCheck<'_>, file: &ServiceProviderFile) {
    consistency::check_client_id(check, &file.client_id);
    localized_text::check_texts(check, "name", &file.name, MAX_NAME_CHARS);
    check_addresses(check, file);
    file.connectors.check(check);
    if !file.scopes.iter().any(|scope| scope.as_str() == "openid") {
        check.report("scopes", "lacks openid, which every request needs", "add \"openid\"");
    }
    if file.class.as_deref().is_some_and(|class| !consistency::is_category_id(class)) {
        check.report(
            "class",
            "is not a valid class name",
            "use 1 to 32 characters of a-z, 0-9 and -",
        );
    }
    consistency::check_sector(check, file.sector.as_deref());
    refresh_tokens::check_refresh_tokens(check, file);
}

fn read_logo(check: &mut FileCheck<'_>, file: &ServiceProviderFile) -> Option<Logo> {
    let folder = check.source.path().parent().unwrap_or(Path::new("."));
    check.accept("logo", Logo::read_entry_logo(folder, file.logo.as_ref()?))
}

/// Checks the settings that depend on `rules`.
fn check_rules(
    check: &mut FileCheck<'_>,
    file: &ServiceProviderFile,
    platform: Option<Platform>,
    sandbox: SandboxMode,
) {
    if file.rules == ProtocolRules::Openid && platform == Some(Platform::High) {
        let message = "is \"openid\", which the high platform doesn't support";
        let fix = "remove it and follow the specification, or register with a hub on the standard platform";
        check.report("rules", message, fix);
    }
    // The persons of a sandbox are made up.
    let is_real = sandbox == SandboxMode::Off;
    if file.consent() == ConsentRequirement::None
        && file.rules == ProtocolRules::Federation
        && is_real
    {
        let message = "is \"none\", but the specification requires that users are informed about the data sent";
        let fix = "write consent = \"information\"; or rules = \"openid\", if the service uses plain OpenID Connect";
        check.report("consent", message, fix);
    }
    if file.id_token_claims == Some(true) && file.rules == ProtocolRules::Federation {
        let message = "adds identity claims to the ID token, but the specification returns them from userinfo only";
        let fix =
            "remove it; or write rules = \"openid\", if the service uses plain OpenID Connect";
        check.report("id_token_claims", message, fix);
    }
}

/// Requires absolute https URLs (http for loopback, or with `insecure_http`) without fragment and
/// user info; a public client may also have private-use schemes.
fn check_addresses(check: &mut FileCheck<'_>, file: &ServiceProviderFile) {
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
                check.report(
                    &key,
                    "contains a *, but patterns are not supported",
                    "list each address",
                );
            }
            Ok(()) => {
                if let Some(added) = added.filter(|added| added.are_in_query(&uri)) {
                    let message = "has a response parameter in its query, so a response would contain it twice (RFC 6749 §3.1)";
                    let fix = format!("remove {} from the query", added.names().join(", "));
                    check.report(&key, message, fix);
                }
            }
            Err(error) => check.add(error.at(key)),
        }
    }
    if file.redirect_uris.is_empty() {
        check.report(
            "redirect_uris",
            "is empty, so no user can ever log in",
            "register at least one address",
        );
    }
}
