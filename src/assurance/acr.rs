//! Which level is asked, which value goes upstream, and what an identity provider's answer is worth (decisions 8).
//!
//! Owns: every decision on a level. Must not know: requests, tokens, connectors' files.
//! The one direction in which a level may be wrong is down: nothing here ever rounds up.

use std::collections::BTreeMap;

use super::{Level, Platform};
use crate::protocol::catalogue::ErrorCode;

/// What counts of the level obtained when a finished authentication is used again: at most eidas1 on standard and
/// eidas2 on high, for eidas3 is never reused.
#[must_use]
pub fn held(obtained: Level, platform: Platform) -> Level {
    match platform {
        Platform::Standard => obtained.min(Level::Eidas1),
        Platform::High => obtained.min(Level::Eidas2),
    }
}

/// What a finished authentication answers a request for `asked` with, if it reaches that at all.
#[must_use]
pub fn reused(obtained: Level, asked: Level, platform: Platform) -> Option<Level> {
    Some(held(obtained, platform)).filter(|held| *held >= asked)
}

/// The `acr` of an ID token: on standard always eidas1, whatever methods the user used (R010); on high the level
/// obtained (R038).
#[must_use]
pub fn in_id_token(obtained: Level, platform: Platform) -> Level {
    match platform {
        Platform::Standard => Level::Eidas1,
        Platform::High => obtained,
    }
}

/// What is agreed with one identity provider on levels: its connector's file, as far as it concerns them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agreement {
    pub lowest: Level,
    pub highest: Level,
    /// Hub level → the identity provider's values; the first is sent, any is accepted.
    pub values: BTreeMap<Level, Vec<String>>,
    /// The level of an answer without `acr`. Only eidas1 counts.
    pub assumed: Option<Level>,
    /// Whether `acr_values` is sent at all. Some identity providers ask for the password again at every `acr_values`.
    pub sends_acr_values: bool,
    /// Whether a returned `acr` is disregarded, so that every answer counts as `assumed`.
    pub ignores_acr: bool,
}

/// Why an identity provider's level is refused.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum LevelFault {
    #[error("a value outside the connector's table, or a level outside its range")]
    Unlisted,
    #[error("{obtained:?} is lower than the {needed:?} that was needed")]
    TooLow { obtained: Level, needed: Level },
    #[error("{obtained:?} is none of the levels of an essential acr claim")]
    NotRequired { obtained: Level },
    #[error("no value, and the connector's file has no `assumed_level` (which may only be eidas1)")]
    Missing,
}

impl LevelFault {
    #[must_use]
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::Unlisted => ErrorCode::AcrUnlisted,
            Self::TooLow { .. } => ErrorCode::AcrTooLow,
            Self::NotRequired { .. } => ErrorCode::AcrNotRequired,
            Self::Missing => ErrorCode::AcrMissing,
        }
    }
}

impl Agreement {
    /// The level to ask for upstream: what was asked, or the connector's lowest if that is higher.
    #[must_use]
    pub fn to_ask(&self, asked: Level) -> Level {
        asked.max(self.lowest)
    }

    /// The identity provider's word for a level. `None`: no `acr_values` is sent, because nothing is agreed or the
    /// connector's file says `send = false`.
    #[must_use]
    pub fn to_send(&self, level: Level) -> Option<&str> {
        self.values.get(&level).filter(|_| self.sends_acr_values)?.first().map(String::as_str)
    }

    /// Returns true for a returned value that the table does not list, and that therefore refuses the login.
    #[must_use]
    pub fn refuses_value(&self, returned: &str) -> bool {
        !self.ignores_acr && !self.values.values().flatten().any(|listed| listed == returned)
    }

