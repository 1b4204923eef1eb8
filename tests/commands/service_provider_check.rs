//! `passerelle check service-provider FILE`, from outside: the file's findings, exit codes, JSON,
//! and the explanation of a request.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::folder::{VARIABLE, valid_config_folder};

const FILE: &str = r#"
client_id = "bakery"
name = { en = "Bakery" }
home_page = "https://bakery.example/"
redirect_uris = ["https://bakery.example/callback"]
scopes = ["openid", "email"]
[[secrets]]
env = "SERVICE_PROVIDER_BAKERY__SECRET"
"#;

const CHALLENGE: &str =
    "code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256";

struct CheckOutput {
    code: Option<i32>,
    text: String,
}

fn check(folder: &Path, arguments: &[&str]) -> CheckOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    command.args(["check", "service-provider"]).args(arguments).current_dir(folder);
    run(command, "")
}

fn run(mut command: Command, input: &str) -> CheckOutput {
    command.env("SERVICE_PROVIDER_BAKERY__SECRET", "s".repeat(40)).env(VARIABLE.0, VARIABLE.1);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text =
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    CheckOutput { code: output.status.code(), text }
}

/// A hub's folder, and beside its own folders the file `bakery.toml`.
fn folder(file: &str) -> TempDir {
    let folder = valid_config_folder();
    fs::write(folder.path().join("bakery.toml"), file).unwrap();
    folder
}

fn request(changes: &str) -> String {
    let common = "response_type=code&state=0123456789012345678901&nonce=0123456789012345678901&acr_values=eidas1";
    format!("http://localhost:8080/api/v2/authorize?{common}&{CHALLENGE}&{changes}")
}

fn good_request() -> String {
    request(
        "client_id=bakery&scope=openid%20email&redirect_uri=https%3A%2F%2Fbakery.example%2Fcallback",
    )
}

fn explain(folder: &TempDir, url: &str) -> (Option<i32>, Value) {
    let arguments = ["bakery.toml", "--config", ".", "--json", "--request", url];
    let output = check(folder.path(), &arguments);
    let report = serde_json::from_str(&output.text);
    (output.code, report.unwrap_or_else(|_| panic!("{}", output.text)))
}

fn parameter<'a>(report: &'a Value, name: &str) -> &'a Value {
    let parameters = report["request"]["parameters"].as_array().unwrap();
    parameters.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{report:#}"))
}

#[test]
fn a_good_file_is_ok_with_and_without_a_hub() {
    let (hub, alone) = (folder(FILE), tempfile::tempdir().unwrap());
    fs::write(alone.path().join("bakery.toml"), FILE).unwrap();
    for folder in [hub, alone] {
        let output = check(folder.path(), &["bakery.toml"]);
        assert_eq!(output.code, Some(0), "{}", output.text);
        assert!(output.text.contains("ok       file: the file is well formed"), "{}", output.text);
        assert!(output.text.contains("token_endpoint_auth_method  client_secret_post"));
    }
}

#[test]
fn every_problem_is_found_at_once_with_its_fix() {
    let file = FILE
        .replace("https://bakery.example/callback", "http://bakery.example/*")
        .replace("\"email\"", "\"emial\"")
        .replace("home_page", "insecure_http = true\nsector = \" \"\nhome_page")
        .replace("client_id = \"bakery\"", "client_id = \"the bakery\"");
    let output = check(folder(&file).path(), &["bakery.toml", "--config", "."]);
    assert_eq!(output.code, Some(1), "{}", output.text);
    for line in [
        "client_id: is not a valid client_id",
        "redirect_uris[0]: contains a *",
        "scopes[1]: is granted, but is not in the scopes table",
        "sector: is empty",
        "warning  file: bakery.toml:",
        "insecure_http allows authorization codes to be sent without TLS",
    ] {
        assert!(output.text.contains(line), "{line}: {}", output.text);
    }
    let fixes = output.text.matches("fix: ").count();
    assert!(fixes >= 5, "{}", output.text);
}

#[test]
fn what_contradicts_a_security_profile_is_an_error_and_what_it_demands_is_listed() {
    let keys = "profile = \"fapi2-message-signing\"\ntoken_endpoint_auth_method = \"private_key_jwt\"\njwks_uri = \"https://bakery.example/jwks\"";
    let file = FILE.replace("[[secrets]]\nenv = \"SERVICE_PROVIDER_BAKERY__SECRET\"", keys);
    let folder = folder(&file);
    let settings = folder.path().join("passerelle.toml");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, format!("pushed_authorization_requests = \"accepted\"\n{text}")).unwrap();
    let output = check(folder.path(), &["bakery.toml", "--config", "."]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    let output = check(folder.path(), &["bakery.toml", "--config", ".", "--json"]);
    let report: Value = serde_json::from_str(&output.text).unwrap();
    for (name, value) in [
        ("profile", "fapi2-message-signing"),
        ("require_pushed_authorization_requests", "true"),
        ("dpop_bound_access_tokens", "true"),
        ("request_object_signing_alg", "ES256 or PS256 or EdDSA"),
        ("authorization_signed_response_alg", "ES256"),
    ] {
        let listed = report["registration"].as_array().unwrap().iter();
        let listed = listed.filter(|one| one["name"] == name).map(|one| &one["value"]);
        assert_eq!(listed.collect::<Vec<_>>(), [value], "{name}");
    }
    let contradicting = file.replace("profile =", "require_pkce = false\nprofile =");
    fs::write(folder.path().join("bakery.toml"), contradicting).unwrap();
    let output = check(folder.path(), &["bakery.toml", "--config", "."]);
    assert_eq!(output.code, Some(1), "{}", output.text);
    assert!(output.text.contains("require_pkce: is false, which profile"), "{}", output.text);
}

