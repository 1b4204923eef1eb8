//! Decides which level to request upstream, which value to send, and which level a response proves.
//!
//! A level is never rounded up: the only safe error is downward.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Level, Platform};
use passerelle_protocol::catalogue::ErrorCode;

/// Returns the level that counts when a finished authentication is reused: at most eidas1 on the
/// standard platform and eidas2 on the high platform; eidas3 is never reused.
pub(crate) fn cap_for_reuse(achieved: Level, platform: Platform) -> Level {
    match platform {
        Platform::Standard => achieved.min(Level::Eidas1),
        Platform::High => achieved.min(Level::Eidas2),
    }
}

/// Returns the level of a reused authentication, if it reaches the requested level.
pub fn level_if_reusable(achieved: Level, requested: Level, platform: Platform) -> Option<Level> {
    Some(cap_for_reuse(achieved, platform)).filter(|held| *held >= requested)
}

/// Returns the `acr` of an ID token: always eidas1 on the standard platform (R010), the level
/// achieved on the high platform (R038).
pub fn id_token_level(achieved: Level, platform: Platform) -> Level {
    match platform {
        Platform::Standard => Level::Eidas1,
        Platform::High => achieved,
    }
}

/// Levels configured for one identity provider, from its connector's file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AcrPolicy {
    pub lowest: Level,
    pub highest: Level,
    /// The identity provider's `acr` values by hub level: the first is sent, any is accepted.
    pub values: BTreeMap<Level, Vec<String>>,
    /// Its values that stand for level names of the hub too: the first is sent for a requested
    /// name.
    pub names: BTreeMap<String, Vec<String>>,
    /// Level of a response without `acr`; only eidas1 is allowed.
    pub assumed: Option<Level>,
    /// Whether `acr_values` is sent. Some identity providers ask for the password again whenever it
    /// is.
    pub sends_acr_values: bool,
    /// Whether a returned `acr` is ignored, so that every response counts as `assumed`.
    pub ignores_acr: bool,
}

/// Why the level of an identity provider's response is rejected.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LevelError {
    #[error("the value is not in the connector's table, or the level is outside its range")]
    Unlisted,
    #[error("{achieved:?} is lower than the required {needed:?}")]
    TooLow { achieved: Level, needed: Level },
    #[error("{achieved:?} is not among the levels of the essential acr claim")]
    NotRequired { achieved: Level },
    #[error(
        "the response has no acr, and the connector's file has no `assumed_level` (only eidas1 is allowed)"
    )]
    Missing,
}

impl LevelError {
    /// Returns the error code of the login.
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::Unlisted => ErrorCode::AcrUnlisted,
            Self::TooLow { .. } => ErrorCode::AcrTooLow,
            Self::NotRequired { .. } => ErrorCode::AcrNotRequired,
            Self::Missing => ErrorCode::AcrMissing,
        }
    }
}

impl AcrPolicy {
    /// Returns the level to request upstream: the requested one, or the connector's lowest if that
    /// is higher.
    pub fn level_to_request(&self, requested: Level) -> Level {
        requested.max(self.lowest)
    }

    /// Returns the identity provider's value for a level. `None` if none is configured or the
    /// connector's file says `send = false`: no `acr_values` is sent.
    pub(crate) fn acr_value_to_send(&self, level: Level) -> Option<&str> {
        self.values.get(&level).filter(|_| self.sends_acr_values)?.first().map(String::as_str)
    }

