import fc from 'fast-check'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { parseIsoTimestamp } from '../../shared/timestamps.ts'
import { readEntry } from './entry-batch.ts'
import type { EntryTerms } from './entry-terms.ts'
import { readTimestamp, readUsualTimestamp } from './entry-timestamp.ts'

const now = Date.UTC(2026, 10, 14, 12)
const dayMs = 86_400_000

/** The row of an entry, or the reason why it is rejected. */
function readText(text: string, rules: Partial<EntryTerms> = {}) {
  const reading = readEntry(text, { nowMs: now, ...rules })
  return 'line' in reading ? (JSON.parse(reading.line.toString()) as Record<string, unknown>) : reading.reason
}

const read = (entry: unknown, rules?: Partial<EntryTerms>) => readText(JSON.stringify(entry), rules)

/** The metadata in the line of an entry. */
function metadataText(entry: string): string {
  const reading = readEntry(entry, { nowMs: now })
  if ('reason' in reading) throw new Error(reading.reason)
  return /,"metadata":(.*)}\n$/s.exec(reading.line.toString())?.[1] ?? ''
}

describe('an entry', () => {
  test('that is empty gets the time of arrival, a new id and empty fields', () => {
    expect(read({})).toEqual({
      project: '',
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      timestamp: '1794657600.000000',
      event_message: '',
      metadata: {},
    })
  })

  test('keeps unknown keys in metadata, after the existing ones', () => {
    expect(metadataText('{"level":"info","a":1,"metadata":{"a":2}}')).toBe(
      '{"a":2,"level":"info","_other":{"a":1}}',
    )
    expect(metadataText('{"a": [1, 2],"metadata": { }}')).toBe('{"a":[1,2]}')
    expect(metadataText('{"a":1,"metadata":null}')).toBe('{"a":1}')
    expect(metadataText('{"a":1,"a":2,"id":"x","id":"y"}')).toBe('{"a":1,"id":"y","_other":{"a":2}}')
    expect(metadataText('{"\\u0061":1,"metadata":{"a":2}}')).toBe('{"a":2,"_other":{"\\u0061":1}}')
    expect(metadataText('{"metadata":[1],"b":2}')).toBe('{"metadata":[1],"b":2}')
  })

  test('has its message in event_message or message, with a value of any type', () => {
    expect(read({ message: 'm' })).toMatchObject({ event_message: 'm', metadata: {} })
    expect(read({ message: 'm', event_message: null })).toMatchObject({ event_message: 'm', metadata: {} })
    expect(read({ message: 'm', event_message: 'e' })).toMatchObject({
      event_message: 'e',
      metadata: { message: 'm' },
    })
    expect(readText('{"event_message": { "a" : 1.0 }}')).toMatchObject({ event_message: '{"a":1.0}' })
    expect(read({ metadata: 'text' })).toMatchObject({ metadata: { metadata: 'text' } })
  })

  test('may call its message msg and its timestamp time, as pino and bunyan do', () => {
    const lines: string[] = []
    const sink = { write: (line: string) => lines.push(line) }
    pino({ base: null, timestamp: () => `,"time":${now - 1000}` }, sink).warn({ user: 7 }, 'signed in')
    expect(readText(lines[0] as string)).toMatchObject({
      timestamp: '1794657599.000000',
      event_message: 'signed in',
      metadata: { level: 40, user: 7 },
    })
    const bunyan = { name: 'shop', hostname: 'h', pid: 1, level: 30, v: 0 }
    expect(read({ ...bunyan, msg: 'listening', time: '2026-11-14T11:59:59.250Z' })).toMatchObject({
      timestamp: '1794657599.250000',
      event_message: 'listening',
      metadata: bunyan,
    })
  })

  test('has one name for its message and its timestamp; further names are ordinary keys', () => {
    expect(
      metadataText('{"msg":"c","time":3,"message":"b","timestamp":1794657500,"event_message":"a","x":1}'),
    ).toBe('{"x":1,"message":"b","msg":"c","time":3}')
    expect(metadataText('{"msg":"c","message":"b","msg":"d","metadata":{"time":1}}')).toBe(
      '{"time":1,"msg":"d","_other":{"msg":"c"}}',
    )
    expect(read({ message: null, msg: 'c', timestamp: null, time: 1_794_657_500 })).toMatchObject({
      timestamp: '1794657500.000000',
      event_message: 'c',
      metadata: {},
    })
    expect(read({ time: 'noon', timestamp: 1_794_657_500 })).toMatchObject({ metadata: { time: 'noon' } })
  })

  const noTimes = ['noon', '12:00:01', '2026-11-14 to 2026-11-15', 0.532, 45, 5_000_000_000, 9_999_999_999]
  test.each([...noTimes, '9999999999', 9_999_999_999_999, 946_684_799, { start: 1 }, true])(
    'arrives now if its time is %j, which is no timestamp but a value like any other',
    (time) => {
      expect(read({ msg: 'GET /', time })).toMatchObject({
        timestamp: '1794657600.000000',
        event_message: 'GET /',
        metadata: { time },
      })
    },
  )

  test.each(['time', 'timestamp'])('is rejected if its %s is too far ahead or too old', (name) => {
    const ahead = 'timestamp is more than one hour in the future'
    const old = "timestamp is older than the source's retention of 7 days"
    for (const value of ['2026-11-14T14:00:00Z', now + 7_200_000, '2027-01-01', '2199-01-01T00:00:00Z'])
      expect([value, read({ [name]: value })]).toEqual([value, ahead])
    for (const value of ['2026-11-01T00:00:00Z', now - 8 * dayMs, '2026-11-06', '1999-12-31'])
      expect([value, read({ [name]: value }, { retentionDays: 7 })]).toEqual([value, old])
    expect(read({ [name]: '2026-11-14' })).toMatchObject({ timestamp: '1794614400.000000', metadata: {} })
  })

  test.each(['2026-02-30', '2026-13-01T10:00:00Z', '2026-11-14 25:00', '0001-01-01T00:00:00Z'])(
    'is rejected if its time is %j, a date that does not exist or cannot be stored',
    (time) => {
      const invalid = 'timestamp must be ISO 8601 or a Unix time in s, ms, µs or ns'
      expect([read({ time }), read({ timestamp: time })]).toEqual([invalid, invalid])
      expect(read({ timestamp: now, time })).toMatchObject({ metadata: { time } })
    },
  )

  test('may have escaped keys', () => {
    expect(readText('{"\\u0069d":"a","m\\u0065tadata":{"proj\\u0065ct":"p"}}')).toMatchObject({
      id: 'a',
      project: 'p',
      metadata: { project: 'p' },
    })
    const reading = readEntry('{"project":"\\u00e9\\/"}', { nowMs: now }) as { line: Buffer }
    expect(reading.line.toString()).toContain('{"project":"é/",')
  })

  test('belongs to the first project that it names', () => {
    expect(readText('{"metadata":{"project":"c","project_ref":"b","project_ref":"x"}}')).toMatchObject({
      project: 'b',
    })
    expect(read({ project: null, project_ref: 'r', metadata: { project: 'c' } })).toMatchObject({
      project: 'r',
    })
    expect(read({ metadata: { project_ref: null, project: 7 } })).toMatchObject({ project: '7' })
  })

  test.each([[null], ['text'], [[1]], [7]])('%j is rejected', (value) => {
    expect(read(value)).toBe('an entry must be a JSON object')
  })

  const deep = (levels: number) => `{"metadata":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`
  const wide = (values: number) => `{"metadata":{"a":[${'1,'.repeat(values - 3)}1]}}`

  test.each([
    ['id must be a string or a number', '{"id":{}}'],
    ['id is longer than 128 characters', `{"id":"${'é'.repeat(129)}"}`],
    ['project must be a string or a number', '{"project":[]}'],
    ['project must be a string or a number', '{"project":true}'],
    ['timestamp is more than one hour in the future', `{"timestamp":${now + 3_600_001}}`],
    ['timestamp must be ISO 8601 or a Unix time in s, ms, µs or ns', '{"timestamp":true}'],
    ['a number does not fit into 64 bits', '{"metadata":{"n":123456789012345678901}}'],
    ['a number does not fit into 64 bits', '{"metadata":{"n":[1e400]}}'],
    ['a string contains half of a surrogate pair', '{"other":"\\ud800"}'],
    ['a string contains half of a surrogate pair', '{"metadata":{"\\udc00":1}}'],
    ['the entry is nested more than 64 levels deep', deep(65)],
    ['the entry has more than 5000 values', wide(5001)],
    ['the entry is larger than 1 MiB', `{"event_message":"${'x'.repeat(2 ** 20)}"}`],
    ['the line is not valid JSON', '{"id":1'],
    ['the line is not valid JSON', '{"id":1} 2'],
  ])('is rejected with the reason "%s"', (reason, entry) => {
    expect(readText(entry)).toBe(reason)
  })

  test.each([
    ['an id of 128 characters', `{"id":"${'é'.repeat(128)}"}`],
    ['64 levels', deep(64)],
    ['5,000 values', wide(5000)],
    ['keys with dots and with %2E', '{"metadata":{"a%2Eb":1,"a.b":2}}'],
  ])('is stored with %s', (_what, entry) => {
    expect(readText(entry)).toBeTypeOf('object')
  })

  test('older than the retention of its source is rejected', () => {
    const at = (timestamp: number) => read({ timestamp }, { retentionDays: 30 })
    expect(at(now - 30 * dayMs)).toBeTypeOf('object')
    expect(at(now - 30 * dayMs - 1)).toBe("timestamp is older than the source's retention of 30 days")
    expect(read({ timestamp: now - dayMs - 1 }, { retentionDays: 1 })).toBe(
      "timestamp is older than the source's retention of 1 day",
    )
  })

  test('of a sender with a project belongs to it, or is rejected', () => {
    const project = (entry: unknown) => {
      const reading = read(entry, { owner: 'mine' })
      return typeof reading === 'string' ? reading : reading.project
    }
    const foreign = 'the token is limited to project mine; send that project or omit it'
    expect(project({})).toBe('mine')
    expect(project({ project: 'mine' })).toBe('mine')
    expect(project({ project: null, metadata: { project_ref: 'mine' } })).toBe('mine')
    expect(project({ project: '' })).toBe('mine')
    expect(project({ project: 'theirs' })).toBe(foreign)
    expect(project({ metadata: { project_ref: 'theirs' } })).toBe(foreign)
    expect(project({ metadata: { project: 7 } })).toBe(foreign)
  })

  test('keeps all digits of a numeric id', () => {
    const digits = '12345678901234567890'
    for (const [id, text] of Object.entries({ 7: '7', '-0': '0', '1e3': '1000', [digits]: digits })) {
      expect(readText(`{"id":${id}}`)).toMatchObject({ id: text })
    }
  })

  const key = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('', '__proto__', 'a.b', 'a%2Eb', '_other', 'metadata'),
  )
  const number = fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }).map(String),
    fc.constantFrom('1.0', '1', '-0', '1e5', '0.10', `0.${'3'.repeat(60)}`),
  )
  const { value } = fc.letrec<{ value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      number,
      fc.constantFrom('null', 'true', '{}', '[]', '"\\u00e9\\/\\ud83d\\ude00"', '" a  b\\n "'),
      key.map((text) => JSON.stringify(text)),
      fc.array(tie('value')).map((items) => `[${items.join(',')}]`),
      fc.array(fc.tuple(key, tie('value'))).map(objectText),
    ),
  }))
  function objectText(members: [string, string][]): string {
    return `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`
  }

  test('keeps the bytes of any metadata except whitespace between tokens', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(key, value)),
        fc.constantFrom('', ' ', '\n', ' \t\r\n'),
        (members, space) => {
          const compact = objectText(members)
          // Between tokens only: texts are kept as they are.
          const spaced = compact.replace(
            /"(?:[^"\\]|\\.)*"|[{}[\],:]/g,
            (token) => `${space}${token}${space}`,
          )
          expect(metadataText(`{"project":"p",${space}"metadata":${spaced}}`)).toBe(compact)
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('the timestamp of an entry', () => {
  const micros = BigInt(now) * 1000n
  test.each([
    ...[now / 1000, now, now * 1000, BigInt(now) * 1_000_000n, String(now)],
    ...['2026-11-14T12:00:00Z', '2026-11-14T13:00:00+01:00', '2026-11-14 12:00:00'],
  ])('%s is the same instant', (value) => {
    expect(readTimestamp(value)).toBe(micros)
    const text = JSON.stringify(typeof value === 'bigint' ? String(value) : value)
    expect(readText(`{"timestamp":${text}}`)).toMatchObject({ timestamp: '1794657600.000000' })
  })

  test('may be seconds with a fraction', () => {
    expect(readTimestamp(1794657600.25)).toBe(1794657600250000n)
  })

  test.each(['yesterday', '', '2026-02-30T00:00:00Z', {}, Number.POSITIVE_INFINITY, 10n ** 30n])(
    '%s is invalid',
    (value) => expect(readTimestamp(value)).toBeUndefined(),
  )
})

