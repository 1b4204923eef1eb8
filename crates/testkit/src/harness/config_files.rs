//! Changes to the configuration files of a running hub.

use std::fs;

use actix_web::test::TestRequest;
use serde_json::Value;

use super::federation;
use super::hub::TestHub;
use super::service::Authorize;

impl TestHub {
    pub fn write_file(&self, file: &str, text: &str) {
        let path = self.folder().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        federation::own_secret(self.folder(), file);
        fs::write(path, text).unwrap();
    }

    pub fn read_file(&self, file: &str) -> String {
        fs::read_to_string(self.folder().join(file)).unwrap()
    }

    pub fn edit_file(&self, file: &str, from: &str, to: &str) {
        let text = self.read_file(file);
        assert!(text.contains(from), "{file} has no {from:?}");
        self.write_file(file, &text.replacen(from, to, 1));
    }

    pub fn remove_file(&self, file: &str) {
        fs::remove_file(self.folder().join(file)).unwrap();
    }

    pub async fn offered(&self, service: &str) -> Vec<String> {
        self.browser().authorize(&Authorize::by(service)).await.offered()
    }

    pub async fn discovery(&self) -> Value {
        let path = TestRequest::get().uri("/api/v2/.well-known/openid-configuration");
        serde_json::from_str(&self.send(path).await.body).unwrap()
    }
}
