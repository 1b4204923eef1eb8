// Reads ExportTraceServiceRequest of OTLP (protobuf, opentelemetry-proto 1.x) as its JSON form, limited to the fields that the tests use.

const hex = (bytes) => Buffer.from(bytes).toString('hex');
const text = (bytes) => Buffer.from(bytes).toString('utf8');
const number = (value) => value;

/** The fields of a message, by number: `[name, read, repeated]`. Other fields are skipped. */
const VALUE = { 1: ['stringValue', text], 3: ['intValue', String] };
const ATTRIBUTE = { 1: ['key', text], 2: ['value', message(VALUE)] };
const ATTRIBUTES = ['attributes', message(ATTRIBUTE), true];
const LINK = { 1: ['traceId', hex], 2: ['spanId', hex] };
const STATUS = { 3: ['code', Number] };
const SPAN = {
  1: ['traceId', hex], 2: ['spanId', hex], 4: ['parentSpanId', hex], 5: ['name', text], 6: ['kind', Number],
  7: ['startTimeUnixNano', number], 8: ['endTimeUnixNano', number], 9: ATTRIBUTES, 13: ['links', message(LINK), true], 15: ['status', message(STATUS)],
};
const SCOPE = { 1: ['name', text], 2: ['version', text] };
const SCOPE_SPANS = { 1: ['scope', message(SCOPE)], 2: ['spans', message(SPAN), true] };
const RESOURCE_SPANS = { 1: ['resource', message({ 1: ATTRIBUTES })], 2: ['scopeSpans', message(SCOPE_SPANS), true] };

export const readTraces = message({ 1: ['resourceSpans', message(RESOURCE_SPANS), true] });

function message(fields) {
  return (bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const result = {};
    for (const [name, , repeated] of Object.values(fields)) if (repeated) result[name] = [];
    let at = 0;
    const varint = () => {
      let value = 0n;
      for (let shift = 0n; ; shift += 7n) {
        const byte = bytes[at++];
        value |= BigInt(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
      }
    };
    const read = {
      0: varint,
      1: () => view.getBigUint64((at += 8) - 8, true),
      2: () => { const length = Number(varint()); return bytes.subarray(at, at += length); },
      5: () => view.getUint32((at += 4) - 4, true),
    };
    while (at < bytes.length) {
      const tag = Number(varint());
      const raw = read[tag & 7]();
      const [name, convert, repeated] = fields[tag >> 3] ?? [];
      if (repeated) result[name].push(convert(raw));
      else if (name) result[name] = convert(raw);
    }
    return result;
  };
}
