//! Says what an operator does about an error: by its code where that needs its own advice, else by
//! who can fix it.

use passerelle_protocol::catalogue::{
    CatalogueEntry, ErrorCode as E, ErrorOrigin, ResponsibleParty,
};

/// Advice for errors that need their own.
const ADVICE_BY_CODE: &[(&[E], &str)] = &[
    (
        &[E::UserCancelled, E::UserRefusedConsent, E::IdpDenied],
        "Nothing is broken: the user declined. They may try again.",
    ),
    (
        &[
            E::LoginUnknown,
            E::LoginOtherBrowser,
            E::StateUnknown,
            E::StepOutOfOrder,
            E::AlreadyDone,
        ],
        "The page was outdated, or came from another browser. Ask the user to start again at the service. If many users \
         report it, check whether something between them and the hub drops cookies or caches pages.",
    ),
    (
        &[E::RepeatedCookie],
        "Another host of the domain, or something between the browser and the hub, adds a cookie of the hub's name. Ask the \
         user to use a private window. If many users report it, look for the host that sets the cookie: it may be an attack.",
    ),
    (
        &[E::LoginExpired],
        "The user took longer than lifetimes.login_seconds allows. Ask them to start again at the service.",
    ),
    (
        &[E::IdpBlocked, E::IdpBlockedForService],
        "A block is in force: `passerelle idp list` shows of which identity provider, why and until when.",
    ),
    (
        &[E::IdpOff, E::IdpUnknown],
        "The connector's file was deleted, or sets enabled = false. Ask the user to choose another identity provider.",
    ),
    (
        &[E::GateClosed, E::AcrTooLow, E::AcrNotRequired],
        "The service does not accept this identity provider, or asks for a higher level than it gives: \
         `passerelle acr explain --sp … --idp … --acr …` shows what is requested and achieved.",
    ),
    (
        &[E::AcrUnlisted, E::AcrMissing],
        "The identity provider sent no level, or one that the connector's [acr] does not list: the event below shows it. \
         `passerelle acr explain` shows what is expected; agree with the identity provider before you change the file. If \
         its acr does not express a level, ignore_acr = true makes assumed_level apply.",
    ),
    (
        &[E::PromptLoginIgnored],
        "The service required a fresh login, the hub sent prompt=login, and the identity provider returned an older one. Ask \
         its operators to obey prompt=login for this client; until then logins that require a fresh one fail there \
         (docs/checking-a-connector.md). A single case may be a browser that changed the request.",
    ),
    (
        &[
            E::RegisterAnswer,
            E::RegisterNotFound,
            E::RegisterSeveral,
            E::RegisterDeceased,
            E::RegisterRefused,
        ],
        "The register does not confirm the user's identity as the identity provider sent it. `passerelle register lookup` \
         repeats the query; a wrong name or date must be corrected at the identity provider or in the register.",
    ),
    (
        &[E::RegisterUnavailable, E::RegisterContract, E::RegisterBusy, E::RegisterIdentity],
        "The register failed, not the user: check /readyz, `passerelle check --online` and the program's log.",
    ),
    (
        &[E::IdentityIncomplete, E::IdentityMalformed],
        "The identity provider sent too few claims, or a malformed one; the program's log names the claim under this support \
         id. Compare the connector's [mapping] with what was agreed (docs/claim-mapping.md).",
    ),
    (
        &[E::StoreFull, E::Busy],
        "The hub reached a configured limit: check the store, and [limits] of passerelle.toml.",
    ),
    (
        &[E::NetworkLoginsExceeded],
        "A client in this network starts logins that no browser opens, and capacity is short (docs/limits.md). Stop the \
         flood at the proxy, or raise limits.logins and limits.login_bytes if memory allows.",
    ),
    (&[E::StoreUnavailable], "The store is unavailable: check /readyz."),
    (
        &[E::AuditUnwritable],
        "The audit log can't be written, and audit.when_full = \"stop\": check /readyz and docs/audit.md.",
    ),
    (
        &[E::HubClock],
        "Most identity providers agree on another time than this machine: set its clock (NTP). /readyz shows the difference.",
    ),
    (
        &[E::Interrupted, E::ShuttingDown],
        "The hub was restarted, or a step of the login panicked. Ask the user to start again; \
         if the hub was not restarted, check the program's log.",
    ),
    (
        &[E::ClientIdUnknown, E::ClientIdInactive],
        "No service provider with this client_id is active on this platform: check that its file exists and is valid \
         (/readyz), and that the service uses the right platform.",
    ),
    (
        &[E::RedirectUriNotRegistered],
        "The service sends a redirect_uri that its file does not list. They are compared byte by byte: the service corrects \
         it, or you verify it and add it to the file.",
    ),
    (
        &[E::RedirectUriWithdrawn, E::ScopeWithdrawn],
        "The service provider's file changed during the login: the redirect URI or a scope was removed. If that was not \
         intended, restore it; else ask the user to start again at the service.",
    ),
    (
        &[E::IdpReauthenticationUnproven],
        "The service requires a new authentication, and this identity provider does not prove one. If it asks for the \
         password each time, set reauthenticates = true in the connector's file (docs/choice.md).",
    ),
];

/// Returns what an operator does about an error.
pub(super) fn advice_for(code: E) -> &'static str {
    let own = ADVICE_BY_CODE.iter().find(|(codes, _)| codes.contains(&code));
    own.map_or_else(|| advice_by_family(code.entry()), |(_, advice)| advice)
}

fn advice_by_family(entry: &CatalogueEntry) -> &'static str {
    match entry.code {
        code if code.starts_with("Y02") => match entry.responsible {
            ResponsibleParty::Operator => {
                "The connector's file or the network does not match the identity provider: the program's log has the cause under \
                 this support id; `passerelle check connector` repeats the check (docs/checking-a-connector.md)."
            }
            _ => {
                "The identity provider is at fault. Check its health at /admin/ and the program's log under this support id; if \
                 it lasts, send its operators the time and the code, and block it with `passerelle idp block` \
                 (docs/identity-provider-health.md)."
            }
        },
        code if code.starts_with("Y47") => {
            "The form did not come from the hub's own page. A single case is an old tab; many at once are an attack, or \
             something that rewrites pages."
        }
        _ => match (entry.responsible, entry.origin) {
            (ResponsibleParty::ServiceProvider, _) => {
                "The service's software sends an invalid request; send its developers the code and the description."
            }
            (ResponsibleParty::Operator, ErrorOrigin::Hub) => {
                "The hub is at fault: the program's log has the cause under this support id. If it happens again, report it."
            }
            (ResponsibleParty::Operator, _) => {
                "You can fix it: the program's log has the cause under this support id."
            }
            (ResponsibleParty::IdentityProvider, _) => {
                "Send the identity provider's operators the time and the code."
            }
            (ResponsibleParty::User, _) => {
                "The user can fix it: ask them to start again at the service."
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_something_to_do_about_every_code() {
        for code in &E::all() {
            let advice = advice_for(*code);
            assert!(
                advice.len() > 30 && advice.ends_with('.') && !advice.contains("  "),
                "{}: {advice}",
                code.entry().code
            );
        }
    }
}