const earliest = BigInt(Date.UTC(1900, 0, 1)) * 1000n
const latest = BigInt(Date.UTC(2299, 11, 31)) * 1000n

test('the fast path for the usual form agrees with the general parser, in any order of days', () => {
  const two = (max: number) => fc.integer({ min: 0, max }).map((value) => String(value).padStart(2, '0'))
  const text = fc
    .tuple(
      fc.constantFrom('1899', '1900', '1970', '2024', '2026', '2298', '2299', '2300', '9999'),
      fc.tuple(two(13), two(32), two(25), two(61), two(61)),
      fc.constantFrom('', '.', '.1', '.123456789', '.1234567890'),
    )
    .map(([year, [month, day, h, m, s], rest]) => `${year}-${month}-${day}T${h}:${m}:${s}${rest}Z`)
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 20 }), (texts) => {
      for (const each of texts) {
        const micros = parseIsoTimestamp(each)
        const kept = micros !== undefined && micros >= earliest && micros < latest
        expect([each, readTimestamp(each)]).toEqual([each, kept ? micros : undefined])
        const usual = readUsualTimestamp(Buffer.from(`"${each}"`), 1, each.length + 1)
        if (!Number.isNaN(usual)) expect([each, BigInt(usual)]).toEqual([each, micros])
        else if (kept) expect(each).toMatch(/^(?:1900|1970|2298|2299)|\.Z$/)
      }
    }),
    { numRuns: 300 },
  )
})

