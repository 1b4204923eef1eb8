//! Writes DEFLATE (RFC 1951) with a preset dictionary, for records of a kilobyte or two.
//!
//! One block of the fixed Huffman codes, with the latest match of four bytes or more. A general
//! encoder clears 128 KiB of tables and hashes the dictionary for each record, which takes several
//! times as long as the record itself; here the dictionary is hashed once.

/// Bits of a hash; the table of positions has an entry for each.
const HASH_BITS: u32 = 12;
/// Bytes that are hashed, and the shortest match.
const MIN_MATCH: usize = 4;
/// The longest match (RFC 1951 §3.2.5).
const MAX_MATCH: usize = 258;
/// The farthest match: zlib's for the window of 4 KiB with which records are read.
const MAX_DISTANCE: usize = (1 << 12) - 262;
/// The first three bits of a stream: its last block, with fixed Huffman codes.
const LAST_FIXED_BLOCK: u32 = 0b011;

/// Encoder for one dictionary.
pub struct Deflater {
    /// The dictionary, then the value.
    history: Vec<u8>,
    dictionary_bytes: usize,
    /// The latest position in the history of each hash.
    positions: Vec<u32>,
    dictionary_positions: Vec<u32>,
}

impl Deflater {
    /// Hashes the dictionary.
    pub fn new(dictionary: &[u8]) -> Self {
        let dictionary_positions = vec![0; 1 << HASH_BITS];
        let mut deflater = Self {
            history: dictionary.to_vec(),
            dictionary_bytes: dictionary.len(),
            positions: dictionary_positions.clone(),
            dictionary_positions,
        };
        for at in 0..dictionary.len() {
            deflater.replace_position(at);
        }
        deflater.dictionary_positions.clone_from(&deflater.positions);
        deflater
    }

    /// Appends the compressed value to `output`.
    pub fn compress(&mut self, value: &[u8], output: Vec<u8>) -> Vec<u8> {
        self.history.truncate(self.dictionary_bytes);
        self.history.extend_from_slice(value);
        self.positions.clone_from(&self.dictionary_positions);
        let mut writer = BitWriter { output, bits: 0, count: 0 };
        writer.write(LAST_FIXED_BLOCK, 3);
        let mut at = self.dictionary_bytes;
        while let Some(literal) = self.history.get(at) {
            let literal = u32::from(*literal);
            let candidate = self.replace_position(at);
            match candidate.and_then(|candidate| self.measure_match(candidate, at)) {
                Some((length, distance)) => {
                    writer.write_match(length, distance);
                    for passed in at + 1..at + length {
                        self.replace_position(passed);
                    }
                    at += length;
                }
                None => {
                    writer.write_symbol(literal);
                    at += 1;
                }
            }
        }
        writer.finish()
    }

    /// Makes `at` the latest position of its hash. Returns the position before.
    fn replace_position(&mut self, at: usize) -> Option<usize> {
        let hashed = self.history.get(at..)?.first_chunk::<MIN_MATCH>()?;
        let hash = u32::from_le_bytes(*hashed).wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS);
        let latest = self.positions.get_mut(hash as usize)?;
        let before = std::mem::replace(latest, u32::try_from(at).ok()?);
        usize::try_from(before).ok().filter(|before| *before < at)
    }

    /// Returns length and distance of the match between the bytes at two positions.
    fn measure_match(&self, candidate: usize, at: usize) -> Option<(usize, usize)> {
        let distance = at - candidate;
        let (earlier, here) = (self.history.get(candidate..)?, self.history.get(at..)?);
        if distance > MAX_DISTANCE || earlier.first_chunk::<MIN_MATCH>() != here.first_chunk() {
            return None;
        }
        let length = earlier.iter().zip(here).take(MAX_MATCH).take_while(|(a, b)| a == b).count();
        Some((length, distance))
    }
}

/// Writes bits, the lowest first.
struct BitWriter {
    output: Vec<u8>,
    bits: u64,
    count: u32,
}

impl BitWriter {
    /// Appends up to 32 bits.
    fn write(&mut self, bits: u32, count: u32) {
        self.bits |= u64::from(bits) << self.count;
        self.count += count;
        if self.count >= u32::BITS {
            let [a, b, c, d, ..] = self.bits.to_le_bytes();
            self.output.extend_from_slice(&[a, b, c, d]);
            self.bits >>= u32::BITS;
            self.count -= u32::BITS;
        }
    }

    /// Appends a Huffman code, whose highest bit comes first.
    fn write_code(&mut self, code: u32, count: u32) {
        self.write(code.reverse_bits() >> (u32::BITS - count), count);
    }

    /// Appends a literal, the end of the block or the code of a length (RFC 1951 §3.2.6).
    fn write_symbol(&mut self, symbol: u32) {
        match symbol {
            0..=143 => self.write_code(0x30 + symbol, 8),
            144..=255 => self.write_code(0x190 + symbol - 144, 9),
            256..=279 => self.write_code(symbol - 256, 7),
            _ => self.write_code(0xc0 + symbol - 280, 8),
        }
    }

    /// Appends a match (RFC 1951 §3.2.5).
    fn write_match(&mut self, length: usize, distance: usize) {
        let number = |value: usize| u32::try_from(value).unwrap_or_default();
        if length == MAX_MATCH {
            self.write_symbol(285);
        } else {
            let (code, extra, extra_bits) = split_code(number(length) - 3, 2);
            self.write_symbol(257 + code);
            self.write(extra, extra_bits);
        }
        let (code, extra, extra_bits) = split_code(number(distance) - 1, 1);
        self.write_code(code, 5);
        self.write(extra, extra_bits);
    }

    /// Ends the block and fills the last byte.
    fn finish(mut self) -> Vec<u8> {
        self.write_symbol(256);
        let rest = self.bits.to_le_bytes();
        self.output.extend(rest.into_iter().take(self.count.div_ceil(u8::BITS) as usize));
        self.output
    }
}

/// Splits a length or distance into its code and extra bits. The codes of one number of extra bits
/// are 2 to the power of `group_bits`.
const fn split_code(value: u32, group_bits: u32) -> (u32, u32, u32) {
    if value < 1 << (group_bits + 1) {
        return (value, 0, 0);
    }
    let extra_bits = value.ilog2() - group_bits;
    let code = (extra_bits << group_bits) + (value >> extra_bits);
    (code, value & ((1 << extra_bits) - 1), extra_bits)
}
