//! Describes the events of a login for an operator.

use passerelle_audit::EventKind;
use passerelle_audit::recent::LoginStage;

/// Describes an event of a login in plain English. Events that belong to no login have the text of
/// the audit log.
pub(super) const fn describe_event(event: EventKind) -> &'static str {
    match event {
        EventKind::AuthorizationReceived => "The service sent the person here to sign in.",
        EventKind::AuthorizationRefused => "The service's request was refused; no login began.",
        EventKind::ChoiceShown => "The person saw the list of identity providers.",
        EventKind::SessionReused => {
            "The person was still signed in; no identity provider was asked."
        }
        EventKind::IdpChosen => "The person chose this identity provider.",
        EventKind::PasswordRefused => "A password typed on the hub's own page was refused.",
        EventKind::CallbackAccepted => "The identity provider confirmed the person.",
        EventKind::CallbackRefused => "The identity provider's response was refused.",
        EventKind::RegisterQueried => "The hub asked the register about the person.",
        EventKind::RegisterAnswered => "The register answered.",
        EventKind::MailCodeCreated => "The hub created a code, to be sent by mail.",
        EventKind::MailCodeRefused => "The person entered a wrong code.",
        EventKind::MailConfirmed => "The person entered the code that was sent by mail.",
        EventKind::ConsentShown => "The person was asked for consent.",
        EventKind::ConsentGiven => "The person consented.",
        EventKind::ConsentRefused => "The person declined.",
        EventKind::WrongUserReported => {
            "The person chose \"This is not me\" and went back to the choice."
        }
        EventKind::InformationShown => "The person saw what the service receives.",
        EventKind::InformationContinued => "The person continued to the service.",
        EventKind::CodeIssued => "The login succeeded: the person went back to the service.",
        EventKind::LoginRefused => "The login ended, and the service received the reason.",
        EventKind::LoginFailed => "The login ended on a page that states the reason.",
        EventKind::StepRefused => {
            "A step came out of order or from another browser; the login goes on."
        }
        EventKind::TokenIssued => "The service fetched its tokens.",
        EventKind::UserinfoReleased => "The service fetched the person's data.",
        EventKind::IntrospectionActive => "A data provider checked the service's token.",
        EventKind::TokenRevoked => "The service gave its token back.",
        EventKind::LogoutRefused => "A logout was refused.",
        EventKind::LogoutTokenDelivered => {
            "The person signed out here, and the service was informed."
        }
        EventKind::LogoutTokenUndelivered => {
            "The person signed out here, and the service could not be informed."
        }
        other => other.meaning(),
    }
}

/// Describes the state of a login in plain English.
pub(super) fn describe_state(state: &str) -> &str {
    let known = [
        (LoginStage::Choosing, "choosing an identity provider"),
        (LoginStage::AwaitingCallback, "at the identity provider"),
        (LoginStage::Identifying, "being identified"),
        (LoginStage::Consenting, "on the last page"),
        (LoginStage::Granted, "succeeded"),
        (LoginStage::Refused, "refused"),
        (LoginStage::Failed, "failed"),
        (LoginStage::NoLogin, "no login began"),
    ];
    let found = known.into_iter().find(|(stage, _)| stage.as_str() == state);
    found.map_or(state, |(_, words)| words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_a_sentence() {
        for event in EventKind::all() {
            let words = describe_event(event);
            assert!(words.ends_with('.') || words.contains('`'), "{}: {words}", event.as_str());
        }
        assert_eq!(describe_state("awaiting_callback"), "at the identity provider");
        assert_eq!(describe_state("expired"), "expired");
    }
}
