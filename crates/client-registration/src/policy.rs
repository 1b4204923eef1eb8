//! Decides what a registration may request (scopes, hosts and names), and whether it waits for an
//! operator.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use url::Url;

use super::ClientRegistrations;
use super::client_metadata::{ClientMetadata, MetadataError};
use super::deception::{
    LookAlikeKeys, check_readable, host_keys, is_deceptive_char, mentioned_hosts, name_keys,
    share_key,
};
use super::mirror::OtherClient;
use super::records::{ClientEntry, RegistrationRecord, RegistrationStatus, RegistrationTerms};
use super::settings::OpenRegistration;
use passerelle_federation::client_keys::KeySource;
use passerelle_federation::{Federation, ServiceProvider};
use passerelle_protocol::acr::Platform;
use passerelle_protocol::ids::{ClientId, Scope};
use passerelle_settings::address::is_loopback;

impl ClientRegistrations {
    /// Returns what a client without an initial access token may ask, by the configuration of today.
    pub(super) fn open_terms(&self) -> RegistrationTerms {
        let approved = self.config.open == OpenRegistration::Immediate;
        RegistrationTerms { approved, scopes: self.config.scopes.clone(), hosts: Vec::new() }
    }

    /// Returns the status that is in force. What an operator approved stays approved; what only the
    /// policy approved is approved while the policy is the same, so that no registration of a
    /// sandbox outlives it.
    pub(super) fn current_status(&self, entry: &ClientEntry) -> RegistrationStatus {
        let is_approved_by_policy = self.services.platform == Platform::Standard
            && (entry.token.is_some() || self.open_terms().approved);
        match entry.status {
            RegistrationStatus::Approved if entry.approved_by_operator || is_approved_by_policy => {
                RegistrationStatus::Approved
            }
            RegistrationStatus::Approved | RegistrationStatus::Pending => {
                RegistrationStatus::Pending
            }
        }
    }

    /// Limits a registration without an initial access token to the configuration of today.
    pub(super) fn limit_to_current_terms(
        &self,
        token: Option<&str>,
        mut record: RegistrationRecord,
    ) -> RegistrationRecord {
        if token.is_some() {
            return record;
        }
        record.terms = self.open_terms();
        let registered = record.metadata.text("scope").unwrap_or_default().split(' ');
        let is_allowed = |scope: &&str| record.terms.scopes.iter().any(|s| s.as_str() == *scope);
        let scope = registered.filter(is_allowed).collect::<Vec<_>>().join(" ");
        record.metadata.set("scope", Value::String(scope));
        record
    }

    /// Returns the status of a registration that no operator has seen. The hub calls no address
    /// that an unauthenticated client names (server-side request forgery), and the high platform
    /// has no client without an approval.
    pub(super) fn initial_status(
        &self,
        terms: &RegistrationTerms,
        metadata: &ClientMetadata,
    ) -> RegistrationStatus {
        let is_standard = self.services.platform == Platform::Standard;
        if terms.approved && is_standard && !metadata.has_called_addresses() {
            RegistrationStatus::Approved
        } else {
            RegistrationStatus::Pending
        }
    }

    /// Completes the metadata with what is registered for absent members, and checks that they ask
    /// for nothing beyond the terms. `registered` are the approved clients of other developers.
    ///
    /// # Errors
    /// Returns the first violation.
    pub(super) fn apply_terms(
        &self,
        record: &mut RegistrationRecord,
        registered: &[OtherClient],
    ) -> Result<(), MetadataError> {
        let federation = self.services.federation.load();
        let RegistrationRecord { metadata, terms, client_id, .. } = record;
        check_characters(metadata)?;
        self.grant_scopes(metadata, terms, &federation);
        self.keep_known_levels(metadata);
        set_home_page(metadata);
        set_name(metadata);
        self.check_against_others(metadata, terms, client_id, registered)
    }

    /// Checks that a registration has neither the names nor the hosts of others. `registered` are
    /// the approved clients of other developers.
    ///
    /// # Errors
    /// Returns the first violation.
    pub(super) fn check_against_others(
        &self,
        metadata: &ClientMetadata,
        terms: &RegistrationTerms,
        client_id: &ClientId,
        registered: &[OtherClient],
    ) -> Result<(), MetadataError> {
        let federation = self.services.federation.load();
        let is_other =
            |service: &&Arc<ServiceProvider>| service.registration.client_id != *client_id;
        let own_addresses = address_owners(metadata);
        let registered = registered
            .iter()
            .filter(|other| !other.may_share || !has_addresses_of(&own_addresses, &other.service));
        let others = federation
            .service_providers()
            .filter(is_other)
            .chain(registered.map(|other| &other.service));
        let others: Vec<&ServiceProvider> = others.map(|service| &**service).collect();
        let keys = |names: &BTreeMap<String, String>| {
            names.values().map(|name| name_keys(name)).collect::<Vec<_>>()
        };
        let connectors = federation.connectors().values();
        let taken_names = [
            ("another service", others.iter().flat_map(|other| keys(&other.name)).collect()),
            ("an identity provider", connectors.flat_map(|other| keys(&other.name)).collect()),
            ("this hub", keys(&self.services.hub_name)),
        ];
        check_names(metadata, &taken_names)?;
        let provider_addresses = self.services.federation.identity_provider_addresses();
        let further = federation
            .data_providers()
            .filter_map(|provider| jwks_uri(&provider.keys))
            .chain(provider_addresses.iter().map(String::as_str))
            .chain([self.services.issuer.as_str()]);
        let taken: BTreeSet<String> = others
            .iter()
            .flat_map(|service| known_owners(service))
            .chain(further.filter_map(uri_owner))
            .collect();
        check_hosts(metadata, terms, &taken)
    }

