//! Tests of proofs of single events, and of the end that no checkpoint covers.

use super::*;
use crate::merkle::hash_leaf;
use crate::proof::{EventProof, LoginProof, ProofError, Prover};

const OURS: &str = "7K2M9QX4T0BC";

/// A log of three minutes, with events of our login and of others in each.
fn log() -> String {
    let world = Fixture::new();
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    for _ in 0..3 {
        received(&audit, 5);
        record_ours(&audit);
        received(&audit, 5);
        audit.flush();
        world.pass_a_minute();
        audit.flush();
    }
    memory.text()
}

fn record_ours(audit: &Audit) {
    audit.record(|| Event::new(EventKind::CodeIssued).sp(&"ours".into()).support_id(&OURS.into()));
}

fn prove(text: &str) -> (LoginProof, Vec<ProofError>) {
    let keys = keys(&RING);
    let mut prover = Prover::new(&keys, OURS.into(), None);
    prover.read_file(&mut text.as_bytes()).unwrap();
    prover.finish()
}

fn check(proof: &EventProof) -> Result<u64, ProofError> {
    proof.verify(OURS, &keys(&RING)).map(|claims| claims.seq)
}

#[test]
fn every_event_of_a_login_is_proven_without_the_log() {
    let (proof, errors) = prove(&log());
    assert_eq!((proof.events.len(), errors), (3, vec![]));
    for event in &proof.events {
        assert!(check(event).is_ok(), "{event:?}");
        assert_eq!(event.tree_size, 12);
        assert_eq!(event.inclusion_path.len(), 4, "hashes of a tree of 12 leaves");
    }
    let text = serde_json::to_string(&proof).unwrap();
    assert_eq!(serde_json::from_str::<LoginProof>(&text).unwrap(), proof);
    let every = proof.verify(&keys(&RING)).unwrap();
    assert!(every.iter().all(|(_, result)| result.is_ok()));
}

#[test]
fn a_proof_shows_no_line_of_another_login() {
    let log = log();
    let (proof, _) = prove(&log);
    let text = serde_json::to_string(&proof).unwrap();
    assert!(!text.contains("0123456789AB"), "the support id of the others: {text}");
    for line in log.lines().filter(|line| !line.contains(OURS)) {
        assert!(!text.contains(line), "{line}");
    }
}

#[test]
fn a_line_that_was_changed_in_a_proof_is_found() {
    let (proof, _) = prove(&log());
    let genuine = &proof.events[1];
    let forge = |change: &dyn Fn(&mut EventProof)| {
        let mut forged = genuine.clone();
        change(&mut forged);
        check(&forged)
    };
    let mismatch = Err(ProofError::RootMismatch);
    assert_eq!(forge(&|p| p.line = p.line.replace("ours", "mine")), mismatch);
    assert_eq!(forge(&|p| p.leaf_index += 1), mismatch);
    assert_eq!(forge(&|p| p.tree_size += 1), mismatch);
    assert_eq!(forge(&|p| p.inclusion_path[0] = hex::encode(hash_leaf(b"x"))), mismatch);
    assert_eq!(forge(&|p| p.inclusion_path[0] = "x".to_owned()), mismatch);
    assert_eq!(forge(&|p| drop(p.inclusion_path.pop())), mismatch);
    assert_eq!(forge(&|p| p.checkpoint = proof.events[0].checkpoint.clone()), mismatch);
    assert_eq!(forge(&|p| p.line = "{}".to_owned()), Err(ProofError::NotAnAuditLine));
    assert!(matches!(
        forge(&|p| p.checkpoint = format!("{}x", p.checkpoint)),
        Err(ProofError::InvalidCheckpoint(_))
    ));
}

/// A genuine line of another login, offered as the proof of this one.
#[test]
fn a_proof_of_another_login_is_refused() {
    let (proof, _) = prove(&log());
    let result = proof.events[0].verify("0123456789AB", &keys(&RING));
    assert!(matches!(result, Err(ProofError::OtherSupportId { .. })), "{result:?}");
}

#[test]
fn a_proof_by_a_foreign_key_proves_nothing() {
    let (proof, _) = prove(&log());
    let result = proof.events[0].verify(OURS, &keys(&OTHER));
    assert!(matches!(result, Err(ProofError::UnknownKey(_))), "{result:?}");
    assert!(result.unwrap_err().is_inconclusive());
}

#[test]
fn no_event_of_a_modified_minute_is_proven_and_those_of_the_others_are() {
    let forged = log().replacen("\"sp\":\"sp\"", "\"sp\":\"me\"", 1);
    let (proof, errors) = prove(&forged);
    assert_eq!((proof.events.len(), errors), (2, vec![ProofError::RootMismatch]));
}

