//! Operators who decide on registrations in the admin console, and what attackers try there.

use serde_json::{Value, json};

use super::operators::listed;
use super::{TestClient, error, metadata, register};
use crate::admin_console::operators::{
    ALICE, VERA, form_token_of, recorded, sign_in_cookie, staffed_with, submit,
};
use crate::hub::{Answer, TestHub};

const BY_APPROVAL: &str =
    "client_registration = { open = \"approval\", scopes = [\"openid\", \"profile\"] }\n";
const ACTS: [&str; 2] = ["approve-client", "remove-client"];

/// A hub with a registration that waits, and a signed-in operator.
struct Console {
    hub: TestHub,
    client: TestClient,
    cookie: String,
    form_token: String,
}

impl Console {
    async fn with_registration(metadata: &Value) -> Self {
        let hub = staffed_with(BY_APPROVAL).await;
        let client = register(&hub, None, metadata).await;
        Self::signed_in(hub, client, ALICE).await
    }

    async fn signed_in(hub: TestHub, client: TestClient, token: &str) -> Self {
        let cookie = sign_in_cookie(&hub, token).await;
        let form_token = form_token_of(&hub.console_page("/admin/", &cookie).await.body);
        Self { hub, client, cookie, form_token }
    }

    async fn send(&self, act: &str, site: &str, more: &[(&str, &str)]) -> Answer {
        let fields = [
            ("form_token", self.form_token.as_str()),
            ("client_id", self.client.id()),
            ("reason", "ticket <i>4711"),
        ];
        let fields: Vec<_> = fields.iter().chain(more).copied().collect();
        submit(&self.hub, act, (&self.cookie, site), &fields).await
    }

    async fn ask(&self, act: &str) -> Answer {
        self.send(act, "same-origin", &[]).await
    }

    /// Confirms an act for the fingerprint on the page that asked.
    async fn confirm(&self, act: &str, asked: &Answer) -> Answer {
        let seen = fingerprint(asked);
        self.send(act, "same-origin", &[("confirmed", "yes"), ("fingerprint", &seen)]).await
    }

    async fn status(&self) -> Value {
        listed(&self.hub, self.client.id()).await["status"].clone()
    }
}

fn fingerprint(asked: &Answer) -> String {
    let named = asked.body.split_once("name=\"fingerprint\" value=\"");
    let value = named.and_then(|(_, rest)| rest.split('"').next());
    value.unwrap_or_default().to_owned()
}

#[actix_web::test]
async fn an_operator_approves_and_removes_a_registration_in_the_console_after_a_confirmation() {
    let console = Console::with_registration(&metadata()).await;
    let page = console.hub.console_page("/admin/", &console.cookie).await.body;
    assert!(ACTS.iter().all(|act| page.contains(&format!("/admin/actions/{act}"))), "{page}");
    let asked = console.ask("approve-client").await;
    assert_eq!(asked.status, 200, "{}", asked.body);
    for named in ["Approve this registration?", "Corner shop", "https://shop.example/callback"] {
        assert!(asked.body.contains(named), "{named}: {}", asked.body);
    }
    assert_eq!(console.status().await, "pending", "nothing happens before the confirmation");
    let done = console.confirm("approve-client", &asked).await;
    assert_eq!(done.status, 200, "{}", done.body);
    assert_eq!(console.status().await, "approved");
    let own_page = format!("/admin/service-providers?client_id={}", console.client.id());
    assert!(done.body.contains(&own_page), "{}", done.body);
    let page = console.hub.console_page(&own_page, &console.cookie).await.body;
    assert!(page.contains("Remove the registration of"), "{page}");
    let list = console.hub.console_page("/admin/service-providers?q=Corner", &console.cookie).await;
    assert!(list.body.contains(console.client.id()), "{}", list.body);
    let asked = console.ask("remove-client").await;
    assert!(asked.body.contains("Refuse or remove this registration?"), "{}", asked.body);
    assert_eq!(console.status().await, "approved");
    assert_eq!(console.confirm("remove-client", &asked).await.status, 200);
    let list = console.hub.admin_json("/admin/clients").await;
    assert_eq!(list["registrations"], json!([]));
    for event in ["client_approved", "client_removed"] {
        let line = recorded(&console.hub, event).pop().unwrap();
        assert_eq!(
            (&line["operator"], &line["reason"]),
            (&json!("alice"), &json!("ticket <i>4711"))
        );
    }
    assert_eq!(error(&console.client.redeem(&console.hub, "x").await).0, 401);
}