#[test]
fn a_conflict_with_another_file_of_the_folder_is_found() {
    let folder = folder(FILE);
    let other = folder.path().join("service-providers/other.toml");
    fs::write(&other, FILE.replace("SERVICE_PROVIDER_BAKERY", "SERVICE_PROVIDER_OTHER")).unwrap();
    let output = check(folder.path(), &["bakery.toml", "--config", "."]);
    assert!(
        output.code == Some(1) && output.text.contains("is already the client_id of"),
        "{}",
        output.text
    );
    // The file that this one replaces is no conflict.
    fs::rename(&other, folder.path().join("service-providers/bakery.toml")).unwrap();
    let output = check(folder.path(), &["bakery.toml", "--config", "."]);
    assert_eq!(output.code, Some(0), "{}", output.text);
    let denied = format!("{FILE}\n[connectors]\ndeny = [\"persons\"]\n");
    fs::write(folder.path().join("bakery.toml"), denied).unwrap();
    let output = check(folder.path(), &["bakery.toml", "--config", "."]);
    assert!(output.text.contains("excludes every existing connector"), "{}", output.text);
}

#[test]
fn a_missing_file_and_one_that_is_not_toml_are_errors() {
    let folder = folder("client_id = \"bakery\nname");
    for (file, message) in
        [("none.toml", "none.toml"), ("bakery.toml", "is not valid TOML at this line")]
    {
        let output = check(folder.path(), &[file, "--request", &good_request()]);
        assert!(output.code == Some(1) && output.text.contains(message), "{}", output.text);
        assert!(output.text.contains("the request was not explained"), "{}", output.text);
    }
    let output = check(folder.path(), &["bakery.toml", "--config", "none"]);
    assert!(output.code == Some(1) && output.text.contains("passerelle.toml"), "{}", output.text);
    assert_eq!(check(folder.path(), &[]).code, Some(64));
}

#[test]
fn the_check_finds_the_configuration_folder_of_a_file_or_names_the_folder_of_relative_paths() {
    let (variable, file) =
        ("env = \"SERVICE_PROVIDER_BAKERY__SECRET\"", "file = \"bakery.secret\"");
    let file = FILE.replacen(variable, file, 1);
    let alone = tempfile::tempdir().unwrap();
    fs::write(alone.path().join("bakery.toml"), &file).unwrap();
    let output = check(alone.path(), &["bakery.toml"]);
    let fix = "because --config is missing, that is the folder of this file";
    assert!(output.text.contains(fix), "{}", output.text);
    let folder = folder(&file);
    let expected = check(folder.path(), &["bakery.toml", "--config", "."]);
    assert!(!expected.text.contains("--config is missing"), "{}", expected.text);
    let output = check(folder.path(), &["bakery.toml"]);
    assert_eq!((output.code, output.text), (expected.code, expected.text));
}

#[test]
fn a_good_request_is_explained_parameter_by_parameter() {
    let folder = folder(FILE);
    let (code, report) = explain(&folder, &good_request());
    assert_eq!(code, Some(0), "{report:#}");
    assert_eq!(report["request"]["outcome"]["result"], "accepted");
    assert_eq!(parameter(&report, "prompt")["status"], "default");
    let scope = parameter(&report, "scope")["message"].as_str().unwrap();
    assert!(scope.contains("openid releases sub") && scope.contains("email releases email"));
    assert_eq!(parameter(&report, "state")["sent"], "22 characters");
    let output = check(folder.path(), &["bakery.toml", "--request", &good_request()]);
    for line in [
        "the request, parameter by parameter",
        "default    prompt = (not sent)",
        "The hub accepts the request and starts a login.",
    ] {
        assert!(output.code == Some(0) && output.text.contains(line), "{line}: {}", output.text);
    }
}

#[test]
fn a_rejected_request_names_who_sees_the_error() {
    let folder = folder(FILE);
    let (code, report) = explain(
        &folder,
        &request("client_id=bakery&scope=openid&redirect_uri=https%3A%2F%2Fevil.example%2F"),
    );
    assert_eq!(code, Some(1));
    assert_eq!(report["request"]["outcome"]["result"], "error_page");
    assert_eq!(report["request"]["outcome"]["code"], "Y030203");
    let fix = parameter(&report, "redirect_uri")["fix"].as_str().unwrap();
    assert!(fix.contains("https://bakery.example/callback"), "{fix}");
    let (_, report) = explain(&folder, &good_request().replace("openid%20email", "openid%20birth"));
    let outcome = &report["request"]["outcome"];
    assert_eq!(outcome["result"], "error_redirect");
    assert_eq!(outcome["error"], "invalid_scope");
    assert_eq!(outcome["redirect_uri"], "https://bakery.example/callback");
}

