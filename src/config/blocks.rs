//! Kill switches: an identity provider that must not be used for a while, by everybody or by some service providers.
//!
//! Owns: what a block is, what an operator may write in one, and when it is in force. Must not know: who holds the
//! blocks (a connector's file, or the running hub), what o'clock it is, or what is done about them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::connectors::ConfiguredConnector;
use super::model::BlockTable;
use super::problem::Problem;
use super::source::{Source, problem_of_file};
use super::text;
use super::validity::{Flaw, Standing, Validity};
use crate::env::Timestamp;
use crate::ids::{ClientId, ConnectorId};

/// Characters.
const LONGEST_REASON: usize = 200;
const LONGEST_MESSAGE: usize = 300;

/// A block that holds: its words and dates were checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    pub connector: ConnectorId,
    pub reach: Reach,
    /// For operators.
    pub reason: String,
    /// For persons, by language; empty where the operator has nothing to say.
    pub message: Arc<BTreeMap<String, String>>,
    pub window: Validity,
}

/// Whom a block keeps away from an identity provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reach {
    Everyone,
    /// The users of these service providers.
    Only(BTreeSet<ClientId>),
}

/// What an operator writes of a block, wherever.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    pub reason: &'a str,
    pub message: &'a BTreeMap<String, String>,
    pub from: Option<&'a str>,
    pub until: Option<&'a str>,
}

/// The block that keeps this service provider's users away from this connector at this moment. Of several the first that
/// is everyone's, for it says more; else the first.
pub fn in_force<'a>(
    blocks: impl IntoIterator<Item = &'a Block>,
    connector: &ConnectorId,
    service_provider: &ClientId,
    now: Timestamp,
) -> Option<&'a Block> {
    let holds = |block: &&Block| {
        block.connector == *connector && block.reaches(service_provider) && block.is_in_force(now)
    };
    blocks.into_iter().filter(holds).min_by_key(|block| block.reach != Reach::Everyone)
}

impl Block {
    /// # Errors
    /// Every flaw in what was written.
    pub fn new(connector: ConnectorId, reach: Reach, words: Words<'_>) -> Result<Self, Vec<Flaw>> {
        let mut flaws: Vec<Flaw> =
            text::flaw("reason", words.reason, LONGEST_REASON).into_iter().collect();
        flaws.extend(text::flaws("message", words.message, LONGEST_MESSAGE));
        let window = Validity::between(("from", words.from), ("until", words.until))
            .map_err(|flaw| flaws.push(flaw));
        match window {
            Ok(window) if flaws.is_empty() => Ok(Self {
                connector,
                reach,
                reason: words.reason.to_owned(),
                message: Arc::new(words.message.clone()),
                window,
            }),
            Ok(_) | Err(()) => Err(flaws),
        }
    }

    #[must_use]
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.window.at(now) == Standing::Valid
    }

    /// True once it will never be in force again.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.window.at(now) == Standing::Over
    }

    fn reaches(&self, service_provider: &ClientId) -> bool {
        match &self.reach {
            Reach::Everyone => true,
            Reach::Only(some) => some.contains(service_provider),
        }
    }
}

/// The `[[block]]` tables of a connector's file.
pub(super) fn of_file(
    source: &Source,
    connector: &ConnectorId,
    tables: &[BlockTable],
    problems: &mut Vec<Problem>,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let key = format!("block[{index}]");
        let reach = match &table.service_providers {
            None => Reach::Everyone,
            Some(some) => Reach::Only(some.iter().cloned().collect()),
        };
        // An operator who means everyone, and blocks nobody, would find out too late.
        if table.service_providers.as_ref().is_some_and(Vec::is_empty) {
            let mend = "name service providers, or remove the key to block it for all of them";
            problems.push(source.problem(
                &format!("{key}.service_providers"),
                "is empty, so that it blocks for nobody",
                mend,
            ));
        }
        let (from, until) = (table.from.as_deref(), table.until.as_deref());
        match Block::new(
            connector.clone(),
            reach,
            Words { reason: &table.reason, message: &table.message, from, until },
        ) {
            Ok(block) => blocks.push(block),
            Err(flaws) => problems.extend(flaws.into_iter().map(|Flaw { key: at, what, mend }| {
                source.problem(&format!("{key}.{at}"), what, mend)
            })),
        }
    }
    blocks
}

