//! Tests of attackers who can write the file.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::chain::{GENESIS_HASH, line_hash};

/// `start`, checkpoint, then 3 times 4 events and a checkpoint.
fn log() -> String {
    let world = Fixture::new();
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    for _ in 0..3 {
        received(&audit, 4);
        audit.flush();
        world.pass_a_minute();
        audit.flush();
    }
    memory.text()
}

static LOG: LazyLock<String> = LazyLock::new(log);

fn lines() -> Vec<String> {
    LOG.lines().map(|line| format!("{line}\n")).collect()
}

#[test]
fn an_untouched_log_is_intact() {
    let report = verify(&LOG);
    assert_eq!(
        (report.result(), report.lines, report.checkpoints),
        (VerificationResult::Intact, 17, 4),
        "{report:?}"
    );
    assert_eq!(
        (report.findings.len(), report.notes.len(), report.last_signed.map(|mark| mark.seq)),
        (0, 0, Some(16))
    );
    let first: Value = serde_json::from_str(LOG.lines().next().unwrap()).unwrap();
    assert_eq!(
        (first["seq"].as_u64(), first["prev"].as_str(), first["event"].as_str()),
        (Some(1), Some(GENESIS_HASH), Some("start"))
    );
    let second: Value = serde_json::from_str(LOG.lines().nth(1).unwrap()).unwrap();
    assert_eq!(
        second["prev"].as_str(),
        Some(line_hash(lines()[0].as_bytes()).as_str()),
        "over the line with its end"
    );
    assert_eq!(first["time"], "2026-11-21T12:00:00.000Z");
}

#[test]
fn a_changed_line_is_found_and_named() {
    let forged = LOG.replacen(r#""seq":9,"#, r#""seq":9, "#, 1);
    let report = verify(&forged);
    assert_eq!(
        (finding_kinds(&report), report.result()),
        (vec![FindingKind::Changed { seq: 9 }], VerificationResult::Modified)
    );
    assert_eq!(report.findings[0].location.line, 10, "the next line says so");
}

#[test]
fn removed_lines_are_found_and_named() {
    let mut lines = lines();
    lines.drain(4..6);
    let report = verify(&lines.concat());
    assert_eq!(
        (finding_kinds(&report), report.findings[0].location.line),
        (vec![FindingKind::Removed { from: 5, to: 6 }], 5)
    );
}

#[test]
fn a_line_that_was_moved_is_found_and_named() {
    let mut lines = lines();
    lines.swap(8, 9);
    assert_eq!(
        finding_kinds(&verify(&lines.concat())),
        [FindingKind::Removed { from: 9, to: 9 }, FindingKind::Moved { seq: 9 }]
    );
}

#[test]
fn a_line_that_was_put_in_twice_is_found_and_named() {
    let mut lines = lines();
    lines.insert(8, lines[3].clone());
    assert_eq!(finding_kinds(&verify(&lines.concat())), [FindingKind::Duplicated { seq: 4 }]);
}

#[test]
fn a_removed_first_line_is_found() {
    assert_eq!(
        finding_kinds(&verify(&lines()[2..].concat())),
        [FindingKind::Removed { from: 1, to: 2 }]
    );
    // Beginning with a checkpoint, as after the removal of a full file, is no finding.
    let report = verify(&lines()[6..].concat());
    assert_eq!(
        (report.result(), &report.notes[0].kind),
        (VerificationResult::Intact, &NoteKind::BeginsLater { seq: 7 })
    );
}

/// An attacker who can write the file can rebuild the chain, but not sign it.
#[test]
fn a_rebuilt_chain_is_found_by_its_checkpoints() {
    let mut text = String::new();
    let mut before = GENESIS_HASH.to_owned();
    for line in LOG.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["prev"] = before.into();
        if line["seq"] == 9 {
            line["sp"] = "another".into();
        }
        let line = format!("{line}\n");
        before = line_hash(line.as_bytes());
        text.push_str(&line);
    }
    let report = verify(&text);
    assert!(
        finding_kinds(&report)
            .iter()
            .all(|kind| matches!(kind, FindingKind::InvalidCheckpoint { .. })),
        "{report:?}"
    );
    assert_eq!(report.result(), VerificationResult::Modified);
}