#[test]
fn the_request_of_another_client_or_to_another_hub_is_named() {
    let folder = folder(FILE);
    let (code, report) = explain(&folder, &good_request().replace("=bakery", "=smithy"));
    assert_eq!(code, Some(1));
    let text = report["diagnostics"].to_string();
    assert!(text.contains("the request is not from bakery: it has another client_id"), "{text}");
    assert_eq!(parameter(&report, "scope")["status"], "unchecked");
    let (code, report) = explain(&folder, &good_request().replace("localhost", "evil.example"));
    assert_eq!(code, Some(2));
    assert!(report["diagnostics"].to_string().contains("another endpoint"), "{report:#}");
}

#[test]
fn text_that_is_no_request_is_an_error_that_names_what_to_paste() {
    let folder = folder(FILE);
    let huge = format!("{}&x={}", good_request(), "x".repeat(20_000));
    for (url, message) in [
        ("client_id=bakery", "it is not an absolute https or http URL"),
        ("http://localhost:8080/api/v2/authorize", "it has no query"),
        (
            "http://localhost:8080/api/v2/authorize?scope=%f",
            "the value of one of its parameters can't be decoded",
        ),
        (huge.as_str(), "it is longer than 16384 bytes"),
    ] {
        let (code, report) = explain(&folder, url);
        assert_eq!((code, &report["status"]), (Some(1), &Value::from("error")), "{url:.60}");
        assert!(report["diagnostics"].to_string().contains(message), "{report:#}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_passerelle"));
    command.args(["check", "service-provider", "bakery.toml", "--request", "-"]);
    command.current_dir(folder.path());
    let output = run(command, &good_request());
    assert!(output.code == Some(0) && output.text.contains("starts a login"), "{}", output.text);
}

#[test]
fn a_secret_in_a_request_is_never_printed() {
    let url = format!("{}&client_secret=hunter2&code_verifier=hunter2", good_request());
    let output = check(folder(FILE).path(), &["bakery.toml", "--request", &url]);
    assert!(!output.text.contains("hunter2"), "{}", output.text);
    assert!(
        output.code == Some(2) && output.text.contains("replace the secret"),
        "{}",
        output.text
    );
}

/// Serves one key set over HTTP, and returns its address.
fn key_server() -> String {
    let keys = r#"{"keys":[{"kty":"EC","crv":"P-256","kid":"1","use":"sig","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/jwks", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _head = stream.read(&mut [0; 4096]).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", keys.len());
        stream.write_all((head + keys).as_bytes()).unwrap();
    });
    address
}

#[test]
fn the_keys_at_a_jwks_uri_are_fetched() {
    let keys = format!(
        "token_endpoint_auth_method = \"private_key_jwt\"\njwks_uri = \"{}\"\ninternal_hosts = [\"127.0.0.1\"]\ninsecure_http = true",
        key_server()
    );
    let file = FILE.replace("[[secrets]]\nenv = \"SERVICE_PROVIDER_BAKERY__SECRET\"", &keys);
    let file = file.replace("https://bakery.example/callback", "http://localhost:3000/callback");
    let output = check(folder(&file).path(), &["bakery.toml", "--online"]);
    assert!(
        output.code == Some(2)
            && output.text.contains("ok       keys: the keys at jwks_uri are valid"),
        "{}",
        output.text
    );
}

#[test]
fn an_unreachable_server_of_a_redirect_uri_is_a_warning() {
    let file = FILE.replace("https://bakery.example/callback", "https://127.0.0.1:9/callback");
    let output = check(folder(&file).path(), &["bakery.toml", "--online"]);
    assert!(
        output.code == Some(2)
            && output.text.contains("warning  redirect-uri: https://127.0.0.1:9 was not reached"),
        "{}",
        output.text
    );
    let keys = file.replace(
        "[[secrets]]\nenv = \"SERVICE_PROVIDER_BAKERY__SECRET\"",
        "token_endpoint_auth_method = \"private_key_jwt\"\njwks_uri = \"https://127.0.0.1:9/jwks\"\ninternal_hosts = [\"127.0.0.1\"]",
    );
    let output = check(folder(&keys).path(), &["bakery.toml", "--online"]);
    assert!(
        output.code == Some(1)
            && output.text.contains("ERROR    keys: the keys at jwks_uri can't be used"),
        "{}",
        output.text
    );
}

#[test]
fn terminal_escapes_in_a_received_file_reach_no_terminal() {
    let file = FILE.replace("\"bakery\"", r#""bakery\u001b]0;title\u0007\u001b[31m""#);
    let output = check(folder(&file).path(), &["bakery.toml", "--config", "."]);
    assert_eq!(output.code, Some(1), "{}", output.text);
    assert!(output.text.contains("bakery\u{fffd}]0;title"), "{}", output.text);
    assert!(!output.text.contains(['\u{1b}', '\u{7}']), "{}", output.text);
}