#[test]
fn an_event_without_a_checkpoint_is_not_proven_yet() {
    let world = Fixture::new();
    let (audit, memory) = world.in_memory(WhenFull::Stop);
    record_ours(&audit);
    audit.flush();
    let (proof, errors) = prove(&memory.text());
    assert_eq!((proof.events.len(), errors), (0, vec![ProofError::NotSigned(3)]));
}

/// Attack: who can write the file forges an event while the hub is down, and the next process signs
/// what it finds.
#[tokio::test]
async fn a_line_that_only_the_next_process_signed_is_not_proven() {
    let folder = TempDir::with_prefix("passerelle-audit-").unwrap();
    let path = folder.path().join("audit.jsonl");
    let world = Fixture::new();
    let audit = world.on(&path, FOR_EVER);
    record_ours(&audit);
    audit.flush();
    let killed = fs::read(&path).unwrap();
    audit.stop().await;
    drop(audit);
    fs::write(&path, killed).unwrap();
    let audit = world.on(&path, FOR_EVER);
    record_ours(&audit);
    audit.stop().await;
    let text = fs::read_to_string(&path).unwrap();
    let (proof, errors) = prove(&text);
    assert_eq!(errors, [ProofError::SignedByAnotherProcess(3)]);
    assert!(errors[0].is_inconclusive());
    assert_eq!(proof.events.len(), 1, "the second process signed its own line");
    // A proof that the attacker makes without the command shows nothing either.
    let lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
    let leaves: Vec<_> = lines[1..4].iter().map(|line| hash_leaf(line.as_bytes())).collect();
    let checkpoint: Value = serde_json::from_str(&lines[4]).unwrap();
    let crafted = EventProof {
        line: lines[2].trim_ascii_end().to_owned(),
        leaf_index: 1,
        tree_size: 3,
        inclusion_path: crate::merkle::inclusion_path(&leaves, 1)
            .unwrap()
            .iter()
            .map(hex::encode)
            .collect(),
        checkpoint: checkpoint["jws"].as_str().unwrap().to_owned(),
    };
    assert_eq!(check(&crafted), Err(ProofError::SignedByAnotherProcess(3)));
}

#[test]
fn a_checkpoint_that_signs_another_tree_is_found() {
    use crate::chain::CheckpointClaims;
    let mut tree = crate::merkle::MerkleTree::default();
    tree.push(b"line\n");
    let claims = |size: u64, root: String| CheckpointClaims {
        iss: String::new(),
        iat: 0,
        node: String::new(),
        seq: 1,
        hash: String::new(),
        tree_size: size,
        root_hash: root,
        inherited_leaves: 0,
    };
    assert!(claims(1, hex::encode(tree.root())).matches_tree(&tree));
    assert!(!claims(2, hex::encode(tree.root())).matches_tree(&tree));
    assert!(!claims(1, hex::encode(hash_leaf(b"other\n"))).matches_tree(&tree));
}

/// A file that ends behind its last checkpoint may have been truncated there and filled up.
#[test]
fn a_truncated_log_with_lines_after_its_last_checkpoint_is_not_called_whole() {
    let text = log();
    let cut: String = text.split_inclusive('\n').take(20).collect();
    let report = verify(&cut);
    assert_eq!(
        (report.result(), report.last_signed.clone().unwrap().seq, report.unproven_lines),
        (VerificationResult::Unproven, 13, 6),
        "{report:?}"
    );
    assert_eq!(verify(&text).result(), VerificationResult::Intact);
    let report = verify(&cut[..cut.len() - 5]);
    assert_eq!(
        (report.result(), report.unproven_lines),
        (VerificationResult::Unproven, 6),
        "a part of a line is a line"
    );
}

#[test]
fn a_running_hub_without_a_checkpoint_for_90_seconds_is_found() {
    let cut: String = log().split_inclusive('\n').take(20).collect();
    let judge = |seconds: u64| {
        let mut report = verify(&cut);
        report.expect_running_hub(NOON + Duration::from_secs(seconds));
        report
    };
    let report = judge(60 + 90);
    assert_eq!(
        (report.result(), report.awaiting_checkpoint),
        (VerificationResult::Intact, 6),
        "{report:?}"
    );
    let report = judge(60 + 91);
    assert_eq!(
        finding_kinds(&report),
        [FindingKind::NotSigned { from: 14, to: 20, seconds: 91 }],
        "{report:?}"
    );
    assert_eq!(report.result(), VerificationResult::Modified);
}
