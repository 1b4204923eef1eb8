//! Decides what a logout request may do to a session: end it, ask the user first, or nothing
//! (docs/logout.md).
//!
//! Does not depend on cookies, stores or pages. [`passerelle_protocol::logout`] has validated the
//! request.

use super::Session;
use passerelle_protocol::ids::Subject;
use passerelle_protocol::logout::LogoutHint;

/// The live session of the requesting browser.
#[derive(Clone, Copy, Debug)]
pub struct LiveSession<'a> {
    pub session: &'a Session,
    /// The `sub` of its user at the service provider that the request names.
    pub subject: Option<&'a Subject>,
}

/// What to do about a logout request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LogoutDecision {
    LogOut,
    /// The request does not prove that it comes from this session's user: the user must confirm.
    AskFirst,
    /// There is no session to end.
    NothingToEnd,
}

/// Decides on a valid request. `hint` is the user and audience of its hint, if it has one.
pub fn decide_logout(hint: Option<&LogoutHint>, live: Option<LiveSession<'_>>) -> LogoutDecision {
    let Some(LiveSession { session, subject }) = live else {
        // Without a hint the user is always asked (OpenID Connect RP-Initiated Logout 1.0 §2).
        return if hint.is_some() {
            LogoutDecision::NothingToEnd
        } else {
            LogoutDecision::AskFirst
        };
    };
    let is_theirs =
        |hint: &LogoutHint| subject == Some(&hint.user) && session.has_participant(&hint.audience);
    if hint.is_some_and(is_theirs) { LogoutDecision::LogOut } else { LogoutDecision::AskFirst }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assurance::Level;
    use crate::assurance::amr::AmrEvidence;
    use crate::session::FinishedLogin;
    use crate::testing::samples::angela;
    use passerelle_protocol::env::Timestamp;
    use passerelle_protocol::ids::Secret;

    #[test]
    fn decisions_by_hint_and_session() {
        let finished = FinishedLogin {
            connector: "impots".into(),
            upstream_subject: Secret::new("upstream".into()),
            level: Level::Eidas1,
            evidence: AmrEvidence::default(),
            auth_time: Some(Timestamp::from_seconds(1)),
            identity: angela(),
            confirmed_at: None,
            electronic_records: Vec::new(),
            session_ends_at: None,
            session_hint: None,
        };
        let mut session = Session::start(finished, "lineage", Timestamp::from_seconds(1));
        session.add_participant(&"sp".into());
        let angela = Subject::new("angela@sp");
        let live = Some(LiveSession { session: &session, subject: Some(&angela) });
        let hint = |service: &str, user: &str| {
            Some(LogoutHint { audience: service.into(), user: user.into() })
        };
        for (case, hint, live, decision) in [
            (
                "its user, at a service provider of the session",
                hint("sp", "angela@sp"),
                live,
                LogoutDecision::LogOut,
            ),
            ("another user", hint("sp", "jean@sp"), live, LogoutDecision::AskFirst),
            (
                "a service provider that is not of the session",
                hint("other", "angela@sp"),
                live,
                LogoutDecision::AskFirst,
            ),
            ("no hint", None, live, LogoutDecision::AskFirst),
            (
                "a user whose sub is unknown",
                hint("sp", "angela@sp"),
                Some(LiveSession { session: &session, subject: None }),
                LogoutDecision::AskFirst,
            ),
            ("no session", hint("sp", "angela@sp"), None, LogoutDecision::NothingToEnd),
            ("neither hint nor session", None, None, LogoutDecision::AskFirst),
        ] {
            assert_eq!(decide_logout(hint.as_ref(), live), decision, "{case}");
        }
    }
}