    /// The level that an answer proves: listed, within the connector's range, and at least `needed` ([`Self::to_ask`]).
    ///
    /// # Errors
    /// Whatever isn't exactly agreed is refused, not rounded.
    pub fn judge(&self, returned: Option<&str>, needed: Level) -> Result<Level, LevelFault> {
        let obtained = match (returned.filter(|_| !self.ignores_acr), self.assumed) {
            // A value listed twice counts as the lower level.
            (Some(value), _) => {
                let mut listed = self
                    .values
                    .iter()
                    .filter(|(_, values)| values.iter().any(|listed| listed == value));
                *listed.next().ok_or(LevelFault::Unlisted)?.0
            }
            (None, Some(Level::Eidas1)) => Level::Eidas1,
            (None, Some(Level::Eidas2 | Level::Eidas3) | None) => return Err(LevelFault::Missing),
        };
        if obtained < needed {
            return Err(LevelFault::TooLow { obtained, needed });
        }
        if (self.lowest..=self.highest).contains(&obtained) {
            Ok(obtained)
        } else {
            Err(LevelFault::Unlisted)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Level::{Eidas1, Eidas2, Eidas3};
    use super::*;

    // R003, R010, R038
    #[test]
    fn what_a_level_counts_as_by_table() {
        for (obtained, platform, told, kept) in [
            (Eidas1, Platform::Standard, Eidas1, Eidas1),
            (Eidas2, Platform::Standard, Eidas1, Eidas1),
            (Eidas3, Platform::Standard, Eidas1, Eidas1),
            (Eidas2, Platform::High, Eidas2, Eidas2),
            (Eidas3, Platform::High, Eidas3, Eidas2),
        ] {
            assert_eq!(in_id_token(obtained, platform), told);
            assert_eq!(held(obtained, platform), kept);
            for asked in [Eidas1, Eidas2, Eidas3] {
                assert_eq!(
                    reused(obtained, asked, platform),
                    (asked <= kept).then_some(kept),
                    "{obtained:?} for {asked:?}"
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

    fn agreement_over(lowest: Level, highest: Level, assumed: Option<Level>) -> Agreement {
        Agreement {
            lowest,
            highest,
            values: table(),
            assumed,
            sends_acr_values: true,
            ignores_acr: false,
        }
    }

    #[test]
    fn upstream_gets_the_higher_of_asked_and_lowest_in_its_own_words() {
        let values = table();
        let agreement = Agreement { values, ..agreement_over(Eidas2, Eidas3, None) };
        assert_eq!(
            [Eidas1, Eidas2, Eidas3].map(|asked| agreement.to_ask(asked)),
            [Eidas2, Eidas2, Eidas3]
        );
        assert_eq!(agreement.to_send(Eidas2), Some("loa2"));
        let silent = Agreement { sends_acr_values: false, ..agreement.clone() };
        assert_eq!(
            (silent.to_send(Eidas2), silent.judge(Some("loa2"), Eidas2)),
            (None, Ok(Eidas2)),
            "the answer still counts"
        );
        assert_eq!(Agreement { values: BTreeMap::new(), ..agreement }.to_send(Eidas2), None);
    }

    #[test]
    fn an_answer_is_worth_what_is_agreed_and_never_rounded() {
        let range = agreement_over;
        let wide = || range(Eidas1, Eidas3, None);
        for (agreement, returned, needed, judged) in [
            (wide(), Some("loa2"), Eidas2, Ok(Eidas2)),
            (wide(), Some("substantial"), Eidas2, Ok(Eidas2)),
            (wide(), Some("loa3"), Eidas2, Ok(Eidas3)),
            (
                wide(),
                Some("low"),
                Eidas2,
                Err(LevelFault::TooLow { obtained: Eidas1, needed: Eidas2 }),
            ),
            (wide(), Some("loa4"), Eidas1, Err(LevelFault::Unlisted)),
            (wide(), Some("LOA2"), Eidas1, Err(LevelFault::Unlisted)),
            (wide(), Some(""), Eidas1, Err(LevelFault::Unlisted)),
            (wide(), None, Eidas1, Err(LevelFault::Missing)),
            (range(Eidas1, Eidas1, None), Some("loa2"), Eidas1, Err(LevelFault::Unlisted)),
            (range(Eidas2, Eidas3, None), Some("low"), Eidas1, Err(LevelFault::Unlisted)),
            (range(Eidas1, Eidas3, Some(Eidas1)), None, Eidas1, Ok(Eidas1)),
            (range(Eidas1, Eidas3, Some(Eidas1)), Some("loa4"), Eidas1, Err(LevelFault::Unlisted)),
            (
                range(Eidas1, Eidas3, Some(Eidas1)),
                None,
                Eidas2,
                Err(LevelFault::TooLow { obtained: Eidas1, needed: Eidas2 }),
            ),
            (range(Eidas1, Eidas3, Some(Eidas2)), None, Eidas1, Err(LevelFault::Missing)),
        ] {
            assert_eq!(agreement.judge(returned, needed), judged, "{returned:?} for {needed:?}");
        }
    }

    #[test]
    fn a_value_listed_under_two_levels_proves_the_lower_one() {
        let values = BTreeMap::from([(Eidas1, vec!["any".into()]), (Eidas3, vec!["any".into()])]);
        let agreement = Agreement { values, ..agreement_over(Eidas1, Eidas3, None) };
        assert_eq!(agreement.judge(Some("any"), Eidas1), Ok(Eidas1));
    }

    #[test]
    fn an_ignored_acr_proves_the_assumed_level_and_nothing_more() {
        let ignoring =
            |assumed| Agreement { ignores_acr: true, ..agreement_over(Eidas1, Eidas3, assumed) };
        for returned in [Some("1"), Some("loa3"), Some(""), None] {
            assert_eq!(ignoring(Some(Eidas1)).judge(returned, Eidas1), Ok(Eidas1), "{returned:?}");
            let too_low = Err(LevelFault::TooLow { obtained: Eidas1, needed: Eidas2 });
            assert_eq!(ignoring(Some(Eidas1)).judge(returned, Eidas2), too_low, "{returned:?}");
            assert_eq!(
                ignoring(None).judge(returned, Eidas1),
                Err(LevelFault::Missing),
                "{returned:?}"
            );
        }
        assert!(
            agreement_over(Eidas1, Eidas3, None).refuses_value("1")
                && !ignoring(Some(Eidas1)).refuses_value("1")
        );
    }
}
