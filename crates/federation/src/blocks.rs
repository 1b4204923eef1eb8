//! Blocks: periods in which an identity provider must not be used, by all or by some service
//! providers.
//!
//! Responsible for what an operator may write in a block and when it is in force. Does not store
//! blocks, read the clock, or enforce them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::localized_text;
use super::validity::{Validity, ValidityStatus};
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::{ClientId, ConnectorId};
use passerelle_settings::{FieldDiagnostic, FileCheck};

const MAX_REASON_CHARS: usize = 200;
const MAX_MESSAGE_CHARS: usize = 300;

/// A block in a connector file. `passerelle idp block` adds one without a file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BlockTable {
    /// Reason for operators: 1 to 200 characters, shown by `passerelle idp list` and in the log.
    pub reason: String,
    /// Message for users, by language (`fr`, `en`): at most 300 characters each. Default: a
    /// standard sentence.
    #[serde(default)]
    pub message: BTreeMap<String, String>,
    /// Service providers that it applies to, by client_id. Default: all.
    #[serde(default)]
    pub service_providers: Option<Vec<ClientId>>,
    /// Start, inclusive, for example `2027-03-01T00:00:00Z`. Default: immediately.
    #[serde(default)]
    pub from: Option<String>,
    /// End, exclusive. Default: until the table is removed.
    #[serde(default)]
    pub until: Option<String>,
}

/// A block with checked texts and dates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// The blocked connector.
    pub connector: ConnectorId,
    /// Which service providers it applies to.
    pub target: BlockTarget,
    /// Reason, for operators.
    pub reason: String,
    /// Message for users, by language; may be empty.
    pub message: Arc<BTreeMap<String, String>>,
    /// When it is in force.
    pub validity: Validity,
}

/// The service providers whose users a block applies to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BlockTarget {
    /// All service providers.
    Everyone,
    /// These service providers.
    Only(BTreeSet<ClientId>),
}

impl BlockTarget {
    /// Returns the target for these service providers; all of them if none is named.
    #[must_use]
    pub fn from_named(service_providers: Option<Vec<ClientId>>) -> Self {
        service_providers.map_or(Self::Everyone, |some| Self::Only(some.into_iter().collect()))
    }
}

/// The unchecked fields of a block.
#[derive(Clone, Copy, Debug)]
pub struct BlockInput<'a> {
    /// Reason, for operators.
    pub reason: &'a str,
    /// Message for users, by language.
    pub message: &'a BTreeMap<String, String>,
    /// Start, in RFC 3339.
    pub from: Option<&'a str>,
    /// End, in RFC 3339.
    pub until: Option<&'a str>,
}

/// Returns the block of `connector` that is in force for the service provider. Prefers the first
/// block for everyone, which is more informative.
pub fn find_block_in_force<'a>(
    blocks: impl IntoIterator<Item = &'a Block>,
    connector: &ConnectorId,
    service_provider: &ClientId,
    now: Timestamp,
) -> Option<&'a Block> {
    let applies = |block: &&Block| {
        block.connector == *connector
            && block.applies_to(service_provider)
            && block.is_in_force(now)
    };
    blocks.into_iter().filter(applies).min_by_key(|block| block.target != BlockTarget::Everyone)
}

impl Block {
    /// Checks the input and creates a block.
    ///
    /// # Errors
    /// Returns a diagnostic for each invalid field.
    pub fn new(
        connector: ConnectorId,
        target: BlockTarget,
        input: BlockInput<'_>,
    ) -> Result<Self, Vec<FieldDiagnostic>> {
        let mut diagnostics: Vec<FieldDiagnostic> =
            localized_text::text_diagnostic("reason", input.reason, MAX_REASON_CHARS)
                .into_iter()
                .collect();
        diagnostics.extend(localized_text::text_diagnostics(
            "message",
            input.message,
            MAX_MESSAGE_CHARS,
        ));
        let validity = Validity::parse_range(("from", input.from), ("until", input.until))
            .map_err(|diagnostic| diagnostics.push(diagnostic));
        match validity {
            Ok(validity) if diagnostics.is_empty() => Ok(Self {
                connector,
                target,
                reason: input.reason.to_owned(),
                message: Arc::new(input.message.clone()),
                validity,
            }),
            Ok(_) | Err(()) => Err(diagnostics),
        }
    }

    /// Returns true if the block is in force.
    pub fn is_in_force(&self, now: Timestamp) -> bool {
        self.validity.status_at(now) == ValidityStatus::Valid
    }

    /// Returns true if the block will never be in force again.
    pub fn has_ended(&self, now: Timestamp) -> bool {
        self.validity.status_at(now) == ValidityStatus::Expired
    }

