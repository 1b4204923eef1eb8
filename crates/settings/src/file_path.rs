//! Defines the paths of files that settings name. The type of a key, and no list of key names, says
//! what is in the file: whether its mode must be 0600, and whether it has certificates that expire.
//! A running hub reads the files of connectors, service providers and data providers again when they
//! change; docs/reload.md says which of `passerelle.toml`.

use std::borrow::Cow;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// What a named file is to the file that names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileRole {
    /// A part of its content.
    Content,
    /// The authorities that it trusts. Without the file, it trusts no one.
    Authorities,
    /// A picture in its own folder.
    Logo,
    /// A secret.
    Secret,
    /// Certificates.
    Certificate,
    /// Certificates that may have their private key beside them.
    SecretCertificate,
}

impl FileRole {
    /// Returns the role of a path with this `format` in a schema.
    pub fn from_format(format: &str) -> Option<Self> {
        match format {
            FilePath::FORMAT => Some(Self::Content),
            AuthoritiesPath::FORMAT => Some(Self::Authorities),
            LogoPath::FORMAT => Some(Self::Logo),
            SecretPath::FORMAT => Some(Self::Secret),
            CertificatePath::FORMAT => Some(Self::Certificate),
            SecretCertificatePath::FORMAT => Some(Self::SecretCertificate),
            _ => None,
        }
    }

    /// Returns whether only the hub's user may read the file.
    pub const fn is_secret(self) -> bool {
        matches!(self, Self::Secret | Self::SecretCertificate)
    }

    /// Returns whether the file has certificates, in PEM.
    pub const fn has_certificates(self) -> bool {
        matches!(self, Self::Authorities | Self::Certificate | Self::SecretCertificate)
    }
}

macro_rules! file_paths {
    ($($(#[$summary:meta])* $name:ident $format:literal,)*) => {$(
        $(#[$summary])*
        #[derive(Clone, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(PathBuf);

        impl $name {
            const FORMAT: &'static str = $format;
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "format": Self::FORMAT })
            }
        }

        impl Deref for $name {
            type Target = Path;

            fn deref(&self) -> &Path {
                &self.0
            }
        }

        impl AsRef<Path> for $name {
            fn as_ref(&self) -> &Path {
                &self.0
            }
        }

        impl AsMut<PathBuf> for $name {
            fn as_mut(&mut self) -> &mut PathBuf {
                &mut self.0
            }
        }

        impl From<PathBuf> for $name {
            fn from(path: PathBuf) -> Self {
                Self(path)
            }
        }
    )*};
}

file_paths! {
    /// Path of a file, relative to the configuration folder.
    FilePath "file-path",
    /// Path of a PEM file of trusted authorities, relative to the configuration folder.
    AuthoritiesPath "authorities-path",
    /// Path of a picture, relative to the folder of the file that names it.
    LogoPath "logo-path",
    /// Path of the file of a secret, relative to the configuration folder.
    SecretPath "secret-path",
    /// Path of a PEM file of certificates, relative to the configuration folder.
    CertificatePath "certificate-path",
    /// Path of a PEM file of certificates and perhaps their private key, relative to the
    /// configuration folder.
    SecretCertificatePath "secret-certificate-path",
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::schema_node::shared_schema_for;
    use crate::{CertificateLocation, CertificateRef, SecretRef, SourceFile};

    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Named {
        ca: Option<AuthoritiesPath>,
        certificate: CertificatePath,
        client: Vec<CertificateRef>,
        password: SecretRef,
        persons: FilePath,
        text: String,
    }

    #[test]
    fn the_type_of_a_key_says_which_files_are_secret_and_which_have_certificates() {
        let text = r#"
ca = "ca.pem"
certificate = "access.pem"
client = [{ file = "client.pem" }, { env = "CLIENT" }]
password = { file = "password.secret" }
persons = "persons.toml"
text = "certificate.pem"
"#;
        let source = SourceFile::parse(Path::new("named.toml"), text).unwrap();
        let source = source.with_schema(shared_schema_for::<Named>());
        let file = |name: &str| CertificateLocation::File(PathBuf::from(name));
        assert_eq!(
            source.certificates(),
            BTreeMap::from([
                ("ca".to_owned(), file("ca.pem")),
                ("certificate".to_owned(), file("access.pem")),
                ("client[0].file".to_owned(), file("client.pem")),
                ("client[1].env".to_owned(), CertificateLocation::Variable("CLIENT".to_owned())),
            ])
        );
        let secrets: Vec<_> = source.secret_files().into_iter().map(|(key, _)| key).collect();
        assert_eq!(secrets, ["client[0].file", "password.file"]);
        let mut named: Vec<PathBuf> =
            source.named_files(Path::new("")).into_iter().map(|file| file.path).collect();
        named.sort();
        let all = ["access.pem", "ca.pem", "client.pem", "password.secret", "persons.toml"];
        assert_eq!(named, all.map(PathBuf::from));
    }
}