    /// Registers those of the requested scopes that the terms allow, and `openid`, which every
    /// request needs; the client reads in the response what it got (RFC 7591 §3.2.1).
    fn grant_scopes(
        &self,
        metadata: &mut ClientMetadata,
        terms: &RegistrationTerms,
        federation: &Federation,
    ) {
        let table = federation.scope_table(self.rules);
        let requested: Option<Vec<&str>> =
            metadata.text("scope").map(|scope| scope.split_ascii_whitespace().collect());
        let is_granted = |scope: &&Scope| {
            let is_requested =
                requested.as_ref().is_none_or(|requested| requested.contains(&scope.as_str()));
            scope.as_str() == "openid" || (is_requested && table.contains(scope))
        };
        let granted: Vec<&str> =
            terms.scopes.iter().filter(is_granted).map(Scope::as_str).collect();
        let granted = granted.join(" ");
        metadata.set("scope", Value::String(granted));
    }

    /// Leaves out default levels that the hub doesn't have: `acr_values` are voluntary (OpenID
    /// Connect Core 1.0 §3.1.2.1).
    fn keep_known_levels(&self, metadata: &mut ClientMetadata) {
        let levels = self.services.platform.levels();
        let listed = metadata.texts("default_acr_values");
        let is_known = |value: &&str| levels.iter().any(|level| level.as_str() == *value);
        let known: Vec<String> = listed.into_iter().filter(is_known).map(str::to_owned).collect();
        if metadata.members().contains_key("default_acr_values") {
            metadata.set("default_acr_values", Value::from(known));
        }
    }
}

/// Members with addresses of the service provider.
pub(super) const ADDRESS_MEMBERS: [&str; 5] = [
    "redirect_uris",
    "post_logout_redirect_uris",
    "client_uri",
    "backchannel_logout_uri",
    "jwks_uri",
];

/// Returns the host of an address, or its private-use scheme; `None` for loopback, which everyone
/// has. `example.org.` is the host `example.org` (RFC 1034 §3.1).
fn uri_owner(uri: &str) -> Option<String> {
    let url = Url::parse(uri).ok()?;
    if is_loopback(&url) {
        return None;
    }
    let owner = url.host_str().unwrap_or_else(|| url.scheme());
    Some(owner.trim_end_matches('.').to_ascii_lowercase())
}

/// Returns the hosts and private-use schemes of the addresses that a client names.
fn address_owners(metadata: &ClientMetadata) -> BTreeSet<String> {
    let uris = ADDRESS_MEMBERS
        .iter()
        .flat_map(|member| metadata.texts(member).into_iter().chain(metadata.text(member)));
    uris.filter_map(uri_owner).collect()
}

/// Returns the hosts and private-use schemes of a service provider's addresses.
fn service_owners(service: &ServiceProvider) -> impl Iterator<Item = String> {
    let registration = &service.registration;
    let uris = registration.redirect_uris.iter().chain([&registration.home_page]);
    uris.filter_map(|uri| uri_owner(uri))
}

fn jwks_uri(keys: &KeySource) -> Option<&str> {
    match keys {
        KeySource::Uri(jwks) => Some(jwks.uri.as_str()),
        KeySource::Inline(_) | KeySource::None => None,
    }
}

/// Returns the hosts and private-use schemes of all addresses that the hub knows of a service
/// provider.
fn known_owners(service: &ServiceProvider) -> impl Iterator<Item = String> {
    let logout_uri = service.logout_endpoint.as_ref().map(|endpoint| endpoint.uri.as_str());
    let after_logout = service.registration.post_logout_redirect_uris.iter().map(String::as_str);
    let further = after_logout.chain(jwks_uri(&service.keys)).chain(logout_uri);
    service_owners(service).chain(further.filter_map(uri_owner))
}

/// Returns true if all these hosts are the service provider's: a client without another host
/// receives nothing that the service provider does not.
fn has_addresses_of(owners: &BTreeSet<String>, service: &ServiceProvider) -> bool {
    let theirs: BTreeSet<String> = service_owners(service).collect();
    !owners.is_empty() && owners.is_subset(&theirs)
}

