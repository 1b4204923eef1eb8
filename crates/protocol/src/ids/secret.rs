//! [`Secret`], which neither prints nor serializes its value and overwrites it when it is dropped.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use zeroize::Zeroize as _;

/// More than the JSON text of a private key has: an RSA key of 8,192 bits has less than 7,000.
const MAX_KEY_JSON_BYTES: usize = 16 * 1024;

/// A value that must not reach a log, a page or an error. `Debug` prints `***`:
///
/// ```
/// use passerelle_protocol::ids::Secret;
/// println!("{:?}", Secret::new("hunter2".to_owned()));
/// ```
///
/// There is no `Display`:
///
/// ```compile_fail
/// use passerelle_protocol::ids::Secret;
/// println!("{}", Secret::new("hunter2".to_owned()));
/// ```
///
/// It serializes only where a field says so, with [`stored_secret`] or [`issued_secret`]:
///
/// ```
/// use passerelle_protocol::ids::{Secret, stored_secret};
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Stored {
///     #[serde(with = "stored_secret")]
///     password: Secret<String>,
/// }
/// ```
///
/// ```compile_fail
/// use passerelle_protocol::ids::Secret;
/// #[derive(serde::Serialize)]
/// struct Stored {
///     password: Secret<String>,
/// }
/// ```
///
/// ```compile_fail
/// use passerelle_protocol::ids::Secret;
/// #[derive(serde::Deserialize)]
/// struct Stored {
///     password: Secret<String>,
/// }
/// ```
///
/// ```compile_fail
/// use passerelle_protocol::ids::Secret;
/// serde_json::to_string(&Secret::new("hunter2".to_owned())).unwrap();
/// ```
///
/// Dropping it overwrites the value's memory with zeros, including the unused capacity of a string.
/// That is a second line of defence. It doesn't reach copies: of a string that grew before it was
/// wrapped, of a value that a library was given, of the buffers of a socket, of a decrypted record.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("***")]
pub struct Secret<T: Erase>(T);

impl<T: Erase> Secret<T> {
    /// Wraps a value.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value, for the code that needs it.
    pub const fn reveal(&self) -> &T {
        &self.0
    }

    /// Returns the owned value, which nothing overwrites from here on.
    pub fn into_inner(mut self) -> T
    where
        T: Default,
    {
        std::mem::take(&mut self.0)
    }
}

impl Secret<Map<String, Value>> {
    /// Returns the JSON text of a private key, without a copy that stays in memory.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn to_json(&self) -> serde_json::Result<Secret<Vec<u8>>> {
        // A text that grows leaves its former buffers behind.
        let mut text = Secret(Vec::with_capacity(MAX_KEY_JSON_BYTES));
        serde_json::to_writer(&mut text.0, self.reveal())?;
        Ok(text)
    }
}

impl<T: Erase> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.erase();
    }
}

/// A value whose memory can be overwritten.
pub trait Erase {
    /// Overwrites the value with zeros; the compiler does not remove the writes.
    fn erase(&mut self);
}

impl Erase for String {
    fn erase(&mut self) {
        self.zeroize();
    }
}

impl Erase for Vec<u8> {
    fn erase(&mut self) {
        self.zeroize();
    }
}

impl Erase for BTreeMap<String, String> {
    fn erase(&mut self) {
        self.values_mut().for_each(Erase::erase);
    }
}

/// A private JWK: the texts of its members, at every depth. Their names are public.
impl Erase for Map<String, Value> {
    fn erase(&mut self) {
        self.values_mut().for_each(erase_member);
    }
}

