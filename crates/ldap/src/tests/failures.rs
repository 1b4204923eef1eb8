//! Tests of broken directories, invalid files and diagnostics.

use super::*;

#[tokio::test]
async fn each_failure_of_a_directory_has_its_own_code() {
    let fixture = Fixture::new().await;
    let set = |change: &dyn Fn(&mut crate::testing::fake_directory::DirectoryScript)| {
        change(&mut fixture.directory.script.lock().unwrap())
    };
    set(&|script| script.bind_result = Some(19));
    assert!(
        is_rejected(&fixture.sign_in("ada", "right").await),
        "a locked account looks like a wrong password"
    );
    fixture.clock.advance(WINDOW);
    set(&|script| (script.bind_result, script.search_result) = (None, Some(32)));
    assert_eq!(
        fixture.sign_in("ada", "right").await,
        Err(ErrorCode::LdapAnswer),
        "base_dn does not exist"
    );
    set(&|script| {
        (script.search_result, script.raw_response) = (None, Some(b"\x30\x03\x02\x01\x01".to_vec()))
    });
    assert_eq!(fixture.sign_in("ada", "right").await, Err(ErrorCode::LdapAnswer));
    set(&|script| script.raw_response = None);
    for subject in [vec![], vec![b"u-1".as_slice(), b"u-2"], vec![b" ".as_slice()]] {
        set(&|script| script.entries[0].2[0].1.clone_from(&subject));
        assert_eq!(
            fixture.sign_in("ada", "right").await,
            Err(ErrorCode::LdapSubject),
            "{subject:?}"
        );
    }
    set(&|script| script.entries[0].2[0].1 = vec![&[0xff, 0x00, 0x10]]);
    assert_eq!(
        fixture.sign_in("ada", "right").await,
        Err(ErrorCode::LdapSubject),
        "an entryUUID is text"
    );
}

#[tokio::test]
async fn preload_fails_if_the_directory_is_down_or_rejects_the_hub() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.connector.preload().await, Ok(()));
    let stranger = connector(
        &format!("ldap://127.0.0.1:{}", fixture.directory.port),
        "internal_hosts = [\"127.0.0.1\"]\n",
        &fixture.clock,
    );
    let stranger = LdapConnector {
        directory: Arc::new(with_password(&fixture, "not the hub's")),
        ..stranger.unwrap()
    };
    assert_eq!(stranger.preload().await.unwrap_err().code, ErrorCode::LdapAccount);
    fixture.directory.script.lock().unwrap().account_bind_result = Some(53);
    let banned = stranger.preload().await.unwrap_err();
    assert!(
        banned.detail.contains("temporarily rejects binds from this address"),
        "{}",
        banned.detail
    );
    let port = fixture.directory.port;
    drop(fixture.directory);
    let gone = connector(
        &format!("ldap://127.0.0.1:{port}"),
        "internal_hosts = [\"127.0.0.1\"]\n",
        &fixture.clock,
    )
    .unwrap();
    tokio::task::yield_now().await;
    assert_eq!(gone.preload().await.unwrap_err().code, ErrorCode::IdpUnreachable);
}

#[test]
fn an_invalid_file_is_rejected_with_its_key() {
    let clock = Arc::new(ManualClock::default());
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, "no certificate").unwrap();
    let ca = format!("ca = {:?}", ca.display().to_string());
    for (url, more, key) in [
        ("ldap://127.0.0.1", "", "kind.ldap.url"),
        ("ldaps://dir.example", "filter = \"(uid={username}\"", "kind.ldap.filter"),
        ("ldaps://dir.example", "filter = \"((uid={username})\"", "kind.ldap.filter"),
        ("ldaps://dir.example", "ca = \"/nowhere.pem\"", "kind.ldap.ca"),
        ("ldaps://dir.example", ca.as_str(), "kind.ldap.ca"),
    ] {
        assert_eq!(connector(url, more, &clock).err().unwrap().key, key, "{url} {more}");
    }
}

#[tokio::test]
async fn diagnostics_of_a_directory_contain_no_values_of_entries() {
    use passerelle_connector::diagnostic::DiagnosticStatus;
    use passerelle_federation::identity::Claim;
    let context = DiagnosisContext {
        redirect_uri: String::new(),
        required_claims: vec![(Claim::FamilyName, vec!["sn".into()]), (Claim::Gender, vec![])],
    };
    let fixture = Fixture::new().await;
    let diagnostics = fixture.connector.diagnose(&context).await;
    let statuses: Vec<_> =
        diagnostics.iter().map(|diagnostic| (diagnostic.name, diagnostic.status)).collect();
    assert_eq!(
        statuses,
        [
            ("reachable", DiagnosticStatus::Ok),
            ("certificate", DiagnosticStatus::Warning), // there is no TLS in this test
            ("account", DiagnosticStatus::Ok),
            ("base-dn", DiagnosticStatus::Ok),
            ("filter", DiagnosticStatus::Ok),
            ("subject", DiagnosticStatus::Ok),
            ("attributes", DiagnosticStatus::Warning), // no entry has a telephoneNumber
            ("lockout", DiagnosticStatus::Warning),    // no policy is visible
            ("claims", DiagnosticStatus::Warning),     // sn is not read
        ]
    );
    let page = include_str!("../../../../docs/checking-a-connector.md");
    for CheckDiagnostic { name, message, .. } in &diagnostics {
        assert!(page.contains(&format!("| `{name}` |")), "{name} is not explained");
        assert!(
            !["ada", "u-1", "Augusta"].iter().any(|value| message.contains(value)),
            "{message}"
        );
    }
    let requests = fixture.directory.take_requests();
    let presence =
        |request: &&LdapRequest| matches!(request, LdapRequest::Search { filter: 7, .. });
    assert_eq!(
        requests.iter().filter(presence).count(),
        4,
        "the base entry, all users, and where policies are: {requests:?}"
    );
    fixture.directory.script.lock().unwrap().search_result = Some(32);
    let diagnostics = fixture.connector.diagnose(&context).await;
    assert_eq!(
        diagnostics
            .iter()
            .find(|diagnostic| diagnostic.status == DiagnosticStatus::Error)
            .map(|diagnostic| diagnostic.name),
        Some("base-dn")
    );
    fixture.directory.script.lock().unwrap().raw_response =
        Some(vec![0x30, 0x03, 0x02, 0x01, 0x01]);
    let diagnostics = fixture.connector.diagnose(&context).await;
    assert!(
        diagnostics.iter().any(|diagnostic| diagnostic.name == "account"
            && diagnostic.status == DiagnosticStatus::Error),
        "{diagnostics:?}"
    );
}