test('the fast path accepts a changed text only if the general parser reads the same', () => {
  const usual = '2026-02-28T10:20:30.123456Z'
  for (let at = 0; at < usual.length; at++) {
    for (const character of '0123456789TZ:.- ') {
      const text = usual.slice(0, at) + character + usual.slice(at + 1)
      const micros = readUsualTimestamp(Buffer.from(text), 0, text.length)
      if (!Number.isNaN(micros)) expect([text, BigInt(micros)]).toEqual([text, parseIsoTimestamp(text)])
    }
  }
})

test('the size of a number determines its unit, so that one instant is the same in all units', () => {
  const seconds = fc.integer({ min: 1_000_000_000, max: 9_000_000_000 })
  fc.assert(
    fc.property(seconds, fc.nat(999_999), (second, fraction) => {
      const micros = BigInt(second) * 1_000_000n + BigInt(fraction)
      expect(readTimestamp(BigInt(second))).toBe(BigInt(second) * 1_000_000n)
      expect(readTimestamp(micros / 1000n)).toBe((micros / 1000n) * 1000n)
      expect(readTimestamp(micros)).toBe(micros)
      expect(readTimestamp(micros * 1000n + 999n)).toBe(micros)
      expect(readTimestamp(String(micros))).toBe(micros)
    }),
  )
})

test('any value is an instant that the engine can store, or undefined', () => {
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.double(), fc.bigInt(), fc.maxSafeInteger()), (value) => {
      const micros = readTimestamp(value)
      if (micros === undefined) return
      expect(micros >= earliest && micros < latest).toBe(true)
    }),
    { numRuns: 500 },
  )
})