/// Registers the origin of a redirect URI as the home page of a client that names none.
fn set_home_page(metadata: &mut ClientMetadata) {
    if metadata.text("client_uri").is_some() {
        return;
    }
    let urls = metadata.texts("redirect_uris").into_iter().filter_map(|uri| Url::parse(uri).ok());
    let is_web = |url: &Url| url.has_host() && matches!(url.scheme(), "http" | "https");
    let page = urls.filter(is_web).map(|url| url.origin().ascii_serialization()).next();
    if let Some(origin) = page {
        metadata.set("client_uri", Value::String(format!("{origin}/")));
    }
}

/// Registers the host of an address as the name of a client that sends none: of a redirect URI, which
/// receives the data of users, rather than of the home page.
fn set_name(metadata: &mut ClientMetadata) {
    if !metadata.names().is_empty() {
        return;
    }
    let uris = metadata.texts("redirect_uris").into_iter().chain(metadata.text("client_uri"));
    let host = uris
        .filter_map(|uri| Url::parse(uri).ok())
        .find_map(|url| url.host_str().map(str::to_owned));
    if let Some(host) = host {
        metadata.set("client_name", Value::String(host));
    }
}

/// Checks that the addresses are at no `taken` host. Otherwise anyone could have
/// the codes of users sent to it, or pose as it.
fn check_hosts(
    metadata: &ClientMetadata,
    terms: &RegistrationTerms,
    taken: &BTreeSet<String>,
) -> Result<(), MetadataError> {
    // Each host is folded once: anyone can send a registration with many long ones.
    let taken_keys: BTreeSet<String> = taken.iter().flat_map(|host| host_keys(host)).collect();
    let mut checked = BTreeSet::new();
    for member in ADDRESS_MEMBERS {
        let uris = metadata.texts(member).into_iter().chain(metadata.text(member));
        for owner in uris.filter_map(uri_owner) {
            if !terms.hosts.is_empty() && !terms.hosts.contains(&owner) {
                let fix = format!("use one of: {}", terms.hosts.join(", "));
                let message = "has a host that the initial access token does not allow";
                return Err(MetadataError::new(member, message, &fix));
            }
            if !terms.hosts.is_empty() || checked.contains(&owner) {
                continue;
            }
            let fix = "use a host of your own, or ask the operator of this hub for an initial access token for this host";
            if taken.contains(&owner) {
                let message = "has the host of another service or of an identity provider";
                return Err(MetadataError::new(member, message, fix));
            }
            if host_keys(&owner).iter().any(|key| taken_keys.contains(key)) {
                let message =
                    "has a host that looks like that of another service or of an identity provider";
                return Err(MetadataError::new(member, message, fix));
            }
            checked.insert(owner);
        }
    }
    Ok(())
}

/// Checks that no text can mislead a user or an operator by characters that turn or hide text.
fn check_characters(metadata: &ClientMetadata) -> Result<(), MetadataError> {
    for (member, value) in metadata.members() {
        let texts = value.as_str().into_iter().chain(metadata.texts(member));
        if texts.flat_map(str::chars).any(is_deceptive_char) {
            let member = member.split('#').next().unwrap_or(member);
            let message = "contains a character that is invisible, has no common form or changes the direction of text";
            return Err(MetadataError::new(member, message, "send plain text"));
        }
    }
    Ok(())
}

/// Checks that people can read the names, and take none of them for that of another service, of an
/// identity provider or of the hub, so that a stranger can't pose as one of them (RFC 7591 §5).
fn check_names(metadata: &ClientMetadata, taken_names: &TakenNames) -> Result<(), MetadataError> {
    let receivers: BTreeSet<String> =
        metadata.texts("redirect_uris").into_iter().filter_map(uri_owner).collect();
    let error = |message: &str, fix: &str| Err(MetadataError::new("client_name", message, fix));
    for name in metadata.names().values() {
        if let Err((message, fix)) = check_readable(name) {
            return error(message, fix);
        }
        // Without a redirect URI the registration is refused anyway, for that reason.
        let has_receivers = !metadata.texts("redirect_uris").is_empty();
        let is_own = |host: &String| {
            let is_local =
                Url::parse(&format!("http://{host}/")).is_ok_and(|url| is_loopback(&url));
            // Users take the host for the one that receives their data.
            let is_receiver = |uri: &String| without_www(uri) == without_www(host);
            is_local || (!receivers.is_empty() && receivers.iter().all(is_receiver))
        };
        if has_receivers && !mentioned_hosts(name).iter().all(is_own) {
            let message = "has the form of an address, but redirect_uris has another host";
            let fix = "send a client_name without an address, and with a space after each dot";
            return error(message, fix);
        }
        let keys = name_keys(name);
        for (owner, names) in taken_names {
            if names.iter().any(|taken| share_key(taken, &keys)) {
                let message = format!("is the name of {owner}, or looks like it");
                return error(&message, "choose another name");
            }
        }
    }
    Ok(())
}

/// Names in use, as they look, by what has them.
type TakenNames = [(&'static str, Vec<LookAlikeKeys>); 3];

fn without_www(host: &str) -> &str {
    let host = host.trim_end_matches('.');
    host.strip_prefix("www.").unwrap_or(host)
}
