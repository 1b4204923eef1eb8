//! Requests of an operator to the private listener.

use actix_web::test::TestRequest;
use serde_json::Value;
use url::form_urlencoded::Serializer;

use super::federation::ADMIN_TOKEN;
use super::hub::{Answer, TestHub};
use passerelle_admin::console::LoginView;

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.body))
    }
}

impl TestHub {
    pub async fn get_admin(&self, path: &str, headers: &[(&'static str, &str)]) -> Answer {
        let request = TestRequest::get().uri(path);
        self.send_private(
            headers.iter().fold(request, |request, header| request.insert_header(*header)),
        )
        .await
    }

    pub async fn get_json<T: serde::de::DeserializeOwned>(&self, path: &str) -> T {
        let answer =
            self.get_admin(path, &[("authorization", &format!("Bearer {ADMIN_TOKEN}"))]).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.header("cache-control"), "no-store");
        serde_json::from_str(&answer.body).unwrap()
    }

    pub async fn login_view(&self, support_id: &str) -> LoginView {
        self.get_json(&format!("/admin/logins/{support_id}")).await
    }

    pub async fn sign_in(&self, token: &str, next: &str, site: &str) -> Answer {
        let body = Serializer::new(String::new())
            .append_pair("token", token)
            .append_pair("next", next)
            .finish();
        let request =
            TestRequest::post().uri("/admin/sign-in").insert_header(("sec-fetch-site", site));
        self.send_private(
            request
                .insert_header(("content-type", "application/x-www-form-urlencoded"))
                .set_payload(body),
        )
        .await
    }

    /// Returns the cookie of a signed-in browser.
    pub async fn operator_cookie(&self) -> String {
        let answer = self.sign_in(ADMIN_TOKEN, "/admin/", "same-origin").await;
        assert_eq!((answer.status, answer.header("location")), (303, "/admin/"));
        assert_eq!(
            answer.header("cache-control"),
            "no-store",
            "a cache that stores it would admit others"
        );
        answer.header("set-cookie").split(';').next().unwrap().to_owned()
    }

    pub async fn console_page(&self, path: &str, cookie: &str) -> Answer {
        self.get_admin(
            path,
            &[("accept", "text/html"), ("cookie", cookie), ("sec-fetch-site", "same-origin")],
        )
        .await
    }

    pub async fn send_as_admin(&self, request: TestRequest) -> Answer {
        self.send_private(request.insert_header(("authorization", format!("Bearer {ADMIN_TOKEN}"))))
            .await
    }

    pub async fn post_block(&self, block: &Value) -> Answer {
        self.send_as_admin(TestRequest::post().uri("/admin/blocks").set_payload(block.to_string()))
            .await
    }

    /// Sets a block, and returns its id.
    pub async fn block(&self, block: Value) -> String {
        let answer = self.post_block(&block).await;
        assert_eq!(
            (answer.status, answer.json()["persisted"].as_bool()),
            (201, Some(true)),
            "{}",
            answer.body
        );
        answer.json()["block"]["id"].as_str().unwrap().to_owned()
    }

    pub async fn unblock(&self, id: &str) {
        let answer =
            self.send_as_admin(TestRequest::delete().uri(&format!("/admin/blocks/{id}"))).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    pub async fn admin_json(&self, path: &str) -> Value {
        self.send_as_admin(TestRequest::get().uri(path)).await.json()
    }
}
