//! Suggests the known word that is most similar to a misspelt one.

/// Minimum similarity (Jaro-Winkler, 0 to 1) for a word to count as a misspelling.
const MIN_SIMILARITY: f64 = 0.88;

/// Returns the known word that is closest to `written`, if any is similar. Messages repeat this
/// word, never what was written.
pub fn closest_word<'k>(written: &str, known: &[&'k str]) -> Option<&'k str> {
    let written = written.to_ascii_lowercase();
    let likeness = |word: &&str| strsim::jaro_winkler(&written, word);
    let nearest = known.iter().copied().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(&nearest) >= MIN_SIMILARITY).then_some(nearest)
}