    /// Returns the identity provider's values to send for the requested level names, in order, and
    /// then that of the level. Empty if nothing is configured or the connector's file says `send =
    /// false`.
    pub fn acr_values_to_send(&self, names: &[Arc<str>], level: Level) -> Vec<&str> {
        let for_name = |name: &Arc<str>| self.names.get(&**name)?.first().map(String::as_str);
        let named = names.iter().filter(|_| self.sends_acr_values).filter_map(for_name);
        let mut values: Vec<&str> = Vec::new();
        for value in named.chain(self.acr_value_to_send(level)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }

    /// Returns true if the table does not contain the returned value, which rejects the login.
    pub fn rejects_acr(&self, returned: &str) -> bool {
        !self.ignores_acr && !self.values.values().flatten().any(|listed| listed == returned)
    }

    /// Returns the level that a response proves: listed, within the connector's range, and at least
    /// `needed` ([`Self::level_to_request`]).
    ///
    /// # Errors
    /// `Unlisted`, `Missing` or `TooLow`. A level is never rounded.
    pub fn evaluate(&self, returned: Option<&str>, needed: Level) -> Result<Level, LevelError> {
        let achieved = match (returned.filter(|_| !self.ignores_acr), self.assumed) {
            // A value listed under two levels counts as the lower one.
            (Some(value), _) => {
                let mut listed = self
                    .values
                    .iter()
                    .filter(|(_, values)| values.iter().any(|listed| listed == value));
                *listed.next().ok_or(LevelError::Unlisted)?.0
            }
            (None, Some(Level::Eidas1)) => Level::Eidas1,
            (None, Some(Level::Eidas2 | Level::Eidas3) | None) => return Err(LevelError::Missing),
        };
        if achieved < needed {
            return Err(LevelError::TooLow { achieved, needed });
        }
        if (self.lowest..=self.highest).contains(&achieved) {
            Ok(achieved)
        } else {
            Err(LevelError::Unlisted)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Level::{Eidas1, Eidas2, Eidas3};
    use super::*;

    // R003, R010, R038
    #[test]
    fn the_released_and_reusable_level_of_each_obtained_level() {
        for (achieved, platform, released, reusable) in [
            (Eidas1, Platform::Standard, Eidas1, Eidas1),
            (Eidas2, Platform::Standard, Eidas1, Eidas1),
            (Eidas3, Platform::Standard, Eidas1, Eidas1),
            (Eidas2, Platform::High, Eidas2, Eidas2),
            (Eidas3, Platform::High, Eidas3, Eidas2),
        ] {
            assert_eq!(id_token_level(achieved, platform), released);
            assert_eq!(cap_for_reuse(achieved, platform), reusable);
            for asked in [Eidas1, Eidas2, Eidas3] {
                assert_eq!(
                    level_if_reusable(achieved, asked, platform),
                    (asked <= reusable).then_some(reusable),
                    "{achieved:?} for {asked:?}"
                );
            }
        }
    }

    fn table() -> BTreeMap<Level, Vec<String>> {
        BTreeMap::from([
            (Eidas1, vec!["low".into()]),
            (Eidas2, vec!["loa2".into(), "substantial".into()]),
            (Eidas3, vec!["loa3".into()]),
        ])
    }

    fn policy_for_range(lowest: Level, highest: Level, assumed: Option<Level>) -> AcrPolicy {
        AcrPolicy {
            lowest,
            highest,
            values: table(),
            names: BTreeMap::new(),
            assumed,
            sends_acr_values: true,
            ignores_acr: false,
        }
    }

    #[test]
    fn the_identity_provider_gets_the_higher_of_requested_and_lowest_level_in_its_own_values() {
        let values = table();
        let policy = AcrPolicy { values, ..policy_for_range(Eidas2, Eidas3, None) };
        assert_eq!(
            [Eidas1, Eidas2, Eidas3].map(|asked| policy.level_to_request(asked)),
            [Eidas2, Eidas2, Eidas3]
        );
        assert_eq!(policy.acr_value_to_send(Eidas2), Some("loa2"));
        let silent = AcrPolicy { sends_acr_values: false, ..policy.clone() };
        assert_eq!(
            (silent.acr_value_to_send(Eidas2), silent.evaluate(Some("loa2"), Eidas2)),
            (None, Ok(Eidas2)),
            "the answer still counts"
        );
        assert_eq!(AcrPolicy { values: BTreeMap::new(), ..policy }.acr_value_to_send(Eidas2), None);
    }

    #[test]
    fn values_of_requested_names_are_sent_before_that_of_the_level_and_each_once() {
        let names = BTreeMap::from([
            ("mfa".to_owned(), vec!["low-2fa".to_owned(), "other".to_owned()]),
            ("gold".to_owned(), vec!["loa2".to_owned()]),
        ]);
        let policy = AcrPolicy { names, ..policy_for_range(Eidas1, Eidas3, None) };
        let sent = |policy: &AcrPolicy, names: &[&str], level| {
            let names: Vec<Arc<str>> = names.iter().map(|name| Arc::from(*name)).collect();
            policy.acr_values_to_send(&names, level).join(" ")
        };
        for (names, level, expected) in [
            (&["gold", "mfa"][..], Eidas1, "loa2 low-2fa low"),
            (&["gold"], Eidas2, "loa2"),
            (&["unmapped"], Eidas1, "low"),
            (&[], Eidas3, "loa3"),
        ] {
            assert_eq!(sent(&policy, names, level), expected);
        }
        let silent = AcrPolicy { sends_acr_values: false, ..policy };
        assert_eq!(sent(&silent, &["mfa"], Eidas1), "");
    }

    #[test]
    fn an_acr_has_the_agreed_level_and_is_never_rounded() {
        let range = policy_for_range;
        let wide = || range(Eidas1, Eidas3, None);
        for (policy, returned, needed, expected) in [
            (wide(), Some("loa2"), Eidas2, Ok(Eidas2)),
            (wide(), Some("substantial"), Eidas2, Ok(Eidas2)),
            (wide(), Some("loa3"), Eidas2, Ok(Eidas3)),
            (
                wide(),
                Some("low"),
                Eidas2,
                Err(LevelError::TooLow { achieved: Eidas1, needed: Eidas2 }),
            ),
            (wide(), Some("loa4"), Eidas1, Err(LevelError::Unlisted)),
            (wide(), Some("LOA2"), Eidas1, Err(LevelError::Unlisted)),
            (wide(), Some(""), Eidas1, Err(LevelError::Unlisted)),
            (wide(), None, Eidas1, Err(LevelError::Missing)),
            (range(Eidas1, Eidas1, None), Some("loa2"), Eidas1, Err(LevelError::Unlisted)),
            (range(Eidas2, Eidas3, None), Some("low"), Eidas1, Err(LevelError::Unlisted)),
            (range(Eidas1, Eidas3, Some(Eidas1)), None, Eidas1, Ok(Eidas1)),
            (range(Eidas1, Eidas3, Some(Eidas1)), Some("loa4"), Eidas1, Err(LevelError::Unlisted)),
            (
                range(Eidas1, Eidas3, Some(Eidas1)),
                None,
                Eidas2,
                Err(LevelError::TooLow { achieved: Eidas1, needed: Eidas2 }),
            ),
            (range(Eidas1, Eidas3, Some(Eidas2)), None, Eidas1, Err(LevelError::Missing)),
        ] {
            assert_eq!(policy.evaluate(returned, needed), expected, "{returned:?} for {needed:?}");
        }
    }

    #[test]
    fn a_value_listed_under_two_levels_proves_the_lower_one() {
        let values = BTreeMap::from([(Eidas1, vec!["any".into()]), (Eidas3, vec!["any".into()])]);
        let policy = AcrPolicy { values, ..policy_for_range(Eidas1, Eidas3, None) };
        assert_eq!(policy.evaluate(Some("any"), Eidas1), Ok(Eidas1));
    }

    #[test]
    fn an_ignored_acr_proves_the_assumed_level_and_nothing_more() {
        let ignoring =
            |assumed| AcrPolicy { ignores_acr: true, ..policy_for_range(Eidas1, Eidas3, assumed) };
        for returned in [Some("1"), Some("loa3"), Some(""), None] {
            assert_eq!(
                ignoring(Some(Eidas1)).evaluate(returned, Eidas1),
                Ok(Eidas1),
                "{returned:?}"
            );
            let too_low = Err(LevelError::TooLow { achieved: Eidas1, needed: Eidas2 });
            assert_eq!(ignoring(Some(Eidas1)).evaluate(returned, Eidas2), too_low, "{returned:?}");
            assert_eq!(
                ignoring(None).evaluate(returned, Eidas1),
                Err(LevelError::Missing),
                "{returned:?}"
            );
        }
        assert!(
            policy_for_range(Eidas1, Eidas3, None).rejects_acr("1")
                && !ignoring(Some(Eidas1)).rejects_acr("1")
        );
    }
}