fn erase_member(member: &mut Value) {
    match member {
        Value::String(text) => text.erase(),
        Value::Array(members) => members.iter_mut().for_each(erase_member),
        Value::Object(members) => members.erase(),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// For `#[serde(with = "stored_secret")]`: a secret in a record of the store, which the store
/// encrypts. An `Option` needs `default` too.
pub mod stored_secret {
    use serde::de::DeserializeOwned;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Erase, Secret};

    /// A [`Secret`] or an `Option` of one.
    pub trait StoredSecret: Sized {
        /// What is stored.
        type Revealed<'a>: Serialize
        where
            Self: 'a;
        /// What is read.
        type Read: DeserializeOwned;

        /// Returns the value to store.
        fn revealed(&self) -> Self::Revealed<'_>;
        /// Wraps a value that was read.
        fn from_read(read: Self::Read) -> Self;
    }

    impl<T: Erase + Serialize + DeserializeOwned> StoredSecret for Secret<T> {
        type Revealed<'a>
            = &'a T
        where
            T: 'a;
        type Read = T;

        fn revealed(&self) -> &T {
            self.reveal()
        }

        fn from_read(read: T) -> Self {
            Self::new(read)
        }
    }

    impl<T: Erase + Serialize + DeserializeOwned> StoredSecret for Option<Secret<T>> {
        type Revealed<'a>
            = Option<&'a T>
        where
            T: 'a;
        type Read = Option<T>;

        fn revealed(&self) -> Option<&T> {
            self.as_ref().map(Secret::reveal)
        }

        fn from_read(read: Option<T>) -> Self {
            read.map(Secret::new)
        }
    }

    /// Serializes the value of a secret into a record.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<T: StoredSecret, S: Serializer>(
        secret: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        secret.revealed().serialize(serializer)
    }

    /// Reads a secret from a record.
    ///
    /// # Errors
    /// Those of the deserializer.
    pub fn deserialize<'de, T: StoredSecret, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        T::Read::deserialize(deserializer).map(T::from_read)
    }
}

/// For `#[serde(serialize_with = "issued_secret")]`: a token or reference in the response to the
/// client that it is issued to.
pub use stored_secret::serialize as issued_secret;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_never_prints_itself() {
        assert_eq!(format!("{:?}", Secret::new("hunter2".to_owned())), "***");
    }

    /// Counts what is erased.
    #[derive(Default)]
    struct Witness(std::rc::Rc<std::cell::Cell<u32>>);

    impl Erase for Witness {
        fn erase(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    #[test]
    fn a_dropped_secret_is_erased() {
        let erased = std::rc::Rc::default();
        drop(Secret::new(Witness(std::rc::Rc::clone(&erased))));
        assert_eq!(erased.get(), 1);
        // What is taken out is the caller's to erase.
        let owned = Secret::new(Witness(std::rc::Rc::clone(&erased))).into_inner();
        assert_eq!(erased.get(), 1);
        drop(owned);
    }

    #[test]
    fn every_text_of_a_private_key_is_erased() {
        let mut key = json!({ "kty": "RSA", "d": "secret", "oth": [{ "r": "deep" }], "n": 1 });
        key.as_object_mut().unwrap().erase();
        assert_eq!(key, json!({ "kty": "", "d": "", "oth": [{ "r": "" }], "n": 1 }));
        let (mut text, mut bytes) = ("hunter2".to_owned(), b"hunter2".to_vec());
        text.erase();
        bytes.erase();
        assert!(text.is_empty() && bytes.is_empty());
    }

    #[test]
    fn the_text_of_a_private_key_is_written_without_a_second_buffer() {
        // The members of an RSA key of 8,192 bits: d and n of 1,024 bytes, five of 512.
        let member = |bytes: usize| Value::from("x".repeat(bytes.div_ceil(3) * 4));
        let mut key: Map<String, Value> = ["p", "q", "dp", "dq", "qi"]
            .map(|name| (name.to_owned(), member(512)))
            .into_iter()
            .collect();
        key.extend(["d", "n"].map(|name| (name.to_owned(), member(1024))));
        let key = Secret::new(key);
        let text = key.to_json().unwrap();
        assert_eq!(text.reveal().capacity(), MAX_KEY_JSON_BYTES);
        assert_eq!(serde_json::from_slice::<Map<_, _>>(text.reveal()).unwrap(), *key.reveal());
    }

    #[derive(serde::Serialize, serde::Deserialize, PartialEq, Debug)]
    struct Stored {
        #[serde(with = "stored_secret")]
        one: Secret<String>,
        #[serde(default, with = "stored_secret")]
        other: Option<Secret<Map<String, Value>>>,
    }

    #[test]
    fn a_record_holds_the_values_of_its_secrets() {
        let other = json!({ "d": "key" }).as_object().cloned().map(Secret::new);
        for (other, json) in [
            (other, r#"{"one":"hunter2","other":{"d":"key"}}"#),
            (None, r#"{"one":"hunter2","other":null}"#),
        ] {
            let stored = Stored { one: Secret::new("hunter2".to_owned()), other };
            assert_eq!(serde_json::to_string(&stored).unwrap(), json);
            assert_eq!(serde_json::from_str::<Stored>(json).unwrap(), stored);
        }
        let without: Stored = serde_json::from_str(r#"{"one":"hunter2"}"#).unwrap();
        assert_eq!(without.other, None);
        assert!(serde_json::from_str::<Stored>("{}").is_err());
    }
}