    /// Returns true if the block is for this service provider.
    pub fn applies_to(&self, service_provider: &ClientId) -> bool {
        match &self.target {
            BlockTarget::Everyone => true,
            BlockTarget::Only(some) => some.contains(service_provider),
        }
    }
}

/// Parses the `[[block]]` tables of a connector file. Leaves out invalid ones and reports them.
pub fn parse_blocks(
    check: &mut FileCheck<'_>,
    connector: &ConnectorId,
    tables: &[BlockTable],
) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let key = format!("block[{index}]");
        let target = BlockTarget::from_named(table.service_providers.clone());
        // An empty list blocks for no one, although the operator may mean everyone.
        if table.service_providers.as_ref().is_some_and(Vec::is_empty) {
            let fix = "name service providers, or remove the key to block it for all";
            check.report(
                &format!("{key}.service_providers"),
                "is empty, so the block has no effect",
                fix,
            );
        }
        let (from, until) = (table.from.as_deref(), table.until.as_deref());
        match Block::new(
            connector.clone(),
            target,
            BlockInput { reason: &table.reason, message: &table.message, from, until },
        ) {
            Ok(block) => blocks.push(block),
            Err(found) => {
                let mut check = check.table(&key);
                for one in found {
                    check.add(one);
                }
            }
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn timestamp(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn block(connector: &str, only: &[&str], from: Option<u64>, until: Option<u64>) -> Block {
        Block {
            connector: connector.into(),
            target: if only.is_empty() {
                BlockTarget::Everyone
            } else {
                BlockTarget::Only(only.iter().map(|id| (*id).into()).collect())
            },
            reason: format!("{connector} {only:?}"),
            message: Arc::default(),
            validity: Validity { not_before: from.map(timestamp), not_after: until.map(timestamp) },
        }
    }

    #[test]
    fn a_block_applies_to_its_service_providers_and_connector_only() {
        let blocks = [block("one", &["sp"], None, None), block("two", &[], None, None)];
        for (connector, service, blocked) in [
            ("one", "sp", true),
            ("one", "other", false),
            ("two", "sp", true),
            ("two", "other", true),
            ("three", "sp", false),
        ] {
            let found =
                find_block_in_force(&blocks, &connector.into(), &service.into(), timestamp(1));
            assert_eq!(found.is_some(), blocked, "{connector} {service}");
        }
    }

    #[test]
    fn a_block_for_everyone_is_preferred() {
        let blocks = [
            block("one", &["sp"], None, None),
            block("one", &[], None, None),
            block("one", &[], Some(0), None),
        ];
        assert_eq!(
            find_block_in_force(&blocks, &"one".into(), &"sp".into(), timestamp(1)),
            Some(&blocks[1])
        );
    }

    #[test]
    fn every_invalid_field_is_reported() {
        let message =
            [("french".to_owned(), "ok".to_owned()), ("en".to_owned(), "x".repeat(301))].into();
        let input = BlockInput { reason: " ", message: &message, from: Some("soon"), until: None };
        let diagnostics = Block::new("one".into(), BlockTarget::Everyone, input).unwrap_err();
        let keys: Vec<&str> =
            diagnostics.iter().map(|diagnostic| diagnostic.key.as_str()).collect();
        assert_eq!(keys, ["reason", "message.en", "message.french", "from"]);
        let (from, until) = (Some("2027-03-01T00:00:00Z"), Some("2027-03-01T01:00:00+01:00"));
        let input = BlockInput { reason: "r", message: &BTreeMap::new(), from, until };
        let diagnostics = Block::new("one".into(), BlockTarget::Everyone, input).unwrap_err();
        assert_eq!(
            (diagnostics[0].key.as_str(), diagnostics[0].fix.as_str()),
            ("until", "write a time after from")
        );
    }

    proptest! {
        /// In force from its first millisecond to the last one before its end, independently of
        /// other blocks.
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
            let found = find_block_in_force(&blocks, &"one".into(), &"sp".into(), now);
            prop_assert_eq!(found, expected.map(|index| &blocks[index]));
            prop_assert_eq!(find_block_in_force(&blocks, &"two".into(), &"sp".into(), now), None);
        }

        #[test]
        fn an_ended_block_is_never_in_force_again(from in 0u64..50, life in 1u64..50, now in 0u64..200, later in 0u64..200) {
            let block = block("one", &[], Some(from), Some(from + life));
            if block.has_ended(timestamp(now)) {
                prop_assert!(!block.is_in_force(timestamp(now + later)) && block.has_ended(timestamp(now + later)));
            }
        }
    }
}
