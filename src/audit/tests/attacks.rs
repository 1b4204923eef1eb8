//! What somebody who can write the file may do to it.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::audit::chain::{NOTHING, hash};

/// `start`, checkpoint, then 3 times 4 events and a checkpoint.
fn log() -> String {
    let world = World::new();
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    for _ in 0..3 {
        received(&audit, 4);
        audit.flush();
        world.minute();
        audit.flush();
    }
    memory.text()
}

static LOG: LazyLock<String> = LazyLock::new(log);

fn lines() -> Vec<String> {
    LOG.lines().map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_log_that_nobody_touched_is_whole() {
    let report = verify(&LOG);
    assert_eq!(
        (report.verdict(), report.lines, report.checkpoints),
        (Verdict::Whole, 17, 4),
        "{report:?}"
    );
    assert_eq!(
        (report.findings.len(), report.notes.len(), report.sealed.map(|mark| mark.seq)),
        (0, 0, Some(16))
    );
    let first: Value = serde_json::from_str(LOG.lines().next().unwrap()).unwrap();
    assert_eq!(
        (first["seq"].as_u64(), first["prev"].as_str(), first["event"].as_str()),
        (Some(1), Some(NOTHING), Some("start"))
    );
    let second: Value = serde_json::from_str(LOG.lines().nth(1).unwrap()).unwrap();
    assert_eq!(
        second["prev"].as_str(),
        Some(hash(lines()[0].as_bytes()).as_str()),
        "over the line with its end"
    );
    assert_eq!(first["time"], "2026-11-21T12:00:00.000Z");
}

#[test]
fn a_changed_line_is_found_and_named() {
    let forged = LOG.replacen(r#""seq":9,"#, r#""seq":9, "#, 1);
    let report = verify(&forged);
    assert_eq!(
        (flaws(&report), report.verdict()),
        (vec![Flaw::Changed { seq: 9 }], Verdict::TamperedWith)
    );
    assert_eq!(report.findings[0].place.line, 10, "the next line says so");
}

#[test]
fn removed_lines_are_found_and_named() {
    let mut lines = lines();
    lines.drain(4..6);
    let report = verify(&lines.concat());
    assert_eq!(
        (flaws(&report), report.findings[0].place.line),
        (vec![Flaw::Removed { from: 5, to: 6 }], 5)
    );
}

#[test]
fn a_line_that_was_moved_is_found_and_named() {
    let mut lines = lines();
    lines.swap(8, 9);
    assert_eq!(
        flaws(&verify(&lines.concat())),
        [Flaw::Removed { from: 9, to: 9 }, Flaw::Moved { seq: 9 }]
    );
}

#[test]
fn a_line_that_was_put_in_twice_is_found_and_named() {
    let mut lines = lines();
    lines.insert(8, lines[3].clone());
    assert_eq!(flaws(&verify(&lines.concat())), [Flaw::Duplicated { seq: 4 }]);
}

#[test]
fn a_first_line_that_was_taken_away_is_found() {
    assert_eq!(flaws(&verify(&lines()[2..].concat())), [Flaw::Removed { from: 1, to: 2 }]);
    // From a checkpoint on, as after the removal of a full file, there is nothing to say.
    let report = verify(&lines()[6..].concat());
    assert_eq!(
        (report.verdict(), &report.notes[0].note),
        (Verdict::Whole, &Note::BeginsLater { seq: 7 })
    );
}

/// Whoever can write the file can chain it anew, but not sign it.
#[test]
fn a_chain_that_was_written_anew_is_found_by_its_seals() {
    let mut text = String::new();
    let mut before = NOTHING.to_owned();
    for line in LOG.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        line["prev"] = before.into();
        if line["seq"] == 9 {
            line["sp"] = "another".into();
        }
        let line = format!("{line}\n");
        before = hash(line.as_bytes());
        text.push_str(&line);
    }
    let report = verify(&text);
    assert!(
        flaws(&report).iter().all(|flaw| matches!(flaw, Flaw::SealBroken { .. })),
        "{report:?}"
    );
    assert_eq!(report.verdict(), Verdict::TamperedWith);
}

#[test]
fn a_log_that_is_signed_with_a_key_of_somebody_else_proves_nothing() {
    let theirs = keys(&OTHER);
    let mut verifier = Verifier::new(&theirs, Kept::default(), Chains::One);
    verifier.read("log", &mut LOG.as_bytes()).unwrap();
    let report = verifier.finish();
    assert_eq!((report.verdict(), report.unknown_keys.len()), (Verdict::Unproven, 1));
}

#[test]
fn an_id_token_is_no_checkpoint() {
    let claims = serde_json::to_vec(
        &serde_json::json!({ "iss": "x", "iat": 1, "node": "one", "seq": 1, "hash": "x" }),
    )
    .unwrap();
    let signed = crate::token::Signer::sign(
        RING.as_ref(),
        crate::protocol::alg::SigningAlg::ES256,
        "JWT",
        &claims,
        NOON,
    );
    let jwt =
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(signed).unwrap();
    assert!(Kept::in_text(&jwt, &keys(&RING)).is_empty());
    assert_eq!(Kept::in_text(&LOG, &keys(&RING)).len(), 4, "in any text");
}

#[test]
fn an_end_that_was_cut_off_is_found_by_a_checkpoint_that_was_kept_elsewhere() {
    let cut = lines()[..12].concat();
    let report = verify(&cut);
    assert_eq!(
        (report.verdict(), report.findings.len()),
        (Verdict::Whole, 0),
        "the log alone can't tell"
    );
    let kept =
        || Kept::in_text(&format!("INFO audit checkpoint jws=\"{}\" more", *LOG), &keys(&RING));
    assert_eq!(
        flaws(&verify_files(&[&cut], kept(), Chains::One)),
        [Flaw::Truncated { last: 12, kept: 16 }]
    );
    assert_eq!(verify_files(&[LOG.as_str()], kept(), Chains::One).verdict(), Verdict::Whole);
}

#[test]
fn a_log_that_was_written_again_from_the_start_is_not_the_one_that_was_kept() {
    let world = World::new();
    world.minute();
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    received(&audit, 20);
    audit.flush();
    world.minute();
    audit.flush();
    let kept = Kept::in_text(&LOG, &keys(&RING));
    let report = verify_files(&[memory.text()], kept, Chains::One);
    assert!(flaws(&report).contains(&Flaw::OtherThanKept { seq: 1 }), "{report:?}");
}

#[test]
fn a_second_chain_is_tampering_unless_it_is_expected() {
    let two = format!("{}{}", *LOG, *LOG);
    assert_eq!(flaws(&verify(&two)), [Flaw::BegunAnew]);
    let report = verify_files(&[two], Kept::default(), Chains::Several);
    assert_eq!((report.verdict(), &report.notes[0].note), (Verdict::Whole, &Note::BeginsAnew));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever single thing is done to a sealed part of the log is found.
    #[test]
    fn no_change_of_a_sealed_line_goes_unseen(line in 0..16_usize, other in 0..16_usize, at in 0..60_usize, what in 0..5_u8) {
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
            // As an old file that was removed: it is told, and is no tampering.
            prop_assert_eq!(&report.notes[0].note, &Note::BeginsLater { seq: 2 });
            return Ok(());
        }
        prop_assert!((after == before) == (report.verdict() == Verdict::Whole), "{:?}", report);
    }
}