/// A client_id that nobody has: a slip of the pen, or a service provider that is gone.
pub(super) fn warnings<'a>(
    folder: &Path,
    connectors: impl IntoIterator<Item = &'a ConfiguredConnector>,
    known: &BTreeSet<&ClientId>,
) -> Vec<Problem> {
    let mut warnings = Vec::new();
    for connector in connectors {
        let file = folder.join(format!("{}.toml", connector.id));
        for (index, table) in connector.file.block.iter().enumerate() {
            for unknown in table
                .service_providers
                .iter()
                .flatten()
                .filter(|client_id| !known.contains(client_id))
            {
                let what = format!(
                    "names {unknown}, which no service provider has as client_id: nothing is blocked by it"
                );
                let warning = problem_of_file(&file, &what, "correct it, or remove it");
                warnings
                    .push(Problem { key: format!("block[{index}].service_providers"), ..warning });
            }
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn block(connector: &str, only: &[&str], from: Option<u64>, until: Option<u64>) -> Block {
        Block {
            connector: connector.into(),
            reach: if only.is_empty() {
                Reach::Everyone
            } else {
                Reach::Only(only.iter().map(|id| (*id).into()).collect())
            },
            reason: format!("{connector} {only:?}"),
            message: Arc::default(),
            window: Validity { not_before: from.map(at), not_after: until.map(at) },
        }
    }

    #[test]
    fn a_block_reaches_whom_it_names_and_no_connector_but_its_own() {
        let blocks = [block("one", &["sp"], None, None), block("two", &[], None, None)];
        for (connector, service, blocked) in [
            ("one", "sp", true),
            ("one", "other", false),
            ("two", "sp", true),
            ("two", "other", true),
            ("three", "sp", false),
        ] {
            let found = in_force(&blocks, &connector.into(), &service.into(), at(1));
            assert_eq!(found.is_some(), blocked, "{connector} {service}");
        }
    }

    #[test]
    fn what_is_blocked_for_everyone_says_so() {
        let blocks = [
            block("one", &["sp"], None, None),
            block("one", &[], None, None),
            block("one", &[], Some(0), None),
        ];
        assert_eq!(in_force(&blocks, &"one".into(), &"sp".into(), at(1)), Some(&blocks[1]));
    }

    #[test]
    fn every_flaw_is_told() {
        let message =
            [("french".to_owned(), "ok".to_owned()), ("en".to_owned(), "x".repeat(301))].into();
        let words = Words { reason: " ", message: &message, from: Some("soon"), until: None };
        let flaws = Block::new("one".into(), Reach::Everyone, words).unwrap_err();
        let keys: Vec<&str> = flaws.iter().map(|flaw| flaw.key.as_str()).collect();
        assert_eq!(keys, ["reason", "message.en", "message.french", "from"]);
        let (from, until) = (Some("2027-03-01T00:00:00Z"), Some("2027-03-01T01:00:00+01:00"));
        let words = Words { reason: "r", message: &BTreeMap::new(), from, until };
        let flaws = Block::new("one".into(), Reach::Everyone, words).unwrap_err();
        assert_eq!(
            (flaws[0].key.as_str(), flaws[0].mend.as_str()),
            ("until", "write a moment later than from")
        );
    }

    proptest! {
        /// In force from its first millisecond to the last one before its end, whatever stands beside it.
        #[test]
        fn a_block_is_in_force_from_its_first_to_its_last_millisecond(
            windows in prop::collection::vec((prop::option::of(1u64..100), prop::option::of(1u64..100)), 0..4),
            edge in 0u64..101, early in any::<bool>(),
        ) {
            let blocks: Vec<_> = windows.iter().map(|(from, until)| block("one", &[], *from, *until)).collect();
            let now = Timestamp::from_millis((edge * 1000).saturating_sub(u64::from(early)));
            let within = |(from, until): &(Option<u64>, Option<u64>)| {
                from.is_none_or(|from| from * 1000 <= now.millis()) && until.is_none_or(|until| now.millis() < until * 1000)
            };
            let expected = windows.iter().position(within);
            let found = in_force(&blocks, &"one".into(), &"sp".into(), now);
            prop_assert_eq!(found, expected.map(|index| &blocks[index]));
            prop_assert_eq!(in_force(&blocks, &"two".into(), &"sp".into(), now), None);
        }

        /// What is over stays over.
        #[test]
        fn a_block_that_is_over_never_comes_back(from in 0u64..50, life in 1u64..50, now in 0u64..200, later in 0u64..200) {
            let block = block("one", &[], Some(from), Some(from + life));
            if block.is_over(at(now)) {
                prop_assert!(!block.is_in_force(at(now + later)) && block.is_over(at(now + later)));
            }
        }
    }
}
