//! Operators with tokens of their own, and the other hubs.

use super::*;
use passerelle_admin::settings::OperatorRole;

const LISTEN: &str = "private.listen = \"127.0.0.1:9090\"";
const ALICE: &str = "alice-has-a-token-of-more-than-32-characters";
const PEER: &str = "the-hubs-have-a-token-of-more-than-32-characters";

fn with(lines: &str) -> Folder {
    Folder::good().variable("ALICE", ALICE).variable("PEER", PEER).edit(
        "passerelle.toml",
        LISTEN,
        &format!("{LISTEN}\n{lines}"),
    )
}

const GOOD: &str = "private.operators = [{ name = \"Alice\", role = \"viewer\", token = { env = \"ALICE\" } }]\n\
    private.peers = { hub-1 = \"http://10.0.0.1:9090\", hub-2 = \"https://hub-2.internal\" }\n\
    private.peer_token = { env = \"PEER\" }";

#[test]
fn operators_and_peers_are_read() {
    let access = with(GOOD).loaded().private_access;
    let alice = &access.operators[0];
    assert_eq!((alice.name.as_str(), alice.role), ("Alice", OperatorRole::Viewer));
    assert_eq!(alice.token.reveal(), ALICE);
    let peers = access.peers.unwrap();
    assert_eq!((peers.token.reveal().as_str(), peers.peers.len()), (PEER, 2));
    let none = Folder::good().loaded().private_access;
    assert!(none.operators.is_empty() && none.peers.is_none());
}

#[test]
fn each_bad_operator_or_peer_is_named_with_its_fix() {
    let two = "private.operators = [{ name = \"Alice\", role = \"viewer\", token = { env = \"ALICE\" } }, \
        { name = \"NAME\", role = \"operator\", token = { env = \"TOKEN\" } }]";
    let second = |name: &str, token: &str| two.replace("NAME", name).replace("TOKEN", token);
    let table = [
        (second("Alice", "PEER"), "private.operators[1].name", "different for each person"),
        (second("", "PEER"), "private.operators[1].name", "1 to 64"),
        (second("a\\nb", "PEER"), "private.operators[1].name", "printable"),
        // One token with two roles would have the rights of both.
        (second("Bob", "ALICE"), "private.operators[1].token", "used twice"),
        (second("Bob", "SHORT"), "private.operators[1].token", "too short"),
        (GOOD.replace("\"PEER\"", "\"ALICE\""), "private.peer_token", "used twice"),
        (
            GOOD.replace("private.peer_token = { env = \"PEER\" }", ""),
            "private.peer_token",
            "is missing",
        ),
        (GOOD.replace("10.0.0.1:9090", "10.0.0.1:9090/admin"), "private.peers.hub-1", "path"),
        (GOOD.replace("http://10", "ftp://10"), "private.peers.hub-1", "http"),
        (GOOD.replace("viewer", "root"), "private.operators[0].role", "viewer, operator"),
    ];
    for (lines, key, words) in table {
        let (_, _, text) = with(&lines).problem_at(key);
        assert!(text.contains(words), "{lines}: {text}");
    }
}
