//! The token of the hub at the Vault server, which an agent renews in its file.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

use crate::device_credential::{CredentialFileError, DeviceCredential};
use passerelle_protocol::ids::Secret;

/// How old a reading of the file may be.
const MAX_AGE: Duration = Duration::from_secs(5);

/// A token that is read again while the hub runs.
pub(super) struct TokenFile {
    credential: DeviceCredential,
    last_reading: Mutex<Option<TokenReading>>,
    /// Held while the file is read, so that concurrent callers share one reading.
    in_progress: AsyncMutex<()>,
}

/// The token as one reading found it.
#[derive(Clone)]
pub(super) struct TokenReading {
    pub token: Secret<String>,
    /// Counts the readings, from 1.
    number: u64,
    at: Instant,
    /// Why the file has no token. The hub still uses the one that it read last.
    problem: Option<CredentialFileError>,
}

impl TokenFile {
    pub(super) fn new(credential: DeviceCredential) -> Self {
        Self { credential, last_reading: Mutex::default(), in_progress: AsyncMutex::default() }
    }

    /// Returns the token, which is read again if the last reading is old.
    pub(super) async fn current(&self) -> TokenReading {
        match self.last_reading() {
            Some(last) if !self.credential.is_in_file() || last.at.elapsed() < MAX_AGE => last,
            last => self.read_after(last.map_or(0, |last| last.number)).await,
        }
    }

    /// Returns a later reading than one whose token the server refused.
    pub(super) async fn read_again(&self, refused: &TokenReading) -> TokenReading {
        self.read_after(refused.number).await
    }

    /// Returns why the token file has no token, as of the last reading.
    pub(super) fn problem(&self) -> Option<CredentialFileError> {
        self.last_reading()?.problem
    }

    fn last_reading(&self) -> Option<TokenReading> {
        self.last_reading.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a reading later than that number: the last one, or one that is made on a thread that
    /// may block.
    async fn read_after(&self, number: u64) -> TokenReading {
        let _in_progress = self.in_progress.lock().await;
        let last = match self.last_reading() {
            Some(last) if last.number > number => return last,
            last => last,
        };
        let credential = self.credential.clone();
        let read = tokio::task::spawn_blocking(move || credential.read_file()).await;
        // An error of the task: the runtime ends.
        let read = read.unwrap_or_else(|_| Ok(self.credential.initial().clone()));
        let (token, problem) = match (read, &last) {
            (Ok(token), _) => (token, None),
            (Err(problem), Some(last)) => (last.token.clone(), Some(problem)),
            (Err(problem), None) => (self.credential.initial().clone(), Some(problem)),
        };
        log_change(last.and_then(|last| last.problem).as_ref(), problem.as_ref());
        let reading = TokenReading { token, number: number + 1, at: Instant::now(), problem };
        let mut last = self.last_reading.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(reading.clone());
        reading
    }
}

/// Logs once that the file has no token, and once that it has one again.
fn log_change(before: Option<&CredentialFileError>, now: Option<&CredentialFileError>) {
    match now {
        Some(problem) if before != now => tracing::warn!(
            %problem,
            "the file of vault_transit.token has no token; the last one that was read stays in use"
        ),
        None if before.is_some() => {
            tracing::info!("the file of vault_transit.token has a token again");
        }
        Some(_) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{self, Write};
    use std::path::Path;
    use std::sync::Arc;

    use super::*;

    /// The log of a test.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Lines {
        fn count(&self, words: &str) -> usize {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap().matches(words).count()
        }
    }

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn token_in(file: &Path) -> TokenFile {
        let initial = Secret::new("of the start".to_owned());
        TokenFile::new(DeviceCredential::new(Some(file.to_owned()), initial))
    }

    #[tokio::test]
    async fn many_refusals_at_the_same_time_read_the_token_file_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("vault.token");
        fs::write(&file, "first").unwrap();
        let token = token_in(&file);
        let readings = futures_util::future::join_all((0..50).map(|_| token.current())).await;
        assert!(readings.iter().all(|reading| reading.number == 1));
        fs::write(&file, "renewed").unwrap();
        let readings = readings.iter().map(|refused| token.read_again(refused));
        let readings = futures_util::future::join_all(readings).await;
        assert!(readings.iter().all(|reading| reading.token.reveal() == "renewed"));
        assert!(readings.iter().all(|reading| reading.number == 2));
        let third = token.read_again(&readings[0]).await;
        assert_eq!(third.number, 3, "a later refusal reads again");
    }

    #[tokio::test(start_paused = true)]
    async fn an_unreadable_or_empty_file_is_reported_and_the_last_token_stays_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("vault.token");
        let token = token_in(&file);
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        let _listening = tracing::subscriber::set_default(subscriber);
        for _ in 0..3 {
            assert_eq!(token.current().await.token.reveal(), "of the start");
            tokio::time::advance(MAX_AGE).await;
        }
        assert_eq!(lines.count("has no token; the last one"), 1, "one warning for one change");
        let cause = io::ErrorKind::NotFound;
        let missing = CredentialFileError::Unreadable { path: file.clone(), cause };
        assert_eq!(token.problem(), Some(missing));

        for (content, expected, problem) in [
            ("renewed\r\n", "renewed", None),
            ("\n", "renewed", Some(CredentialFileError::Empty { path: file.clone() })),
            ("again\n", "again", None),
        ] {
            fs::write(&file, content).unwrap();
            tokio::time::advance(MAX_AGE).await;
            assert_eq!(token.current().await.token.reveal(), expected);
            assert_eq!(token.problem(), problem);
        }
        assert_eq!(lines.count("has no token; the last one"), 2);
        assert_eq!(lines.count("has a token again"), 2);
        assert!(lines.count(file.to_str().unwrap()) == 2, "a warning names the file");
    }
}
