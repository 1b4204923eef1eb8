//! What a logout request may do to a session: end it, ask first, or nothing (decisions 12).
//!
//! Owns: that decision. Must not know: hints, cookies, stores, pages; the request was judged before
//! ([`crate::protocol::logout`]).

use super::Session;
use crate::ids::Subject;
use crate::protocol::logout::Hint;

/// The live session of the browser that asks.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    pub session: &'a Session,
    /// Its user's `sub` at the service provider that the request names.
    pub holder: Option<&'a Subject>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Verdict {
    LogOut,
    /// Whoever sends the browser here has not shown that it speaks for this session's user: only they can say so.
    AskFirst,
    /// There is nothing to end.
    Nothing,
}

/// The rows of decisions 12 whose request is good. `named` is absent where the request came without a hint.
#[must_use]
pub fn judge(named: Option<&Hint>, live: Option<Live<'_>>) -> Verdict {
    let Some(Live { session, holder }) = live else {
        // RP-Initiated Logout, 2: whoever comes without a hint is asked, whatever the hub knows of them.
        return if named.is_some() { Verdict::Nothing } else { Verdict::AskFirst };
    };
    let is_theirs =
        |named: &Hint| holder == Some(&named.user) && session.took_part(&named.audience);
    if named.is_some_and(is_theirs) { Verdict::LogOut } else { Verdict::AskFirst }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assurance::Level;
    use crate::assurance::amr::Evidence;
    use crate::env::Timestamp;
    use crate::identity::samples::angela;
    use crate::ids::Secret;
    use crate::session::Finished;

    #[test]
    fn the_table_of_decisions() {
        let finished = Finished {
            connector: "impots".into(),
            upstream_subject: Secret::new("upstream".into()),
            level: Level::Eidas1,
            evidence: Evidence::default(),
            auth_time: Timestamp::from_seconds(1),
            identity: angela(),
            id_token: None,
        };
        let mut session = Session::start(finished, "lineage", Timestamp::from_seconds(1));
        session.take_part(&"sp".into());
        let angela = Subject::new("angela@sp");
        let live = Some(Live { session: &session, holder: Some(&angela) });
        let named =
            |service: &str, user: &str| Some(Hint { audience: service.into(), user: user.into() });
        for (case, named, live, verdict) in [
            ("its user, at one that took part", named("sp", "angela@sp"), live, Verdict::LogOut),
            ("another user", named("sp", "jean@sp"), live, Verdict::AskFirst),
            (
                "a service provider that took no part",
                named("other", "angela@sp"),
                live,
                Verdict::AskFirst,
            ),
            ("no hint", None, live, Verdict::AskFirst),
            (
                "a user whose sub can't be told",
                named("sp", "angela@sp"),
                Some(Live { session: &session, holder: None }),
                Verdict::AskFirst,
            ),
            ("no session any more", named("sp", "angela@sp"), None, Verdict::Nothing),
            ("neither hint nor session", None, None, Verdict::AskFirst),
        ] {
            assert_eq!(judge(named.as_ref(), live), verdict, "{case}");
        }
    }
}