#[tokio::test]
async fn a_malformed_entry_is_diagnosed_without_a_panic() {
    use passerelle_connector::diagnostic::DiagnosticStatus;
    let context = DiagnosisContext { redirect_uri: String::new(), required_claims: vec![] };
    let fixture = Fixture::new().await;
    fixture.directory.script.lock().unwrap().entries_are_malformed = true;
    let diagnostics = fixture.connector.diagnose(&context).await;
    let last = diagnostics.iter().find(|found| found.name == "account").unwrap();
    assert_eq!(last.status, DiagnosticStatus::Error, "{diagnostics:?}");
    assert!(last.message.contains("an entry is malformed"), "{diagnostics:?}");
}

/// `SearchEntry::construct` of `ldap3` panics on each of the malformed ones.
#[test]
fn a_malformed_entry_is_refused_without_a_panic() {
    use ldap3::ResultEntry;
    use ldap3::asn1::{PL, StructureTag, TagClass};

    use crate::directory::entry::SearchResultEntry;

    let tag = |id, payload| StructureTag { class: TagClass::Universal, id, payload };
    let text = |bytes: &[u8]| tag(4, PL::P(bytes.to_vec()));
    let list = |parts: &[StructureTag]| tag(16, PL::C(parts.to_vec()));
    let read = |id, parts: &[StructureTag]| {
        SearchResultEntry::read(ResultEntry::new(tag(id, PL::C(parts.to_vec()))))
    };
    let mail = list(&[text(b"mail"), list(&[text(b"ada@example.org")])]);
    let photo = list(&[text(b"photo"), list(&[text(b"\xff\xd8"), text(b"text")])]);
    let entry = read(4, &[text(b"uid=ada"), list(&[mail.clone(), photo])]).unwrap();
    assert_eq!(entry.dn, "uid=ada");
    assert_eq!(entry.values("MAIL").collect::<Vec<_>>(), [b"ada@example.org"]);
    assert_eq!(entry.values("photo").collect::<Vec<_>>(), [&b"\xff\xd8"[..], b"text"]);
    let malformed: [&[StructureTag]; 8] = [
        &[],
        &[text(b"uid=ada")],
        &[text(b"\xff"), list(&[])],
        &[list(&[]), list(&[])],
        &[text(b"uid=ada"), text(b"mail")],
        &[text(b"uid=ada"), list(&[text(b"mail")])],
        &[text(b"uid=ada"), list(&[list(&[text(b"\xff"), list(&[])])])],
        &[text(b"uid=ada"), list(&[list(&[text(b"mail"), list(&[list(&[])])])])],
    ];
    for parts in malformed {
        assert!(read(4, parts).is_none(), "{parts:?}");
    }
    assert!(read(5, &[text(b"uid=ada"), list(&[mail])]).is_none(), "another message");
}

#[tokio::test]
async fn a_directory_cannot_end_the_process_with_nested_elements() {
    let fixture = Fixture::new().await;
    let mut nested = Vec::new();
    for _ in 0..20_000 {
        let length = u32::try_from(nested.len()).unwrap().to_be_bytes();
        nested = [&[0x30, 0x84], &length[..], &nested[..]].concat();
    }
    for raw in [nested, b"\x30\x84\x7f\xff\xff\xff".to_vec()] {
        fixture.directory.script.lock().unwrap().raw_response = Some(raw);
        assert_eq!(fixture.sign_in("ada", "right").await, Err(ErrorCode::LdapAnswer));
    }
    fixture.directory.script.lock().unwrap().raw_response = None;
    accepted(fixture.sign_in("ada", "right").await);
}

#[tokio::test]
async fn a_response_injected_before_tls_is_refused() {
    let fixture = Fixture::with("starttls = true").await;
    let agreed = b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00";
    let bind_accepted = b"\x30\x0c\x02\x01\x02\x61\x07\x0a\x01\x00\x04\x00\x04\x00";
    let mut rejected = agreed.to_vec();
    rejected[9] = 52;
    for (raw, expected) in [
        ([&agreed[..], &bind_accepted[..]].concat(), ErrorCode::LdapAnswer),
        (b"\x30\x03\x02\x01\x01".to_vec(), ErrorCode::LdapAnswer),
        (b"\x30\x80\x00\x00".to_vec(), ErrorCode::LdapAnswer),
        (rejected, ErrorCode::LdapTls),
    ] {
        fixture.directory.script.lock().unwrap().raw_response = Some(raw);
        assert_eq!(fixture.sign_in("ada", "right").await, Err(expected));
    }
}
