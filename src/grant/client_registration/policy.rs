//! Decides what a registration may request (scopes, hosts and names), and whether it waits for an
//! operator.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use url::Url;

use super::ClientRegistrations;
use super::index::{ClientEntry, RegistrationRecord, RegistrationStatus, RegistrationTerms};
use crate::config::address::is_loopback;
use crate::config::model::OpenRegistration;
use crate::config::{Federation, ServiceProvider};
use crate::identity::rules::is_forbidden_char;
use crate::protocol::acr::Platform;
use crate::protocol::client_registration::{ClientMetadata, MetadataError};

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
        let is_approved_by_policy = self.services.checker.platform() == Platform::Standard
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
        let is_standard = self.services.checker.platform() == Platform::Standard;
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
        registered: &[Arc<ServiceProvider>],
    ) -> Result<(), MetadataError> {
        let federation = self.services.federation.load();
        let RegistrationRecord { metadata, terms, client_id, .. } = record;
        check_characters(metadata)?;
        self.grant_scopes(metadata, terms, &federation)?;
        set_home_page(metadata);
        if metadata.names().is_empty() {
            let host = metadata.text("client_uri").and_then(|uri| Url::parse(uri).ok());
            let host = host.and_then(|url| url.host_str().map(str::to_owned));
            metadata.set("client_name", Value::String(host.unwrap_or_default()));
        }
        let is_other =
            |service: &&Arc<ServiceProvider>| service.registration.client_id != *client_id;
        let others = federation.service_providers().filter(is_other).chain(registered);
        let others: Vec<&ServiceProvider> = others.map(|service| &**service).collect();
        check_names(metadata, &others, &self.services.hub_name)?;
        self.check_hosts(metadata, terms, &others)
    }

    fn grant_scopes(
        &self,
        metadata: &mut ClientMetadata,
        terms: &RegistrationTerms,
        federation: &Federation,
    ) -> Result<(), MetadataError> {
        let known = |scope: &str| {
            scope == "openid" || federation.scope_table(self.rules).contains(&scope.into())
        };
        let allowed = || terms.scopes.iter().map(crate::ids::Scope::as_str);
        let granted: Vec<String> = match metadata.text("scope") {
            None => allowed().filter(|scope| known(scope)).map(str::to_owned).collect(),
            Some(requested) => {
                let requested: Vec<&str> = requested.split(' ').collect();
                if let Some(beyond) =
                    requested.iter().find(|scope| !allowed().any(|a| a == **scope))
                {
                    let listed = allowed().collect::<Vec<_>>().join(" ");
                    let fix = format!(
                        "this registration may have: {listed}; ask the operator of this hub for an initial access token with more"
                    );
                    let message = if *beyond == "offline_access" {
                        "contains offline_access, which registered clients don't get"
                    } else {
                        "contains a value that is not allowed"
                    };
                    return Err(MetadataError::new("scope", message, &fix));
                }
                requested.into_iter().map(str::to_owned).collect()
            }
        };
        metadata.set("scope", Value::String(granted.join(" ")));
        Ok(())
    }

    /// Checks that the addresses are not those of another service. Otherwise anyone could have
    /// the codes of users sent to it, or pose as it.
    fn check_hosts(
        &self,
        metadata: &ClientMetadata,
        terms: &RegistrationTerms,
        others: &[&ServiceProvider],
    ) -> Result<(), MetadataError> {
        let taken: BTreeSet<String> = others
            .iter()
            .flat_map(|service| {
                let registration = &service.registration;
                registration.redirect_uris.iter().chain([&registration.home_page])
            })
            .chain([&self.services.base_url])
            .filter_map(|uri| uri_owner(uri))
            .collect();
        for member in ADDRESS_MEMBERS {
            let uris = metadata.texts(member).into_iter().chain(metadata.text(member));
            for owner in uris.filter_map(uri_owner) {
                if !terms.hosts.is_empty() && !terms.hosts.contains(&owner) {
                    let fix = format!("use one of: {}", terms.hosts.join(", "));
                    let message = "has a host that the initial access token does not allow";
                    return Err(MetadataError::new(member, message, &fix));
                }
                if terms.hosts.is_empty() && taken.contains(&owner) {
                    let fix = "use a host of your own, or ask the operator of this hub for an initial access token for this host";
                    let message = "has the host of another service";
                    return Err(MetadataError::new(member, message, fix));
                }
            }
        }
        Ok(())
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

/// Checks that no text can mislead a user or an operator by characters that turn or hide text.
fn check_characters(metadata: &ClientMetadata) -> Result<(), MetadataError> {
    for (member, value) in metadata.members() {
        let texts = value.as_str().into_iter().chain(metadata.texts(member));
        if texts.flat_map(str::chars).any(is_forbidden_char) {
            let member = member.split('#').next().unwrap_or(member);
            let message = "contains a character that is invisible or changes the direction of text";
            return Err(MetadataError::new(member, message, "send plain text"));
        }
    }
    Ok(())
}

/// Checks that the names are not those of another service or of the hub, so that a stranger can't
/// pose as one of them (RFC 7591 §5).
#[expect(clippy::disallowed_methods, reason = "names are text that people write, in any script")]
fn check_names(
    metadata: &ClientMetadata,
    others: &[&ServiceProvider],
    hub_name: &BTreeMap<String, String>,
) -> Result<(), MetadataError> {
    let fold = |name: &str| {
        let letters = name.chars().filter(|c| c.is_alphanumeric());
        let folded: String = letters.flat_map(char::to_lowercase).collect();
        // Names of symbols alone would all be the same.
        if folded.is_empty() { name.to_owned() } else { folded }
    };
    for name in metadata.names().values() {
        let folded = fold(name);
        let is_any_of =
            |names: &BTreeMap<String, String>| names.values().any(|taken| fold(taken) == folded);
        let message = if others.iter().any(|other| is_any_of(&other.name)) {
            Some("is the name of another service")
        } else {
            is_any_of(hub_name).then_some("is the name of this hub")
        };
        if let Some(message) = message {
            return Err(MetadataError::new("client_name", message, "choose another name"));
        }
    }
    Ok(())
}
