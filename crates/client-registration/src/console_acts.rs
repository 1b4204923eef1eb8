//! The forms of the admin console that decide on a registration.

use passerelle_admin::console_act::{
    ActConfirmation, ActFuture, ActOutcome, ActRequest, ConsoleAct,
};
use passerelle_admin::responses::AdminError;
use passerelle_protocol::ids::Scope;

use super::admin_routes::{
    RegistrationApproval, RegistrationRemoval, approve, find_registrations, remove,
};
use super::error_codes;
use super::operator::RegistrationSummary;

/// The forms. Both have the fields `client_id` and `reason`.
pub(crate) const ACTS: &[ConsoleAct] = &[
    ConsoleAct {
        name: "approve-client",
        confirm: Some(confirm_approval),
        perform: |act| {
            Box::pin(async move {
                let client_id = client_id(act);
                // The fingerprint is that of the registration on the page of the confirmation.
                let fingerprint = act.form.field("fingerprint").unwrap_or_default().to_owned();
                let reason = act.form.reason()?.to_owned();
                let approval = RegistrationApproval { fingerprint, reason };
                approve(act.admin, act.by, client_id, &approval).await?;
                let message = format!(
                    "{client_id} may sign users in; the other hubs know it within two seconds."
                );
                Ok(ActOutcome {
                    message,
                    see: Some((
                        format!("/admin/service-providers?client_id={client_id}"),
                        client_id.to_owned(),
                    )),
                })
            })
        },
    },
    ConsoleAct {
        name: "remove-client",
        confirm: Some(confirm_removal),
        perform: |act| {
            Box::pin(async move {
                let client_id = client_id(act);
                let removal = RegistrationRemoval { reason: act.form.reason()?.to_owned() };
                remove(act.admin, act.by, client_id, &removal).await?;
                let message =
                    format!("{client_id} is removed; the other hubs know it within two seconds.");
                Ok(ActOutcome::new(message))
            })
        },
    },
];

fn confirm_approval<'a>(act: &'a ActRequest<'a>) -> ActFuture<'a, ActConfirmation> {
    Box::pin(async move {
        let registration = find_registration(act).await?;
        Ok(ActConfirmation {
            question: "Approve this registration?".to_owned(),
            facts: describe(&registration, act.form.reason()?),
            fields: vec![("fingerprint", registration.fingerprint)],
            consequence: "The service provider may sign users in with these names, addresses and scopes. A change of its registration before you confirm makes the approval fail.",
            button: "Approve it",
        })
    })
}

fn confirm_removal<'a>(act: &'a ActRequest<'a>) -> ActFuture<'a, ActConfirmation> {
    Box::pin(async move {
        let registration = find_registration(act).await?;
        Ok(ActConfirmation {
            question: "Refuse or remove this registration?".to_owned(),
            facts: describe(&registration, act.form.reason()?),
            fields: Vec::new(),
            consequence: "The service provider can't sign users in, and its codes and tokens end at once. It may register again.",
            button: "Remove it",
        })
    })
}

fn client_id<'a>(act: &'a ActRequest<'a>) -> &'a str {
    act.form.field("client_id").unwrap_or_default()
}

async fn find_registration(act: &ActRequest<'_>) -> Result<RegistrationSummary, AdminError> {
    let list = find_registrations(act.admin)?.list().await?;
    let mut registrations = list.registrations.into_iter();
    let found = registrations.find(|one| one.client_id.as_str() == client_id(act));
    found.ok_or_else(|| error_codes::REGISTRATION_UNKNOWN.into())
}

/// Returns what `clients list` prints, for the page of the confirmation.
fn describe(one: &RegistrationSummary, reason: &str) -> Vec<(String, String)> {
    let names = one.names.iter().map(|(language, name)| format!("{name} ({language})"));
    let scopes: Vec<&str> = one.scopes.iter().map(Scope::as_str).collect();
    let names = names.collect::<Vec<_>>().join(", ");
    let mut facts =
        vec![("client_id", one.client_id.to_string()), ("State", one.status.as_str().to_owned())];
    if one.readable {
        facts.extend([
            ("Names", names),
            ("Authentication", one.token_endpoint_auth_method.clone()),
            ("Scopes", scopes.join(" ")),
            ("Addresses", one.addresses.join(" ")),
            ("Contacts", one.contacts.join(", ")),
        ]);
    } else {
        facts.push(("Record", "lost, or can't be read: remove it".to_owned()));
    }
    facts.extend([
        ("Fingerprint", one.fingerprint.clone()),
        ("Registered", one.registered_at.clone()),
        ("Expires", one.expires_at.clone()),
        ("Reason", reason.to_owned()),
    ]);
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