#[test]
fn a_log_that_is_signed_with_a_foreign_key_proves_nothing() {
    let theirs = keys(&OTHER);
    let mut verifier = Verifier::new(&theirs, TrustedCheckpoints::default(), Chains::One);
    verifier.read_file("log", &mut LOG.as_bytes()).unwrap();
    let report = verifier.finish();
    assert_eq!((report.result(), report.unknown_keys.len()), (VerificationResult::Unproven, 1));
}

#[test]
fn an_id_token_is_not_a_checkpoint() {
    let claims = serde_json::to_vec(
        &serde_json::json!({ "iss": "x", "iat": 1, "node": "one", "seq": 1, "hash": "x" }),
    )
    .unwrap();
    let signed = passerelle_jose::Signer::sign(
        RING.as_ref(),
        passerelle_protocol::alg::SigningAlg::ES256,
        "JWT",
        &claims,
        NOON,
    );
    let jwt =
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(signed).unwrap();
    assert!(TrustedCheckpoints::from_text(&jwt, &keys(&RING)).is_empty());
    assert_eq!(TrustedCheckpoints::from_text(&LOG, &keys(&RING)).0.len(), 4, "in any text");
}

#[test]
fn a_truncated_end_is_found_by_a_checkpoint_stored_elsewhere() {
    let cut = lines()[..12].concat();
    let report = verify(&cut);
    assert_eq!(
        (report.result(), report.findings.len()),
        (VerificationResult::Intact, 0),
        "the log alone can't show it"
    );
    let kept = || {
        TrustedCheckpoints::from_text(
            &format!("INFO audit checkpoint jws=\"{}\" more", *LOG),
            &keys(&RING),
        )
    };
    assert_eq!(
        finding_kinds(&verify_files(&[&cut], kept(), Chains::One)),
        [FindingKind::Truncated { last: 12, trusted: 16 }]
    );
    assert_eq!(
        verify_files(&[LOG.as_str()], kept(), Chains::One).result(),
        VerificationResult::Intact
    );
}

#[test]
fn a_replaced_log_is_found_by_a_checkpoint_stored_elsewhere() {
    let world = Fixture::new();
    world.pass_a_minute();
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    received(&audit, 20);
    audit.flush();
    world.pass_a_minute();
    audit.flush();
    let kept = TrustedCheckpoints::from_text(&LOG, &keys(&RING));
    let report = verify_files(&[memory.text()], kept, Chains::One);
    assert!(
        finding_kinds(&report).contains(&FindingKind::DiffersFromTrusted { seq: 1 }),
        "{report:?}"
    );
}

#[test]
fn a_second_chain_is_tampering_unless_it_is_expected() {
    let two = format!("{}{}", *LOG, *LOG);
    assert_eq!(finding_kinds(&verify(&two)), [FindingKind::SecondChain]);
    let report = verify_files(&[two], TrustedCheckpoints::default(), Chains::Several);
    assert_eq!(
        (report.result(), &report.notes[0].kind),
        (VerificationResult::Intact, &NoteKind::NewChain)
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Every single change of a signed part of the log is found.
    #[test]
    fn every_change_of_a_signed_line_is_found(line in 0..16_usize, other in 0..16_usize, at in 0..60_usize, what in 0..5_u8) {
        let mut lines = lines();
        let before = lines.concat();
        match what {
            0 => drop(lines.remove(line)),
            1 => lines.swap(line, other),
            2 => { let twin = lines[other].clone(); lines.insert(line, twin); }
            3 => {
                let mut bytes = lines[line].clone().into_bytes();
                bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
                lines[line] = String::from_utf8(bytes).unwrap();
            }
            _ => lines.insert(line, "{\"v\":1}\n".to_owned()),
        }
        let after = lines.concat();
        let report = verify(&after);
        if what == 0 && line == 0 {
            // Like the removal of an old file: a note, but no tampering.
            prop_assert_eq!(&report.notes[0].kind, &NoteKind::BeginsLater { seq: 2 });
            return Ok(());
        }
        prop_assert!((after == before) == (report.result() == VerificationResult::Intact), "{:?}", report);
    }
}
