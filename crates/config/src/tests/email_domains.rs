//! Tests of connectors that are found by e-mail domain.

use super::*;
use passerelle_protocol::email_domain::EmailDomain;

const FILE: &str = "connectors/idp.toml";
const NAME: &str = "name = { en = \"Provider\" }";

fn listing(domains: &str) -> String {
    CONNECTOR.replace(NAME, &format!("{NAME}\nemail_domains = [{domains}]"))
}

#[test]
fn each_bad_domain_is_named_with_its_fix() {
    for (domains, key, word) in [
        ("\"*\"", "email_domains[0]", "for its subdomains"),
        ("\"example.org\", \"*.org*\"", "email_domains[1]", "for its subdomains"),
        ("\"mail.*.org\"", "email_domains[0]", "for its subdomains"),
        ("\"*.org\"", "email_domains[0]", "two labels"),
        ("\"localhost\"", "email_domains[0]", "two labels"),
        ("\"\"", "email_domains[0]", "two labels"),
        ("\"192.0.2.1\"", "email_domains[0]", "two labels"),
        ("\"example.org/x\"", "email_domains[0]", "two labels"),
        ("\"angela@example.org\"", "email_domains[0]", "follows the @"),
        ("\"Example.org\"", "email_domains[0]", "lower case"),
        ("\"münchen.example\"", "email_domains[0]", "xn--"),
        ("\"example.org\", \"example.org\"", "email_domains[1]", "listed twice"),
    ] {
        let (file, found, text) = Folder::good().with(FILE, listing(domains)).problem();
        assert_eq!((file.as_str(), found.as_str()), (FILE, key), "{domains}");
        assert!(text.contains(word), "{domains}: {text}");
    }
}

#[test]
fn a_domain_in_two_files_is_a_warning_that_names_the_other() {
    let folder = Folder::good()
        .with(FILE, listing("\"example.org\""))
        .with("connectors/other.toml", listing("\"*.example.org\", \"example.org\""));
    let loaded = folder.loaded();
    let warned: Vec<_> =
        loaded.warnings.iter().filter(|warning| warning.key.starts_with("email_domains")).collect();
    let [warning] = warned.as_slice() else { panic!("{warned:?}") };
    assert!(warning.file.ends_with("connectors/other.toml") && warning.key == "email_domains[1]");
    assert!(warning.message.contains("connector idp"), "{}", warning.message);
    assert!(warning.line.is_some());

    let federation = loaded.build_federation();
    for (name, found) in [
        ("example.org", &["idp", "other"][..]),
        ("mail.example.org", &["other"]),
        ("example.com", &[]),
    ] {
        let connectors = federation.connectors_for_domain(&EmailDomain::parse(name).unwrap());
        let ids: Vec<_> = connectors.iter().map(|id| id.as_str()).collect();
        assert_eq!(ids, found, "{name}");
    }
}

#[test]
fn the_closest_domain_wins() {
    let folder = Folder::good()
        .with(FILE, listing("\"*.example.org\""))
        .with("connectors/other.toml", listing("\"*.labs.example.org\""));
    let federation = folder.loaded().build_federation();
    for (name, found) in [("a.example.org", "idp"), ("a.labs.example.org", "other")] {
        let connectors = federation.connectors_for_domain(&EmailDomain::parse(name).unwrap());
        assert_eq!(connectors, [found.into()], "{name}");
    }
}

#[test]
fn a_question_that_no_connector_answers_is_a_warning() {
    let settings = format!("{SETTINGS}\n[choice]\nask_email = true\n");
    let folder = Folder::good().with("passerelle.toml", settings);
    let is_warned = |folder: &Folder| {
        folder.loaded().warnings.iter().any(|warning| warning.key == "choice.ask_email")
    };
    assert!(is_warned(&folder));
    assert!(!is_warned(&folder.with(FILE, listing("\"example.org\""))));
}

#[test]
fn conflicts_with_the_file_of_domains_name_both_places() {
    let rows = "domain,connector\nexample.org,other\nexample.net,idp\nexample.net,other\nexample.com,missing\nexample.org,idp\n";
    let settings = format!("{SETTINGS}\n[choice]\nemail_domain_file = \"domains.csv\"\n");
    let folder = Folder::good()
        .with("passerelle.toml", settings)
        .with(FILE, listing("\"example.org\""))
        .with("connectors/other.toml", CONNECTOR.replace("CONNECTOR_IDP", "CONNECTOR_OTHER"))
        .with("domains.csv", rows);
    let conflicts = |folder: &Folder| -> Vec<_> {
        let warnings = folder.loaded().warnings;
        let of_file = warnings.into_iter().filter(|warning| warning.file.ends_with("domains.csv"));
        of_file.map(|warning| (warning.line, warning.message)).collect()
    };
    let found = conflicts(&folder);
    for ((line, message), (expected, word)) in
        found.iter().zip([(2, "the connector idp"), (4, "line 3"), (5, "missing")])
    {
        assert!(*line == Some(expected) && message.contains(word), "{line:?}: {message}");
    }
    assert_eq!(found.len(), 3, "{found:?}");
    let many: String = (0..60).map(|n| format!("d{n}.example.org,missing\n")).collect();
    let folder = folder.with("domains.csv", format!("domain,connector\n{many}"));
    let shown = conflicts(&folder);
    assert_eq!(shown.len(), 50);
    assert!(shown[49].1.contains("10 more"), "{:?}", shown[49]);
    let invalid = folder.with("domains.csv", "domain,connector\nexample.org,other\nwww,other\n");
    assert_eq!(conflicts(&invalid)[0].0, Some(3));
}