/// Attack: a client waits until the operator sees the page of the confirmation, and then changes
/// its registration.
#[actix_web::test]
async fn a_confirmation_in_the_console_approves_only_the_registration_that_it_showed() {
    let mut console = Console::with_registration(&metadata()).await;
    let asked = console.ask("approve-client").await;
    let mut changed = metadata();
    changed["redirect_uris"] = json!(["https://evil.example/"]);
    console.client.update(&console.hub, &changed).await;
    assert_eq!(console.confirm("approve-client", &asked).await.status, 409);
    // Nor without having seen any.
    let unseen = console.send("approve-client", "same-origin", &[("confirmed", "yes")]).await;
    assert_eq!(unseen.status, 409, "{}", unseen.body);
    assert_eq!(console.status().await, "pending");
    let asked = console.ask("approve-client").await;
    assert!(asked.body.contains("https://evil.example/"), "{}", asked.body);
    assert_eq!(console.confirm("approve-client", &asked).await.status, 200);
}

/// Attack: a client has markup in what it registered, which the operator's browser shows.
#[actix_web::test]
async fn markup_of_a_registration_stays_inert_where_an_operator_decides_on_it() {
    let mut evil = metadata();
    evil["client_name"] = json!("Corner <b>shop");
    evil["contacts"] = json!(["<script>alert(1)</script>@shop.example"]);
    let console = Console::with_registration(&evil).await;
    for act in ACTS {
        let asked = console.ask(act).await.body;
        assert!(asked.contains("@shop.example") && asked.contains("shop (en)"), "{asked}");
        for markup in ["<script", "<b>shop", "<i>4711"] {
            assert!(!asked.contains(markup), "{act} {markup}: {asked}");
        }
    }
}

/// Attack: another site sends the forms with the operator's cookie, and a viewer sends them herself.
#[actix_web::test]
async fn a_forged_form_and_a_viewer_decide_on_no_registration() {
    let console = Console::with_registration(&metadata()).await;
    let seen = fingerprint(&console.ask("approve-client").await);
    let confirmed = [("confirmed", "yes"), ("fingerprint", seen.as_str())];
    let check = async |console: &Console, site: &str| {
        for act in ACTS {
            for fields in [&confirmed[..], &[]] {
                let answer = console.send(act, site, fields).await;
                assert!(answer.status >= 400, "{act}: {}", answer.body);
                assert!(!answer.body.contains("Corner shop"), "{act}: {}", answer.body);
            }
        }
        assert_eq!(console.status().await, "pending");
    };
    check(&console, "cross-site").await;
    let forged = Console { form_token: "guessed".to_owned(), ..console };
    check(&forged, "same-origin").await;
    let viewer = Console::signed_in(forged.hub, forged.client, VERA).await;
    let page = viewer.hub.console_page("/admin/", &viewer.cookie).await.body;
    assert!(page.contains("Corner shop") && !page.contains("approve-client"), "{page}");
    check(&viewer, "same-origin").await;
    for event in ["client_approved", "client_removed"] {
        assert!(recorded(&viewer.hub, event).is_empty(), "{event}");
    }
}

#[actix_web::test]
async fn a_hub_without_client_registration_decides_on_none() {
    let hub = staffed_with("").await;
    let cookie = sign_in_cookie(&hub, ALICE).await;
    let token = form_token_of(&hub.console_page("/admin/", &cookie).await.body);
    for act in ACTS {
        let fields = [("form_token", token.as_str()), ("client_id", "x"), ("reason", "ticket")];
        assert_eq!(submit(&hub, act, (&cookie, "same-origin"), &fields).await.status, 404, "{act}");
    }
}
