//! What an operator does about a refusal: by the code where it asks for something of its own, else by who can mend it.

use crate::protocol::catalogue::{ErrorCode as E, Fault, Mender};

pub(super) fn of(code: E) -> &'static str {
    let entry = code.entry();
    match code {
        E::UserCancelled | E::UserRefusedConsent | E::IdpDenied => {
            "Nothing is broken: the person said no. They may try again."
        }
        E::LoginUnknown
        | E::LoginOtherBrowser
        | E::StateUnknown
        | E::StepOutOfOrder
        | E::AlreadyDone => {
            "The page was not the browser's newest, or came from another browser. Have the person begin again at the service. \
             If many report it, look whether something between them and the hub drops cookies or keeps pages."
        }
        E::LoginExpired => {
            "The person took longer than lifetimes.login_seconds allows. Have them begin again at the service."
        }
        E::IdpBlocked | E::IdpBlockedForService => {
            "A kill switch of yours is in force: `passerelle idp list` says whose, why and until when."
        }
        E::IdpOff | E::IdpUnknown => {
            "The connector's file is gone, or says enabled = false. Have the person take another one."
        }
        E::GateClosed | E::AcrTooLow | E::AcrNotRequired => {
            "The service does not accept this identity provider, or asks for a higher level than it gives: \
             `passerelle acr explain --sp … --idp … --acr …` says what is asked and given."
        }
        E::AcrUnlisted | E::AcrMissing => {
            "The identity provider names a level that the connector's [acr] does not list, or none: the event below shows which. \
             `passerelle acr explain` says what is expected; agree with the identity provider before you change the file. Where \
             its acr says nothing about a level, ignore_acr = true has assumed_level count."
        }
        E::PromptLoginIgnored => {
            "The service demanded a fresh login, prompt=login was sent, and the identity provider returned an older one. Have its \
             operators make it heed prompt=login for this client; until then logins that demand a fresh one fail there \
             (docs/checking-a-connector.md). A single case may be a browser that changed the request."
        }
        E::RegisterAnswer
        | E::RegisterNotFound
        | E::RegisterSeveral
        | E::RegisterDeceased
        | E::RegisterRefused => {
            "The register does not confirm the person as the identity provider names them. `passerelle register lookup` asks it \
             again; a wrong name or date is corrected at the identity provider, or at the register."
        }
        E::RegisterUnavailable | E::RegisterContract | E::RegisterBusy | E::RegisterIdentity => {
            "The register is in trouble, not the person: look at /readyz, `passerelle check --online`, and the program's log."
        }
        E::IdentityIncomplete | E::IdentityMalformed => {
            "The identity provider sent too little, or something malformed; the program's log names the claim by this support \
             id. Compare the connector's [mapping] with what was agreed (docs/claim-mapping.md)."
        }
        E::StoreFull | E::Busy => {
            "The hub is at a limit of yours: see the store and [limits] of passerelle.toml."
        }
        E::NetworkCrowded => {
            "A client in this network begins logins that no browser opens, and room is short: docs/limits.md says how it is shared. \
             Stop the flood at the proxy, or raise limits.logins and limits.login_bytes if memory allows."
        }
        E::StoreUnavailable => "The store does not answer: see /readyz.",
        E::AuditUnwritable => {
            "The audit log can't be written, and audit.when_full = \"stop\": see /readyz and docs/audit.md."
        }
        E::Interrupted | E::ShuttingDown => {
            "The hub was restarted, or a step of it died, while this login was under way. Have \
             the person begin again; if the hub was not restarted, look in the program's log."
        }
        E::ClientIdUnknown | E::ClientIdInactive => {
            "No service provider of this client_id is active on this platform: look whether its file is there and good (/readyz), \
             and whether the service meant the other platform."
        }
        E::RedirectUriNotRegistered => {
            "The service sends another redirect_uri than its file lists. They are compared letter by letter: the service corrects \
             it, or you add it to the file after you have made sure of it."
        }
        E::RedirectUriWithdrawn | E::ScopeWithdrawn => {
            "The service provider's file changed while the person was signing in: the redirect URI or a scope was removed. If that \
             was not intended, put it back; else the person begins again at the service."
        }
        E::IdpReauthenticationUnproven => {
            "The service demands a new authentication, and this identity provider proves none. If it asks for the password each \
             time, write reauthenticates = true in the connector's file (docs/choice.md)."
        }
        _ if entry.code.starts_with("Y02") => match entry.mender {
            Mender::Operator => {
                "The connector's file, or the network between, does not fit the identity provider: the program's log says what, \
                 by this support id; `passerelle check connector` asks it again (docs/checking-a-connector.md)."
            }
            _ => {
                "The identity provider is at fault. See its health below /admin/ and the program's log by this support id; if it \
                 lasts, tell its operators the time and the code, and block it with `passerelle idp block` \
                 (docs/identity-provider-health.md)."
            }
        },
        _ if entry.code.starts_with("Y47") => {
            "The form did not come from the hub's own page. Once is an old tab; many at once are an attack, or something that \
             rewrites pages on the way."
        }
        _ => match (entry.mender, entry.fault) {
            (Mender::ServiceProvider, _) => {
                "The service's software sends a request that breaks the rules; tell its developers the code and the description."
            }
            (Mender::Operator, Fault::Hub) => {
                "The hub is at fault: the program's log has the cause by this support id. If it comes again, report it."
            }
            (Mender::Operator, _) => {
                "It is yours to mend: the program's log has the cause by this support id."
            }
            (Mender::IdentityProvider, _) => {
                "Tell the identity provider's operators the time and the code."
            }
            (Mender::User, _) => "The person can mend it: have them begin again at the service.",
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_something_to_do_about_every_code() {
        for code in E::ALL {
            let advice = of(*code);
            assert!(
                advice.len() > 30 && advice.ends_with('.') && !advice.contains("  "),
                "{}: {advice}",
                code.entry().code
            );
        }
    }
}
